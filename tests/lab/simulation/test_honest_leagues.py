"""Where everybody is honest and nothing fails, every result is proven, and no player objects."""

from __future__ import annotations

import pytest

from league.events import GameEnded, ResultJudged
from league.features.lab.simulation.runs import Plan


@pytest.mark.parametrize("game_type", ["even_odd", "tic_tac_toe", "connect_four", "kuhn_poker", "rock_paper_scissors"])
def test_every_result_is_proven_and_nobody_objects(game_type: str) -> None:
    evidence = Plan(players=3, referees=1, faults=0.0, game_type=game_type).world(seed=1).run()
    told = [event for history in evidence.players.values() for event in history if isinstance(event, GameEnded)]
    assert [event.objection for event in told] == [""] * 6
    judged = [event.evidence for event in evidence.manager if isinstance(event, ResultJudged)]
    assert judged == ["proven"] * 3
