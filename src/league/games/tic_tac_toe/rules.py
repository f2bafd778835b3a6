"""Tic-tac-toe: PLAYER_A marks X and begins; three in a row win, and a full board without a winner is a draw.

The cells are "0" to "8", row by row from the top left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from league.games.contract import (
    NOBODY,
    PLAYER_A,
    SEATS,
    TURN,
    Board,
    Mover,
    Outcome,
    Seat,
    WithoutChance,
    require_legal,
)

CELLS: Final = tuple("012345678")
LINES: Final = ("012", "345", "678", "036", "147", "258", "048", "246")
MARKS: Final = ("X", "O")


@dataclass(frozen=True, slots=True)
class Marked:
    """The cells in the order in which they were marked, X first."""

    cells: tuple[str, ...] = ()

    def by(self, seat: Seat) -> frozenset[str]:
        # X has the even places, O the odd ones.
        return frozenset(self.cells[seat::2])


class TicTacToe(WithoutChance):
    def start(self) -> Marked:
        return Marked()

    def to_move(self, state: Marked) -> Mover:
        if self.outcome(state):
            return NOBODY
        return TURN[len(state.cells) % 2]

    def legal_moves(self, state: Marked, seat: Seat) -> tuple[str, ...]:
        if seat not in self.to_move(state).seats:
            return ()
        return tuple(cell for cell in CELLS if cell not in state.cells)

    def play(self, state: Marked, moves: Mapping[Seat, str]) -> Marked:
        require_legal(self, state, moves)
        return Marked((*state.cells, *moves.values()))

    def outcome(self, state: Marked) -> Outcome | None:
        for seat in SEATS:
            for line in LINES:
                if state.by(seat).issuperset(line):
                    name = "{A}" if seat == PLAYER_A else "{B}"
                    return Outcome(seat, f"{name} has {MARKS[seat]} in the cells {', '.join(line)}")
        if len(state.cells) == len(CELLS):
            return Outcome(None, "The board is full and nobody has three in a row")
        return None

    def view(self, state: Marked, seat: Seat) -> dict[str, object]:
        # Players get the board as one list of nine cells; pages get it in rows.
        cells = [text for row in self.board(state) for text in row]
        return {"your_mark": MARKS[seat], "board": cells}

    def board(self, state: Marked) -> Board:
        marks = {cell: MARKS[place % 2] for place, cell in enumerate(state.cells)}
        texts = tuple(marks.get(cell, "") for cell in CELLS)
        return texts[0:3], texts[3:6], texts[6:9]
