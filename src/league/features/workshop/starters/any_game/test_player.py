"""Lets the player meet the built-in strategy random. Run: python -m unittest"""

import unittest

from player import Mine

import league


class TestPlayer(unittest.TestCase):
    def test_it_plays_to_the_end_of_every_match(self) -> None:
        result = league.tournament([Mine, "random"], game="GAME_NAME", meetings=10, seed=1)
        mine = next(row for row in result.standings if row["strategy"] == "Mine")
        self.assertEqual((mine["played"], mine["technical_losses"]), (10, 0), result.document["failures"])


if __name__ == "__main__":
    unittest.main()
