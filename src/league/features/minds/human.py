"""A person at the terminal, who is asked until the answer is one of the options."""

from __future__ import annotations

import sys
from typing import TextIO

from league.hosting.member.players import Entrant
from league.hosting.settings.player_options import PlayerOptions
from league.player.strategies import Turn


class Human:
    """Reads choices from `source` and prints to `output`; the end of the input is an error."""

    def __init__(self, source: TextIO | None = None, output: TextIO | None = None) -> None:
        self._in = source or sys.stdin
        self._out = output or sys.stdout

    def choose(self, turn: Turn) -> str:
        """Ask until the person types one of the options."""
        options = ", ".join(turn.options)
        self._say(f"\n{turn.match_id} against {turn.opponent_id or 'somebody'}")
        for name, value in turn.view.items():
            self._say(f"  {name}: {value}")
        while True:
            self._say(f"your choice ({options}):")
            line = self._in.readline()
            # At the end of the input there will never be an answer.
            if not line:
                raise EOFError("nobody is at the terminal anymore")
            if line.strip() in turn.options:
                return line.strip()
            self._say(f"{line.strip()!r} is not one of {options}")

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def entrant(_options: PlayerOptions | None) -> Entrant:
    """Make a player whose choices a person types."""
    return Entrant(Human(), "Human")
