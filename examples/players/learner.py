"""Even/Odd, with a memory for each opponent: python learner.py --manager http://127.0.0.1:8000/mcp

Nobody can predict the drawn number. But equal choices are a draw, 1 point each, while different ones win 3 points every
other time, 1.5 on average: so it pays to guess what the opponent will choose, and to choose the other.
"""

from collections import Counter
from itertools import pairwise

from league import PastMatch, Player, Turn, serve

OTHER = {"even": "odd", "odd": "even"}


class Learner(Player):
    """Guesses what this opponent chooses after its last choice, by what it chose after such a choice before."""

    def move(self, turn: Turn) -> str:
        # `move` works for every game, and `turn` always knows the opponent; the call itself need not name it.
        guess = self.guess(turn.opponent_id)
        return OTHER[guess] if guess else turn.options[turn.chance[0] % len(turn.options)]

    def guess(self, opponent_id: str) -> str | None:
        rows = [match for match in self.history if match.opponent_id == opponent_id]
        chosen = [match.opponent_choice for match in rows if match.opponent_choice in OTHER]
        followed = Counter(after for before, after in pairwise(chosen) if before == chosen[-1])
        likely = followed or Counter(chosen)
        return max(likely, key=lambda choice: likely[choice], default=None)

    def on_match_over(self, match: PastMatch) -> None:
        print(f"{match.match_id} against {match.opponent_id}: {match.outcome} with {match.my_choice}")


if __name__ == "__main__":
    serve(Learner(name="Learner"))
