"""Promises 2, 3, 8 and 11: where results come from and what ends them. A planted violation breaks its own promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from league import events as e
from league.features.audit.promises import Evidence, check
from tests.support.honest_league import honest_league
from tests.support.planted import (
    added,
    altered,
    broken,
    calls,
    changed,
    find,
    journal_only,
    known,
    reworded,
    unsent,
    without,
)

LOST = frozenset({"R2M2"})
VOIDED = frozenset({"R1M1"})


@pytest.mark.parametrize(
    "script",
    [{}, {"lost": LOST}, {"voided": VOIDED}, {"withdrawn": "P02"}, {"silent": {"R1M1": ("P04",)}}],
)
@pytest.mark.parametrize("seen", ["everything", "the manager's journal"])
def test_honest_results_keep_all_promises(script: dict[str, Any], seen: str) -> None:
    evidence = honest_league(**script)
    assert broken(evidence if seen == "everything" else journal_only(evidence)) == set()


# --- promise 2 --------------------------------------------------------------------------------------------------------


def test_a_second_result_breaks_promise_2() -> None:
    honest = journal_only(honest_league())
    place, result = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    lease = e.MatchAssigned(at=result.at, match_id="R1M1", referee_id="REF02", attempt=2)
    # Without its seed, so that only its being there is wrong.
    unproven = {name: value for name, value in result.details.items() if name != "draw_seed"}
    again = structs.replace(result, referee_id="REF02", attempt=2, details=unproven, verified=False)
    assert broken(added(honest, "manager", place + 1, lease, again)) == {2}


def test_a_walkover_beside_a_result_breaks_promise_2() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.LeagueFinished)
    gone = e.OrderCarriedOut(at=1_030.0, order="withdraw", target="P03", key="w")
    walkover = e.WalkoverDecided(at=1_030.0, match_id="R3M2", winner="P04", withdrawn=("P03",))
    assert broken(added(honest, "manager", place, gone, walkover)) == {2}


def test_a_void_after_the_end_breaks_promise_2() -> None:
    honest = journal_only(honest_league())
    late = e.ResultVoided(at=9_999.0, match_id="R1M1", key="late")
    assert broken(added(honest, "manager", len(honest.manager), late)) == {2}


def test_a_void_ends_a_result_and_makes_room_for_one_only() -> None:
    honest = journal_only(honest_league(voided=VOIDED))
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R1M1", attempt=2)
    third = honest.manager[place]
    lease = e.MatchAssigned(at=2_000.0, match_id="R1M1", referee_id="REF02", attempt=3)
    assert isinstance(third, e.ResultAccepted)
    unproven = {name: value for name, value in third.details.items() if name != "draw_seed"}
    again = structs.replace(third, attempt=3, details=unproven, verified=False)
    assert broken(added(honest, "manager", place + 1, lease, again)) == {2}


# --- promise 3 --------------------------------------------------------------------------------------------------------


def test_a_result_of_a_superseded_attempt_breaks_promise_3() -> None:
    honest = journal_only(honest_league(lost=LOST))
    place, result = find(honest, "manager", e.ResultAccepted, match_id="R2M2")
    unproven = {name: value for name, value in result.details.items() if name != "draw_seed"}
    wrong = {"attempt": 1, "referee_id": "REF02", "details": unproven, "verified": False}
    assert broken(changed(honest, "manager", place, **wrong)) == {3}


def test_the_right_attempt_from_the_wrong_referee_breaks_promise_3() -> None:
    honest = journal_only(honest_league(lost=LOST))
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R2M2")
    assert 3 in broken(changed(honest, "manager", place, referee_id="REF02"))


def test_a_lost_match_may_still_be_reported_as_long_as_nobody_else_has_it() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R2M2")
    silent = e.MatchLost(at=1_010.0, match_id="R2M2", attempt=1, why="silent")
    assert broken(added(honest, "manager", place, silent)) == set()


def test_a_voided_result_that_comes_back_breaks_promise_3() -> None:
    honest = journal_only(honest_league(voided=VOIDED))
    _, first = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    place, lease = find(honest, "manager", e.MatchAssigned, match_id="R1M1", attempt=2)
    second, _ = find(honest, "manager", e.ResultAccepted, match_id="R1M1", attempt=2)
    back = without(added(honest, "manager", place, first), "manager", second + 1)
    # It is the second acceptance of one attempt as well.
    assert broken(without(back, "manager", place + 1)) == {3, 17}
    assert lease.attempt == 2


@pytest.mark.parametrize(
    ("match_id", "wrong"),
    [
        ("R2M2", {"withdrawn": ("P04",)}),
        ("R2M2", {"withdrawn": ()}),
        ("R2M2", {"withdrawn": ("P01",)}),
        ("R2M2", {"winner": None}),
        ("R3M1", {"winner": "P03"}),
    ],
)
def test_a_walkover_that_is_none_breaks_promise_3(match_id: str, wrong: dict[str, Any]) -> None:
    honest = journal_only(honest_league(withdrawn="P02"))
    place, _ = find(honest, "manager", e.WalkoverDecided, match_id=match_id)
    ended, _ = find(honest, "manager", e.LeagueFinished)
    assert broken(changed(without(honest, "manager", ended), "manager", place, **wrong)) == {3}


def test_a_walkover_before_the_withdrawal_breaks_promise_3() -> None:
    honest = journal_only(honest_league(withdrawn="P02"))
    place, gone = find(honest, "manager", e.OrderCarriedOut)
    assert broken(added(without(honest, "manager", place), "manager", len(honest.manager) - 1, gone)) == {3}


# --- promise 8 --------------------------------------------------------------------------------------------------------


def test_a_result_without_a_report_breaks_promise_8() -> None:
    honest = honest_league()
    assert broken(unsent(honest, calls(honest, "MATCH_RESULT_REPORT", match="R1M1")[0])) == {8}


@pytest.mark.parametrize(
    "went",
    [
        {"delivered": 0, "answers": 0, "answer": None, "outcome": "lost"},
        {"sent_at": 9_999.0},
        {"sender_node": "P01"},
    ],
)
def test_a_report_that_never_came_came_later_or_from_somebody_else_is_none(went: dict[str, Any]) -> None:
    honest = honest_league()
    place = calls(honest, "MATCH_RESULT_REPORT", match="R1M1")[0]
    assert broken(altered(honest, place, **{"answer": None, "outcome": "lost", **went})) == {8}


def test_a_result_other_than_the_one_reported_breaks_promise_8() -> None:
    honest = honest_league()
    place = calls(honest, "MATCH_RESULT_REPORT", match="R1M1")[0]
    unheard = altered(honest, place, answer=None, answered_at=None, outcome="lost")
    assert broken(unheard) == set()
    assert broken(reworded(unheard, place, lambda message: message["result"].update(winner="P01"))) == {8}


def test_a_draw_may_be_reported_as_a_word() -> None:
    honest = honest_league()
    place = calls(honest, "MATCH_RESULT_REPORT", match="R2M1")[0]
    assert broken(reworded(honest, place, lambda message: message["result"].update(winner="DRAW"))) == set()


def test_a_result_its_referee_never_decided_breaks_promise_21() -> None:
    honest = replace(honest_league(), traffic=None)
    place, _ = find(honest, "REF01", e.MatchDecided, match_id="R1M1")
    assert broken(without(honest, "REF01", place)) == {21}


def test_a_result_without_an_assignment_breaks_promise_8() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.MatchAssigned, match_id="R1M1")
    assert broken(without(honest, "manager", place)) == {3, 8}


def test_a_result_of_a_referee_that_never_registered_breaks_promise_8() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.AgentRegistered, agent_id="REF02")
    assert broken(without(honest, "manager", place)) == {8}


@pytest.mark.parametrize("kind", ["result", "walkover"])
def test_a_result_of_a_match_that_does_not_exist_breaks_promise_8(kind: str) -> None:
    honest = journal_only(honest_league())
    place, result = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    lease = e.MatchAssigned(at=result.at, match_id="R9M9", referee_id="REF01", attempt=1)
    more: e.Event = structs.replace(result, match_id="R9M9")
    if kind == "walkover":
        more = e.WalkoverDecided(at=result.at, match_id="R9M9", winner=None, withdrawn=())
    assert 8 in broken(added(honest, "manager", place, lease, more))


# --- promise 11 -------------------------------------------------------------------------------------------------------


def test_a_technical_loss_of_a_faulty_player_keeps_promise_11() -> None:
    assert broken(honest_league(silent={"R1M1": ("P04",)}, mute={"R3M1": ("P01", "P02")})) == set()


@pytest.mark.parametrize("faulted", [frozenset(), frozenset({"P01"})])
def test_a_technical_loss_of_an_innocent_player_breaks_promise_11(faulted: frozenset[str]) -> None:
    honest = honest_league(silent={"R1M1": ("P04",)})
    assert broken(known(honest, faulted=faulted)) == {11}
    assert broken(known(journal_only(honest), faulted=faulted)) == {11}


def test_both_losers_of_a_double_loss_must_be_at_fault() -> None:
    honest = honest_league(mute={"R1M1": ("P01", "P04")})
    assert broken(known(honest, faulted=frozenset({"P01"}))) == {11}


def test_what_a_superseded_referee_makes_of_a_player_is_no_loss() -> None:
    honest = honest_league()
    fault = e.PlayerFaulted(
        at=1_005.0, match_id="R1M1", attempt=1, player_id="P01", phase="join", turn=0, code="E001", detail="silent"
    )
    planted = added(honest, "REF01", len(honest.referees["REF01"]), fault)
    assert broken(planted) == set()


def test_without_technical_losses_nobody_needs_to_know_who_was_faulty() -> None:
    calm, stormy = journal_only(honest_league()), journal_only(honest_league(silent={"R1M1": ("P04",)}))
    assert check(calm).verdict(11) == "kept"
    assert check(stormy).verdict(11) == "unobservable"


def test_the_first_breach_says_where_it_is() -> None:
    honest: Evidence = journal_only(honest_league(silent={"R1M1": ("P04",)}))
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    (finding,) = check(known(honest, faulted=frozenset())).broken
    assert finding.where == f"manager #{place + 1}"
    assert finding.detail == "P04 lost R1M1 without a fault"
