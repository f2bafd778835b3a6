"""Nim: there are fifteen sticks, players take one to three in turn, and the one who takes the last stick wins."""

from collections.abc import Mapping
from dataclasses import dataclass

from league.games.contract import (
    NOBODY,
    PLAYER_A,
    SEATS,
    TURN,
    BaseRules,
    Board,
    Game,
    Mover,
    Outcome,
    Seat,
    opponent,
    require_legal,
    win,
)
from league.games.moves import MoveWire

STICKS = 15


@dataclass(frozen=True, slots=True)
class Taken:
    """The number of sticks taken, turn by turn, PLAYER_A first."""

    takes: tuple[int, ...] = ()

    @property
    def left(self) -> int:
        return STICKS - sum(self.takes)

    @property
    def next_seat(self) -> Seat:
        return SEATS[len(self.takes) % 2]


class Nim(BaseRules):
    def start(self) -> Taken:
        return Taken()

    def to_move(self, state: Taken) -> Mover:
        return TURN[state.next_seat] if state.left else NOBODY

    def legal_moves(self, state: Taken, seat: Seat) -> tuple[str, ...]:
        if seat != state.next_seat:
            return ()
        return tuple(str(sticks) for sticks in (1, 2, 3) if sticks <= state.left)

    def play(self, state: Taken, moves: Mapping[Seat, str]) -> Taken:
        require_legal(self, state, moves)
        return Taken((*state.takes, int(moves[state.next_seat])))

    def outcome(self, state: Taken) -> Outcome | None:
        if state.left:
            return None
        winner = opponent(state.next_seat)
        return win(winner, f"{'{A}' if winner == PLAYER_A else '{B}'} took the last stick")

    def view(self, state: Taken, seat: Seat) -> dict[str, object]:
        return {"sticks_left": state.left, "takes": list(state.takes)}


def history(state: Taken) -> tuple[dict[Seat, str], ...]:
    return tuple({SEATS[turn % 2]: str(sticks)} for turn, sticks in enumerate(state.takes))


def board(state: Taken) -> Board:
    return (("|",) * state.left + ("",) * (STICKS - state.left),)


RULES = Nim()
GAME = Game("nim", RULES, MoveWire(RULES, history, move_type="take"), turns=STICKS, board=board, public=True)
