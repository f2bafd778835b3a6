"""Before the first round: probes, the start, the schedule."""

from __future__ import annotations

from itertools import pairwise

import pytest

from league import events as e
from league.machine import Acknowledged, Blame, Failure
from league.protocol.message.messages import RoundAnnouncement
from tests.support.managed import NOW, Managed, code_of


@pytest.mark.requirement("LEAGUE.starts_when_full")
def test_the_league_starts_when_it_is_full() -> None:
    league = Managed(players=3, referees=2)
    league.register("referee", 1)
    for number in (1, 2, 3):
        league.register("player", number)
    assert league.manager.ledger.state == "WAITING_FOR_REGISTRATIONS"
    league.register("referee", 2)
    assert [event.state for event in league.of(e.LeagueStateChanged)] == ["CREATING_SCHEDULE", "RUNNING_LEAGUE"]
    assert league.manager.ledger.current_round == 1


def test_more_referees_than_needed_may_come() -> None:
    league = Managed(players=2, referees=1)
    league.fill(players=1, referees=3)
    assert league.manager.ledger.state == "WAITING_FOR_REGISTRATIONS"
    league.register("player", 2)
    assert league.manager.ledger.is_running


def test_a_manual_start_waits_for_the_operator() -> None:
    league = Managed(players=4, start="manual")
    assert code_of(league.operate("start")) == "E023"
    league.fill(players=1)
    assert code_of(league.operate("start")) == "E023"
    league.fill(players=3)
    league.wait(100)
    assert league.manager.ledger.state == "WAITING_FOR_REGISTRATIONS"
    assert league.operate("start") == Acknowledged()
    assert league.manager.ledger.is_running
    assert code_of(league.operate("start")) == "E023"
    assert len(league.of(e.ScheduleMade)[0].rounds) == 3


@pytest.mark.requirement("LEAGUE.starts_at")
def test_a_league_with_an_hour_starts_then_and_not_when_it_is_full() -> None:
    league = Managed(players=3, start=NOW + 600)
    league.fill(players=3)
    league.wait(599)
    assert league.manager.ledger.state == "WAITING_FOR_REGISTRATIONS"
    league.wait(1)
    assert league.manager.ledger.is_running


@pytest.mark.requirement("LEAGUE.starts_at")
def test_at_its_hour_a_league_starts_with_whoever_is_there_or_as_soon_as_they_are() -> None:
    league = Managed(players=9, start=NOW + 600)
    league.fill(players=1)
    league.wait(700)
    assert league.manager.ledger.state == "WAITING_FOR_REGISTRATIONS"
    league.register("player", 2)
    assert league.manager.ledger.is_running
    assert len(league.of(e.ScheduleMade)[0].rounds) == 1


def test_the_hour_may_pass_while_the_manager_is_down() -> None:
    league = Managed(players=9, start=NOW + 600)
    league.fill(players=2)
    league.restart(after=100)
    assert league.manager.ledger.state == "WAITING_FOR_REGISTRATIONS"
    league.wait(499)
    league.restart(after=1000)
    assert league.manager.ledger.is_running


def test_the_operator_need_not_wait_for_the_hour() -> None:
    league = Managed(players=9, start=NOW + 600)
    league.fill(players=2)
    assert league.operate("start") == Acknowledged()
    assert league.manager.ledger.is_running


def test_the_schedule_is_that_of_the_settings() -> None:
    double = Managed(players=4, double=True).fill().of(e.ScheduleMade)[0]
    short = Managed(players=6, rounds=2).fill().of(e.ScheduleMade)[0]
    assert (len(double.rounds), len(short.rounds)) == (6, 2)
    assert [one.match_id for one in short.rounds[1]] == ["R2M1", "R2M2", "R2M3"]


@pytest.mark.requirement("SCHEDULE.bye")
def test_a_player_with_a_bye_is_told_of_no_match_and_gets_no_points() -> None:
    league = Managed(players=3).fill()
    schedule = league.of(e.ScheduleMade)[0]
    assert sorted(filter(None, schedule.byes)) == ["P01", "P02", "P03"]
    assert all(len(pairings) == 1 for pairings in schedule.rounds)
    league.play()
    assert [row.played for row in league.manager.standings] == [2, 2, 2]


# --- probes -----------------------------------------------------------------------------------------------------------


def test_a_registered_agent_is_probed_until_it_answers() -> None:
    league = Managed(players=4)
    league.register("player", 1)
    (probe,) = league.calls("ping", "P01")
    assert probe.deadline == league.now + 3
    league.fail(probe)
    assert league.calls("ping", "P01") == []
    league.wait(2)
    league.answer(league.calls("ping", "P01")[0])
    league.wait(4.9)
    assert league.calls("ping", "P01") == []
    assert league.manager.probe_failures == {}


