"""Mistakes in an author's class that can be seen before it plays: each gets one sentence at the start."""

from __future__ import annotations

import ast
import inspect
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType
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
        *(f"{title}.{name} {BLOCKS}" for name, method in added.items() if _blocks(method, type(player))),
    ]


SET_BY_US = ("history", "round", "standings")
"""The attributes of a player that the league sets while it plays."""
BLOCKS = (
    "is async and calls time.sleep, itself or in a helper, which stops the whole player; write await asyncio.sleep(…)"
)


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


def _blocks(method: object, cls: type) -> bool:
    """True if an `async` method calls time.sleep, itself or in functions beside it."""
    if not isinstance(method, FunctionType) or not inspect.iscoroutinefunction(method):
        return False
    folder = Path(method.__code__.co_filename).parent
    found = [method]
    for function in found:
        for called in _called_in(function, cls):
            if called is time.sleep:
                return True
            is_new = isinstance(called, FunctionType) and called not in found
            # Functions of libraries are not the author's to change.
            if is_new and Path(called.__code__.co_filename).parent == folder:
                found.append(called)
    return False


def _called_in(function: FunctionType, cls: type) -> Iterator[Any]:
    """What a function calls, as far as its text tells: helpers by name, methods of `self`, functions of modules."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        body = ast.parse(source).body[0]
    except (OSError, SyntaxError):
        return  # it was typed at a prompt, or is part of a longer statement
    for call in _calls(body):
        name = call.func
        if isinstance(name, ast.Name):
            yield function.__globals__.get(name.id)
        elif isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
            owner = name.value.id
            holder = cls if owner == "self" else function.__globals__.get(owner)
            member = inspect.getattr_static(holder, name.attr, None)
            yield getattr(member, "__func__", member)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in a function, but not those in functions that are defined in it: these may run in a thread."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _calls(child)
