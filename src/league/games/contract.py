"""The contract of a game: whose turn it is, what is legal, how it ends, what each player sees, and its wire fields.

Theory of operation. A game has two halves. Its `Rules` are pure functions of a state that only the game understands;
its `Wire` writes that state into messages and judges the details that a referee reports.

The referee drives a match with the rules. `to_move` names the next mover: one seat, several at once, chance, or
nobody. The referee collects legal moves and calls `play`, or draws a number and calls `draw`, until `outcome` is not
None. An outcome has one number per seat, its `returns`; the game's `Scoring` turns them into points. Everybody else
(the manager, an audit, a page) sees only the reported details, and asks `Wire.verdict` what those details say.

What must never happen: a game reads no clock, draws no number and does no I/O. Moves and drawn numbers are passed in,
so the same ones always lead to the same state. Otherwise a match could not be replayed, and a report not be checked.
And no view shows a player what it may not know: a secret is left out of `view` until the game is over.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Any,
    Final,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
)

from msgspec import Struct

from league.games.boards import Board as Board
from league.games.boards import Picture

Seat = int
Measure = Literal["rating", "points", "margin"]
"""How to measure skill: by a rating, by points alone where decided matches are coin tosses, or by the margin."""
Players = tuple[str, ...]
"""The ids of the players, indexed by seat: PLAYER_A first. Matches of league.v2 have two."""

Cells = frozenset[tuple[int, int]]
"""Cells of a board, by row and column from the top left."""

PLAYER_A: Final[Seat] = 0
PLAYER_B: Final[Seat] = 1
SEATS: Final[tuple[Seat, Seat]] = (PLAYER_A, PLAYER_B)
LETTERS: Final = "ABCDEFGH"
"""What reasons and histories call the seats."""

WIN_POINTS: Final = 3
DRAW_POINTS: Final = 1
LOSS_POINTS: Final = 0
LONGEST_TALK: Final = 500
USUAL_MOVE_S: Final = 30.0
"""The time for a choice in which the clocks of games are given."""
FINEST_WEIGHT: Final = 2**40
"""Probabilities that are not whole numbers are rounded to multiples of one part in this many."""

# Shared by all calls, so nobody may change it.
NOTHING_PENDING: Final[Mapping[Seat, str]] = {}

State = TypeVar("State")
StateIn = TypeVar("StateIn", contravariant=True)


def opponent(seat: Seat) -> Seat:
    return PLAYER_B if seat == PLAYER_A else PLAYER_A


# --- movers and chance ------------------------------------------------------------------------------------------------


class Mover(Struct, frozen=True):
    """The next to move.

    `seats` holds the seats that move at once; it is empty for chance and nobody. `weights` says how likely each event
    of a chance step is: event number i has weights[i] of their sum. Without weights, chance draws a number from 1 to
    10, each as likely as the others, as in Even/Odd.
    """

    kind: Literal["players", "chance", "nobody"]
    seats: tuple[Seat, ...] = ()
    weights: tuple[int, ...] = ()


TURN: Final[tuple[Mover, ...]] = tuple(Mover("players", (seat,)) for seat in range(len(LETTERS)))
"""TURN[seat]: only that seat moves."""
BOTH: Final = Mover("players", SEATS)
CHANCE: Final = Mover("chance")
NOBODY: Final = Mover("nobody")


def chance(weights: Sequence[float]) -> Mover:
    """Let chance draw the number of an event, from 0. Event i is as likely as weights[i] in their sum."""
    # Sums of fractions differ between machines; whole numbers are the same everywhere.
    if any(isinstance(weight, float) for weight in weights):
        weights = [round(weight * FINEST_WEIGHT) for weight in weights]
    return Mover("chance", weights=tuple(int(weight) for weight in weights))


class ChanceStep(NamedTuple):
    """One draw of a match: how likely the events were, and the number of the one that was drawn."""

    weights: tuple[int, ...]
    number: int


# --- outcomes and points ----------------------------------------------------------------------------------------------


class Outcome(Struct, frozen=True):
    """How a game ended: one number per seat, the more the better, and a reason.

    The reason names the players as {A} and {B}; `explanation` fills in their ids. `win` and `tie` make the outcomes of
    games that are only won, drawn or lost.
    """

    returns: tuple[float, ...]
    reason: str

    @property
    def winner(self) -> Seat | None:
        """The seat that got more than every other one."""
        # Two seats are compared directly: this runs once in every match of a tournament.
        if len(self.returns) == len(SEATS):
            first, second = self.returns
            if first == second:
                return None
            return PLAYER_A if first > second else PLAYER_B
        best = max(self.returns)
        return self.returns.index(best) if self.returns.count(best) == 1 else None

    def explanation(self, players: Players) -> str:
        return self.reason.format(**dict(zip(LETTERS, players, strict=False)))


_WON: Final[tuple[tuple[float, float], tuple[float, float]]] = ((1.0, -1.0), (-1.0, 1.0))


def win(seat: Seat, reason: str) -> Outcome:
    """The outcome of a game that this seat has won."""
    return Outcome(_WON[seat], reason)


def tie(reason: str) -> Outcome:
    """The outcome of a game that nobody has won."""
    return Outcome((0.0, 0.0), reason)


def points(winner: Seat | None) -> tuple[int, int]:
    """The league points of PLAYER_A and PLAYER_B; no winner means a draw."""
    if winner is None:
        return DRAW_POINTS, DRAW_POINTS
    if winner == PLAYER_A:
        return WIN_POINTS, LOSS_POINTS
    return LOSS_POINTS, WIN_POINTS


class Scoring(Struct, frozen=True):
    """How returns become points in the table: see LEAGUE_POINTS and `margin`."""

    by_margin: bool = False
    worst: float = 0.0
    best: float = 0.0
    unit: float = 1.0

    @property
    def most(self) -> int:
        """The most points of a match: they go to the winner of a technical loss."""
        if not self.by_margin:
            return WIN_POINTS
        return round((self.best - self.worst) / self.unit)

    def return_of(self, points: float) -> float:
        """Return what was won, in a game scored by its margin."""
        return points * self.unit + self.worst

    def points(self, winner: Seat | None, technical: bool, returns: Sequence[float] = ()) -> tuple[int, int]:
        """The points of both seats. Two players at fault get none."""
        if technical and winner is None:
            return LOSS_POINTS, LOSS_POINTS
        if not self.by_margin:
            return points(winner)
        if returns and not technical:
            first, second = (round((value - self.worst) / self.unit) for value in returns)
            return first, second
        # Nobody knows the margin: it counts as the largest one, or as none.
        if winner is None:
            return self.most // 2, self.most // 2
        if winner == PLAYER_A:
            return self.most, LOSS_POINTS
        return LOSS_POINTS, self.most


LEAGUE_POINTS: Final = Scoring()
"""3 points for a win, 1 each for a draw, whatever the returns are."""


def margin(worst: float, best: float, unit: float = 1.0) -> Scoring:
    """Score by returns, from `worst` to `best`: the worst gives 0 points, and every unit more another point."""
    if best <= worst or unit <= 0:
        raise ValueError(f"returns go from worst to best in units above 0, not {worst} to {best} in units of {unit}")
    return Scoring(by_margin=True, worst=worst, best=best, unit=unit)


class Verdict(Struct, frozen=True):
    """What the details of a reported result say about the winner (R-10).

    confirmed     the game was played to its end, and `winner` won it (None: a draw)
    technical     the game was not played to its end; only the report can say who won by the other's fault
    insufficient  the details do not decide the match; if `implied`, they still point at `winner`
    impossible    no match between these two players has such details

    `draws` are the chance steps in the details, to be held against the seed, and `returns` those of a confirmed game.
    """

    kind: Literal["confirmed", "technical", "insufficient", "impossible"]
    winner: Seat | None
    note: str
    implied: bool = False
    returns: tuple[float, ...] = ()
    draws: tuple[ChanceStep, ...] = ()

    def contradicts(self, reported: Seat | None) -> bool:
        """Whether a report that names this winner cannot be true."""
        if self.kind == "impossible":
            return True
        is_binding = self.kind == "confirmed" or self.implied
        return is_binding and reported != self.winner


# --- the two halves of a game -----------------------------------------------------------------------------------------


class Rules(Protocol[State]):
    """The rules of a game, as pure functions of its state. `BaseRules` has defaults for `draw`, `accepts`, `role`."""

    def start(self) -> State: ...

    def to_move(self, state: State) -> Mover: ...

    def legal_moves(self, state: State, seat: Seat) -> tuple[str, ...]:
        """The moves that this seat may play now; empty when it is not its turn."""
        ...

    def play(self, state: State, moves: Mapping[Seat, str]) -> State:
        """Play the moves of exactly the seats to move. Raises ValueError for an illegal move: callers check first."""
        ...

    def draw(self, state: State, number: int) -> State:
        """Let chance move: the event of this number was drawn. Raises ValueError when it is not chance's turn."""
        ...

    def outcome(self, state: State) -> Outcome | None: ...

    def view(self, state: State, seat: Seat) -> dict[str, object]:
        """What this player may see now, as JSON."""
        ...

    def accepts(self, state: State, seat: Seat, move: str) -> bool:
        """Whether this seat may also play a move that `legal_moves` does not list, such as an offer in free words."""
        ...

    def role(self, state: State, seat: Seat) -> str:
        """The role of this seat now, such as "cop"; empty in games without roles."""
        ...


