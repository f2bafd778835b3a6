"""Reports to a third-party manager: counted, and never twice because of us; a draw in the word that it counts."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.gateway.reporting import LOOKS
from league.machine import Failure, Refusal
from league.protocol.message.messages import LeagueQuery
from league.referee.referee_context import RefereeSettings
from tests.support.referee_rig import LEAGUE, Rig, announced

MANAGER = "league_manager"
WINNER = Refusal("E008", "winner must be a string", words="-32602 result.winner must be a string")
NO_TOKENS: dict[str, Any] = dict.fromkeys(("player_A_token", "player_B_token", "player_A_answers", "player_B_answers"))


def ended(second: str, **settings: Any) -> Rig:
    """A referee under a third-party manager, with a match that has ended: P01 chose even, P02 this."""
    rig = Rig(settings=RefereeSettings(**settings)).enrolled(derived=False)
    rig.refuses_tables = False
    rig.announce(announced(**NO_TOKENS))
    return rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", second).hears_game_over("P01", "P02")


def drawn(**settings: Any) -> Rig:
    return ended("even", **settings)


def won() -> Rig:
    return ended("odd")


def table(rig: Rig, played: int | None, **counts: int) -> Rig:
    """The manager answers the question for its table, or refuses all questions."""
    if played is None:
        return rig.refuse_tables()
    (query,) = rig.table_questions
    rows = [{"player_id": player, "played": played, **counts} for player in ("P01", "P02")]
    rig.answer(query, {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "data": {"standings": rows}})
    return rig


def words(rig: Rig) -> list[str | None]:
    """The winner of each report."""
    reports: list[Any] = [sent.message for sent in rig.sent if sent.kind == "MATCH_RESULT_REPORT"]
    return [report.result.winner for report in reports]


def report(rig: Rig) -> Any:
    return rig.open(MANAGER, "MATCH_RESULT_REPORT")


def looked(rig: Rig) -> Rig:
    """Wait until the table is asked for again."""
    while not rig.table_questions:
        rig.wait(1)
    return rig


def repeated(rig: Rig) -> None:
    """Wait until the report is sent again."""
    count = len(words(rig))
    while len(words(rig)) == count:
        rig.wait(1)


def settled(rig: Rig) -> list[str]:
    return [event.answer for event in rig.of(e.ReportSettled)]


# --- what was counted -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("end", [won, drawn])
@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.BROKEN, Failure.SERVER_ERROR])
def test_after_no_answer_the_table_says_whether_it_was_counted(end: Any, failure: Failure) -> None:
    rig = table(end(), 3)
    rig.fail(report(rig), failure)
    rig.wait(9)
    assert len(words(rig)) == 1
    table(rig, 4)
    assert len(words(rig)) == 1
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("end", [won, drawn])
def test_a_manager_that_counts_after_the_limit_gets_one_report(end: Any) -> None:
    rig = table(end(), 0)
    rig.wait(10)
    for played in (0, 0, 1):
        table(looked(rig), played)
    rig.wait(100)
    assert len(words(rig)) == 1
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("end", [won, drawn])
def test_what_is_never_counted_after_a_timeout_is_said_in_the_same_words(end: Any) -> None:
    rig = table(end(), 0)
    rig.wait(10)
    for _ in range(1 + LOOKS):
        assert len(words(rig)) == 1
        table(looked(rig), 0)
    repeated(rig)
    assert len(set(words(rig))) == 1


@pytest.mark.requirement("REPORT.counted_once")
def test_a_manager_without_standings_is_asked_for_its_statistics() -> None:
    rig = won()
    for played in (0, 1):
        rig.answer(rig.table_questions[0], Refusal("E029", "no such query"))
        for _ in ("P01", "P02"):
            (query,) = rig.table_questions
            assert isinstance(query.message, LeagueQuery)
            assert query.message.query_type == "GET_PLAYER_STATS"
            rig.answer(query, {"success": True, "data": {"stats": {"wins": played, "draws": 0, "losses": 0}}})
        if not played:
            rig.wait(10)
    assert len(words(rig)) == 1
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.counted_once")
def test_without_a_table_an_answer_is_waited_for_longer_and_nothing_is_asked_again() -> None:
    rig = table(won(), None)
    rig.wait(29)
    assert len(words(rig)) == 1
    rig.wait(10)
    assert len(words(rig)) == 2
    assert rig.table_questions == []


def test_an_empty_table_is_a_table() -> None:
    rig = won()
    rig.answer(rig.table_questions[0], {"success": True, "data": {"standings": []}})
    rig.wait(10)
    table(rig, 1)
    assert settled(rig) == ["ACCEPTED"]


def test_a_busy_manager_has_read_nothing() -> None:
    rig = table(won(), 0)
    rig.fail(report(rig), Failure.BUSY, retry_after=7.0)
    assert rig.table_questions == []
    rig.wait(6)
    assert len(words(rig)) == 1
    rig.wait(1)
    assert len(words(rig)) == 2


def test_a_second_report_waits_for_the_end_of_the_first() -> None:
    rig = table(won(), 0)
    rig.announce(announced("R1M2", "P03", "P04", **NO_TOKENS), round_id=1)
    rig.joins("P03", "P04").chooses("P03", "even").chooses("P04", "odd").hears_game_over("P03", "P04")
    assert (len(words(rig)), rig.table_questions) == (1, [])
    rig.acknowledge("R1M1")
    table(rig, 1)
    rig.wait(0)
    table(rig, None)
    rig.acknowledge("R1M2")
    assert settled(rig) == ["ACCEPTED"] * 2


def test_a_dropped_report_makes_way_for_the_next() -> None:
    rig = table(won(), 0)
    rig.announce(announced("R1M2", "P03", "P04", **NO_TOKENS), round_id=1)
    rig.joins("P03", "P04").chooses("P03", "even").chooses("P04", "odd").hears_game_over("P03", "P04")
    rig.announce(announced("R1M1", "P01", "P02", attempt=2, **NO_TOKENS), round_id=1)
    rig.wait(0)
    assert len(rig.table_questions) == 1


# --- draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("REPORT.counted_once")
def test_the_documents_word_comes_first_and_is_kept_when_it_is_taken() -> None:
    rig = table(drawn(), 3)
    rig.acknowledge()
    table(rig, 4)
    assert words(rig) == [None]
    assert settled(rig) == ["ACCEPTED"]


def another_draw(rig: Rig, match_id: str = "R2M1") -> Rig:
    rig.announce(announced(match_id, **NO_TOKENS), round_id=2)
    return rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "even").hears_game_over("P01", "P02")


@pytest.mark.requirement("REPORT.table_compared")
def test_a_draw_that_is_counted_otherwise_is_told_once_and_the_next_is_said_in_the_next_word() -> None:
    rig = table(drawn(), 0, draws=0)
    rig.acknowledge()
    table(rig, 1, draws=0, losses=1)
    table(looked(rig), 1, draws=0, losses=1)
    (event,) = rig.of(e.ReportSettled)
    assert event.answer == "COUNTED_OTHERWISE"
    assert event.corrected == ("draws of P01: 0 instead of 1", "draws of P02: 0 instead of 1")
    table(another_draw(rig), 1, draws=0)
    rig.acknowledge("R2M1")
    table(rig, 2, draws=1)
    table(another_draw(rig, "R3M1"), 2, draws=1)
    assert words(rig) == [None, "DRAW", "DRAW"], "what worked is remembered"
    rig.acknowledge("R3M1")
    assert settled(rig) == ["COUNTED_OTHERWISE", "ACCEPTED", "ACCEPTED"]
    assert rig.table_questions == [], "what was counted right once is not looked at again"


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("is_answered", [True, False])
def test_a_match_that_was_reported_is_not_dropped_when_the_league_ends(is_answered: bool) -> None:
    rig = table(won(), 0)
    if is_answered:
        rig.acknowledge()
    champion = {"player_id": "P01", "display_name": "Ada", "points": 3}
    end = {"league_id": LEAGUE, "total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
    rig.request({**rig.envelope("LEAGUE_COMPLETED"), **end})
    assert settled(rig) == ["ACCEPTED"]
    assert rig.of(e.MatchDropped) == []
    assert rig.wait(100).under_way == {}


@pytest.mark.requirement("REPORT.table_compared")
def test_a_table_that_comes_later_is_right() -> None:
    rig = table(won(), 0)
    rig.acknowledge()
    table(rig, 0)
    table(looked(rig), 1)
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.table_compared")
def test_a_result_that_is_not_counted_is_told() -> None:
    rig = table(won(), 0)
    rig.acknowledge()
    table(rig, 0)
    table(looked(rig), 0)
    assert settled(rig) == ["COUNTED_OTHERWISE"]
    assert len(words(rig)) == 1


@pytest.mark.requirement("REPORT.counted_once")
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


@pytest.mark.requirement("REPORT.counted_once")
def test_what_was_not_counted_is_said_in_the_next_word() -> None:
    rig = table(drawn(), 3)
    rig.fail(report(rig), Failure.SERVER_ERROR)
    repeated(table(rig, 3))
    assert words(rig) == [None, "DRAW"]
    rig.acknowledge()
    table(rig, 4)
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.BROKEN])
def test_what_may_still_be_counted_is_said_in_no_other_word(failure: Failure) -> None:
    """A manager that takes a report and drops the connection may count it later."""
    rig = table(drawn(), 3)
    rig.fail(report(rig), failure)
    while len(words(rig)) == 1:
        if rig.table_questions:
            table(rig, 3)
        rig.wait(1)
    assert words(rig) == [None, None]


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("before", [3, None])
def test_without_a_table_the_same_report_is_repeated_and_never_another(before: int | None) -> None:
    rig = table(drawn(), before)
    for _ in range(3):
        rig.fail(report(rig), Failure.BROKEN)
        table(rig, None)
        repeated(rig)
    assert words(rig) == [None] * 4


def later_round(rig: Rig) -> None:
    rig.announce(announced("R2M1", referee_id="REF02", **NO_TOKENS), round_id=2)


def round_over(rig: Rig) -> None:
    summary = {"total_matches": 1, "wins": 0, "draws": 1, "technical_losses": 0}
    ends = {"league_id": LEAGUE, "round_id": 1, "next_round_id": 2, "matches_completed": 1, "summary": summary}
    rig.request({**rig.envelope("ROUND_COMPLETED"), **ends})


@pytest.mark.requirement("REPORT.counted_once")
@pytest.mark.parametrize("end", [won, drawn])
@pytest.mark.parametrize("goes_on", [later_round, round_over])
@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.BROKEN])
def test_a_manager_without_a_table_that_goes_on_has_the_report(end: Any, goes_on: Any, failure: Failure) -> None:
    """It takes reports and drops the connection, or never answers."""
    rig = table(end(), None)
    rig.fail(report(rig), failure)
    goes_on(rig.wait(0.5))
    rig.wait(100)
    assert len(words(rig)) == 1
    assert settled(rig) == ["ACCEPTED"]


@pytest.mark.requirement("REPORT.counted_once")
def test_a_round_that_was_announced_before_the_report_says_nothing_about_it() -> None:
    rig = Rig(settings=RefereeSettings()).enrolled(derived=False)
    rig.refuses_tables = False
    rig.announce(announced(**NO_TOKENS))
    later_round(rig)
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    table(rig.wait(1), None)
    rig.fail(report(rig), Failure.BROKEN)
    repeated(rig)
    assert len(words(rig)) == 2


@pytest.mark.requirement("REPORT.counted_once")
def test_a_draw_that_waits_is_said_in_the_word_that_another_one_found() -> None:
    """The manager answers 500 to null. While both draws wait, the first one finds its word."""
    rig = Rig(settings=RefereeSettings()).enrolled(derived=False)
    rig.refuses_tables = False
    rig.announce(announced(**NO_TOKENS), announced("R1M2", "P03", "P04", **NO_TOKENS))
    for pair in (("P01", "P02"), ("P03", "P04")):
        rig.joins(*pair).chooses(pair[0], "even").chooses(pair[1], "even").hears_game_over(*pair)
    counted = dict.fromkeys(("P01", "P02", "P03", "P04"), 0)

    def answers_table() -> None:
        while rig.table_questions:
            rows = [{"player_id": player, "played": count, "draws": count} for player, count in counted.items()]
            rig.answer(rig.table_questions[0], {"success": True, "data": {"standings": rows}})

    taken = []
    for _ in range(60):
        answers_table()
        for sent in [one for one in rig.under_way.values() if one.kind == "MATCH_RESULT_REPORT"]:
            message: Any = sent.message
            if message.result.winner is None:
                rig.fail(sent, Failure.SERVER_ERROR)
            else:
                taken.append((message.match_id, message.result.winner))
                counted |= dict.fromkeys(message.result.score, 1)
                rig.answer(sent, {"status": "ACCEPTED", "match_id": message.match_id})
        rig.wait(1)
    assert sorted(taken) == [("R1M1", "DRAW"), ("R1M2", "DRAW")]
    assert settled(rig) == ["ACCEPTED", "ACCEPTED"]


@pytest.mark.requirement("REPORT.counted_once")
def test_a_manager_that_counts_twice_gets_no_other_report() -> None:
    rig = table(drawn(), 3)
    rig.fail(report(rig), Failure.TIMEOUT)
    table(rig, 5)
    assert settled(rig) == ["COUNTED_TWICE"]
    rig.wait(100)
    assert words(rig) == [None]


@pytest.mark.parametrize(("draw_as", "word"), [("null", None), ("DRAW", "DRAW"), ("TIE", "TIE"), ("", "")])
def test_the_operator_may_decide_the_word(draw_as: str, word: str | None) -> None:
    rig = table(drawn(draw_as=draw_as), None)
    assert words(rig) == [word]
    rig.answer(report(rig), WINNER)
    rig.wait(60)
    assert set(words(rig)) == {word}


def test_a_report_to_our_own_manager_asks_for_no_table() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").chooses("P02", "even").hears_game_over("P01", "P02")
    assert words(rig) == [None]
    assert [sent for sent in rig.sent if sent.kind == "LEAGUE_QUERY"] == []
