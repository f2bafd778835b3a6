"""Agents as processes: settings read, a port opened, a machine, its journal and its shell put together and served.

With the command line and the SDK, which both stand on it, the only place that reads configuration.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from io import TextIOBase
from typing import TYPE_CHECKING, NoReturn, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

USAGE = 2
"""The exit status of wrong usage; 0 is success, 1 failure."""


class CommandError(Exception):
    """What keeps a command from its work, as one sentence for the person who gave it."""

    def __init__(self, sentence: str, status: int = 1) -> None:
        super().__init__(sentence)
        self.status = status


def did_you_mean(said: str, known: Iterable[str]) -> str:
    """What was probably meant, to end a sentence with; nothing if nothing comes near."""
    from difflib import get_close_matches

    near = get_close_matches(said, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence instead of printing the whole usage."""

    @property
    def known_options(self) -> Iterable[str]:
        """As they are typed: --players, --help, …"""
        return self._option_string_actions

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """All that argparse prints passes here."""
        from league.hosting.display import shown

        if isinstance(file, TextIOBase):
            message = shown(message, cast("TextIO", file))
        super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def require_game(name: str) -> None:
    """Refuse a game that is not installed."""
    from league.games import registry

    if registry.find(name) is None:
        raise CommandError(registry.why_unknown(name), USAGE)
