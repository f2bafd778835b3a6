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
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final

from msgspec import Struct

from league.calling.breaker import CircuitBreaker
from league.calling.delivery import Delivery, Ending, FailedAttempt, Policy
from league.events import Bulletin, BulletinsDelivered, WalkoverDecided
from league.events.manager import BulletinKind
from league.machine import Address, Content, Failure
from league.manager.context import ManagerPart
from league.manager.dispatch import ONE_BY_ONE
from league.manager.messages import Messages
from league.manager.pace import SendWindow, UpdatePace
from league.manager.roster import Member
from league.protocol.exchanges import EXCHANGES, ONCE, RetrySchedule
from league.protocol.messages import LeagueStandingsUpdate, Message

UPDATE: Final = Bulletin("standings_update", 0)
HELD_BACK: Final = Bulletin("round_announced", 0)
"""In place of an announcement that must wait; nothing else overtakes it."""
NEXT_AFTER_S: Final = 2.0
"""So long the next message to an agent waits for the answer to the one before."""
QUESTION: Final = Policy(2.0, RetrySchedule((0.5, 0.5, 0.5)), accepts_late_answers=True)
"""For a table with a question. Without the answer the player refuses its referee, which gives it up after four calls 2
seconds apart. Whoever is slow to answer has done nothing wrong: the circuit breaker does not count it."""


@dataclass(frozen=True, slots=True)
class TokenQuestion:
    """Does an agent hold this one of its tokens? Asked with a table that shows what is derived from it, in one calling
    convention after the other: until the answer is known, referees may show the wrong token."""

    serial: int
    then: Callable[[Content | None, Ending, float], None]


class OutboundMessage(Delivery, eq=False, kw_only=True):
    """The delivery of a bulletin or a table to one agent."""

    queue: OutboundQueue
    bulletin: Bulletin
    left_at: float
    next_at: float
    """When the next may leave, whatever has become of this one."""
    question: TokenQuestion | None = None


