"""Mistakes in an author's class that can be seen before it plays: each gets one sentence at the start."""

from __future__ import annotations

import dis
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from league.terminal import CommandError, did_you_mean


def check(player: object, base: type, to_write: Sequence[str]) -> list[str]:
    """Return a warning about each mistake in a subclass of `base`, of whose methods authors write those named.

    Raises CommandError if a method cannot be called.
    """
    title = type(player).__name__
    for name in SET_BY_US:
        value = getattr(type(player), name)
        if callable(value) or isinstance(value, property):
            raise CommandError(f"{title}.{name} takes the place of Player.{name}, which the league sets; rename yours")
    written = [name for name in to_write if getattr(type(player), name) is not getattr(base, name)]
    for name in written:
        _refuse_wrong_parameters(getattr(player, name), title, getattr(base, name))
    added = dict(_added_by_author(type(player), base))
    unwritten = [name for name in to_write if name not in written]
    return [
        *_misspelt(title, [name for name in added if not hasattr(base, name)], unwritten),
        *_lost_name(player),
        *(f"{title}.{name} {BLOCKS}" for name, method in added.items() if _blocks(method)),
    ]


SET_BY_US = ("history", "round", "standings")
"""The attributes of a player that the league sets while it plays."""
BLOCKS = "is async and calls time.sleep, which stops the whole player; write await asyncio.sleep(…)"


def _added_by_author(cls: type, base: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods in the author's classes."""
    for owner in cls.__mro__:
        if not issubclass(base, owner):
            for name, value in vars(owner).items():
                if callable(value) and not name.startswith("_"):
                    yield name, value


def _refuse_wrong_parameters(method: object, title: str, model: Callable[..., Any]) -> None:
    if not callable(method):
        return
    try:
        inspect.signature(method).bind(None)
    except ValueError:
        return  # nothing is known about it
    except TypeError:
        name = model.__name__
        parameter = list(inspect.signature(model).parameters)[-1]
        raise CommandError(f"{title}.{name} must take one argument: write def {name}(self, {parameter})") from None


def _misspelt(title: str, names: Sequence[str], unwritten: Sequence[str]) -> Iterator[str]:
    for name in names:
        # Only a name that is nearly right is a slip; authors have helpers of their own.
        likeness = 0.6 if name.startswith("on_") else 0.85
        suggestion = did_you_mean(name, unwritten, likeness)
        if suggestion:
            yield f"{title}.{name} is never called{suggestion}"


def _lost_name(player: Any) -> Iterator[str]:
    """Warn if the author's `__init__` takes a name and drops it."""
    cls = type(player)
    if "name" not in vars(player) and "name" in inspect.signature(cls.__init__).parameters:
        title = cls.__name__
        yield f"{title}.__init__ drops the name that it gets; write super().__init__(name) in it"


def _blocks(method: object) -> bool:
    """True if an `async` method calls time.sleep."""
    if not inspect.iscoroutinefunction(method) or not inspect.isfunction(method):
        return False
    names = method.__globals__
    for first, second in pairwise(dis.get_instructions(method)):
        value = names.get(first.argval) if first.opname == "LOAD_GLOBAL" else None
        if value is time.sleep or (value is time and second.argval == "sleep"):
            return True
    return False
