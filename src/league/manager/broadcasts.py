"""What members are told in order: standings, ROUND_COMPLETED, LEAGUE_COMPLETED (spec sections 8.5, 8.8, 8.9).

Each agent has a lane: one message under way, the next when it has ended. A slow agent delays nobody but itself; those
whose lanes are free at the same moment get the same message in one call. Announcements do not use the lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from league.events import Told
from league.manager.courier import Courier, Ending, Errand, Policy
from league.manager.ledger import Ledger
from league.manager.notices import Notices
from league.manager.office import Office
from league.manager.roster import Member
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueStandingsUpdate, Message

UPDATE = 0
"""Stands for a standings update among the numbers of completions (events.Told)."""


@dataclass(slots=True)
class Lane:
    """How far an agent has been told. `done` is the last completion whose delivery has ended, `version` that of the
    last table."""

    done: int
    is_busy: bool = False
    version: int = 0
    free_at: float = 0.0
    """When the next standings update may leave."""


@dataclass(slots=True)
class Broadcasts:
    """`flush` ends every step: it looks at the lanes where something may have changed."""

    office: Office
    courier: Courier
    notices: Notices
    _lanes: dict[str, Lane] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)
    _completions: int = 0
    _update: LeagueStandingsUpdate | None = None
    """The newest update; results since then wait for the next."""
    _update_at: float = 0.0

    @property
    def _ledger(self) -> Ledger:
        return self.office.ledger

    def _lane(self, member: Member) -> Lane:
        return self._lanes.setdefault(member.agent_id, Lane(member.told))

    def look_at(self, agent_id: str) -> None:
        """Something about this agent changed."""
        self._changed[agent_id] = None

    # --- what is due --------------------------------------------------------------------------------------------------

    def flush(self, now: float) -> None:
        """Send what is due to all whose lanes are free: one call for all who get the same."""
        self._look_around(now)
        groups: dict[int, list[Member]] = {}
        while self._changed:
            agent_id, _ = self._changed.popitem()
            member = self._ledger.roster.members.get(agent_id)
            number = self._next(member, now) if member is not None else None
            if number is not None and member is not None:
                groups.setdefault(number, []).append(member)
        for number, members in sorted(groups.items()):
            self._send(number, sorted(members, key=lambda one: one.agent_id), now)

    def _look_around(self, now: float) -> None:
        ledger = self._ledger
        completions = ledger.last_completion if ledger.is_finished else 2 * ledger.finished_rounds
        if completions > self._completions:
            self._completions = completions
            self._change_all()
        if ledger.version > _version(self._update) and not ledger.is_finished:
            if now >= self._update_at:
                self._update, self._update_at = self.notices.standings(now), now + ledger.settings.standings_interval_s
                self._change_all()
            elif not self.office.timers.is_set("standings"):
                self.office.timers.set("standings", self._update_at, lambda _: None)

    def _change_all(self) -> None:
        self._changed.update(dict.fromkeys(self._ledger.roster.members))

    def _next(self, member: Member, now: float) -> int | None:
        """What this agent is told now: the number of a completion, UPDATE, or nothing."""
        lane = self._lane(member)
        if lane.is_busy or not member.takes_part:
            return None
        while lane.done < self._completions:
            number = lane.done + 1
            if number == self._ledger.last_completion:
                return None if self.courier.line(member.agent_id).errands else number
            if self._is_owed(member, lane, number):
                if not self.courier.is_closed(member.agent_id, now):
                    return number if number % 2 == 0 or self._may_update(member, lane, now) else None
                self._told(member, number, now)
            lane.done = number
        newer = member.is_player and lane.version < _version(self._update) and not self._ledger.is_finished
        if newer and not self.courier.is_closed(member.agent_id, now) and self._may_update(member, lane, now):
            return UPDATE
        return None

    def _is_owed(self, member: Member, lane: Lane, number: int) -> bool:
        """ROUND_COMPLETED always; before it a table that holds all results of the round, unless the last one did."""
        final = self._ledger.rounds[(number - 1) // 2].final_version
        return number % 2 == 0 or (member.is_player and lane.version < final)

    def _may_update(self, member: Member, lane: Lane, now: float) -> bool:
        """Tables for one player keep their distance."""
        if now >= lane.free_at:
            return True
        agent_id = member.agent_id
        self.office.timers.set(("lane", agent_id), lane.free_at, lambda _: self.look_at(agent_id))
        return False

    # --- telling ------------------------------------------------------------------------------------------------------

    def _send(self, number: int, members: list[Member], now: float) -> None:
        message = self.notices.completion(number, now) if number != UPDATE or self._update is None else self._update
        policy = self._policy(number, message)
        label = message.type.lower().replace("_", "-")
        errands = []
        for member in members:
            lane = self._lane(member)
            lane.is_busy = True
            if isinstance(message, LeagueStandingsUpdate):
                lane.version = _version(message)
                lane.free_at = now + self._ledger.settings.standings_interval_s
            errands.append(Errand(member.agent_id, label, message, policy, partial(self._ended, number)))
        self.courier.go(errands, now)

    def _policy(self, number: int, message: Message) -> Policy:
        row, delays = EXCHANGES[message.type], self._ledger.settings.retry_delays_s
        if number == UPDATE:
            return Policy(row.limit_s)
        # LEAGUE_COMPLETED is tried whatever the breaker says: there is no later message to hope for.
        last = number == self._ledger.last_completion
        return Policy(row.limit_s, delays, refused_only=row.repetition.refused_only, spared=not last)

    def _ended(self, number: int, errand: Errand, ending: Ending, now: float) -> None:
        member = self.office.member(errand.agent_id)
        lane = self._lane(member)
        lane.is_busy = False
        if number != UPDATE:
            lane.done = max(lane.done, number)
            self._told(member, number, now)
        self.look_at(member.agent_id)

    def _told(self, member: Member, number: int, now: float) -> None:
        """Journal how far the agent was told. After a restart final standings may go out once more: not worth an
        event each."""
        if number % 2 == 0 or number == self._ledger.last_completion:
            self.office.happened(Told(at=now, agent_id=member.agent_id, upto=number))
        if number == self._ledger.last_completion:
            self.office.change(member, "league_end", now)


def _version(update: LeagueStandingsUpdate | None) -> int:
    return (update.version if update else 0) or 0
