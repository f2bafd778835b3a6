"""Connect Four: players drop discs into seven columns; four of one color in a row win.

The board is two numbers, one per player. Column c, row r from below is bit 7c + r; the seventh bit of each column stays
empty, so that four in a row never reach around an edge. Shifting a number by 1, 6, 7 or 8 moves all its discs by a
row, a diagonal, a column or the other diagonal: four overlapping shifts are four in a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from league.games.boards import Picture, Piece
from league.games.contract import (
    LETTERS,
    NOBODY,
    PLAYER_A,
    SEATS,
    TURN,
    BaseRules,
    Cells,
    Game,
    GameStrategy,
    Mover,
    Outcome,
    Seat,
    tie,
    win,
)
from league.games.moves import MoveWire

if TYPE_CHECKING:
    from league.player.strategies import Turn

COLUMNS: Final = 7
ROWS: Final = 6
HEIGHT: Final = ROWS + 1
"""Bits of a column: its rows, and one that stays empty."""
NAMES: Final = tuple("1234567")
DISCS: Final = ("R", "Y")
PIECES: Final = {
    "": Piece(),
    "R": Piece(shape="disc", color="red", name="red"),
    "Y": Piece(shape="disc", color="yellow", name="yellow"),
}
FULL: Final = sum(((1 << ROWS) - 1) << HEIGHT * column for column in range(COLUMNS))
BOTTOM: Final = tuple(1 << HEIGHT * column for column in range(COLUMNS))
TOP: Final = tuple(1 << HEIGHT * column + ROWS - 1 for column in range(COLUMNS))
COLUMN: Final = tuple(((1 << ROWS) - 1) << HEIGHT * column for column in range(COLUMNS))
TOP_ROW: Final = sum(TOP)
OPEN: Final = {
    sum(full): tuple(name for name, top in zip(NAMES, TOP, strict=True) if top not in full)
    for count in range(COLUMNS + 1)
    for full in combinations(TOP, count)
}
"""The columns that take another disc, by the bits of the top row."""
SHIFTS: Final = (1, HEIGHT - 1, HEIGHT, HEIGHT + 1)


def has_four(discs: int) -> bool:
    for shift in SHIFTS:
        pairs = discs & discs >> shift
        if pairs & pairs >> 2 * shift:
            return True
    return False


def dropped(filled: int, column: int) -> int:
    """The bit that a disc takes in this column of a board."""
    return (filled & COLUMN[column]) + BOTTOM[column]


class Discs(Struct, frozen=True):
    """The columns in the order in which discs were dropped, red first, and the discs of both players as bits."""

    columns: tuple[str, ...] = ()
    bits: tuple[int, int] = (0, 0)
    won: bool = False
    """The last disc made four in a row."""

    @property
    def filled(self) -> int:
        first, second = self.bits
        return first | second

    @property
    def history(self) -> tuple[dict[Seat, str], ...]:
        return tuple({place % 2: column} for place, column in enumerate(self.columns))


class ConnectFour(BaseRules):
    def start(self) -> Discs:
        return Discs()

    def to_move(self, state: Discs) -> Mover:
        if state.won or state.filled == FULL:
            return NOBODY
        return TURN[len(state.columns) % 2]

    def legal_moves(self, state: Discs, seat: Seat) -> tuple[str, ...]:
        if state.won or seat != len(state.columns) % 2:
            return ()
        first, second = state.bits
        return OPEN[(first | second) & TOP_ROW]

    def play(self, state: Discs, moves: Mapping[Seat, str]) -> Discs:
        seat = len(state.columns) % 2
        if len(moves) != 1 or seat not in moves or state.won:
            raise ValueError(f"to move: seats {self.to_move(state).seats}; moved: seats {tuple(moves)}")
        name = moves[seat]
        first, second = state.bits
        if name not in OPEN[(first | second) & TOP_ROW]:
            raise ValueError(f"seat {seat} may not play {name!r}")
        disc = dropped(first | second, int(name) - 1)
        columns = (*state.columns, name)
        if seat == PLAYER_A:
            return Discs(columns, (first | disc, second), has_four(first | disc))
        return Discs(columns, (first, second | disc), has_four(second | disc))

    def outcome(self, state: Discs) -> Outcome | None:
        if state.won:
            winner = (len(state.columns) - 1) % 2
            return win(
                winner,
                f"{{{LETTERS[winner]}}} has four in a row after {len(state.columns)} discs",
            )
        if state.filled == FULL:
            return tie("The board is full and nobody has four in a row")
        return None

    def view(self, state: Discs, seat: Seat) -> dict[str, object]:
        return {
            "your_disc": DISCS[seat],
            "board": [
                "".join(_disc(state, column, row) or "." for column in range(COLUMNS)) for row in reversed(range(ROWS))
            ],
        }


def board(state: Discs) -> Picture:
    """The top row first."""
    rows = tuple(tuple(_piece(state, column, row) for column in range(COLUMNS)) for row in reversed(range(ROWS)))
    return Picture(rows, surface="holes", columns=NAMES)


def _piece(state: Discs, column: int, row: int) -> Piece:
    return PIECES[_disc(state, column, row)]


def _disc(state: Discs, column: int, row: int) -> str:
    bit = 1 << HEIGHT * column + row
    for seat in SEATS:
        if state.bits[seat] & bit:
            return DISCS[seat]
    return ""


def winning_cells(state: Discs) -> Cells:
    """The cells of every four in a row, by row from the top and column."""
    cells = set()
    for discs in state.bits:
        for shift in SHIFTS:
            pairs = discs & discs >> shift
            starts = pairs & pairs >> 2 * shift
            for bit in range(HEIGHT * COLUMNS):
                if starts >> bit & 1:
                    cells |= {divmod(bit + step * shift, HEIGHT) for step in range(4)}
    return frozenset((ROWS - 1 - row, column) for column, row in cells)


# --- a strategy that looks ahead --------------------------------------------------------------------------------------

DEPTH: Final = 6
"""Discs that the search looks ahead."""
WON: Final = 10_000
CENTER_FIRST: Final = (3, 2, 4, 1, 5, 0, 6)
NEAR_CENTER: Final = tuple((COLUMN[column], 3 - abs(column - 3)) for column in range(COLUMNS))


def search(turn: Turn) -> str:
    """Looks six discs ahead, takes wins, stops those of the opponent, and otherwise prefers the center."""
    discs = 0
    rival_discs = 0
    for step in turn.view["history"]:
        ((_, name),) = step.items()
        # The board is always seen by the player who moves next, so both change places with every disc.
        moved = discs | dropped(discs | rival_discs, int(name) - 1)
        discs = rival_discs
        rival_discs = moved
    scores = {}
    for column in CENTER_FIRST:
        if NAMES[column] not in turn.options:
            continue
        moved = discs | dropped(discs | rival_discs, column)
        if has_four(moved):
            return NAMES[column]
        scores[NAMES[column]] = -_value(rival_discs, moved, DEPTH - 1, -WON, WON)
    best = max(scores.values())
    # Equal columns are drawn, so that two searches do not always play the same match.
    return turn.random.choice([name for name, score in scores.items() if score == best])


def _value(discs: int, rival_discs: int, depth: int, low: int, high: int) -> int:
    """What the position is worth for the player who moves; sure wins are worth more the sooner they come."""
    filled = discs | rival_discs
    if filled == FULL:
        return 0
    places = [dropped(filled, column) for column in CENTER_FIRST if not filled & TOP[column]]
    for disc in places:
        if has_four(discs | disc):
            return WON - DEPTH + depth
    if depth == 0:
        return _balance(discs) - _balance(rival_discs)
    best = -WON
    for disc in places:
        best = max(best, -_value(rival_discs, discs | disc, depth - 1, -high, -low))
        # A value above `high` is never chosen: the opponent has a better way before (alpha-beta search).
        low = max(low, best)
        if low >= high:
            break
    return best


def _balance(discs: int) -> int:
    """How near to the center discs are: more fours go through its columns."""
    return sum(weight * (discs & cells).bit_count() for cells, weight in NEAR_CENTER)


RULES: Final = ConnectFour()
RULES_TEXT: Final = (
    'Players take turns to drop a disc into one of seven columns, "1" to "7" from the left; it falls on top of the '
    "discs that are there. A column holds six discs. PLAYER_A has the red discs (R) and begins, PLAYER_B the yellow "
    "ones (Y). A player with four discs in a row, a column or a diagonal wins. If the board is full before, the match "
    "is a draw. Choose a column."
)
GAME: Final = Game(
    "connect_four",
    RULES,
    MoveWire(RULES, move_type="drop_disc", public_history=True),
    turns=ROWS * COLUMNS,
    rules_text=RULES_TEXT,
    board=board,
    winning_cells=winning_cells,
    match_seconds=300.0,
    title="Connect Four",
    strategies={"search": GameStrategy("looks six discs ahead", search)},
)
