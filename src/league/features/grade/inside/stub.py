"""What a submission gets when it writes `from league import …`: players, turns and histories, but no servers.

This file is copied into the sandbox and needs the standard library alone, so that a sandbox starts quickly.
`tests/grade/test_stub.py` holds it to the real package.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

Parity = str
DICTIONARIES = ("context", "view", "game_result")
"""What games show stays a dictionary, as it is in a league."""


class LeagueError(Exception):
    """Something cannot be done."""


class LeagueQueryError(LeagueError):
    """There is no manager to ask here."""


class Fields(SimpleNamespace):
    """A message or a part of one, with its fields as attributes."""

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, dict) and name not in DICTIONARIES:
                fields[name] = Fields(**value)
        super().__init__(**fields)


class BoxedParityCall(Fields):
    """The referee's CHOOSE_PARITY_CALL."""

    def __init__(self, context: dict[str, Any] | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self.context = context and Fields(**context)


class BoxedMoveCall(Fields):
    """The referee's call for a move."""


class BoxedMatch(Fields):
    """A match that is over."""

    @property
    def outcome(self) -> str:
        """How the match ended for us."""
        if self.winner is None:
            return "DRAW" if self.status == "DRAW" else "LOSS"
        return "LOSS" if self.winner == self.opponent_id else "WIN"


class ChoiceWithTalk(Fields):
    """A choice with a line for the opponent."""


class BoxedTurn(Fields):
    """Everything a strategy may know when it chooses."""

    @cached_property
    def random(self) -> Any:
        """A random number generator for this choice, seeded with `chance`."""
        from random import Random

        return Random(self.chance)

    def say(self, choice: str, text: str) -> ChoiceWithTalk:
        """Return a choice with a line for the opponent, in games with talk."""
        return ChoiceWithTalk(choice=choice, talk=text[: self.talk_limit])


class Player:
    """A player: write `choose_parity` for Even/Odd, or `move` for any game."""

    name = ""
    version = "1.0.0"
    games: Sequence[str] = ()
    standings = None
    round = None
    history: Sequence[BoxedMatch] = ()

    def __init__(self, name: str = "", *, version: str = "", games: Sequence[str] = ()) -> None:
        self.name = name or self.name
        self.version = version or self.version
        if isinstance(games, str):
            games = [games]
        self.games = tuple(games) or self.games

    def choose_parity(self, call: Any) -> Any:
        """Return "even" or "odd"."""
        raise NotImplementedError(f"{type(self).__name__} has no method choose_parity(self, call)")

    def move(self, turn: BoxedTurn) -> Any:
        """Return one of `turn.options`."""
        raise NotImplementedError(f"{type(self).__name__} has no method move(self, turn)")

    def on_match_over(self, match: BoxedMatch) -> Any:
        """Called once after each match; the other hooks never are."""

    on_round = on_standings = on_error = on_league_over = on_match_over

    async def query(self, query_type: str, *, player_id: str | None = None, round_id: int | None = None) -> Any:
        """Raise LeagueQueryError: there is no manager."""
        self.query_sync(query_type)

    def query_sync(self, query_type: str, *, player_id: str | None = None, round_id: int | None = None) -> Any:
        """Raise LeagueQueryError: there is no manager."""
        raise LeagueQueryError("this player is not served: there is no manager to ask")


def serve(player: Player, argv: Sequence[str] | None = None) -> None:
    """Do nothing: the grader only wants the class."""


# Authors import these by the names that they have in the real package.
Turn = BoxedTurn
PastMatch = BoxedMatch
ChooseParityCall = BoxedParityCall
GameMoveCall = BoxedMoveCall
LeagueResult = ReceivedError = Round = Standings = Fields
