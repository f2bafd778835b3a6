"""Tic-tac-toe: PLAYER_A marks X and begins; three in a row win, and a full board without a winner is a draw.

The cells are "0" to "8", row by row from the top left. A state also has the cells of each player as the bits of a
number: whether somebody has won is then one look into a table, made once for all 512 sets of cells.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from league.games.boards import Board, Piece
from league.games.contract import (
    LETTERS,
    NOBODY,
    PLAYER_A,
    SEATS,
    TURN,
    BaseRules,
    Cells,
    Mover,
    Outcome,
    Seat,
    tie,
    win,
)

CELLS: Final = tuple("012345678")
LINES: Final = ("012", "345", "678", "036", "147", "258", "048", "246")
MARKS: Final = ("X", "O")
PIECES: Final = {
    "": Piece(),
    "X": Piece(shape="cross", color="blue", name="X"),
    "O": Piece(shape="ring", color="red", name="O"),
}
ALL: Final = 0b111_111_111
SETS: Final = range(ALL + 1)


def _bits(line: str) -> int:
    return sum(1 << int(cell) for cell in line)


COMPLETE: Final = tuple(next((line for line in LINES if cells & _bits(line) == _bits(line)), "") for cells in SETS)
"""For each set of cells, the first line in it; empty if there is none."""
FREE: Final = tuple(tuple(cell for cell in CELLS if not cells & _bits(cell)) for cells in SETS)
"""For each set of marked cells, the others."""
BIT: Final = {cell: _bits(cell) for cell in CELLS}


class Marked(Struct, frozen=True):
    """The cells in the order in which they were marked, X first, and those of each player as bits."""

    cells: tuple[str, ...] = ()
    bits: tuple[int, int] = (0, 0)

    @property
    def history(self) -> tuple[dict[Seat, str], ...]:
        return tuple({place % 2: cell} for place, cell in enumerate(self.cells))

    @property
    def marks(self) -> list[str]:
        """The marks in the nine cells."""
        marks = [""] * len(CELLS)
        for place, cell in enumerate(self.cells):
            marks[int(cell)] = MARKS[place % 2]
        return marks

    @property
    def is_over(self) -> bool:
        first, second = self.bits
        return bool(COMPLETE[first] or COMPLETE[second]) or first | second == ALL


class TicTacToe(BaseRules):
    def start(self) -> Marked:
        return Marked()

    def to_move(self, state: Marked) -> Mover:
        if state.is_over:
            return NOBODY
        return TURN[len(state.cells) % 2]

    def legal_moves(self, state: Marked, seat: Seat) -> tuple[str, ...]:
        if seat != len(state.cells) % 2 or state.is_over:
            return ()
        first, second = state.bits
        return FREE[first | second]

    def play(self, state: Marked, moves: Mapping[Seat, str]) -> Marked:
        seat = len(state.cells) % 2
        if len(moves) != 1 or seat not in moves or state.is_over:
            raise ValueError(f"to move: seats {self.to_move(state).seats}; moved: seats {tuple(moves)}")
        cell = moves[seat]
        first, second = state.bits
        bit = BIT.get(cell, ALL)
        if bit & (first | second) or cell not in BIT:
            raise ValueError(f"seat {seat} may not play {cell!r}")
        bits = (first | bit, second) if seat == PLAYER_A else (first, second | bit)
        return Marked((*state.cells, cell), bits)

    def outcome(self, state: Marked) -> Outcome | None:
        for seat in SEATS:
            line = COMPLETE[state.bits[seat]]
            if line:
                return win(seat, f"{{{LETTERS[seat]}}} has {MARKS[seat]} in the cells {', '.join(line)}")
        if len(state.cells) == len(CELLS):
            return tie("The board is full and nobody has three in a row")
        return None

    def view(self, state: Marked, seat: Seat) -> dict[str, object]:
        # Players get the board as one list of nine cells; pages get it in rows.
        return {"your_mark": MARKS[seat], "board": state.marks}

    def board(self, state: Marked) -> Board:
        marks = tuple(PIECES[mark] for mark in state.marks)
        return marks[0:3], marks[3:6], marks[6:9]

    def winning_cells(self, state: Marked) -> Cells:
        """The cells of every complete line, by row and column: the last mark may complete two."""
        cells = set()
        for bits in state.bits:
            for line in LINES:
                if bits & _bits(line) == _bits(line):
                    cells |= {divmod(int(cell), 3) for cell in line}
        return frozenset(cells)
