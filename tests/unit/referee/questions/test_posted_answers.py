"""Joins and choices that come as requests of their own."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Acknowledged
from league.protocol.message.messages import ChooseParityCall, GameError
from league.referee.referee_context import RefereeSettings
from tests.support.referee_rig import HOSTS, LEFT_OUT, REGISTRATION, Rig, announced, code_of

STRANGER = "10.9.9.9"


def _without_notes(rig: Rig) -> dict[str, Any]:
    """The referee's state, but for the notes of refused answers."""
    snapshot = dict(rig.desk.snapshot())
    matches = {}
    for name, match in snapshot["matches"].items():
        events = [event for event in match["events"] if event["event"] != "AnswerRefused"]
        seated = [{**player, "refused": None} for player in match["seated"]]
        matches[name] = {**match, "events": events, "seated": seated}
    return {**snapshot, "matches": matches}


def waiting() -> Rig:
    """P02 has acknowledged the invitation and will send its join by itself; P01 has joined."""
    return Rig().given().joins("P01").says("P02", {"status": "ok"})


def choosing() -> Rig:
    """P02 has acknowledged the call for its choice."""
    return Rig().given().joins("P01", "P02").says("P02", {"status": "ok"})


@pytest.mark.requirement("MATCH.takes_own_posts")
def test_a_join_and_a_choice_are_taken_as_requests_of_their_own() -> None:
    rig = waiting().wait(2)
    assert rig.request(rig.joining("P02"), STRANGER) == Acknowledged()
    assert rig.said(ChooseParityCall, "P02")
    rig.chooses("P01", "even").says("P02", {"status": "ok"}).wait(29)
    assert rig.request(rig.choosing("P02", "odd"), STRANGER) == Acknowledged()
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("MATCH.takes_own_posts")
def test_the_post_may_overtake_the_acknowledgement() -> None:
    rig = Rig().given().joins("P01")
    invitation = rig.question("P02")
    assert rig.request(rig.joining("P02"), HOSTS["P02"]) == Acknowledged()
    rig.answer(invitation, {"status": "ok"})
    rig.chooses("P01", "even").chooses("P02", "odd")
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("MATCH.takes_own_posts")
def test_a_post_in_the_pause_between_two_attempts_counts() -> None:
    rig = waiting().until(6)
    assert rig.request(rig.joining("P02"), HOSTS["P02"]) == Acknowledged()
    assert rig.said(ChooseParityCall, "P02")


NOT_RECEIVED = ("conv-r1m1-1", "conv-r1m1-1-" + 32 * "0")
"""What somebody may show who did not receive the call."""


@pytest.mark.requirement("MATCH.own_posts_checked")
@pytest.mark.parametrize("token", [LEFT_OUT, "tok_P02_guessed", "", REGISTRATION["P01"]])
@pytest.mark.parametrize("conversation", NOT_RECEIVED)
def test_whoever_shows_neither_the_conversation_nor_a_token_is_refused(token: object, conversation: str) -> None:
    rig = waiting()
    before = _without_notes(rig)
    forged = rig.joining("P02", auth_token=token, conversation_id=conversation)
    refused = rig.request(forged, HOSTS["P02"])
    assert code_of(refused) == "E012"
    assert "guessed" not in str(refused)
    assert _without_notes(rig) == before
    assert (rig.said(ChooseParityCall), rig.said(GameError)) == ([], [])


@pytest.mark.requirement("MATCH.own_posts_checked")
@pytest.mark.parametrize("token", [LEFT_OUT, "tok_P02_guessed", ""])
def test_whoever_repeats_the_conversation_has_received_the_call(token: object) -> None:
    rig = waiting()
    assert rig.request(rig.joining("P02", auth_token=token), STRANGER) == Acknowledged()
    assert rig.said(ChooseParityCall)


@pytest.mark.requirement("MATCH.own_posts_checked")
@pytest.mark.parametrize("conversation", NOT_RECEIVED)
def test_a_registration_token_is_right_in_any_conversation(conversation: str) -> None:
    rig = waiting()
    join = rig.joining("P02", auth_token=REGISTRATION["P02"], conversation_id=conversation)
    assert rig.request(join, STRANGER) == Acknowledged()


