"""Players that disappear in the middle of a match, on real processes: the match waits, also for its own referee and its
manager, and goes on in the same attempt."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import pytest

from league.cli.pages import Pages
from league.events import LossAllowed, MatchPaused, PlayerAwaited, ResultAccepted, ResultVoided
from tests.support.http_wire import free_ports
from tests.support.processes import Process, Processes, assert_kept

SCALE = 10
THINKS_S = 0.3
NINE = 9


def league_when(manager: Process, key: str, *values: object) -> dict[str, Any]:
    """Return /api/league as soon as this key has one of these values."""
    with closing(Pages(manager.endpoint)) as pages:

        def look() -> dict[str, Any]:
            league = dict(pages.json("/api/league"))
            return league if league[key] in values else {}

        return manager.until(look)


class Classroom:
    """A manager, a referee, three players at one desk and six at another."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self._strategy = processes.slow_strategy(THINKS_S)
        self._ports = {3: free_ports(3), 6: free_ports(6)}
        self.manager = processes.manager(players=NINE)
        self.six = self.start_players(6)
        self.three = self.start_players(3)
        self.referee = self.start_referee()

    def start_players(self, count: int) -> Process:
        return self.processes.players(
            self.manager.endpoint,
            f"{count} players",
            count=count,
            port=self._ports[count],
            time_scale=SCALE,
            strategy=self._strategy,
        )

    def start_referee(self, **options: Any) -> Process:
        return self.processes.referee(self.manager.endpoint, time_scale=SCALE, max_concurrent_matches=4, **options)

    def cut(self) -> None:
        """A third of the players disappear in the third round; the league waits for them."""
        league_when(self.manager, "round", *range(3, NINE + 1))
        self.three.kill()
        league_when(self.manager, "waiting", "WAITING_FOR_PLAYERS")

    def ends_well(self) -> None:
        """Nobody lost by it, and no match was begun anew."""
        self.three = self.start_players(3)
        league = league_when(self.manager, "state", "LEAGUE_COMPLETED")
        assert (league["matches_completed"], league["technical_losses"]) == (36, 0)
        assert {process.wait() for process in (self.six, self.three, self.referee)} == {0}
        assert self.manager.stop() == 0
        results = self.processes.events("manager", ResultAccepted)
        assert {result.attempt for result in results} == {1}
        for kind in (ResultVoided, LossAllowed):
            assert self.processes.events("manager", kind) == [], kind
        assert_kept(self.processes)


@pytest.mark.requirement("OUTAGE.many")
def test_a_third_of_the_class_is_waited_for_in_the_position_it_left(processes: Processes) -> None:
    room = Classroom(processes)
    room.cut()
    room.ends_well()


@pytest.mark.requirement("TROUBLE.survives")
def test_a_pause_survives_its_referee(processes: Processes) -> None:
    room = Classroom(processes)
    room.cut()
    while not processes.events("referee", PlayerAwaited):
        assert room.referee.is_running
        threading.Event().wait(0.05)  # nobody is told when it is on the disk
    port = room.referee.port
    room.referee.kill()
    room.referee = room.start_referee(port=port)
    room.ends_well()
    assert {pause.cause for pause in processes.events("manager", MatchPaused)} == {"outage"}


@pytest.mark.requirement("TROUBLE.survives")
def test_a_pause_survives_its_manager(processes: Processes) -> None:
    room = Classroom(processes)
    room.cut()
    port = room.manager.port
    room.manager.kill()
    room.manager = processes.manager(players=NINE, port=port)
    room.ends_well()
