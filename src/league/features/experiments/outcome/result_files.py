"""The results of a tournament as files, with everything it takes to repeat it.

The series are the truth (`series_store.py`), all other files are made of them. Nothing in a file depends on the time or
on who played: the same tournament gives the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from league.features.experiments.outcome.results import flat
from league.features.experiments.outcome.series_store import LINES, FolderPlan, read_plan, write_plan
from league.features.experiments.tournament import TournamentResult
from league.terminal import CommandError

ROWS_AT_ONCE: Final = 20_000
"""Rows of a table that are in memory together."""

WriteRows = Callable[[Sequence[Sequence[object]]], None]
"""Writes some rows to a file."""


class ResultTable(NamedTuple):
    """A table of a file. The rows can be read once."""

    head: Sequence[str]
    rows: Iterable[Sequence[object]]


def prepare(folder: Path) -> None:
    """Make the folder before anything is played. CommandError if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{folder} cannot be used: {error.strerror}") from error


def write(result: TournamentResult, folder: Path) -> list[Path]:
    """Write the series of a tournament that was not played in this folder, and everything made of them."""
    prepare(folder)
    before = read_plan(folder)
    if before is not None and before.plan_digest != result.plan.digest:
        raise CommandError(f"{folder} holds another tournament: name another folder")
    folder_plan = FolderPlan(result.plan, result.plan.digest, None, result.not_repeatable)
    write_plan(folder, folder_plan)
    result.store.copy_to(folder / LINES)
    return write_tables(result, folder)


def write_tables(result: TournamentResult, folder: Path) -> list[Path]:
    """Write everything as JSON, and the tables as CSV (and as Parquet where pyarrow is installed)."""
    document = {**result.document, "repeat": repeating(result)}
    # The same tournament gives the same bytes, however long it took.
    del document["seconds"]
    json_file = folder / "tournament.json"
    text = json.dumps(document, indent=2)
    json_file.write_text(text + "\n", encoding="utf-8", newline="\n")
    written = [json_file]
    has_parquet = find_spec("pyarrow") is not None
    names = ["standings", "pairs", "matches"]
    if document["minds"]:
        json_lines_file = folder / "conversations.jsonl"
        _write_json_lines(json_lines_file, _table(result, "conversations"))
        written.append(json_lines_file)
        names.append("conversations")
    for name in names:
        with ExitStack() as files:
            table = _table(result, name)
            writers: list[WriteRows] = []
            # Conversations are long: nobody looks at them in a spreadsheet.
            if name != "conversations":
                csv_file = folder / f"{name}.csv"
                writers.append(files.enter_context(_csv_writer(csv_file, table.head)))
                written.append(csv_file)
            if has_parquet:
                parquet_file = folder / f"{name}.parquet"
                writers.append(files.enter_context(_parquet_writer(parquet_file, table.head)))
                written.append(parquet_file)
            # Each row is made once for all files: that takes longer than writing it.
            rows = iter(table.rows)
            while batch := list(islice(rows, ROWS_AT_ONCE)):
                for write_rows in writers:
                    write_rows(batch)
    return written


def repeating(result: TournamentResult) -> dict[str, Any]:
    """Return everything it takes to get the same results: versions, settings, and digests of the strategies."""
    plan = result.plan
    return {
        "agent_league": plan.agent_league,
        "python": platform.python_version(),
        "plan": plan.digest,
        "strategies": {strategy.name: strategy.digest for strategy in plan.strategies},
        "game": plan.game,
        "seed": plan.seed,
        "meetings": plan.meetings,
        "openings": plan.openings,
        "move_seconds": plan.move_seconds,
    }


def _table(result: TournamentResult, name: str) -> ResultTable:
    if name == "matches":
        return _as_table(result.match_rows())
    if name == "conversations":
        head = ("first", "second", "number", "turn", "strategy", "sha256", "conversation")
        return ResultTable(head, _conversation_rows(result))
    return _as_table(flat(row) for row in result.document[name])


def _as_table(rows: Iterator[dict[str, Any]]) -> ResultTable:
    """Return rows as a table. All of them have the same columns."""
    first = next(rows)

    def values() -> Iterator[Sequence[object]]:
        yield tuple(first.values())
        for row in rows:
            yield tuple(row.values())

    return ResultTable(tuple(first), values())


def _conversation_rows(result: TournamentResult) -> Iterator[Sequence[object]]:
    """What was said for each choice. `conversation` is the text that the digest belongs to."""
    plan = result.plan
    for number, pair in enumerate(result.played):
        names = (plan.names[pair.first], plan.names[pair.second])
        tasks = [task for task in plan.tasks() if task.pair == number]
        for place in (0, 1):
            for task in tasks:
                record = result.store.record(plan.series(task).key)
                report = record.minds.get(pair.place(place))
                if report is None:
                    continue
                for conversation in report.conversations:
                    facts = json.loads(conversation)
                    match = int(facts["match_id"].removeprefix("M"))
                    digest = hashlib.sha256(conversation.encode()).hexdigest()
                    yield (*names, match, facts["turn"], names[place], digest, conversation)


def _write_json_lines(path: Path, table: ResultTable) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for row in table.rows:
            values = dict(zip(table.head, row, strict=True))
            line = json.dumps(values, ensure_ascii=False)
            stream.write(f"{line}\n")


@contextmanager
def _csv_writer(path: Path, head: Sequence[str]) -> Iterator[WriteRows]:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(head)
        yield writer.writerows


@contextmanager
def _parquet_writer(path: Path, head: Sequence[str]) -> Iterator[WriteRows]:
    # An extra that few have installed.
    import pyarrow
    from pyarrow import parquet

    with ExitStack() as files:
        writer: Any = None

        def write_rows(rows: Sequence[Sequence[object]]) -> None:
            nonlocal writer
            columns = zip(*rows, strict=True)
            part = pyarrow.table(dict(zip(head, columns, strict=True)))
            # The first rows show the types of the columns.
            if writer is None:
                writer = files.enter_context(parquet.ParquetWriter(path, part.schema))
            writer.write_table(part)

        yield write_rows
