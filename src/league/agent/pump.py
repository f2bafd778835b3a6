"""The shell's decisions, without sockets, disks or clocks: what may leave the process and when (durability gating),
which answer belongs to which call (correlation), when to wake (timers), one call per receiver (fan-out).

The asyncio shell and the simulator drive this same pump: each input returns `Actions` to carry out.

Theory of operation. An input becomes a step of the machine. The events of the step are appended to the journal as one
entry. What the step sends (replies, calls, questions, news) leaves at once if everything appended before it is durable;
otherwise it is held until `durable` says so. Entries of lazy events alone hold nothing back.

- A letter is open from `request` until its one answer: by the machine, or by the shell when its time is up or the
  journal fails.
- A call is open from the step that made it until its answer, its failure, its deadline, or its cancellation. The first
  of these counts, and whatever comes later is ignored.
- The journal is up or down. `storage_failed` throws the machine away, answers every open letter, cancels every call and
  loads the machine from what is durable. While the journal is down only reads are answered. `storage_back` ends that.
  If the journal cannot be read either, the machine is loaded by `storage_back`, and until then nothing is answered.

What must never happen: that anything leaves which rests on events that a crash could still lose; that a letter gets two
answers or none; that a peer is blamed for a deadline that we missed ourselves.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from operator import attrgetter

import msgspec

from league.machine import (
    Address,
    Answering,
    Ask,
    Blame,
    Content,
    Entry,
    Failure,
    Letter,
    Machine,
    Ping,
    Step,
    Undelivered,
)
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.message.envelope import DEFAULT_LIMIT_S, Unsealed, answer_limit_s
from league.protocol.message.messages import Message

FLUSH_S = 1.0
"""Events that nothing waits for, and lines of the log, are written after this time at the latest."""
LATE_S = 0.5
"""A deadline noticed later than this was missed by us (a sleeping process, a blocked loop), not by the peer."""
_IS_LAZY = attrgetter("is_lazy")


class Call(msgspec.Struct):
    """One call to make now; `id` is how its answer or failure comes back, `key` how the machine calls it."""

    id: int
    key: str
    to: Address
    message: Message | Ping
    deadline: float
    has_left: bool = False
    was_slept_through: bool = False
    """True if the process stood still while it was under way: then its end is nobody's fault."""


class Leaving(msgspec.Struct):
    """What leaves the process."""

    replies: tuple[Answering, ...] = ()
    calls: tuple[Call, ...] = ()
    asks: tuple[Ask, ...] = ()
    news: tuple[object, ...] = ()


class Actions(Leaving):
    """What the shell must do now. `append` comes first; everything else has been cleared to leave."""

    append: tuple[Entry, ...] = ()
    cancel: tuple[int, ...] = ()
    unasked: tuple[str, ...] = ()
    """The keys of questions whose answers are of no use any more."""
    is_awaited: bool = False
    """True if something waits until `append` is stored; otherwise that is in no hurry."""
    released: int = 0
    """The number of journal entries on which everything that leaves now rests."""


class _Held(Leaving):
    """What waits until the journal is durable up to `position`."""

    position: int = 0


class _Entries(msgspec.Struct):
    """Entries of the journal, counted since the pump was built or rebuilt."""

    appended: int = 0
    awaited: int = 0
    """The last entry appended that is not lazy: what leaves waits for it."""
    durable: int = 0


class _Open(msgspec.Struct):
    """What was begun and is not over. All of it ends when the journal fails."""

    letters: set[int] = set()
    letter_limits: list[tuple[float, int]] = []
    calls: dict[int, Call] = {}
    call_limits: list[tuple[float, int]] = []
    questions: set[str] = set()
    """The keys of questions that a strategy thinks about."""
    held: deque[_Held] = msgspec.field(default_factory=deque)


