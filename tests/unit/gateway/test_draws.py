"""A draw reported to a manager by others: in the word that it counts, and never counted twice because of us."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Failure, Refusal
from league.referee.referee_context import RefereeSettings
from tests.support.referee_rig import Rig, announced

MANAGER = "league_manager"
WINNER = Refusal("E008", "winner must be a string", words="-32602 result.winner must be a string")


def drawn(**settings: Any) -> Rig:
    """A referee under a manager by others, with a match that has ended in a draw."""
    rig = Rig(settings=RefereeSettings(**settings)).enrolled(derived=False)
    rig.announce(announced(player_A_token=None, player_B_token=None, player_A_answers=None, player_B_answers=None))
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "even").hears_game_over("P01", "P02")
    return rig


def table(rig: Rig, played: int | None) -> Rig:
    """The manager answers the question for its table, or refuses it."""
    query = rig.open(MANAGER, "LEAGUE_QUERY")
    if played is None:
        rig.answer(query, Refusal("E036", "no"))
        return rig
    rows = [{"player_id": player, "played": played} for player in ("P01", "P02")]
    answer = rig.envelope("LEAGUE_QUERY_RESPONSE", query_type="GET_STANDINGS", success=True, data={"standings": rows})
    rig.answer(query, answer)
    return rig


def words(rig: Rig) -> list[str | None]:
    """The winner of each report."""
    reports: list[Any] = [sent.message for sent in rig.sent if sent.kind == "MATCH_RESULT_REPORT"]
    return [report.result.winner for report in reports]


def report(rig: Rig) -> Any:
    return rig.open(MANAGER, "MATCH_RESULT_REPORT")


def repeated(rig: Rig) -> None:
    """Wait until the report is sent again."""
    count = len(words(rig))
    while len(words(rig)) == count:
        rig.wait(1)


def settled(rig: Rig) -> list[str]:
    return [event.answer for event in rig.of(e.ReportSettled)]


@pytest.mark.requirement("REPORT.draws_by_others")
def test_the_documents_word_comes_first_and_is_kept_when_it_is_taken() -> None:
    rig = table(drawn(), 3)
    rig.acknowledge()
    assert words(rig) == [None]
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.draws_by_others")
def test_an_answer_that_refuses_the_winner_is_followed_by_the_next_word() -> None:
    rig = table(drawn(), 3)
    for word in (None, "DRAW", "TIE", ""):
        assert words(rig)[-1] == word
        rig.answer(report(rig), WINNER)
    assert words(rig) == [None, "DRAW", "TIE", ""]


def test_any_other_refusal_is_no_reason_for_another_word() -> None:
    rig = table(drawn(), 3)
    rig.answer(report(rig), Refusal("E042", "busy", words="busy"))
    table(rig, 3 + 1)
    assert words(rig) == [None]
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.draws_by_others")
@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.BROKEN, Failure.REFUSED])
def test_after_no_answer_the_table_says_whether_it_was_counted(failure: Failure) -> None:
    rig = table(drawn(), 3)
    rig.fail(report(rig), failure)
    rig.wait(9)
    assert words(rig) == [None]
    table(rig, 4)
    assert words(rig) == [None]
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.draws_by_others")
def test_what_was_not_counted_is_said_in_the_next_word() -> None:
    rig = table(drawn(), 3)
    rig.fail(report(rig), Failure.BROKEN)
    repeated(table(rig, 3))
    assert words(rig) == [None, "DRAW"]
    rig.acknowledge()
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.draws_by_others")
@pytest.mark.parametrize("before", [3, None])
def test_without_a_table_the_same_report_is_repeated_and_never_another(before: int | None) -> None:
    rig = table(drawn(), before)
    for _ in range(3):
        rig.fail(report(rig), Failure.BROKEN)
        if before is not None:
            table(rig, None)
        repeated(rig)
    assert words(rig) == [None] * 4


@pytest.mark.requirement("REPORT.draws_by_others")
def test_a_manager_that_counts_twice_gets_no_other_report() -> None:
    rig = table(drawn(), 3)
    rig.fail(report(rig), Failure.TIMEOUT)
    table(rig, 5)
    assert settled(rig) == ["COUNTED_TWICE"]
    rig.wait(100)
    assert words(rig) == [None]


@pytest.mark.parametrize(("draw_as", "word"), [("null", None), ("DRAW", "DRAW"), ("TIE", "TIE"), ("", "")])
def test_the_operator_may_decide_the_word(draw_as: str, word: str | None) -> None:
    rig = drawn(draw_as=draw_as)
    assert words(rig) == [word]
    rig.answer(report(rig), WINNER)
    rig.wait(60)
    assert set(words(rig)) == {word}


def test_a_draw_under_our_own_manager_asks_for_no_table() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").chooses("P02", "even").hears_game_over("P01", "P02")
    assert words(rig) == [None]
    assert [sent for sent in rig.sent if sent.kind == "LEAGUE_QUERY"] == []
