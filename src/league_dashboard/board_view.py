"""The board of a match, move by move, for games that have one. It is shown when the match is over, and not before.

Every board is part of the page; `board.js` shows one of them at a time, large, with buttons for the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from league.events import ResultAccepted
from league.games import registry
from league.games.contract import Board, Cells, Game
from league.games.moves import Position, course
from league_records.match_facts import MatchFacts

NO_CELLS: Cells = frozenset()


@dataclass(frozen=True, slots=True)
class BoardCell:
    """`is_new` marks a cell that the move has changed, `is_winning` one that wins the match."""

    text: str
    is_new: bool
    is_winning: bool = False


@dataclass(frozen=True, slots=True)
class BoardView:
    """The board after a move, or before the first."""

    caption: str
    rows: tuple[tuple[BoardCell, ...], ...]
    mover: str = ""
    """The player who moved, if one player did."""


@dataclass(frozen=True, slots=True)
class SeatView:
    """A player beside the board. `mark` is what its moves leave on the board, if that is always the same."""

    name: str
    mark: str


def board_views(facts: MatchFacts) -> tuple[BoardView, ...]:
    """The boards of the result in force, as far as its moves can be played."""
    game = registry.find(facts.game_type)
    if game is None or game.board is None or not isinstance(facts.result, ResultAccepted):
        return ()
    moves = facts.result.details.get("moves")
    draws = facts.result.details.get("draws", [])
    if not isinstance(moves, list) or not isinstance(draws, list):
        return ()
    return tuple(_played(game, moves, draws, facts))


def seat_views(facts: MatchFacts, boards: Sequence[BoardView]) -> tuple[SeatView, ...]:
    """Both players, the first one first."""
    seats = []
    for player in facts.players:
        marks = set()
        for board in boards:
            if board.mover == player:
                marks |= {cell.text for row in board.rows for cell in row if cell.is_new}
        # In some games a move takes something away, or leaves different things.
        mark = ""
        if len(marks) == 1:
            mark = marks.pop()
        seats.append(SeatView(facts.named(player), mark))
    return tuple(seats)


def _played(game: Game, moves: list[object], draws: list[object], facts: MatchFacts) -> Iterator[BoardView]:
    assert game.board is not None, "only games with a board come here"
    before: Board = ()
    number = 0
    # A referee may report anything: the boards end at the first move or draw that the rules reject.
    with suppress(ValueError, TypeError):
        for position in course(game.rules, moves[: game.turns], draws, facts.players):
            board = game.board(position.state)
            if not before:
                yield _view("Start", board, board)
            elif position.chance is not None:
                yield _view("Chance", board, before)
            else:
                number += 1
                yield _moved(game, position, number, facts, board, before)
            before = board


def _moved(
    game: Game,
    position: Position[Any],
    number: int,
    facts: MatchFacts,
    board: Board,
    before: Board,
) -> BoardView:
    winning = NO_CELLS
    if game.winning_cells is not None:
        winning = game.winning_cells(position.state)
    movers = [facts.players[seat] for seat in position.moves]
    chosen = [
        f"{facts.named(player)}: {choice}" for player, choice in zip(movers, position.moves.values(), strict=True)
    ]
    mover = ""
    if len(movers) == 1:
        mover = movers[0]
    return _view(f"{number}. {', '.join(chosen)}", board, before, winning, mover)


def _view(caption: str, board: Board, before: Board, winning: Cells = NO_CELLS, mover: str = "") -> BoardView:
    """The board, with marks on what differs from the one before, and on the cells that win."""
    old = {}
    for y, row in enumerate(before):
        for x, text in enumerate(row):
            old[y, x] = text
    rows = []
    for y, row in enumerate(board):
        cells = []
        for x, text in enumerate(row):
            # A board may grow: a cell that was not there was empty.
            is_new = old.get((y, x), "") != text
            cells.append(BoardCell(text, is_new, is_winning=(y, x) in winning))
        rows.append(tuple(cells))
    return BoardView(caption, tuple(rows), mover)