@pytest.mark.requirement("MATCH.own_posts_checked")
@pytest.mark.parametrize("changed", [{"parity_choice": "odd"}, {"parity_choice": "Even"}, {"parity_choice": None}])
def test_the_opponents_conversation_opens_nothing_and_costs_nobody_anything(changed: dict[str, Any]) -> None:
    rig = choosing()
    before = _without_notes(rig)
    for token in (LEFT_OUT, REGISTRATION["P01"], "tok_P02_guessed"):
        forged = rig.choosing("P02", auth_token=token, conversation_id=rig.conversation_with("P01"), **changed)
        assert code_of(rig.request(forged, HOSTS["P02"])) == "E012"
    assert _without_notes(rig) == before
    assert rig.said(GameError) == []


@pytest.mark.requirement("MATCH.own_posts_checked")
def test_in_strict_the_token_must_be_right_too() -> None:
    rig = Rig("strict").given().joins("P01")
    wrong = rig.joining("P02", auth_token="tok_P02_guessed")
    assert code_of(rig.request({**wrong, "conversation_id": "conv-r1m1-1"}, HOSTS["P02"])) == "E012"
    assert rig.of(e.WrongAnswer) == []
    assert code_of(rig.request(wrong, HOSTS["P02"])) == "E012"
    assert [one.code for one in rig.of(e.WrongAnswer)] == ["E012"]


@pytest.mark.requirement("MATCH.own_posts_checked")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"match_id": "R9M9"}, "E014"),
        ({"match_id": LEFT_OUT}, "E003"),
        ({"match_id": 7}, "E014"),
        ({"player_id": "P03"}, "E033"),
        ({"player_id": "P01", "sender": "player:P02"}, "E033"),
        ({"player_id": LEFT_OUT, "sender": "player:Alice"}, "E033"),
        ({"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}, "E023"),
        ({"protocol": "league.v1"}, "E018"),
    ],
)
def test_any_mismatch_is_refused_and_changes_nothing(changed: dict[str, Any], code: str) -> None:
    rig = waiting()
    before = _without_notes(rig)
    assert code_of(rig.request(rig.joining("P02", **changed), HOSTS["P02"])) == code
    assert _without_notes(rig) == before


def test_the_sender_speaks_for_a_player_that_leaves_out_its_id() -> None:
    rig = waiting()
    assert rig.request(rig.joining("P02", player_id=LEFT_OUT), HOSTS["P02"]) == Acknowledged()


def test_a_player_cannot_answer_for_its_opponent() -> None:
    rig = Rig().given().joins("P01", "P02")
    forged = rig.choosing("P02", "odd", auth_token=REGISTRATION["P01"], conversation_id=rig.conversation_with("P01"))
    assert code_of(rig.request(forged, HOSTS["P01"])) == "E012"
    assert rig.of(e.MoveMade) == []


@pytest.mark.requirement("MATCH.own_posts_checked")
def test_nothing_counts_that_is_not_awaited() -> None:
    rig = Rig(capacity=1).given(announced(), announced("R1M2", "P03", "P04"))
    assert code_of(rig.request(rig.joining("P03"), HOSTS["P03"])) == "E023"
    rig.plays()
    assert code_of(rig.request(rig.joining("P02"), HOSTS["P02"])) == "E023"
    assert code_of(rig.request(rig.choosing("P02", "odd"), HOSTS["P02"])) == "E023"


def test_a_choice_after_the_final_fault_is_out_of_phase() -> None:
    rig = Rig().given().joins("P01", "P02")
    for _ in range(4):
        rig.says("P02", rig.choosing("P02", "maybe"))
    rig.until(30)
    assert code_of(rig.request(rig.choosing("P02", "odd"), HOSTS["P02"])) == "E023"
    assert rig.chooses("P01", "even").decided.winner == "P01"


