"""How long a referee waits, how often it asks, and what counts against a player."""

from __future__ import annotations

import pytest

from league import events as e
from league.machine import Blame, Failure, Pong, Refusal
from league.protocol.message.exchanges import RetrySchedule
from league.protocol.message.messages import ChooseParityCall, GameError, GameInvitation
from league.referee.referee_context import RefereeSettings
from tests.support.referee_rig import CALLS, START, Rig, announced


def asked(rig: Rig, player: str) -> list[float]:
    """When this player was asked anything."""
    return [one.at for one in rig.sent if one.to.agent_id == player and one.message.type in CALLS]


def failures(rig: Rig, player: str = "P02") -> list[tuple[float, str, int | None]]:
    return [(one.at - START, one.code, one.retry) for one in rig.of(e.AttemptFailed) if one.player_id == player]


def faults(rig: Rig) -> list[tuple[float, str, str]]:
    return [(one.at - START, one.player_id, one.code) for one in rig.of(e.PlayerFaulted)]


# --- the record -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("ERROR.timeout_record")
def test_a_timeout_is_recorded_as_document_1_has_it() -> None:
    rig = Rig().given().joins("P01").until(6)
    (failed,) = rig.of(e.AttemptFailed)
    assert (failed.rpc_code, failed.timeout_seconds, failed.retry, failed.max_retries) == (-1, 5.0, 1, 3)
    rig = Rig().given().joins("P01", "P02").until(31)
    assert {(one.rpc_code, one.timeout_seconds) for one in rig.of(e.AttemptFailed)} == {(-1, 30.0)}


def test_what_is_no_timeout_has_no_such_code() -> None:
    rig = Rig().knows("P02").given().joins("P01").breaks("P02", Failure.REFUSED)
    (failed,) = rig.of(e.AttemptFailed)
    assert (failed.code, failed.rpc_code, failed.timeout_seconds) == ("E009", None, None)


# --- the beginning ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.both_invited_at_once")
def test_both_players_are_invited_at_once_with_5_seconds_each() -> None:
    rig = Rig().given()
    invitations = [one for one in rig.sent if isinstance(one.message, GameInvitation)]
    assert [(one.at, one.to.agent_id, one.deadline) for one in invitations] == [(0, "P01", 5), (0, "P02", 5)]


@pytest.mark.requirement("MATCH.calls_after_both_joined")
def test_nobody_is_asked_for_a_choice_before_both_have_joined() -> None:
    rig = Rig().given().joins("P01").until(24)
    assert rig.said(ChooseParityCall) == []
    assert asked(rig, "P01") == [0]


@pytest.mark.requirement("MATCH.both_called_at_once")
@pytest.mark.requirement("MATCH.deadline")
def test_both_are_called_at_once_when_the_second_has_joined() -> None:
    rig = Rig().given().joins("P01").wait(3.5).joins("P02")
    calls = [one for one in rig.sent if isinstance(one.message, ChooseParityCall)]
    assert [(one.at, one.to.agent_id, one.deadline) for one in calls] == [(3.5, "P01", 33.5), (3.5, "P02", 33.5)]
    assert {one.message.deadline for one in calls if isinstance(one.message, ChooseParityCall)} == {
        "2025-06-15T15:07:13Z"
    }


def test_the_league_may_give_less_time_for_a_move() -> None:
    rig = Rig().given(announced(move_seconds=5.0)).joins("P01", "P02")
    assert [one.deadline for one in rig.under_way.values() if isinstance(one.message, ChooseParityCall)] == [5, 5]


def test_a_manager_that_says_nothing_leaves_30_seconds() -> None:
    rig = Rig().given(announced(move_seconds=None)).joins("P01", "P02")
    assert rig.question("P01").deadline == 30


# --- silence ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.silent_join_26s")
def test_a_player_that_never_joins_is_asked_four_times_and_has_lost_after_exactly_26_seconds() -> None:
    rig = Rig().given().joins("P01").until(25.999)
    assert asked(rig, "P02") == [0, 7, 14, 21]
    assert faults(rig) == []
    rig.until(26)
    assert failures(rig) == [(5, "E001", 1), (12, "E001", 2), (19, "E001", 3), (26, "E001", None)]
    assert faults(rig) == [(26, "P02", "E001")]
    assert rig.decided.at == START + 26
    assert rig.decided.winner == "P01"


@pytest.mark.requirement("MATCH.silent_choice_126s")
def test_a_player_that_never_chooses_is_asked_four_times_and_has_lost_after_exactly_126_seconds() -> None:
    rig = Rig().given().wait(1).joins("P01", "P02").chooses("P01", "even").until(126.999)
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [1, 33, 65, 97]
    assert faults(rig) == []
    rig.until(127)
    assert failures(rig) == [(31, "E001", 1), (63, "E001", 2), (95, "E001", 3), (127, "E001", None)]
    assert faults(rig) == [(127, "P02", "E001")]


