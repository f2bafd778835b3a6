"""Promises 7, 9, 15, 16, 17 and 18: survival, progress, bounds, answers, repetition. A plant breaks its own one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from league import events as e
from league.features.audit.promises import Evidence, Recovery, check
from league.features.audit.promises.grounds.event_log import EventLog
from tests.support.honest_league import honest_league
from tests.support.planted import (
    added,
    altered,
    broken,
    call_at,
    calls,
    find,
    journal_of,
    journal_only,
    known,
    reworded,
    sent,
)

Object = dict[str, Any]

# --- promise 7 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", ["league_manager", "REF01", "P01"])
def test_a_journal_shorter_than_what_was_released_breaks_promise_7(node: str) -> None:
    honest = honest_league()
    assert broken(known(honest, recoveries=(Recovery(node, 1_010.0, acknowledged=4, recovered=4),))) == set()
    assert broken(known(honest, recoveries=(Recovery(node, 1_010.0, acknowledged=4, recovered=3),))) == {7}


def test_an_accepted_registration_that_is_not_in_the_journal_breaks_promise_7() -> None:
    honest = honest_league()
    call = call_at(honest, calls(honest, "LEAGUE_REGISTER_REQUEST")[0])
    meta = {**call.message["player_meta"], "contact_endpoint": "http://elsewhere.example:8000/mcp"}
    message, answer = {**call.message, "player_meta": meta}, {**(call.answer or {}), "player_id": "P05"}
    lost = replace(call, sender_node="P05", message=message, answer=answer)
    assert broken(sent(honest, lost)) == {7}
    assert broken(sent(honest, replace(lost, answer={**answer, "status": "REJECTED"}))) == set()


def _second_report(evidence: Evidence, **call: Any) -> Evidence:
    """REF01 reports R1M1 once more, with the other winner."""
    report = call_at(evidence, calls(evidence, "MATCH_RESULT_REPORT", match="R1M1")[0])
    message = {**report.message, "result": {**report.message["result"], "winner": "P01"}}
    return sent(evidence, replace(report, sent_at=report.sent_at + 1, message=message, **call))


def test_an_acknowledged_result_that_is_not_in_the_journal_breaks_promise_7() -> None:
    assert broken(_second_report(honest_league())) == {7}


@pytest.mark.parametrize(("code", "expected"), [("E017", {7}), ("E040", set()), ("E016", set())])
def test_being_told_of_a_duplicate_is_an_acknowledgement_and_a_refusal_is_none(code: str, expected: set[int]) -> None:
    refused = {"message_type": "LEAGUE_ERROR", "error_code": code}
    assert broken(_second_report(honest_league(), answer=refused, error=True)) == expected


def test_without_a_journal_nothing_is_missing_from_it() -> None:
    assert broken(Evidence(traffic=honest_league().traffic)) & {7} == set()


# --- promise 9 --------------------------------------------------------------------------------------------------------


def _unfinished(stalled: bool | None = None, **end: Any) -> Evidence:
    honest = honest_league()
    place, _ = find(honest, "manager", e.RoundOpened, round_id=2)
    return known(Evidence(manager=EventLog(honest.manager[:place]), **end), stalled=stalled)


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (_unfinished(stalled=False, waiting="WAITING_FOR_OPERATOR"), "kept"),
        (_unfinished(stalled=True, waiting="WAITING_FOR_OPERATOR"), "kept"),
        (_unfinished(stalled=True), "broken"),
        (_unfinished(stalled=False), "broken"),
        (_unfinished(finished=True), "broken"),
        (_unfinished(), "unobservable"),
        (journal_only(honest_league()), "kept"),
    ],
)
def test_progress_is_an_end_or_a_named_state_of_waiting(evidence: Evidence, verdict: str) -> None:
    assert check(evidence).verdict(9) == verdict
    assert broken(evidence) == ({9} if verdict == "broken" else set())


# --- promises 15 and 18 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seen", "expected"), [(90, set()), (91, {15})])
def test_more_than_is_allowed_breaks_promise_15(seen: int, expected: set[int]) -> None:
    bounds = {"REF01 calls": (1, 90), "league_manager letters": (seen, 90)}
    assert broken(known(honest_league(), bounds=bounds)) == expected


def test_two_different_runs_break_promise_18() -> None:
    assert broken(known(honest_league(), twin_digest=("0a", "0b"))) == {18}


# --- promise 16 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "went",
    [
        {"answers": 0, "answer": None, "outcome": "timeout"},
        {"answers": 2},
        {"delivered": 2},
        {"delivered": 2, "answers": 3},
        {"delivered": 0, "answers": 1},
        {"excused": 1},
    ],
)
def test_fewer_or_more_answers_than_requests_break_promise_16(went: Object) -> None:
    honest = honest_league()
    assert broken(altered(honest, calls(honest, "GAME_OVER")[0], **went)) == {16}


@pytest.mark.parametrize(
    "went",
    [
        {"delivered": 2, "answers": 2},
        {"answer": None, "answered_at": None, "outcome": "lost"},
        {"delivered": 2, "answers": 1, "excused": 1},
        {"delivered": 0, "answers": 0, "answer": None, "outcome": "refused"},
        {"answers": 0, "excused": 1, "answer": None, "outcome": "open"},
    ],
)
def test_one_answer_for_each_delivery_that_was_survived_keeps_promise_16(went: Object) -> None:
    honest = honest_league()
    assert broken(altered(honest, calls(honest, "GAME_OVER")[0], **went)) == set()


# --- promise 17 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("REF01", e.PlayerJoined),
        ("REF01", e.MoveMade),
        ("REF01", e.MatchTaken),
        ("REF01", e.MatchDecided),
        ("REF01", e.ReportSettled),
        ("REF01", e.LeagueEnded),
        ("P01", e.InvitationAnswered),
        ("P01", e.ChoiceGiven),
        ("P01", e.GameEnded),
        ("P01", e.LeagueEnded),
    ],
)
def test_an_event_that_happens_again_breaks_promise_17(name: str, kind: type[e.Event]) -> None:
    honest = honest_league()
    place, event = find(honest, name, kind)
    assert broken(added(honest, name, place + 1, event)) == {17}


def test_a_fault_found_twice_breaks_promise_17() -> None:
    honest = honest_league(silent={"R1M1": ("P04",)})
    place, event = find(honest, "REF01", e.PlayerFaulted)
    assert broken(added(honest, "REF01", place + 1, event)) == {17}


def test_an_agent_registered_twice_under_two_ids_breaks_promise_17() -> None:
    honest = journal_only(honest_league())
    _, first = find(honest, "manager", e.AgentRegistered, agent_id="P01")
    again = structs.replace(first, agent_id="P05")
    place, _ = find(honest, "manager", e.RoundOpened)
    assert broken(added(honest, "manager", place, again)) == {17}


def test_a_report_accepted_twice_breaks_promise_17() -> None:
    honest = journal_only(honest_league())
    place, result = find(honest, "manager", e.ResultAccepted)
    # It is a second result in force, too.
    assert broken(added(honest, "manager", place + 1, result)) == {2, 17}


@pytest.mark.parametrize(
    "order",
    [
        e.OrderCarriedOut(at=1_010.0, order="pause", key="k"),
        e.OrderCarriedOut(at=1_010.0, order="withdraw", target="P01", key="k"),
        e.MatchUnparked(at=1_010.0, match_id="R1M1", key="k"),
    ],
)
def test_an_order_carried_out_twice_breaks_promise_17(order: e.Event) -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.LeagueFinished)
    assert broken(added(honest, "manager", place, order)) == set()
    assert broken(added(honest, "manager", place, order, order)) == {17}


def test_a_choice_may_be_made_again_once_for_each_that_was_refused() -> None:
    honest = honest_league(slips=frozenset({"R1M1"}))
    assert broken(honest) == set()
    given = [place for place, event in enumerate(journal_of(honest, "P04")) if isinstance(event, e.ChoiceGiven)]
    assert broken(added(honest, "P04", given[1] + 1, journal_of(honest, "P04")[given[1]])) == {17}


def test_a_refusal_in_one_turn_allows_no_second_choice_in_another() -> None:
    honest = honest_league(game_type="rock_paper_scissors")
    place, choice = find(honest, "P01", e.ChoiceGiven, turn=2)
    refused = e.ChoiceRefused(at=1_005.0, match_id=choice.match_id, attempt=1, referee_id="REF01", turn=1, code="E024")
    assert broken(added(honest, "P01", place + 1, refused, choice)) == {17}


def test_a_choice_for_a_stranger_does_not_bind_a_player_to_the_referee() -> None:
    honest = honest_league(game_type="rock_paper_scissors")
    place, invited = find(honest, "P01", e.InvitationAnswered)
    _, choice = find(honest, "P01", e.ChoiceGiven, match_id=invited.match_id, turn=1)
    stranger = structs.replace(invited, trusted=False, conversation_id="conv-of-a-stranger")
    assert broken(added(honest, "P01", place, stranger, choice)) == set()
    assert broken(added(honest, "P01", place + 1, choice)) == {17}


def test_a_message_delivered_twice_without_effect_keeps_promise_17() -> None:
    honest = honest_league()
    assert any(call.delivered == 2 for call in honest.traffic or ())
    assert broken(honest) == set()


def test_a_report_without_an_attempt_is_read_as_the_current_one() -> None:
    honest = honest_league()
    place = calls(honest, "MATCH_RESULT_REPORT", match="R1M1")[0]
    assert broken(reworded(honest, place, lambda message: message.pop("attempt"))) == set()
