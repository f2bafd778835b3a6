"""What players are told: invitations, calls, GAME_ERROR and GAME_OVER, field by field."""

from __future__ import annotations

import re

import pytest

from league import events as e
from league.games import draw
from league.machine import Failure, Refusal
from league.protocol import timestamps
from league.protocol.message.messages import ChooseParityCall, GameError, GameInvitation, GameOver, MatchResultReport
from tests.support.referee_rig import ENDPOINTS, LEAGUE, START, TOKEN, Rig, announced, plain, shown_to

SEED = bytes.fromhex(Rig().given().of(e.MatchTaken)[0].seed)
PROMISE = draw.commitment(SEED, LEAGUE, "R1M1", 1)


def errors(rig: Rig, player: str = "P02") -> list[dict[str, object]]:
    return [plain(one) for one in rig.said(GameError, player)]


# --- invitations and calls --------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.invitation")
@pytest.mark.requirement("DRAW.commitment")
def test_an_invitation_says_all_about_the_match_and_promises_the_draw() -> None:
    rig = Rig().given()
    first, second = (plain(one) for one in rig.said(GameInvitation))
    assert first == {
        "message_type": "GAME_INVITATION",
        "protocol": "league.v2",
        "sender": "referee:REF01",
        "timestamp": "2025-06-15T15:06:40Z",
        "conversation_id": rig.conversation_with("P01"),
        "league_id": LEAGUE,
        "round_id": 1,
        "match_id": "R1M1",
        "game_type": "even_odd",
        "role_in_match": "PLAYER_A",
        "opponent_id": "P02",
        "player_id": "P01",
        "draw_commitment": draw.commitment(SEED, LEAGUE, "R1M1", 1),
        "attempt": 1,
    }
    seat = {"role_in_match": "PLAYER_B", "opponent_id": "P01", "player_id": "P02"}
    assert second == {**first, **seat, "conversation_id": rig.conversation_with("P02")}


@pytest.mark.requirement("CONVERSATION.one_per_player")
def test_a_conversation_is_one_players_alone_and_cannot_be_guessed() -> None:
    rig = Rig().given().joins("P01", "P02")
    rig.says("P02", rig.choosing("P02", "neither"))
    rig.chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    told: dict[str, set[str]] = {"P01": set(), "P02": set()}
    for sent in rig.sent:
        if sent.to.agent_id in told:
            told[sent.to.agent_id].add(plain(sent.message)["conversation_id"])
    kinds = {sent.message.type for sent in rig.sent if sent.to.agent_id == "P02"}
    assert kinds == {"GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_ERROR", "GAME_OVER"}
    ((first,), (second,)) = told.values()
    for conversation in (first, second):
        assert re.fullmatch("conv-r1m1-1-[0-9a-f]{32}", conversation)
    assert first != second
    (report,) = rig.said(MatchResultReport)
    assert report.conversation_id == "conv-r1m1-1"


@pytest.mark.requirement("CONVERSATION.one_per_player")
def test_a_conversation_is_the_same_after_a_restart_and_another_in_another_attempt() -> None:
    rig = Rig().given()
    before = [rig.question(player).message for player in ("P01", "P02")]
    again = Rig(secrets=rig.secrets, journal=rig.journal).restart()
    talk = {plain(one)["conversation_id"] for one in before}
    assert {plain(again.question(player).message)["conversation_id"] for player in ("P01", "P02")} == talk
    rig.announce(announced(attempt=2))
    assert talk.isdisjoint(plain(rig.question(player).message)["conversation_id"] for player in ("P01", "P02"))


