"""The shell's decisions, without sockets, disks or clocks: what may leave the process and when (durability gating),
which answer belongs to which call (correlation), when to wake (timers), one call per receiver (fan-out).

The asyncio shell and the simulator drive this same pump: each input gives `Actions` to carry out.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter

import msgspec

from league.events import Event
from league.machine import (
    Address,
    Answering,
    Ask,
    Blame,
    Content,
    Failure,
    Letter,
    Machine,
    Outgoing,
    Ping,
    Step,
    Undelivered,
)
from league.protocol.conventions import Convention
from league.protocol.envelope import DEFAULT_LIMIT_S, Unsealed, answer_limit_s
from league.protocol.errors import PeerError
from league.protocol.messages import Message

FLUSH_S = 1.0
"""Events that nothing waits for, and lines of the log, are written after so long at the latest."""
_IS_LAZY = attrgetter("is_lazy")
LATE_S = 0.5
"""A deadline noticed later than this was missed by us (a sleeping process, a blocked loop), not by the peer."""


class Call(msgspec.Struct):
    """One call to make now; `id` is how its answer or failure comes back, `key` what the machine knows it by."""

    id: int
    key: str
    to: Address
    message: Message | Ping
    deadline: float
    has_left: bool = False
    was_slept_through: bool = False
    """Did the process stand still while it was under way? Then its end is nobody's fault."""


class Leaving(msgspec.Struct):
    """What leaves the process."""

    replies: tuple[Answering, ...] = ()
    calls: tuple[Call, ...] = ()
    asks: tuple[Ask, ...] = ()
    news: tuple[object, ...] = ()


class Actions(Leaving):
    """What the shell must do now. `append` comes first; everything else has been cleared to leave."""

    append: tuple[tuple[tuple[Event, ...], Mapping[str, str]], ...] = ()
    cancel: tuple[int, ...] = ()
    unasked: tuple[str, ...] = ()
    """The keys of questions whose answers are of no use any more."""
    is_awaited: bool = False
    """Does anything wait until `append` is stored? Otherwise that is in no hurry."""
    released: int = 0
    """What leaves now rests on so many entries of the journal."""


class _Held(Leaving):
    """What waits until the journal is durable up to `position`."""

    position: int = 0


