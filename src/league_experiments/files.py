"""The results of a tournament as files: what came out, and all it takes to repeat it."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from league.terminal import CommandError
from league_experiments.series import MatchEnd
from league_experiments.tournament import TournamentResult

Table = tuple[Sequence[str], Iterator[Sequence[object]]]


def prepare(folder: Path) -> None:
    """Make the folder before anything is played; CommandError if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{folder} cannot be used: {error.strerror}") from error


def write(result: TournamentResult, folder: Path) -> list[Path]:
    """Write standings, pairs and matches as CSV (and as Parquet where pyarrow is installed), and everything as JSON."""
    document = {**result.document, "repeat": repeating(result)}
    written = [folder / "tournament.json"]
    written[0].write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    tables = {name: partial(_flat, result.document[name]) for name in ("standings", "pairs")}
    for name, make in {**tables, "matches": partial(_matches, result)}.items():
        head, rows = make()
        path = folder / f"{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(head)
            writer.writerows(rows)
        written.append(path)
        if find_spec("pyarrow") is not None:
            written.append(_parquet(folder / f"{name}.parquet", make()))
    return written


def repeating(result: TournamentResult) -> dict[str, Any]:
    """What it takes to get the same results: versions, settings, and the strategies' own files by their digests."""
    document = result.document
    return {
        "agent_league": version("agent-league"),
        "python": platform.python_version(),
        "strategies": {name: _digest(name) for name in result.names},
        **{name: document[name] for name in ("game", "seed", "meetings", "openings")},
    }


def _digest(name: str) -> str | None:
    """SHA-256 of the file a strategy was loaded from; None for a built-in one."""
    file = Path(name.rpartition(":")[0])
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.suffix == ".py" and file.is_file() else None


def _flat(rows: Sequence[dict[str, Any]]) -> Table:
    """Rows whose interval has two columns."""
    flat = [{**row, "interval_low": row["interval"][0], "interval_high": row["interval"][1]} for row in rows]
    for row in flat:
        del row["interval"]
    return list(flat[0]), (list(row.values()) for row in flat)


def _matches(result: TournamentResult) -> Table:
    """Every match: who met, which of their matches it was, who sat first, and how it ended."""
    head = ("first", "second", "number", "player_a", "ended")

    def rows() -> Iterator[Sequence[object]]:
        for pair in result.pairs:
            names = result.names[pair.first], result.names[pair.second]
            for number, end in enumerate(pair.result.ends):
                yield (*names, number + 1, names[number % 2], MatchEnd(end).name)

    return head, rows()


def _parquet(path: Path, table: Table) -> Path:
    import pyarrow
    from pyarrow import parquet

    head, rows = table
    columns = list(zip(*rows, strict=True))
    parquet.write_table(pyarrow.table(dict(zip(head, columns, strict=True))), path)
    return path