def test_what_counted_is_acknowledged_again_and_changes_nothing() -> None:
    rig = waiting()
    join = rig.joining("P02")
    assert [rig.request(join, STRANGER), rig.request(join, STRANGER)] == [Acknowledged(), Acknowledged()]
    choice = rig.choosing("P02", "odd")
    assert [rig.request(choice, STRANGER), rig.request(choice, STRANGER)] == [Acknowledged(), Acknowledged()]
    assert code_of(rig.request(rig.choosing("P02", "even"), STRANGER)) == "E023"
    assert len(rig.of(e.MoveMade)) == 1


@pytest.mark.parametrize(("choice", "code"), [("Even", "E004"), (None, "E004"), (3, "E004")])
def test_a_wrong_choice_with_the_players_token_is_corrected_like_any_other(choice: object, code: str) -> None:
    rig = choosing().wait(10)
    assert code_of(rig.request(rig.choosing("P02", choice), STRANGER)) == code
    assert [one.left for one in rig.of(e.WrongAnswer)] == [3]
    assert rig.said(GameError, "P02")[0].time_remaining == 20
    assert rig.question("P02").deadline == 30


def test_a_wrong_choice_of_a_stranger_costs_no_correction() -> None:
    rig = choosing()
    for _ in range(10):
        wrong = rig.choosing("P02", "Even", auth_token=LEFT_OUT, conversation_id="conv-r1m1-1")
        assert code_of(rig.request(wrong, HOSTS["P02"])) == "E012"
    assert rig.of(e.WrongAnswer) == []
    assert rig.request(rig.choosing("P02", "odd", auth_token=LEFT_OUT), HOSTS["P02"]) == Acknowledged()


def test_a_wrong_choice_between_attempts_is_refused_and_costs_nothing() -> None:
    rig = choosing().until(31)
    assert code_of(rig.request(rig.choosing("P02", "Even"), STRANGER)) == "E004"
    assert rig.of(e.WrongAnswer) == []


def test_nobody_declines_for_a_player_by_sharing_its_address() -> None:
    rig = waiting()
    refusal = rig.joining("P02", accept=False)
    forged = {**refusal, "auth_token": "tok_guess", "conversation_id": rig.conversation_with("P01")}
    assert code_of(rig.request(forged, HOSTS["P02"])) == "E012"
    assert rig.of(e.PlayerFaulted) == []
    assert rig.request(refusal, STRANGER) == Acknowledged()
    assert [one.code for one in rig.of(e.PlayerFaulted)] == ["DECLINED"]


def test_under_another_manager_the_conversation_is_all_there_is() -> None:
    rig = Rig().given(announced(player_A_answers=None, player_B_answers=None)).joins("P01")
    refusal = rig.joining("P02", accept=False)
    assert code_of(rig.request({**refusal, "conversation_id": "conv-r1m1-1"}, HOSTS["P02"])) == "E012"
    assert rig.request(refusal, STRANGER) == Acknowledged()


def test_of_two_attempts_only_the_newest_is_answered() -> None:
    rig = Rig().given().joins("P01", "P02")
    rig.announce(announced(attempt=2))
    assert code_of(rig.request(rig.choosing("P02", "odd"), HOSTS["P02"])) == "E023"
    assert rig.request(rig.joining("P02"), HOSTS["P02"]) == Acknowledged()


# --- refused answers are noted ----------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.refused_answers_noted")
def test_a_refused_answer_is_noted_and_told_with_the_timeout() -> None:
    rig = waiting()
    bare = rig.joining("P02", auth_token=LEFT_OUT, conversation_id=LEFT_OUT)
    for _ in range(3):
        assert code_of(rig.request(bare, HOSTS["P02"])) == "E012"
    (noted,) = rig.of(e.AnswerRefused)
    assert (noted.player_id, noted.phase, noted.code, noted.origin) == ("P02", "join", "E012", HOSTS["P02"])
    rig.until(60)
    because = "no GAME_JOIN_ACK within 5 seconds; an answer came and was refused, because it shows neither the"
    assert all(str(error.error_detail).startswith(because) for error in rig.said(GameError, "P02"))
    (fault,) = rig.of(e.PlayerFaulted)
    assert (fault.code, fault.detail.startswith(because)) == ("E001", True)