class Pump:
    """Drives one machine. `load` builds it from the journal's durable part: at start, and again when a write failed.
    `gap_s`: while calls are under way the shell comes back at least so often; if not, the process stood still.
    `is_volatile`: the journal is not kept, and nothing waits for it."""

    def __init__(self, load: Callable[[], Machine], gap_s: float = math.inf, *, is_volatile: bool = False) -> None:
        self._load, self._gap_s, self._is_volatile = load, gap_s, is_volatile
        self._looked_at = -math.inf
        self.machine = load()
        self.storage_down = False
        self._appended = 0
        self._awaited = 0
        """The last entry appended that is not lazy: what leaves waits for it."""
        self._durable = 0
        self.due = -math.inf
        """Before that there is no need to `advance`: it may be too early, never too late. `timer` is exact, and costs
        more."""
        self._held: deque[_Held] = deque()
        self._letters: set[int] = set()
        """Those that have no answer yet."""
        self._letter_limits: list[tuple[float, int]] = []
        self._calls: dict[int, Call] = {}
        self._call_limits: list[tuple[float, int]] = []
        self._asked: set[str] = set()
        """The keys of questions that a strategy thinks about."""
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
        self, content: Content, origin: str, now: float, convention: Convention = Convention.SPEC
    ) -> tuple[int, Actions]:
        """Somebody asks; the answer comes, now or later, under the returned id: exactly one, always."""
        actions = self.advance(now) if now >= self.due else Actions()
        self._looked_at = now
        self._last_id = letter_id = self._last_id + 1
        self._letters.add(letter_id)
        if self.storage_down and not _is_read(content):
            self._answer(letter_id, _storage_error(), actions)
        else:
            letter = Letter(letter_id, content, origin=origin, convention=convention)
            self._carry_out(self.machine.handle(letter, now), actions)
        if letter_id in self._letters:
            limit = now + _limit_of(content)
            heapq.heappush(self._letter_limits, (limit, letter_id))
            self.due = min(self.due, limit)
        return letter_id, actions

    def answer(self, call_id: int, content: Content, now: float) -> Actions:
        """A call of ours was answered. Too late is too late: the deadline is checked first."""
        actions = self.advance(now) if now >= self.due else Actions()
        self._looked_at = now
        call = self._calls.pop(call_id, None)
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
        call = self._calls.pop(call_id, None)
        if call is not None and not self.storage_down:
            if call.was_slept_through and failure is Failure.BROKEN:
                blame = Blame.LOCAL
            failed = Undelivered(call.key, call.to.agent_id, failure, blame, retry_after, detail)
            self._carry_out(self.machine.undelivered(failed, now), actions)
        return actions

    def strategy_answered(self, key: str, value: object, now: float) -> Actions:
        """The strategy answered an Ask."""
        actions = self.advance(now)
        self._asked.discard(key)
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
        """The journal holds so many of the entries appended since the pump was built or rebuilt."""
        self._durable = max(self._durable, entries)
        actions = Actions()
        while self._held and self._held[0].position <= self._durable:
            held = self._held.popleft()
            calls = [call for call in held.calls if call.id in self._calls]
            for call in calls:
                call.has_left = True
            self._asked.update(ask.key for ask in held.asks)
            actions.replies += held.replies
            actions.calls += tuple(calls)
            actions.asks += held.asks
            actions.news += held.news
            actions.released = held.position
        return actions

    def storage_failed(self) -> Actions:
        """A group was not stored: whoever waits is told, and the machine goes back to what is durable."""
        waiting = [*self._letters, *(one.letter_id for held in self._held for one in held.replies)]
        replies = tuple([Answering(letter_id, _storage_error()) for letter_id in waiting])
        actions = Actions(replies, cancel=tuple(self._calls), unasked=tuple(sorted(self._asked)))
        self._held.clear()
        self._letters.clear()
        self._letter_limits.clear()
        self._calls.clear()
        self._call_limits.clear()
        self._asked.clear()
        self._appended = self._awaited = self._durable = 0
        self.storage_down = True
        self.machine = self._load()
        return actions

    def storage_back(self, now: float) -> Actions:
        """Writing works again."""
        self.storage_down = False
        return self.start(now)

    def advance(self, now: float) -> Actions:
        """Time has passed: calls that reached their deadline, letters that reached their limit, the machine's timer."""
        if now - self._looked_at > self._gap_s:
            # Nobody has been looking for too long: a suspended process, a closed lid. Whether those who were called
            # then were there is not known: their calls get their time again.
            for call in self._calls.values():
                call.was_slept_through = True
        self._looked_at = now
        actions = Actions()
        if now >= self.due:
            self._expire(now, actions)
        return actions

    def _expire(self, now: float, actions: Actions) -> None:
        while self._letter_limits and self._letter_limits[0][0] <= now:
            _, letter_id = heapq.heappop(self._letter_limits)
            self._answer(letter_id, PeerError("E001", "no answer was ready in time"), actions)
        while self._call_limits and self._call_limits[0][0] <= now:
            deadline, call_id = heapq.heappop(self._call_limits)
            call = self._calls.pop(call_id, None)
            if call is not None:
                # Nobody is blamed for what a slow disk held back, nor for what we noticed too late.
                is_ours = now - deadline > LATE_S or not call.has_left or call.was_slept_through
                blame = Blame.LOCAL if is_ours else Blame.PEER
                failed = Undelivered(call.key, call.to.agent_id, Failure.TIMEOUT, blame)
                actions.cancel += (call_id,)
                self._carry_out(self.machine.undelivered(failed, now), actions)
        while not self.storage_down and (due := self.machine.deadline) is not None and due <= now:
            self._carry_out(self.machine.tick(now), actions)
        self._find_due()

    def _find_due(self) -> None:
        timer = self.timer
        self.due = math.inf if timer is None else timer

    @property
    def timer(self) -> float | None:
        """When `advance` is next worth calling."""
        due = None if self.storage_down else self.machine.deadline
        earliest = math.inf if due is None else due
        if self._calls:
            earliest = min(earliest, self._looked_at + self._gap_s / 2)
        for limits in (self._letter_limits, self._call_limits):
            if limits and limits[0][0] < earliest:
                earliest = limits[0][0]
        return earliest if earliest < math.inf else None

    @property
    def load_of(self) -> dict[str, int]:
        """How much the pump holds, for those who watch that it stays bounded."""
        return {"letters": len(self._letters), "calls": len(self._calls), "held": len(self._held)}

    # --- decisions ----------------------------------------------------------------------------------------------------

    def _carry_out(self, step: Step, actions: Actions) -> None:
        """Add what comes of a step to the actions of its input."""
        if step.events or step.secrets:
            if self.storage_down:
                self._forget(step, actions)
                return
            self._appended += 1
            actions.append += ((tuple(step.events), step.secrets),)
            if not self._is_volatile and (step.secrets or not all(map(_IS_LAZY, step.events))):
                self._awaited, actions.is_awaited = self._appended, True
        for key in step.cancel:
            self._cancel(key, actions)
        if step.replies or step.outbox or step.asks or step.news:
            self._let_leave(step, actions)
        due = self.machine.deadline
        if due is not None and due < self.due:
            self.due = due

    def _let_leave(self, step: Step, actions: Actions) -> None:
        """Now, or once the events it rests on are durable. Reads wait too: what they show was computed from events that
        may not be on disk yet."""
        leaving: Leaving = actions
        is_durable = self._awaited <= self._durable
        if is_durable:
            actions.released = self._awaited
        else:
            leaving = held = _Held(position=self._awaited)
            self._held.append(held)
        for one in step.replies:
            if one.letter_id in self._letters:
                self._letters.remove(one.letter_id)
                leaving.replies += (one,)
        if step.outbox:
            leaving.calls += tuple(self._fan_out(step.outbox, has_left=is_durable))
        if step.asks or step.news:
            leaving.asks += tuple(step.asks)
            leaving.news += tuple(step.news)
            if is_durable:
                self._asked.update(ask.key for ask in step.asks)

    def _forget(self, step: Step, actions: Actions) -> None:
        """A read that would have to be written down while nothing can be: as if it had not been asked."""
        self.machine = self._load()
        for one in step.replies:
            self._answer(one.letter_id, _storage_error(), actions)

    def _fan_out(self, outbox: Iterable[Outgoing], *, has_left: bool) -> list[Call]:
        calls: list[Call] = []
        self.due = min(self.due, self._looked_at + self._gap_s / 2)
        for outgoing in outbox:
            for address in outgoing.to:
                self._last_id += 1
                call = Call(self._last_id, outgoing.key, address, outgoing.message, outgoing.deadline, has_left)
                self._calls[call.id] = call
                heapq.heappush(self._call_limits, (call.deadline, call.id))
                calls.append(call)
            if outgoing.deadline < self.due:
                self.due = outgoing.deadline
        return calls

    def _cancel(self, key: str, actions: Actions) -> None:
        unwanted = {call_id for call_id, call in self._calls.items() if call.key == key}
        for call_id in unwanted:
            del self._calls[call_id]
        for held in self._held:
            held.calls = tuple([call for call in held.calls if call.id not in unwanted])
            held.asks = tuple([ask for ask in held.asks if ask.key != key])
        actions.cancel += tuple(sorted(unwanted))
        if key in self._asked:
            self._asked.remove(key)
            actions.unasked += (key,)

    def _answer(self, letter_id: int, error: PeerError, actions: Actions) -> None:
        """The shell's own answer, which shows nothing of the machine and so waits for nothing."""
        if letter_id in self._letters:
            self._letters.remove(letter_id)
            actions.replies += (Answering(letter_id, error),)


def _limit_of(content: Content) -> float:
    """How long a letter may wait for its answer."""
    return answer_limit_s(content) if isinstance(content, Unsealed) else DEFAULT_LIMIT_S


def _is_read(content: Content) -> bool:
    return isinstance(content, Ping) or (isinstance(content, Unsealed) and content.message_type == "LEAGUE_QUERY")


def _storage_error() -> PeerError:
    return PeerError("E041", "the journal cannot be written at the moment; nothing was stored")
