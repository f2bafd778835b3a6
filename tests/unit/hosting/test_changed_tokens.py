"""The operator is told when a player that showed the right token shows another one, or none. It costs no points."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from league import events as e
from league.hosting.narration import REFUSALS
from tests.support.managed import Managed


def league_after_a_round() -> Managed:
    league = Managed(players=3, referees=1).fill()
    league.answer_all()
    league.report("R1M1")
    league.wait(1)
    league.answer_all()
    return league


def told(league: Managed, match_id: str, **changed: Any) -> str:
    """What the terminal says about a record in which a player's token is wrong."""
    deviated = {"event": "PlayerDeviated", "player_id": "P01", "code": "E011", "requirement": "TOKEN.wrong_in_answer"}
    record = Raw(json.dumps([{**deviated, **changed}]).encode())
    kept = e.MatchRecordKept(at=league.now, match_id=match_id, attempt=1, referee_id="REF01", written=record)
    league.manager.apply(kept)
    return REFUSALS[e.MatchRecordKept](league.manager, kept)


def match_of(league: Managed, player: str, *, is_over: bool) -> str:
    for match in league.manager.ledger.matches.values():
        if player in match.players and (match.result is not None) == is_over:
            return match.match_id
    raise AssertionError(f"{player} has no such match")


def test_a_token_that_changes_is_told() -> None:
    league = league_after_a_round()
    player = league.manager.ledger.matches["R1M1"].player_a
    sentence = told(league, match_of(league, player, is_over=False), player_id=player)
    assert f"{player} " in sentence
    assert "showed the right token before, and now a wrong one or none" in sentence


def test_a_player_that_never_showed_one_is_a_deviation_and_no_news() -> None:
    league = league_after_a_round()
    player = league.manager.ledger.matches["R1M1"].player_a
    assert told(league, "R1M1", player_id=player) == ""
    # It had none, and now it shows a wrong one: it never was right.
    assert told(league, match_of(league, player, is_over=False), player_id=player, code="E012") == ""


@pytest.mark.parametrize(
    "changed", [{"player_id": 7}, {"player_id": "P99"}, {"requirement": ["TOKEN.wrong_in_answer"]}]
)
def test_records_of_any_shape_are_read(changed: dict[str, Any]) -> None:
    league = league_after_a_round()
    assert told(league, "R1M1", **changed) == ""
