"""Race to 21: players take turns to add 1, 2 or 3 to a common total; the one who reaches 21 wins.

Change the rules below into those of your own game. `python -m unittest` says whether the league can play it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from league.games.contract import NOBODY, TURN, BaseRules, Board, Game, Mover, Outcome, Seat, require_legal, win
from league.games.moves import MoveWire

GOAL = 21
STEPS = ("1", "2", "3")


@dataclass(frozen=True)
class Race:
    """The state: every step of the match so far, as {seat: move}. It is never changed; moves make a new one."""

    history: tuple[dict[Seat, str], ...] = ()

    @property
    def total(self) -> int:
        return sum(int(move) for step in self.history for move in step.values())

    @property
    def next_seat(self) -> Seat:
        return len(self.history) % 2


class RaceRules(BaseRules):
    def start(self) -> Race:
        return Race()

    def to_move(self, state: Race) -> Mover:
        if state.total >= GOAL:
            return NOBODY
        return TURN[state.next_seat]

    def legal_moves(self, state: Race, seat: Seat) -> tuple[str, ...]:
        if state.total >= GOAL or seat != state.next_seat:
            return ()
        return tuple(step for step in STEPS if state.total + int(step) <= GOAL)

    def play(self, state: Race, moves: Mapping[Seat, str]) -> Race:
        require_legal(self, state, moves)
        return Race((*state.history, dict(moves)))

    def outcome(self, state: Race) -> Outcome | None:
        if state.total < GOAL:
            return None
        winner = 1 - state.next_seat
        return win(winner, f"{{{'AB'[winner]}}} reached {GOAL}")

    def view(self, state: Race, seat: Seat) -> dict[str, object]:
        """What this player may see: leave out what it must not know."""
        return {"total": state.total, "goal": GOAL}


def board(state: Race) -> Board:
    """One row of cells for the page of a match."""
    return (tuple("x" if cell < state.total else "" for cell in range(GOAL)),)


RULES = RaceRules()
GAME = Game(
    "my_game",
    RULES,
    MoveWire(RULES, move_type="add", public_history=True),
    turns=GOAL,
    rules_text="Players take turns to add 1, 2 or 3 to a common total, which begins at 0. Who reaches 21 wins.",
    board=board,
)
