"""Whole leagues in virtual time with players that understand one way of calling only (spec section 13.1)."""

from __future__ import annotations

import pytest

from league.features.lab.simulation.runs import Plan, play
from league.features.lab.simulation.world import World
from league.protocol.conventions import Convention

REFEREES = ("referee-1", "referee-2")


@pytest.mark.requirement("DIALECT.finds_out")
@pytest.mark.parametrize("seed", range(1, 9))
def test_without_faults_nobody_loses_for_how_it_speaks(seed: int) -> None:
    run = play(Plan(6, 2, faults=0.0, dialects=1.0), seed)
    assert (run.finished, run.matches, run.technical_losses, run.broken) == (True, 15, 0, ())


@pytest.mark.parametrize("seed", range(10, 22))
def test_every_promise_is_kept_also_when_much_goes_wrong(seed: int) -> None:
    run = play(Plan(6, 2, faults=0.2, dialects=0.8), seed)
    assert (run.finished, run.broken) == (True, ())


def test_players_of_every_convention_take_part() -> None:
    plan = Plan(30, 2, faults=0.0, dialects=1.0)
    world = World(plan.settings(7), 7, 0.0, dialects=1.0)
    assert {one.habits.speaks for one in world.players} == set(Convention)


@pytest.mark.slow
def test_some_of_them_post_their_answers() -> None:
    plan = Plan(12, 2, faults=0.0, dialects=1.0)
    world = World(plan.settings(7), 7, 0.0, dialects=1.0)
    assert {one.habits.posts for one in world.players} == {True, False}
    traffic = world.run().traffic
    assert traffic is not None
    posted = {one.message["message_type"] for one in traffic if one.receiver_node in REFEREES and one.message}
    assert {"GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"} <= posted
