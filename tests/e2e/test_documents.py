"""Agents that follow one source document each, and know none of the others: a league of each, and one of all."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from league.events import (
    AgentRegistered,
    LeagueFinished,
    MatchDecided,
    MatchLost,
    PlayerFaulted,
    PlayersLocated,
    ReportSettled,
    ResultAccepted,
)
from tests.support.documents import DOCUMENTS, MANAGERS, PLAYERS, REFEREES, player
from tests.support.foreign_managers import Manager
from tests.support.peer import Peer
from tests.support.processes import Processes, assert_kept
from tests.support.scripts import ABSENT, Reaction, on

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
        heard = [DOCUMENTS[name].convention.hear(one.json) for one in referee.sent]
    answers = [one for one in heard if one.get("message_type") in ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE")]
    assert len(answers) == 2 * EACH * (EACH - 1)
    assert [one for one in answers if DOCUMENTS[name].misses(one)] == []
    assert [row["played"] for row in table] == [EACH - 1] * EACH
    assert processes.bugs == []


# --- a referee of ours under the documents' managers ------------------------------------------------------------------

MATCH = ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]
AGENTS_FILE = ("config", "agents", "agents_config.json")


def _homes(manager: Manager) -> tuple[str, ...]:
    return tuple(f"{one.member_id}={one.endpoint}" for one in manager.members if one.kind == "player")


def _refereed(manager: Manager, processes: Processes, players: int, source: str) -> list[MatchDecided]:
    """A league that a referee of ours plays, which is told where the players live by this source."""
    told = _homes(manager) if source == "--player" else ()
    referee = processes.referee(manager.endpoint, max_concurrent_matches=2, player=told)
    table = manager.play(players)
    assert referee.wait() == 0
    assert (processes.bugs, manager.stumbles) == ([], [])
    assert [row["played"] for row in table] == [players - 1] * players
    decided = processes.events("referee", MatchDecided)
    assert {one.status for one in decided} <= {"WIN", "DRAW"}
    assert {one.answer for one in processes.events("referee", ReportSettled)} == {"ACCEPTED"}
    assert {one.source for one in processes.events("referee", PlayersLocated)} == {source}
    return decided


def _as_printed(peer: Peer, name: str) -> None:
    """Everything that a match says arrives in the document's order, with all the fields that it prints."""
    said = [one for one in peer.received if one.kind in MATCH]
    for match_id in {one.message["match_id"] for one in said}:
        assert [one.kind for one in said if one.message["match_id"] == match_id] == MATCH
    assert [one.kind for one in said if DOCUMENTS[name].misses(one.message)] == []


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.requirement("MATCH.addresses_configured")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_referee_of_ours_runs_a_league_of_one_document(name: str, processes: Processes) -> None:
    """Manager and players follow that document. Only D1 has its manager write down where agents live (D1 354)."""
    with MANAGERS[name]() as manager, ExitStack() as stack:
        if name == "D1":
            manager.agents_file = processes.folder.joinpath(*AGENTS_FILE)
        peers = [stack.enter_context(player(name, f"{name} {number}")) for number in range(EACH)]
        for peer in peers:
            peer.register(manager.endpoint)
        decided = _refereed(manager, processes, EACH, AGENTS_FILE[-1] if name == "D1" else "--player")
        for peer in peers:
            _as_printed(peer, name)
        reports = [one.message for one in manager.requests("MATCH_RESULT_REPORT")]
    assert {one["match_id"]: one["result"]["winner"] for one in reports} == {
        one.match_id: one.winner for one in decided
    }
    assert len(reports) == len(decided) == EACH * (EACH - 1) // 2
    assert [DOCUMENTS[name].misses(one) for one in reports] == [set()] * len(reports)


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_agents_of_ours_and_of_all_documents_make_a_league_of_one_document(name: str, processes: Processes) -> None:
    """The manager follows that document, the players one each, and one is ours, as is the referee."""
    count = len(PLAYERS) + 1
    with MANAGERS[name]() as manager, ExitStack() as stack:
        # A manager of one document takes registrations in its own way only, whoever plays.
        peers = {one: stack.enter_context(player(one)) for one in DOCUMENTS}
        for peer in peers.values():
            peer.convention, spoken = manager.convention, peer.convention
            peer.register(manager.endpoint)
            peer.convention = spoken
        good = processes.players(manager.endpoint)
        manager.saw("LEAGUE_REGISTER_REQUEST", count)
        _refereed(manager, processes, count, "--player")
        assert good.wait() == 0
        for document, peer in peers.items():
            _as_printed(peer, document)


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("role", ["player", "referee"])
def test_whom_a_manager_of_one_document_rejects_says_why_and_goes(role: str, name: str, processes: Processes) -> None:
    kind = "LEAGUE_REGISTER_REQUEST" if role == "player" else "REFEREE_REGISTER_REQUEST"
    refusal = {"status": "REJECTED", f"{role}_id": None, "auth_token": ABSENT, "reason": "the league is full"}
    manager = MANAGERS[name]()
    manager.script = on(kind, Reaction(fields=refusal))
    with manager:
        ours = processes.begin(role, manager=manager.endpoint)
        assert ours.wait() == 1
        assert f"the manager refused {ours.endpoint}: the league is full" in ours.lines
        (asked,) = manager.requests(kind)
        assert DOCUMENTS[name].misses(asked.message) == set()
        assert {"display_name", "version", "game_types", "contact_endpoint"} <= asked.message[f"{role}_meta"].keys()
    assert processes.bugs == []
