"""One process of a simulated league: a pump and a journal in memory; it may be killed or frozen at any moment.

A node outlives its processes. Each `boot` begins a new *generation*, with a pump that loads the journal. `kill` ends
it, and everything in `_Process` is lost with it. Callbacks of an earlier generation do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from league import letters
from league.agent.pump import FLUSH_S, Actions, Call, Pump
from league.events import Event
from league.features.audit.promises.grounds.evidence import Recovery
from league.features.lab.simulation.faults import CrashPoint
from league.features.lab.simulation.foreign import UNKNOWN_METHOD, ForeignServer
from league.gateway.giving import METHODS
from league.gateway.words import Words
from league.letters import Asked, Speaker
from league.machine import (
    Answering,
    Ask,
    Blame,
    Chance,
    Content,
    Failure,
    Machine,
    Operate,
    Ping,
)
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.exchanges import Role
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import BadRequestError
from league.storage.journal import MemoryJournal

if TYPE_CHECKING:
    from league.features.lab.simulation.world import World

BUSY_STATUS = (429, 503)
Answered = Callable[[bytes, Failure | None], None]
"""Takes an answer that leaves: its bytes, or the failure that the caller sees instead (busy)."""


@dataclass(slots=True)
class Habits:
    """What a third-party agent does in its own way; an agent of ours has none of these."""

    speaks: Convention | None = None
    """The only convention it understands; None if it understands all of them."""
    posts: bool = False
    """True if its answers in matches are requests of their own, after an empty acknowledgement."""
    begins_by: str = ""
    """The only method that gives a match to this referee; empty if all of them do."""
    server: ForeignServer | None = None
    """The server that stands before its machine, if it wants to be called in other words."""
    shows_no_token: bool = False
    """True if its reports and the answers that it posts are bare, as some documents print them."""


@dataclass(slots=True)
class NodeLog:
    """What the simulator records about a node, as evidence for the promises."""

    recoveries: list[Recovery] = field(default_factory=list)
    most: dict[str, int] = field(default_factory=dict)
    """The largest loads of the pump, by name."""
    offsets: list[float] = field(default_factory=list)
    """The offset of the clock when each entry was written."""
    base: int = 0
    """Number of entries on disk when the pump was started."""
    acknowledged: int = 0
    """Number of entries on which others may depend."""


class _OpenRequest(NamedTuple):
    """A request that the machine has not answered."""

    asked: Asked
    answered: Answered


@dataclass(slots=True)
class _Process:
    """The state of a running process; all of it is lost when the process is killed."""

    pump: Pump
    words: Words = field(default_factory=Words)
    requests: dict[int, _OpenRequest] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)
    wake_at: float | None = None
    is_sync_planned: bool = False
    is_lazy_sync_planned: bool = False
    frozen_until: float = 0.0


class Node:
    """A process and its disk. `build` makes its machine from secrets; the journal restores the machine's state."""

    def __init__(
        self,
        world: World,
        name: str,
        role: Role,
        endpoint: str,
        chance: Chance,
        build: Callable[[Node, Mapping[str, str]], Machine],
    ) -> None:
        self.world = world
        self.name = name
        self.role = role
        self.endpoint = endpoint
        self.chance = chance
        self.habits = Habits()
        self.journal = MemoryJournal()
        self.offset = 0.0
        """By how much this machine's wall clock is ahead of the world's."""
        self.alive = False
        self.gone = False
        """True if it never comes back."""
        self.generation = 0
        self.log = NodeLog()
        self._build = build
        self.machine = build(self, {})

    # --- start, kill, freeze ------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """Start, or start again from the journal."""
        if self.gone:
            return
        self.alive = True
        self.generation += 1
        self.log.base = self.journal.entries
        self._process = _Process(Pump(self._load))
        self._carry_out(self._process.pump.start(self.now))

    def kill(self) -> None:
        """Kill the process: everything that is not on disk is lost, and open connections break."""
        if not self.alive:
            return
        self.alive = False
        # Everything that was planned for this process is void.
        self.generation += 1
        if self.habits.server is not None:
            self.habits.server.restarted()
        self.journal.crash()
        self._went_back()
        self.world.died(self)

    def _went_back(self) -> None:
        """Record whether anything on which others depend is missing on disk, which is the state again."""
        entries = self.journal.entries
        del self.log.offsets[entries:]
        recovery = Recovery(
            self.name,
            self.world.agenda.now,
            self.log.acknowledged,
            entries,
        )
        self.log.recoveries.append(recovery)

    def freeze(self, seconds: float) -> None:
        """Stop the process for a while: inputs wait, timers are late."""
        self._process.frozen_until = self.world.agenda.now + seconds

    @property
    def now(self) -> float:
        """This machine's wall clock."""
        return self.world.agenda.now + self.offset

    @property
    def host(self) -> str:
        """The network address this process calls from."""
        return self.endpoint.removeprefix("http://").partition(":")[0]

    @property
    def words(self) -> Words:
        """The words in which this process calls others."""
        return self._process.words

    def is_waiting_for(self, call_id: int) -> bool:
        """Return True while this call has no answer."""
        return call_id in self._process.calls

    @property
    def speaker(self) -> Speaker:
        return Speaker(self.role, self.role.value, Reading())

    @property
    def history(self) -> list[Event]:
        """The journal's events, with the times of the world's clock instead of this machine's jumping one."""
        entries = zip(self.journal.stored(), self.log.offsets, strict=False)
        return [structs.replace(event, at=event.at - offset) for events, offset in entries for event in events]

    def _load(self) -> Machine:
        self.machine = self._build(self, self.journal.secrets())
        for event in self.journal.events():
            self.machine.apply(event)
        return self.machine

    # --- inputs -------------------------------------------------------------------------------------------------------

    def receive(self, raw: bytes, origin: str, answered: Answered) -> None:
        """Take a request."""
        if not self._can_proceed(partial(self.receive, raw, origin, answered)):
            return
        try:
            asked = letters.read_request(raw, self.speaker, jsonrpc.MANAGER_LIMIT)
        except BadRequestError as bad:
            answered(
                letters.write_bad_request(bad, self.speaker, self.now),
                None,
            )
            return
        if self._knows(asked):
            self._ask(asked, origin, answered)
        elif self.habits.speaks is Convention.BARE:
            # An agent without JSON-RPC cannot say "no such method": it answers with status 400 and a page.
            answered(b"", Failure.NOT_UNDERSTOOD)
        else:
            answered(UNKNOWN_METHOD, None)

    def _knows(self, asked: Asked) -> bool:
        """Return True if this agent has the method, in its convention."""
        habits = self.habits
        if isinstance(asked.content, Ping):
            # Third-party referees have no ping that lists matches.
            return not habits.begins_by and not habits.shows_no_token
        if habits.speaks is not None and habits.speaks is not asked.convention:
            return False
        kind = asked.content.message_type if isinstance(asked.content, Unsealed) else ""
        return not habits.begins_by or kind not in METHODS or kind == habits.begins_by

    def operate(self, order: Operate, answered: Answered) -> None:
        """Take an order of the operator."""
        if self._can_proceed(partial(self.operate, order, answered)):
            self._ask(Asked(0, order), "operator", answered)

    def _ask(self, asked: Asked, origin: str, answered: Answered) -> None:
        process = self._process
        letter_id, actions = process.pump.request(asked.content, origin, self.now, asked.convention)
        process.requests[letter_id] = _OpenRequest(asked, answered)
        self._carry_out(actions)

    def answer(self, call_id: int, raw: bytes) -> None:
        """Take an answer to a call of ours."""
        if not self._can_proceed(partial(self.answer, call_id, raw)):
            return
        call = self._process.calls.pop(call_id, None)
        if call is not None:
            content: Content = letters.read_answer(raw, call.message, Reading(), jsonrpc.MANAGER_LIMIT)
            self._carry_out(self._process.pump.answer(call_id, content, self.now))

    def fail(
        self,
        call_id: int,
        failure: Failure,
        retry_after: float | None = None,
    ) -> None:
        """Take the failure of a call of ours."""
        if not self._can_proceed(partial(self.fail, call_id, failure, retry_after)):
            return
        if self._process.calls.pop(call_id, None) is not None:
            actions = self._process.pump.failed(call_id, failure, self.now, Blame.PEER, retry_after)
            self._carry_out(actions)

    def strategy_answered(self, ask: Ask, value: object) -> None:
        """Take the choice of the strategy."""
        if self._can_proceed(partial(self.strategy_answered, ask, value)):
            self._carry_out(self._process.pump.strategy_answered(ask.key, value, self.now))

    def _can_proceed(self, retry: Callable[[], None]) -> bool:
        """Return False if the process is dead, frozen (then `retry` is called later), or killed right here."""
        if not self.alive:
            return False
        self.world.may_freeze(self)
        frozen_until = self._process.frozen_until
        if self.world.agenda.now < frozen_until:
            self._later(frozen_until, retry)
            return False
        return not self.world.may_be_killed(self, CrashPoint.ARRIVAL)

    def _later(self, moment: float, do: Callable[[], None]) -> None:
        generation = self.generation

        def do_in_this_generation() -> None:
            if self.generation == generation:
                do()

        self.world.agenda.at(moment, do_in_this_generation)

    # --- what the pump says must be done ------------------------------------------------------------------------------

    def _carry_out(self, actions: Actions) -> None:
        for entry in actions.append:
            self.journal.append(entry)
            self.log.offsets.append(self.offset)
        self._plan_sync(is_awaited=actions.is_awaited)
        self.log.acknowledged = max(self.log.acknowledged, self.log.base + actions.released)
        for reply in actions.replies:
            self._reply(reply)
        # A call is known before it leaves: its failure may come at once.
        for call in actions.calls:
            self._process.calls[call.id] = call
            self.world.network.carry(self, call)
        for call_id in actions.cancel:
            self._process.calls.pop(call_id, None)
        for ask in actions.asks:
            seconds, value = self.world.strategy(self, ask)
            choose = partial(self.strategy_answered, ask, value)
            self._later(self.world.agenda.now + seconds, choose)
        self._set_alarm()

    def _plan_sync(self, *, is_awaited: bool) -> None:
        """Plan the next write of the journal."""
        process = self._process
        if not self.journal.dirty or process.is_sync_planned:
            return
        now = self.world.agenda.now
        if is_awaited:
            process.is_sync_planned = True
            self._later(now + self.world.sync_time(), self._sync)
        elif not process.is_lazy_sync_planned:
            # Entries that nothing waits for are written with the next awaited one, or after a while.
            process.is_lazy_sync_planned = True
            self._later(now + FLUSH_S, self._sync_lazily)

    def _sync_lazily(self) -> None:
        self._process.is_lazy_sync_planned = False
        if self.journal.dirty and not self._process.is_sync_planned:
            self._sync()

    def _reply(self, reply: Answering) -> None:
        asked, answered = self._process.requests.pop(reply.letter_id)
        failure = None
        if isinstance(reply.content, PeerError) and reply.content.row.http_status in BUSY_STATUS:
            failure = Failure.BUSY
        answered(
            letters.write_answer(asked, reply, self.speaker, self.now),
            failure,
        )

    def _sync(self) -> None:
        if self.world.may_be_killed(self, CrashPoint.DECIDED):
            return
        process = self._process
        process.is_sync_planned = False
        if self.world.faults.fails_to_write():
            # The disk is full for a while: the process goes back to what is on it, and lives on.
            self.journal.fail()
            self._went_back()
            self.log.base = self.journal.entries
            self._carry_out(process.pump.storage_failed())
            seconds = self.world.faults.dice.uniform(0.2, 5)
            self._later(self.world.agenda.now + seconds, self._storage_back)
            return
        entries = self.journal.sync()
        if not self.world.may_be_killed(self, CrashPoint.DURABLE):
            self._carry_out(process.pump.durable(entries - self.log.base))

    def _storage_back(self) -> None:
        pump = self._process.pump
        if pump.storage_down:
            self._carry_out(pump.storage_back(self.now))

    def _set_alarm(self) -> None:
        """Keep one alarm for the pump's next timer, and record its load."""
        process = self._process
        most = self.log.most
        for name, load in process.pump.load_of.items():
            most[name] = max(most.get(name, 0), load)
        timer = process.pump.timer
        if timer is not None and (process.wake_at is None or timer < process.wake_at):
            process.wake_at = timer
            self._later(timer - self.offset, partial(self._wake, timer))

    def _wake(self, timer: float) -> None:
        process = self._process
        if process.wake_at != timer:
            return  # an earlier alarm took its place
        if self.world.agenda.now < process.frozen_until:
            self._later(process.frozen_until, partial(self._wake, timer))
            return
        process.wake_at = None
        # Rounding must not leave us before the time we were woken for.
        self._carry_out(process.pump.advance(max(self.now, timer)))
