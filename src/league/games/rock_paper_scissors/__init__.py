"""Rock, paper, scissors: simultaneous choices without chance. `best_of` makes the game for any number of throws."""

from league.games.contract import Game
from league.games.rock_paper_scissors.rules import RockPaperScissors, leader
from league.games.rock_paper_scissors.wire import wire


def best_of(throws: int) -> Game:
    rules = RockPaperScissors(throws)
    rules_text = (
        'Both players throw "rock", "paper" or "scissors" at the same time: rock beats scissors, scissors beat paper, '
        f"paper beats rock. A match has {throws} throws, and the player who wins more of them wins the match."
    )
    return Game("rock_paper_scissors", rules, wire(rules), turns=throws, rules_text=rules_text, leader=leader)


GAME = best_of(3)