@pytest.mark.requirement("MATCH.records_passed_on")
def test_a_call_carries_the_players_record_and_its_deadline() -> None:
    record = {"wins": 1, "losses": 0, "draws": 3, "points": 6}
    rig = Rig().given(announced(player_B_standings=record)).wait(1).joins("P01", "P02")
    (call,) = rig.said(ChooseParityCall, "P02")
    assert plain(call) == {
        "message_type": "CHOOSE_PARITY_CALL",
        "protocol": "league.v2",
        "sender": "referee:REF01",
        "timestamp": "2025-06-15T15:06:41Z",
        "conversation_id": rig.conversation_with("P02"),
        "match_id": "R1M1",
        "player_id": "P02",
        "game_type": "even_odd",
        "context": {"opponent_id": "P01", "round_id": 1, "your_standings": record},
        "deadline": "2025-06-15T15:07:11Z",
        "turn": 1,
    }


def test_each_player_is_called_at_its_endpoint_and_shown_its_own_token() -> None:
    rig = Rig().given().plays()
    for sent in rig.sent:
        if sent.to.agent_id in ENDPOINTS:
            assert sent.to.endpoint == ENDPOINTS[sent.to.agent_id]
            assert sent.to.token == shown_to(sent.to.agent_id)


@pytest.mark.requirement("TOKEN.shown_to_nobody_else")
@pytest.mark.requirement("TOKEN.sent")
def test_our_registration_token_is_shown_to_the_manager_only() -> None:
    rig = Rig().given().plays()
    (report,) = [one for one in rig.sent if isinstance(one.message, MatchResultReport)]
    assert report.to.token == TOKEN
    assert all(one.to.token != TOKEN for one in rig.sent if one.to.agent_id != "league_manager")


@pytest.mark.requirement("TOKEN.shown_to_nobody_else")
def test_under_another_manager_each_player_is_shown_a_random_token_of_the_match() -> None:
    rig = Rig().enrolled(derived=False)
    rig.announce(announced(player_A_token=None, player_B_token=None))
    rig.announce(announced("R1M2", "P03", "P04", player_A_token=None, player_B_token=None))
    shown = [rig.question(player).to.token for player in ("P01", "P02", "P03")]
    assert len(set(shown)) == len(shown)
    assert all(token is not None and token.startswith("tok_REF01_") for token in shown)
    assert TOKEN not in shown
    again = Rig(secrets=rig.secrets, journal=rig.journal).restart()
    assert [again.question(player).to.token for player in ("P01", "P02", "P03")] == shown


REFUSED = Refusal("E012", "not the one this sender has for us")


@pytest.mark.requirement("TOKEN.another_shown")
def test_a_player_that_refuses_our_token_is_shown_the_others_at_once_and_it_costs_nothing() -> None:
    rig = Rig().given(announced(player_B_other_tokens=["tok_REF01_older", "tok_REF01_oldest"])).joins("P01")
    shown = [rig.question("P02").to.token]
    for _ in range(2):
        rig.says("P02", REFUSED)
        shown.append(rig.question("P02").to.token)
    assert shown == [shown_to("P02"), "tok_REF01_older", "tok_REF01_oldest"]
    assert (rig.of(e.AttemptFailed), errors(rig)) == ([], [])
    rig.joins("P02").chooses("P02", "odd").chooses("P01", "even").hears_game_over("P01", "P02")
    later = [one for one in rig.sent if one.to.agent_id == "P02" and one.message.type != "GAME_INVITATION"]
    assert {one.to.token for one in later} == {"tok_REF01_oldest"}


@pytest.mark.requirement("TOKEN.another_shown")
@pytest.mark.parametrize("others", [None, ["tok_REF01_older"]])
def test_a_player_that_refuses_all_our_tokens_has_not_answered(others: list[str] | None) -> None:
    rig = Rig().given(announced(player_B_other_tokens=others)).joins("P01")
    for _ in range(1 + len(others or ())):
        rig.says("P02", REFUSED)
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E009"]


