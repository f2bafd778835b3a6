"""Players in dialects and with habits of their own: the kit finds out how to talk to each, and judges what it says."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.driver.kit import Options
from league.features.kit.driver.record import Probe, parse_answer
from league.features.kit.driver.wire import RawResponse
from league.features.kit.runner import CheckReport
from league.letters import HttpReply
from league.protocol.conventions import Convention
from tests.kit.defects import failed, told
from tests.support.dialects import CONVENTIONS as DIALECTS
from tests.support.dialects import REST
from tests.support.foreign_players import LOSERS, PLAYERS
from tests.support.kit_runs import check_player
from tests.support.peer import Peer
from tests.support.scripts import Reaction, on, refusal

TIME_SCALE = 4.0
CALLED = {"PLAYER.understands_calls"}
ASKS_ITS_OWN_WAY = CALLED | {"RPC.method"}
JOINS_BY_A_WORD = {"ENVELOPE.message_type", "TOKEN.in_answers"} | {
    f"GAME_JOIN_ACK.{name}" for name in ("match_id", "player_id", "arrival_timestamp", "accept")
}
BAD_TIMES = {"ENVELOPE.timestamp", "GAME_JOIN_ACK.arrival_timestamp"}
OTHER_ID = {"JOIN.echoes_match_id", "CHOICE.echoes_match_id"}
NOT_ACKNOWLEDGED = {"BROADCAST.acknowledged", "RPC.one_answer"}

META = "LEAGUE_REGISTER_REQUEST.player_meta"
POSTS_FIELDS = {META, "RPC.method"} | {
    f"ENVELOPE.{name}" for name in ("protocol", "message_type", "sender", "timestamp", "conversation_id")
}
"""The registration is an object of fields at /register, as some managers take it."""
CONVENTIONS: dict[str, tuple[str, set[str]]] = {
    "SPEC": ("SPEC", set()),
    "SPEC, choose_parity": ("SPEC", set()),
    "SPEC, by message type": ("SPEC", set()),
    "TYPE": ("TYPE", set()),
    "TYPE in small letters": ("TYPE", set()),
    "TYPE, fine with the rest": ("TYPE", set()),
    "TYPE, ok to the rest": ("TYPE", set()),
    "TOOLS": ("TOOLS", set()),
    "TOOLS, structured": ("TOOLS", set()),
    "TOOLS, receive": ("TOOLS", {"RPC.method"}),
    "TOOLS, names of its own": ("TOOLS", set()),
    "TOOLS after a handshake": ("TOOLS", {"RPC.method"}),
    "TOOLS in a session": ("TOOLS", set()),
    "TOOLS as events": ("TOOLS", set()),
    "TOOLS or 404": ("TOOLS", set()),
    "NESTED": ("NESTED", ASKS_ITS_OWN_WAY),
    "NESTED, protocol/message": ("NESTED", ASKS_ITS_OWN_WAY),
    "NESTED or 500": ("NESTED", ASKS_ITS_OWN_WAY),
    "NESTED, or hangs up": ("NESTED", ASKS_ITS_OWN_WAY),
    "BARE": ("BARE", ASKS_ITS_OWN_WAY),
    "BARE or 400": ("BARE", ASKS_ITS_OWN_WAY),
    "BARE, ok to the rest": ("BARE", ASKS_ITS_OWN_WAY),
    "REST": ("SPEC", POSTS_FIELDS),
    "SPEC, choose_parity, says so in a result": ("SPEC", set()),
    "TYPE, unknown_message_type": ("TYPE", set()),
    "NESTED, status error": ("NESTED", ASKS_ITS_OWN_WAY),
    "league.handle": ("NESTED", ASKS_ITS_OWN_WAY),
    "REST, few words": ("SPEC", POSTS_FIELDS),
    "at /MCP": ("SPEC", set()),
    "an endpoint without a path": ("SPEC", set()),
    "no game_types": ("SPEC", {f"{META}.game_types"}),
    "no display_name": ("SPEC", {f"{META}.display_name"}),
    "endpoint": ("SPEC", {f"{META}.contact_endpoint"}),
    "url, no game_types": ("SPEC", {f"{META}.contact_endpoint", f"{META}.game_types"}),
    "flat meta": ("SPEC", {META}),
    "PLAYER_REGISTER_REQUEST": ("SPEC", {"ENVELOPE.message_type", "RPC.method"}),
}
"""The dialect that is found, and all that fails."""

HABITS: dict[str, set[str]] = {
    "joins by ACK": JOINS_BY_A_WORD,
    "joins by accepted": JOINS_BY_A_WORD,
    "joins by status ACCEPTED": JOINS_BY_A_WORD - {"GAME_JOIN_ACK.match_id"},
    "chooses by choice": {"CHOOSE_PARITY_RESPONSE.parity_choice"},
    "CHOOSE_PARITY_REQUEST": {"CHOICE.in_time"},
    "answers like a request": {"RPC.one_answer"},
    "null beside the result": set(),
    "another id": {"RPC.echoes_id"},
    "the id as a string": {"RPC.echoes_id"},
    "no id": {"RPC.echoes_id"},
    "posts its answers": set(),
    "posts its answers later": {"RPC.one_answer"},
    "an empty 200 to all": {"RPC.one_answer"},
    "no player_id": {"GAME_JOIN_ACK.player_id", "CHOOSE_PARITY_RESPONSE.player_id"},
    "a player_id of its own": OTHER_ID,
    "microseconds": set(),
    "milliseconds": set(),
    "+00:00Z": BAD_TIMES,
    "compact times": set(),
    "no times": {"GAME_JOIN_ACK.arrival_timestamp"},
    "sender players:": {"ENVELOPE.sender"},
    "sender by name": {"WRITING.sender"},
    "sender UNREGISTERED": set(),
    "sender of no role": {"ENVELOPE.sender"},
    "whole ids only": set(),
    "registers before it listens": set(),
    "registers again": set(),
    "keeps a good id": {"REGISTER.takes_any_id"},
    "keeps an odd id": {"REGISTER.takes_any_id"},
    "busy now and then": set(),
    "exits at the end": set(),
    "exits without a word": {"RPC.one_answer"},
    "400 to broadcasts": NOT_ACKNOWLEDGED,
    "404 to broadcasts": {"BROADCAST.acknowledged"},
    "a constant token": {"TOKEN.in_answers"},
    "a stale token": {"TOKEN.in_answers"},
    "no token": {"TOKEN.in_answers"},
    "the referee's token": {"TOKEN.in_answers"},
    "extra fields": set(),
    "a conversation of its own": set(),
    "chooses Even": {"CHOOSE_PARITY_RESPONSE.parity_choice"},
    "chooses EVEN by choice": {"CHOOSE_PARITY_RESPONSE.parity_choice"},
    "chooses 2": {"CHOOSE_PARITY_RESPONSE.parity_choice"},
}
"""All that fails: what is no habit but against the documents."""

ALWAYS_JUDGED = (
    "JOIN.in_time",
    "CHOICE.in_time",
    "GAME_JOIN_ACK.accept",
    "CHOOSE_PARITY_RESPONSE.parity_choice",
    "BROADCAST.acknowledged",
    "GAME_OVER.acknowledged",
    "GAME_ERROR.acknowledged",
    "PLAYER.several_matches",
)


def _player(name: str) -> Peer:
    return PLAYERS[name]() if name in PLAYERS else LOSERS[name][1]()


def _checked(player: Peer) -> CheckReport:
    def told_where(line: str) -> None:
        threading.Thread(target=player.apply, args=(line.removeprefix("ready: "),), daemon=True).start()

    # Who does not register in a way the kit understands is judged as it is.
    wait_s = 1.0 if player.convention.registers else 60.0
    with player:
        return check_player(Options(player.endpoint, listen=0, wait_s=wait_s, time_scale=TIME_SCALE), told_where)


def test_every_player_of_others_has_its_expected_verdicts() -> None:
    assert {*CONVENTIONS, *HABITS} == {*PLAYERS, *LOSERS}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_player_in_a_dialect_is_judged_by_what_it_says_and_told_that_others_do_not_reach_it(name: str) -> None:
    report = _checked(_player(name))
    dialect, fails = CONVENTIONS[name]
    assert (report.dialect, failed(report)) == (dialect, fails), told(report)
    verdicts = {one.clause.id: one.verdict for one in report.results}
    assert {verdicts[one] for one in ALWAYS_JUDGED} == {CheckVerdict.PASS}


@pytest.mark.parametrize("name", HABITS)
def test_a_habit_fails_the_clause_it_breaks_and_no_other(name: str) -> None:
    report = _checked(_player(name))
    assert failed(report) == HABITS[name], told(report)
    untested = {one.clause.id for one in report.of(CheckVerdict.UNTESTABLE)}
    # Who knows no CHOOSE_PARITY_CALL leaves its choices untestable.
    assert untested.isdisjoint(ALWAYS_JUDGED) or name in ("exits without a word", "CHOOSE_PARITY_REQUEST")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("joins by accepted", "You wrote accepted: true; write accept: true instead."),
        ("joins by ACK", 'You wrote status: "ACK"; write accept: true instead.'),
        ("chooses by choice", 'You wrote choice: "even"; write parity_choice: "even" or "odd" instead.'),
    ],
)
def test_a_field_by_another_name_is_told_its_right_one(name: str, words: str) -> None:
    assert words in {one.outcome.advice for one in _checked(_player(name)).of(CheckVerdict.FAIL)}


@pytest.mark.parametrize("reaction", [refusal(-32001, "Auth failed"), Reaction(fields={"status": "ok"}, alone=True)])
def test_who_never_joins_is_shown_the_call_of_which_it_understood_most(reaction: Reaction) -> None:
    report = _checked(Peer("TYPE", convention=DIALECTS["TYPE"], script=on("GAME_INVITATION", reaction)))
    (join,) = (one for one in report.of(CheckVerdict.FAIL) if one.clause.id == "JOIN.in_time")
    (shown, *_) = join.outcome.evidence
    assert isinstance(shown, Probe)
    assert shown.method == "GAME_INVITATION"


@pytest.mark.parametrize("name", ["REST", "REST, few words", "PLAYER_REGISTER_REQUEST", "flat meta"])
def test_a_registration_that_a_manager_can_read_is_read_by_the_kit(name: str) -> None:
    member = _checked(_player(name)).record.member
    assert member is not None
    assert member.meta["display_name"] == name
    assert member.meta["game_types"]


def _unreadable() -> Peer:
    """Posts its fields at a path that no manager knows."""
    registers = REST.registers
    assert registers is not None
    return Peer("Unread", convention=replace(REST, registers=replace(registers, path="/join")))


def test_a_registration_by_another_path_is_named_as_the_reason_why_nobody_registered() -> None:
    assert "a POST to /join" in _checked(_unreadable()).record.listening


def _warned(report: CheckReport, clause: str) -> str:
    (found,) = (one.outcome for one in report.results if one.clause.id == clause)
    assert found.verdict is CheckVerdict.WARN, found
    return found.detail


def test_what_may_cost_matches_elsewhere_is_a_warning() -> None:
    assert '"error": null' in _warned(_checked(_player("null beside the result")), "RPC.one_answer")
    assert "basic form" in _warned(_checked(_player("compact times")), "GAME_JOIN_ACK.arrival_timestamp")
    said = Reaction(fields={"status": "unknown_message_type"}, alone=True)
    unknown = _checked(Peer("unknown", script=on("LEAGUE_STANDINGS_UPDATE", said)))
    assert "unknown_message_type" in _warned(unknown, "BROADCAST.acknowledged")
    again = Reaction(fields={"message_type": lambda asked: asked["message_type"]})
    repeating = _checked(Peer("repeating", script=on("LEAGUE_STANDINGS_UPDATE", again)))
    assert "its own type again" in _warned(repeating, "ACK.own_type")


def test_a_refusal_in_milliseconds_is_not_called_late() -> None:
    report = _checked(Peer("refusing", script=on("GAME_INVITATION", refusal(4005, "not today"))))
    (join,) = (one.outcome for one in report.results if one.clause.id == "JOIN.in_time")
    assert "in time" in join.detail
    assert "not too late" in join.advice


def test_a_registration_that_could_not_be_read_is_shown() -> None:
    assert '"display_name": "Unread"' in _checked(_unreadable()).record.listening


def test_an_answer_as_events_is_in_the_last_of_them() -> None:
    progress = b'data: {"jsonrpc": "2.0", "method": "notifications/progress"}\n\n'
    answer = b'data: {"jsonrpc": "2.0", "id": 1, "result": {"status": "ACK"}}\n\n'
    reply = HttpReply(200, progress + answer, content_type="text/event-stream")
    response = RawResponse(at=0.0, reply=reply)
    assert parse_answer(response, Convention.SPEC, {}).fields == {"status": "ACK"}