class OutboundQueue(Struct, eq=False):
    """How far an agent has got. `last` is the last bulletin that left or was not owed, `version` that of the last
    table; `question` goes with the next table that is no bulletin."""

    member: Member
    is_player: bool
    address: Callable[[], Address | None]
    breaker: CircuitBreaker
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
        at = 0.0 if self.bulletin is None else self.bulletin.next_at
        return at if self.update is None else max(at, self.update.next_at)


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
    _progress: tuple[int, int, int, int, bool, int] = (0, 0, 0, 0, False, 0)
    """How many rounds are finished, can be announced and were opened, how often the league was reopened, whether it is
    finished, and how many members it has, as far as everybody's queue was looked at."""
    _following: dict[Bulletin, Bulletin] = field(default_factory=dict)
    """What is due after each bulletin, as long as the progress is the same."""
    _update: LeagueStandingsUpdate | None = None
    """The newest table; results since then wait for the next."""
    _newest: int = 0
    """Its version."""
    _update_at: float = 0.0
    _unanswered: dict[OutboundMessage, None] = field(default_factory=dict)
    """What left within the last 2 seconds, in that order."""
    _completed: dict[str, Bulletin] = field(default_factory=dict)
    """Whose ROUND_COMPLETED has ended: journalled before anything else leaves to one of them, or some 2 s later."""
    _pace: UpdatePace = field(default_factory=UpdatePace)
    _window: SendWindow = field(default_factory=SendWindow)

    def _queue(self, member: Member) -> OutboundQueue:
        queue = self._queues.get(member.agent_id)
        if queue is None:
            breaker = self.context.calls.peers[member.agent_id].breaker
            address = partial(self.context.address, member)
            queue = OutboundQueue(member, member.is_player, address, breaker, member.delivered)
            self._queues[member.agent_id] = queue
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
        for member in reversed(self._ledger.roster.members.values()):
            if member.role == "player" and member.state == "ACTIVE":
                queue = self._queues.get(member.agent_id) or self._queue(member)
                under_way = queue.bulletin
                is_told = queue.last == announced and (under_way is None or now >= under_way.left_at + wait_s)
                if not is_told and queue.breaker.failures == 0:
                    return False
        return True

    # --- what is due --------------------------------------------------------------------------------------------------

    def flush(self, now: float) -> None:
        """Send what is due to all whose queues are free: one call for all who get the same, as far as there is room."""
        self._look_around(now)
        while self._changed:
            room = self._window.room(now)
            if room <= 0:
                if not self.context.timers.is_set("send window"):
                    self.context.timers.set("send window", self._window.free_at, lambda _: None)
                return
            for (bulletin, is_same), queues in self._due_now(room, now).items():
                self._send(bulletin, self._message(bulletin, now, has_matches=is_same), queues, now)

    def _due_now(self, room: int, now: float) -> dict[tuple[Bulletin, bool], list[OutboundQueue]]:
        """Who gets what, so many at most. Who has waited longest comes first."""
        groups: dict[tuple[Bulletin, bool], list[OutboundQueue]] = {}
        members, changed = self._ledger.roster.members, self._changed
        while changed and room > 0:
            agent_id = next(iter(changed))
            del changed[agent_id]
            queue = self._queues.get(agent_id)
            if queue is None and agent_id in members:
                queue = self._queue(members[agent_id])
            bulletin = self._next(queue, now) if queue is not None else None
            if bulletin is not None and queue is not None:
                # Only the announcement is not the same for players and referees.
                is_same = queue.is_player or bulletin.kind != "round_announced"
                groups.setdefault((bulletin, is_same), []).append(queue)
                room -= 1
        return groups

    def _look_around(self, now: float) -> None:
        ledger = self._ledger
        finished, announceable = self._progress[:2]
        can_announce = announceable < ledger.current_round and not self.is_holding()
        if can_announce and ledger.has_referees(ledger.current_round):
            announceable = ledger.current_round
        is_over, members = ledger.state == "LEAGUE_COMPLETED", len(ledger.roster.members)
        opened, edition = ledger.current_round, ledger.edition
        progress = (ledger.finished_rounds, announceable, opened, edition, is_over, members)
        if progress != self._progress:
            if ledger.finished_rounds > finished:
                self._renew_table(now)  # it is the final one of the round
            self._progress = progress
            self._following.clear()
            self._look_at_all()
        if not is_over and ledger.standings.version > self._newest:
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
        self._newest = self._ledger.standings.version
        self._look_at_all()
        self._put_off_updates(now)

    def _put_off_updates(self, now: float) -> None:
        self._update_at = now + self._pace.interval_s(self._ledger.settings.standings_interval_s)

    def _look_at_all(self) -> None:
        self._changed.update(dict.fromkeys(self._ledger.roster.members))

    def _next(self, queue: OutboundQueue, now: float) -> Bulletin | None:
        """What this agent is sent now."""
        if queue.member.state == "SHUTDOWN":
            return None
        due = self._following.get(queue.last) or self._follow(queue.last)
        if due is HELD_BACK:
            return None
        if due is UPDATE:
            is_nothing_new = queue.version >= self._newest and queue.question is None
            return None if is_nothing_new else self._next_table(queue, now)
        if (queue.bulletin is not None or queue.update is not None) and now < queue.free_at:
            self._look_again(queue, queue.free_at)
            return None
        return self._next_bulletin(queue, due, now)

    def _follow(self, last: Bulletin) -> Bulletin:
        """What follows a bulletin now: perhaps a table, if no other bulletin does."""
        bulletin = self._ledger.bulletin_after(last) or UPDATE
        if bulletin.kind == "round_announced" and bulletin.round_id > self._progress[1]:
            bulletin = HELD_BACK
        self._following[last] = bulletin
        return bulletin

    def _next_table(self, queue: OutboundQueue, now: float) -> Bulletin | None:
        if queue.question is not None:
            self._ask_now(queue, now)
            return None
        is_newer = queue.is_player and queue.update is None and not self._ledger.is_finished
        return UPDATE if is_newer and self._may_update(queue, now) else None

    def _ask_now(self, queue: OutboundQueue, now: float) -> None:
        if now < queue.free_at:
            self._look_again(queue, queue.free_at)
        elif not self._ledger.is_finished and not queue.breaker.is_open(now):
            self._overtake(queue, now)
            self._send(UPDATE, self.messages.standings(now), [queue], now)

    def _next_bulletin(self, queue: OutboundQueue, due: Bulletin, now: float) -> Bulletin | None:
        """Whom the circuit breaker spares misses bulletins, but never the last."""
        while due is not UPDATE and due is not HELD_BACK:
            if due.kind == "league_completed":
                return None if self.context.calls.peers[queue.member.agent_id].deliveries else due
            if self._is_owed(queue.member, due):
                if queue.bulletin is not None or queue.update is not None:
                    self._overtake(queue, now)
                if not queue.breaker.is_open(now):
                    return due
                self._delivered(queue.member, due, now)
            queue.last = due
            due = self._following.get(due) or self._follow(due)
        self.look_at(queue.member.agent_id)
        return None

    def _is_owed(self, member: Member, bulletin: Bulletin) -> bool:
        """Tables are for players. A referee that has matches in a round gets its own copy of the announcement, unless
        it is given them one by one."""
        if bulletin.kind != "round_announced":
            return member.role == "player" or bulletin.kind == "round_completed"
        if self._ledger.rounds[bulletin.round_id - 1].finished:
            return False
        if member.role == "player" or member.dispatch_method in ONE_BY_ONE:
            return True
        matches = self._ledger.matches_in(bulletin.round_id)
        played = (one for one in matches if not isinstance(one.result, WalkoverDecided))
        return all(one.referee_id != member.agent_id for one in played)

    def _may_update(self, queue: OutboundQueue, now: float) -> bool:
        """Updates for one player keep their distance, and follow other messages like those each other."""
        at = max(queue.update_at, queue.free_at)
        if now < at:
            self._look_again(queue, at)
        return now >= at and not queue.breaker.is_open(now)

    def _look_again(self, queue: OutboundQueue, at: float) -> None:
        agent_id = queue.member.agent_id
        self.context.timers.set(("next", agent_id), at, lambda _: self.look_at(agent_id))

    # --- sending ------------------------------------------------------------------------------------------------------

    def _message(self, bulletin: Bulletin, now: float, *, has_matches: bool) -> Message:
        if bulletin is UPDATE and self._update is not None:
            return self._update
        if not has_matches:
            return self.messages.announcement_without_matches(bulletin.round_id, now)
        return self.messages.bulletin(bulletin, now)

    def _send(self, bulletin: Bulletin, message: Message, queues: list[OutboundQueue], now: float) -> None:
        label, policy = _exchange(bulletin.kind, message.type, tuple(self._ledger.settings.retry_delays_s))
        if len(queues) > 1:
            queues.sort(key=_agent_id)
        if self._completed and not self._completed.keys().isdisjoint(map(_agent_id, queues)):
            self._journal_completed(now)
        if queues[0].is_player:
            self._pace.left(message, self._ledger.roster.count("player"), now)
            if bulletin.kind == "round_announced":
                self._announced(now)
        if not self._unanswered and not self.context.timers.is_set("unanswered"):
            self.context.timers.set("unanswered", now + NEXT_AFTER_S, self._look_at_unanswered)
        sent = [self._outbound(queue, bulletin, label, message, policy, now) for queue in queues]
        self._unanswered.update(dict.fromkeys(sent))
        self._window.update(dict.fromkeys(sent, now))
        self.context.calls.deliver(sent, now)

    def _announced(self, now: float) -> None:
        self.announced_at = now
        self._put_off_updates(now)
        if not self.context.timers.is_set("announcement heard"):
            given_up_at = now + self._ledger.settings.announcement_wait_s
            self.context.timers.set("announcement heard", given_up_at, self._wait_for_others)

    def _wait_for_others(self, now: float) -> None:
        """Who has not answered the announcement by now is not waited for any more; who got it later still is."""
        wait_s, under_way = self._ledger.settings.announcement_wait_s, [one.bulletin for one in self._queues.values()]
        times = [one.left_at + wait_s for one in under_way if one and one.bulletin.kind == "round_announced"]
        given_up_at = min([at for at in times if at > now], default=None)
        if given_up_at is not None:
            self.context.timers.set("announcement heard", given_up_at, self._wait_for_others)

    def _outbound(
        self, queue: OutboundQueue, bulletin: Bulletin, label: str, message: Message, policy: Policy, now: float
    ) -> OutboundMessage:
        one = OutboundMessage(
            queue.member.agent_id,
            label,
            message,
            policy,
            queue.address,
            self._ended,
            self._attempt_failed,
            queue=queue,
            bulletin=bulletin,
            left_at=now,
            next_at=now + NEXT_AFTER_S,
        )
        if bulletin is UPDATE:
            queue.update = one
            if queue.question is not None:
                self._put_question(one, queue.question)
        else:
            queue.last, queue.bulletin = bulletin, one
        if type(message) is LeagueStandingsUpdate:
            queue.version, queue.update_at = message.version or 0, now + self._ledger.settings.standings_interval_s
        return one

    def _put_question(self, one: OutboundMessage, question: TokenQuestion) -> None:
        member, one.queue.question, one.question = one.queue.member, None, question
        one.policy, one.line = QUESTION, self.context.line(member)
        one.address = partial(self.context.address, member, question.serial)

    def _look_at_unanswered(self, now: float) -> None:
        """Whoever has not answered in time may be sent the next."""
        self._journal_completed(now)
        while self._unanswered:
            one = next(iter(self._unanswered))
            at = one.left_at + NEXT_AFTER_S
            if now < at:
                self.context.timers.set("unanswered", at, self._look_at_unanswered)
                return
            del self._unanswered[one]
            self.look_at(one.peer)

    def stop_completing(self) -> None:
        """The league goes on after its end: what is under way says too little."""
        for queue in self._queues.values():
            one = queue.bulletin
            if one is not None and one.bulletin.kind == "league_completed":
                self.context.calls.drop(one, cancel=True)
                queue.bulletin = None

    def _attempt_failed(self, one: OutboundMessage, failed: FailedAttempt, now: float) -> None:
        """If nobody was there it is tried again before the next, which would fail, too. Not so an announcement: what
        follows it is the end of its round."""
        is_tried_first = failed.failure is Failure.REFUSED and one.bulletin.kind != "round_announced"
        one.next_at = now
        if is_tried_first and failed.retry_at is not None:
            one.next_at = failed.retry_at + NEXT_AFTER_S
        self.look_at(one.peer)

    def _ended(self, one: OutboundMessage, outcome: Ending, now: float) -> None:
        queue = one.queue
        self._window.pop(one, None)
        self._unanswered.pop(one, None)
        if one.message is self._pace.measured:
            self._pace.answered(now)
        if queue.update is one:
            queue.update = None
        elif queue.bulletin is one:
            queue.bulletin = None
            self._delivered(queue.member, one.bulletin, now)
        self._changed[one.peer] = None
        if one.question is not None:
            one.question.then(one.answer, outcome, now)

    def _overtake(self, queue: OutboundQueue, now: float) -> None:
        """The next one leaves: the one before is not repeated. The answer to a call under way is still a sign of life,
        and its failure one of death. A question without an answer is asked again."""
        for one in (queue.bulletin, queue.update):
            if one is not None:
                self.context.calls.repeat_no_more(one)
                self._changed.pop(one.peer, None)  # its queue is being looked at
        if queue.bulletin is not None:
            self._delivered(queue.member, queue.bulletin.bulletin, now)
        if queue.update is not None and queue.question is None:
            queue.question = queue.update.question
        queue.bulletin = queue.update = None

    def _delivered(self, member: Member, bulletin: Bulletin, now: float) -> None:
        """How far the agent has got. After a restart announcements and final standings may go out once more: not worth
        an event each."""
        if bulletin.kind == "round_completed":
            self._completed[member.agent_id] = bulletin
        elif bulletin.kind == "league_completed":
            self.context.happened(BulletinsDelivered(at=now, bulletins={member.agent_id: bulletin}))
            self.context.change(member, "league_end", now)

    def _journal_completed(self, now: float) -> None:
        """So that after a restart nobody hears that a round was completed after the next one was announced."""
        if self._completed:
            self.context.happened(BulletinsDelivered(at=now, bulletins=self._completed))
            self._completed = {}


@lru_cache
def _exchange(kind: BulletinKind, message_type: str, delays_s: tuple[float, ...]) -> tuple[str, Policy]:
    """The label of its calls, and how they are made."""
    row = EXCHANGES[message_type]
    retries = RetrySchedule(delays_s, refused_only=row.retries.refused_only)
    # LEAGUE_COMPLETED is tried whatever the circuit breaker says: there is no later message to hope for.
    policy = Policy(row.limit_s, ONCE if kind == UPDATE.kind else retries, is_guarded=kind != "league_completed")
    return message_type.lower().replace("_", "-"), policy


_agent_id = attrgetter("member.agent_id")