class Pump:
    """Drives one machine. `load` builds it from the journal's durable part: at start, and again when a write failed.
    `gap_s`: while calls are under way the shell comes back at least this often; if not, the process stood still.
    `is_volatile`: the journal is not kept, and nothing waits for it."""

    def __init__(
        self,
        load: Callable[[], Machine],
        gap_s: float = math.inf,
        *,
        is_volatile: bool = False,
    ) -> None:
        self.machine = load()
        self.storage_down = False
        self.is_stale = False
        """True if the machine knows what was never stored: nobody may see it."""
        self.due = -math.inf
        """Before that there is no need to `advance`: it may be too early, never too late. `timer` is exact, and costs
        more."""
        self._load = load
        self._gap_s = gap_s
        self._is_volatile = is_volatile
        self._looked_at = -math.inf
        self._entries = _Entries()
        self._open = _Open()
        self._last_id = 0

    # --- inputs -------------------------------------------------------------------------------------------------------

    def start(self, now: float) -> Actions:
        """The machine takes up what is open."""
        self._looked_at = now
        actions = Actions()
        self._carry_out(self.machine.resume(now), actions)
        self._find_due()
        return actions

    def request(
        self,
        content: Content,
        origin: str,
        now: float,
        convention: Convention = Convention.SPEC,
    ) -> tuple[int, Actions]:
        """Take a letter; its answer comes, now or later, under the returned id: exactly one, always."""
        actions = self.advance(now) if now >= self.due else Actions()
        self._looked_at = now
        self._last_id = letter_id = self._last_id + 1
        self._open.letters.add(letter_id)
        if self.storage_down and (self.is_stale or not _is_read(content)):
            self._answer(letter_id, storage_error(), actions)
        else:
            letter = Letter(letter_id, content, origin=origin, convention=convention)
            self._carry_out(self.machine.handle(letter, now), actions)
        # Most letters are answered in this very step, and need no limit.
        if letter_id in self._open.letters:
            limit = now + _limit_of(content)
            heapq.heappush(self._open.letter_limits, (limit, letter_id))
            self.due = min(self.due, limit)
        return letter_id, actions

    def answer(self, call_id: int, content: Content, now: float) -> Actions:
        """A call of ours was answered. Too late is too late: the deadline is checked first."""
        actions = self.advance(now) if now >= self.due else Actions()
        self._looked_at = now
        call = self._open.calls.pop(call_id, None)
        if call is not None and not self.storage_down:
            letter = Letter(0, content, answers=call.key, peer=call.to.agent_id)
            self._carry_out(self.machine.handle(letter, now), actions)
        return actions

    def failed(
        self,
        call_id: int,
        failure: Failure,
        now: float,
        blame: Blame = Blame.PEER,
        retry_after: float | None = None,
        detail: str = "",
    ) -> Actions:
        """A call of ours got no answer."""
        actions = self.advance(now)
        call = self._open.calls.pop(call_id, None)
        if call is not None and not self.storage_down:
            if call.was_slept_through and failure is Failure.BROKEN:
                blame = Blame.LOCAL
            undelivered = Undelivered(call.key, call.to.agent_id, failure, blame, retry_after, detail)
            self._carry_out(self.machine.undelivered(undelivered, now), actions)
        return actions

    def strategy_answered(self, key: str, value: object, now: float) -> Actions:
        """The strategy answered an Ask."""
        actions = self.advance(now)
        self._open.questions.discard(key)
        if not self.storage_down:
            self._carry_out(self.machine.answered(key, value, now), actions)
        return actions

    def prompted(self, prompt: Callable[[Machine], Step], now: float) -> Actions:
        """Somebody in this process wants something of the machine, such as a question put to a peer."""
        actions = self.advance(now)
        if not self.storage_down:
            self._carry_out(prompt(self.machine), actions)
        return actions

    def durable(self, entries: int) -> Actions:
        """The journal holds this many of the entries appended since the pump was built or rebuilt."""
        durable = max(self._entries.durable, entries)
        self._entries.durable = durable
        actions = Actions()
        while self._open.held and self._open.held[0].position <= durable:
            held = self._open.held.popleft()
            # A call whose deadline passed while it was held has ended already, and must not be made.
            calls = [call for call in held.calls if call.id in self._open.calls]
            for call in calls:
                call.has_left = True
            self._open.questions.update(ask.key for ask in held.asks)
            actions.replies += held.replies
            actions.calls += tuple(calls)
            actions.asks += held.asks
            actions.news += held.news
            actions.released = held.position
        return actions

    def storage_failed(self, can_read: bool = True) -> Actions:
        """A group was not stored: every open letter gets an error, and the machine goes back to what is durable, now or
        when the journal can be read again."""
        letter_ids = list(self._open.letters)
        for held in self._open.held:
            letter_ids += [reply.letter_id for reply in held.replies]
        replies = tuple([Answering(letter_id, storage_error()) for letter_id in letter_ids])
        calls = tuple(self._open.calls)
        questions = tuple(sorted(self._open.questions))
        actions = Actions(replies, cancel=calls, unasked=questions)
        self._open = _Open()
        self._entries = _Entries()
        self.storage_down = True
        self.is_stale = True
        if can_read:
            self.go_back()
        return actions

    def go_back(self) -> None:
        """Load the machine from what is durable. JournalError if the journal cannot be read."""
        self.machine = self._load()
        self.is_stale = False

    def storage_back(self, now: float) -> Actions:
        """Writing works again, and the machine is as the journal has it."""
        self.storage_down = False
        return self.start(now)

    def advance(self, now: float) -> Actions:
        """Time has passed: calls that reached their deadline, letters that reached their limit, the machine's timer."""
        if now - self._looked_at > self._gap_s:
            # Nobody has been looking for too long: a suspended process, a closed lid. Whether the peers we called
            # were there meanwhile is not known: their calls get their time again.
            for call in self._open.calls.values():
                call.was_slept_through = True
        self._looked_at = now
        actions = Actions()
        if now >= self.due:
            self._expire(now, actions)
        return actions

    def _expire(self, now: float, actions: Actions) -> None:
        while self._open.letter_limits and self._open.letter_limits[0][0] <= now:
            _, letter_id = heapq.heappop(self._open.letter_limits)
            self._answer(
                letter_id,
                PeerError("E001", "no answer was ready in time"),
                actions,
            )
        while self._open.call_limits and self._open.call_limits[0][0] <= now:
            deadline, call_id = heapq.heappop(self._open.call_limits)
            call = self._open.calls.pop(call_id, None)
            if call is not None:
                # Nobody is blamed for what a slow disk held back, nor for what we noticed too late.
                is_ours = now - deadline > LATE_S or not call.has_left or call.was_slept_through
                blame = Blame.LOCAL if is_ours else Blame.PEER
                undelivered = Undelivered(call.key, call.to.agent_id, Failure.TIMEOUT, blame)
                actions.cancel += (call_id,)
                self._carry_out(self.machine.undelivered(undelivered, now), actions)
        while not self.storage_down and (alarm := self.machine.deadline) is not None and alarm <= now:
            self._carry_out(self.machine.tick(now), actions)
        self._find_due()

    def _find_due(self) -> None:
        timer = self.timer
        self.due = math.inf if timer is None else timer

    @property
    def timer(self) -> float | None:
        """When `advance` is next worth calling."""
        earliest = math.inf
        if not self.storage_down and self.machine.deadline is not None:
            earliest = self.machine.deadline
        # While calls are under way we look often enough to notice that the process stood still.
        if self._open.calls:
            earliest = min(earliest, self._looked_at + self._gap_s / 2)
        for limits in (self._open.letter_limits, self._open.call_limits):
            if limits:
                earliest = min(earliest, limits[0][0])
        return earliest if earliest < math.inf else None

    @property
    def load_of(self) -> dict[str, int]:
        """How much the pump holds; /metrics and the simulator watch that it stays bounded."""
        return {
            "letters": len(self._open.letters),
            "calls": len(self._open.calls),
            "held": len(self._open.held),
        }

    # --- decisions ----------------------------------------------------------------------------------------------------

    def _carry_out(self, step: Step, actions: Actions) -> None:
        """Add what comes of a step to the actions of its input."""
        if step.events or step.secrets:
            if self.storage_down:
                self._forget(step, actions)
                return
            entries = self._entries
            entries.appended += 1
            actions.append += (Entry(tuple(step.events), step.secrets),)
            if not self._is_volatile and (step.secrets or not all(map(_IS_LAZY, step.events))):
                entries.awaited = entries.appended
                actions.is_awaited = True
        # Before anything leaves: a step may replace a call by another one with the same key.
        for key in step.cancel:
            self._cancel(key, actions)
        if step.replies or step.outbox or step.asks or step.news:
            self._let_leave(step, actions)
        deadline = self.machine.deadline
        if deadline is not None and deadline < self.due:
            self.due = deadline

    def _let_leave(self, step: Step, actions: Actions) -> None:
        """Send now, or once the events it rests on are durable. Reads wait too: what they show was computed from events
        that may not be on disk yet."""
        leaving: Leaving = actions
        awaited = self._entries.awaited
        is_durable = awaited <= self._entries.durable
        if is_durable:
            actions.released = awaited
        else:
            leaving = held = _Held(position=awaited)
            self._open.held.append(held)
        for reply in step.replies:
            if reply.letter_id in self._open.letters:
                self._open.letters.remove(reply.letter_id)
                leaving.replies += (reply,)
        calls: list[Call] = []
        if step.outbox:
            self.due = min(self.due, self._looked_at + self._gap_s / 2)
        for outgoing in step.outbox:
            self.due = min(self.due, outgoing.deadline)
            for address in outgoing.to:
                self._last_id += 1
                call = Call(
                    self._last_id,
                    outgoing.key,
                    address,
                    outgoing.message,
                    outgoing.deadline,
                    has_left=is_durable,
                )
                self._open.calls[call.id] = call
                heapq.heappush(self._open.call_limits, (call.deadline, call.id))
                calls.append(call)
        leaving.calls += tuple(calls)
        if step.asks or step.news:
            leaving.asks += tuple(step.asks)
            leaving.news += tuple(step.news)
            # A question that is held is noted as asked when it leaves, in `durable`.
            if is_durable:
                self._open.questions.update(ask.key for ask in step.asks)

    def _forget(self, step: Step, actions: Actions) -> None:
        """Undo a read that would have to be written down while nothing can be, as if nobody had asked."""
        self.machine = self._load()
        for reply in step.replies:
            self._answer(reply.letter_id, storage_error(), actions)

    def _cancel(self, key: str, actions: Actions) -> None:
        unwanted = {call_id for call_id, call in self._open.calls.items() if call.key == key}
        for call_id in unwanted:
            del self._open.calls[call_id]
        for held in self._open.held:
            held.calls = tuple([call for call in held.calls if call.id not in unwanted])
            held.asks = tuple([ask for ask in held.asks if ask.key != key])
        actions.cancel += tuple(sorted(unwanted))
        if key in self._open.questions:
            self._open.questions.remove(key)
            actions.unasked += (key,)

    def _answer(self, letter_id: int, error: PeerError, actions: Actions) -> None:
        """Give the shell's own answer, which shows nothing of the machine and so waits for nothing."""
        if letter_id in self._open.letters:
            self._open.letters.remove(letter_id)
            actions.replies += (Answering(letter_id, error),)


def _limit_of(content: Content) -> float:
    """How long a letter may wait for its answer."""
    return answer_limit_s(content) if isinstance(content, Unsealed) else DEFAULT_LIMIT_S


def _is_read(content: Content) -> bool:
    return isinstance(content, Ping) or (isinstance(content, Unsealed) and content.message_type == "LEAGUE_QUERY")


def storage_error() -> PeerError:
    return PeerError("E041", "the journal cannot be written at the moment; nothing was stored")
