"""What a player remembers of matches that are over."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import GameEnded
from league.player import history as history_module
from league.player.history import History, PastMatch, past_match, scanned


def ended(match_id: str = "R1M1", **changed: Any) -> GameEnded:
    event: dict[str, Any] = {
        "at": 1.0,
        "match_id": match_id,
        "attempt": 1,
        "game_type": "even_odd",
        "opponent_id": "P02",
        "status": "WIN",
        "winner": "P01",
        "game_result": {
            "status": "WIN",
            "drawn_number": 8,
            "number_parity": "even",
            "choices": {"P01": "even", "P02": "odd"},
        },
    }
    return GameEnded(**(event | changed))


def row(match_id: str = "R1M1", **changed: Any) -> PastMatch:
    return past_match(ended(match_id, **changed), "P01", "PLAYER_A")


def test_a_row_says_who_chose_what_and_what_was_drawn() -> None:
    past = row()
    assert (past.match_id, past.opponent_id, past.role, past.status, past.winner) == (
        "R1M1",
        "P02",
        "PLAYER_A",
        "WIN",
        "P01",
    )
    assert (past.my_choice, past.opponent_choice, past.drawn_number, past.number_parity) == ("even", "odd", 8, "even")


@pytest.mark.parametrize(
    ("status", "winner", "outcome"),
    [
        ("WIN", "P01", "WIN"),
        ("WIN", "P02", "LOSS"),
        ("DRAW", None, "DRAW"),
        ("TECHNICAL_LOSS", "P01", "WIN"),
        ("TECHNICAL_LOSS", "P02", "LOSS"),
        ("TECHNICAL_LOSS", None, "LOSS"),
    ],
)
def test_the_outcome_is_ours(status: str, winner: str | None, outcome: str) -> None:
    assert row(status=status, winner=winner).outcome == outcome


@pytest.mark.parametrize("result", [{}, {"choices": None}, {"choices": {"P01": None, "P02": 7}, "drawn_number": "8"}])
def test_what_a_referee_did_not_say_is_none(result: dict[str, object]) -> None:
    past = row(game_result=result)
    assert (past.my_choice, past.opponent_choice, past.drawn_number, past.number_parity) == (None, None, None, None)


def test_rows_come_in_the_order_in_which_matches_ended() -> None:
    remembered = History()
    for match_id in ("R1M1", "R2M1", "R3M1"):
        remembered.add(row(match_id))
    assert [past.match_id for past in remembered.rows()] == ["R1M1", "R2M1", "R3M1"]
    assert remembered.rows()[-1].match_id == "R3M1"
    assert [past.match_id for past in remembered.rows()[1:]] == ["R2M1", "R3M1"]


def test_a_match_played_again_has_one_row_the_newest() -> None:
    remembered = History()
    for match_id, attempt in (("R1M1", 1), ("R2M1", 1), ("R1M1", 2)):
        remembered.add(row(match_id, attempt=attempt))
    assert [(past.match_id, past.attempt) for past in remembered.rows()] == [("R2M1", 1), ("R1M1", 2)]
    assert remembered.by_match["R1M1"].attempt == 2


def test_rows_that_were_handed_out_do_not_change() -> None:
    remembered = History()
    remembered.add(row("R1M1"))
    before = remembered.rows()
    remembered.add(row("R2M1"))
    remembered.add(row("R1M1", attempt=2))
    assert [(past.match_id, past.attempt) for past in before] == [("R1M1", 1)]
    with pytest.raises(IndexError):
        before[1]


@pytest.mark.requirement("KEEPING.bounded")
def test_the_oldest_matches_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "REMEMBERED", 20)
    remembered = History()
    for number in range(1, 51):
        remembered.add(row(f"R{number}M1"))
        assert len(remembered.rows()) <= 20
    assert remembered.rows()[-1].match_id == "R50M1"
    assert "R1M1" not in remembered.by_match
    assert len(remembered.snapshot()) == len(remembered.rows())


def test_the_index_knows_exactly_the_matches_that_were_handed_out() -> None:
    remembered = History()
    handed_out = []
    for number, match_id in enumerate(("R1M1", "R2M1", "R3M1", "R2M1", "R4M1", "R1M1")):
        choices = {"P01": "even", "P02": ("even", "odd")[number % 2]}
        remembered.add(row(match_id, attempt=number + 1, game_result={"choices": choices}))
        handed_out.append(remembered.rows())
        if number % 2:  # not each time: the next one who asks finds two that are not counted yet
            assert remembered.rows().played("even_odd") == len(remembered.rows())
    for rows in handed_out:
        alone = scanned(rows[:])
        assert rows.played("even_odd") == len(rows)
        assert rows.choices("even_odd", "P02") == alone.choices("even_odd", "P02")
        assert rows.last_choice("even_odd", "P02") == rows[-1].opponent_choice
