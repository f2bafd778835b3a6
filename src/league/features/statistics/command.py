"""`league statistics`: show what the results of a league say, and what is luck."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.cli.source import add_league_options, settle_source, source_of
from league.terminal import Command, CommandError, examples, print_result
from league.terminal import tables as terminal

if TYPE_CHECKING:
    from league.features.statistics.findings import LeagueStatistics
    from league.reading.models import ModelPlay

EXAMPLE = examples(
    "league statistics",
    "league statistics league-data/my_league",
    "league statistics results     # the folder of 'league tournament --to results'",
    "league statistics --manager http://127.0.0.1:8000 --json",
    note="Ratings need NumPy: pip install 'agent-league[stats]'",
)
COLUMNS = 100
RECORD = {
    "player": "player_id",
    "name": "display_name",
    "won": "wins",
    "drawn": "draws",
    "lost": "losses",
    "technical": "technical_losses",
}


def run(args: argparse.Namespace) -> int:
    document = _document(args)
    if document["missing"]:
        raise CommandError(document["missing"])
    print_result(args.json, document, _lines(document))
    return 0


def _document(args: argparse.Namespace) -> Any:
    """Return the statistics: of a tournament's folder, of a journal, or from a manager. They look the same."""
    settle_source(args)
    file = None
    if args.journal:
        from league.features.statistics import tournaments

        file = tournaments.file_in(Path(args.journal))
    if file is None:
        return source_of(args).get("/api/statistics")
    from league.features.statistics.analysis import document

    title = file.absolute().parent.name
    return document(tournaments.statistics(tournaments.read_file(file), title))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a document from /api/statistics (Any: JSON)."""
    import msgspec

    from league.features.statistics.findings import LeagueStatistics
    from league.features.statistics.statistics_tables import notes

    # Its sentences are not fields of a result, and are left out.
    statistics = msgspec.convert(document, LeagueStatistics)
    yield terminal.plain(f"{statistics.league_id}, {statistics.game_type}")
    yield from _players(statistics)
    for note in notes(statistics):
        yield ""
        yield terminal.plain(f"{note.title}: {note.text}")
        yield from _wrapped(note.sentence)
    if statistics.models:
        yield from _models(statistics.models)


def _explained(columns: Mapping[str, str]) -> Iterator[str]:
    """Yield one sentence for each column."""
    from league.features.statistics.statistics_words import EXPLAINED

    for column, name in columns.items():
        yield from _wrapped(f"{column}: {EXPLAINED[name]}")


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, COLUMNS, initial_indent="  ", subsequent_indent="    ")


def _players(statistics: LeagueStatistics) -> Iterator[str]:
    from league.features.statistics.statistics_tables import measure_table

    table = measure_table(statistics)
    assert table is not None, "nothing is missing"
    fields = dict(RECORD)
    # Strategies of a tournament have no id but their name.
    if all(row.record.player_id == row.record.display_name for row in table.rows):
        del fields["name"]
    rows = []
    for row in table.rows:
        record = [getattr(row.record, field) for field in fields.values()]
        rows.append([*record, *row.cells])
    yield ""
    yield from terminal.table((*fields, *table.columns), rows)
    yield from _explained({"technical": "technical_losses", **table.columns})


def _models(models: Sequence[ModelPlay]) -> Iterator[str]:
    from league.features.statistics.statistics_tables import MODELS, NOT_RATED, conditions

    rows = []
    for model in models:
        numbers = [getattr(model, name) for name in MODELS.values()]
        rows.append([model.player_id, model.display_name, *numbers])
    yield ""
    yield from terminal.table(("model", "name", *MODELS), rows)
    for model in models:
        line = f"  {model.player_id}: {conditions(model)}"
        if model.not_rated:
            line = f"{line}; {NOT_RATED}: {model.not_rated}"
        yield terminal.plain(line)
    yield from _explained(MODELS)


COMMANDS = (
    Command(
        "statistics",
        "show ratings or points with intervals, who is tied, and what is luck",
        EXAMPLE,
        add_league_options,
        run,
    ),
)
