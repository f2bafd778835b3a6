"""What an answer of a player is taken for: valid, declined, wrong and to be corrected, or nothing yet."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Acknowledged, Blame, Failure
from league.protocol.errors import Stage, Violation
from league.protocol.message.envelope import Profile, Unsealed
from league.protocol.message.messages import ChooseParityCall, GameError, GameInvitation
from league.protocol.signing import tokens
from tests.support.referee_rig import HOSTS, LEFT_OUT, REGISTRATION, START, Rig, announced, code_of


def choosing(profile: Profile = "compat") -> Rig:
    """Both have joined, and P01 has chosen."""
    return Rig(profile).given().joins("P01", "P02").chooses("P01", "even")


def wrongs(rig: Rig) -> list[tuple[str, int]]:
    return [(one.code, one.left) for one in rig.of(e.WrongAnswer)]


# --- wrong answers and their corrections ------------------------------------------------------------------------------

WRONG_CHOICES: list[tuple[dict[str, Any], str]] = [
    ({"parity_choice": "Even"}, "E004"),
    ({"parity_choice": " even"}, "E004"),
    ({"parity_choice": "EVEN"}, "E004"),
    ({"parity_choice": None}, "E004"),
    ({"parity_choice": 0}, "E004"),
    ({"parity_choice": LEFT_OUT}, "E003"),
    ({"match_id": 7}, "E007"),
    ({"match_id": ""}, "E008"),
    ({"match_id": "R9M9"}, "E015"),
    ({"player_id": "P01"}, "E033"),
    ({"message_type": "GAME_JOIN_ACK"}, "E038"),
    ({"message_type": "BANANA"}, "E038"),
    ({"protocol": "league.v1"}, "E018"),
]


@pytest.mark.requirement("MATCH.correction")
@pytest.mark.requirement("MATCH.correction_same_deadline")
@pytest.mark.requirement("CHOICE.not_repaired")
@pytest.mark.parametrize(("changed", "code"), WRONG_CHOICES)
def test_a_wrong_choice_is_corrected_under_the_same_deadline(changed: dict[str, Any], code: str) -> None:
    rig = choosing().wait(10)
    rig.says("P02", rig.choosing("P02", "odd", **changed))
    assert wrongs(rig) == [(code, 3)]
    assert not rig.asked("P02")
    assert (rig.question("P02").at, rig.question("P02").deadline) == (12, 30)
    first, again = rig.said(ChooseParityCall, "P02")
    assert again.deadline == first.deadline
    (error,) = rig.said(GameError)
    assert (error.error_code, error.retryable, error.time_remaining) == (code, True, 20.0)
    assert rig.of(e.AttemptFailed) == []
    rig.until(29.9).chooses("P02", "odd")
    assert rig.decided.status == "WIN"


@pytest.mark.parametrize(
    ("raw", "code"),
    [(b"banana", "E034"), (b"[]", "E035"), (b'{"jsonrpc":"2.0","id":1}', "E035"), (b"\xff", "E034")],
)
def test_an_answer_that_cannot_be_read_is_a_wrong_one(raw: bytes, code: str) -> None:
    rig = choosing().says("P02", raw)
    assert wrongs(rig) == [(code, 3)]
    rig.chooses("P02", "odd")
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("MATCH.correction")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"accept": "true"}, "E007"),
        ({"accept": None}, "E003"),
        ({"match_id": "R2M1"}, "E015"),
        ({"player_id": "P02"}, "E033"),
    ],
)
def test_a_wrong_join_is_corrected_within_its_5_seconds(changed: dict[str, Any], code: str) -> None:
    rig = Rig().given().wait(1)
    rig.says("P01", rig.joining("P01", **changed))
    assert wrongs(rig) == [(code, 3)]
    assert rig.question("P01").deadline == 5
    assert len(rig.said(GameInvitation, "P01")) == 2
    (error,) = rig.said(GameError)
    assert (error.time_remaining, error.action_required) == (4.0, "GAME_JOIN_ACK")
    rig.until(4).joins("P01", "P02")
    assert len(rig.said(ChooseParityCall)) == 2


@pytest.mark.requirement("MATCH.fourth_wrong_answer_loses")
def test_the_fourth_wrong_answer_is_the_technical_loss() -> None:
    rig = choosing()
    for _ in range(4):
        rig.says("P02", rig.choosing("P02", "maybe"))
    assert wrongs(rig) == [("E004", 3), ("E004", 2), ("E004", 1), ("E004", 0)]
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [0, 2, 4, 6]
    rig.until(29.999)
    assert rig.of(e.PlayerFaulted) == []
    rig.until(30)
    (fault,) = rig.of(e.PlayerFaulted)
    assert (fault.at - START, fault.player_id, fault.code) == (30, "P02", "E004")
    assert len(rig.said(GameError, "P02")) == 4
    assert rig.decided.winner == "P01"
    assert rig.decided.game_result["choices"] == {"P01": "even", "P02": None}


@pytest.mark.requirement("MATCH.corrections_apart")
def test_after_the_last_correction_a_post_of_a_legal_choice_counts_until_the_deadline() -> None:
    rig = choosing()
    for _ in range(4):
        rig.says("P02", rig.choosing("P02", "maybe"))
    rig.until(29.9)
    assert code_of(rig.request(rig.choosing("P02", "perhaps"), HOSTS["P02"])) == "E004"
    assert len(wrongs(rig)) == 4
    assert rig.request(rig.choosing("P02", "odd"), HOSTS["P02"]) == Acknowledged()
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("MATCH.corrections_apart")
def test_no_correction_is_asked_for_after_the_deadline() -> None:
    rig = choosing().wait(28.5)
    rig.says("P02", rig.choosing("P02", "maybe"))
    assert wrongs(rig) == [("E004", 0)]
    (error,) = rig.said(GameError)
    assert (error.retryable, error.time_remaining) == (False, 1.5)
    rig.until(29.9)
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [0]
    assert rig.request(rig.choosing("P02", "odd"), HOSTS["P02"]) == Acknowledged()
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("MATCH.corrections_apart")
def test_a_wrong_answer_that_there_is_no_time_to_correct_is_the_fault() -> None:
    rig = choosing().wait(28.5)
    rig.says("P02", rig.choosing("P02", "maybe"))
    rig.until(30)
    (fault,) = rig.of(e.PlayerFaulted)
    assert (fault.at - START, fault.code) == (30, "E004")
    assert [error.error_code for error in rig.said(GameError)] == ["E004"]


@pytest.mark.requirement("MATCH.window_ends")
def test_the_windows_end_after_a_wrong_answer_is_the_technical_loss_and_no_retry_follows() -> None:
    rig = choosing().wait(10)
    rig.says("P02", rig.choosing("P02", "maybe")).until(29.999)
    assert rig.of(e.PlayerFaulted) == []
    rig.until(30)
    (fault,) = rig.of(e.PlayerFaulted)
    assert (fault.at - START, fault.code) == (30, "E001")
    assert rig.of(e.AttemptFailed) == []
    last = rig.said(GameError)[-1]
    assert (last.error_code, last.retryable, last.retry_count) == ("E001", False, 3)


def test_retries_used_up_before_do_not_count_against_a_correction() -> None:
    rig = choosing().until(97)
    rig.says("P02", rig.choosing("P02", "maybe")).until(125.9).chooses("P02", "odd")
    assert rig.decided.status == "WIN"
    assert len(rig.of(e.AttemptFailed)) == 3


def test_a_connection_that_breaks_in_a_correction_is_tried_again_every_2_seconds_uncounted() -> None:
    rig = choosing().wait(20)
    rig.says("P02", rig.choosing("P02", "maybe"))
    for t in (22, 24, 26):
        rig.until(t).breaks("P02")
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [0, 22, 24, 26]
    assert {one.deadline for one in rig.sent if one.message.type == "CHOOSE_PARITY_CALL"} == {30}
    rig.until(28).chooses("P02", "odd")
    assert rig.of(e.AttemptFailed) == []
    assert rig.decided.status == "WIN"


def test_a_connection_that_breaks_too_close_to_the_windows_end_is_not_tried_again() -> None:
    rig = choosing().wait(20)
    rig.says("P02", rig.choosing("P02", "maybe")).until(28).breaks("P02").until(29.999)
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [0, 22]
    assert rig.of(e.PlayerFaulted) == []
    rig.until(30)
    assert [one.code for one in rig.of(e.PlayerFaulted)] == ["E001"]


def test_an_error_in_a_correction_is_like_a_broken_connection() -> None:
    rig = choosing()
    rig.says("P02", rig.choosing("P02", "maybe"))
    rig.says("P02", b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}').until(4)
    assert rig.times("CHOOSE_PARITY_CALL", "P02") == [0, 2, 4]
    assert rig.of(e.AttemptFailed) == []


def test_the_time_a_busy_player_asks_for_is_added_to_its_window() -> None:
    rig = choosing().wait(20)
    rig.says("P02", rig.choosing("P02", "maybe")).breaks("P02", Failure.BUSY, retry_after=15.0).until(35)
    assert rig.question("P02").deadline == 45
    rig.chooses("P02", "odd")
    assert rig.decided.status == "WIN"


def test_a_correction_our_own_process_slept_through_is_asked_for_again() -> None:
    rig = choosing()
    rig.says("P02", rig.choosing("P02", "maybe"))
    rig.wait(29).breaks("P02", Failure.TIMEOUT, blame=Blame.LOCAL)
    assert rig.question("P02").deadline == 59
    assert rig.of(e.PlayerFaulted) == []


def test_wrong_answers_in_one_turn_do_not_count_in_the_next_phase() -> None:
    rig = Rig().given()
    for _ in range(2):
        rig.says("P02", rig.joining("P02", accept="yes"))
    rig.joins("P01", "P02").chooses("P01", "even")
    for _ in range(3):
        rig.says("P02", rig.choosing("P02", "no"))
    rig.chooses("P02", "odd")
    assert rig.decided.status == "WIN"


def test_long_nonsense_is_quoted_shortly() -> None:
    rig = choosing()
    rig.says("P02", rig.choosing("P02", "x" * 9_000))
    (error,) = rig.said(GameError)
    assert error.context is not None
    assert error.context["invalid_choice"] == "x" * 100
    assert len(error.error_detail or "") <= 300
    assert len(rig.of(e.WrongAnswer)[0].detail) <= 300
    rig.says("P02", rig.choosing("P02", {"deep": ["x" * 5_000]}))
    last = rig.said(GameError)[-1].context
    assert last is not None
    assert last["invalid_choice"] == "an object"


# --- declining --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.declined_is_technical_loss")
def test_a_declined_invitation_is_a_technical_loss_at_once_without_another_invitation() -> None:
    rig = Rig().given().joins("P01")
    rig.says("P02", rig.joining("P02", accept=False))
    assert len(rig.said(GameInvitation, "P02")) == 1
    assert rig.said(GameError) == []
    assert (rig.decided.winner, rig.decided.status) == ("P01", "TECHNICAL_LOSS")
    assert rig.decided.details["faults"]["P02"]["code"] == "DECLINED"


def test_two_refusals_are_two_losses() -> None:
    rig = Rig().given()
    for player in ("P01", "P02"):
        rig.says(player, rig.joining(player, accept=False))
    assert (rig.decided.winner, rig.decided.points) == (None, {"P01": 0, "P02": 0})


# --- ids and tokens ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.wrong_ids")
@pytest.mark.parametrize("changed", [{"player_id": LEFT_OUT}, {"match_id": LEFT_OUT}, {"player_id": "alice"}])
def test_absent_ids_and_ids_of_nobody_pass_in_compat_only(changed: dict[str, Any]) -> None:
    compat, strict = choosing(), choosing("strict")
    compat.says("P02", compat.choosing("P02", "odd", **changed))
    assert compat.decided.status == "WIN"
    strict.says("P02", strict.choosing("P02", "odd", **changed))
    assert wrongs(strict) == [("E033" if "alice" in changed.values() else "E003", 3)]


@pytest.mark.requirement("MATCH.wrong_ids")
def test_the_id_of_anybody_who_ever_played_here_is_somebody_elses() -> None:
    rig = Rig().given(announced(), announced("R1M2", "P03", "P04")).joins("P01", "P02")
    rig.says("P02", rig.choosing("P02", "odd", player_id="P04"))
    assert wrongs(rig) == [("E033", 3)]


@pytest.mark.requirement("TOKEN.wrong_in_answer")
@pytest.mark.parametrize(("token", "code"), [(LEFT_OUT, "E011"), ("tok_P02_stolen", "E012"), ("", "E011")])
def test_a_missing_or_wrong_token_in_an_answer_is_wrong_in_strict_only(token: object, code: str) -> None:
    compat, strict = choosing(), choosing("strict")
    compat.says("P02", compat.choosing("P02", "odd", auth_token=token))
    assert compat.decided.status == "WIN"
    strict.says("P02", strict.choosing("P02", "odd", auth_token=token))
    assert wrongs(strict) == [(code, 0 if code == "E012" else 3)]
    assert "stolen" not in str(strict.said(GameError))


@pytest.mark.requirement("MATCH.wrong_token_is_final")
def test_a_wrong_token_is_not_corrected_in_strict_unless_the_manager_has_shown_another() -> None:
    rig = choosing("strict")
    rig.says("P02", rig.choosing("P02", "odd", auth_token="tok_P02_stolen"))
    (error,) = rig.said(GameError)
    assert (error.error_code, error.retryable, error.consequence) == ("E012", False, "technical loss")
    assert [one.code for one in rig.of(e.PlayerFaulted)] == ["E012"]
    rig = choosing("strict")
    rig.announce(announced(player_B_answers=[tokens.verifier("tok_P02_new")]))
    rig.says("P02", rig.choosing("P02", "odd", auth_token="tok_P02_stolen"))
    assert rig.said(GameError)[0].retryable
    rig.says("P02", rig.choosing("P02", "odd", auth_token="tok_P02_new"))
    assert rig.decided.status == "WIN"


# --- what costs nothing here, and would in a strict league ------------------------------------------------------------

FOREIGN_TIME = "2025-06-15T17:06:40+02:00"


@pytest.mark.requirement("MATCH.told_of_deviations")
@pytest.mark.parametrize(
    ("changed", "code", "field"),
    [
        ({"timestamp": FOREIGN_TIME}, "E021", "timestamp"),
        ({"auth_token": LEFT_OUT}, "E011", "auth_token"),
        ({"auth_token": "tok_P02_stolen"}, "E012", "auth_token"),
    ],
)
def test_a_wrong_zone_or_token_costs_nothing_but_is_told_once(changed: dict[str, Any], code: str, field: str) -> None:
    rig = Rig().given()
    rig.joins("P01").says("P02", rig.joining("P02", **changed))
    (error,) = rig.said(GameError)
    assert (error.error_code, error.affected_player, error.match_id) == (code, "P02", "R1M1")
    assert (error.retryable, error.consequence) == (True, "none in this league; strict leagues refuse it")
    assert error.context is not None
    assert error.context["field"] == field
    rig.chooses("P01", "even").says("P02", rig.choosing("P02", "odd", **changed))
    assert rig.decided.status == "WIN"
    rig.until(20).acknowledge()
    rig.restart().announce(announced("R2M1"))
    rig.says("P02", rig.joining("P02", **changed))
    assert len(rig.said(GameError)) == 1
    assert [one.code for one in rig.of(e.PlayerDeviated)] == [code]


@pytest.mark.requirement("MATCH.told_of_deviations")
def test_what_another_referee_of_the_league_has_told_is_not_told_again() -> None:
    rig = Rig().given(announced(player_B_told=["E021"])).joins("P01")
    rig.says("P02", rig.joining("P02", timestamp=FOREIGN_TIME, auth_token=LEFT_OUT))
    assert [one.error_code for one in rig.said(GameError)] == ["E011"]


@pytest.mark.requirement("MATCH.told_of_deviations")
def test_what_came_as_a_request_of_its_own_is_told_too() -> None:
    rig = Rig().given().joins("P01").says("P02", {"status": "ok"})
    rig.request(rig.joining("P02", timestamp=FOREIGN_TIME, arrival_timestamp=FOREIGN_TIME))
    assert [one.error_code for one in rig.said(GameError)] == ["E021"]


@pytest.mark.requirement("TOKEN.answers_taken")
def test_a_registration_token_is_as_good_as_a_derived_one() -> None:
    rig = choosing("strict")
    rig.says("P02", rig.choosing("P02", "odd", auth_token=REGISTRATION["P02"]))
    assert rig.decided.status == "WIN"


def test_where_the_manager_gave_no_digests_no_token_is_checked() -> None:
    rig = Rig("strict").given(announced(player_A_answers=None, player_B_answers=None)).joins("P01", "P02")
    rig.says("P01", rig.choosing("P01", "odd", auth_token="tok_whatever"))
    assert rig.of(e.MoveMade)


def test_a_violation_without_a_message_is_read_as_it_stands() -> None:
    rig = choosing()
    broken = Violation("E037", "", "larger than the limit", "RPC", Stage.TYPE)
    rig.says("P02", Unsealed(None, None, (broken,)))
    assert wrongs(rig) == [("E037", 3)]


@pytest.mark.parametrize("status", ["ACK", "ok", "ACKNOWLEDGED"])
def test_an_acknowledgement_of_another_kind_is_no_answer_yet(status: str) -> None:
    rig = choosing()
    rig.says("P02", {"status": status})
    assert wrongs(rig) == []
    rig.until(30)
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E001"]


@pytest.mark.requirement("MATCH.wrong_ids")
@pytest.mark.parametrize(("profile", "refused"), [("compat", []), ("strict", [("E033", 3)])])
def test_the_id_a_player_asked_for_is_its_own_too_but_not_in_strict(
    profile: Profile, refused: list[tuple[str, int]]
) -> None:
    rig = Rig(profile).given(announced(player_B_known_as="P01")).joins("P01")
    rig.says("P02", rig.joining("P02", player_id="P01"))
    assert wrongs(rig) == refused
    if profile == "compat":
        assert [(one.player_id, one.code) for one in rig.of(e.PlayerDeviated)] == [("P02", "E033")]
        rig.says("P01", rig.choosing("P01", "even", player_id="P02"))
        assert wrongs(rig) == [("E033", 3)]
