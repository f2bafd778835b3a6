"""One player of twenty answers nothing at all: it delays its own matches and nobody else's."""

from __future__ import annotations

import pytest

from league.events import MatchDecided, PlayerFaulted, ResultAccepted, ScheduleMade
from tests.support.peer import Peer
from tests.support.processes import Processes, assert_kept
from tests.support.scripts import HANG, always

ROUNDS = 2
REFEREES = ("referee", "referee-2")


@pytest.mark.requirement("BROADCAST.holds_up_nothing")
def test_nobody_waits_for_a_player_that_answers_nothing(processes: Processes) -> None:
    manager = processes.manager(players=20, referees=2, rounds=ROUNDS, outage_minutes=0)
    with Peer("Stone", always(HANG)) as stone:
        stone.register(manager.endpoint)
        good = processes.players(manager, count=19)
        referees = processes.referee(manager, count=2, time_scale=10, max_concurrent_matches=5)
        assert (good.wait(), referees.wait(), manager.stop()) == (0, 0, 0)

    results = processes.events("manager", ResultAccepted)
    assert len(results) == ROUNDS * 10
    place = {one.match_id: place for place, one in enumerate(results)}
    (schedule,) = processes.events("manager", ScheduleMade)
    for pairings in schedule.rounds:
        (its,) = [one.match_id for one in pairings if stone.agent_id in (one.player_a, one.player_b)]
        others = {one.match_id for one in pairings} - {its}
        assert all(place[one] < place[its] for one in others)
    lost = {one.match_id for one in results if one.status == "TECHNICAL_LOSS"}
    assert lost == {one.match_id for one in results if stone.agent_id in one.points}

    for name in REFEREES:
        assert {one.player_id for one in processes.events(name, PlayerFaulted)} <= {stone.agent_id}
        _assert_decided_meanwhile(processes, name, lost)
    assert_kept(processes)


def _assert_decided_meanwhile(processes: Processes, referee: str, lost: set[str]) -> None:
    """The other matches of the same round were decided while this referee still waited for the silent player."""
    decided = processes.events(referee, MatchDecided)
    for place, one in enumerate(decided):
        if one.match_id in lost:
            later = [other.match_id for other in decided[place + 1 :]]
            assert not [other for other in later if _round(other) == _round(one.match_id)]


def _round(match_id: str) -> str:
    return match_id.partition("M")[0]
