"""MATCH_RESULT_REPORT: repeated, word for word, until the manager's answer ends it."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest

from league import events as e
from league.machine import Failure, Ping, Pong, Refusal
from league.protocol.errors import ERRORS
from league.protocol.message.messages import MatchResultReport
from league.protocol.signing import tokens
from league.status_poll import POLL_S
from tests.support.referee_rig import ME, START, TOKEN, Rig, announced, plain

ENDS = ("E014", "E016", "E017", "E039", "E040")
KIND = "MATCH_RESULT_REPORT"


def reporting(derived: bool = True) -> Rig:
    rig = Rig().enrolled(derived=derived)
    rig.announce(announced())
    return rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")


def settled(rig: Rig) -> list[str]:
    return [one.answer for one in rig.of(e.ReportSettled)]


@pytest.mark.requirement("REPORT.until_acknowledged")
def test_a_report_is_repeated_3_times_2_seconds_apart_then_after_4_8_16_30_and_every_30_seconds() -> None:
    rig = reporting()
    pauses = [2, 2, 2, 4, 8, 16, 30, 30, 30]
    for pause in pauses:
        rig.fail(rig.open("league_manager", KIND), Failure.REFUSED)
        rig.wait(pause)
    times = rig.times(KIND, "league_manager")
    assert [later - earlier for earlier, later in pairwise(times)] == pauses


@pytest.mark.requirement("REPORT.until_acknowledged")
def test_each_attempt_has_10_seconds_and_says_the_same() -> None:
    rig = reporting().until(1_000)
    times = rig.times(KIND, "league_manager")
    assert times[:6] == [0, 12, 24, 36, 50, 68]
    assert len({str(plain(one)) for one in rig.said(MatchResultReport)}) == 1
    rig.restart()
    assert len({str(plain(one)) for one in rig.said(MatchResultReport)}) == 1
    rig.acknowledge()
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.ends")
@pytest.mark.parametrize("code", ENDS)
def test_some_errors_end_a_report(code: str) -> None:
    rig = reporting()
    rig.answer(rig.open("league_manager", KIND), Refusal(code, "no"))
    assert settled(rig) == [code]
    assert rig.desk.deadline == START + POLL_S
    assert rig.request(Ping()) == Pong((), is_live=True)


@pytest.mark.parametrize("code", sorted(set(ERRORS) - set(ENDS)))
def test_after_any_other_error_it_is_repeated(code: str) -> None:
    rig = reporting()
    rig.answer(rig.open("league_manager", KIND), Refusal(code, "later"))
    assert settled(rig) == []
    rig.until(2)
    assert rig.times(KIND, "league_manager") == [0, 2]


@pytest.mark.requirement("REPORT.ends")
@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"message_type":"MATCH_RESULT_ACK","status":"ACCEPTED","match_id":"R1M1","round_id":1}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"message_type":"MATCH_RESULT_ACK"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"status":"ok"}}',
        b'{"jsonrpc":"2.0","id":1,"result":null}',
    ],
)
def test_whatever_is_no_error_acknowledges(answer: bytes) -> None:
    rig = reporting()
    rig.answer(rig.open("league_manager", KIND), answer)
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.parametrize(
    "answer",
    [
        b"banana",
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":{"status":"REJECTED"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"message_type":"LEAGUE_ERROR","error_code":"E041"}}',
    ],
)
def test_what_cannot_be_read_or_is_an_error_acknowledges_nothing(answer: bytes) -> None:
    rig = reporting()
    rig.answer(rig.open("league_manager", KIND), answer)
    assert settled(rig) == []
    assert rig.desk.deadline == START + 2


def test_a_busy_manager_gets_the_time_it_asks_for() -> None:
    rig = reporting()
    rig.fail(rig.open("league_manager", KIND), Failure.BUSY, retry_after=17.0)
    assert rig.desk.deadline == START + 17


@pytest.mark.requirement("REGISTER.again_after_E012")
def test_a_report_refused_for_its_token_is_repeated_with_the_token_of_a_new_registration() -> None:
    rig = reporting(derived=False)
    rig.answer(rig.open("league_manager", KIND), Refusal("E012", "who are you?"))
    registration = rig.open("league_manager", "REFEREE_REGISTER_REQUEST")
    assert registration.to.token == TOKEN
    second = tokens.mint(ME, b"2" * 32)
    rig.answer(registration, rig.accepted(second, derived=False))
    rig.until(2)
    assert rig.open("league_manager", KIND).to.token == second
    rig.answer(rig.open("league_manager", KIND), Refusal("E012", "still not"))
    assert len(rig.times("REFEREE_REGISTER_REQUEST", "league_manager")) == 2
    rig.until(4).acknowledge()
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REGISTER.again_after_E012")
def test_a_token_that_has_worked_in_between_may_be_renewed_again() -> None:
    rig = reporting(derived=False)
    rig.answer(rig.open("league_manager", KIND), Refusal("E012", "who are you?"))
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), rig.accepted(derived=False))
    rig.until(2).acknowledge()
    rig.announce(announced("R1M2", "P03", "P04"))
    rig.joins("P03", "P04").chooses("P03", "even").chooses("P04", "odd").hears_game_over("P03", "P04")
    rig.answer(rig.open("league_manager", KIND), Refusal("E012", "who are you?"))
    assert len(rig.times("REFEREE_REGISTER_REQUEST", "league_manager")) == 3


def test_late_answers_to_earlier_attempts_do_not_settle_it_twice() -> None:
    rig = reporting()
    first = rig.open("league_manager", KIND)
    rig.until(12)
    rig.answer(first, Refusal("E016", "superseded"))
    assert settled(rig) == []
    rig.acknowledge()
    rig.answer(first, Refusal("E016", "superseded"))
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("EXPERIMENT.provenance")
def test_a_report_adds_up_how_the_choices_of_a_player_came_about() -> None:
    rig = Rig().given(announced(game_type="rock_paper_scissors")).joins("P01", "P02")
    for said in ({"tokens": 30, "thinking_s": 1.5}, {"fallbacks": 1, "provider_errors": 1, "waited_s": 2.0}):
        rig.says("P01", rig.choosing("P01", "rock", provenance=said)).chooses("P02", "paper")
    told = {"choices": 2, "fallbacks": 1, "provider_errors": 1, "tokens": 30, "thinking_s": 1.5, "waited_s": 2.0}
    assert rig.decided.details["provenance"] == {"P01": told}


@pytest.mark.requirement("EXPERIMENT.provenance")
@pytest.mark.parametrize("said", [{"tokens": -1}, {"tokens": "many"}, {"fallbacks": None}, {"thinking_s": 1e300}])
def test_what_cannot_be_read_of_it_costs_nothing(said: dict[str, object]) -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P02", "odd")
    rig.says("P01", rig.choosing("P01", "even", provenance=said))
    assert rig.decided.status == "WIN"
    assert "provenance" not in rig.decided.details


@pytest.mark.requirement("REPORT.correction_told")
def test_what_the_manager_corrected_is_on_record() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    corrected = [{"field": "result.score", "reason": "the points are others"}]
    ack = rig.envelope("MATCH_RESULT_ACK", status="ACCEPTED", match_id="R1M1", round_id=1, corrected=corrected)
    rig.answer(rig.open("league_manager", "MATCH_RESULT_REPORT"), ack)
    (settled,) = rig.of(e.ReportSettled)
    assert settled.corrected == ("result.score: the points are others",)


@pytest.mark.requirement("REPORT.correction_told")
@pytest.mark.parametrize(("failure", "words"), [(Failure.TIMEOUT, "no answer in time"), (Failure.REFUSED, "refused")])
def test_a_report_that_nobody_answers_is_no_secret(failure: Failure, words: str) -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    assert rig.desk.trouble == ""
    rig.fail(rig.open("league_manager", "MATCH_RESULT_REPORT"), failure)
    assert rig.desk.trouble.startswith("the manager has not answered the report of R1M1")
    assert words in rig.desk.trouble
    rig.wait(2)
    rig.acknowledge()
    assert rig.desk.trouble == ""


@pytest.mark.requirement("REPORT.correction_told")
def test_registering_again_for_a_report_is_said() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    rig.answer(rig.open("league_manager", "MATCH_RESULT_REPORT"), Refusal("E012", "who are you?"))
    assert rig.desk.trouble == "the manager refused the report of R1M1 (E012), so this referee registers again"


@pytest.mark.requirement("EXPERIMENT.conversation")
def test_a_report_chains_the_digests_of_conversations() -> None:
    rig = Rig().given(announced(game_type="rock_paper_scissors")).joins("P01", "P02")
    digests = ("a" * 64, "b" * 64)
    for digest in digests:
        rig.says("P01", rig.choosing("P01", "rock", provenance={"conversation_sha256": digest})).chooses("P02", "paper")
    chained = hashlib.sha256("".join(digests).encode()).hexdigest()
    assert rig.decided.details["provenance"] == {"P01": {"choices": 2, "conversation_sha256": chained}}


@pytest.mark.requirement("EXPERIMENT.fallback_refused")
@pytest.mark.parametrize("refused", [True, False, None])
def test_a_fallback_loses_the_match_where_none_is_accepted(refused: bool | None) -> None:
    rig = Rig().given(announced(fallbacks_refused=refused)).joins("P01", "P02").chooses("P02", "odd")
    said = {"fallbacks": 1, "tokens": 7, "fallback_reason": "empty"}
    rig.says("P01", rig.choosing("P01", "even", provenance=said))
    decided = rig.decided
    assert decided.details["provenance"] == {"P01": said}
    if not refused:
        assert decided.status == "WIN"
        return
    assert (decided.status, decided.winner) == ("TECHNICAL_LOSS", "P02")
    assert decided.details["faults"]["P01"]["code"] == "E046"
    assert "did not choose (empty)" in str(decided.details["faults"]["P01"])


@pytest.mark.requirement("EXPERIMENT.fallback_refused")
@pytest.mark.parametrize("said", [None, {"tokens": 3}, {"fallbacks": 0}])
def test_a_choice_of_its_own_is_accepted_everywhere(said: dict[str, object] | None) -> None:
    rig = Rig().given(announced(fallbacks_refused=True)).joins("P01", "P02").chooses("P02", "odd")
    rig.says("P01", rig.choosing("P01", "even", provenance=said))
    assert rig.decided.status == "WIN"
