"""What the players of examples/ choose."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from examples.players.climber import Climber
from examples.players.contrarian import Contrarian
from examples.players.diarist import Diarist
from examples.players.follower import BEATEN_BY, Follower
from examples.players.learner import Learner
from examples.players.perfect import LINES, Board, Perfect, marked
from examples.players.scout import Scout
from league import ChooseParityCall, LeagueQueryError, Standings, Turn
from league.protocol.message.parts import StandingsRow
from tests.unit.player.test_strategies import past

CALL = ChooseParityCall(
    protocol="league.v2",
    sender="referee:REF01",
    timestamp="2025-01-15T10:30:00Z",
    conversation_id="conv-1",
    match_id="R9M1",
    player_id="P01",
    game_type="even_odd",
    deadline="2025-01-15T10:30:30Z",
)


def turn(options: tuple[str, ...] = ("even", "odd"), chance: bytes = bytes(32), **view: Any) -> Turn:
    return Turn("any", "R9M1", "P02", options, chance, view=view)


# --- Even/Odd ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "choice"), [("even", "odd"), ("odd", "even"), (None, "odd")])
def test_the_contrarian_differs_from_the_last_number(last: str | None, choice: str) -> None:
    player = Contrarian()
    player.history = [past("even"), past("even", number_parity=last)]
    assert player.choose_parity(CALL) == choice


def test_the_contrarian_begins_with_even() -> None:
    assert Contrarian().choose_parity(CALL) == "even"


def test_the_learner_finds_out_who_alternates() -> None:
    player = Learner()
    player.history = [past("even"), past("odd"), past("even"), past("odd", opponent="P03"), past("odd")]
    assert player.guess("P02") == "even"
    assert player.move(turn()) == "odd"


def test_the_learner_finds_out_who_never_changes() -> None:
    player = Learner()
    player.history = [past("odd"), past(None), past("odd"), *[past("even", opponent="P03")] * 5]
    assert player.move(turn()) == "even"


def test_the_learner_leaves_a_first_meeting_to_chance() -> None:
    assert [Learner().move(turn(chance=bytes([byte] * 32))) for byte in (0, 1)] == ["even", "odd"]


ROW = StandingsRow(rank=1, player_id="P01", display_name="Me", played=1, wins=1, draws=0, losses=0, points=3)


@pytest.mark.parametrize(
    ("table", "choice"),
    [
        (Standings((ROW,), 1, "P01"), "odd"),
        (Standings((replace(ROW, player_id="P02"), replace(ROW, rank=2)), 1, "P01"), "even"),
        (None, "even"),
    ],
)
def test_the_climber_wants_draws_while_it_leads(table: Standings | None, choice: str) -> None:
    player = Climber()
    player.history, player.standings = [past("odd")], table
    assert player.move(turn()) == choice


def test_the_diarist_errs_once() -> None:
    player = Diarist()
    assert [player.choose_parity(CALL) for _ in range(3)] == ["Even", "even", "even"]


@pytest.mark.parametrize(("chosen", "choice"), [(["odd", "odd", "even"], "even"), ([None], "odd"), (None, "odd")])
def test_the_scout_does_the_opposite_of_what_it_finds_out(chosen: list[str | None] | None, choice: str) -> None:
    class Informed(Scout):
        async def query(self, query_type: str, **asked: Any) -> dict[str, Any]:
            assert (query_type, asked) == ("GET_PLAYER_STATS", {"player_id": "P02"})
            if chosen is None:
                raise LeagueQueryError("E009", "nobody answers")
            return {"matches": [{"choice": one} for one in chosen]}

    assert asyncio.run(Informed().move(turn())) == choice


# --- Rock-Paper-Scissors ----------------------------------------------------------------------------------------------

SHAPES = tuple(BEATEN_BY)


def test_the_follower_beats_what_was_thrown_most_often_in_this_match_and_before() -> None:
    player = Follower()
    moves = [{"P01": "rock", "P02": "paper"}, {"P01": "rock", "P02": "paper"}]
    player.history = [past("paper", game_result={"moves": moves}), past("rock", opponent="P03")]
    assert player.move(turn(SHAPES, throws=[])) == "scissors"
    throws = [{"you": "rock", "opponent": "rock"}] * 3
    assert player.move(turn(SHAPES, throws=throws)) == "paper"


def test_the_follower_survives_a_match_without_a_single_throw() -> None:
    player = Follower()
    player.history = [past(None, game_result={"moves": None}), past(None)]
    assert player.move(turn(SHAPES, throws=[])) in SHAPES


# --- Tic-Tac-Toe ------------------------------------------------------------------------------------------------------


def free(board: Board) -> list[int]:
    return [cell for cell in range(9) if not board[cell]]


def has_won(board: Board, mark: str) -> bool:
    return any(all(board[cell] == mark for cell in line) for line in LINES)


def choice(board: Board, mark: str) -> int:
    options = tuple(str(cell) for cell in free(board))
    return int(Perfect().move(turn(options, board=list(board), your_mark=mark)))


def ends(board: Board, mark: str, to_move: str) -> Iterator[Board]:
    """Every way a game against the player of this mark can end."""
    if has_won(board, "X") or has_won(board, "O") or not free(board):
        yield board
        return
    cells = [choice(board, mark)] if to_move == mark else free(board)
    for cell in cells:
        yield from ends(marked(board, cell, to_move), mark, "O" if to_move == "X" else "X")


@pytest.mark.parametrize("mark", ["X", "O"])
def test_whatever_the_opponent_does_the_perfect_player_does_not_lose(mark: str) -> None:
    ended = list(ends(("",) * 9, mark, "X"))
    assert any(has_won(board, mark) for board in ended)
    assert not any(has_won(board, "O" if mark == "X" else "X") for board in ended)


def test_a_win_at_hand_is_taken_before_a_threat_is_blocked() -> None:
    assert choice(("X", "X", "", "O", "O", "", "X", "", ""), "O") == 5


def test_a_threat_is_blocked() -> None:
    assert choice(("X", "", "", "", "O", "", "X", "", ""), "O") == 3