# --- GAME_ERROR -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.game_error_at_failure")
@pytest.mark.requirement("ERROR.description_is_name")
def test_the_game_error_of_a_first_time_out_announces_the_first_retry() -> None:
    rig = Rig().given().joins("P01").until(5)
    assert errors(rig) == [
        {
            "message_type": "GAME_ERROR",
            "protocol": "league.v2",
            "sender": "referee:REF01",
            "timestamp": "2025-06-15T15:06:45Z",
            "conversation_id": rig.conversation_with("P02"),
            "match_id": "R1M1",
            "error_code": "E001",
            "error_description": "TIMEOUT_ERROR",
            "error_name": "TIMEOUT_ERROR",
            "error_detail": "no GAME_JOIN_ACK within 5 seconds",
            "affected_player": "P02",
            "player_id": "P02",
            "action_required": "GAME_JOIN_ACK",
            "game_state": "WAITING_FOR_PLAYERS",
            "retryable": True,
            "retry_count": 1,
            "max_retries": 3,
            "retry_info": {"retry_count": 1, "max_retries": 3, "next_retry_at": "2025-06-15T15:06:47Z"},
            "context": {"attempt": 1, "limit_seconds": 5.0, "elapsed": 5.0},
            "consequence": "technical loss after retry 3",
        }
    ]


@pytest.mark.requirement("MATCH.game_error_at_failure")
def test_each_failure_has_its_game_error_and_the_last_says_so() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").until(126)
    said = errors(rig)
    assert [(one["retry_count"], one["retryable"]) for one in said] == [(1, True), (2, True), (3, True), (3, False)]
    assert [one.get("retry_info") for one in said[-2:]] == [
        {"retry_count": 3, "max_retries": 3, "next_retry_at": "2025-06-15T15:08:16Z"},
        {"retry_count": 3, "max_retries": 3},
    ]
    assert [one["context"] for one in said] == [
        {"attempt": nth, "limit_seconds": 30.0, "elapsed": 30.0} for nth in (1, 2, 3, 4)
    ]
    assert {one["game_state"] for one in said} == {"COLLECTING_CHOICES"}
    assert {one["action_required"] for one in said} == {"CHOOSE_PARITY_RESPONSE"}
    assert said[-1]["consequence"] == "technical loss"


def test_a_connection_error_is_told_as_e009() -> None:
    rig = Rig().given().wait(0.25).breaks("P02").says("P01", Refusal("E042", "not now"))
    assert errors(rig)[0]["context"] == {"attempt": 1, "limit_seconds": 5.0, "elapsed": 0.25}
    assert [(one["error_code"], one["error_name"]) for one in errors(rig)] == [("E009", "CONNECTION_ERROR")]
    assert errors(rig, "P01")[0]["error_detail"] == (
        'answered handle_game_invitation (SPEC) with "not now", which we read as E042'
    )


@pytest.mark.requirement("MATCH.correction")
def test_the_game_error_of_an_illegal_choice_says_how_much_time_is_left_for_which_choices() -> None:
    rig = Rig().given().joins("P01", "P02").wait(4.6)
    rig.says("P02", rig.choosing("P02", "Even"))
    (error,) = errors(rig)
    assert (error["error_code"], error["error_name"]) == ("E004", "INVALID_PARITY_CHOICE")
    assert (error["retryable"], error["retry_count"], error["max_retries"]) == (True, 1, 3)
    assert error["time_remaining"] == pytest.approx(25.4)
    assert error["retry_info"] == {
        "retry_count": 1,
        "max_retries": 3,
        "next_retry_at": timestamps.write(START + 6.6),
        "time_remaining": error["time_remaining"],
    }
    assert error["context"] == {
        "field": "parity_choice",
        "invalid_choice": "Even",
        "valid_choices": ["even", "odd"],
    }
    assert error["consequence"] == "technical loss without a valid answer before the deadline"


@pytest.mark.requirement("GAME_ERROR.context")
def test_a_choice_that_was_right_is_not_called_invalid() -> None:
    rig = Rig().given().joins("P01", "P02")
    rig.says("P02", rig.choosing("P02", "even", match_id="R9M9"))
    (error,) = errors(rig)
    assert error["context"] == {"field": "match_id", "valid_choices": ["even", "odd"]}


