"""python -m unittest: does the league's contract hold for the game, and do its own rules?"""

import unittest

from league_my_game import GAME, RULES

from league.features.games.checking import check


class MyGame(unittest.TestCase):
    def test_it_keeps_the_contract(self) -> None:
        # A hundred matches with random moves; what is wrong with the game is told in a sentence.
        check(GAME)

    def test_the_player_who_reaches_the_goal_wins(self) -> None:
        state = RULES.start()
        for number in range(7):
            state = RULES.play(state, {number % 2: "3"})
        outcome = RULES.outcome(state)
        self.assertIsNotNone(outcome)
        self.assertEqual(outcome.winner, 0)

    def test_nobody_may_go_beyond_the_goal(self) -> None:
        state = RULES.start()
        for number in range(6):
            state = RULES.play(state, {number % 2: "3"})
        state = RULES.play(state, {0: "2"})
        self.assertEqual(RULES.legal_moves(state, 1), ("1",))
