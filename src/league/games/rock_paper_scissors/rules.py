"""Rock, paper, scissors: both throw at the same time, best of an odd number of throws.

A drawn throw is a throw too, so a match always ends; equally many won throws make a draw.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from league.games.contract import (
    BOTH,
    NOBODY,
    PLAYER_A,
    PLAYER_B,
    Mover,
    Outcome,
    Seat,
    WithoutChance,
    opponent,
    require_legal,
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


@dataclass(frozen=True, slots=True)
class RockPaperScissors(WithoutChance):
    best_of: int = 3

    def __post_init__(self) -> None:
        if self.best_of < 1 or self.best_of % 2 == 0:
            raise ValueError(f"best of an odd number of throws, not {self.best_of}")

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
        first, second = state.won_by(PLAYER_A), state.won_by(PLAYER_B)
        if first == second:
            return Outcome(None, f"Both won {first} of {len(state.finished)} throws")
        won, name = (PLAYER_A, "{A}") if first > second else (PLAYER_B, "{B}")
        score = f"{max(first, second)} to {min(first, second)}"
        return Outcome(won, f"{name} won {score} in {len(state.finished)} throws")

    def view(self, state: Throws, seat: Seat) -> dict[str, object]:
        other = opponent(seat)
        return {
            "best_of": self.best_of,
            "throws": [{"you": throw[seat], "opponent": throw[other]} for throw in state.finished],
            "won": {"you": state.won_by(seat), "opponent": state.won_by(other)},
        }

    def _decided(self, state: Throws) -> bool:
        lead = abs(state.won_by(PLAYER_A) - state.won_by(PLAYER_B))
        left = self.best_of - len(state.finished)
        return left == 0 or lead > left
