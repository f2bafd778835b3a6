"""Leagues whose shape is drawn like their faults: any number of players and referees, and any share of what may go
wrong."""

from __future__ import annotations

import pytest

from league.features.lab.simulation.runs import Plan, play, play_drawn

SEEDS = range(1, 9)
"""`make test-deep` plays thousands."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_leagues_of_all_shapes_keep_their_promises(seed: int) -> None:
    plan, run = play_drawn(seed)
    assert (run.finished, run.broken) == (True, ()), plan.command(seed)


def test_shapes_differ_in_everything() -> None:
    plans = [Plan.drawn(seed) for seed in range(300)]
    assert {one.players for one in plans} >= set(range(2, 14))
    assert max(one.players for one in plans) > 15
    assert {one.referees for one in plans} == set(range(1, 7))
    assert {min(one.faults for one in plans), max(one.faults for one in plans)} == {0.0, 1.0}
    assert {min(one.dialects for one in plans), max(one.dialects for one in plans)} == {0.0, 1.0}
    assert {one.outages for one in plans} == {0.0, 1.0}
    assert {min(one.cheats for one in plans), max(one.cheats for one in plans)} == {0.0, 1.0}


def test_points_by_margin_count_also_where_reports_count_by_their_address() -> None:
    run = play(Plan(3, 3, 0.0, "cop_and_thief", trust="class"), 1)
    assert (run.finished, run.broken) == (True, ())