@pytest.mark.requirement("MATCH.game_error_before_game_over")
def test_game_over_leaves_when_the_last_game_error_was_answered() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even")
    for _ in range(4):
        rig.says("P02", rig.choosing("P02", "Even"))
    rig.hears_errors("P02").until(30)
    assert (rig.times("GAME_OVER", "P01"), rig.times("GAME_OVER", "P02")) == ([30], [30])
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").wait(29)
    rig.says("P02", rig.choosing("P02", "Even")).until(30)
    last = [one for one in rig.under_way.values() if isinstance(one.message, GameError)][-1]
    assert (rig.times("GAME_OVER", "P01"), rig.times("GAME_OVER", "P02")) == ([30], [])
    rig.until(30.5)
    assert rig.times("GAME_OVER", "P02") == []
    rig.answer(last, rig.envelope("GAME_ERROR_ACK", "player:P02", status="ACKNOWLEDGED", match_id="R1M1"))
    assert rig.times("GAME_OVER", "P02") == [30.5]
    rig.until(40)
    assert rig.times("GAME_OVER", "P02") == [30.5]


@pytest.mark.requirement("MATCH.game_error_before_game_over")
def test_game_over_does_not_wait_long_for_a_player_that_is_silent_or_gone() -> None:
    rig = Rig().given().joins("P01").until(40)
    assert (rig.times("GAME_ERROR", "P02")[-1], rig.times("GAME_OVER", "P02")) == (26, [28])
    rig = Rig().given().joins("P01")
    for t in (0, 2, 4, 6):
        rig.until(t).breaks("P02")
    assert rig.times("GAME_OVER", "P02") == []
    rig.fail([one for one in rig.under_way.values() if isinstance(one.message, GameError)][-1])
    assert rig.times("GAME_OVER", "P02") == [6]


def test_a_match_dropped_while_game_over_waits_sends_none() -> None:
    rig = Rig().given().joins("P01").until(26)
    rig.announce(announced(attempt=2))
    rig.until(40)
    assert rig.times("GAME_OVER", "P02") == []


def test_corrections_are_numbered_and_the_last_wrong_answer_names_none() -> None:
    rig = Rig().given().joins("P01", "P02")
    for _ in range(4):
        rig.says("P02", rig.choosing("P02", "Even"))
    said = errors(rig)
    assert [(one["retry_count"], one["retryable"]) for one in said] == [(1, True), (2, True), (3, True), (3, False)]
    assert [one["time_remaining"] for one in said] == [30.0, 28.0, 26.0, 24.0]
    assert [("next_retry_at" in str(one["retry_info"])) for one in said] == [True, True, True, False]
    assert said[-1]["consequence"] == (
        "technical loss, unless a valid answer comes as a request of your own before the deadline; there is no other "
        "call"
    )


@pytest.mark.requirement("MATCH.game_error_beside")
def test_a_game_error_goes_to_the_player_at_fault_only_and_nobody_waits_for_its_answer() -> None:
    rig = Rig().given().joins("P01", "P02").until(33)
    assert rig.said(GameError, "P01")
    assert rig.said(GameError, "P02")
    for one in [one for one in rig.sent if isinstance(one.message, GameError)]:
        assert isinstance(one.message, GameError)
        assert one.message.affected_player == one.message.player_id == one.to.agent_id
        assert one.deadline == one.at + 10
    rig.chooses("P01", "even")
    for place, one in list(rig.under_way.items()):
        if isinstance(one.message, GameError):
            del rig.under_way[place]
            rig.fail(one, Failure.TIMEOUT)
    rig.chooses("P02", "odd")
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("MATCH.choices_hidden")
def test_nothing_the_other_player_receives_depends_on_a_choice_before_both_are_in() -> None:
    even, odd = (Rig().given().joins("P01", "P02").chooses("P01", choice).until(100) for choice in ("even", "odd"))

    def seen(rig: Rig) -> list[object]:
        return [(one.at, one.key, plain(one.message)) for one in rig.sent if one.to.agent_id == "P02"]

    assert seen(even) == seen(odd)


