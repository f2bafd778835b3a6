"""How a referee finds out in which convention a player is spoken to (R-02, spec section 13.1)."""

from __future__ import annotations

import pytest

from league import events as e
from league import letters
from league.machine import Failure
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Reading
from tests.support.referee_rig import ENDPOINTS, UNKNOWN, Rig, announced

ORDER = ["SPEC", "TYPE", "TOOLS", "NESTED", "BARE", "LOWER"]


def put(rig: Rig, player: str = "P02", kind: str = "GAME_INVITATION") -> list[str]:
    """In which conventions this player was asked."""
    return [one.to.convention.name for one in rig.sent if one.to.agent_id == player and one.kind == kind]


def learned(rig: Rig, player: str = "P02") -> list[str]:
    return [one.convention for one in rig.of(e.ConventionLearned) if one.agent_id == player]


def counted(rig: Rig) -> list[e.Event]:
    return [*rig.of(e.AttemptFailed), *rig.of(e.WrongAnswer), *rig.of(e.PlayerFaulted)]


@pytest.mark.requirement("DIALECT.finds_out")
@pytest.mark.parametrize("tries", range(6))
def test_each_convention_is_tried_until_one_is_understood_and_nothing_counts(tries: int) -> None:
    rig = Rig().given().joins("P01")
    for _ in range(tries):
        rig.says("P02", UNKNOWN)
    rig.joins("P02")
    assert put(rig) == ORDER[: tries + 1]
    assert learned(rig) == [ORDER[tries]]
    assert put(rig, kind="CHOOSE_PARITY_CALL") == [ORDER[tries]]
    assert counted(rig) == []
    assert rig.t == 0


def test_the_managers_hint_is_where_the_referee_begins() -> None:
    rig = Rig().given(announced(player_B_convention="NESTED")).joins("P01").says("P02", UNKNOWN).joins("P02")
    assert put(rig) == ["NESTED", "SPEC"]
    assert put(rig, "P01") == ["SPEC"]


@pytest.mark.parametrize("hint", ["", "KLINGON"])
def test_a_hint_that_means_nothing_is_no_reason_to_refuse(hint: str) -> None:
    rig = Rig().given(announced(player_B_convention=hint or None)).joins("P01", "P02")
    assert put(rig) == ["SPEC"]


@pytest.mark.requirement("DIALECT.remembers")
def test_what_was_found_out_survives_a_restart_and_holds_for_the_next_match() -> None:
    rig = Rig().given().joins("P01").says("P02", UNKNOWN).joins("P02")
    rig.chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02").acknowledge()
    rig.restart()
    rig.announce(announced("R2M1"))
    assert put(rig) == ["SPEC", "TYPE", "TYPE"]


@pytest.mark.requirement("DIALECT.remembers")
def test_a_player_that_was_replaced_is_found_out_anew() -> None:
    rig = Rig().knows("P02", convention="TYPE").given().joins("P01").says("P02", UNKNOWN).joins("P02")
    assert put(rig) == ["TYPE", "SPEC"]
    assert learned(rig)[-1] == "SPEC"
    assert counted(rig) == []


def test_after_a_technical_loss_at_the_join_nothing_is_taken_for_known() -> None:
    rig = Rig().knows("P02", convention="TYPE").given().joins("P01").until(26)
    assert rig.of(e.PlayerFaulted)
    assert ENDPOINTS["P02"] not in rig.desk.snapshot()["conventions"]


def test_who_says_yes_to_everything_is_asked_otherwise_after_a_second() -> None:
    rig = Rig().given().joins("P01").says("P02", {"status": "ok"}).until(0.999)
    assert put(rig) == ["SPEC"]
    rig.until(1)
    assert put(rig) == ["SPEC", "TYPE"]
    rig.joins("P02")
    assert counted(rig) == []
    assert learned(rig) == ["TYPE"]


def test_an_answer_as_its_own_request_proves_the_convention_that_was_acknowledged() -> None:
    rig = Rig().given().joins("P01").says("P02", {"status": "ok"}).until(1).says("P02", {"status": "ok"})
    rig.request(rig.joining("P02"))
    assert learned(rig) == ["SPEC"]
    assert put(rig, kind="CHOOSE_PARITY_CALL") == ["SPEC"]


