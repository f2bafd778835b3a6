"""Thirty players that think for a second, with all defaults: the time of the league beside the time of the thinking."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import Row
from league.events import Event, LeagueFinished, RoundOpened
from league.storage.reading import open_for_reading
from tests.support.processes import Processes

PLAYERS = 30
REFEREES = ("first", "second")
ROUNDS = 4
THINKING_S = 1.0
GOAL = 1.1


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, Processes(Path(folder)) as processes:
        manager = processes.manager(players=PLAYERS, rounds=ROUNDS, referees=len(REFEREES))
        for name in REFEREES:
            processes.referee(manager, name)
        players = processes.players(manager, count=PLAYERS, strategy=processes.slow_strategy(THINKING_S))
        players.wait()
        with open_for_reading(processes.journal("manager")) as journal:
            began = _first(journal.of_kind(RoundOpened))
            ended = _first(journal.of_kind(LeagueFinished))
    title = f"{PLAYERS} players that think for a second, {ROUNDS} rounds"
    return [Row(title, ended - began, ROUNDS * THINKING_S, "the thinking alone", "s", GOAL)]


def _first(events: list[tuple[int, Event]]) -> float:
    _, event = events[0]
    return event.at
