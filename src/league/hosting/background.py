"""The statistics of a league, for viewers: worked out beside the loop, and so rarely that no match suffers."""

from __future__ import annotations

import asyncio

import msgspec

from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league import LeagueManager
from league.transport.http import Response
from league_statistics.analysis import analyse, document
from league_statistics.findings import LeagueStatistics
from league_statistics.observations import Observations, observe

REST = 20.0
"""After statistics that took a second nobody gets newer ones for so many: they cost at most a twentieth of a core."""


class LatestStatistics:
    """Worked out one after the other, with a rest after each. Asking takes two steps: `look` while the league can be
    seen, then `begin` with what was seen; `latest` are those that are known by now."""

    def __init__(self) -> None:
        self.latest: LeagueStatistics | None = None
        self._seen: Observations | None = None
        self._work: asyncio.Task[None] | None = None
        self._rests_until = 0.0
        self._has_looked_away = False

    def look(self, manager: LeagueManager) -> Observations | None:
        """What there is to work out; None while the statistics rest."""
        self._has_looked_away = self._is_resting
        return None if self._is_resting else observe(manager)

    def begin(self, observations: Observations | None) -> None:
        """Have them worked out, unless they are known, or others are being worked out."""
        if observations is None or observations == self._seen:
            return
        if not self._is_at_work and not self._is_resting:
            self._work = asyncio.create_task(self._work_out(observations))

    async def of(self, observations: Observations | None) -> LeagueStatistics:
        """Those of what was seen, or the newest there are while they rest."""
        for _ in ("what is being worked out", "what was seen"):
            self.begin(observations)
            if self._work is not None:
                await asyncio.shield(self._work)
        assert self.latest is not None, "they rest only when there are some"
        return self.latest

    async def newer(self, than: LeagueStatistics | None) -> None:
        """Returns when there are others than these, or when it is time to look again."""
        if self.latest is not than:
            return
        if self._work is not None and self._is_at_work:
            await asyncio.wait([self._work])
        elif self._has_looked_away:
            await asyncio.sleep(self._rests_until - asyncio.get_running_loop().time())
        else:
            await asyncio.Event().wait()  # they change with the league

    @property
    def _is_resting(self) -> bool:
        return asyncio.get_running_loop().time() < self._rests_until

    @property
    def _is_at_work(self) -> bool:
        return self._work is not None and not self._work.done()

    async def _work_out(self, observations: Observations) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.latest, self._seen = await asyncio.to_thread(analyse, observations), observations
        self._rests_until = loop.time() + REST * (loop.time() - began)


async def statistics_page(host: HostedAgent, statistics: LatestStatistics) -> Response:
    """GET /api/statistics of a manager."""
    if host.agent is None:
        return Response(503, b"{}")

    def look(machine: Machine, _journal_seq: int) -> Observations | None:
        assert isinstance(machine, LeagueManager)
        return statistics.look(machine)

    found = await statistics.of(await host.agent.shown(look))
    return Response(200, msgspec.json.encode(document(found)))
