"""Dishonest referees as real processes meet: what they say is by their word, and the players hear of it."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import ResultJudged
from tests.support.peer import Peer
from tests.support.processes import Processes

PLAYED = {"drawn_number": 4, "choices": {"P01": "even", "P02": "odd"}, "status": "WIN"}
LOST = {
    "drawn_number": None,
    "choices": {"P01": None, "P02": None},
    "status": "TECHNICAL_LOSS",
    "faults": {"P02": {"code": "E001", "phase": "move", "turn": 1, "detail": "no answer"}},
}


@pytest.mark.parametrize("details", [PLAYED, LOST], ids=["invented", "loss"])
def test_the_players_hear_of_a_match_that_its_referee_never_played(
    processes: Processes, details: dict[str, Any]
) -> None:
    """Nobody was invited. The league is over with this report, and the players stay until they have asked about it."""
    with Peer("Whistle", role="referee") as whistle:
        manager = processes.manager(players=2, league_id="cup")
        whistle.register(manager.endpoint)
        names = ("Ann", "Bo")
        players = [processes.players(manager, name, journal=processes.journal(name)) for name in names]
        whistle.saw("ROUND_ANNOUNCEMENT")
        result = {"winner": "P01", "score": {"P01": 3, "P02": 0}, "details": details}
        fields = {"league_id": "cup", "round_id": 1, "match_id": "R1M1", "game_type": "even_odd", "attempt": 1}
        whistle.call(manager.endpoint, {"message_type": "MATCH_RESULT_REPORT", **fields, "result": result})
        assert all(player.said("R1M1 against") for player in players)
        assert [player.wait() for player in players] == [0, 0]
        assert manager.stop() == 0
    (judged,) = processes.events("manager", ResultJudged)
    assert judged.evidence == "by_referee"