@pytest.mark.requirement("MATCH.refused_answers_noted")
def test_strangers_fill_no_record_with_refused_answers() -> None:
    rig = choosing()
    for number in range(50):
        forged = rig.choosing("P02", f"choice {number}", auth_token=f"tok_{number}", conversation_id=LEFT_OUT)
        rig.request(forged, STRANGER)
        rig.request({**forged, "player_id": f"P{number + 50}", "sender": f"player:P{number + 50}"}, STRANGER)
    assert len(rig.of(e.AnswerRefused)) <= 6
    assert rig.of(e.WrongAnswer) == []


# --- answers that only their address shows ----------------------------------------------------------------------------

EMPTY = b""


def _class_league(*matches: Any) -> Rig:
    """A league that trusts addresses."""
    return Rig().given(*(matches or (announced(trust="class"),)))


def _bare(message: Any) -> Any:
    """A message with nothing that proves its sender."""
    return {name: value for name, value in message.items() if name not in ("auth_token", "conversation_id", "sender")}


def _asked_by_class() -> Rig:
    """P01 has joined and chosen; P02 has joined by its address, and is asked for its choice."""
    rig = _class_league().joins("P01").says("P02", EMPTY)
    assert rig.request(_bare(rig.joining("P02")), HOSTS["P02"]) == Acknowledged()
    return rig.chooses("P01", "even")


@pytest.mark.requirement("TRUST.answers_by_address")
def test_with_trust_class_a_bare_answer_counts_from_the_players_address() -> None:
    rig = _asked_by_class().says("P02", EMPTY)
    assert rig.request(_bare(rig.choosing("P02", "odd")), HOSTS["P02"]) == Acknowledged()
    assert [move.by_address for move in rig.of(e.MoveMade)] == [False, True]
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("TRUST.answers_by_address")
def test_a_bare_answer_may_overtake_the_empty_acknowledgement() -> None:
    rig = _class_league().joins("P01")
    assert rig.request(_bare(rig.joining("P02")), HOSTS["P02"]) == Acknowledged()
    assert rig.said(ChooseParityCall) == []
    rig.says("P02", EMPTY).chooses("P01", "even")
    assert rig.request(_bare(rig.choosing("P02", "odd")), HOSTS["P02"]) == Acknowledged()
    assert len(rig.of(e.MoveMade)) == 1
    rig.says("P02", EMPTY)
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("TRUST.answers_by_address")
@pytest.mark.parametrize("answer", [{"status": "ok"}, {"jsonrpc": "2.0", "id": 1, "result": {}}])
def test_whoever_answers_the_call_with_anything_is_held_to_it(answer: Any) -> None:
    rig = _class_league().joins("P01").says("P02", answer)
    rig.request(_bare(rig.joining("P02")), HOSTS["P02"])
    rig.until(4.9)
    assert [joined.player_id for joined in rig.of(e.PlayerJoined)] == ["P01"]
    rig.until(60)
    (fault,) = rig.of(e.PlayerFaulted)
    assert "an answer came and was refused, because it came as a request of its own without a token" in fault.detail


@pytest.mark.requirement("TRUST.answers_by_address")
def test_an_answer_by_address_is_recorded_as_a_deviation_only_if_it_counts() -> None:
    odd = {"arrival_timestamp": "soon"}
    rig = _class_league().joins("P01")
    rig.request(_bare(rig.joining("P02", **odd)), HOSTS["P02"])
    rig.says("P02", {"status": "ok"}).until(60)
    assert rig.decided.status == "TECHNICAL_LOSS"
    assert rig.of(e.PlayerDeviated) == []
    rig = _class_league().joins("P01").says("P02", EMPTY)
    rig.request(_bare(rig.joining("P02", **odd)), HOSTS["P02"])
    assert "P02" in [deviation.player_id for deviation in rig.of(e.PlayerDeviated)]


