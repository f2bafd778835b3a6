"""Views of a league that take long, worked out beside the loop and so rarely that no match suffers.

A result takes two steps: `look` observes the league while it stands still, and `begin` works out a result from the
observations. `latest` is the newest result. Results are worked out one after the other, each in a thread of its own,
with a rest after each.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from league.machine import Machine
from league.manager.league_manager import LeagueManager
from league.rows import ViewRow, every, load
from league.transport.http import Response

if TYPE_CHECKING:
    from league.hosting.serving import HostedAgent

REST = 20.0
"""The rest after a result, as a multiple of the time it took: a view costs at most a twentieth of a core."""


def document_of(row: ViewRow, manager: LeagueManager) -> Any:
    """The document of a view, worked out here and now (Any: JSON)."""
    observations = load(row.observe)(manager)
    result = load(row.work_out)(observations)
    return load(row.document)(result)


class Background:
    """One view of a running league. Its observations and results are whatever its row makes of them (Any)."""

    def __init__(self, row: ViewRow) -> None:
        self.row = row
        self.latest: Any = None
        self._observed: Any = None
        """What `latest` was made from."""
        self._work: asyncio.Task[None] | None = None
        self._rests_until = 0.0
        self._looked_while_resting = False

    def look(self, manager: LeagueManager) -> Any:
        """Observe the league; None during the rest."""
        self._looked_while_resting = self._is_resting
        if self._is_resting:
            return None
        return load(self.row.observe)(manager)

    def begin(self, observations: Any) -> None:
        """Work out a result, unless it is there already or another one is being worked out."""
        if observations is None or observations == self._observed:
            return
        # One result at a time: observations made meanwhile are dropped, the next ones are newer.
        if not self._is_at_work and not self._is_resting:
            self._work = asyncio.create_task(self._work_out(observations))

    async def result_of(self, observations: Any) -> Any:
        """The result of these observations, or the newest one during the rest."""
        # The first round may wait for the result of earlier observations, the second is for these.
        for _ in range(2):
            self.begin(observations)
            if self._work is not None:
                await asyncio.shield(self._work)  # a caller that goes away must not cancel it for others
        assert self.latest is not None, "a rest follows a result"
        return self.latest

    async def newer(self, than: Any) -> None:
        """Return when there is another result, or when it is time to look again."""
        if self.latest is not than:
            return
        if self._work is not None and self._is_at_work:
            await asyncio.wait([self._work])
        elif self._looked_while_resting:
            await asyncio.sleep(self._rests_until - asyncio.get_running_loop().time())
        else:
            await asyncio.Event().wait()  # the result changes with the league only

    @property
    def _is_resting(self) -> bool:
        return asyncio.get_running_loop().time() < self._rests_until

    @property
    def _is_at_work(self) -> bool:
        return self._work is not None and not self._work.done()

    async def _work_out(self, observations: Any) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.latest = await asyncio.to_thread(load(self.row.work_out), observations)
        self._observed = observations
        seconds = loop.time() - began
        self._rests_until = loop.time() + REST * seconds


def open_views() -> dict[str, Background]:
    """The views of all installed features, by name."""
    return {row.name: Background(row) for row in every(ViewRow)}


async def live_document(host: HostedAgent, view: Background) -> Any:
    """The newest document of a view of a running league (Any: JSON)."""

    def look(machine: Machine, _journal_seq: int) -> Any:
        assert isinstance(machine, LeagueManager)
        return view.look(machine)

    observations = await host.running.shown(look)
    result = await view.result_of(observations)
    return load(view.row.document)(result)


async def view_page(host: HostedAgent, view: Background) -> Response:
    """GET /api/NAME of a manager."""
    if host.agent is None:
        return Response(503, b"{}")
    document = await live_document(host, view)
    return Response(200, msgspec.json.encode(document))
