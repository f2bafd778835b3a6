"""Rock, paper, scissors: simultaneous choices without chance. `best_of(n)` makes one with another number of throws."""

from league.games.contract import Game
from league.games.rock_paper_scissors.rules import RockPaperScissors
from league.games.rock_paper_scissors.wire import wire


def best_of(throws: int) -> Game:
    rules = RockPaperScissors(throws)
    return Game("rock_paper_scissors", rules, wire(rules), turns=throws)


GAME = best_of(3)
