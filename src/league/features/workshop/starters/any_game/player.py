"""A player for leagues of GAME_TITLE.

GAME_RULES
"""

from league import Player, Turn, serve


class Mine(Player):
    games = ("GAME_NAME",)

    # === Your strategy goes here ======================================================================================

    def move(self, turn: Turn) -> str:
        """Return one of `turn.options`.

        `turn.view` is the game as you see it, `turn.number` counts your choices in this match, and `turn.history` has
        the matches you have played, the newest last. Take chance from `turn.random`.
        """
        return turn.random.choice(turn.options)


if __name__ == "__main__":
    serve(Mine(name="My player"))
