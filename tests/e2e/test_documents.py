"""Agents that follow one source document each, and know none of the others: a league of each, and one of all."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any
from urllib.request import urlopen

import pytest

from league.events import (
    AgentRegistered,
    AnswerRefused,
    AssignmentCompleted,
    LeagueFinished,
    MatchDecided,
    MatchLost,
    PlayerFaulted,
    ReportSettled,
    RequestRefused,
    ResultAccepted,
)
from tests.support.documents import DOCUMENTS, MANAGERS, PLAYERS, REFEREES, manager, player, posting_player, referee
from tests.support.foreign_managers import Manager
from tests.support.peer import Peer
from tests.support.processes import Process, Processes, assert_kept
from tests.support.scripts import ABSENT, Reaction, on

EACH = 4
KEY = "the key of the operator's own referee"
"""With it our referee gets the matches that no other can speak in; those that came in openly never do (T-18)."""


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
    manager = processes.manager(players=count, referees=len(DOCUMENTS) + 1, rounds=3, enrolment_key=KEY)
    with ExitStack() as stack:
        referees = [stack.enter_context(make()) for make in REFEREES.values()]
        for one in referees:
            one.directory = lambda: _directory(processes)
            one.register(manager.endpoint)
        ours = processes.referee(manager, max_concurrent_matches=8, enrolment_key=KEY)
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
    assert {one.source for one in processes.events("referee", AssignmentCompleted) if one.endpoints} == {source}
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


# --- to the letter: agents that show no token -------------------------------------------------------------------------


def _page(league: Process, path: str) -> Any:
    """A page of the manager (Any: JSON)."""
    with urlopen(league.endpoint.removesuffix("/mcp") + path, timeout=10) as answer:
        return json.load(answer)


LETTERS = ("D0", "D2")
"""The documents whose reports have no token."""


@pytest.mark.requirement("TRUST.reports_by_address")
@pytest.mark.parametrize("name", LETTERS)
def test_with_trust_class_a_referee_to_the_letter_runs_a_league(name: str, processes: Processes) -> None:
    league = processes.manager(players=EACH, trust="class")
    good = processes.players(league, count=EACH)
    with referee(name, to_the_letter=True) as whistle:
        whistle.directory = lambda: _directory(processes)
        whistle.register(league.endpoint)
        assert (good.wait(), league.stop()) == (0, 0)
        assert whistle.stumbles == []
        played = {outcome.match.match_id: outcome.winner for outcome in whistle.outcomes}
    assert any("whoever shares an address with a referee can report for it" in line for line in league.lines)
    _decided(processes, EACH * (EACH - 1) // 2)
    results = processes.events("manager", ResultAccepted)
    assert all(result.origin for result in results)
    assert {result.match_id: result.winner for result in results} == played
    assert processes.verified()["ok"]


@pytest.mark.requirement("REFUSED.shown")
@pytest.mark.parametrize(("name", "code"), [("D0", "E003"), ("D2", "E011")])
def test_by_default_its_refused_report_is_shown_everywhere(name: str, code: str, processes: Processes) -> None:
    league = processes.manager(players=2)
    good = processes.players(league, count=2)
    with referee(name, to_the_letter=True) as whistle:
        whistle.directory = lambda: _directory(processes)
        whistle.register(league.endpoint)
        league.said("refused the report of R1M1")
        shown = _page(league, "/api/league")
        assert shown["waiting"] == "WAITING_FOR_REPORT"
        assert f"R1M1: {code}" in shown["waiting_reason"]
        assert [row["code"] for row in _page(league, "/api/agents")["refused"]] == [code]
        (row,) = _page(league, "/api/matches/R1M1")["refused"]
        assert row["code"] == code
        told = processes.run("explain", "R1M1", "--manager", league.endpoint).stdout
        assert "came and was refused, because" in told
        # Its author reads the refusal in the answer to the report.
        (report,) = [sent for sent in whistle.sent if b"MATCH_RESULT_REPORT" in sent.body]
        assert code.encode() in report.answer
    assert (league.stop(), good.stop()) == (0, 0)
    assert [refusal.code for refusal in processes.events("manager", RequestRefused)] == [code]
    assert processes.events("manager", ResultAccepted) == []


@pytest.mark.requirement("TRUST.answers_by_address")
def test_with_trust_class_players_that_post_bare_answers_play(processes: Processes) -> None:
    league = processes.manager(players=3, trust="class")
    with ExitStack() as stack:
        for number in range(2):
            stack.enter_context(posting_player(f"Poster {number}")).register(league.endpoint)
        good = processes.players(league)
        whistle = processes.referee(league, max_concurrent_matches=2)
        assert (good.wait(), whistle.wait(), league.stop()) == (0, 0, 0)
    assert processes.events("referee", PlayerFaulted) == []
    _decided(processes, 3)
    assert_kept(processes)


@pytest.mark.requirement("MATCH.refused_answers_noted")
def test_by_default_their_refused_answers_are_told_to_everybody(processes: Processes) -> None:
    settings = processes.folder / "league.toml"
    settings.write_text("retry_delays_s = [0.1]\n", encoding="utf-8")
    league = processes.manager(players=2, config=settings)
    with posting_player() as poster:
        poster.register(league.endpoint)
        good = processes.players(league)
        whistle = processes.referee(league)
        assert (good.wait(), whistle.wait()) == (0, 0)
        errors = [str(one.message.get("error_detail")) for one in poster.requests("GAME_ERROR")]
        answers = [sent for sent in poster.sent if b"GAME_JOIN_ACK" in sent.body]
        told = processes.run("explain", "R1M1", "--manager", league.endpoint).stdout
        agents = _page(league, "/api/agents")["refused"]
    assert league.stop() == 0
    because = "an answer came and was refused, because it shows neither the conversation_id of the call nor a token"
    assert errors
    assert all(because in error for error in errors)
    assert all(b"E012" in sent.answer for sent in answers)
    assert because in told
    assert "show the token" in told
    shown = because.removeprefix("an answer came and ")
    assert any(shown in line for line in whistle.lines)
    assert any(shown in line for line in league.lines)
    assert [(row["request"], row["code"]) for row in agents] == [("answer", "E012")]
    assert {refusal.code for refusal in processes.events("referee", AnswerRefused)} == {"E012"}
    (fault,) = processes.events("referee", PlayerFaulted)
    assert (fault.code, because in fault.detail) == ("E001", True)


@pytest.mark.requirement("DIALECT.one_document")
@pytest.mark.requirement("TRUST.reports_by_address")
def test_with_trust_class_all_roles_of_all_documents_make_one_league(processes: Processes) -> None:
    """No technical loss, whatever document an agent was written from. The player of D1 understands only verbs, and a
    referee of another document speaks none: such a match is for a referee of ours."""
    players = {name: make for name, make in PLAYERS.items() if name != "D1"}
    count = len(players) + 4
    league = processes.manager(players=count, referees=len(DOCUMENTS) + 1, rounds=2, trust="class", enrolment_key=KEY)
    with ExitStack() as stack:
        for name in DOCUMENTS:
            whistle = stack.enter_context(referee(name, to_the_letter=name in LETTERS))
            whistle.directory = lambda: _directory(processes)
            whistle.register(league.endpoint)
        ours = processes.referee(league, max_concurrent_matches=8, enrolment_key=KEY)
        for make in players.values():
            stack.enter_context(make()).register(league.endpoint)
        stack.enter_context(posting_player()).register(league.endpoint)
        good = processes.players(league, count=3)
        assert (good.wait(), ours.wait(), league.stop()) == (0, 0, 0)
    _decided(processes, 2 * count // 2)
    by_address = {one.referee_id for one in processes.events("manager", ResultAccepted) if one.origin}
    members = processes.members()
    assert by_address <= {members[f"referee of {name}"] for name in LETTERS}


# --- managers that announce rounds to players only --------------------------------------------------------------------


@pytest.mark.requirement("REFEREE.asks_for_schedule")
@pytest.mark.parametrize("name", ["D0", "D1", "D4"])
def test_a_referee_of_ours_asks_a_manager_that_tells_it_nothing(name: str, processes: Processes) -> None:
    with manager(name, to_players_only=True) as league, ExitStack() as stack:
        peers = [stack.enter_context(player(name, f"{name} {number}")) for number in range(2)]
        for peer in peers:
            peer.register(league.endpoint)
        whistle = processes.referee(league.endpoint, player=_homes(league), time_scale=20)
        table = league.play(2)
        assert whistle.wait() == 0
    assert [row["played"] for row in table] == [1, 1]
    assert {decided.status for decided in processes.events("referee", MatchDecided)} <= {"WIN", "DRAW"}
    assert (processes.bugs, league.stumbles) == ([], [])
