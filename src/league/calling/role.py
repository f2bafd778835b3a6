"""The shape of a role: a machine whose calls go through one engine and whose requests come in at one place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from league.calling.engine import Calls
from league.calling.line import Book
from league.calling.timers import Timers
from league.events import Event
from league.machine import (
    Chance,
    Letter,
    Machine,
    ReplyContent,
    Step,
    Undelivered,
)
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Unsealed


@dataclass(slots=True)
class Context:
    """The things that the parts of a role share. `happened`, `reply` and `keep_secret` write into the step being built;
    `book` knows in which form each peer is called."""

    calls: Calls
    timers: Timers
    secrets: Mapping[str, str]
    chance: Chance
    happened: Callable[[Event], None]
    reply: Callable[[Letter, ReplyContent], None]
    keep_secret: Callable[[str, str], None]
    book: Book


class RoleMachine(Machine):
    """Every input ends with `_conclude`, where a role does what has become possible."""

    def __init__(self, chance: Chance, secrets: Mapping[str, str] | None = None) -> None:
        super().__init__(chance, secrets)
        self._timers = Timers()
        self._calls = Calls(self._send, self._cancel, self._timers)

    def tick(self, now: float) -> Step:
        self._step = Step()
        self._timers.run(now)
        return self._conclude(now)

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        self._step = Step()
        self._calls.failed(failed, now)
        return self._conclude(now)

    def handle(self, letter: Letter, now: float) -> Step:
        self._step = Step()
        if letter.answers is not None:
            self._calls.answered(letter, now)
        else:
            self._take(letter, now)
        return self._conclude(now)

    def _take(self, letter: Letter, now: float) -> None:
        """Take a request; a PeerError refuses it."""
        try:
            self._requested(letter, now)
        except PeerError as error:
            self._refuse(letter, error)

    def _refuse(self, letter: Letter, error: PeerError) -> None:
        about = None
        if isinstance(letter.content, Unsealed):
            about = letter.content.message_type
        self._reply(letter, error, about)

    @abstractmethod
    def _requested(self, letter: Letter, now: float) -> None:
        """Act on a request."""

    def _conclude(self, now: float) -> Step:
        """The end of every step."""
        self.deadline = self._timers.next
        return self._step
