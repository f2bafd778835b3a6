"""Agents that follow one source document each, and know none of the others: a league of each, and one of all."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from league.events import AgentRegistered, LeagueFinished, MatchLost, PlayerFaulted, ResultAccepted
from tests.support.documents import DOCUMENTS, MANAGERS, PLAYERS, REFEREES, player
from tests.support.processes import Processes, assert_kept

EACH = 4


def _decided(processes: Processes, matches: int) -> None:
    results = processes.events("manager", ResultAccepted)
    assert len(results) == matches
    assert {one.status for one in results} <= {"WIN", "DRAW"}
    assert processes.events("manager", MatchLost) == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert processes.bugs == []


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_players_of_one_document_play_a_league_of_their_own(name: str, processes: Processes) -> None:
    manager = processes.manager(players=EACH)
    with ExitStack() as stack:
        peers = [stack.enter_context(player(name, f"{name} {number}")) for number in range(EACH)]
        for peer in peers:
            peer.register(manager.endpoint)
        referee = processes.referee(manager, max_concurrent_matches=2)
        for peer in peers:
            peer.saw("LEAGUE_COMPLETED")
        assert (referee.wait(), manager.stop()) == (0, 0)
        assert [len(peer.requests("GAME_OVER")) for peer in peers] == [EACH - 1] * EACH
        assert [len(peer.requests("LEAGUE_COMPLETED")) for peer in peers] == [1] * EACH
    assert processes.events("referee", PlayerFaulted) == []
    _decided(processes, EACH * (EACH - 1) // 2)
    assert_kept(processes)


@pytest.mark.requirement("DIALECT.one_document")
def test_players_of_all_documents_play_one_league(processes: Processes) -> None:
    manager = processes.manager(players=len(PLAYERS) + 1)
    with ExitStack() as stack:
        for make in PLAYERS.values():
            stack.enter_context(make()).register(manager.endpoint)
        good = processes.players(manager)
        referee = processes.referee(manager, max_concurrent_matches=3)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert processes.events("referee", PlayerFaulted) == []
    count = len(PLAYERS) + 1
    _decided(processes, count * (count - 1) // 2)
    assert_kept(processes)


def _directory(processes: Processes) -> dict[str, str]:
    """Where the players live, as an author would tell its referee."""
    members = processes.events("manager", AgentRegistered)
    return {one.agent_id: one.endpoint for one in members if one.role == "player"}


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_referee_of_one_document_runs_a_league_of_ours(name: str, processes: Processes) -> None:
    manager = processes.manager(players=EACH)
    good = processes.players(manager, count=EACH)
    with REFEREES[name]() as referee:
        referee.directory = lambda: _directory(processes)
        referee.register(manager.endpoint)
        assert (good.wait(), manager.stop()) == (0, 0)
        assert referee.stumbles == []
        played = {one.match.match_id: one.winner for one in referee.outcomes}
    _decided(processes, EACH * (EACH - 1) // 2)
    assert {one.match_id: one.winner for one in processes.events("manager", ResultAccepted)} == played


@pytest.mark.requirement("DIALECT.one_document")
def test_players_and_referees_of_all_documents_make_one_league(processes: Processes) -> None:
    """A referee of one document cannot speak to players of another: those whose way is not the usual one get ours. The
    player of D1 speaks the usual way and no other, which nobody can see before a referee of D2 calls it."""
    players = {name: make for name, make in PLAYERS.items() if name != "D1"}
    count = len(players) + 6
    manager = processes.manager(players=count, referees=len(DOCUMENTS) + 1, rounds=3)
    with ExitStack() as stack:
        referees = [stack.enter_context(make()) for make in REFEREES.values()]
        for one in referees:
            one.directory = lambda: _directory(processes)
            one.register(manager.endpoint)
        ours = processes.referee(manager, max_concurrent_matches=8)
        for make in players.values():
            stack.enter_context(make()).register(manager.endpoint)
        good = processes.players(manager, count=6)
        assert (good.wait(), ours.wait(), manager.stop()) == (0, 0, 0)
    _decided(processes, 3 * count // 2)


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_players_of_ours_play_a_league_of_one_document(name: str, processes: Processes) -> None:
    """Manager and referee follow that document."""
    with MANAGERS[name]() as manager, REFEREES[name]() as referee:
        referee.directory = lambda: {one.member_id: one.endpoint for one in manager.members}
        referee.register(manager.endpoint)
        players = processes.players(manager.endpoint, count=EACH)
        table = manager.play(EACH)
        assert players.wait() == 0
        assert (manager.stumbles, referee.stumbles) == ([], [])
        assert {one.status for one in referee.outcomes} <= {"WIN", "DRAW"}
    assert [row["played"] for row in table] == [EACH - 1] * EACH
    assert processes.bugs == []
