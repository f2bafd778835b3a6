"""Rock, paper, scissors: both players throw at the same time, best of an odd number of throws.

Drawn throws count as throws, so a match always ends. If both players won equally many throws, the match is a draw.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from league.games.contract import (
    BOTH,
    NOBODY,
    PLAYER_A,
    PLAYER_B,
    BaseRules,
    Mover,
    Outcome,
    Seat,
    opponent,
    require_legal,
    tie,
    win,
)

SHAPES: Final = ("rock", "paper", "scissors")
BEATS: Final = {"rock": "scissors", "paper": "rock", "scissors": "paper"}

Throw = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Throws:
    """Every finished throw, in order."""

    finished: tuple[Throw, ...] = ()

    def won_by(self, seat: Seat) -> int:
        return sum(BEATS[throw[seat]] == throw[opponent(seat)] for throw in self.finished)


def leader(state: Throws) -> Seat | None:
    """The player who has won more throws so far."""
    won_by_a = state.won_by(PLAYER_A)
    won_by_b = state.won_by(PLAYER_B)
    if won_by_a == won_by_b:
        return None
    return PLAYER_A if won_by_a > won_by_b else PLAYER_B


@dataclass(frozen=True, slots=True)
class RockPaperScissors(BaseRules):
    best_of: int = 3

    def __post_init__(self) -> None:
        if self.best_of < 1 or self.best_of % 2 == 0:
            raise ValueError(f"the number of throws must be odd, not {self.best_of}")

    def start(self) -> Throws:
        return Throws()

    def to_move(self, state: Throws) -> Mover:
        return NOBODY if self._decided(state) else BOTH

    def legal_moves(self, state: Throws, seat: Seat) -> tuple[str, ...]:
        return () if self._decided(state) else SHAPES

    def play(self, state: Throws, moves: Mapping[Seat, str]) -> Throws:
        require_legal(self, state, moves)
        return Throws((*state.finished, (moves[PLAYER_A], moves[PLAYER_B])))

    def outcome(self, state: Throws) -> Outcome | None:
        if not self._decided(state):
            return None
        throws = len(state.finished)
        won_by_a = state.won_by(PLAYER_A)
        won_by_b = state.won_by(PLAYER_B)
        if won_by_a > won_by_b:
            return win(PLAYER_A, f"{{A}} won {won_by_a} to {won_by_b} in {throws} throws")
        if won_by_b > won_by_a:
            return win(PLAYER_B, f"{{B}} won {won_by_b} to {won_by_a} in {throws} throws")
        return tie(f"Both won {won_by_a} of {throws} throws")

    def view(self, state: Throws, seat: Seat) -> dict[str, object]:
        other = opponent(seat)
        return {
            "best_of": self.best_of,
            "throws": [{"you": throw[seat], "opponent": throw[other]} for throw in state.finished],
            "won": {"you": state.won_by(seat), "opponent": state.won_by(other)},
        }

    def _decided(self, state: Throws) -> bool:
        lead = abs(state.won_by(PLAYER_A) - state.won_by(PLAYER_B))
        remaining = self.best_of - len(state.finished)
        # A lead that the remaining throws cannot make up ends the match early.
        return remaining == 0 or lead > remaining
