"""Strategies that think about a turn, each in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from league.machine import Ask

Think = Callable[[Ask], Awaitable[object]]
"""Asks the strategy; its answer goes to the machine."""


class Thinking:
    """The questions that are being thought about, by their keys."""

    def __init__(self, think: Think | None, answered: Callable[[str, object], None]) -> None:
        self._think = think
        self._answered = answered
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def tasks(self) -> Iterable[asyncio.Task[None]]:
        return self._tasks.values()

    def turn_to(self, asks: Iterable[Ask], unasked: Iterable[str]) -> None:
        """Ask the strategy, and hand its answers to `answered`. Drop the questions with the keys `unasked`."""
        # First: a question that is asked again under the same key must not be stopped.
        for key in unasked:
            if key in self._tasks:
                self._tasks[key].cancel()
        for ask in asks:
            self._start(ask)

    def _start(self, ask: Ask) -> None:
        task = asyncio.get_running_loop().create_task(self._ask(ask))
        self._tasks[ask.key] = task
        task.add_done_callback(partial(self._ended, ask.key))

    async def _ask(self, ask: Ask) -> None:
        assert self._think is not None, "a machine that asks was given nobody to ask"
        self._answered(ask.key, await self._think(ask))

    def _ended(self, key: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is task:  # else the same was asked again, after a write that failed
            del self._tasks[key]
