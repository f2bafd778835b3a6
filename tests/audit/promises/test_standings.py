"""Promises 5 and 6: the tables that agents are told. Each planted violation breaks its own promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league import events as e
from league.features.audit.promises import Evidence
from league.features.audit.promises.grounds.event_log import EventLog
from tests.support.honest_league import honest_league
from tests.support.planted import (
    added,
    altered,
    breaches,
    broken,
    call_at,
    calls,
    changed,
    find,
    journal_only,
    re_answered,
    reworded,
    sent,
    without,
)

Object = dict[str, Any]
UPDATE = "LEAGUE_STANDINGS_UPDATE"


def first_update(evidence: Evidence, to: str = "P01") -> int:
    """The first table with a result in it, which is not the final one of its round."""
    return calls(evidence, UPDATE, to=to)[0]


@pytest.mark.parametrize(
    "script",
    [
        {},
        {"silent": {"R1M1": ("P04",)}, "mute": {"R3M1": ("P01", "P02")}},
        {"voided": frozenset({"R1M1"})},
        {"withdrawn": "P02"},
    ],
)
def test_tables_of_the_results_so_far_keep_promises_5_and_6(script: Object) -> None:
    assert broken(honest_league(**script)) == set()


# --- promise 5 --------------------------------------------------------------------------------------------------------


def _swap(first: Object, second: Object) -> None:
    first["player_id"], second["player_id"] = second["player_id"], first["player_id"]


def test_a_table_of_other_results_breaks_promise_5() -> None:
    honest = honest_league()
    planted = reworded(
        honest, first_update(honest), lambda message: _swap(message["standings"][0], message["standings"][3])
    )
    assert broken(planted) == {5}
    assert breaches(planted, 5) == ["the table is not the fold of any prefix of the results"]


def test_a_table_without_one_of_the_players_breaks_promise_5() -> None:
    honest = honest_league()
    # P02 has not played yet: the sums stay right.
    planted = reworded(
        honest,
        first_update(honest),
        lambda message: message["standings"].remove(next(r for r in message["standings"] if r["player_id"] == "P02")),
    )
    assert broken(planted) == {5}


def test_a_player_listed_three_times_breaks_promise_5() -> None:
    honest = honest_league()

    def change(message: Object) -> None:
        rows = message["standings"]
        rows[1:1] = [rows[1], rows[1]]
        message["standings"] = [{**row, "rank": rank} for rank, row in enumerate(rows, start=1)]

    planted = reworded(honest, first_update(honest), change)
    assert broken(planted) == {5}
    assert breaches(planted, 5) == ["the table is not the fold of any prefix of the results"]


def test_an_older_table_breaks_promise_5() -> None:
    honest = honest_league()
    first, *_, last = calls(honest, UPDATE, to="P02")
    old = call_at(honest, first).message["standings"]
    late = call_at(honest, last)
    again = replace(late, sent_at=late.sent_at + 0.05, message={**late.message, "standings": old})
    assert broken(sent(honest, again)) == {5}


def test_the_same_table_again_is_not_an_older_one() -> None:
    honest = honest_league()
    update = call_at(honest, first_update(honest))
    assert broken(sent(honest, replace(update, sent_at=update.sent_at + 0.05))) == set()


def test_a_table_of_results_that_are_not_known_yet_breaks_promise_5() -> None:
    honest = honest_league()
    place = first_update(honest)
    _, result = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    assert broken(altered(honest, place, sent_at=result.at - 1)) == {5}


@pytest.mark.parametrize("kind", [UPDATE, "LEAGUE_COMPLETED"])
def test_rows_in_the_wrong_order_break_promise_5(kind: str) -> None:
    honest = honest_league()
    name = "standings" if kind == UPDATE else "final_standings"

    def change(message: Object) -> None:
        # P02 and P03 are level but for the match they played against each other.
        rows = message[name]
        rows[1], rows[2] = {**rows[2], "rank": 2}, {**rows[1], "rank": 3}

    assert {row["player_id"] for row in call_at(honest, calls(honest, kind, to="P01")[-1]).message[name][1:3]} == {
        "P02",
        "P03",
    }
    assert broken(reworded(honest, calls(honest, kind, to="P01")[-1], change)) == {5}


def test_ranks_that_are_not_counted_from_one_break_promise_5() -> None:
    honest = honest_league()
    planted = reworded(honest, first_update(honest), lambda message: message["standings"][1].update(rank=1))
    assert broken(planted) == {5}


def test_a_version_that_goes_back_breaks_promise_5() -> None:
    honest = honest_league()
    place = calls(honest, UPDATE, to="P01")[-1]
    assert broken(reworded(honest, place, lambda message: message.update(version=1))) == {5}


def test_a_version_may_go_back_across_a_void() -> None:
    honest = honest_league(voided=frozenset({"R1M1"}))
    _, void = find(honest, "manager", e.ResultVoided)
    after = [place for place in calls(honest, UPDATE) if call_at(honest, place).sent_at >= void.at]
    for place in after:
        honest = reworded(honest, place, lambda message: message.update(version=message["version"] - 3))
    assert broken(honest) == set()


def test_a_table_from_before_a_void_breaks_promise_5_after_it() -> None:
    honest = honest_league(voided=frozenset({"R1M1"}))
    _, void = find(honest, "manager", e.ResultVoided)
    updates = calls(honest, UPDATE, to="P03")
    before = [place for place in updates if call_at(honest, place).sent_at < void.at][-1]
    after = next(place for place in updates if call_at(honest, place).sent_at >= void.at)
    rows = call_at(honest, before).message["standings"]
    stale = replace(call_at(honest, after), sent_at=call_at(honest, after).sent_at + 0.05)
    # At its own time it was right; to somebody who knows of the void it is old.
    assert broken(sent(honest, replace(stale, message={**stale.message, "standings": rows}))) == {5}


def _first_answers(evidence: Evidence) -> list[int]:
    return [place for place in calls(evidence, "LEAGUE_QUERY") if call_at(evidence, place).sender_node == "P01"]


def test_an_older_table_in_an_answer_breaks_promise_5() -> None:
    honest = honest_league()
    first, *_, last = _first_answers(honest)
    old = call_at(honest, first).answer
    assert broken(altered(honest, last, answer=old)) == {5}


def test_answers_to_questions_that_overlap_may_come_in_any_order() -> None:
    honest = honest_league()
    first, *_, last = _first_answers(honest)
    planted = altered(honest, last, answer=call_at(honest, first).answer)
    slow = altered(planted, _first_answers(honest)[1], answered_at=call_at(honest, last).sent_at + 1)
    assert broken(altered(slow, first, answered_at=call_at(honest, last).sent_at + 1)) == set()


@pytest.mark.parametrize("place", ["data", "top level"])
def test_a_wrong_table_in_an_answer_breaks_promise_5(place: str) -> None:
    honest = honest_league()

    def change(answer: Object) -> None:
        rows = (answer["data"] if place == "data" else answer)["standings"]
        _swap(rows[0], rows[3])

    assert broken(re_answered(honest, _first_answers(honest)[0], change)) == {5}


def test_an_answer_that_failed_holds_no_table() -> None:
    honest = honest_league()
    failed = {"message_type": "LEAGUE_QUERY_RESPONSE", "query_type": "GET_STANDINGS", "success": False, "error": {}}
    assert broken(altered(honest, _first_answers(honest)[0], answer=failed)) == set()


@pytest.mark.parametrize("wrong", [{"player_id": "P01"}, {"points": 9}])
def test_a_champion_who_is_not_the_first_breaks_promise_5(wrong: Object) -> None:
    honest = honest_league()
    place = calls(honest, "LEAGUE_COMPLETED")[0]
    assert broken(reworded(honest, place, lambda message: message["champion"].update(wrong))) == {5}


def test_a_champion_in_the_journal_who_is_not_the_first_breaks_promise_5() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.LeagueFinished)
    assert broken(changed(honest, "manager", place, champion="P01")) == {5}


def test_a_final_table_that_lacks_a_result_breaks_promise_5() -> None:
    honest = honest_league()
    update = call_at(honest, calls(honest, UPDATE, to="P01")[-3])
    place = calls(honest, "LEAGUE_COMPLETED", to="P01")[0]
    planted = reworded(honest, place, lambda message: message.update(final_standings=update.message["standings"]))
    assert broken(planted) == {5}


def test_the_tiebreakers_of_the_league_decide_the_order() -> None:
    honest = honest_league()
    settings = e.LeagueSettings(league_id="spring", referees=2, tiebreakers=("points", "wins", "draws"))
    # By number P02 comes before P03; only their match says otherwise.
    assert broken(changed(honest, "manager", 0, settings=settings)) == {5}


# --- promise 6 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [{"P01": 1, "P04": 3}, {"P01": 0, "P04": 0}, {"P04": 3}, {"P01": 0, "P02": 3}])
def test_a_match_that_gives_other_points_breaks_promise_6(points: dict[str, int]) -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    # They are not what the winner is due either.
    assert broken(changed(honest, "manager", place, points=points)) == {4, 6}


def test_no_points_for_two_faults_keep_promise_6_and_for_one_break_it() -> None:
    honest = journal_only(honest_league(mute={"R1M1": ("P01", "P04"), "R1M2": ("P02",)}))
    assert broken(honest) == set()
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R1M2")
    assert broken(changed(honest, "manager", place, points={"P02": 0, "P03": 0})) == {4, 6}


@pytest.mark.parametrize(
    "wrong",
    [{"points": 4}, {"played": 2}, {"wins": 2}, {"played": 2, "losses": 1}, {"played": 2, "draws": 1, "points": 4}],
)
def test_a_table_that_does_not_add_up_breaks_promise_6(wrong: Object) -> None:
    honest = honest_league()
    planted = reworded(honest, first_update(honest), lambda message: message["standings"][0].update(wrong))
    # Nor is it the fold of any results.
    assert broken(planted) == {5, 6}


def test_a_column_that_is_no_number_does_not_add_up() -> None:
    honest = honest_league()
    planted = reworded(honest, first_update(honest), lambda message: message["standings"][0].update(points="3"))
    assert broken(planted) == {5, 6}


@pytest.mark.parametrize("wrong", [{"wins": 1}, {"draws": 5}, {"technical_losses": 1}, {"total_matches": 3}])
def test_a_summary_that_does_not_add_up_breaks_promise_6(wrong: Object) -> None:
    honest = honest_league()
    place = calls(honest, "ROUND_COMPLETED")[0]
    assert broken(reworded(honest, place, lambda message: message["summary"].update(wrong))) == {6}


@pytest.mark.parametrize("name", ["matches_completed", "matches_played"])
def test_matches_counted_otherwise_break_promise_6(name: str) -> None:
    honest = honest_league()
    place = calls(honest, "ROUND_COMPLETED")[0]
    assert broken(reworded(honest, place, lambda message: message.update({name: 1}))) == {6}


# --- what is not known ------------------------------------------------------------------------------------------------


def test_a_league_without_results_has_an_empty_table() -> None:
    honest = honest_league()
    place, _ = find(honest, "manager", e.ScheduleMade)
    rows = [
        {"rank": rank, "player_id": f"P0{rank}", "played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}
        for rank in (1, 2, 3, 4)
    ]
    update = call_at(honest, first_update(honest))
    early = Evidence(
        manager=EventLog(honest.manager[:place]),
        traffic=(replace(update, message={**update.message, "standings": rows}),),
    )
    assert broken(early) == set()
    assert broken(replace(early, manager=EventLog(without(honest, "manager", 3).manager[: place - 1]))) == {5}


def test_a_result_of_an_unknown_match_changes_no_table() -> None:
    honest = honest_league()
    place, result = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    stray = e.WalkoverDecided(at=result.at, match_id="R9M9", winner=None, withdrawn=())
    assert 5 not in broken(added(honest, "manager", place, stray))
