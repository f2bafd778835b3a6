"""`league statistics`: what the results of a league tell, and what is luck."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from league.cli import USAGE, CommandError, examples, print_result, terminal
from league.cli.source import add_source_options, source_of

NAME = "statistics"
HELP = "show ratings or points with intervals, who is tied, and what is luck"
EXAMPLE = examples(
    "league statistics",
    "league statistics league-data/my_league",
    "league statistics --manager http://127.0.0.1:8000 --json",
    note="Ratings need NumPy: pip install 'agent-league[stats]'",
)
COLUMNS = 100
RECORD = ("player_id", "display_name", "wins", "draws", "losses", "technical_losses")
HEAD = ("player", "name", "won", "drawn", "lost", "technical")
POINTS = {
    "technical": "technical_losses",
    "points/match": "points_per_match",
    "95 % interval": "points_interval",
    "p": "p_value",
    "wins are": "is_luck",
}
RATING = {
    "technical": "technical_losses",
    "rating": "rating",
    "95 % interval": "rating_interval",
    "rank": "rank_range",
    "first": "first",
    "tied with": "tied_with",
}
REFEREES = {"draws": "draws", "p": "draws_p_value", "its draws look": "verdict"}
"""The columns of the tables, and the sentence that explains each."""

Document = Mapping[str, Any]
"""Of /api/statistics, or a part of it (Any: JSON)."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", metavar="JOURNAL|URL", help="short for --journal or --manager")
    add_source_options(parser)


def run(args: argparse.Namespace) -> int:
    if args.source:
        if args.manager or args.journal:
            raise CommandError("name the league once: as JOURNAL|URL, --manager or --journal", USAGE)
        is_manager = args.source.startswith(("http://", "https://"))
        args.manager, args.journal = (args.source, None) if is_manager else (None, args.source)
    found = source_of(args).get("/api/statistics")
    if found["missing"]:
        raise CommandError(found["missing"])
    print_result(args.json, found, _lines(found))
    return 0


def _lines(found: Document) -> Iterator[str]:
    counted = terminal.counted(found["matches"], "match")
    left_out = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found["left_out"].items() if count)
    yield terminal.plain(f"{found['league_id']}, {found['game_type']}: {counted}; left out: {left_out or 'none'}")
    yield from _told(found, {"matches": "matches", "left out": "left_out"})
    if found["points"] is not None:
        yield from _points(found, found["points"])
    if found["rating"] is not None:
        yield from _rating(found, found["rating"])
    if found["referees"]:
        yield from _referees(found, found["referees"])


def _told(found: Document, columns: Mapping[str, str]) -> Iterator[str]:
    """What the numbers mean, one sentence each, by what they are called here."""
    for column, name in columns.items():
        sentence = f"{column}: {found['explained'][name]}"
        yield from textwrap.wrap(sentence, COLUMNS, initial_indent="  ", subsequent_indent="    ")


def _record(row: Document) -> list[object]:
    return [row["record"][name] for name in RECORD]


def _points(found: Document, players: Sequence[Document]) -> Iterator[str]:
    rows = [
        [
            *_record(row),
            f"{row['points_per_match']:.2f}",
            _between(row["interval"], ".2f"),
            f"{row['p_value']:.3f}",
            "luck" if row["is_luck"] else "not luck",
        ]
        for row in players
    ]
    yield ""
    yield from terminal.table((*HEAD, *list(POINTS)[1:]), rows)
    yield from _told(found, POINTS)
    yield "  There is no rating: in this game the decided matches are coin tosses."


def _rating(found: Document, table: Document) -> Iterator[str]:
    rows = [
        [
            *_record(row),
            None if row["rating"] is None else f"{row['rating']:.0f}",
            row["interval"] and _between(row["interval"], ".0f"),
            row["rank_range"] and "–".join(map(str, dict.fromkeys(row["rank_range"]))),
            None if row["first"] is None else f"{row['first']:.0%}",
            _tied(row["tied_with"], len(table["players"])),
        ]
        for row in table["players"]
    ]
    yield ""
    yield from terminal.table((*HEAD, *list(RATING)[1:]), rows)
    yield from _told(found, RATING)
    if table["groups"] > 1:
        yield f"\nThe players are in {table['groups']} groups."
        yield from _told(found, {"groups": "groups"})
    if tied := [[one["better"], one["worse"], one["more_matches"]] for one in table["neighbours"] if not one["apart"]]:
        yield ""
        yield from terminal.table(("this", "and this", "more matches"), tied)
        yield from _told(found, {"more matches": "more_matches"})
    yield f"\nSeat A: {table['seat_advantage']:+.0f} points ({_between(table['seat_interval'], '+.0f')})"
    yield from _told(found, {"seat A": "seat_advantage"})


def _tied(others: Sequence[str], players: int) -> str | None:
    if players > 2 and len(others) == players - 1:
        return "everybody"
    named = ", ".join(others[: terminal.MOST_NAMED])
    return f"{named} …" if len(others) > terminal.MOST_NAMED else named or None


def _referees(found: Document, referees: Sequence[Document]) -> Iterator[str]:
    rows = [
        [one["referee_id"], one["draws"], None if one["p_value"] is None else f"{one['p_value']:.3f}", one["verdict"]]
        for one in referees
    ]
    yield ""
    yield from terminal.table(("referee", *REFEREES), rows)
    yield from _told(found, REFEREES)


def _between(interval: Sequence[float | None], form: str) -> str:
    low, high = ("" if one is None else format(one, form) for one in interval)
    return f"{low} … {high}".strip()
