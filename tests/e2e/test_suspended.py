"""Processes that stand still for longer than everybody's patience, as with a closed lid, and go on: nobody loses by the
sleep of another."""

from __future__ import annotations

import signal
import threading
from contextlib import closing
from itertools import combinations

import pytest

from league.cli.pages import Pages
from league.events import LeagueFinished, MatchLost, ResultAccepted
from tests.support.peer import Peer
from tests.support.processes import Process, Processes, assert_kept
from tests.support.scripts import held

PLAYERS = 4
SCALE = 10
SILENCE_S, LEASE_S = 25.0, 130.0
MATCHES = len(list(combinations(range(PLAYERS), 2)))


def _league_of(processes: Processes, sam: Peer) -> tuple[Process, Process, Process]:
    """Manager, players and referee. Sam answers a call in a match only when the test lets it."""
    manager = processes.manager(players=PLAYERS, move_seconds=5)
    sam.register(manager.endpoint)
    players = processes.players(manager, count=PLAYERS - 1)
    return manager, players, processes.referee(manager, time_scale=SCALE)


def _ends_well(processes: Processes, manager: Process, players: Process, referee: Process) -> None:
    assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    results = {one.match_id: one for one in processes.events("manager", ResultAccepted)}
    assert len(results) == MATCHES
    assert [one for one in results.values() if one.status == "TECHNICAL_LOSS"] == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert_kept(processes)


@pytest.mark.requirement("REFEREE.lease_no_blame")
def test_a_referee_that_stood_still_blames_nobody(processes: Processes) -> None:
    """Longer than it takes its manager to give it up, and than its own time for every attempt of a call."""
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 1)) as sam:
        manager, players, referee = _league_of(processes, sam)
        sam.saw("CHOOSE_PARITY_CALL")
        referee.signal(signal.SIGSTOP)
        with closing(Pages(manager.endpoint)) as pages:
            manager.until(lambda: pages.json("/api/league")["waiting"] == "WAITING_FOR_REFEREE")
        referee.signal(signal.SIGCONT)
        sam.saw("CHOOSE_PARITY_CALL", 2)
        sam.release("go")
        _ends_well(processes, manager, players, referee)


@pytest.mark.requirement("REFEREE.lease_no_blame")
@pytest.mark.parametrize("seconds", [SILENCE_S, pytest.param(LEASE_S, marks=pytest.mark.deep)])
def test_a_manager_that_stood_still_takes_nothing_away(processes: Processes, seconds: float) -> None:
    """Longer than the silence after which a referee is dead, or than the lease of a match; the report comes
    meanwhile."""
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 1)) as sam:
        manager, players, referee = _league_of(processes, sam)
        sam.saw("CHOOSE_PARITY_CALL")
        manager.signal(signal.SIGSTOP)
        sam.release("go")
        threading.Event().wait(seconds)  # so long it sleeps: nothing else is to happen
        manager.signal(signal.SIGCONT)
        _ends_well(processes, manager, players, referee)
        assert processes.events("manager", MatchLost) == []


def test_a_player_that_stood_still_loses_its_own_matches_alone_and_plays_on(processes: Processes) -> None:
    # No match waits for it: that would take a minute, and test_trouble.py shows it.
    manager = processes.manager(players=PLAYERS, move_seconds=5, double=True, outage_minutes=0)
    sleepy = processes.players(manager, "sleepy")
    others = processes.players(manager, count=PLAYERS - 1)
    manager.said("player P", PLAYERS)
    sleepy.signal(signal.SIGSTOP)
    referee = processes.referee(manager, time_scale=SCALE)
    manager.until(lambda: _technical(processes))
    sleepy.signal(signal.SIGCONT)
    assert (sleepy.wait(), others.wait(), referee.wait(), manager.stop()) == (0, 0, 0, 0)
    results = {one.match_id: one for one in processes.events("manager", ResultAccepted)}
    assert len(results) == 2 * MATCHES
    its = processes.members()["sleepy"]
    lost = _technical(processes)
    assert all(its in one.points and one.winner not in (its, None) for one in lost)
    assert len(lost) < 2 * (PLAYERS - 1)
    assert_kept(processes)


def _technical(processes: Processes) -> list[ResultAccepted]:
    return [one for one in processes.events("manager", ResultAccepted) if one.status == "TECHNICAL_LOSS"]
