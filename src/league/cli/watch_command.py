"""`league watch`: the live screen of a league, from its registrations to its champion."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from league.cli.source import MATCHES, LeagueSource, add_source_options, source_of
from league.terminal import Command, CommandError, examples, print_lines
from league.terminal.tables import Screen, ending, progress, render_standings, screen_for, title

EXAMPLE = examples(
    "league watch",
    "league watch --manager http://192.0.2.7:8000",
    "league watch --journal league-data/cup",
)

POLL_S = 0.5
MISSING_S = 60.0
"""How long to wait for a manager that has stopped answering: it may be starting again."""


MOST_LIVE = 3
"""How many matches are shown move by move."""
LAST_MOVES = 4


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
    live = LiveLines(source)
    while True:
        league = look.league
        if is_live:
            league = {**league, "awaited": [*live.lines(league), *league["awaited"]]}
        screen.show(league, look.standings)
        # A journal does not change while it is watched: one picture is all there is.
        if look.league["state"] == "LEAGUE_COMPLETED" or not is_live:
            return look
        time.sleep(POLL_S)
        look = _look_patiently(source)


class LiveLines:
    """The first matches of the round that are being played: their referees tell of them as long as we look."""

    def __init__(self, source: LeagueSource) -> None:
        self._source = source
        self._reached: tuple[int, int] | None = None
        self._playing: list[str] = []

    def lines(self, league: Mapping[str, Any]) -> list[str]:
        """One line for each match."""
        reached = (league["round"], league["matches_completed"])
        if reached != self._reached:
            # The schedule is long, so it is read only when a match has ended or a round has begun.
            self._reached = reached
            rounds = self._source.get("/api/schedule")["rounds"]
            played = rounds[league["round"] - 1]["matches"] if league["round"] else []
            self._playing = [match["match_id"] for match in played if match["status"] == "RUNNING"][:MOST_LIVE]
        matches = [self._source.get(f"{MATCHES}{match_id}") for match_id in self._playing]
        return [live_line(match) for match in matches if match and match.get("live")]


def live_line(match: Mapping[str, Any]) -> str:
    """A match that is being played, by its /api/matches/{id}, in a line."""
    live = match["live"]
    said = [f"{move['player_id']} {move['move']}" for move in live["moves"][-LAST_MOVES:]]
    if said:
        said[0] = f"move {len(live['moves'])}: {'… ' * (len(live['moves']) > LAST_MOVES)}{said[0]}"
    said += [f"{player} has chosen" for player in live["answered"]]
    if not said and live["board"]:
        said = [live["board"].get("text", "")]
    if not said:
        said = [f"{player} has joined" for player in live["joined"]]
    pairing = f"{match['match_id']} {match['player_A_id']} – {match['player_B_id']}"
    return f"{pairing}: {', '.join(said) or 'both are invited'}"


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
    lines.append(f"{title(league)}: {progress(league)}")
    return lines + ending(last.standings)


COMMANDS = (Command("watch", "watch a league live in the terminal until it is over", EXAMPLE, configure, run),)