def test_two_silent_players_lose_together() -> None:
    rig = Rig().given().until(26)
    assert faults(rig) == [(26, "P01", "E001"), (26, "P02", "E001")]
    assert (rig.decided.status, rig.decided.winner) == ("TECHNICAL_LOSS", None)


def test_retries_follow_the_leagues_own_delays() -> None:
    rig = Rig(settings=RefereeSettings(retries=RetrySchedule((1.0,)))).given().until(30)
    assert asked(rig, "P02") == [0, 6]
    assert faults(rig)[-1] == (11, "P02", "E001")
    assert rig.said(GameError, "P02")[-1].max_retries == 1


@pytest.mark.requirement("MATCH.answers_in_time")
@pytest.mark.parametrize("moment", [0.0, 4.999, 7.0, 11.9, 21.0, 25.999])
def test_a_join_in_any_attempt_counts(moment: float) -> None:
    rig = Rig().given().joins("P01").until(moment).joins("P02")
    assert rig.said(ChooseParityCall, "P02")
    assert faults(rig) == []


def test_failures_at_the_invitation_are_forgotten_when_the_player_has_joined() -> None:
    rig = Rig().given().joins("P01").until(21).joins("P02").chooses("P01", "odd").until(21 + 125.9)
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [21, 53, 85, 117]
    assert faults(rig) == []


# --- connections ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.connection_errors")
@pytest.mark.parametrize("failure", [Failure.REFUSED, Failure.BROKEN])
def test_a_broken_connection_is_e009_and_asked_again_after_2_seconds(failure: Failure) -> None:
    rig = Rig().knows("P02").given().joins("P01")
    for t in (0, 2, 4, 6):
        rig.until(t).breaks("P02", failure)
    assert failures(rig) == [(0, "E009", 1), (2, "E009", 2), (4, "E009", 3), (6, "E009", None)]
    assert faults(rig) == [(6, "P02", "E009")]
    assert asked(rig, "P02") == [0, 2, 4, 6]


@pytest.mark.requirement("MATCH.connection_errors")
@pytest.mark.requirement("MATCH.error_is_no_acknowledgement")
@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"status":"ERROR"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"success":false,"accept":true}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"message_type":"GAME_ERROR","error_code":"E023"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"accept":true,"error":"busy"}}',
    ],
)
def test_an_error_is_e009_and_never_a_join(answer: bytes) -> None:
    rig = Rig().given().joins("P01").says("P02", answer)
    assert failures(rig) == [(0, "E009", 1)]
    assert rig.of(e.PlayerJoined) == [e.PlayerJoined(at=START, match_id="R1M1", attempt=1, player_id="P01")]
    rig.until(2).joins("P02")
    assert rig.said(ChooseParityCall)


def test_kinds_of_failures_add_up_and_each_attempt_has_its_full_limit() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even")
    rig.wait(3).breaks("P02").until(5)
    assert rig.question("P02").deadline == 35
    rig.until(37).says("P02", Refusal("E099", "oops")).until(39).breaks("P02", Failure.BROKEN)
    assert [one[1:] for one in failures(rig)] == [("E009", 1), ("E001", 2), ("E009", 3), ("E009", None)]
    assert rig.decided.winner == "P01"


# --- busy, misunderstood, and our own fault ---------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.busy_not_counted")
def test_a_busy_player_is_asked_again_after_the_time_it_asks_for_or_2_seconds() -> None:
    rig = Rig().given().joins("P01").breaks("P02", Failure.BUSY, retry_after=7.0).until(6.9)
    assert asked(rig, "P02") == [0]
    rig.until(7).breaks("P02", Failure.BUSY).until(9)
    assert asked(rig, "P02") == [0, 7, 9]
    assert rig.question("P02").deadline == 14
    assert failures(rig) == []
    assert rig.said(GameError) == []


@pytest.mark.requirement("MATCH.busy_not_counted")
def test_after_60_seconds_of_waiting_in_a_phase_busy_counts_as_a_failure() -> None:
    rig = Rig().given().joins("P01").breaks("P02", Failure.BUSY, retry_after=50.0)
    rig.until(50).breaks("P02", Failure.BUSY, retry_after=600.0)
    rig.until(60).breaks("P02", Failure.BUSY, retry_after=1.0)
    assert asked(rig, "P02") == [0, 50, 60]
    assert failures(rig) == [(60, "E009", 1)]
    rig.until(62).joins("P02")
    rig.chooses("P01", "even").breaks("P02", Failure.BUSY, retry_after=30.0).until(92)
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [62, 92]
    assert len(failures(rig)) == 1


