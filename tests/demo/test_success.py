"""The success metrics (R-53): counted by each agent, shown under /metrics, summed up over a league."""

from __future__ import annotations

import re

import pytest

from league.agent.meter import ANSWERED, Meter
from league.events import MoveMade, ResultAccepted, WalkoverDecided, WrongAnswer
from league.features.demo.success import Share, samples_in, summarize
from league.machine import Pong
from league.protocol.errors import Violation
from league.protocol.message.envelope import Unsealed


def wrong_answer(code: str) -> WrongAnswer:
    named = {"match_id": "R1M1", "attempt": 1, "player_id": "P01"}
    return WrongAnswer(at=1.0, **named, phase="move", turn=1, code=code, detail="", left=3)  # type: ignore[arg-type]


def accepted(match_id: str, at: float) -> ResultAccepted:
    named = {"match_id": match_id, "attempt": 1, "referee_id": "REF01", "status": "DRAW", "winner": None}
    told = {"points": {}, "details": {}, "verified": True, "reported_at": ""}
    return ResultAccepted(at=at, **named, **told)  # type: ignore[arg-type]


def page(meter: Meter) -> str:
    return meter.prometheus({"players": 4})


def test_every_message_read_counts_as_valid_or_by_what_is_wrong_with_it_first() -> None:
    meter = Meter()
    for _ in range(3):
        meter.answered("LEAGUE_QUERY", "ok", Unsealed("LEAGUE_QUERY", None), 0.1)
    wrong = (Violation("E007", "round_id", "", "X"), Violation("E003", "match_id", "", "X"))
    meter.answered("LEAGUE_QUERY", "E007", Unsealed("LEAGUE_QUERY", None, wrong), 0.1)
    meter.call_ended("ping", "a", ANSWERED, read=Pong(), seconds=0.1)
    success = summarize([page(meter)])
    assert success.valid == Share(3, 4)
    assert success.field_type_errors == Share(1, 4)


def test_a_call_after_a_failed_one_of_the_same_conversation_is_a_retry() -> None:
    meter = Meter()
    for about, outcome in (
        ("a", "timeout"),
        ("a", "refused"),
        ("a", ANSWERED),
        ("a", ANSWERED),
        ("b", ANSWERED),
        ("c", "refused"),
        ("c", "refused"),
    ):
        meter.call_ended("GAME_INVITATION", about, outcome)
    success = summarize([page(meter)])
    assert success.retries == Share(1, 3)
    assert success.timeouts == Share(1, 7)


def test_what_a_peer_never_answers_takes_no_memory_for_ever() -> None:
    meter = Meter()
    for number in range(5000):
        meter.call_ended("GAME_OVER", number, "refused")
    assert len(meter.failing) <= 1000


def test_illegal_choices_are_counted_against_all_choices() -> None:
    meter = Meter()
    moves = [
        MoveMade(at=1.0, match_id="R1M1", attempt=1, player_id="P01", turn=turn, choice="even") for turn in range(3)
    ]
    meter.happened([*moves, wrong_answer("E004"), wrong_answer("E003")])
    assert summarize([page(meter)]).illegal_choices == Share(1, 4)


def test_an_agent_that_had_to_register_twice_was_not_accepted_at_the_first_try() -> None:
    first, second, manager = Meter(), Meter(), Meter()
    first.call_ended("LEAGUE_REGISTER_REQUEST", "a", ANSWERED)
    second.call_ended("REFEREE_REGISTER_REQUEST", "a", "refused")
    second.call_ended("REFEREE_REGISTER_REQUEST", "a", ANSWERED)
    manager.call_ended("ROUND_ANNOUNCEMENT", "a", ANSWERED)
    assert summarize(map(page, (first, second, manager))).first_try == Share(1, 2)


@pytest.mark.requirement("METRICS.query_latency")
def test_times_are_means_over_all_agents() -> None:
    one, other = Meter(), Meter()
    one.call_ended("GAME_OVER", "a", ANSWERED, seconds=0.010)
    other.call_ended("GAME_OVER", "a", ANSWERED, seconds=0.030)
    other.answered("LEAGUE_QUERY", "ok", Unsealed("LEAGUE_QUERY", None), 0.5)
    other.answered("MATCH_RESULT_REPORT", "ok", Unsealed("MATCH_RESULT_REPORT", None), 9.0)
    success = summarize(map(page, (one, other)))
    assert success.round_trip_s == pytest.approx(0.020)
    assert success.query_s == pytest.approx(0.5)
    assert success.queries == 1


@pytest.mark.requirement("METRICS.standings_latency")
def test_a_result_waits_until_its_table_is_acknowledged_by_each_player() -> None:
    meter = Meter()
    meter.happened([accepted("R1M1", 10.0), accepted("R1M2", 11.0)])
    meter.tables.told("P01", 1, True, 10.5)
    meter.tables.told("P02", 2, True, 12.0)  # both results at once
    meter.tables.told("P01", 2, False, 21.0)  # it never came
    meter.happened([accepted("R2M1", 30.0)])
    meter.tables.told("P01", 3, True, 30.5)
    assert summarize([page(meter)]).standings_s == pytest.approx((0.5 + 2.0 + 1.0 + 0.5) / 4)


def test_after_a_restart_only_new_results_are_waited_for() -> None:
    meter = Meter()
    meter.tables.replay([accepted("R1M1", 10.0), WalkoverDecided(at=11.0, match_id="R1M2", winner=None, withdrawn=())])
    meter.happened([accepted("R1M3", 500.0)])
    meter.tables.told("P01", 3, True, 502.0)
    meter.tables.told("P01", 3, True, 503.0)
    assert summarize([page(meter)]).standings_s == pytest.approx(2.0)
    assert summarize([page(Meter())]).standings_s is None


def test_a_league_without_anything_has_no_rates() -> None:
    success = summarize([])
    assert success.valid.rate is None
    assert success.round_trip_s is None


def test_the_page_is_what_prometheus_reads() -> None:
    meter = Meter()
    for kind in ("LEAGUE_QUERY", "MATCH_RESULT_REPORT"):
        meter.answered(kind, "ok", Unsealed(kind, None), 0.002)
    text = page(meter)
    types = re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)
    assert len(types) == len(set(types))
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(samples_in(text)) == len(samples)
    buckets = [
        value
        for name, labels, value in samples_in(text)
        if name == "league_answer_seconds_bucket" and labels["message_type"] == "LEAGUE_QUERY"
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 1
