"""The results of a tournament as files, with everything it takes to repeat it."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from league.terminal import CommandError
from league_experiments.series import MatchEnd
from league_experiments.tournament import TournamentResult


class Table(NamedTuple):
    """A table of a file. The rows can be read once."""

    head: Sequence[str]
    rows: Iterator[Sequence[object]]


def prepare(folder: Path) -> None:
    """Make the folder before anything is played. CommandError if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{folder} cannot be used: {error.strerror}") from error


def write(result: TournamentResult, folder: Path) -> list[Path]:
    """Write everything as JSON, and the tables as CSV (and as Parquet where pyarrow is installed)."""
    document = {**result.document, "repeat": repeating(result)}
    json_file = folder / "tournament.json"
    json_file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    written = [json_file]
    has_parquet = find_spec("pyarrow") is not None
    for name in ("standings", "pairs", "matches"):
        csv_file = folder / f"{name}.csv"
        _write_csv(csv_file, _table(result, name))
        written.append(csv_file)
        # A table can be read once, so it is made anew.
        if has_parquet:
            parquet_file = folder / f"{name}.parquet"
            _write_parquet(parquet_file, _table(result, name))
            written.append(parquet_file)
    return written


def repeating(result: TournamentResult) -> dict[str, Any]:
    """Return everything it takes to get the same results: versions, settings, and digests of the strategies' files."""
    settings = {name: result.document[name] for name in ("game", "seed", "meetings", "openings")}
    return {
        "agent_league": version("agent-league"),
        "python": platform.python_version(),
        "strategies": {name: _digest(name) for name in result.names},
        **settings,
    }


def _digest(name: str) -> str | None:
    """Return the SHA-256 of the file that a strategy was loaded from; None for a built-in strategy."""
    file = Path(name.rpartition(":")[0])
    # The name of a built-in strategy or of a module is not a path.
    if file.suffix == ".py" and file.is_file():
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return None


def _table(result: TournamentResult, name: str) -> Table:
    if name == "matches":
        head = ("first", "second", "number", "player_a", "ended")
        return Table(head, _match_rows(result))
    rows = [_flat(row) for row in result.document[name]]
    return Table(list(rows[0]), (list(row.values()) for row in rows))


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Give the interval two columns of its own."""
    flat = {name: value for name, value in row.items() if name != "interval"}
    low, high = row["interval"]
    return {**flat, "interval_low": low, "interval_high": high}


def _match_rows(result: TournamentResult) -> Iterator[Sequence[object]]:
    for pair in result.pairs:
        names = (result.names[pair.first], result.names[pair.second])
        for number, end in enumerate(pair.result.ends):
            yield (*names, number + 1, names[number % 2], MatchEnd(end).name)


def _write_csv(path: Path, table: Table) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(table.head)
        writer.writerows(table.rows)


def _write_parquet(path: Path, table: Table) -> None:
    # An extra that few have installed.
    import pyarrow
    from pyarrow import parquet

    columns = zip(*table.rows, strict=True)
    named_columns = dict(zip(table.head, columns, strict=True))
    parquet.write_table(pyarrow.table(named_columns), path)
