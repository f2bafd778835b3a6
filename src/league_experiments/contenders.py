"""Strategies as a script or a command names them, before they play."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard

from league.player.strategies import Strategy
from league.terminal import CommandError
from league_experiments.series import Make

if TYPE_CHECKING:
    from league.hosting.players import Entrant


class AskingContender(Protocol):
    """A strategy that asks somebody, such as a `league.LLM`."""

    at_once: int
    """How many of its matches may be played at the same time."""

    def entrant(self) -> Entrant: ...

    def playing(self) -> AbstractContextManager[None]:
        """Be ready to be asked as long as this lasts."""

    def seat(self, experiment: str) -> Strategy:
        """Return a strategy for one series."""


Contender = str | type | Callable[[], Strategy] | AskingContender
"""A strategy: its name, module:Class, something that makes one, or one that asks. Or the address of an agent."""


ELSEWHERE: Final = {
    "always_even": "always takes the first option",
    "always_odd": "always takes the last option",
    "frequency": "chooses at random",
}
"""Built-in strategies that are made for Even/Odd, and what they do in other games."""


def notes_about(contenders: Iterable[Contender], game: str) -> list[str]:
    """Return a sentence for each strategy that is not made for a game."""
    names = [contender for contender in contenders if isinstance(contender, str)]
    if game == "even_odd":
        return []
    return [f"{name} is made for even_odd: in {game} it {ELSEWHERE[name]}." for name in ELSEWHERE if name in names]


def is_agent(contender: Contender) -> TypeGuard[str]:
    """Return True for the address of an agent that runs elsewhere."""
    return isinstance(contender, str) and contender.startswith(("http://", "https://"))


def asks(contender: Contender) -> TypeGuard[AskingContender]:
    return hasattr(contender, "seat") and hasattr(contender, "playing")


def title_of(contender: Contender) -> str:
    if isinstance(contender, str):
        return contender
    return str(getattr(contender, "__name__", type(contender).__name__))


def entrant_of(contender: Contender) -> Entrant:
    """Make a new strategy. CommandError if the contender is not a strategy."""
    from league.hosting import players

    if isinstance(contender, str):
        return players.load(contender)
    if asks(contender):
        return contender.entrant()
    if not callable(contender):
        raise CommandError(f"{contender!r} is not a strategy: give its name, its class, or a function that makes one")
    return players.enter(contender(), title_of(contender))


def maker(contender: Contender, experiment: str) -> Make:
    """Return a function that makes a new strategy for the series of this seed."""
    if asks(contender):
        return partial(contender.seat, experiment)
    return lambda: entrant_of(contender).strategy
