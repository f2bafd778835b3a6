"""A manager that is stopped and started anew at the same address, with an empty journal, while its agents stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.events import AgentRegistered, MatchTaken, Registered, ResultAccepted
from tests.support.foreign_managers import Manager
from tests.support.processes import Processes, assert_kept

SCALE = 10
"""Of the agents' time: their 30 seconds are three."""
ANEW = "the manager has begun another league: registered as "


@pytest.mark.requirement("STATUS.new_league")
@pytest.mark.parametrize("second", ["autumn", "spring"])
def test_agents_that_stay_play_the_next_league_of_their_manager(processes: Processes, second: str) -> None:
    aside = processes.folder / "old" / "spring.db"
    # An official league takes a minute from its announcement to its first match.
    old = processes.manager(league_id="spring", players=2, journal=aside, preset="official")
    referee = processes.referee(old, time_scale=SCALE)
    players = processes.players(old, count=2, time_scale=SCALE, journal=processes.journal("player"))
    players.said("P01: round 1:")
    old.kill()
    manager = processes.manager(league_id=second, players=2, port=old.port)
    assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert referee.said(ANEW) == [f"REF01 in {second}"]
    assert [one.new_league for one in processes.events("player", Registered)] == [False, True]
    assert len(processes.events("manager", AgentRegistered)) == 3
    assert [one.match_id for one in processes.events("manager", ResultAccepted)] == ["R1M1"]
    assert processes.events("referee", MatchTaken)[-1].match_id == "R1M1"
    assert_kept(processes)


@pytest.mark.requirement("STATUS.end")
def test_a_player_that_was_withdrawn_ends_with_a_sentence(processes: Processes) -> None:
    manager = processes.manager(players=3, start="manual", state=processes.folder)
    player = processes.players(manager, time_scale=SCALE)
    player.said("registered as P01")
    done = processes.run("withdraw", "P01", "--manager", manager.endpoint, "--state", processes.folder)
    assert (done.returncode, player.wait(), manager.stop()) == (0, 0, 0), done.stderr
    assert player.lines[-1] == "the operator has taken this agent out of the league"


@pytest.mark.requirement("STATUS.others_not_asked")
def test_a_manager_by_others_is_asked_nothing_by_members_that_wait(tmp_path: Path) -> None:
    with Manager("documented") as manager, Processes(tmp_path) as processes:
        waiting = processes.players(manager.endpoint, count=2, time_scale=100)
        referee, last = processes.referee(manager.endpoint), processes.players(manager.endpoint, "last")
        manager.play(3)
        assert (waiting.wait(), referee.wait(), last.wait()) == (0, 0, 0)
        asked = [one for one in manager.received if one.message.get("query_type") == "GET_STATUS"]
        assert asked == []
