"""`league statistics`: show what the results of a league say, and what is luck."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from league.cli.source import add_source_options, source_of
from league.terminal import USAGE, Command, CommandError, examples, print_result
from league.terminal import tables as terminal

if TYPE_CHECKING:
    from league.reports.models import ModelPlay
    from league_statistics.findings import LeagueStatistics, RatingTable, RefereeDraws

EXAMPLE = examples(
    "league statistics",
    "league statistics league-data/my_league",
    "league statistics --manager http://127.0.0.1:8000 --json",
    note="Ratings need NumPy: pip install 'agent-league[stats]'",
)
COLUMNS = 100
RECORD = ("player_id", "display_name", "wins", "draws", "losses", "technical_losses")
HEAD = ("player", "name", "won", "drawn", "lost", "technical")
REFEREES = {"draws": "draws", "p": "draws_p_value", "its draws look": "verdict"}
"""The columns of the table, and the sentence that explains each."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", metavar="JOURNAL|URL", help="short for --journal or --manager")
    add_source_options(parser)


def run(args: argparse.Namespace) -> int:
    if args.source:
        if args.manager or args.journal:
            raise CommandError("name the league once: with JOURNAL|URL, --manager or --journal", USAGE)
        if args.source.startswith(("http://", "https://")):
            args.manager = args.source
        else:
            args.journal = args.source
    # The manager computes it, or we do from a journal: the document is the same.
    document = source_of(args).get("/api/statistics")
    if document["missing"]:
        raise CommandError(document["missing"])
    print_result(args.json, document, _lines(document))
    return 0


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a document from /api/statistics (Any: JSON)."""
    import msgspec

    from league_statistics.findings import LeagueStatistics
    from league_statistics.statistics_tables import left_out

    # Its sentences are not fields of a result, and are left out.
    statistics = msgspec.convert(document, LeagueStatistics)
    matches = terminal.counted(statistics.matches, "match")
    title = f"{statistics.league_id}, {statistics.game_type}: {matches}; left out: {left_out(statistics.left_out)}"
    yield terminal.plain(title)
    yield from _explained({"matches": "matches", "left out": "left_out"})
    yield from _players(statistics)
    if statistics.rating is not None:
        yield from _rating(statistics.rating)
    if statistics.referees:
        yield from _referees(statistics.referees)
    if statistics.models:
        yield from _models(statistics.models)


def _explained(columns: Mapping[str, str]) -> Iterator[str]:
    """Yield one sentence for each column."""
    from league_statistics.statistics_words import EXPLAINED

    for column, name in columns.items():
        sentence = f"{column}: {EXPLAINED[name]}"
        yield from textwrap.wrap(sentence, COLUMNS, initial_indent="  ", subsequent_indent="    ")


def _players(statistics: LeagueStatistics) -> Iterator[str]:
    from league_statistics.statistics_tables import NO_RATING, measure_table

    table = measure_table(statistics)
    assert table is not None, "nothing is missing"
    rows = []
    for row in table.rows:
        record = [getattr(row.record, name) for name in RECORD]
        rows.append([*record, *row.cells])
    yield ""
    yield from terminal.table((*HEAD, *table.columns), rows)
    yield from _explained({"technical": "technical_losses", **table.columns})
    # Somebody who looks for a rating should not think that it got lost.
    if statistics.rating is None:
        yield f"  {NO_RATING}"


def _rating(table: RatingTable) -> Iterator[str]:
    from league_statistics.statistics_tables import between

    if table.groups > 1:
        yield f"\nThe players are in {table.groups} groups."
        yield from _explained({"groups": "groups"})
    tied = [[pair.better, pair.worse, pair.more_matches] for pair in table.neighbours if not pair.apart]
    if tied:
        yield ""
        yield from terminal.table(("this", "and this", "more matches"), tied)
        yield from _explained({"more matches": "more_matches"})
    yield f"\nSeat A: {table.seat_advantage:+.0f} points ({between(table.seat_interval, '+.0f')})"
    yield from _explained({"seat A": "seat_advantage"})


def _models(models: Sequence[ModelPlay]) -> Iterator[str]:
    from league_statistics.statistics_tables import MODELS, NOT_RATED, conditions

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


def _referees(referees: Sequence[RefereeDraws]) -> Iterator[str]:
    rows: list[list[object]] = []
    for referee in referees:
        p_value = None
        if referee.p_value is not None:
            p_value = f"{referee.p_value:.3f}"
        rows.append([referee.referee_id, referee.draws, p_value, referee.verdict])
    yield ""
    yield from terminal.table(("referee", *REFEREES), rows)
    yield from _explained(REFEREES)


COMMANDS = (
    Command(
        "statistics",
        "show ratings or points with intervals, who is tied, and what is luck",
        EXAMPLE,
        configure,
        run,
    ),
)
