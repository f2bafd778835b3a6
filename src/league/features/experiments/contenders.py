"""Strategies as a script or a command names them, before they play."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard

from msgspec import Struct

from league.features.experiments.playing.series import Make
from league.player.strategies import Answer, Strategy, Turn
from league.sdk import Player
from league.terminal import CommandError

if TYPE_CHECKING:
    from league.hosting.member.players import Entrant


class AskingContender(Protocol):
    """A strategy that asks somebody, such as a `league.LLM`."""

    at_once: int
    """How many of its matches may be played at the same time."""

    def entrant(self) -> Entrant: ...

    def playing(self) -> AbstractContextManager[None]:
        """Be ready to be asked as long as this lasts."""

    def seat(self, experiment: str) -> Strategy:
        """Return a strategy for one series."""


Choosing = Callable[[Turn], Answer | Awaitable[Answer]]
Contender = str | type | Player | Strategy | Choosing | Callable[[], Player | Strategy] | AskingContender
"""A strategy: its name, module:Class, an object, a function that chooses or makes a strategy, or one that asks. Or the
address of an agent."""


class ChoosingFunction(Struct, frozen=True):
    """A strategy that is a plain function."""

    choose: Choosing


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
    if not is_object(contender):
        return str(getattr(contender, "__name__", type(contender).__name__))
    name = getattr(contender, "name", "")
    return name if isinstance(name, str) and name else type(contender).__name__


def entrant_of(contender: Contender) -> Entrant:
    """Make a new strategy. CommandError if the contender is not a strategy."""
    from league.hosting.member import players

    if isinstance(contender, str):
        return players.load(contender)
    if asks(contender):
        return contender.entrant()
    return players.enter(_strategy_of(contender), title_of(contender))


def _strategy_of(contender: Any) -> object:
    """Make a strategy for one series (Any: it may be anything)."""
    if is_object(contender):
        # Each series begins with the object as it was given: what it learns in one changes no other.
        return deepcopy(contender)
    if not callable(contender):
        raise CommandError(
            f"{contender!r} is not a strategy: give its name, an object, a class, or a function choose(turn)"
        )
    if not isinstance(contender, type) and _takes_a_turn(contender):
        return ChoosingFunction(contender)
    return contender()


def is_object(contender: object) -> bool:
    """True for an object that plays itself: a Player, or something with `choose`. A class has the method, too."""
    return not isinstance(contender, type) and (isinstance(contender, Player) or hasattr(contender, "choose"))


def _takes_a_turn(function: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return False  # nothing is known about it
    return sum(row.default is row.empty and row.kind < row.VAR_POSITIONAL for row in parameters) == 1


def maker(contender: Contender, experiment: str) -> Make:
    """Return a function that makes a new strategy for the series of this seed."""
    if asks(contender):
        return partial(contender.seat, experiment)
    return lambda: entrant_of(contender).strategy
