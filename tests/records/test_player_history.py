"""A player's history.json: the final table has the last word, and no date is made up."""

from __future__ import annotations

import json
from typing import Any

from league import events as e
from league.features.records.shared.file_folds import _PlayerFile
from league.protocol.message.messages import LeagueStandingsUpdate
from league.protocol.message.parts import StandingsRow
from tests.support.player_rig import Rig

STALE = StandingsRow(rank=2, player_id="P01", display_name="A", played=1, wins=1, draws=0, losses=0, points=3)


def history(rig: Rig, *events: e.Event) -> dict[str, Any]:
    fold = _PlayerFile(lambda: rig.player)
    registered = e.Registered(at=50.0, agent_id="P01", league_id="spring", serial=1, derived_tokens=False)
    for event in (registered, *events):
        fold.apply(event)
    file = fold.file("", None)
    assert file is not None
    document: dict[str, Any] = json.loads(file[1])
    return document


def test_an_older_table_does_not_mix_with_the_final_one(monkeypatch: Any) -> None:
    rig = Rig()
    table = LeagueStandingsUpdate(
        protocol="league.v2", sender="league_manager", timestamp="2025-01-15T12:00:00Z", conversation_id="c",
        auth_token=None, league_id="spring", round_id=1, standings=[STALE],
    )  # fmt: skip
    monkeypatch.setattr(type(rig.player), "standings", table)
    whole = e.LeagueEnded(at=60.0, champion="P01", rank=1, points=9, played=3, wins=3, draws=0, losses=0, players=4)
    document = history(rig, whole)
    assert document["standing"] == {
        "rank": 1, "player_id": "P01", "display_name": rig.player.display_name, "played": 3, "wins": 3, "draws": 0,
        "losses": 0, "points": 9,
    }  # fmt: skip
    assert document["final"] == {"rank": 1, "points": 9, "champion_id": "P01", "players": 4}
    short = e.LeagueEnded(at=60.0, champion="P01", rank=1, points=3, players=4)
    assert history(rig, short)["standing"]["wins"] == 1


def test_a_player_without_a_match_has_the_date_of_its_last_event() -> None:
    assert history(Rig())["last_updated"] == "1970-01-01T00:00:50Z"
