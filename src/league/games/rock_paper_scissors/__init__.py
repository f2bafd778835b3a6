"""Rock, paper, scissors: simultaneous choices without chance. `best_of` makes the game for any number of throws.

The table of games has one, and strategies play it. It is pure.
"""

from league.games.contract import Game
from league.games.moves import MoveWire
from league.games.rock_paper_scissors.rules import RockPaperScissors, board, leader


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
