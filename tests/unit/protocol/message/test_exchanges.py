"""The table of exchanges: who says what to whom, under which names, how fast and how often."""

from __future__ import annotations

from itertools import pairwise

import pytest

from league.protocol.errors import Family
from league.protocol.message.envelope import FORBIDDEN_SENDERS
from league.protocol.message.exchanges import (
    EXCHANGES,
    REPLY_TYPES,
    RetrySchedule,
    Role,
    family_of,
    message_type_of,
    speakers,
)
from league.protocol.message.messages import ACKS, AMONG_OURS, MESSAGES, MOVES, THE_EIGHTEEN

VERBS = {
    "register_referee": "REFEREE_REGISTER_REQUEST",
    "register_player": "LEAGUE_REGISTER_REQUEST",
    "notify_round": "ROUND_ANNOUNCEMENT",
    "update_standings": "LEAGUE_STANDINGS_UPDATE",
    "notify_round_completed": "ROUND_COMPLETED",
    "notify_league_completed": "LEAGUE_COMPLETED",
    "handle_game_invitation": "GAME_INVITATION",
    "parity_choose": "CHOOSE_PARITY_CALL",
    "choose_parity": "CHOOSE_PARITY_CALL",
    "choose_move": "GAME_MOVE_CALL",
    "notify_match_result": "GAME_OVER",
    "notify_game_error": "GAME_ERROR",
    "notify_league_error": "LEAGUE_ERROR",
    "report_match_result": "MATCH_RESULT_REPORT",
    "report_match_trouble": "MATCH_TROUBLE",
    "request_draw": "DRAW_REQUEST",
    "league_query": "LEAGUE_QUERY",
}


@pytest.mark.requirement("RPC.methods")
@pytest.mark.parametrize(("verb", "message_type"), VERBS.items())
def test_a_verb_stands_for_its_message(verb: str, message_type: str) -> None:
    assert message_type_of(verb) == message_type


@pytest.mark.requirement("RPC.methods")
@pytest.mark.parametrize("message_type", [*EXCHANGES, *REPLY_TYPES])
def test_a_message_type_is_a_method_in_any_case(message_type: str) -> None:
    for method in (message_type, message_type.lower(), message_type.title()):
        assert message_type_of(method) == message_type


@pytest.mark.requirement("RPC.unknown_method")
@pytest.mark.parametrize(
    "method", ["", "ping", "tools/call", "REGISTER_PLAYER", "Choose_Parity", "LEAGUE_ALARM", "league_query_response"]
)
def test_other_methods_stand_for_no_message(method: str) -> None:
    assert message_type_of(method) is None


def test_we_send_the_verb_of_the_documents() -> None:
    assert {row.method for row in EXCHANGES.values()} == set(VERBS) - {"choose_parity"}


def test_all_exchanges_are_of_known_messages() -> None:
    replies = [reply for row in EXCHANGES.values() for reply in row.replies]
    assert set(EXCHANGES) | set(replies) == set(MESSAGES)
    assert len(THE_EIGHTEEN) == 18
    assert set(MESSAGES) == {*THE_EIGHTEEN, *MOVES, *AMONG_OURS, *ACKS}


@pytest.mark.parametrize("message_type", EXCHANGES)
def test_an_exchange_is_opened_with_a_request_and_ended_with_a_reply(message_type: str) -> None:
    # An error is an answer that may also come unasked.
    assert MESSAGES[message_type].is_reply == (message_type == "LEAGUE_ERROR")
    assert all(MESSAGES[reply].is_reply for reply in EXCHANGES[message_type].replies)


@pytest.mark.parametrize(
    ("message_type", "seconds"),
    [
        ("REFEREE_REGISTER_REQUEST", 10),
        ("LEAGUE_REGISTER_REQUEST", 10),
        ("GAME_INVITATION", 5),
        ("CHOOSE_PARITY_CALL", 30),
        ("GAME_MOVE_CALL", 30),
        ("GAME_OVER", 5),
        ("GAME_ERROR", 10),
        ("LEAGUE_ERROR", 10),
        ("MATCH_RESULT_REPORT", 10),
        ("LEAGUE_QUERY", 10),
        ("ROUND_ANNOUNCEMENT", 10),
        ("ROUND_COMPLETED", 10),
        ("LEAGUE_STANDINGS_UPDATE", 10),
        ("LEAGUE_COMPLETED", 10),
    ],
)
def test_each_message_has_the_time_limit_of_the_documents(message_type: str, seconds: float) -> None:
    assert EXCHANGES[message_type].limit_s == seconds


def _pauses(message_type: str, retries: int = 10) -> list[float | None]:
    return [EXCHANGES[message_type].retries.delay_before(retry) for retry in range(1, retries + 1)]


