"""GET /api/statistics of a manager: worked out beside its loop, and never so often that matches would suffer."""

from __future__ import annotations

import asyncio

import msgspec

from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league import LeagueManager
from league.reports.statistics.analysis import analyse, document
from league.reports.statistics.observations import Observations, observe
from league.transport.http import Response

REST = 20.0
"""After statistics that took a second nobody gets newer ones for so many: they cost at most a twentieth of a core."""


class StatisticsPage:
    """The statistics of a running league. Whoever asks before the rest is over gets the same ones."""

    def __init__(self, host: HostedAgent) -> None:
        self._host = host
        self._one_works = asyncio.Lock()
        self._body = b""
        self._seq = -1
        """The position in the journal that they belong to."""
        self._rests_until = 0.0

    async def show(self) -> Response:
        if self._host.agent is None:
            return Response(503, b"{}")
        async with self._one_works:
            seq, observations = await self._host.agent.shown(self._look)
            if observations is not None:
                await self._work_out(seq, observations)
            return Response(200, self._body)

    def _look(self, machine: Machine, journal_seq: int) -> tuple[int, Observations | None]:
        """What there is to work out, if anything."""
        assert isinstance(machine, LeagueManager)
        rests = self._body and asyncio.get_running_loop().time() < self._rests_until
        return journal_seq, None if rests or journal_seq == self._seq else observe(machine)

    async def _work_out(self, seq: int, observations: Observations) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        found = await asyncio.to_thread(analyse, observations)
        self._body, self._seq = msgspec.json.encode(document(found)), seq
        self._rests_until = loop.time() + REST * (loop.time() - began)
