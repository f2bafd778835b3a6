"""Messages to all members, in order: announcements, standings, ROUND_COMPLETED, LEAGUE_COMPLETED (spec sections 6.1,
8.5, 8.8, 8.9, S-44).

Theory of operation. There are two kinds of messages. *Bulletins* follow each other in one order, the same for
everybody (`Ledger.bulletin_after`): round announced, final standings, round completed, and so on to the end of the
league. *Updates* are tables in between, and only the newest one counts. Each member has a queue:

    free ── the next bulletin, or a newer table ──▶ under way ── answered, or failed for good ──▶ free
                                                       │
                                                       └── 2 seconds later: the next one may leave, and overtakes it

A message that was overtaken is not repeated, so nothing arrives after what follows it. A slow member delays nobody but
itself. `flush` ends every step of the manager. It looks only at the members in `_changed`: everybody after the league
got further or a table was written, a single member after something about it changed. Members whose queues are free at
the same moment get the same message object in one delivery, which is encoded once.

Two things keep large leagues going. At most MOST_AT_ONCE messages are under way (`SendWindow`); and the longer it takes
to tell everybody a table, the longer the next one waits (`TablePace`).

These things must never happen: a member gets bulletins out of order; ROUND_COMPLETED is repeated after the next
announcement, also across a restart (`BulletinsDelivered` is journalled before anything else leaves to that member); a
round is announced before every match of it has a referee.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Struct

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Policy,
)
from league.calling.engine import CircuitBreaker
from league.events import Bulletin, BulletinKind, BulletinsDelivered, WalkoverDecided
from league.machine import Address, Content, Failure
from league.manager.manager_context import ManagerPart
from league.manager.staffing.dispatch import ONE_BY_ONE
from league.manager.state.roster import Member
from league.manager.telling.manager_messages import Messages
from league.protocol.message.exchanges import EXCHANGES, ONCE, RetrySchedule
from league.protocol.message.messages import (
    LeagueStandingsUpdate,
    Message,
    RoundAnnouncement,
)

UPDATE: Final = Bulletin("standings_update", 0)
HELD_BACK: Final = Bulletin("round_announced", 0)
"""Takes the place of an announcement that must wait. Nothing else overtakes it."""
NEXT_AFTER_S: Final = 2.0
"""How long the next message to a member waits for the answer to the one before."""
MOST_AT_ONCE: Final = 100
"""Maximum number of messages under way. The others leave as these are answered."""
PLACE_HELD_S: Final = 1.0
"""How long an unanswered message holds its place among them."""
LONGEST_INTERVAL_S: Final = 60.0
PAUSE_PER_BROADCAST: Final = 8
"""The next table waits so many times as long as the last one took (spec section 8.5): so tables take an eighth of the
time, also where there is too little of it."""
QUESTION: Final = Policy(2.0, RetrySchedule((0.5, 0.5, 0.5)), accepts_late_answers=True)
"""For a table that carries a question. Without the answer the player refuses its referee, which gives up after four
calls 2 seconds apart. A slow answer is no fault, so the circuit breaker does not count it."""


class SendWindow(dict[object, float]):
    """The messages under way that others wait for, in the order they left, and when each of them left.

    A message to a thousand players at once would be answered by all of them at once, and too late.
    """

    def room(self, now: float) -> int:
        """Return how many messages may leave now."""
        while self:
            oldest = next(iter(self))
            if self[oldest] + PLACE_HELD_S > now:
                break
            del self[oldest]
        return MOST_AT_ONCE - len(self)

    @property
    def free_at(self) -> float:
        """When the next place is free if nobody answers."""
        return next(iter(self.values())) + PLACE_HELD_S


@dataclass(slots=True)
class TablePace:
    """How far apart tables are.

    A table goes to everybody and has a row for everybody. If telling everybody takes long, the next table waits longer,
    so that large leagues do not spend all their time on tables. The measure is when half of the players had answered
    the last table or announcement: a slow player delays nobody else.
    """

    next_at: float = 0.0
    """When the next table may be written."""
    measured: Message | None = None
    """The newest of the messages that grow with the league."""
    _place: tuple[int, ...] = ()
    _since: float = 0.0
    _took_s: float = 0.0
    _awaited: int = 0
    """How many answers are missing until half of the players have answered it."""

    def left(self, message: Message, players: int, now: float) -> None:
        """A message left for some of the players of the league."""
        if message is self.measured:
            return
        # Of the messages that grow with the league, those of a later round, or a later version, are newer.
        if isinstance(message, LeagueStandingsUpdate):
            place: tuple[int, ...] = (
                message.round_id,
                1,
                message.version or 0,
            )
        elif isinstance(message, RoundAnnouncement):
            place = (message.round_id, 0)
        else:
            return
        if place > self._place:
            self.measured = message
            self._place = place
            self._since = now
            self._awaited = (players + 1) // 2

    def answered(self, now: float) -> None:
        """The delivery of the measured message to one player ended."""
        self._awaited -= 1
        if self._awaited == 0:
            self._took_s = now - self._since

    def put_off(self, shortest_s: float, now: float) -> None:
        """A table or an announcement leaves: the next table waits."""
        pause_s = min(PAUSE_PER_BROADCAST * self._took_s, LONGEST_INTERVAL_S)
        self.next_at = now + max(shortest_s, pause_s)


@dataclass(frozen=True, slots=True)
class TokenQuestion:
    """Does an agent hold this one of its tokens?

    The question goes with a table that shows what is derived from the token, in one calling convention after the other.
    Until the answer is there, referees may show the wrong token.
    """

    serial: int
    then: Callable[[Content | None, Ending, float], None]


class OutboundMessage(Delivery, eq=False, kw_only=True):
    """The delivery of a bulletin or an update to one member."""

    queue: OutboundQueue
    bulletin: Bulletin
    left_at: float
    next_at: float
    """When the next message may leave, whatever has become of this one."""
    question: TokenQuestion | None = None


class OutboundQueue(Struct, eq=False):
    """How far a member has got."""

    member: Member
    is_player: bool
    address: Callable[[], Address | None]
    breaker: CircuitBreaker
    last: Bulletin
    """The last bulletin that left, or that the member did not need."""
    bulletin: OutboundMessage | None = None
    """Under way."""
    update: OutboundMessage | None = None
    """Under way."""
    version: int = 0
    """The version of the last table that left."""
    update_at: float = 0.0
    """When the next update may leave."""
    question: TokenQuestion | None = None
    """Goes with the next update."""

    @property
    def free_at(self) -> float:
        """When the next message may leave."""
        at = 0.0
        if self.bulletin is not None:
            at = self.bulletin.next_at
        if self.update is not None:
            at = max(at, self.update.next_at)
        return at


class LeagueProgress(NamedTuple):
    """How far the league has got. Every queue is looked at when one of these changes."""

    finished_rounds: int = 0
    announceable_round: int = 0
    current_round: int = 0
    edition: int = 0
    is_over: bool = False
    members: int = 0


@dataclass(slots=True)
class Broadcasts(ManagerPart):
    """Sends bulletins and updates."""

    messages: Messages
    announced_at: float = 0.0
    """When an announcement last left for a player."""
    _queues: dict[str, OutboundQueue] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)
    """The members whose queues must be looked at. Those that have waited longest come first."""
    _progress: LeagueProgress = field(default_factory=LeagueProgress)
    _following: dict[Bulletin, Bulletin] = field(default_factory=dict)
    """What follows each bulletin, remembered until the progress changes."""
    _update: LeagueStandingsUpdate | None = None
    """The newest table. Results since then wait for the next one."""
    _update_version: int = 0
    _unanswered: dict[OutboundMessage, None] = field(default_factory=dict)
    """Messages that left within the last 2 seconds, in that order."""
    _completed: dict[str, Bulletin] = field(default_factory=dict)
    """Members for which ROUND_COMPLETED has ended, and which the journal does not know yet."""
    _pace: TablePace = field(default_factory=TablePace)
    _window: SendWindow = field(default_factory=SendWindow)

    def _queue(self, member: Member) -> OutboundQueue:
        queue = self._queues.get(member.agent_id)
        if queue is None:
            breaker = self.context.calls.peers[member.agent_id].breaker
            address = partial(self.context.address, member)
            queue = OutboundQueue(
                member,
                member.is_player,
                address,
                breaker,
                member.told.bulletin,
            )
            self._queues[member.agent_id] = queue
        return queue

    def ask(self, member: Member, question: TokenQuestion) -> None:
        """Send a member the current table, with a question, as soon as nothing else is to be sent."""
        self._queue(member).question = question
        self.look_at(member.agent_id)

    def look_at(self, agent_id: str) -> None:
        """Something about this member changed."""
        self._changed[agent_id] = None

    def have_heard_of(self, round_id: int, now: float) -> bool:
        """True if the announcement has reached every player that is waited for.

        Those are the ACTIVE ones whose last call did not fail, for as long as an answer is waited for.
        """
        announcement = Bulletin("round_announced", round_id)
        wait_s = self._ledger.settings.announcement_wait_s
        # The member that was told last is likely to answer last: most steps look at few members of a large league.
        for member in reversed(self._ledger.roster.members.values()):
            if member.role == "player" and member.state == "ACTIVE":
                queue = self._queues.get(member.agent_id) or self._queue(member)
                under_way = queue.bulletin
                is_settled = under_way is None or now >= under_way.left_at + wait_s
                has_heard = queue.last == announcement and is_settled
                if not has_heard and queue.breaker.failures == 0:
                    return False
        return True

    # --- what leaves, and to whom -------------------------------------------------------------------------------------

    def flush(self, now: float) -> None:
        """Send everything that may leave now: one delivery for all members that get the same message."""
        self._look_around(now)
        # Skipped bulletins, and calls that end at once, bring members back into `_changed`.
        while self._changed:
            room = self._window.room(now)
            if room <= 0:
                if not self.context.timers.is_set("send window"):
                    self.context.timers.set(
                        "send window",
                        self._window.free_at,
                        lambda _: None,
                    )
                return
            for (bulletin, has_matches), queues in self._next_messages(room, now).items():
                message = self._message(bulletin, now, has_matches=has_matches)
                self._send(bulletin, message, queues, now)

    def _look_around(self, now: float) -> None:
        """Look at everybody if the league got further, and write a new table if there are new results."""
        ledger = self._ledger
        before = self._progress
        announceable_round = before.announceable_round
        can_announce = announceable_round < ledger.current_round
        if can_announce and ledger.has_referees(ledger.current_round):
            announceable_round = ledger.current_round
        is_over = ledger.state == "LEAGUE_COMPLETED"
        progress = LeagueProgress(
            ledger.finished_rounds,
            announceable_round,
            ledger.current_round,
            ledger.controls.reopened,
            is_over,
            len(ledger.roster.members),
        )
        if progress != before:
            if ledger.finished_rounds > before.finished_rounds:
                # The final table of the round.
                self._renew_table(now)
            self._progress = progress
            self._following.clear()
            self._changed.update(dict.fromkeys(ledger.roster.members))
        if is_over or ledger.standings.version <= self._update_version:
            return
        # Players that have just heard of the round, or of other results, get the next table later: the end of the
        # round may come first, and its table tells them everything.
        if now >= self._pace.next_at:
            self._renew_table(now)
        elif not self.context.timers.is_set("standings"):
            self.context.timers.set("standings", self._pace.next_at, self._renew_table)

    def _renew_table(self, now: float) -> None:
        self.context.timers.clear("standings")
        self._update = self.messages.standings(now)
        self._update_version = self._ledger.standings.version
        self._changed.update(dict.fromkeys(self._ledger.roster.members))
        self._pace.put_off(self.context.house.standings_interval_s, now)

    def _next_messages(self, room: int, now: float) -> dict[tuple[Bulletin, bool], list[OutboundQueue]]:
        """Return the members that get each message now, within the room there is.

        Only the announcement differs: players get it with its matches, referees without (False).
        """
        groups: dict[tuple[Bulletin, bool], list[OutboundQueue]] = {}
        members = self._ledger.roster.members
        changed = self._changed
        while changed and room > 0:
            agent_id = next(iter(changed))
            del changed[agent_id]
            queue = self._queues.get(agent_id)
            if queue is None:
                if agent_id not in members:
                    continue
                queue = self._queue(members[agent_id])
            bulletin = self._next(queue, now)
            if bulletin is not None:
                has_matches = queue.is_player or bulletin.kind != "round_announced"
                groups.setdefault((bulletin, has_matches), []).append(queue)
                room -= 1
        return groups

    def _next(self, queue: OutboundQueue, now: float) -> Bulletin | None:
        """Return what this member is sent now."""
        if queue.member.state == "SHUTDOWN":
            return None
        following = self._following.get(queue.last) or self._follow(queue.last)
        if following is HELD_BACK:
            # No update either: after it the announcement would have to wait for its answer.
            return None
        if following is UPDATE:
            if queue.version >= self._update_version and queue.question is None:
                return None
            return self._next_update(queue, now)
        if (queue.bulletin is not None or queue.update is not None) and now < queue.free_at:
            self._look_again(queue, queue.free_at)
            return None
        return self._next_bulletin(queue, following, now)

    def _follow(self, last: Bulletin) -> Bulletin:
        """Return what follows a bulletin now: an update if no other bulletin does."""
        bulletin = self._ledger.bulletin_after(last) or UPDATE
        if bulletin.kind == "round_announced" and bulletin.round_id > self._progress.announceable_round:
            bulletin = HELD_BACK
        self._following[last] = bulletin
        return bulletin

    def _next_update(self, queue: OutboundQueue, now: float) -> Bulletin | None:
        """Return UPDATE if this player may get the newest table now.

        Updates for one player keep their distance, and follow other messages as those follow each other.
        """
        if queue.question is not None:
            self._ask_now(queue, now)
            return None
        if not queue.is_player or queue.update is not None or self._progress.is_over:
            return None
        at = max(queue.update_at, queue.free_at)
        if now < at:
            self._look_again(queue, at)
            return None
        if queue.breaker.is_open(now):
            return None
        return UPDATE

    def _ask_now(self, queue: OutboundQueue, now: float) -> None:
        if now < queue.free_at:
            self._look_again(queue, queue.free_at)
        elif not self._ledger.is_finished:
            # An open circuit breaker does not matter: who registers again has just begun to listen.
            self._overtake(queue, now)
            self._send(UPDATE, self.messages.standings(now), [queue], now)

    def _next_bulletin(self, queue: OutboundQueue, bulletin: Bulletin, now: float) -> Bulletin | None:
        """Return the next bulletin this member needs, from this one on.

        A member with an open circuit breaker misses bulletins, except the last one.
        """
        while bulletin is not UPDATE and bulletin is not HELD_BACK:
            if bulletin.kind == "league_completed":
                # Everything else must have ended: after LEAGUE_COMPLETED a member may be gone.
                if self.context.calls.peers[queue.member.agent_id].deliveries > 0:
                    return None
                return bulletin
            if self._is_owed(queue.member, bulletin):
                if queue.bulletin is not None or queue.update is not None:
                    self._overtake(queue, now)
                if not queue.breaker.is_open(now):
                    return bulletin
                self._delivered(queue.member, bulletin, now)
            queue.last = bulletin
            bulletin = self._following.get(bulletin) or self._follow(bulletin)
        self.look_at(queue.member.agent_id)
        return None

    def _is_owed(self, member: Member, bulletin: Bulletin) -> bool:
        """True if this member gets this bulletin.

        Tables are for players. A referee that has matches in a round gets its own copy of the announcement, unless it
        is given its matches one by one.
        """
        if bulletin.kind != "round_announced":
            return member.role == "player" or bulletin.kind == "round_completed"
        if self._ledger.rounds[bulletin.round_id - 1].finished:
            return False
        if member.role == "player" or member.as_referee.dispatch_method in ONE_BY_ONE:
            return True
        for match in self._ledger.matches_in(bulletin.round_id):
            if match.referee_id == member.agent_id and not isinstance(match.result, WalkoverDecided):
                return False
        return True

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

    def _send(
        self,
        bulletin: Bulletin,
        message: Message,
        queues: list[OutboundQueue],
        now: float,
    ) -> None:
        plan = _call_plan(
            bulletin.kind,
            message.type,
            tuple(self._ledger.settings.retry_delays_s),
        )
        # In the order of their ids, so that a run with the same seed is the same run.
        if len(queues) > 1:
            queues.sort(key=_agent_id)
        # See above: what a member has been told is journalled before it hears anything that follows.
        if self._completed and not self._completed.keys().isdisjoint(map(_agent_id, queues)):
            self._journal_completed(now)
        if queues[0].is_player:
            self._pace.left(message, self._ledger.roster.count("player"), now)
            if bulletin.kind == "round_announced":
                self._announced(now)
        if not self._unanswered and not self.context.timers.is_set("unanswered"):
            self.context.timers.set(
                "unanswered",
                now + NEXT_AFTER_S,
                self._look_at_unanswered,
            )
        deliveries = [self._outbound(queue, bulletin, message, plan, now) for queue in queues]
        self._unanswered.update(dict.fromkeys(deliveries))
        self._window.update(dict.fromkeys(deliveries, now))
        self.context.calls.deliver(deliveries, now)

    def _outbound(
        self,
        queue: OutboundQueue,
        bulletin: Bulletin,
        message: Message,
        plan: CallPlan,
        now: float,
    ) -> OutboundMessage:
        outbound = OutboundMessage(
            queue.member.agent_id,
            plan.label,
            message,
            policy=plan.policy,
            address=queue.address,
            on_end=self._ended,
            on_attempt_failed=self._attempt_failed,
            queue=queue,
            bulletin=bulletin,
            left_at=now,
            next_at=now + NEXT_AFTER_S,
        )
        if bulletin is UPDATE:
            queue.update = outbound
            if queue.question is not None:
                self._put_question(outbound, queue.question)
        else:
            queue.last = bulletin
            queue.bulletin = outbound
        if type(message) is LeagueStandingsUpdate:
            # A final table is an update, too: nobody needs the same one twice.
            queue.version = message.version or 0
            queue.update_at = now + self.context.house.standings_interval_s
        return outbound

    def _put_question(self, outbound: OutboundMessage, question: TokenQuestion) -> None:
        member = outbound.queue.member
        outbound.queue.question = None
        outbound.question = question
        outbound.policy = QUESTION
        outbound.line = self.context.line(member)
        outbound.address = partial(self.context.address, member, question.serial)

    def _announced(self, now: float) -> None:
        self.announced_at = now
        self._pace.put_off(self.context.house.standings_interval_s, now)
        if not self.context.timers.is_set("announcement heard"):
            give_up_at = now + self._ledger.settings.announcement_wait_s
            self.context.timers.set(
                "announcement heard",
                give_up_at,
                self._wait_for_later_ones,
            )

    def _wait_for_later_ones(self, now: float) -> None:
        """Stop waiting for players that have not answered the announcement in time. Those that got it later have more
        time."""
        wait_s = self._ledger.settings.announcement_wait_s
        times = []
        for queue in self._queues.values():
            under_way = queue.bulletin
            if under_way is not None and under_way.bulletin.kind == "round_announced":
                times.append(under_way.left_at + wait_s)
        give_up_at = min([at for at in times if at > now], default=None)
        if give_up_at is not None:
            self.context.timers.set(
                "announcement heard",
                give_up_at,
                self._wait_for_later_ones,
            )

    # --- what becomes of it -------------------------------------------------------------------------------------------

    def _look_at_unanswered(self, now: float) -> None:
        """Members that have not answered in time may be sent the next message."""
        self._journal_completed(now)
        while self._unanswered:
            outbound = next(iter(self._unanswered))
            at = outbound.left_at + NEXT_AFTER_S
            if now < at:
                self.context.timers.set("unanswered", at, self._look_at_unanswered)
                return
            del self._unanswered[outbound]
            self.look_at(outbound.peer)

    def stop_completing(self) -> None:
        """The league goes on after its end: a LEAGUE_COMPLETED under way is no longer true."""
        for queue in self._queues.values():
            outbound = queue.bulletin
            if outbound is not None and outbound.bulletin.kind == "league_completed":
                self.context.calls.drop(outbound, cancel=True)
                queue.bulletin = None

    def _attempt_failed(
        self,
        outbound: OutboundMessage,
        failed: FailedAttempt,
        now: float,
    ) -> None:
        """Decide when the next message may leave.

        If nobody was there, this one is tried again first, because the next one would fail, too. An announcement is
        the exception: what follows it is the end of its round.
        """
        is_tried_first = failed.failure is Failure.REFUSED and outbound.bulletin.kind != "round_announced"
        outbound.next_at = now
        if is_tried_first and failed.retry_at is not None:
            outbound.next_at = failed.retry_at + NEXT_AFTER_S
        self.look_at(outbound.peer)

    def _ended(self, outbound: OutboundMessage, outcome: Ending, now: float) -> None:
        queue = outbound.queue
        # Its place in the window is free for the next member, however it ended.
        self._window.pop(outbound, None)
        self._unanswered.pop(outbound, None)
        if outbound.message is self._pace.measured:
            self._pace.answered(now)
        if queue.update is outbound:
            queue.update = None
        elif queue.bulletin is outbound:
            queue.bulletin = None
            self._delivered(queue.member, outbound.bulletin, now)
        self._changed[outbound.peer] = None
        if outbound.question is not None:
            outbound.question.then(outbound.answer, outcome, now)

    def _overtake(self, queue: OutboundQueue, now: float) -> None:
        """The next message leaves, so the one before is not repeated.

        The answer to a call under way is still a sign of life, and its failure a sign of death. A question without an
        answer is asked again.
        """
        for outbound in (queue.bulletin, queue.update):
            if outbound is not None:
                self.context.calls.repeat_no_more(outbound)
                # Its queue is being looked at already.
                self._changed.pop(outbound.peer, None)
        if queue.bulletin is not None:
            self._delivered(queue.member, queue.bulletin.bulletin, now)
        if queue.update is not None and queue.question is None:
            queue.question = queue.update.question
        queue.bulletin = None
        queue.update = None

    def _delivered(self, member: Member, bulletin: Bulletin, now: float) -> None:
        """Note how far the member has got.

        After a restart announcements and final standings may go out once more. That is not worth an event each.
        """
        if bulletin.kind == "round_completed":
            self._completed[member.agent_id] = bulletin
        elif bulletin.kind == "league_completed":
            self.context.happened(BulletinsDelivered(at=now, bulletins={member.agent_id: bulletin}))
            self.context.change(member, "league_end", now)

    def _journal_completed(self, now: float) -> None:
        """After a restart nobody may hear that a round was completed after the next one was announced."""
        if self._completed:
            self.context.happened(BulletinsDelivered(at=now, bulletins=self._completed))
            self._completed = {}


class CallPlan(NamedTuple):
    """How the calls of a broadcast are labelled and made."""

    label: str
    policy: Policy


@lru_cache
def _call_plan(kind: BulletinKind, message_type: str, delays_s: tuple[float, ...]) -> CallPlan:
    row = EXCHANGES[message_type]
    retries = RetrySchedule(delays_s, refused_only=row.retries.refused_only)
    if kind == UPDATE.kind:
        retries = ONCE
    # LEAGUE_COMPLETED is tried whatever the circuit breaker says: there is no later message to hope for.
    policy = Policy(row.limit_s, retries, is_guarded=kind != "league_completed")
    return CallPlan(message_type.lower().replace("_", "-"), policy)


_agent_id = attrgetter("member.agent_id")