@pytest.mark.parametrize(
    "message_type",
    [
        "GAME_INVITATION",
        "CHOOSE_PARITY_CALL",
        "GAME_MOVE_CALL",
        "ROUND_ANNOUNCEMENT",
        "ROUND_COMPLETED",
        "LEAGUE_QUERY",
        "LEAGUE_COMPLETED",
    ],
)
def test_these_are_repeated_three_times_two_seconds_apart(message_type: str) -> None:
    assert _pauses(message_type, 4) == [2, 2, 2, None]
    assert EXCHANGES[message_type].retries.refused_only == (message_type == "LEAGUE_COMPLETED")


@pytest.mark.parametrize("message_type", ["GAME_ERROR", "LEAGUE_ERROR", "GAME_OVER", "LEAGUE_STANDINGS_UPDATE"])
def test_these_are_never_repeated(message_type: str) -> None:
    assert _pauses(message_type, 1) == [None]


@pytest.mark.requirement("REPORT.until_acknowledged")
def test_a_report_is_repeated_for_ever() -> None:
    assert _pauses("MATCH_RESULT_REPORT") == [2, 2, 2, 4, 8, 16, 30, 30, 30, 30]


@pytest.mark.requirement("REGISTER.retries")
@pytest.mark.parametrize("message_type", ["REFEREE_REGISTER_REQUEST", "LEAGUE_REGISTER_REQUEST"])
def test_a_registration_is_repeated_until_it_is_answered(message_type: str) -> None:
    pauses = _pauses(message_type)
    assert pauses[:2] == [2, 4]
    assert pauses[-1] == 30
    assert all(before is not None and after is not None and before <= after for before, after in pairwise(pauses))


def test_while_nobody_listens_a_registration_is_tried_every_two_seconds_for_a_minute() -> None:
    retries = EXCHANGES["LEAGUE_REGISTER_REQUEST"].retries
    assert [retries.delay_before(retry, is_refused=True) for retry in (1, 2, 30, 31)] == [2, 2, 2, 30]
    assert EXCHANGES["ROUND_ANNOUNCEMENT"].retries.delay_before(4, is_refused=True) is None


def test_nothing_is_repeated_without_a_plan() -> None:
    assert RetrySchedule().delay_before(1) is None


@pytest.mark.requirement("ENVELOPE.sender")
@pytest.mark.parametrize(
    ("message_type", "roles"),
    [
        ("LEAGUE_REGISTER_REQUEST", {Role.PLAYER}),
        ("REFEREE_REGISTER_REQUEST", {Role.REFEREE}),
        ("ROUND_ANNOUNCEMENT", {Role.MANAGER}),
        ("GAME_INVITATION", {Role.REFEREE}),
        ("GAME_JOIN_ACK", {Role.PLAYER}),
        ("MATCH_RESULT_REPORT", {Role.REFEREE}),
        ("MATCH_RESULT_ACK", {Role.MANAGER}),
        ("LEAGUE_QUERY", {Role.PLAYER, Role.REFEREE}),
        ("LEAGUE_QUERY_RESPONSE", {Role.MANAGER}),
        ("LEAGUE_ERROR", {Role.MANAGER}),
        ("GAME_ERROR", {Role.REFEREE}),
        ("ROUND_COMPLETED_ACK", {Role.PLAYER, Role.REFEREE}),
    ],
)
def test_only_its_speakers_may_say_a_message(message_type: str, roles: set[Role]) -> None:
    assert set(speakers(message_type)) == roles
    assert {role for role in Role if role.value not in FORBIDDEN_SENDERS[message_type]} == roles


def test_an_unknown_sender_is_judged_by_the_grammar_not_by_its_role() -> None:
    assert "coach" not in FORBIDDEN_SENDERS["GAME_OVER"]


@pytest.mark.parametrize(
    ("message_type", "family"),
    [
        ("REFEREE_REGISTER_REQUEST", Family.REFEREE_REGISTRATION),
        ("LEAGUE_REGISTER_REQUEST", Family.PLAYER_REGISTRATION),
        ("ROUND_ANNOUNCEMENT", Family.NOTIFICATION),
        ("CHOOSE_PARITY_CALL", Family.MATCH),
        ("GAME_JOIN_ACK", Family.MATCH),
        ("MATCH_RESULT_REPORT", Family.REPORT),
        ("LEAGUE_QUERY", Family.QUERY),
        ("NO_SUCH_MESSAGE", Family.NOTIFICATION),
        (None, Family.NOTIFICATION),
    ],
)
def test_an_error_belongs_to_the_family_of_its_message(message_type: str | None, family: Family) -> None:
    assert family_of(message_type) is family