@pytest.mark.requirement("REGISTER.probed_until_start")
def test_an_agent_that_dies_after_it_answered_is_noticed_before_the_start() -> None:
    league = Managed(players=4)
    league.register("player", 1)
    league.answer_pings()
    league.wait(5)
    league.fail(league.calls("ping", "P01")[0])
    assert league.manager.probe_failures == {"P01": "connection refused"}
    assert list(league.manager.not_answering()) == ["P01"]
    league.wait(2)
    league.answer_pings()
    assert (league.manager.probe_failures, league.manager.not_answering()) == ({}, {})


@pytest.mark.requirement("REGISTER.probed_until_start")
def test_a_referee_that_died_before_the_start_gets_no_match_until_it_answers() -> None:
    league = Managed(players=2, referees=2).fill(players=1)
    league.wait(5)
    league.answer_pings(but=["REF01"])
    league.fail(league.calls("ping", "REF01")[0])
    league.register("player", 2)
    assert league.state("REF01") == "SUSPENDED"


def test_probes_spare_an_agent_that_fails_five_times_in_a_row() -> None:
    league = Managed(players=4)
    league.register("player", 1)
    times = []
    for _ in range(7):
        times.append(league.now)
        league.fail(league.calls("ping", "P01")[0])
        while not league.calls("ping", "P01"):
            league.wait(1)
    assert [round(later - now) for now, later in pairwise(times)] == [2, 2, 2, 2, 60, 60]


def test_a_probe_that_failed_by_our_own_fault_is_repeated_at_once() -> None:
    league = Managed(players=2)
    league.register("player", 1)
    league.fail(league.calls("ping")[0], Failure.TIMEOUT, Blame.LOCAL)
    assert len(league.calls("ping", "P01")) == 1
    league.register("player", 2)
    league.register("referee", 1)
    assert league.state("P01") == "ACTIVE"


@pytest.mark.requirement("REGISTER.unreachable_suspends_nobody")
def test_no_player_is_suspended_for_not_answering_before_the_start_and_a_referee_only_until_it_answers() -> None:
    league = Managed(players=2, referees=2)
    for role, number in (("referee", 1), ("referee", 2), ("player", 1)):
        league.register(role, number)
    for agent in ("REF01", "P01"):
        league.fail(league.calls("ping", agent)[0])
    league.register("player", 2)
    states = {agent: league.state(agent) for agent in ("REF01", "REF02", "P01", "P02")}
    assert states == {"REF01": "SUSPENDED", "REF02": "ACTIVE", "P01": "ACTIVE", "P02": "ACTIVE"}
    assert {event.referee_id for event in league.of(e.MatchAssigned)} == {"REF02"}
    league.wait(1)
    (copy,) = league.calls("ROUND_ANNOUNCEMENT", "REF02")
    assert isinstance(copy.message, RoundAnnouncement)
    (match,) = copy.message.matches
    assert {match.player_A_suspended, match.player_B_suspended} <= {None, False}


@pytest.mark.parametrize("failure", [Failure.BUSY, Failure.NOT_UNDERSTOOD])
def test_any_answer_to_a_probe_will_do(failure: Failure) -> None:
    league = Managed(players=2)
    league.register("player", 1)
    league.fail(league.calls("ping", "P01")[0], failure)
    league.register("player", 2)
    league.register("referee", 1)
    assert league.state("P01") == "ACTIVE"


def test_a_player_that_never_answered_a_probe_is_told_the_first_round() -> None:
    league = Managed(players=2)
    league.register("referee", 1)
    league.register("player", 1)
    league.fail(league.calls("ping", "P01")[0])
    league.register("player", 2)
    assert league.state("P01") == "ACTIVE"
    assert len(league.calls("ROUND_ANNOUNCEMENT", "P01")) == 1


def test_a_league_without_a_live_referee_says_so_and_goes_on_when_one_answers() -> None:
    league = Managed(players=2)
    league.register("referee", 1)
    league.fail(league.calls("ping", "REF01")[0])
    league.register("player", 1)
    league.register("player", 2)
    seen = [(league.manager.waiting, league.manager.ledger.current_round)]
    league.answer(league.calls("ping", "REF01")[0])
    seen.append((league.manager.waiting, league.manager.ledger.current_round))
    assert seen == [("WAITING_FOR_REFEREE", 0), (None, 1)]