@pytest.mark.parametrize("retry_after", [0.0, 0.001, -3.0])
def test_a_busy_player_cannot_make_us_spin(retry_after: float) -> None:
    rig = Rig().given().joins("P01")
    while rig.t <= 70 and not failures(rig):
        rig.breaks("P02", Failure.BUSY, retry_after=retry_after)
        if rig.desk.deadline is not None and not rig.asked("P02"):
            rig.until(rig.desk.deadline - START)
    assert failures(rig) == [(60, "E009", 1)]
    assert len(asked(rig, "P02")) <= 62


def test_what_our_own_process_slept_through_is_asked_again_at_once_with_a_fresh_limit() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even")
    call = rig.question("P02")
    del rig.under_way[call.key, "P02"]
    rig.until(50)
    rig.fail(call, Failure.TIMEOUT, Blame.LOCAL)
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [0, 50]
    assert rig.question("P02").deadline == 80
    assert failures(rig) == []
    assert rig.said(GameError) == []


def test_when_our_own_network_fails_we_try_again_every_2_seconds_and_count_nothing() -> None:
    rig = Rig().given().joins("P01")
    for t in range(0, 200, 2):
        rig.until(t).breaks("P02", blame=Blame.LOCAL)
        assert not rig.asked("P02")
    rig.until(200).joins("P02")
    assert failures(rig) == []
    assert len(asked(rig, "P02")) == 102


def test_an_invitation_that_is_not_understood_is_put_in_every_other_way_at_once() -> None:
    rig = Rig().given().joins("P01")
    for n in range(5):
        rig.wait(0.5).breaks("P02", Failure.NOT_UNDERSTOOD)
        assert len(asked(rig, "P02")) == n + 2
        assert rig.question("P02").deadline == rig.t + 5
    assert failures(rig) == []
    rig.breaks("P02", Failure.NOT_UNDERSTOOD)
    assert failures(rig) == [(2.5, "E009", 1)]
    rig.until(4.5).breaks("P02", Failure.NOT_UNDERSTOOD)
    assert failures(rig)[-1] == (4.5, "E009", 2)


def test_a_call_for_a_choice_that_is_not_understood_counts() -> None:
    rig = Rig().given().joins("P01", "P02").breaks("P02", Failure.NOT_UNDERSTOOD)
    assert failures(rig) == [(0, "E009", 1)]


# --- a mere acknowledgement -------------------------------------------------------------------------------------------


def test_after_a_mere_acknowledgement_the_answer_is_awaited_until_the_same_deadline() -> None:
    rig = Rig().knows("P02").given().joins("P01").wait(1).says("P02", {"status": "ok"}).until(4.999)
    assert failures(rig) == []
    rig.until(5)
    assert failures(rig) == [(5, "E001", 1)]
    rig.until(7)
    assert asked(rig, "P02") == [0, 7]


def test_an_alarm_that_rings_late_is_our_fault_not_the_players() -> None:
    rig = Rig().given().joins("P01").says("P02", Pong())
    rig.t = 9.0
    rig.tick()
    assert failures(rig) == []
    assert asked(rig, "P02") == [0, 9]
    assert rig.question("P02").deadline == 14


# --- suspended players ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.suspended_one_invitation")
def test_a_suspended_player_gets_one_invitation_with_5_seconds() -> None:
    rig = Rig().given(announced(player_B_suspended=True)).joins("P01").until(5)
    assert asked(rig, "P02") == [0]
    assert faults(rig) == [(5, "P02", "E001")]
    assert rig.decided.winner == "P01"


@pytest.mark.requirement("MATCH.suspended_one_invitation")
def test_a_suspended_player_that_joins_plays_like_any_other() -> None:
    rig = Rig().given(announced(player_B_suspended=True)).joins("P01", "P02").chooses("P01", "odd").until(125.9)
    assert len(rig.times("CHOOSE_PARITY_CALL", "P02")) == 4
    assert faults(rig) == []


def test_the_other_player_of_a_suspended_one_keeps_all_its_attempts() -> None:
    rig = Rig().given(announced(player_B_suspended=True)).until(26)
    assert asked(rig, "P01") == [0, 7, 14, 21]
    assert faults(rig) == [(5, "P02", "E001"), (26, "P01", "E001")]


# --- two players, moments apart (R-42) --------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.judged_when_both_settled")
def test_one_players_refusal_does_not_shorten_the_others_time() -> None:
    rig = Rig().given()
    rig.says("P01", rig.joining("P01", accept=False))
    assert faults(rig) == [(0, "P01", "DECLINED")]
    rig.until(20)
    assert rig.of(e.MatchDecided) == []
    rig.until(21).joins("P02")
    assert (rig.decided.at - START, rig.decided.winner) == (21, "P02")
    assert rig.said(ChooseParityCall) == []


