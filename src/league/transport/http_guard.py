"""All connections of one server: how many there may be, which have run out of time, and how they end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from email.utils import formatdate
from typing import TYPE_CHECKING

from uvicorn.config import Config
from uvicorn.server import ServerState

from league.transport.http import Limits, Refusal

if TYPE_CHECKING:
    from league.transport.http_connection import Connection

REFUSED_AT_ONCE = 64
"""So many connections over the cap are told so; any more are cut off."""


class Guard:
    """Counts connections in and out, and looks after their deadlines with one timer for all."""

    def __init__(self, config: Config, limits: Limits, word: Refusal) -> None:
        self.config = config
        self.limits = limits
        self.word = word
        self.state = ServerState()
        self.date_line = b""
        self.loop = asyncio.get_running_loop()
        self.connections: dict[Connection, None] = {}
        self._from: Counter[str] = Counter()
        self._refused: set[Connection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        shortest = min(limits.header_s, limits.body_s, limits.idle_s, limits.answer_s, limits.linger_s)
        self._every_s = min(1.0, max(0.01, shortest / 4))

    def admit(self, new: Connection) -> tuple[int, str] | None:
        """Count a connection in; or say why not."""
        self._empty.clear()
        if self._timer is None:
            self._sweep()
        limits, verdict = self.limits, None
        if self._closing:
            verdict = (503, "this server is shutting down")
        elif len(self.connections) >= limits.connections and not self._make_room():
            verdict = (503, "too many connections")
        elif self._from[new.address] >= limits.connections_per_address and not self._make_room(new.address):
            verdict = (429, "too many connections from this address")
        if verdict is None:
            self.connections[new] = None
            self._from[new.address] += 1
        else:
            self._refused.add(new)
        return verdict

    @property
    def curt(self) -> bool:
        """Is there no time to tell a refused connection why?"""
        return self._closing or len(self._refused) > REFUSED_AT_ONCE

    def _make_room(self, address: str | None = None) -> bool:
        """Close the oldest connection that is idle; HTTP allows that at any time."""
        for one in self.connections:
            if one.is_idle and address in (None, one.address):
                one.hang_up()
                return True
        return False

    def forget(self, gone: Connection) -> None:
        """A connection is closed."""
        if gone in self.connections:
            del self.connections[gone]
            self._from[gone.address] -= 1
            if not self._from[gone.address]:
                del self._from[gone.address]
        self._refused.discard(gone)
        if not self.connections and not self._refused:
            self._empty.set()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _sweep(self) -> None:
        """The one timer; there is none while nobody is connected."""
        now = self.loop.time()
        self._timer = self.loop.call_at(now + self._every_s, self._sweep)
        date = formatdate(time.time(), usegmt=True).encode()
        self.date_line, self.state.default_headers = b"date: %b\r\n" % date, [(b"date", date)]
        for one in [*self.connections, *self._refused]:
            if one.deadline <= now or one.stalled <= now:
                one.expire(now)

    async def finish(self) -> None:
        """Let running requests end, take no more."""
        self._closing = True
        for one in list(self.connections):
            one.shutdown()
        while self.state.tasks:
            await asyncio.wait(self.state.tasks)
        await self._empty.wait()

    async def cut_off(self) -> None:
        """End what is left: requests that have no answer yet are told, answers under way break off."""
        for one in list(self.connections):
            one.cut_answer()
        for task in list(self.state.tasks):
            task.cancel()
        if self.state.tasks:
            await asyncio.wait(self.state.tasks, timeout=self.limits.linger_s)
        for one in [*self.connections, *self._refused]:
            one.cut()
        await self._empty.wait()
