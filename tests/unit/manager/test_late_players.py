"""Players that come after the start: admitted or refused, and their matches in extra rounds at the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from league import events as e
from league.features.audit.promises import check
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import Evidence
from league.manager.season.schedule import extra_rounds, round_robin
from tests.support.managed import Managed, agent_of, code_of, matches_in, pairs


def met(league: Managed) -> Counter[frozenset[str]]:
    return Counter(frozenset(one.players) for one in league.manager.ledger.matches.values())


def judged(league: Managed) -> str:
    """What becomes of the promise about the schedule."""
    (found,) = (one for one in check(Evidence(manager=EventLog(league.events))).findings if one.promise == 1)
    return found.verdict


@pytest.mark.requirement("REGISTER.late_player")
def test_a_player_that_comes_late_is_refused_unless_the_league_admits_it() -> None:
    league = Managed(players=2).fill()
    assert code_of(league.register("player", 3)) == "E019"


@pytest.mark.requirement("REGISTER.late_player")
@pytest.mark.parametrize("changed", [{}, {"double": True}, {"profile": "strict"}])
def test_late_players_meet_everybody_in_extra_rounds_and_nobody_else_meets_again(changed: dict[str, Any]) -> None:
    league = Managed(players=4, late="admit", **changed).fill()
    before = [list(one.matches) for one in league.manager.ledger.rounds]
    late = [agent_of(league.register("player", number)) for number in (5, 6)]
    league.play()
    ledger = league.manager.ledger
    assert [list(one.matches) for one in ledger.rounds[: len(before)]] == before
    assert len(league.of(e.ScheduleMade)) == 2
    legs = 2 if changed.get("double") else 1
    assert met(league) == dict.fromkeys(pairs(league.manager.player_ids), legs)
    assert all(set(one.players) & set(late) for one in ledger.matches.values() if one.round_id > len(before))
    assert {row.played for row in league.manager.standings} == {5 * legs}
    assert judged(league) == "kept"


def test_a_late_player_is_active_gets_tables_and_hears_of_the_round_that_is_played() -> None:
    league = Managed(players=4, late="admit").fill()
    league.answer_all()
    assert agent_of(league.register("player", 5)) == "P05"
    assert league.state("P05") == "ACTIVE"
    league.answer_pings()
    (announced, *_) = league.told("P05", "ROUND_ANNOUNCEMENT")
    assert matches_in(announced.message) == ["R1M1", "R1M2"]
    assert [row.player_id for row in league.manager.standings][-1] == "P05"


def test_one_that_comes_in_the_extra_rounds_gets_more_of_them() -> None:
    league = Managed(players=2, late="admit").fill()
    league.register("player", 3)
    league.answer_all()
    league.report("R1M1")
    assert len(league.of(e.ScheduleMade)) == 2
    assert agent_of(league.register("player", 4)) == "P04"
    league.play()
    assert met(league) == dict.fromkeys(pairs(league.manager.player_ids), 1)
    assert judged(league) == "kept"


def test_the_round_before_the_extra_rounds_says_that_another_follows() -> None:
    league = Managed(players=2, late="admit").fill()
    league.register("player", 3)
    league.play()
    first = league.told("P01", "ROUND_COMPLETED")[0].message
    assert getattr(first, "next_round_id", None) == 2


def test_after_a_restart_nothing_of_it_is_lost() -> None:
    league = Managed(players=2, late="admit").fill()
    league.register("player", 3)
    league.restart()
    assert league.manager.ledger.roster.late == ["P03"]
    league.play()
    assert met(league) == dict.fromkeys(pairs(league.manager.player_ids), 1)


def test_a_late_player_that_was_withdrawn_before_its_rounds_has_none() -> None:
    league = Managed(players=2, late="admit").fill()
    league.register("player", 3)
    league.operate("withdraw", "P03")
    league.play()
    assert len(league.manager.ledger.matches) == 1
    assert judged(league) == "kept"


def test_a_late_player_waits_for_approval_where_everybody_does() -> None:
    league = Managed(players=2, late="admit", enrolment="approve")
    for role, number in (("referee", 1), ("player", 1), ("player", 2)):
        league.register(role, number)
        league.operate("approve", next(iter(league.manager.ledger.roster.applicants.waiting)).applicant_id)
        league.register(role, number)
        league.answer_pings()
    assert code_of(league.register("player", 3)) == "E043"
    league.operate("approve", next(iter(league.manager.ledger.roster.applicants.waiting)).applicant_id)
    assert agent_of(league.register("player", 3)) == "P03"


def test_late_players_at_most_double_a_league() -> None:
    league = Managed(players=2, late="admit").fill()
    for number in (3, 4):
        league.register("player", number)
    assert code_of(league.register("player", 5)) == "E020"


def test_with_fewer_rounds_a_late_player_plays_no_more_than_others() -> None:
    league = Managed(players=6, rounds=2, late="admit").fill()
    league.register("player", 7)
    league.play()
    assert len(league.manager.ledger.matches_of["P07"]) <= 2
    assert judged(league) == "kept"


@pytest.mark.parametrize("count", range(2, 12))
@pytest.mark.parametrize("late", [1, 2, 3])
def test_extra_rounds_are_rounds(count: int, late: int) -> None:
    players = [f"P{number:02}" for number in range(1, count + late + 1)]
    extra = extra_rounds(players, players[count:], after=len(round_robin(players[:count]).rounds))
    for one in extra.rounds:
        seats = [player for match in one for player in (match.player_a, match.player_b)]
        assert len(seats) == len(set(seats)) > 0
    found = Counter(frozenset((one.player_a, one.player_b)) for pairings in extra.rounds for one in pairings)
    assert found == {pair: 1 for pair in pairs(players) if pair & set(players[count:])}


@pytest.mark.parametrize("bug", ["never", "again", "refused"])
def test_the_promise_of_the_schedule_sees_what_is_wrong_with_late_players(bug: str) -> None:
    league = Managed(players=4, late="admit").fill()
    league.register("player", 5)
    league.play()
    events = list(league.events)
    place = max(index for index, event in enumerate(events) if isinstance(event, e.ScheduleMade))
    extra = events[place]
    assert isinstance(extra, e.ScheduleMade)
    if bug == "never":
        del events[place]
    elif bug == "again":
        more = (e.Pairing("R9M1", "P01", "P02"),)
        events[place] = e.ScheduleMade(at=extra.at, rounds=(*extra.rounds, more), byes=(*extra.byes, None))
    else:
        assert isinstance(events[0], e.LeagueCreated)
        events[0] = e.LeagueCreated(at=0.0, settings=Managed(players=4).settings)
    (found,) = (one for one in check(Evidence(manager=EventLog(events))).findings if one.promise == 1)
    assert found.verdict == "broken"