def test_who_acknowledged_one_convention_and_refused_the_others_may_still_answer_by_itself() -> None:
    rig = Rig().given().joins("P01").says("P02", UNKNOWN).says("P02", {"status": "ok"}).until(1)
    for _ in ORDER[2:]:
        rig.says("P02", UNKNOWN)
    assert put(rig) == ORDER
    rig.until(5.9)
    assert counted(rig) == []
    rig.request(rig.joining("P02"))
    assert learned(rig) == ["TYPE"]
    assert counted(rig) == []


def test_who_acknowledged_and_then_never_answers_is_late_and_asked_again_in_the_same_way() -> None:
    rig = Rig().given().joins("P01").says("P02", UNKNOWN).says("P02", {"status": "ok"}).until(1)
    for _ in ORDER[2:]:
        rig.says("P02", UNKNOWN)
    rig.until(6)
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E001"]
    rig.until(8).says("P02", UNKNOWN)
    assert put(rig)[-1] == "TYPE"
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E001", "E009"]


def test_who_only_ever_acknowledges_loses_time_after_all_conventions_were_tried() -> None:
    rig = Rig().given().joins("P01")
    for t in range(6):
        rig.until(t).says("P02", {"status": "ok"})
    assert put(rig) == ORDER
    rig.until(9.999)
    assert counted(rig) == []
    rig.until(10)
    assert [(one.code, one.retry) for one in rig.of(e.AttemptFailed)] == [("E001", 1)]
    rig.until(12)
    assert put(rig) == [*ORDER, "SPEC"]


def test_if_no_convention_helps_the_refusal_that_tells_most_counts_and_is_come_back_to() -> None:
    rig = Rig().given().joins("P01").says("P02", UNKNOWN)
    rig.says("P02", b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"nobody knows this field"}}')
    for _ in ORDER[2:]:
        rig.says("P02", UNKNOWN)
    (failed,) = rig.of(e.AttemptFailed)
    assert (failed.code, failed.detail) == (
        "E009",
        'answered GAME_INVITATION (TYPE) with "-32602 nobody knows this field", which we read as E003',
    )
    rig.until(2)
    assert put(rig) == [*ORDER, "TYPE"]


def test_an_error_of_the_catalogue_was_understood_and_counts() -> None:
    rig = Rig().given().joins("P01")
    rig.says("P02", b'{"jsonrpc":"2.0","id":1,"error":{"code":4005,"message":"no","data":{"error_code":"E023"}}}')
    assert put(rig) == ["SPEC"]
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E009"]


@pytest.mark.parametrize("failure", [Failure.BROKEN, Failure.NOT_UNDERSTOOD])
def test_who_hangs_up_on_what_it_does_not_know_is_asked_otherwise(failure: Failure) -> None:
    rig = Rig().given().joins("P01").breaks("P02", failure).joins("P02")
    assert put(rig) == ["SPEC", "BARE" if failure is Failure.NOT_UNDERSTOOD else "TYPE"]
    assert counted(rig) == []


def test_strict_speaks_one_way_only() -> None:
    rig = Rig("strict").given().joins("P01").says("P02", UNKNOWN)
    assert put(rig) == ["SPEC"]
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E009"]


@pytest.mark.requirement("DIALECT.choice_goes_the_proven_way")
@pytest.mark.requirement("DIALECT.not_understood")
def test_the_call_for_a_choice_is_put_otherwise_only_to_who_says_that_it_knows_no_such_method() -> None:
    rig = Rig().given().joins("P01", "P02").says("P02", UNKNOWN)
    assert put(rig, kind="CHOOSE_PARITY_CALL") == ["SPEC", "TYPE"]
    assert counted(rig) == []
    # Anything else may have been said after the choice was made.
    rig.says("P02", b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"something went wrong"}}')
    assert put(rig, kind="CHOOSE_PARITY_CALL") == ["SPEC", "TYPE"]
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E009"]


@pytest.mark.requirement("DIALECT.not_understood")
@pytest.mark.parametrize(
    "said",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"error":"Unknown method"},"error":null}',
        b'{"jsonrpc":"2.0","id":1,"result":{"status":"unknown_message_type"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"status":"error","message":"handler not implemented"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"status":"unsupported"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":4002,"message":"Invalid method, expected league.handle"}}',
        b'{"status":"error","error":"Unknown message type: CHOOSE_PARITY_CALL"}',
    ],
)
def test_unknown_may_be_said_in_a_result_and_costs_nothing(said: bytes) -> None:
    rig = Rig().given().joins("P01").says("P02", said).joins("P02")
    assert put(rig) == ["SPEC", "TYPE"]
    rig.says("P02", said)
    assert put(rig, kind="CHOOSE_PARITY_CALL")[1] != put(rig, kind="CHOOSE_PARITY_CALL")[0]
    assert counted(rig) == []


