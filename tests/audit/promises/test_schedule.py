"""Promises 1, 10 and 14: the schedule, the order of rounds, and ids. Each planted violation breaks its own promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from league import events as e
from league.features.audit.promises import Evidence, RecordedCall, Recovery
from league.features.audit.promises.grounds.event_log import EventLog
from tests.support.honest_league import ROUNDS, honest_league
from tests.support.planted import (
    added,
    altered,
    breaches,
    broken,
    call_at,
    calls,
    changed,
    find,
    journal_of,
    journal_only,
    known,
    reworded,
    sent,
    unsent,
    with_journal,
    without,
)

Pairs = tuple[tuple[tuple[str, str], ...], ...]

# --- promise 1 --------------------------------------------------------------------------------------------------------


def scheduled(plan: Pairs, players: int = 4, **settings: Any) -> Evidence:
    """A league that just made this schedule."""
    entrants = [f"P{number:02}" for number in range(1, players + 1)]
    made = tuple(
        tuple(e.Pairing(f"R{number}M{place}", *pair) for place, pair in enumerate(pairs, start=1))
        for number, pairs in enumerate(plan, start=1)
    )
    resting = tuple(
        next((one for one in entrants if one not in {seat for pair in pairs for seat in pair}), None) for pairs in plan
    )
    return Evidence(
        manager=EventLog(
            [
                e.LeagueCreated(at=1.0, settings=e.LeagueSettings(league_id="spring", players=players, **settings)),
                *(_registered(player) for player in entrants),
                e.ScheduleMade(at=3.0, rounds=made, byes=resting),
            ]
        )
    )


def _registered(player: str, endpoint: str | None = None) -> e.AgentRegistered:
    return e.AgentRegistered(
        at=2.0,
        role="player",
        agent_id=player,
        display_name=player,
        version="1.0.0",
        endpoint=endpoint or f"http://{player}.example:8000/mcp",
        origin="",
        game_types=("even_odd",),
        serial=1,
        verify="",
    )


THREE: Pairs = ((("P01", "P02"),), (("P03", "P01"),), (("P02", "P03"),))


@pytest.mark.parametrize(
    "evidence",
    [
        scheduled(ROUNDS),
        scheduled((*ROUNDS, *ROUNDS), double=True),
        scheduled(ROUNDS[:2], rounds=2),
        scheduled(ROUNDS, rounds=99),
        scheduled((*ROUNDS, ROUNDS[0]), double=True, rounds=4),
        scheduled(THREE, players=3),
    ],
)
def test_a_schedule_by_its_format_keeps_promise_1(evidence: Evidence) -> None:
    assert broken(evidence) == set()


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (scheduled(ROUNDS, double=True), "3 rounds instead of 6"),
        (scheduled((*ROUNDS, ROUNDS[0])), "P01 and P04 meet 2 times, not 1"),
        (scheduled(ROUNDS[:2]), "P01 and P02 meet 0 times, not 1"),
        (scheduled(ROUNDS, rounds=2), "3 rounds instead of 2"),
        (scheduled((ROUNDS[0], ROUNDS[0]), rounds=2), "P02 and P03 meet 2 times, not 1"),
        (scheduled((ROUNDS[0], ROUNDS[1], ROUNDS[1])), "P03 and P04 meet 0 times, not 1"),
        (scheduled((*ROUNDS[:2], (("P01", "P02"), ("P03", "P03")))), "P03 plays itself in R3M2"),
        (scheduled((*ROUNDS[:2], (("P01", "P02"), ("P02", "P01")))), "P02 is in 2 seats of round 3"),
        (scheduled((*ROUNDS[:2], ROUNDS[2][:1])), "round 3 has 1 matches for 4 players"),
        (scheduled(ROUNDS, players=3), "P04 is in the schedule and never registered"),
        (scheduled(ROUNDS, players=5), "P04 and P05 meet 0 times, not 1"),
    ],
)
def test_a_schedule_against_its_format_breaks_promise_1_only(evidence: Evidence, said: str) -> None:
    assert broken(evidence) == {1}
    assert said in breaches(evidence, 1)


def test_a_bye_of_somebody_who_plays_breaks_promise_1() -> None:
    honest = scheduled(THREE, players=3)
    place, _ = find(honest, "manager", e.ScheduleMade)
    assert broken(changed(honest, "manager", place, byes=("P01", "P02", "P01"))) == {1}


def test_a_player_withdrawn_before_the_start_may_be_left_out() -> None:
    honest = scheduled(ROUNDS, players=5)
    gone = e.OrderCarriedOut(at=2.5, order="withdraw", target="P05", key="w")
    assert broken(added(honest, "manager", len(honest.manager) - 1, gone)) == set()


def _matches(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda message: change(message["matches"])


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("ROUND_ANNOUNCEMENT", _matches(lambda matches: matches[0].update(player_A_id="P02"))),
        ("ROUND_ANNOUNCEMENT", _matches(lambda matches: matches[0].update(match_id="R9M9"))),
        ("ROUND_ANNOUNCEMENT", _matches(lambda matches: matches.pop())),
        ("GAME_INVITATION", lambda message: message.update(opponent_id="P02")),
        ("GAME_INVITATION", lambda message: message.update(round_id=3)),
    ],
)
def test_telling_anything_but_the_schedule_breaks_promise_1_only(
    kind: str, change: Callable[[dict[str, Any]], object]
) -> None:
    honest = honest_league()
    assert broken(reworded(honest, calls(honest, kind, to="P01")[0], change)) == {1}


def test_a_referee_is_told_only_its_own_matches_but_no_invented_ones() -> None:
    honest = honest_league()
    place = calls(honest, "ROUND_ANNOUNCEMENT", to="REF01")[0]
    planted = reworded(honest, place, lambda message: message["matches"][0].update(player_B_id="P03"))
    assert broken(planted) == {1}


def test_a_match_taken_for_another_round_breaks_promise_1() -> None:
    honest = honest_league()
    place, _ = find(honest, "REF01", e.MatchTaken, match_id="R1M1")
    assert broken(changed(honest, "REF01", place, round_id=2)) == {1}


# --- promise 10 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [{}, {"voided": frozenset({"R1M1"})}, {"withdrawn": "P02"}, {"rounds": 2}])
def test_rounds_one_after_the_other_keep_promise_10(script: dict[str, Any]) -> None:
    assert broken(honest_league(**script)) == set()


def test_a_round_opened_before_the_last_one_is_finished_breaks_promise_10() -> None:
    honest = journal_only(honest_league())
    place, opened = find(honest, "manager", e.RoundOpened, round_id=2)
    first, _ = find(honest, "manager", e.RoundFinished, round_id=1)
    assert broken(added(without(honest, "manager", place), "manager", first, opened)) == {10}


def test_a_round_opened_out_of_turn_breaks_promise_10() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.RoundOpened, round_id=2)
    assert broken(changed(honest, "manager", place, round_id=3)) == {10}


def test_a_result_of_a_round_that_is_not_open_breaks_promise_10() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.RoundOpened, round_id=3)
    planted = without(honest, "manager", place)
    assert broken(planted) == {10}
    assert "R3M1 has a result before round 3 was opened" in breaches(planted, 10)
    assert "round 3 was finished before it was opened" in breaches(planted, 10)


@pytest.mark.parametrize("kind", [e.RoundOpened, e.RoundFinished, e.ResultAccepted])
def test_anything_that_happens_after_the_end_breaks_promise_10(kind: type[e.Event]) -> None:
    honest = journal_only(honest_league())
    _, event = find(honest, "manager", kind)
    planted = added(honest, "manager", len(honest.manager), event)
    assert f"{kind.__name__} after the end of the league" in breaches(planted, 10)


def test_assignments_before_the_round_is_open_break_promise_10() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.RoundOpened, round_id=1)
    assert broken(added(honest, "manager", place, e.AssignmentsSent(at=1.0, round_id=1))) == {10}


def test_a_round_finished_without_a_result_breaks_promise_10() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R2M2")
    planted = without(honest, "manager", place)
    assert broken(planted) == {10}
    assert breaches(planted, 10) == [
        "round 2 was finished without R2M2",
        "the league was finished without R2M2",
    ]


@pytest.mark.parametrize("kind", [e.RoundFinished, e.LeagueFinished])
def test_finishing_twice_breaks_promise_10(kind: type[e.Event]) -> None:
    honest = journal_only(honest_league())
    place, event = find(honest, "manager", kind)
    assert broken(added(honest, "manager", place, event)) == {10}


def test_a_league_finished_before_its_last_round_breaks_promise_10() -> None:
    honest = journal_only(honest_league())
    place, _ = find(honest, "manager", e.RoundFinished, round_id=3)
    assert broken(without(honest, "manager", place)) == {10}


def test_a_voided_round_may_be_opened_and_finished_again_but_only_then() -> None:
    honest = journal_only(honest_league(voided=frozenset({"R1M1"})))
    opened, finished = e.RoundOpened(at=2_000.0, round_id=1), e.RoundFinished(at=2_000.0, round_id=1)
    place, _ = find(honest, "manager", e.ResultVoided)
    again = added(added(honest, "manager", place + 1, opened), "manager", len(honest.manager) - 1, finished)
    assert broken(again) == set()
    assert broken(added(honest, "manager", place, opened)) == {10}
    assert broken(added(honest, "manager", place, finished)) == {10}


def test_league_completed_a_second_time_breaks_promise_10() -> None:
    honest = honest_league()
    said = call_at(honest, calls(honest, "LEAGUE_COMPLETED", to="P01")[0])
    assert broken(sent(honest, replace(said, sent_at=said.sent_at + 60))) == {10}


@pytest.mark.parametrize("outcome", ["timeout", "lost", "broken"])
def test_league_completed_is_not_repeated_because_it_got_no_answer(outcome: str) -> None:
    honest = honest_league()
    place = calls(honest, "LEAGUE_COMPLETED", to="P01")[0]
    said = call_at(honest, place)
    silent = altered(honest, place, outcome=outcome, answer=None, answered_at=None)
    assert broken(silent) == set()
    assert broken(sent(silent, replace(said, sent_at=said.sent_at + 60))) == {10}


def test_league_completed_may_be_repeated_when_nobody_listened_or_the_manager_was_thrown_back() -> None:
    honest = honest_league()
    place = calls(honest, "LEAGUE_COMPLETED", to="P01")[0]
    said = call_at(honest, place)
    again = replace(said, sent_at=said.sent_at + 60)
    refused = altered(honest, place, outcome="refused", delivered=0, answers=0, answer=None, answered_at=None)
    assert broken(sent(refused, again)) == set()
    kill = Recovery("league_manager", said.sent_at + 1, acknowledged=90, recovered=90)
    assert broken(known(sent(honest, again), recoveries=(kill,))) == set()
    other = Recovery("REF01", said.sent_at + 1, acknowledged=90, recovered=90)
    assert broken(known(sent(honest, again), recoveries=(other,))) == {10}


@pytest.mark.parametrize("kind", ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "ROUND_ANNOUNCEMENT"])
def test_anything_sent_after_league_completed_breaks_promise_10(kind: str) -> None:
    honest = honest_league()
    late = call_at(honest, calls(honest, kind, to="P01")[-1])
    assert broken(sent(honest, replace(late, sent_at=9_999.0, answered_at=9_999.1))) == {10}


def test_league_completed_before_the_end_breaks_promise_10() -> None:
    honest = honest_league()
    place, event = find(honest, "manager", e.LeagueFinished)
    assert broken(changed(honest, "manager", place, at=event.at + 60)) == {10}


def test_round_completed_before_its_final_standings_breaks_promise_10() -> None:
    honest = honest_league()
    place = calls(honest, "ROUND_COMPLETED", to="P02")[0]
    final = [at for at in calls(honest, "LEAGUE_STANDINGS_UPDATE", to="P02") if at < place][-2:]
    early = replace(call_at(honest, place), sent_at=call_at(honest, final[0]).sent_at - 0.05)
    planted = altered(honest, place, message={"message_type": "PING"})
    assert broken(sent(planted, early)) == {10}


def test_round_completed_while_the_final_standings_are_under_way_breaks_promise_10() -> None:
    honest = honest_league()
    place = calls(honest, "ROUND_COMPLETED", to="P02")[0]
    final = [at for at in calls(honest, "LEAGUE_STANDINGS_UPDATE", to="P02") if at < place][-2:]
    table, slow = call_at(honest, final[0]), honest
    for at in final:
        slow = altered(slow, at, answered_at=table.sent_at + 5)
    for seconds, found in ((1.0, {10}), (2.0, set())):
        planted = sent(unsent(slow, place), replace(call_at(honest, place), sent_at=table.sent_at + seconds))
        assert broken(planted) == found


def test_round_completed_of_a_round_that_is_not_breaks_promise_10() -> None:
    honest = honest_league()
    place = calls(honest, "ROUND_COMPLETED", to="P02")[0]
    assert broken(reworded(honest, place, lambda message: message.update(round_id=4))) == {10}


def test_rounds_announced_in_the_wrong_order_break_promise_10() -> None:
    honest = honest_league()
    first, second, _ = calls(honest, "ROUND_ANNOUNCEMENT", to="P03")
    swapped = altered(honest, first, message=call_at(honest, second).message)
    assert broken(altered(swapped, second, message=call_at(honest, first).message)) == {10}


def test_an_announcement_repeated_after_what_follows_it_breaks_promise_10() -> None:
    honest = honest_league()
    first, second, _ = calls(honest, "ROUND_ANNOUNCEMENT", to="P03")
    again = replace(call_at(honest, first), sent_at=call_at(honest, second).sent_at + 0.05)
    assert broken(sent(honest, again)) == {10}
    in_time = replace(call_at(honest, first), sent_at=call_at(honest, first).sent_at + 0.05)
    assert broken(sent(honest, in_time)) == set()


def test_an_announcement_before_the_last_round_is_completed_breaks_promise_10() -> None:
    honest = honest_league()
    completed = calls(honest, "ROUND_COMPLETED", to="P03")[0]
    late = replace(call_at(honest, completed), sent_at=call_at(honest, completed).sent_at + 500)
    place = calls(honest, "ROUND_ANNOUNCEMENT", to="P03")[1]
    early = replace(call_at(honest, place), sent_at=call_at(honest, completed).sent_at - 0.01)
    assert broken(sent(unsent(honest, completed), late)) == {10}
    assert broken(sent(honest, early)) == {10}


def test_a_completion_that_is_missing_breaks_promise_10_unless_calls_had_failed() -> None:
    honest = honest_league()
    planted = unsent(honest, calls(honest, "ROUND_COMPLETED", to="P03")[0])
    assert broken(planted) == {10}
    first = calls(honest, "ROUND_ANNOUNCEMENT", to="P03")[0]
    assert (
        broken(altered(planted, first, outcome="timeout", answer=None, answered_at=None, answers=0, delivered=0))
        == set()
    )


def test_the_next_message_may_leave_two_seconds_after_one_that_was_not_answered() -> None:
    honest = honest_league()
    place = calls(honest, "ROUND_ANNOUNCEMENT", to="P03")[-1]
    said = call_at(honest, place)
    slow = replace(said, message={**said.message, "round_id": 4}, answered_at=said.sent_at + 9)
    after = replace(said, message={**said.message, "message_type": "ROUND_COMPLETED", "round_id": 4})
    kind = "sent while ROUND_ANNOUNCEMENT was under way"
    for seconds, found in ((1.0, [kind]), (2.0, [])):
        planted = replace(honest, traffic=(slow, replace(after, sent_at=said.sent_at + seconds)))
        assert [one for one in breaches(planted, 10) if one == kind] == found


# --- promise 14 -------------------------------------------------------------------------------------------------------


def test_an_id_given_to_a_second_agent_breaks_promise_14() -> None:
    honest = scheduled(ROUNDS)
    again = _registered("P01", "http://elsewhere.example:8000/mcp")
    assert broken(added(honest, "manager", len(honest.manager) - 1, again)) == {14}


def test_two_matches_of_one_name_break_promise_14() -> None:
    honest = scheduled(ROUNDS)
    place, event = find(honest, "manager", e.ScheduleMade)
    rounds = (*event.rounds[:2], (e.Pairing("R1M1", "P01", "P02"), event.rounds[2][1]))
    assert broken(changed(honest, "manager", place, rounds=rounds)) == {14}


def test_an_attempt_that_comes_again_breaks_promise_14() -> None:
    honest = journal_only(honest_league())
    place, event = find(honest, "manager", e.MatchAssigned, match_id="R2M1")
    assert broken(added(honest, "manager", place, event)) == {14}


def test_an_id_told_to_agents_at_two_endpoints_breaks_promise_14() -> None:
    honest = honest_league()
    first = call_at(honest, calls(honest, "LEAGUE_REGISTER_REQUEST")[0])
    meta = {**first.message["player_meta"], "contact_endpoint": "http://elsewhere.example:8000/mcp"}
    stranger = replace(first, sender_node="stranger", message={**first.message, "player_meta": meta})
    assert broken(sent(honest, stranger)) == {14}


def test_an_agent_that_comes_back_keeps_its_id() -> None:
    honest = honest_league()
    assert broken(sent(honest, call_at(honest, calls(honest, "LEAGUE_REGISTER_REQUEST")[0]))) == set()


def test_a_conversation_about_two_matches_breaks_promise_14() -> None:
    honest = honest_league()
    place = calls(honest, "GAME_INVITATION", match="R2M1")[0]
    assert broken(reworded(honest, place, lambda message: message.update(conversation_id="conv-r1m1-1"))) == {14}


def test_what_a_stranger_says_is_not_held_against_anybody_else() -> None:
    honest = honest_league()
    lies: dict[str, dict[str, Any]] = {
        "ROUND_ANNOUNCEMENT": {"round_id": 7, "matches": [{}]},
        "LEAGUE_COMPLETED": {},
        "LEAGUE_STANDINGS_UPDATE": {"standings": 3},
        "GAME_INVITATION": {"match_id": "R7M7", "opponent_id": "P02"},
    }
    forged = [RecordedCall(1_020.0, "stranger", "P01", {"message_type": kind, **lie}) for kind, lie in lies.items()]
    assert broken(sent(honest, *forged)) == set()


def test_a_journal_can_be_put_back_as_it_was() -> None:
    honest = honest_league()
    assert with_journal(honest, "REF01", journal_of(honest, "REF01")) == honest
