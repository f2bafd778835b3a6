"""The contract of a game: whose turn it is, what is legal, how it ends, what each player sees, and its wire fields.

Theory of operation. A game has two halves. Its `Rules` are pure functions of a state that only the game understands;
its `Wire` writes that state into messages and judges the details that a referee reports.

The referee drives a match with the rules. `to_move` names the next mover: one seat, both seats at once, chance, or
nobody. The referee collects legal moves and calls `play`, or draws a number and calls `draw`, until `outcome` is not
None. Everybody else (the manager, an audit, a page) sees only the reported details, and asks `Wire.verdict` what
those details say about the winner.

What must never happen: a game reads no clock, draws no number and does no I/O. Moves and drawn numbers are passed in,
so the same ones always lead to the same state. Otherwise a match could not be replayed, and a report not be checked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import (
    Any,
    Final,
    Literal,
    Protocol,
    TypeVar,
)

from msgspec import Struct

Seat = Literal[0, 1]
Measure = Literal["rating", "points"]
"""How to measure skill: by a rating, or by points alone in games where decided matches are coin tosses."""
Players = tuple[str, str]
"""The ids of PLAYER_A and PLAYER_B, indexed by seat."""

Board = tuple[tuple[str, ...], ...]
"""The text of each cell, row by row; empty for an empty cell."""

PLAYER_A: Final[Seat] = 0
PLAYER_B: Final[Seat] = 1
SEATS: Final[tuple[Seat, Seat]] = (PLAYER_A, PLAYER_B)

WIN_POINTS: Final = 3
DRAW_POINTS: Final = 1
LOSS_POINTS: Final = 0

# Shared by all calls, so nobody may change it.
NOTHING_PENDING: Final[Mapping[Seat, str]] = {}

State = TypeVar("State")
StateIn = TypeVar("StateIn", contravariant=True)


def opponent(seat: Seat) -> Seat:
    return PLAYER_B if seat == PLAYER_A else PLAYER_A


def points(winner: Seat | None) -> tuple[int, int]:
    """The points of PLAYER_A and PLAYER_B; no winner means a draw."""
    if winner is None:
        return DRAW_POINTS, DRAW_POINTS
    if winner == PLAYER_A:
        return WIN_POINTS, LOSS_POINTS
    return LOSS_POINTS, WIN_POINTS


@dataclass(frozen=True, slots=True)
class Mover:
    """The next to move. `seats` holds one seat, or both when they move at once; none for chance and nobody."""

    kind: Literal["players", "chance", "nobody"]
    seats: tuple[Seat, ...] = ()


TURN: Final[tuple[Mover, Mover]] = (Mover("players", (PLAYER_A,)), Mover("players", (PLAYER_B,)))
"""TURN[seat]: only that seat moves."""
BOTH: Final = Mover("players", SEATS)
CHANCE: Final = Mover("chance")
NOBODY: Final = Mover("nobody")


class Outcome(Struct, frozen=True):
    """How a game ended. `reason` names the players as {A} and {B}; `explanation` fills in their ids."""

    winner: Seat | None
    reason: str

    def explanation(self, players: Players) -> str:
        return self.reason.format(A=players[PLAYER_A], B=players[PLAYER_B])


class Verdict(Struct, frozen=True):
    """What the details of a reported result say about the winner (R-10).

    confirmed     the game was played to its end, and `winner` won it (None: a draw)
    technical     the game was not played to its end; only the report can say who won by the other's fault
    insufficient  the details do not decide the match; if `implied`, they still point at `winner`
    impossible    no match between these two players has such details
    """

    kind: Literal["confirmed", "technical", "insufficient", "impossible"]
    winner: Seat | None
    note: str
    implied: bool = False

    def contradicts(self, reported: Seat | None) -> bool:
        """Whether a report that names this winner cannot be true."""
        if self.kind == "impossible":
            return True
        is_binding = self.kind == "confirmed" or self.implied
        return is_binding and reported != self.winner


class Rules(Protocol[State]):
    """The rules of a game, as pure functions of its state."""

    def start(self) -> State: ...

    def to_move(self, state: State) -> Mover: ...

    def legal_moves(self, state: State, seat: Seat) -> tuple[str, ...]:
        """The moves that this seat may play now; empty when it is not its turn."""
        ...

    def play(self, state: State, moves: Mapping[Seat, str]) -> State:
        """Play the moves of exactly the seats to move. Raises ValueError for an illegal move: callers check first."""
        ...

    def draw(self, state: State, number: int) -> State:
        """Let chance move: `number` was drawn, from 1 to 10. Raises ValueError when it is not chance's turn."""
        ...

    def outcome(self, state: State) -> Outcome | None: ...

    def view(self, state: State, seat: Seat) -> dict[str, object]:
        """What this player may see now, as JSON."""
        ...


class Wire(Protocol[StateIn]):
    """A game's own fields and types on the wire, as plain dicts that JSON can hold.

    `pending` holds the valid choices received so far in a phase that is still open. They are not part of the state,
    but after a technical loss they are shown (R-09).
    """

    @property
    def response_type(self) -> str: ...

    @property
    def move_type(self) -> str: ...

    @property
    def illegal_move(self) -> str:
        """The error code of an illegal move."""
        ...

    def move_request(self, state: StateIn, seat: Seat) -> dict[str, object] | None:
        """`move_request` of GAME_MOVE_CALL (R-38); None for a game whose call has no such field."""
        ...

    def game_result(
        self, state: StateIn, players: Players, technical: bool, pending: Mapping[Seat, str] = NOTHING_PENDING
    ) -> dict[str, object]:
        """The game's own part of GAME_OVER's `game_result`; always with `choices`."""
        ...

    def details(
        self, state: StateIn, players: Players, technical: bool, pending: Mapping[Seat, str] = NOTHING_PENDING
    ) -> dict[str, object]:
        """The game's own part of MATCH_RESULT_REPORT's `result.details`; always with `choices`."""
        ...

    def verdict(self, details: Mapping[str, object], players: Players) -> Verdict:
        """Judge reported details, which anybody may have written; missing details are an empty mapping."""
        ...


@dataclass(frozen=True, slots=True)
class Game:
    """A game, as the registry holds it."""

    name: str
    # Any: only a game's own rules and wire know the type of its state.
    rules: Rules[Any]
    wire: Wire[Any]
    turns: int
    """The largest number of choice phases a match can have; it bounds the referee's lease (R-52)."""
    measure: Measure = "rating"
    rules_text: str = ""
    """The rules in a few sentences, for players."""
    board: Callable[[Any], Board] | None = None
    """Draws a state, for games that have a board; the page of a match shows the board after each move."""

    def __post_init__(self) -> None:
        if not self.name or self.turns < 1:
            raise ValueError(f"a game needs a name and at least one turn, not {self.name!r} and {self.turns}")


class WithoutChance:
    """Base of the rules of games without chance."""

    def draw(self, state: State, number: int) -> State:
        raise ValueError("no number is drawn in this game")


def require_legal(
    rules: Rules[State],
    state: State,
    moves: Mapping[Seat, str],
) -> None:
    """Raise ValueError unless exactly the seats to move have moved, each with a legal move."""
    seats = rules.to_move(state).seats
    if not seats or set(moves) != set(seats):
        raise ValueError(f"to move: seats {seats}; moved: seats {tuple(moves)}")
    # Both moves are checked against the state before either is played.
    for seat, move in moves.items():
        if move not in rules.legal_moves(state, seat):
            raise ValueError(f"seat {seat} may not play {move!r}")
