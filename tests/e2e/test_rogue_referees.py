"""Dishonest referees as real processes meet: what they say is protested against, seen by the operator, and audited."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league.events import ProtestMade, ProtestReceived, ResultAccepted
from tests.support.peer import Peer
from tests.support.processes import Processes

PLAYED = {"drawn_number": 4, "choices": {"P01": "even", "P02": "odd"}, "status": "WIN"}
LOST = {
    "drawn_number": None,
    "choices": {"P01": None, "P02": None},
    "status": "TECHNICAL_LOSS",
    "faults": {"P02": {"code": "E001", "phase": "move", "turn": 1, "detail": "no answer"}},
}


@pytest.mark.requirement("PROTEST.player")
@pytest.mark.parametrize("details", [PLAYED, LOST], ids=["invented", "loss"])
def test_a_match_that_its_referee_never_played_is_protested_and_everybody_sees_it(
    processes: Processes, details: dict[str, Any]
) -> None:
    """Nobody was invited. The league is over with this report, and the players stay until they have protested."""
    with Peer("Whistle", role="referee") as whistle:
        manager = processes.manager(players=2, league_id="cup")
        whistle.register(manager.endpoint)
        names = ("Ann", "Bo")
        players = [processes.players(manager, name, journal=processes.journal(name)) for name in names]
        whistle.saw("ROUND_ANNOUNCEMENT")
        result = {"winner": "P01", "score": {"P01": 3, "P02": 0}, "details": details}
        fields = {"league_id": "cup", "round_id": 1, "match_id": "R1M1", "game_type": "even_odd", "attempt": 1}
        whistle.call(manager.endpoint, {"message_type": "MATCH_RESULT_REPORT", **fields, "result": result})
        assert all(player.said("R1M1: you protested to the manager: nobody invited us") for player in players)
        assert manager.said("R1M1: player P01")
        assert manager.said("R1M1: player P02")
        assert [player.wait() for player in players] == [0, 0]
        assert manager.stop() == 0
    received = processes.events("manager", ProtestReceived)
    assert {(protest.player_id, protest.attempt) for protest in received} == {("P01", 1), ("P02", 1)}
    assert all(len(processes.events(name, ProtestMade)) == 1 for name in names)
    (accepted,) = processes.events("manager", ResultAccepted)
    assert accepted.evidence in ("by_referee", "loss_by_referee")
    document = json.loads(processes.run("verify", processes.folder, "--json").stdout)
    assert {protest["player_id"] for protest in document["protests"]} == {"P01", "P02"}
    assert "protested  R1M1: P01 says: nobody invited us" in processes.run("verify", processes.folder).stdout
