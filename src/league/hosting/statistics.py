"""The statistics of a league, for viewers: worked out beside the loop, and so rarely that no match suffers."""

from __future__ import annotations

import asyncio

import msgspec

from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league import LeagueManager
from league.reports.statistics.analysis import analyse, document
from league.reports.statistics.findings import LeagueStatistics
from league.reports.statistics.observations import Observations, observe
from league.transport.http import Response

REST = 20.0
"""After statistics that took a second nobody gets newer ones for so many: they cost at most a twentieth of a core."""


class LatestStatistics:
    """Whoever asks before the rest is over gets the same ones. Asking takes two steps: `look` while the league can be
    seen, then `of` what was seen."""

    def __init__(self) -> None:
        self._one_works = asyncio.Lock()
        self._seen: Observations | None = None
        self._found: LeagueStatistics | None = None
        self._rests_until = 0.0

    @property
    def rest_ends_at(self) -> float | None:
        """When there may be newer ones; None if there might be at once."""
        return self._rests_until if self._is_resting else None

    def look(self, manager: LeagueManager) -> Observations | None:
        """What there is to work out; None while the statistics rest."""
        return None if self._is_resting else observe(manager)

    async def of(self, observations: Observations | None) -> LeagueStatistics:
        async with self._one_works:
            if observations is not None and observations != self._seen and not self._is_resting:
                await self._work_out(observations)
            assert self._found is not None, "they rest only when there are some"
            return self._found

    @property
    def _is_resting(self) -> bool:
        return asyncio.get_running_loop().time() < self._rests_until

    async def _work_out(self, observations: Observations) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._found, self._seen = await asyncio.to_thread(analyse, observations), observations
        self._rests_until = loop.time() + REST * (loop.time() - began)


class StatisticsPage:
    """GET /api/statistics of a manager."""

    def __init__(self, host: HostedAgent, statistics: LatestStatistics) -> None:
        self._host = host
        self._statistics = statistics

    async def show(self) -> Response:
        if self._host.agent is None:
            return Response(503, b"{}")
        found = await self._statistics.of(await self._host.agent.shown(self._look))
        return Response(200, msgspec.json.encode(document(found)))

    def _look(self, machine: Machine, _journal_seq: int) -> Observations | None:
        assert isinstance(machine, LeagueManager)
        return self._statistics.look(machine)
