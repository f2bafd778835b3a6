"""The board of a match, move by move, for games that have one. It is shown when the match is over, and not before.

Every board is part of the page; `board.js` shows one of them at a time, large, with buttons for the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from league.events import ResultAccepted
from league.games import registry
from league.games.contract import SEATS, Board, Cells, Game
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
    if not isinstance(moves, list):
        return ()
    return tuple(_played(game, moves, facts))


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


def _played(game: Game, moves: Sequence[object], facts: MatchFacts) -> Iterator[BoardView]:
    assert game.board is not None, "only games with a board come here"
    players = facts.players
    state = game.rules.start()
    board = game.board(state)
    yield _view("Start", board, board)
    for number, move in enumerate(moves[: game.turns], start=1):
        if not isinstance(move, Mapping) or not set(move) <= set(players):
            return
        choices = {}
        for player, choice in move.items():
            seat = SEATS[players.index(player)]
            choices[seat] = choice
        # A referee may report anything: the boards end at the first move that the rules reject.
        try:
            state = game.rules.play(state, choices)
        except (ValueError, TypeError):
            return
        before = board
        board = game.board(state)
        winning = NO_CELLS
        if game.winning_cells is not None:
            winning = game.winning_cells(state)
        chosen = [f"{facts.named(player)}: {choice}" for player, choice in move.items()]
        mover = ""
        if len(move) == 1:
            mover = next(iter(move))
        yield _view(f"{number}. {', '.join(chosen)}", board, before, winning, mover)


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
