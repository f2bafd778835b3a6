"""Players whose first registration answer was lost, and that register again while their match is played."""

from __future__ import annotations

import pytest

from league import events as e
from league.features.lab.simulation.runs import Plan
from league.features.lab.simulation.world import unknown_to_referees


@pytest.mark.parametrize(
    ("seed", "plan"), [(910_184, Plan(faults=0.2)), (930_017, Plan(dialects=0.5)), (930_055, Plan(dialects=0.5))]
)
def test_under_a_referee_that_asks_nobody_loses_for_a_token(seed: int, plan: Plan) -> None:
    world = plan.world(seed)
    evidence = world.run()
    assert any(isinstance(event, e.TokenTakenUp) for event in evidence.manager)
    results = [event for event in evidence.manager if isinstance(event, e.ResultAccepted) and event.match_id == "R1M4"]
    assert [result.status for result in results] != ["TECHNICAL_LOSS"]


@pytest.mark.parametrize(("asks", "unknown"), [(True, set()), (False, {"P01"})])
def test_under_a_referee_that_does_not_ask_a_new_token_may_cost_the_match(asks: bool, unknown: set[str]) -> None:
    referee = e.AgentRegistered(
        at=1.0,
        role="referee",
        agent_id="REF01",
        display_name="Referee",
        version="1",
        endpoint="http://127.0.0.1:8001/mcp",
        origin="127.0.0.1",
        game_types=("even_odd",),
        serial=1,
        verify="",
        asks_before_losses=asks,
    )
    schedule = e.ScheduleMade(at=1.0, rounds=((e.Pairing("R1M1", "P01", "P02"),),), byes=(None,))
    assigned = e.MatchAssigned(at=2.0, match_id="R1M1", referee_id="REF01", attempt=1)
    taken_up = e.TokenTakenUp(at=3.0, agent_id="P01", serial=2)
    assert unknown_to_referees([referee, schedule, assigned, taken_up]) == unknown
    assert unknown_to_referees([referee, schedule, taken_up, assigned]) == set()
