"""What members are sent in order: standings, ROUND_COMPLETED, LEAGUE_COMPLETED (spec sections 8.5, 8.8, 8.9).

Each agent has a queue: one message under way, the next when its delivery has ended. A slow agent delays nobody but
itself; those whose queues are free at the same moment get the same message in one call. Announcements are sent beside
the queues.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from league.calling.delivery import Delivery, Ending, Policy
from league.events import Bulletin, BulletinDelivered
from league.manager.context import ManagerPart
from league.manager.messages import Messages
from league.manager.roster import Member
from league.protocol.exchanges import EXCHANGES, ONCE
from league.protocol.messages import LeagueStandingsUpdate, Message

UPDATE: Final = Bulletin("standings_update", 0)


@dataclass(slots=True)
class OutboundQueue:
    """How far an agent has got. `last` is the last bulletin whose delivery has ended, `version` that of the last
    table."""

    last: Bulletin
    is_busy: bool = False
    version: int = 0
    update_at: float = 0.0
    """When the next table may leave."""


@dataclass(slots=True)
class Broadcasts(ManagerPart):
    """`flush` ends every step: it looks at the queues where something may have changed."""

    messages: Messages
    _queues: dict[str, OutboundQueue] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)
    _completed: tuple[int, bool] = (0, False)
    """How many rounds are finished, and whether the league is, as far as everybody's queue was looked at."""
    _update: LeagueStandingsUpdate | None = None
    """The newest update; results since then wait for the next."""
    _update_at: float = 0.0

    def _queue(self, member: Member) -> OutboundQueue:
        return self._queues.setdefault(member.agent_id, OutboundQueue(member.delivered))

    def look_at(self, agent_id: str) -> None:
        """Something about this agent changed."""
        self._changed[agent_id] = None

    # --- what is due --------------------------------------------------------------------------------------------------

    def flush(self, now: float) -> None:
        """Send what is due to all whose queues are free: one call for all who get the same."""
        self._look_around(now)
        groups: dict[Bulletin, list[Member]] = {}
        while self._changed:
            agent_id, _ = self._changed.popitem()
            member = self._ledger.roster.members.get(agent_id)
            bulletin = self._next(member, now) if member is not None else None
            if bulletin is not None and member is not None:
                groups.setdefault(bulletin, []).append(member)
        for bulletin, members in groups.items():
            self._send(bulletin, sorted(members, key=lambda one: one.agent_id), now)

    def _look_around(self, now: float) -> None:
        ledger = self._ledger
        completed = (ledger.finished_rounds, ledger.is_finished)
        if completed != self._completed:
            self._completed = completed
            self._look_at_all()
        if ledger.standings.version > _version(self._update) and not ledger.is_finished:
            if now >= self._update_at:
                self._update, self._update_at = self.messages.standings(now), now + ledger.settings.standings_interval_s
                self._look_at_all()
            elif not self.context.timers.is_set("standings"):
                self.context.timers.set("standings", self._update_at, lambda _: None)

    def _look_at_all(self) -> None:
        self._changed.update(dict.fromkeys(self._ledger.roster.members))

    def _next(self, member: Member, now: float) -> Bulletin | None:
        """What this agent is sent now. Whom the circuit breaker spares misses bulletins, but never the last."""
        queue, is_reachable = self._queue(member), self.context.is_reachable(member, now)
        if queue.is_busy or not member.takes_part:
            return None
        while (bulletin := self._ledger.bulletin_after(queue.last)) is not None:
            if bulletin.kind == "league_completed":
                return None if self.context.calls.peer(member.agent_id).deliveries else bulletin
            if self._is_owed(member, queue, bulletin):
                if is_reachable:
                    is_free = bulletin.kind != "final_standings" or self._may_update(member, queue, now)
                    return bulletin if is_free else None
                self._delivered(member, bulletin, now)
            queue.last = bulletin
        is_newer = member.is_player and queue.version < _version(self._update) and not self._ledger.is_finished
        return UPDATE if is_newer and is_reachable and self._may_update(member, queue, now) else None

    def _is_owed(self, member: Member, queue: OutboundQueue, bulletin: Bulletin) -> bool:
        """ROUND_COMPLETED always; before it a table that holds all results of the round, unless the last one did."""
        final = self._ledger.rounds[bulletin.round_id - 1].final_version
        return bulletin.kind == "round_completed" or (member.is_player and queue.version < final)

    def _may_update(self, member: Member, queue: OutboundQueue, now: float) -> bool:
        """Tables for one player keep their distance."""
        if now >= queue.update_at:
            return True
        agent_id = member.agent_id
        self.context.timers.set(("update", agent_id), queue.update_at, lambda _: self.look_at(agent_id))
        return False

    # --- sending ------------------------------------------------------------------------------------------------------

    def _send(self, bulletin: Bulletin, members: list[Member], now: float) -> None:
        update = self._update if bulletin == UPDATE else None
        message = update or self.messages.bulletin(bulletin, now)
        policy = self._policy(bulletin, message)
        label = message.type.lower().replace("_", "-")
        deliveries = []
        for member in members:
            queue = self._queue(member)
            queue.is_busy = True
            if isinstance(message, LeagueStandingsUpdate):
                queue.version = _version(message)
                queue.update_at = now + self._ledger.settings.standings_interval_s
            address, on_end = partial(self.context.address, member), partial(self._ended, member, bulletin)
            deliveries.append(Delivery(member.agent_id, label, message, policy, address, on_end))
        self.context.calls.deliver(deliveries, now)

    def _policy(self, bulletin: Bulletin, message: Message) -> Policy:
        row = EXCHANGES[message.type]
        if bulletin == UPDATE:
            return Policy(row.limit_s, ONCE, is_guarded=True)
        # LEAGUE_COMPLETED is tried whatever the circuit breaker says: there is no later message to hope for.
        is_last = bulletin.kind == "league_completed"
        retries = self.context.retries(refused_only=row.retries.refused_only)
        return Policy(row.limit_s, retries, is_guarded=not is_last)

    def _ended(self, member: Member, bulletin: Bulletin, delivery: Delivery, outcome: Ending, now: float) -> None:
        queue = self._queue(member)
        queue.is_busy = False
        if bulletin != UPDATE:
            queue.last = bulletin
            self._delivered(member, bulletin, now)
        self.look_at(member.agent_id)

    def _delivered(self, member: Member, bulletin: Bulletin, now: float) -> None:
        """Journal how far the agent has got. After a restart final standings may go out once more: not worth an event
        each."""
        if bulletin.kind != "final_standings":
            self.context.happened(BulletinDelivered(at=now, agent_id=member.agent_id, bulletin=bulletin))
        if bulletin.kind == "league_completed":
            self.context.change(member, "league_end", now)


def _version(update: LeagueStandingsUpdate | None) -> int:
    return (update.version if update else 0) or 0
