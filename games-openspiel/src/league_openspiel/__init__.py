"""The two-player games of OpenSpiel as games of the league, under the prefix `spiel:`.

`state(turn)` gives a bot OpenSpiel's own state of a game in which nothing is hidden, and `choice(turn, action)` turns
its action into a choice.
"""

from league_openspiel.bots import choice, state
from league_openspiel.family import FAMILY

__all__ = ["FAMILY", "choice", "state"]