@pytest.mark.requirement("DIALECT.own_words")
def test_an_author_reads_its_own_words_and_what_we_called() -> None:
    said = b'{"jsonrpc":"2.0","id":1,"error":{"code":4002,"message":"Invalid method, expected league.handle"}}'
    rig = Rig().given().joins("P01")
    for _ in ORDER:
        rig.says("P02", said)
    (failed,) = rig.of(e.AttemptFailed)
    assert failed.detail == (
        'answered handle_game_invitation (SPEC) with "4002 Invalid method, expected league.handle", '
        "which we read as E036"
    )


@pytest.mark.requirement("DIALECT.tool_results")
def test_a_tool_that_fails_is_quoted_and_not_called_in_another_way() -> None:
    said = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"KeyError: seat"}],"isError":true}}'
    rig = Rig().given(announced(player_B_convention="TOOLS")).joins("P01")
    rig.answer(rig.open("P02", "ping"))
    rig.says("P02", said)
    (failed,) = rig.of(e.AttemptFailed)
    assert failed.detail.startswith('answered handle_game_invitation (TOOLS) with "KeyError: seat"')
    assert put(rig) == ["TOOLS"]


@pytest.mark.requirement("DIALECT.on_our_time")
@pytest.mark.parametrize("is_answered", [True, False])
def test_the_tools_of_a_server_are_found_out_before_its_time_begins(is_answered: bool) -> None:
    rig = Rig().given(announced(player_B_convention="TOOLS"))
    probe = rig.open("P02", "ping")
    assert probe.deadline == rig.t + 20
    assert not rig.asked("P02")
    if is_answered:
        rig.answer(probe)
    else:
        rig.fail(probe, Failure.REFUSED)
    assert rig.question("P02").deadline == rig.t + 5
    assert counted(rig) == []


def test_a_convention_of_no_document_is_recorded_once() -> None:
    rig = Rig().given(announced(player_B_convention="BARE")).joins("P01", "P02")
    found = [one for one in rig.of(e.PlayerDeviated) if one.requirement == "RPC.method"]
    assert [(one.player_id, one.code) for one in found] == [("P02", "E036")]
    assert Convention.BARE.value in found[0].detail


