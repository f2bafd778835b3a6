"""`league watch`: the live screen of a league, from its registrations to its champion."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from league.cli.source import LeagueSource, add_source_options, source_of
from league.terminal import Command, CommandError, examples, print_lines
from league.terminal import tables as terminal
from league.terminal.tables import Screen, screen_for

EXAMPLE = examples(
    "league watch", "league watch --manager http://192.0.2.7:8000", "league watch --journal league-data/cup"
)

POLL_S = 0.5
MISSING_S = 60.0
"""A manager that was there and is gone may be starting again: it is waited for as long as this."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_source_options(parser, with_json=False)


def run(args: argparse.Namespace) -> int:
    source, screen = source_of(args), screen_for(sys.stdout)
    try:
        league, standings = _follow(source, screen, is_live=not args.journal)
    finally:
        screen.end()
    print_lines(_ending(league, standings))
    return 0


def _follow(source: LeagueSource, screen: Screen, is_live: bool) -> tuple[Any, Any]:
    """Show the league until it is over (a journal: as it is); its last documents."""
    league, standings = _look(source)
    while True:
        screen.show(league, standings)
        if league["state"] == "LEAGUE_COMPLETED" or not is_live:
            return league, standings
        time.sleep(POLL_S)
        league, standings = _look_patiently(source)


def _look(source: LeagueSource) -> tuple[Any, Any]:
    return source.get("/api/league"), source.get("/api/standings")


def _look_patiently(source: LeagueSource) -> tuple[Any, Any]:
    until = time.monotonic() + MISSING_S
    while True:
        try:
            return _look(source)
        except CommandError:
            if time.monotonic() > until:
                raise
            time.sleep(POLL_S)


def _ending(league: Any, standings: Any) -> list[str]:
    lines = [*terminal.render_standings(standings), ""]
    lines.append(f"{terminal.title(league)}: {terminal.progress(league)}")
    return lines + terminal.ending(standings)


COMMANDS = (Command("watch", "watch a league live in the terminal until it is over", EXAMPLE, configure, run),)