@pytest.mark.requirement("TRUST.answers_by_address")
@pytest.mark.parametrize(
    ("changed", "origin"),
    [({"accept": False}, HOSTS["P02"]), ({}, STRANGER), ({"auth_token": "tok_guess"}, HOSTS["P02"])],
)
def test_what_is_never_believed_by_address(changed: dict[str, Any], origin: str) -> None:
    rig = _class_league().joins("P01").says("P02", EMPTY)
    assert code_of(rig.request({**_bare(rig.joining("P02")), **changed}, origin)) == "E012"
    assert [joined.player_id for joined in rig.of(e.PlayerJoined)] == ["P01"]
    assert rig.of(e.PlayerFaulted) == []


@pytest.mark.requirement("TRUST.answers_by_address")
def test_whoever_has_answered_otherwise_is_not_believed_by_address() -> None:
    rig = _class_league().joins("P01", "P02").chooses("P01", "even").says("P02", EMPTY)
    assert code_of(rig.request(_bare(rig.choosing("P02", "odd")), HOSTS["P02"])) == "E012"
    rig.wait(3)
    assert len(rig.of(e.MoveMade)) == 1


@pytest.mark.requirement("TRUST.answers_by_address")
def test_the_first_choice_by_address_counts_and_a_different_one_is_noted() -> None:
    rig = _asked_by_class()
    assert rig.request(_bare(rig.choosing("P02", "odd")), HOSTS["P02"]) == Acknowledged()
    assert code_of(rig.request(_bare(rig.choosing("P02", "even")), HOSTS["P02"])) == "E012"
    assert rig.of(e.AnswerRefused)[-1].code == "E012"
    rig.says("P02", EMPTY)
    assert [move.choice for move in rig.of(e.MoveMade)] == ["even", "odd"]
    assert rig.decided.status == "WIN"


def test_a_player_that_answers_with_nothing_is_told_so_and_not_called_silent() -> None:
    rig = Rig().knows("P02").given().joins("P01")
    rig.says("P02", EMPTY).until(5.5)
    details = [failed.detail for failed in rig.of(e.AttemptFailed)]
    assert details == ["no GAME_JOIN_ACK within 5 seconds; the call was answered with an empty body"]
    # Nobody answers the next attempt.
    rig.until(12.5)
    assert rig.of(e.AttemptFailed)[-1].detail == "no GAME_JOIN_ACK within 5 seconds"


@pytest.mark.requirement("TRUST.answers_by_address")
def test_without_trust_class_an_address_proves_nothing() -> None:
    rig = Rig().given().joins("P01").says("P02", EMPTY)
    assert code_of(rig.request(_bare(rig.joining("P02")), HOSTS["P02"])) == "E012"


@pytest.mark.requirement("TRUST.answers_by_address")
@pytest.mark.parametrize("derived", [True, False])
def test_the_operator_of_the_referee_decides_about_trust_where_the_manager_cannot(derived: bool) -> None:
    rig = Rig(settings=RefereeSettings(trusts_addresses=True)).enrolled(derived=derived)
    rig.announce(announced())
    rig.joins("P01").says("P02", EMPTY)
    rig.request(_bare(rig.joining("P02")), HOSTS["P02"])
    joined = [join.player_id for join in rig.of(e.PlayerJoined)]
    assert joined == (["P01"] if derived else ["P01", "P02"])


@pytest.mark.requirement("TRUST.answers_by_address")
def test_nobody_is_known_by_a_public_address() -> None:
    far = announced(trust="class", player_B_endpoint="http://8.8.8.8:8102/mcp")
    rig = _class_league(far).joins("P01").says("P02", EMPTY)
    assert code_of(rig.request(_bare(rig.joining("P02")), "8.8.8.8")) == "E012"


@pytest.mark.requirement("TRUST.answers_by_address")
def test_an_answer_by_address_shortly_before_the_last_deadline_counts() -> None:
    rig = _asked_by_class().until(96.5).says("P02", EMPTY).until(125)
    assert rig.request(_bare(rig.choosing("P02", "odd")), HOSTS["P02"]) == Acknowledged()
    rig.until(130)
    assert rig.decided.status == "WIN"
