"""Even/Odd: its rules and its fields on the wire."""

from league.games.contract import Game
from league.games.even_odd.rules import EvenOdd
from league.games.even_odd.wire import EvenOddWire

GAME = Game("even_odd", EvenOdd(), EvenOddWire(), turns=1, measure="points")
