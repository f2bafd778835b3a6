"""A submission as the engine of tournaments sees it: it makes strategies, each with a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from league.features.grade.reasons import SubmissionFailed
from league.features.grade.sandboxed import Grounds, SandboxedProcess
from league.player.history import PastMatch
from league.player.strategies import Considered, Turn


class Contestant:
    """Makes a strategy of one submission for each series."""

    def __init__(self, grounds: Grounds, name: str, copy: Path, number: int) -> None:
        self.__name__ = name
        self.failures: dict[str, SubmissionFailed] = {}
        """What failed in which words, in any series."""
        self.place = (grounds, copy, number)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # This is what the engine's digest of a strategy covers. It goes to no other process.
        return str, (self.__name__,)

    def __call__(self) -> SandboxedStrategy:
        return SandboxedStrategy(self)


class SandboxedStrategy:
    """A submission in one series. Its process starts with its first choice."""

    def __init__(self, contestant: Contestant) -> None:
        self.end: SubmissionFailed | None = None
        """Why it cannot be asked any more."""
        self._contestant = contestant
        self._process: SandboxedProcess | None = None

    def choose(self, turn: Turn) -> str | Considered:
        """Return the choice. SubmissionFailed if there is none."""
        if self.end is not None:
            raise self.end
        fields = {**_fields(turn), "chance": turn.chance.hex(), "kind": type(turn.call).__name__}
        try:
            if self._process is None:
                self._process = SandboxedProcess(*self._contestant.place)
            line = self._process.ask(fields, f"{turn.match_id}, choice {turn.number}: one of {', '.join(turn.options)}")
        except SubmissionFailed as error:
            self._note(error)
            raise
        return Considered(line.choice, talk=line.talk) if turn.talk_limit else line.choice

    def match_over(self, match: PastMatch, history: Sequence[PastMatch]) -> None:
        """Tell the submission how a match ended."""
        try:
            if self._process is not None:
                self._process.tell(_fields(match))
        except SubmissionFailed as error:
            self._note(error)

    def series_over(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _note(self, failure: SubmissionFailed) -> None:
        # Series are played at once, and which of them fails first differs from run to run.
        failures = self._contestant.failures
        before = failures.get(str(failure), failure)
        failures[str(failure)] = min(failure, before, key=attrgetter("question", "trace"))
        if failure.is_final:
            self.end = failure
            self.series_over()


def _fields(value: Any) -> Any:
    """Return a value as JSON has it, with all fields of messages, also those that are left out on the wire."""
    if isinstance(value, msgspec.Struct):
        return {name: _fields(getattr(value, name)) for name in value.__struct_fields__ if name != "history"}
    if isinstance(value, dict):
        return {name: _fields(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_fields(part) for part in value]
    return None if value is msgspec.UNSET else value
