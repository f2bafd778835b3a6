"""Rock, paper, scissors on the wire: a choice is a shape, and `moves` lists both shapes of each throw."""

from league.games.contract import SEATS, Seat
from league.games.moves import MoveWire
from league.games.rock_paper_scissors.rules import RockPaperScissors, Throws


def history(state: Throws) -> tuple[dict[Seat, str], ...]:
    return tuple(dict(zip(SEATS, throw, strict=True)) for throw in state.finished)


def wire(rules: RockPaperScissors) -> MoveWire[Throws]:
    return MoveWire(rules, history, move_type="throw")
