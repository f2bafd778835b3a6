"""Even/Odd: its rules and its fields on the wire.

The table of games has it, and strategies play it. It is pure.
"""

from league.games.contract import Game
from league.games.even_odd.rules import EvenOdd, board
from league.games.even_odd.wire import EvenOddWire

RULES_TEXT = (
    'Both players choose "even" or "odd" at the same time, and then a number from 1 to 10 is drawn. If both chose the '
    "same, it is a draw and each player gets 1 point. Otherwise the player who named the parity of the number wins "
    "3 points, and the other gets none."
)
GAME = Game(
    "even_odd",
    EvenOdd(),
    EvenOddWire(),
    title="Even/Odd",
    turns=1,
    measure="points",
    single_draw_last=True,
    rules_text=RULES_TEXT,
    board=board,
)