# --- GAME_OVER and the report -----------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.game_over_identical")
@pytest.mark.requirement("MATCH.game_over_then_report")
@pytest.mark.requirement("MATCH.game_over_best_effort")
def test_game_over_goes_to_both_at_once_and_the_report_when_both_calls_have_ended() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").wait(1).chooses("P02", "even")
    overs = [one for one in rig.sent if isinstance(one.message, GameOver)]
    assert [(one.at, one.to.agent_id, one.deadline) for one in overs] == [(1, "P01", 6), (1, "P02", 6)]
    first, second = (plain(one.message) for one in overs)
    assert {**first, "conversation_id": ""} == {**second, "conversation_id": ""}
    rig.hears_game_over("P01").until(5.9)
    assert rig.said(MatchResultReport) == []
    rig.until(6)
    assert rig.times("MATCH_RESULT_REPORT", "league_manager") == [6]
    assert rig.times("GAME_OVER", "P02") == [1]


@pytest.mark.requirement("MATCH.winner")
@pytest.mark.requirement("DRAW.seed_shown")
@pytest.mark.requirement("DRAW.number_follows")
def test_game_over_and_report_tell_the_whole_result() -> None:
    rig = Rig().given().plays({"P01": "even", "P02": "odd"})
    number = draw.number(SEED, LEAGUE, "R1M1", 1)
    assert number == 5
    reason = "P02 chose odd, number was 5 (odd)"
    envelope = {
        "protocol": "league.v2",
        "sender": "referee:REF01",
        "timestamp": "2025-06-15T15:06:40Z",
    }
    shared = {"drawn_number": 5, "choices": {"P01": "even", "P02": "odd"}, "status": "WIN", "draw_seed": SEED.hex()}
    result = {**shared, "winner_player_id": "P02", "number_parity": "odd", "reason": reason, "attempt": 1}
    assert plain(rig.said(GameOver)[0]) == {
        "message_type": "GAME_OVER",
        **envelope,
        "conversation_id": rig.conversation_with("P01"),
        "match_id": "R1M1",
        "game_type": "even_odd",
        "game_result": result,
        "reason": reason,
    }
    assert plain(rig.said(MatchResultReport)[0]) == {
        "message_type": "MATCH_RESULT_REPORT",
        **envelope,
        "conversation_id": "conv-r1m1-1",
        "league_id": LEAGUE,
        "round_id": 1,
        "match_id": "R1M1",
        "game_type": "even_odd",
        "result": {
            "winner": "P02",
            "score": {"P01": 0, "P02": 3},
            "details": {**shared, "faults": {}, "draw_commitment": PROMISE},
        },
        "attempt": 1,
    }


@pytest.mark.requirement("MATCH.points")
@pytest.mark.parametrize(
    ("choices", "winner", "points"),
    [
        (("even", "odd"), "P02", {"P01": 0, "P02": 3}),
        (("odd", "even"), "P01", {"P01": 3, "P02": 0}),
        (("odd", "odd"), None, {"P01": 1, "P02": 1}),
        (("even", "even"), None, {"P01": 1, "P02": 1}),
    ],
)
def test_a_match_gives_3_and_0_or_1_and_1(choices: tuple[str, str], winner: str | None, points: object) -> None:
    rig = Rig().given().plays(dict(zip(("P01", "P02"), choices, strict=True)))
    assert (rig.decided.winner, rig.decided.points) == (winner, points)
    assert rig.decided.status == ("WIN" if winner else "DRAW")


