"""A power cut in the middle of a league, on real processes: nobody loses by it, and the league ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import combinations
from typing import Any

import pytest

from league.cli.pages import Pages
from league.events import (
    LeagueFinished,
    MatchPaused,
    ResultAccepted,
    ResultVoided,
)
from tests.support.http_wire import free_ports
from tests.support.processes import Process, Processes, assert_kept

SCALE = 10
THINKS_S = 0.3
"""A player takes so long to choose. A round takes longer, and most rounds are left in the middle of a league: it is not
over before a test kills somebody, however fast it is."""
EIGHT = 8
MATCHES = 2 * len(list(combinations(range(EIGHT), 2)))
Condition = Callable[[dict[str, Any]], bool]


def league_when(manager: Process, holds: Condition) -> dict[str, Any]:
    """Return /api/league as soon as it is so."""
    with closing(Pages(manager.endpoint)) as pages:

        def look() -> dict[str, Any]:
            league = dict(pages.json("/api/league"))
            return league if holds(league) else {}

        return manager.until(look)


class Classroom:
    """A manager, a referee, and eight players at ports of their own. Those at one desk are one process: they go at the
    same instant."""

    def __init__(self, processes: Processes, desks: int = 2) -> None:
        self.processes = processes
        self._seats = EIGHT // desks
        self._ports = [free_ports(self._seats) for _ in range(desks)]
        self.manager = processes.manager(players=EIGHT, double=True)
        self.endpoint = self.manager.endpoint
        self._strategy = processes.slow_strategy(THINKS_S)
        self.players = self.start_all()
        self.referee = processes.referee(self.endpoint, time_scale=SCALE, max_concurrent_matches=4)

    def start_all(self) -> list[Process]:
        return [self.start_players(number) for number in range(len(self._ports))]

    def start_players(self, number: int) -> Process:
        return self.processes.players(
            self.endpoint,
            f"desk {number}",
            count=self._seats,
            port=self._ports[number],
            time_scale=SCALE,
            strategy=self._strategy,
        )

    def in_the_middle(self) -> None:
        """Wait until the league is in its fourth round of fourteen."""
        league_when(self.manager, lambda league: league["round"] >= 4)

    def ends_well(self) -> None:
        """Every match was played, and nobody lost one by being away."""
        seen = league_when(self.manager, lambda league: league["state"] == "LEAGUE_COMPLETED")
        assert (seen["matches_completed"], seen["technical_losses"]) == (MATCHES, 0)
        assert {one.wait() for one in (*self.players, self.referee)} == {0}
        assert self.manager.stop() == 0
        results = {one.match_id: one for one in self.processes.events("manager", ResultAccepted)}
        assert {one.status for one in results.values()} <= {"WIN", "DRAW"}
        assert len(self.processes.events("manager", LeagueFinished)) == 1
        assert_kept(self.processes)


@pytest.mark.requirement("OUTAGE.many")
def test_eight_players_that_are_killed_at_once_come_back_and_play_on(processes: Processes) -> None:
    room = Classroom(processes, desks=1)
    room.in_the_middle()
    room.players[0].kill()
    seen = league_when(room.manager, lambda league: league["waiting"] is not None)
    assert (seen["state"], seen["waiting"]) == ("RUNNING_LEAGUE", "WAITING_FOR_PLAYERS")
    assert "8 of 8 players can't be reached" in seen["waiting_reason"]
    shown = processes.run("standings", "--manager", room.endpoint).stdout
    assert f"WAITING_FOR_PLAYERS ({seen['waiting_reason']})" in shown
    room.players = room.start_all()
    room.ends_well()
    assert {pause.cause for pause in processes.events("manager", MatchPaused)} == {"outage"}


def test_half_of_the_class_that_leaves_the_room_and_returns_loses_nothing(processes: Processes) -> None:
    room = Classroom(processes)
    room.in_the_middle()
    room.players[0].kill()
    league_when(room.manager, lambda league: league["waiting"] == "WAITING_FOR_PLAYERS")
    room.players[0] = room.start_players(0)
    room.ends_well()


@pytest.mark.requirement("OUTAGE.restart")
def test_a_machine_with_everything_on_it_is_switched_off_and_on(processes: Processes) -> None:
    room = Classroom(processes)
    room.in_the_middle()
    ports = room.manager.port, room.referee.port
    for one in (room.manager, room.referee, *room.players):
        one.kill()
    room.manager = processes.manager(players=EIGHT, double=True, port=ports[0])
    room.referee = processes.referee(room.endpoint, time_scale=SCALE, max_concurrent_matches=4, port=ports[1])
    room.players = room.start_all()
    room.ends_well()


@pytest.mark.requirement("LEAGUE.replayed_after_the_end")
def test_a_match_is_played_again_after_the_end_until_the_league_is_closed(processes: Processes) -> None:
    ports = [free_ports(2), free_ports(1)]
    manager = processes.manager(players=2)

    def there() -> tuple[Process, Process]:
        """Both players and the referee; they end with the league."""
        return (
            processes.players(manager, count=2, port=ports[0]),
            processes.referee(manager, time_scale=SCALE, port=ports[1], journal=None, state=processes.folder),
        )

    def order(*words: str) -> str:
        done = processes.run(*words, "--manager", manager.endpoint, "--state", processes.folder)
        return done.stdout or done.stderr

    assert [one.wait() for one in there()] == [0, 0]
    assert "R1M1 is played again" in order("replay-match", "R1M1")
    league_when(manager, lambda league: league["state"] == "RUNNING_LEAGUE")
    assert [one.wait() for one in there()] == [0, 0]
    league_when(manager, lambda league: league["state"] == "LEAGUE_COMPLETED")
    assert len(processes.events("manager", LeagueFinished)) == 2
    assert len(processes.events("manager", ResultVoided)) == 1
    assert "closed" in order("close")
    assert "E031" in order("replay-match", "R1M1")
    assert manager.stop() == 0
    assert len(processes.orders("close")) == 1
    assert processes.verified()["ok"]
