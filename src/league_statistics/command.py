"""`league statistics`: what the results of a league tell, and what is luck."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from league.cli.source import add_source_options, source_of
from league.terminal import USAGE, Command, CommandError, examples, print_result
from league.terminal import tables as terminal

if TYPE_CHECKING:
    from league_statistics.findings import LeagueStatistics, RatingTable, RefereeDraws
from league.reports.models import ModelPlay

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
            raise CommandError("name the league once: as JOURNAL|URL, --manager or --journal", USAGE)
        is_manager = args.source.startswith(("http://", "https://"))
        args.manager, args.journal = (args.source, None) if is_manager else (None, args.source)
    document = source_of(args).get("/api/statistics")
    if document["missing"]:
        raise CommandError(document["missing"])
    print_result(args.json, document, _lines(document))
    return 0


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Of /api/statistics (Any: JSON)."""
    import msgspec

    from league_statistics.findings import LeagueStatistics
    from league_statistics.tables import left_out

    found = msgspec.convert(document, LeagueStatistics)
    counted = terminal.counted(found.matches, "match")
    yield terminal.plain(f"{found.league_id}, {found.game_type}: {counted}; left out: {left_out(found.left_out)}")
    yield from _told({"matches": "matches", "left out": "left_out"})
    yield from _players(found)
    if found.rating is not None:
        yield from _rating(found.rating)
    if found.referees:
        yield from _referees(found.referees)
    if found.models:
        yield from _models(found.models)


def _told(columns: Mapping[str, str]) -> Iterator[str]:
    """What the numbers mean, one sentence each, by what they are called here."""
    from league_statistics.words import EXPLAINED

    for column, name in columns.items():
        sentence = f"{column}: {EXPLAINED[name]}"
        yield from textwrap.wrap(sentence, COLUMNS, initial_indent="  ", subsequent_indent="    ")


def _players(found: LeagueStatistics) -> Iterator[str]:
    from league_statistics.tables import NO_RATING, measure_table

    table = measure_table(found)
    assert table is not None, "nothing is missing"
    rows = [[*(getattr(row.record, name) for name in RECORD), *row.cells] for row in table.rows]
    yield ""
    yield from terminal.table((*HEAD, *table.columns), rows)
    yield from _told({"technical": "technical_losses", **table.columns})
    if found.rating is None:
        yield f"  {NO_RATING}"


def _rating(table: RatingTable) -> Iterator[str]:
    from league_statistics.tables import between

    if table.groups > 1:
        yield f"\nThe players are in {table.groups} groups."
        yield from _told({"groups": "groups"})
    if tied := [[one.better, one.worse, one.more_matches] for one in table.neighbours if not one.apart]:
        yield ""
        yield from terminal.table(("this", "and this", "more matches"), tied)
        yield from _told({"more matches": "more_matches"})
    yield f"\nSeat A: {table.seat_advantage:+.0f} points ({between(table.seat_interval, '+.0f')})"
    yield from _told({"seat A": "seat_advantage"})


def _models(models: Sequence[ModelPlay]) -> Iterator[str]:
    from league_statistics.tables import MODELS, NOT_RATED, conditions

    yield ""
    rows = [[one.player_id, one.display_name, *(getattr(one, name) for name in MODELS.values())] for one in models]
    yield from terminal.table(("model", "name", *MODELS), rows)
    for one in models:
        why = f"; {NOT_RATED}: {one.not_rated}" if one.not_rated else ""
        yield terminal.plain(f"  {one.player_id}: {conditions(one)}{why}")
    yield from _told(MODELS)


def _referees(referees: Sequence[RefereeDraws]) -> Iterator[str]:
    rows = [
        [one.referee_id, one.draws, None if one.p_value is None else f"{one.p_value:.3f}", one.verdict]
        for one in referees
    ]
    yield ""
    yield from terminal.table(("referee", *REFEREES), rows)
    yield from _told(REFEREES)


COMMANDS = (
    Command(
        "statistics", "show ratings or points with intervals, who is tied, and what is luck", EXAMPLE, configure, run
    ),
)
