"""Play Rock-Paper-Scissors: python follower.py --manager http://127.0.0.1:8000/mcp

It needs a league of this game: league manager --game rock_paper_scissors, league referee --game rock_paper_scissors.
"""

from collections import Counter
from collections.abc import Iterator

from league import Player, Turn, serve

BEATEN_BY = {"rock": "paper", "paper": "scissors", "scissors": "rock"}


class Follower(Player):
    """Beats the shape that this opponent has thrown most often, in this match and all earlier ones."""

    games = ("rock_paper_scissors",)

    def move(self, turn: Turn) -> str:
        thrown = Counter(self.thrown_by_opponent(turn))
        if thrown:
            return BEATEN_BY[max(thrown, key=lambda shape: thrown[shape])]
        # Every turn brings fresh random bytes; with `--seed` they can be repeated.
        return turn.options[turn.chance[0] % len(turn.options)]

    def thrown_by_opponent(self, turn: Turn) -> Iterator[str]:
        for match in self.history:
            if match.opponent_id == turn.opponent_id:
                for throw in match.game_result.get("moves") or []:
                    yield throw[match.opponent_id]
        for throw in turn.view["throws"]:
            yield throw["opponent"]


if __name__ == "__main__":
    serve(Follower(name="Follower"))