class BaseRules:
    """Base of the rules of a game: without chance, without free moves, without roles, unless a game says otherwise."""

    def draw(self, state: Any, number: int) -> Any:
        raise ValueError("no number is drawn in this game")

    def accepts(self, state: Any, seat: Seat, move: str) -> bool:
        return False

    def role(self, state: Any, seat: Seat) -> str:
        return ""


class Wire(Protocol[StateIn]):
    """A game's own fields and types on the wire, as plain dicts that JSON can hold.

    `pending` holds the valid choices received so far in a phase that is still open. They are not part of the state,
    but after a technical loss they are shown (R-09). Fields that the protocol does not know travel untouched, and come
    back to `verdict`.
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


class GameStrategy(NamedTuple):
    """A strategy that plays one game: `choose` takes a `league.player.strategies.Turn` and returns the choice."""

    about: str
    choose: Callable[[Any], str]


class Game(Struct, frozen=True):
    """A game, as the registry holds it."""

    name: str
    # Any: only a game's own rules and wire know the type of its state.
    rules: Rules[Any]
    wire: Wire[Any]
    turns: int
    """The largest number of choice phases a match can have."""
    measure: Measure = "rating"
    single_draw_last: bool = False
    """True if every match has exactly one draw, and it comes after the last choice, as in Even/Odd."""
    rules_text: str = ""
    """The rules in a few sentences, for players."""
    board: Callable[[Any], Board | Picture] | None = None
    """Draws a state, for games that have a board; the page of a match shows the board after each move."""
    leader: Callable[[Any], Seat | None] | None = None
    """The seat that is ahead in a state, for games in which somebody can be; None if nobody is."""
    winning_cells: Callable[[Any], Cells] | None = None
    """The cells of the board that win the match in a state, such as three in a row; none if nobody has won there."""
    public: bool | None = None
    """True if nothing is hidden, so that everybody may follow a match: its draws, and the moves of each turn when it is
    over. None: as `public_history` of the wire says."""
    public_board: Callable[[Any], Board | Picture] | None = None
    """Draws what everybody may see of a state, for games that hide something from a player."""
    scoring: Scoring = LEAGUE_POINTS
    move_format: str = ""
    """Says what else a player may write beside the options, in games whose rules accept moves in free words."""
    talk: int = 0
    """The longest line, in characters, that a player may say to the other one with its move; 0 for silence."""
    match_seconds: float | None = None
    """The time a player has for all its choices of a match, in a league of 30 seconds a move; it grows and shrinks with
    the league's own `move_seconds`. None: every choice may take as long as the league allows."""
    title: str = ""
    """The name for people; made of `name` if it is empty."""
    seats: int = 2
    strategies: Mapping[str, GameStrategy] = {}
    """Strategies that come with the game, by the name that `--strategy` takes."""

    def __post_init__(self) -> None:
        if not self.name or self.turns < 1:
            raise ValueError(f"a game needs a name and at least one turn, not {self.name!r} and {self.turns}")
        if not 0 <= self.talk <= LONGEST_TALK:
            raise ValueError(f"a line of talk has 0 to {LONGEST_TALK} characters, not {self.talk}")
        if not hasattr(self.rules, "accepts") or not hasattr(self.rules, "role"):
            raise TypeError(
                f"the rules of {self.name} lack `accepts` or `role`: inherit league.games.contract.BaseRules"
            )

    def opened(self, moves: Sequence[str]) -> Any:
        """The state after these moves from the start, in a game in which players take turns."""
        state = self.rules.start()
        for move in moves:
            (seat,) = self.rules.to_move(state).seats
            state = self.rules.play(state, {seat: move})
        return state

    @property
    def is_public(self) -> bool:
        """True if everybody may follow a match of it."""
        if self.public is None:
            return bool(getattr(self.wire, "public_history", False))
        return self.public

    @property
    def shown_title(self) -> str:
        return self.title or self.name.replace("_", " ").title()

    def clock_s(self, move_seconds: float) -> float | None:
        """The time a player has for all its choices, in a league with this time for one; None without a clock."""
        if self.match_seconds is None:
            return None
        return self.match_seconds * move_seconds / USUAL_MOVE_S

    def permits(self, state: Any, seat: Seat, move: str, options: Sequence[str]) -> bool:
        """Whether this seat may play this move; `options` are its legal moves."""
        return move in options or self.rules.accepts(state, seat, move)


class GameFamily(Struct, frozen=True):
    """Many games of one package under a prefix, such as "spiel:chess". Each is made when somebody asks for it."""

    prefix: str
    game: Callable[[str], Game]
    """Makes the game of a name, which begins with the prefix. ValueError says why there is no such game."""
    names: Callable[[], Sequence[str]]
    """The games to list. There may be more, such as those with parameters."""


def safe_name(game_type: str) -> str:
    """The name of a game as a part of ids, folders and URLs."""
    return re.sub("[^A-Za-z0-9-]+", "_", game_type).strip("_")[:60]


def require_legal(
    rules: Rules[State],
    state: State,
    moves: Mapping[Seat, str],
) -> None:
    """Raise ValueError unless exactly the seats to move have moved, each with a legal move."""
    seats = rules.to_move(state).seats
    if not seats or set(moves) != set(seats):
        raise ValueError(f"to move: seats {seats}; moved: seats {tuple(moves)}")
    # All moves are checked against the state before any is played.
    for seat, move in moves.items():
        if move not in rules.legal_moves(state, seat) and not rules.accepts(state, seat, move):
            raise ValueError(f"seat {seat} may not play {move!r}")
