"""Cop and thief: on a grid of five by five cells the cop tries to catch the thief within ten steps.

Both step at the same time, and may say a line to each other with every step, true or not. A match has six games with
swapped roles. The table of points per role: if the cop catches the thief, the cop gets 20 and the thief 5; if not, the
cop gets 5 and the thief 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from league.features.games.sub_games import SubGames, SubGameState
from league.games.boards import Cards, Picture, Piece
from league.games.contract import (
    BOTH,
    NOBODY,
    PLAYER_A,
    PLAYER_B,
    SEATS,
    BaseRules,
    Game,
    GameStrategy,
    Mover,
    Outcome,
    Seat,
    chance,
    margin,
    opponent,
    require_legal,
)
from league.games.moves import MoveWire

if TYPE_CHECKING:
    from league.player.strategies import Turn

Cell = tuple[int, int]
"""Row from the top and column from the left, counted from 0."""

SIZE: Final = 5
STEPS: Final = 10
GAMES: Final = 6
COP: Final = PLAYER_A
THIEF: Final = PLAYER_B
ROLES: Final = ("cop", "thief")
CAUGHT: Final = (20, 5)
ESCAPED: Final = (5, 10)
WAYS: Final[Mapping[str, Cell]] = {
    "north": (-1, 0),
    "south": (1, 0),
    "west": (0, -1),
    "east": (0, 1),
    "stay": (0, 0),
}
STARTS: Final = tuple((row, column) for row in range(SIZE) for column in range(SIZE) if row + column >= SIZE)
"""Where the thief may start: in the half of the board that is away from the cop, who starts in the top left corner."""
START: Final = chance([1] * len(STARTS))


class Chase(Struct, frozen=True):
    """The cells of cop and thief before each step, the newest last; nothing before chance has placed the thief."""

    cops: tuple[Cell, ...] = ()
    thieves: tuple[Cell, ...] = ()

    @property
    def steps(self) -> int:
        return len(self.cops) - 1

    @property
    def is_caught(self) -> bool:
        """Both are in one cell, or have just passed through each other."""
        if not self.cops:
            return False
        if self.cops[-1] == self.thieves[-1]:
            return True
        return self.steps > 0 and self.cops[-1] == self.thieves[-2] and self.thieves[-1] == self.cops[-2]


def after(cell: Cell, way: str) -> Cell:
    row, column = WAYS[way]
    return cell[0] + row, cell[1] + column


def ways_from(cell: Cell) -> tuple[str, ...]:
    return tuple(way for way in WAYS if all(0 <= place < SIZE for place in after(cell, way)))


class CopAndThief(BaseRules):
    """The rules of one game. Seat 0 is the cop."""

    def start(self) -> Chase:
        return Chase()

    def to_move(self, state: Chase) -> Mover:
        if not state.cops:
            return START
        if state.is_caught or state.steps == STEPS:
            return NOBODY
        return BOTH

    def legal_moves(self, state: Chase, seat: Seat) -> tuple[str, ...]:
        if seat not in self.to_move(state).seats:
            return ()
        cells = (state.cops[-1], state.thieves[-1])
        return ways_from(cells[seat])

    def play(self, state: Chase, moves: Mapping[Seat, str]) -> Chase:
        require_legal(self, state, moves)
        # Both steps count from the cells before: nobody sees the other's step first.
        cop = after(state.cops[-1], moves[COP])
        thief = after(state.thieves[-1], moves[THIEF])
        return Chase((*state.cops, cop), (*state.thieves, thief))

    def draw(self, state: Chase, number: int) -> Chase:
        if state.cops:
            raise ValueError("the thief's cell is drawn once, before the first step")
        return Chase(((0, 0),), (STARTS[number],))

    def outcome(self, state: Chase) -> Outcome | None:
        if state.is_caught:
            return Outcome(CAUGHT, "the cop caught the thief")
        if state.steps == STEPS:
            return Outcome(ESCAPED, "the thief escaped")
        return None

    def view(self, state: Chase, seat: Seat) -> dict[str, object]:
        if not state.cops:
            return {}
        return {
            "cop": list(state.cops[-1]),
            "thief": list(state.thieves[-1]),
            "size": SIZE,
            "steps_left": STEPS - state.steps,
        }

    def role(self, state: Chase, seat: Seat) -> str:
        return ROLES[seat]


def board(state: SubGameState) -> Picture:
    """The grid of the current game, or that of the last one until chance has placed the next thief."""
    chase: Chase
    chase, is_swapped = RULES.shown(state)
    pieces = [[Piece() for _ in range(SIZE)] for _ in range(SIZE)]
    if chase.cops:
        cop_row, cop_column = chase.cops[-1]
        thief_row, thief_column = chase.thieves[-1]
        pieces[cop_row][cop_column] = Piece("C", "disc", "blue")
        pieces[thief_row][thief_column] = Piece("T", "disc", "red")
        if chase.cops[-1] == chase.thieves[-1]:
            pieces[cop_row][cop_column] = Piece("!", "square", "red", "cop and thief")
    hands = []
    for seat, points in zip(SEATS, RULES.returns(state), strict=True):
        role = ROLES[opponent(seat) if is_swapped else seat]
        hands.append(Cards(seat, (), f"{role}, {points:g} points"))
    return Picture(tuple(map(tuple, pieces)), hands=tuple(hands))


# --- a strategy -------------------------------------------------------------------------------------------------------


def chase(turn: Turn) -> str:
    """As cop, steps to where the thief is or may go; as thief, away from where the cop may be next."""
    cop = tuple(turn.view["cop"])
    thief = tuple(turn.view["thief"])
    scores = {}
    for way in turn.options:
        if turn.role == "cop":
            cell = after(cop, way)
            # As if the thief went each of its ways equally often.
            scores[way] = -sum(_distance(cell, after(thief, step)) ** 2 for step in ways_from(thief))
        else:
            cell = after(thief, way)
            nearest = min(_distance(cell, after(cop, step)) for step in ways_from(cop))
            # Cells with many ways out are better than corners.
            scores[way] = 10 * nearest + len(ways_from(cell))
    best = max(scores.values())
    return turn.random.choice([way for way, score in scores.items() if score == best])


def _distance(first: Cell, second: Cell) -> int:
    return abs(first[0] - second[0]) + abs(first[1] - second[1])


RULES: Final = SubGames(CopAndThief(), GAMES)
RULES_TEXT: Final = (
    f"A match has {GAMES} games on a grid of {SIZE} by {SIZE} cells, and the players swap roles after each. The cop "
    "starts in the top left corner and the thief somewhere in the other half. Both step at the same time to a "
    f'neighboring cell ("north", "south", "west" or "east") or "stay". The cop catches the thief if both are in one '
    f"cell, or pass through each other, within {STEPS} steps. Then the cop gets 20 points and the thief 5; otherwise "
    "the cop gets 5 and the thief 10. With every step you may say something to the other player, true or not. Cells "
    "are [row, column], counted from 0 at the top left."
)
GAME: Final = Game(
    "cop_and_thief",
    RULES,
    MoveWire(RULES, move_type="step"),
    turns=STEPS * GAMES,
    measure="margin",
    rules_text=RULES_TEXT,
    board=board,
    public=True,
    scoring=margin(worst=0, best=GAMES // 2 * (CAUGHT[COP] + ESCAPED[THIEF])),
    talk=140,
    match_seconds=600.0,
    title="Cop and thief",
    strategies={"chase": GameStrategy("hunts as the cop, and keeps away as the thief", chase)},
)