@pytest.mark.requirement("DIALECT.other_words")
@pytest.mark.parametrize(
    ("said", "clause"),
    [
        ({"status": "ACK"}, "GAME_JOIN_ACK.accept"),
        ({"status": "ACCEPTED"}, "GAME_JOIN_ACK.accept"),
        ({"accepted": True}, "GAME_JOIN_ACK.accept"),
        ({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1"}, "GAME_JOIN_ACK.accept"),
        ({"accept": True}, "ENVELOPE.message_type"),
    ],
)
def test_a_join_in_other_words_counts_and_is_recorded(said: dict[str, object], clause: str) -> None:
    rig = Rig().given().joins("P01").says("P02", said)
    assert [one.player_id for one in rig.of(e.PlayerJoined)] == ["P01", "P02"]
    assert clause in {one.requirement for one in rig.of(e.PlayerDeviated)}


def test_a_no_in_other_words_declines() -> None:
    rig = Rig().given().joins("P01").says("P02", {"accepted": False})
    assert [one.code for one in rig.of(e.PlayerFaulted)] == ["DECLINED"]


@pytest.mark.parametrize("verdict", [{"accept": None}, {"status": "maybe"}, {"accepted": "yes"}])
def test_a_join_that_says_something_else_is_no_join(verdict: dict[str, object]) -> None:
    rig = Rig().given().joins("P01").says("P02", {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", **verdict})
    assert [one.player_id for one in rig.of(e.PlayerJoined)] == ["P01"]


@pytest.mark.requirement("DIALECT.other_words")
@pytest.mark.parametrize(("choice", "counts"), [("even", True), ("Even", False)])
def test_a_choice_under_another_name_is_understood_but_its_value_is_never_repaired(choice: str, counts: bool) -> None:
    rig = Rig().given().joins("P01", "P02").says("P02", {"choice": choice})
    assert [one.choice for one in rig.of(e.MoveMade)] == (["even"] if counts else [])
    assert [one.code for one in rig.of(e.WrongAnswer)] == ([] if counts else ["E004"])


@pytest.mark.requirement("DIALECT.other_words")
@pytest.mark.parametrize("kind", ["CHOOSE_PARITY", "PARITY_CHOICE"])
@pytest.mark.parametrize("place", ["choice", "parity_choice"])
def test_a_choice_of_another_type_is_understood_and_recorded(kind: str, place: str) -> None:
    """D3 prints CHOOSE_PARITY in its table of times, and no field of it."""
    rig = Rig().given().joins("P01", "P02").says("P02", {"message_type": kind, "match_id": "R1M1", place: "odd"})
    assert [one.choice for one in rig.of(e.MoveMade)] == ["odd"]
    assert "ENVELOPE.message_type" in [one.requirement for one in rig.of(e.PlayerDeviated)]


@pytest.mark.requirement("DIALECT.other_words")
@pytest.mark.parametrize(
    "said",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"GAME_JOIN_ACK","params":%s}',
        b"%s",
        b'{"jsonrpc":"2.0","id":"x","result":%s,"error":null}',
        b'{"result":%s}',
        b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":%s,"content":[]}}',
    ],
)
def test_an_answer_is_found_in_every_shape(said: bytes) -> None:
    rig = Rig().given().joins("P01")
    join = b'{"message_type":"GAME_JOIN_ACK","match_id":"R1M1","player_id":"P02","accept":true}'
    rig.says("P02", said % join)
    assert [one.player_id for one in rig.of(e.PlayerJoined)] == ["P01", "P02"]
    assert counted(rig) == []


# --- empty answers ----------------------------------------------------------------------------------------------------


def acknowledges(rig: Rig, player: str, body: bytes = b"", status: int = 202) -> Rig:
    """Nothing that could be read as a message."""
    sent = rig.question(player)
    rig.answer(sent, letters.read_answer(body, sent.message, Reading(rig.profile), status=status))
    return rig


@pytest.mark.requirement("MATCH.empty_answer_acknowledges")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (204, b""),
        (202, b""),
        (202, b" \n"),
        (202, b"Accepted"),
        (202, b"{}"),
        (202, b'{"status":"queued"}'),
    ],
)
def test_nothing_is_an_acknowledgement_and_the_answer_may_follow(status: int, body: bytes) -> None:
    rig = acknowledges(Rig().given().joins("P01"), "P02", body, status).until(0.5)
    rig.request(rig.joining("P02"))
    assert put(rig) == ["SPEC"]
    assert learned(rig) == ["SPEC"]
    acknowledges(rig.chooses("P01", "even"), "P02", body, status).until(30)
    rig.request(rig.choosing("P02", "odd"))
    assert (rig.decided.status, counted(rig)) == ("WIN", [])
    assert [one.requirement for one in rig.of(e.PlayerDeviated)] == ["RPC.one_answer"]


@pytest.mark.requirement("MATCH.empty_answer_acknowledges")
def test_who_says_accepted_is_asked_nothing_else_until_its_time_is_over() -> None:
    rig = acknowledges(Rig().given().joins("P01"), "P02").until(4.9)
    assert put(rig) == ["SPEC"]
    rig.until(5)
    assert put(rig) == ["SPEC", "TYPE"]
    acknowledges(rig, "P02").until(6)
    assert put(rig) == ["SPEC", "TYPE", "TOOLS"]
    rig.request(rig.joining("P02"))
    assert (learned(rig), counted(rig)) == (["SPEC"], [])


def test_an_empty_200_may_also_be_for_what_is_not_known() -> None:
    rig = acknowledges(Rig().given().joins("P01"), "P02", status=200).until(1)
    rig.joins("P02")
    assert (put(rig), learned(rig), counted(rig)) == (["SPEC", "TYPE"], ["TYPE"], [])


@pytest.mark.requirement("MATCH.empty_answer_acknowledges")
def test_whoever_acknowledges_its_choice_and_never_sends_it_is_late() -> None:
    rig = acknowledges(Rig().given().joins("P01", "P02"), "P02").until(29.9)
    assert counted(rig) == []
    rig.until(30)
    assert [one.code for one in rig.of(e.AttemptFailed) if one.player_id == "P02"] == ["E001"]


def test_accepted_with_an_error_is_an_error() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'
    rig = acknowledges(Rig().given().joins("P01", "P02"), "P02", body)
    assert [one.code for one in rig.of(e.AttemptFailed)] == ["E009"]


def test_in_strict_nothing_is_no_answer() -> None:
    rig = acknowledges(Rig("strict").given().joins("P01", "P02"), "P02")
    assert [one.code for one in rig.of(e.WrongAnswer)] == ["E034"]
