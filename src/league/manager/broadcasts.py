"""What members are sent in order: announcements, standings, ROUND_COMPLETED, LEAGUE_COMPLETED (spec sections 6.1, 8.5,
8.8, 8.9).

Each agent has a queue: the next message leaves when the one before was answered or has failed, or 2 seconds after it
left. Then the one before is not repeated any more, so that nothing arrives after what follows it. A slow agent delays
nobody but itself; those whose queues are free at the same moment get the same message in one call, in a large league in
turns (pace.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from league.calling.delivery import Delivery, Ending, FailedAttempt, Policy
from league.events import Bulletin, BulletinDelivered, WalkoverDecided
from league.machine import Address, Content, Failure
from league.manager.context import ManagerPart
from league.manager.dispatch import STARTS
from league.manager.messages import Messages
from league.manager.pace import SendWindow, UpdatePace
from league.manager.roster import Member
from league.protocol.exchanges import EXCHANGES, ONCE, RetrySchedule
from league.protocol.messages import LeagueStandingsUpdate, Message

UPDATE: Final = Bulletin("standings_update", 0)
NEXT_AFTER_S: Final = 2.0
"""So long the next message to an agent waits for the answer to the one before."""
QUESTION: Final = Policy(2.0, RetrySchedule((0.5, 0.5, 0.5)), accepts_late_answers=True)
"""For a table with a question. Without the answer the player refuses its referee, which gives it up after four calls 2
seconds apart. Whoever is slow to answer has done nothing wrong: the circuit breaker does not count it."""
_JOURNALLED: Final = ("round_completed", "league_completed")


@dataclass(frozen=True, slots=True)
class TokenQuestion:
    """Does an agent hold this one of its tokens? Asked with a table that shows what is derived from it, in one calling
    convention after the other: until the answer is known, referees may show the wrong token."""

    serial: int
    then: Callable[[Content | None, Ending, float], None]


@dataclass(slots=True, eq=False)
class OutboundMessage:
    """A message to one agent whose delivery has not ended."""

    bulletin: Bulletin
    left_at: float
    next_at: float
    """When the next may leave, whatever has become of this one."""
    delivery: Delivery | None = None
    question: TokenQuestion | None = None


@dataclass(slots=True)
class OutboundQueue:
    """How far an agent has got. `last` is the last bulletin that left or was not owed, `version` that of the last
    table; `question` goes with the next table that is no bulletin."""

    last: Bulletin
    bulletin: OutboundMessage | None = None
    update: OutboundMessage | None = None
    version: int = 0
    update_at: float = 0.0
    """When the next update may leave."""
    question: TokenQuestion | None = None

    @property
    def free_at(self) -> float:
        """When the next message may leave."""
        return max((one.next_at for one in (self.bulletin, self.update) if one is not None), default=0.0)


@dataclass(slots=True)
class Broadcasts(ManagerPart):
    """`flush` ends every step: it looks at the queues where something may have changed."""

    messages: Messages
    announced_at: float = 0.0
    """When an announcement last left to a player."""
    is_holding: Callable[[], bool] = lambda: False
    """No round is announced while the league waits for players."""
    _queues: dict[str, OutboundQueue] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)
    _progress: tuple[int, int, bool, int] = (0, 0, False, 0)
    """How many rounds can be announced and are finished, whether the league is, and how many members it has, as far as
    everybody's queue was looked at."""
    _update: LeagueStandingsUpdate | None = None
    """The newest table; results since then wait for the next."""
    _update_at: float = 0.0
    _pace: UpdatePace = field(default_factory=UpdatePace)
    _window: SendWindow = field(default_factory=SendWindow)

    def _queue(self, member: Member) -> OutboundQueue:
        queue = self._queues.get(member.agent_id)
        if queue is None:
            queue = self._queues[member.agent_id] = OutboundQueue(member.delivered)
        return queue

    def ask(self, member: Member, question: TokenQuestion) -> None:
        """Send the table as it stands, as soon as nothing else is to be sent."""
        self._queue(member).question = question
        self.look_at(member.agent_id)

    def look_at(self, agent_id: str) -> None:
        """Something about this agent changed."""
        self._changed[agent_id] = None

    def have_heard_of(self, round_id: int, now: float) -> bool:
        """Has the announcement reached every player that is likely to answer, as far as it is waited for? Those are the
        ACTIVE ones whose last call did not fail."""
        announced, wait_s = Bulletin("round_announced", round_id), self._ledger.settings.announcement_wait_s
        # The last one told is likely to answer last: in a large league most are not looked at in every step.
        players = (one for one in reversed(self._ledger.roster.members.values()) if one.is_player)
        for member in players:
            if member.state == "ACTIVE" and self.context.calls.peers[member.agent_id].breaker.failures == 0:
                queue = self._queue(member)
                if queue.last != announced or (queue.bulletin is not None and now < queue.bulletin.left_at + wait_s):
                    return False
        return True

    # --- what is due --------------------------------------------------------------------------------------------------

    def flush(self, now: float) -> None:
        """Send what is due to all whose queues are free: one call for all who get the same, as far as there is room."""
        self._look_around(now)
        while self._changed:
            room = self._window.room(now)
            if room <= 0:
                self.context.timers.set("send window", self._window.free_at, lambda _: None)
                return
            for (bulletin, is_same), members in self._due_now(room, now).items():
                message = self._message(bulletin, now, has_matches=is_same)
                self._send(bulletin, message, sorted(members, key=lambda one: one.agent_id), now)

    def _due_now(self, room: int, now: float) -> dict[tuple[Bulletin, bool], list[Member]]:
        """Who gets what, so many at most. Who has waited longest comes first."""
        groups: dict[tuple[Bulletin, bool], list[Member]] = {}
        while self._changed and room > 0:
            agent_id = next(iter(self._changed))
            del self._changed[agent_id]
            member = self._ledger.roster.members.get(agent_id)
            bulletin = self._next(member, now) if member is not None else None
            if bulletin is not None and member is not None:
                # Only the announcement is not the same for players and referees.
                is_same = member.is_player or bulletin.kind != "round_announced"
                groups.setdefault((bulletin, is_same), []).append(member)
                room -= 1
        return groups

    def _look_around(self, now: float) -> None:
        ledger = self._ledger
        announceable = self._progress[0]
        can_announce = announceable < ledger.current_round and not self.is_holding()
        if can_announce and ledger.has_referees(ledger.current_round):
            announceable = ledger.current_round
        progress = (announceable, ledger.finished_rounds, ledger.is_finished, len(ledger.roster.members))
        if progress != self._progress:
            if ledger.finished_rounds > self._progress[1]:
                self._renew_table(now)  # it is the final one of the round
            self._progress = progress
            self._look_at_all()
        if ledger.standings.version > _version_of(self._update) and not ledger.is_finished:
            self._renew_table_soon(now)

    def _renew_table_soon(self, now: float) -> None:
        """Not while players have just been told of the round or of other results: the end of the round may come first,
        and its table tells of all."""
        if now >= self._update_at:
            self._renew_table(now)
        elif not self.context.timers.is_set("standings"):
            self.context.timers.set("standings", self._update_at, self._renew_table)

    def _renew_table(self, now: float) -> None:
        self.context.timers.clear("standings")
        self._update = self.messages.standings(now)
        self._look_at_all()
        self._put_off_updates(now)

    def _put_off_updates(self, now: float) -> None:
        self._update_at = now + self._pace.interval_s(self._ledger.settings.standings_interval_s)

    def _look_at_all(self) -> None:
        self._changed.update(dict.fromkeys(self._ledger.roster.members))

    def _next(self, member: Member, now: float) -> Bulletin | None:
        """What this agent is sent now."""
        queue = self._queue(member)
        if not member.takes_part:
            return None
        bulletin = self._due(queue)
        if bulletin is None and self._ledger.bulletin_after(queue.last) is not None:
            return None  # the announcement that is held back comes first
        if bulletin is None and queue.question is not None:
            self._ask_now(member, queue, now)
            return None
        if bulletin is None:
            is_newer = member.is_player and queue.version < _version_of(self._update) and not self._ledger.is_finished
            return UPDATE if is_newer and queue.update is None and self._may_update(member, queue, now) else None
        if now < queue.free_at:
            self._look_again(member, queue.free_at)
            return None
        return self._next_bulletin(member, queue, bulletin, now)

    def _ask_now(self, member: Member, queue: OutboundQueue, now: float) -> None:
        if now < queue.free_at:
            self._look_again(member, queue.free_at)
        elif not self._ledger.is_finished and self.context.is_reachable(member, now):
            self._overtake(member, queue, now)
            self._send(UPDATE, self.messages.standings(now), [member], now)

    def _due(self, queue: OutboundQueue) -> Bulletin | None:
        bulletin = self._ledger.bulletin_after(queue.last)
        is_early = bulletin is not None and bulletin.kind == "round_announced" and bulletin.round_id > self._progress[0]
        return None if is_early else bulletin

    def _next_bulletin(self, member: Member, queue: OutboundQueue, first: Bulletin, now: float) -> Bulletin | None:
        """Whom the circuit breaker spares misses bulletins, but never the last."""
        bulletin: Bulletin | None = first
        while bulletin is not None:
            if bulletin.kind == "league_completed":
                return None if self.context.calls.peers[member.agent_id].deliveries else bulletin
            if self._is_owed(member, bulletin):
                self._overtake(member, queue, now)
                if self.context.is_reachable(member, now):
                    return bulletin
                self._delivered(member, bulletin, now)
            queue.last = bulletin
            bulletin = self._due(queue)
        self.look_at(member.agent_id)
        return None

    def _is_owed(self, member: Member, bulletin: Bulletin) -> bool:
        """Tables are for players. A referee that has matches in a round gets its own copy of the announcement, unless
        it is given them one by one."""
        if bulletin.kind != "round_announced":
            return member.is_player or bulletin.kind == "round_completed"
        if self._ledger.rounds[bulletin.round_id - 1].finished:
            return False
        if member.is_player or member.dispatch_method in STARTS:
            return True
        matches = self._ledger.matches_in(bulletin.round_id)
        played = (one for one in matches if not isinstance(one.result, WalkoverDecided))
        return all(one.referee_id != member.agent_id for one in played)

    def _may_update(self, member: Member, queue: OutboundQueue, now: float) -> bool:
        """Updates for one player keep their distance, and follow other messages like those each other."""
        at = max(queue.update_at, queue.free_at)
        if now < at:
            self._look_again(member, at)
        return now >= at and self.context.is_reachable(member, now)

    def _look_again(self, member: Member, at: float) -> None:
        agent_id = member.agent_id
        self.context.timers.set(("next", agent_id), at, lambda _: self.look_at(agent_id))

    # --- sending ------------------------------------------------------------------------------------------------------

    def _message(self, bulletin: Bulletin, now: float, *, has_matches: bool) -> Message:
        if bulletin == UPDATE and self._update is not None:
            return self._update
        if not has_matches:
            return self.messages.announcement_without_matches(bulletin.round_id, now)
        return self.messages.bulletin(bulletin, now)

    def _send(self, bulletin: Bulletin, message: Message, members: list[Member], now: float) -> None:
        policy = self._policy(bulletin, message)
        label = message.type.lower().replace("_", "-")
        deliveries = []
        for member in members:
            one = OutboundMessage(bulletin, now, now + NEXT_AFTER_S)
            self._leaves(member, one, message, now)
            one.delivery = Delivery(
                member.agent_id,
                label,
                message,
                policy if one.question is None else QUESTION,
                address=partial(self._address, member, one),
                on_end=partial(self._ended, member, one),
                on_attempt_failed=partial(self._attempt_failed, member, one),
                negotiation=self.context.negotiation(member) if one.question is not None else None,
            )
            deliveries.append(one.delivery)
            self._window.left(one, now)
            self.look_at(member.agent_id)
        self.context.calls.deliver(deliveries, now)

    def _leaves(self, member: Member, one: OutboundMessage, message: Message, now: float) -> None:
        queue, settings = self._queue(member), self._ledger.settings
        if one.bulletin == UPDATE:
            queue.update = one
            one.question, queue.question = queue.question, None
        else:
            queue.last, queue.bulletin = one.bulletin, one
        if member.is_player:
            self._pace.left(message, now)
        if isinstance(message, LeagueStandingsUpdate):
            queue.version, queue.update_at = _version_of(message), now + settings.standings_interval_s
        if one.bulletin.kind == "round_announced" and member.is_player:
            self.announced_at = now
            self._put_off_updates(now)
            given_up_at = now + settings.announcement_wait_s
            self.context.timers.set(("announced", given_up_at), given_up_at, lambda _: None)

    def _address(self, member: Member, one: OutboundMessage) -> Address | None:
        """Nothing that was overtaken is repeated."""
        queue = self._queue(member)
        shown = one.question.serial if one.question is not None else None
        return self.context.address(member, shown) if one in (queue.bulletin, queue.update) else None

    def stop_completing(self) -> None:
        """The league goes on after its end: what is under way says too little."""
        for queue in self._queues.values():
            one = queue.bulletin
            if one is not None and one.bulletin.kind == "league_completed" and one.delivery is not None:
                self.context.calls.drop(one.delivery, cancel=True)
                queue.bulletin = None

    def _policy(self, bulletin: Bulletin, message: Message) -> Policy:
        row = EXCHANGES[message.type]
        if bulletin == UPDATE:
            return Policy(row.limit_s, ONCE, is_guarded=True)
        # LEAGUE_COMPLETED is tried whatever the circuit breaker says: there is no later message to hope for.
        is_last = bulletin.kind == "league_completed"
        retries = self.context.retries(refused_only=row.retries.refused_only)
        return Policy(row.limit_s, retries, is_guarded=not is_last)

    def _attempt_failed(
        self, member: Member, one: OutboundMessage, delivery: Delivery, failed: FailedAttempt, now: float
    ) -> None:
        """If nobody was there it is tried again before the next, which would fail, too. Not so an announcement: what
        follows it is the end of its round."""
        is_tried_first = failed.failure is Failure.REFUSED and one.bulletin.kind != "round_announced"
        one.next_at = now
        if is_tried_first and failed.retry_at is not None:
            one.next_at = failed.retry_at + NEXT_AFTER_S
        self.look_at(member.agent_id)

    def _ended(self, member: Member, one: OutboundMessage, delivery: Delivery, outcome: Ending, now: float) -> None:
        queue = self._queue(member)
        self._window.ended(one)
        if member.is_player:
            self._pace.ended(delivery.message, self._ledger.roster.count("player"), now)
        if queue.update is one:
            queue.update = None
        elif queue.bulletin is one:
            queue.bulletin = None
            self._delivered(member, one.bulletin, now)
        self.look_at(member.agent_id)
        if one.question is not None:
            one.question.then(delivery.answer, outcome, now)

    def _overtake(self, member: Member, queue: OutboundQueue, now: float) -> None:
        """The next one leaves. The answer to a call under way is still a sign of life, and its failure one of death. A
        question without an answer is asked again."""
        for one in (queue.bulletin, queue.update):
            if one is not None and one.delivery is not None and one.delivery.attempt.key is None:
                self.context.calls.drop(one.delivery)
        if queue.bulletin is not None:
            self._delivered(member, queue.bulletin.bulletin, now)
        if queue.update is not None and queue.question is None:
            queue.question = queue.update.question
        queue.bulletin = queue.update = None

    def _delivered(self, member: Member, bulletin: Bulletin, now: float) -> None:
        """Journal how far the agent has got. After a restart announcements and final standings may go out once more:
        not worth an event each."""
        if bulletin.kind in _JOURNALLED:
            self.context.happened(BulletinDelivered(at=now, agent_id=member.agent_id, bulletin=bulletin))
        if bulletin.kind == "league_completed":
            self.context.change(member, "league_end", now)


def _version_of(message: object) -> int:
    """Of a table; 0 for anything else."""
    return (message.version if isinstance(message, LeagueStandingsUpdate) else 0) or 0
