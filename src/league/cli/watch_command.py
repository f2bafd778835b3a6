"""`league watch`: the live screen of a league, from its registrations to its champion."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, NamedTuple

from league.cli.source import LeagueSource, add_source_options, source_of
from league.terminal import Command, CommandError, examples, print_lines
from league.terminal.tables import Screen, champion, plain, progress, render_standings, screen_for

EXAMPLE = examples(
    "league watch",
    "league watch --manager http://192.0.2.7:8000",
    "league watch --journal league-data/cup",
)

POLL_S = 0.5
MISSING_S = 60.0
"""How long to wait for a manager that has stopped answering: it may be starting again."""


class Look(NamedTuple):
    """A league at one moment, in two documents (Any: JSON)."""

    league: Any
    standings: Any


def configure(parser: argparse.ArgumentParser) -> None:
    add_source_options(parser, with_json=False)


def run(args: argparse.Namespace) -> int:
    source = source_of(args)
    screen = screen_for(sys.stdout)
    try:
        last = _follow(source, screen, is_live=not args.journal)
    finally:
        screen.end()
    print_lines(_ending(last))
    return 0


def _follow(source: LeagueSource, screen: Screen, is_live: bool) -> Look:
    """Show the league until it is over, and return the last look. A journal is shown once."""
    look = _look(source)
    while True:
        screen.show(look.league, look.standings)
        # A journal does not change while it is watched: one picture is all there is.
        if look.league["state"] == "LEAGUE_COMPLETED" or not is_live:
            return look
        time.sleep(POLL_S)
        look = _look_patiently(source)


def _look(source: LeagueSource) -> Look:
    return Look(source.get("/api/league"), source.get("/api/standings"))


def _look_patiently(source: LeagueSource) -> Look:
    until = time.monotonic() + MISSING_S
    while True:
        try:
            return _look(source)
        except CommandError:
            if time.monotonic() > until:
                raise  # it is gone for good
            time.sleep(POLL_S)


def _ending(last: Look) -> list[str]:
    league = last.league
    lines = render_standings(last.standings)
    lines.append("")
    lines.append(f"{plain(league['league_id'])}: {progress(league)}")
    for row in last.standings["standings"]:
        if row["player_id"] == league["champion"]:
            lines.append(champion(row))
    return lines


COMMANDS = (Command("watch", "watch a league live in the terminal until it is over", EXAMPLE, configure, run),)