@pytest.mark.requirement("MATCH.judged_when_both_settled")
@pytest.mark.parametrize("first", ["P01", "P02"])
def test_a_choice_after_the_others_final_fault_is_still_taken(first: str) -> None:
    second = "P02" if first == "P01" else "P01"
    rig = Rig().given().joins("P01", "P02")
    for _ in range(4):
        rig.says(first, rig.choosing(first, "Even"))
    rig.until(31)
    assert (first, "E004") in [one[1:] for one in faults(rig)]
    assert rig.of(e.MatchDecided) == []
    rig.until(35).chooses(second, "odd")
    assert rig.decided.winner == second
    assert rig.decided.game_result["choices"] == {first: None, second: "odd"}


@pytest.mark.requirement("MATCH.late_answers")
def test_a_late_answer_to_an_attempt_given_up_counts_while_its_player_is_not_settled() -> None:
    rig = Rig().given().joins("P01")
    first = rig.question("P02")
    rig.until(6)
    rig.answer(first, rig.joining("P02"))
    assert rig.said(ChooseParityCall, "P02")
    second = rig.question("P02")
    rig.chooses("P01", "even").until(30 + 2 + 1)
    rig.answer(second, rig.choosing("P02", "odd"))
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("MATCH.late_answers")
def test_answers_after_the_player_is_settled_change_nothing() -> None:
    rig = Rig().given().joins("P01", "P02")
    call = rig.question("P01")
    rig.chooses("P01", "even")
    before = rig.desk.snapshot()
    rig.answer(call, rig.choosing("P01", "odd"))
    rig.fail(call, Failure.BROKEN)
    assert rig.desk.snapshot() == before
    rig.chooses("P02", "odd")
    assert rig.decided.game_result["choices"] == {"P01": "even", "P02": "odd"}
    rig.answer(call, rig.choosing("P01", "odd"))
    assert len(rig.of(e.MatchDecided)) == 1


def test_wrong_answers_to_attempts_given_up_are_no_wrong_answers() -> None:
    rig = Rig().given().joins("P01")
    first = rig.question("P02")
    rig.until(6)
    rig.answer(first, b"banana")
    assert rig.of(e.WrongAnswer) == []
    rig.until(7).joins("P02")
    assert rig.said(ChooseParityCall)


def test_keys_nobody_knows_are_ignored() -> None:
    rig = Rig().given()
    sent = rig.question("P01")
    before = rig.desk.snapshot()
    rig.answer(type(sent)(0, sent.to, "R9M9/1/invite/P01/1", sent.message, 5), rig.joining("P01"))
    assert rig.desk.snapshot() == before


@pytest.mark.requirement("MATCH.league_retry_delays")
def test_the_league_says_how_often_and_when_a_player_is_asked_again() -> None:
    rig = Rig().given(announced(retry_delays_s=[1.0, 4.0])).joins("P01").until(20)
    assert rig.times("GAME_INVITATION", "P02") == [0, 6, 15]
    assert [one.max_retries for one in rig.said(GameError, "P02")] == [2, 2, 2]
    assert rig.times("GAME_ERROR", "P02") == [5, 11, 20]
    assert rig.decided.status == "TECHNICAL_LOSS"


# --- a player that declines -------------------------------------------------------------------------------------------

DECLINES = Refusal("E045", "PROVIDER_UNAVAILABLE", words="no provider")


@pytest.mark.requirement("MATCH.declined_choice")
def test_a_player_that_declines_to_choose_has_its_retries_and_then_the_fault_says_so() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even")
    for number in range(4):
        rig.says("P02", DECLINES).until(2.0 * (number + 1))
    assert [code for _, code, _ in failures(rig)] == ["E045"] * 4
    assert [(player, code) for _, player, code in faults(rig)] == [("P02", "E045")]
    assert rig.decided.details["faults"]["P02"]["code"] == "E045"
    assert rig.decided.reason == "Technical loss: P02 declined to choose"


def test_a_provider_that_is_back_in_time_costs_nothing() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").says("P02", DECLINES).until(2)
    rig.chooses("P02", "odd")
    assert (faults(rig), rig.decided.status) == ([], "WIN")


def test_what_the_last_attempt_ends_in_is_what_counts() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even")
    for number in range(3):
        rig.says("P02", DECLINES).until(2.0 * (number + 1))
    rig.breaks("P02", Failure.REFUSED)
    assert [(player, code) for _, player, code in faults(rig)] == [("P02", "E009")]
