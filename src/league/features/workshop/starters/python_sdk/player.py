"""A player for leagues of Even/Odd. The package agent-league does everything except choosing."""

import random

from league import ChooseParityCall, Parity, Player, serve

NAME = "My player"


class MyPlayer(Player):
    """Bets on the parity that was drawn less often in its matches so far."""

    # === Your strategy goes here ======================================================================================

    def choose_parity(self, call: ChooseParityCall) -> Parity:
        """Return "even" or "odd", within 30 seconds. It may be `async`.

        `call` is the referee's question; `call.context` may have your opponent's id and your record so far.
        `self.history` has the matches you have played, the newest last: `.opponent_id`, `.outcome`, `.my_choice`,
        `.opponent_choice`, `.drawn_number`, `.number_parity`.
        """
        drawn = [match.number_parity for match in self.history]
        if drawn.count("even") == drawn.count("odd"):
            return random.choice(("even", "odd"))
        return "even" if drawn.count("even") < drawn.count("odd") else "odd"


if __name__ == "__main__":
    serve(MyPlayer(name=NAME))  # --manager, --port and the rest come from the command line
