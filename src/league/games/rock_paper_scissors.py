"""Rock, paper, scissors: both players throw at the same time, best of an odd number of throws; `best_of` makes
the game for any number of them.

Drawn throws count as throws, so a match always ends. If both players won equally many throws, the match is a draw.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from league.games.boards import Cards, Picture
from league.games.contract import (
    BOTH,
    LETTERS,
    NOBODY,
    PLAYER_A,
    PLAYER_B,
    SEATS,
    BaseRules,
    Game,
    Mover,
    Outcome,
    Seat,
    opponent,
    require_legal,
    tie,
    win,
)
from league.games.moves import MoveWire

SHAPES: Final = ("rock", "paper", "scissors")
BEATS: Final = {"rock": "scissors", "paper": "rock", "scissors": "paper"}

Throw = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Throws:
    """Every finished throw, in order."""

    finished: tuple[Throw, ...] = ()

    @property
    def history(self) -> tuple[dict[Seat, str], ...]:
        return tuple(dict(enumerate(throw)) for throw in self.finished)

    def won_by(self, seat: Seat) -> int:
        return sum(BEATS[throw[seat]] == throw[opponent(seat)] for throw in self.finished)


def leader(state: Throws) -> Seat | None:
    """The player who has won more throws so far."""
    won_by_a = state.won_by(PLAYER_A)
    won_by_b = state.won_by(PLAYER_B)
    if won_by_a == won_by_b:
        return None
    return PLAYER_A if won_by_a > won_by_b else PLAYER_B


def board(state: Throws) -> Picture:
    """The last throws of both players, and how many each has won."""
    hands = []
    for seat in SEATS:
        faces = (state.finished[-1][seat],) if state.finished else ()
        hands.append(Cards(seat, faces, f"{state.won_by(seat)} won"))
    return Picture(hands=tuple(hands))


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
        seat = leader(state)
        if seat is None:
            return tie(f"Both won {state.won_by(PLAYER_A)} of {throws} throws")
        score = f"{state.won_by(seat)} to {state.won_by(opponent(seat))}"
        return win(seat, f"{{{LETTERS[seat]}}} won {score} in {throws} throws")

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


def best_of(throws: int) -> Game:
    rules = RockPaperScissors(throws)
    rules_text = (
        'Both players throw "rock", "paper" or "scissors" at the same time: rock beats scissors, scissors beat paper, '
        f"paper beats rock. A match has {throws} throws, and the player who wins more of them wins the match."
    )
    wire = MoveWire(rules, move_type="throw")
    return Game(
        "rock_paper_scissors",
        rules,
        wire,
        title="Rock, Paper, Scissors",
        turns=throws,
        rules_text=rules_text,
        leader=leader,
        board=board,
        public=True,
    )


GAME = best_of(3)
