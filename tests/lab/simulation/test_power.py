"""Power cuts in simulated leagues: whoever comes back in time loses nothing."""

from __future__ import annotations

import pytest

from league.features.audit.promises import check
from league.features.audit.promises.grounds.event_history import has_technical_loss
from league.features.lab.simulation.runs import Plan


@pytest.mark.requirement("OUTAGE.many")
@pytest.mark.parametrize("after_s", [8.0, 20.0, 31.0])
@pytest.mark.parametrize(
    ("players", "gone", "manager_too", "dark_s"),
    [(8, 8, False, 80.0), (9, 3, False, 60.0), (8, 4, True, 80.0), (6, 1, False, 40.0)],
    ids=["all", "a third", "half, and the manager", "one alone"],
)
def test_players_that_are_gone_for_a_minute_lose_nothing(
    players: int, gone: int, manager_too: bool, dark_s: float, after_s: float
) -> None:
    world = Plan(players=players, faults=0.0).world(int(after_s))
    nodes = [*world.players[:gone], *([world.manager] if manager_too else [])]
    world.agenda.after(after_s, lambda: world.power.cut(nodes, dark_s))
    evidence = world.run()
    assert evidence.finished
    assert not has_technical_loss(evidence.manager)
    assert check(evidence).broken == []