@pytest.mark.requirement("MATCH.technical_loss_fields")
@pytest.mark.requirement("DRAW.seed_shown")
def test_after_a_fault_at_the_join_number_parity_and_choices_are_null_and_the_seed_is_shown() -> None:
    rig = Rig().given().joins("P01").until(33)
    over = plain(rig.said(GameOver)[0])
    assert over["game_result"] == {
        "status": "TECHNICAL_LOSS",
        "winner_player_id": "P01",
        "drawn_number": None,
        "number_parity": None,
        "choices": {"P01": None, "P02": None},
        "reason": "Technical loss: P02 did not join in time",
        "draw_seed": SEED.hex(),
        "attempt": 1,
    }
    (report,) = rig.said(MatchResultReport)
    assert plain(report)["result"] == {
        "winner": "P01",
        "score": {"P01": 3, "P02": 0},
        "details": {
            "drawn_number": None,
            "choices": {"P01": None, "P02": None},
            "status": "TECHNICAL_LOSS",
            "draw_seed": SEED.hex(),
            "faults": {
                "P02": {"code": "E001", "phase": "join", "turn": 0, "detail": "no GAME_JOIN_ACK within 5 seconds"}
            },
            "draw_commitment": PROMISE,
        },
    }
    assert rig.of(e.NumberDrawn) == []


@pytest.mark.requirement("MATCH.technical_loss_fields")
def test_after_a_fault_at_the_choice_the_valid_choice_stands_and_no_number_is_drawn() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P02", "odd").until(126)
    assert rig.decided.game_result["choices"] == {"P01": None, "P02": "odd"}
    assert rig.decided.game_result["drawn_number"] is None
    assert rig.decided.reason == "Technical loss: P01 did not choose in time"
    assert rig.of(e.NumberDrawn) == []


@pytest.mark.requirement("MATCH.points")
def test_when_both_are_at_fault_nobody_wins_and_nobody_gets_points() -> None:
    rig = Rig().given().joins("P01", "P02")
    rig.breaks("P02")
    for _ in range(4):
        rig.says("P01", rig.choosing("P01", "x"))
        if rig.asked("P02"):
            rig.breaks("P02")
    rig.until(30)
    assert (rig.decided.winner, rig.decided.points) == (None, {"P01": 0, "P02": 0})
    assert (
        rig.decided.reason
        == "Technical loss: P01 gave no valid answer (INVALID_PARITY_CHOICE), P02 could not be reached"
    )
    assert set(rig.decided.details["faults"]) == {"P01", "P02"}


def test_what_a_player_said_is_not_told_to_its_opponent() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "odd")
    for _ in range(4):
        rig.says("P02", rig.choosing("P02", "a secret of mine"))
    assert "secret" not in str(rig.said(GameOver))


def test_a_player_that_answers_with_an_error_was_reached() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P02", "odd")
    for t in (0, 2, 4, 6):
        rig.until(t).says("P01", Refusal("E099", "ZeroDivisionError"))
    assert rig.decided.reason == "Technical loss: P01 answered with an error"


# --- signatures -------------------------------------------------------------------------------------------------------

ONE = "A" * 86


@pytest.mark.requirement("SIGNATURE.reported")
def test_the_report_carries_the_last_signature_of_each_player_and_game_over_carries_none() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even", signature=ONE).chooses("P02", "odd")
    rig.hears_game_over("P01").hears_game_over("P02")
    (report,) = rig.said(MatchResultReport)
    details = plain(report)["result"]["details"]
    assert (details["signatures"], details["draw_commitment"]) == ({"P01": ONE}, PROMISE)
    assert "signatures" not in plain(rig.said(GameOver)[0])["game_result"]
    rig.restart()
    assert plain(rig.said(MatchResultReport)[-1])["result"] == plain(report)["result"]


@pytest.mark.parametrize("length", [43, 64, 85, 87, 1000])
def test_a_text_that_cannot_be_a_signature_is_not_passed_on(length: int) -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even", signature="x" * length).chooses("P02", "odd")
    assert [event.signature for event in rig.of(e.MoveMade)] == [None, None]
