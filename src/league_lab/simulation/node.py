"""One process of a simulated league: a pump and a journal in memory; it may be killed or frozen at any moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from league.agent.pump import FLUSH_S, Actions, Call, Pump
from league.events import Event
from league.machine import Answering, Ask, Blame, Chance, Content, Failure, Machine, Operate, Ping
from league.manager.dispatch import METHODS
from league.protocol import jsonrpc
from league.protocol.conventions import Convention
from league.protocol.envelope import Reading, Unsealed
from league.protocol.errors import PeerError
from league.protocol.exchanges import Role
from league.protocol.jsonrpc import BadRequestError
from league.storage.journal import Entry, MemoryJournal
from league.transport import letters
from league.transport.letters import Asked, Speaker
from league_lab.promises.evidence import Recovery
from league_lab.simulation.faults import Moment

if TYPE_CHECKING:
    from league_lab.simulation.world import World

UNKNOWN_METHOD = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}'
Answered = Callable[[bytes, Failure | None], None]
"""How an answer leaves: its bytes, or the failure the caller sees instead (busy)."""


@dataclass(slots=True)
class NodeLog:
    """What the simulator records about a node, for the promises to be judged by."""

    recoveries: list[Recovery] = field(default_factory=list)
    most: dict[str, int] = field(default_factory=dict)
    """The largest loads of the pump, by name."""
    offsets: list[float] = field(default_factory=list)
    """The offset of the clock when each entry was written."""
    base: int = 0
    """How many entries were on disk when the pump was started."""
    acknowledged: int = 0
    """How many entries the process has let others depend on."""


class Node:
    """A process. `build` makes its machine from secrets; replaying the journal restores its state."""

    def __init__(
        self,
        world: World,
        name: str,
        role: Role,
        endpoint: str,
        chance: Chance,
        build: Callable[[Node, Mapping[str, str]], Machine],
    ) -> None:
        self.world, self.name, self.role, self.endpoint, self.chance = world, name, role, endpoint, chance
        self.speaks: Convention | None = None
        """The only convention it understands; None for an agent of ours, which understands all."""
        self.posts = False
        """Are its answers in matches requests of their own, after an empty acknowledgement?"""
        self.begins_by = ""
        """The only method that gives it a match, as with some referees by others; empty: all of them."""
        self.journal = MemoryJournal()
        self.offset = 0.0
        self.alive = False
        self.gone = False
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
        self._open: dict[int, tuple[Asked, Answered]] = {}
        self._calls: dict[int, Call] = {}
        self._wake_at: float | None = None
        self._sync_due = self._lazy_sync_due = False
        self._frozen_until = 0.0
        self.pump = Pump(self._load)
        self._carry_out(self.pump.start(self.now))

    def kill(self) -> None:
        """SIGKILL: what is not on disk is gone, and whoever is connected sees a broken connection."""
        if not self.alive:
            return
        self.alive = False
        self.generation += 1
        self.journal.crash()
        self._went_back()
        self.world.died(self)

    def _went_back(self) -> None:
        """The state is what is on disk again; record whether anything that had left the process is missing there."""
        del self.log.offsets[self.journal.entries :]
        self.log.recoveries.append(
            Recovery(self.name, self.world.agenda.now, self.log.acknowledged, self.journal.entries)
        )

    def freeze(self, seconds: float) -> None:
        """Stop the process for a while: inputs wait, timers are late."""
        self._frozen_until = self.world.agenda.now + seconds

    @property
    def now(self) -> float:
        """This machine's wall clock."""
        return self.world.agenda.now + self.offset

    @property
    def host(self) -> str:
        """The network address this process calls from."""
        return self.endpoint.removeprefix("http://").partition(":")[0]

    def is_waiting_for(self, call_id: int) -> bool:
        return call_id in self._calls

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
        """A request arrives."""
        if not self._can_proceed(partial(self.receive, raw, origin, answered)):
            return
        try:
            asked = letters.read_request(raw, self.speaker, jsonrpc.MANAGER_LIMIT)
        except BadRequestError as bad:
            answered(letters.write_bad_request(bad, self.speaker, self.now), None)
            return
        if self._knows(asked):
            self._ask(asked, origin, answered)
        elif self.speaks is Convention.BARE:
            answered(b"", Failure.NOT_UNDERSTOOD)  # as with 400 and a page: whoever has no JSON-RPC has no such error
        else:
            answered(UNKNOWN_METHOD, None)

    def _knows(self, asked: Asked) -> bool:
        """Is it a method that this agent has, in its convention? Referees by others have no ping that lists matches."""
        if isinstance(asked.content, Ping):
            return not self.begins_by
        kind = asked.content.message_type if isinstance(asked.content, Unsealed) else ""
        is_known = not self.begins_by or kind not in METHODS or kind == self.begins_by
        return is_known and self.speaks in (None, asked.convention)

    def operate(self, order: Operate, answered: Answered) -> None:
        """An order of the operator."""
        if self._can_proceed(partial(self.operate, order, answered)):
            self._ask(Asked(0, order), "operator", answered)

    def _ask(self, asked: Asked, origin: str, answered: Answered) -> None:
        letter_id, actions = self.pump.request(asked.content, origin, self.now, asked.convention)
        self._open[letter_id] = (asked, answered)
        self._carry_out(actions)

    def answer(self, call_id: int, raw: bytes) -> None:
        """An answer to a call of ours arrives."""
        if not self._can_proceed(partial(self.answer, call_id, raw)):
            return
        call = self._calls.pop(call_id, None)
        if call is not None:
            content: Content = letters.read_answer(raw, call.message, Reading(), jsonrpc.MANAGER_LIMIT)
            self._carry_out(self.pump.answer(call_id, content, self.now))

    def fail(self, call_id: int, failure: Failure, retry_after: float | None = None) -> None:
        """A call of ours failed."""
        if not self._can_proceed(partial(self.fail, call_id, failure, retry_after)):
            return
        if self._calls.pop(call_id, None) is not None:
            self._carry_out(self.pump.failed(call_id, failure, self.now, Blame.PEER, retry_after))

    def strategy_answered(self, ask: Ask, value: object) -> None:
        """The strategy has chosen."""
        if self._can_proceed(partial(self.strategy_answered, ask, value)):
            self._carry_out(self.pump.strategy_answered(ask.key, value, self.now))

    def _can_proceed(self, again: Callable[[], None]) -> bool:
        """Not if the process is dead, frozen (then later), or killed right here."""
        if not self.alive:
            return False
        self.world.may_freeze(self)
        if self.world.agenda.now < self._frozen_until:
            self._later(self._frozen_until, again)
            return False
        return not self.world.may_be_killed(self, Moment.ARRIVAL)

    def _later(self, moment: float, do: Callable[[], None]) -> None:
        generation = self.generation
        self.world.agenda.at(moment, lambda: do() if self.generation == generation else None)

    # --- what the pump says must be done ------------------------------------------------------------------------------

    def _carry_out(self, actions: Actions) -> None:
        for events, secrets in actions.append:
            self.journal.append(Entry(events, secrets))
            self.log.offsets.append(self.offset)
        self._have_written(is_awaited=actions.is_awaited)
        self.log.acknowledged = max(self.log.acknowledged, self.log.base + actions.released)
        for one in actions.replies:
            self._reply(one)
        for call in actions.calls:
            self._calls[call.id] = call
            self.world.network.carry(self, call)
        for call_id in actions.cancel:
            self._calls.pop(call_id, None)
        for ask in actions.asks:
            seconds, value = self.world.strategy(self, ask)
            self._later(self.world.agenda.now + seconds, partial(self.strategy_answered, ask, value))
        self._set_alarm()

    def _have_written(self, *, is_awaited: bool) -> None:
        """What nothing waits for is written with the next that something does, or after a while."""
        if not self.journal.dirty or self._sync_due:
            return
        if is_awaited:
            self._sync_due = True
            self._later(self.world.agenda.now + self.world.sync_time(), self._sync)
        elif not self._lazy_sync_due:
            self._lazy_sync_due = True
            self._later(self.world.agenda.now + FLUSH_S, self._sync_lazily)

    def _sync_lazily(self) -> None:
        self._lazy_sync_due = False
        if self.journal.dirty and not self._sync_due:
            self._sync()

    def _reply(self, one: Answering) -> None:
        asked, answered = self._open.pop(one.letter_id)
        busy = isinstance(one.content, PeerError) and one.content.row.http_status in (429, 503)
        answered(letters.write_answer(asked, one, self.speaker, self.now), Failure.BUSY if busy else None)

    def _sync(self) -> None:
        if self.world.may_be_killed(self, Moment.DECIDED):
            return
        self._sync_due = False
        if self.world.faults.fails_to_write():
            self.journal.fail()
            self._went_back()
            self.log.base = self.journal.entries
            self._carry_out(self.pump.storage_failed())
            self._later(self.world.agenda.now + self.world.faults.dice.uniform(0.2, 5), self._storage_back)
            return
        entries = self.journal.sync()
        if not self.world.may_be_killed(self, Moment.DURABLE):
            self._carry_out(self.pump.durable(entries - self.log.base))

    def _storage_back(self) -> None:
        if self.pump.storage_down:
            self._carry_out(self.pump.storage_back(self.now))

    def _set_alarm(self) -> None:
        """Keep one alarm for the pump's next timer, and record its load."""
        for name, held in self.pump.load_of.items():
            self.log.most[name] = max(self.log.most.get(name, 0), held)
        timer = self.pump.timer
        if timer is not None and (self._wake_at is None or timer < self._wake_at):
            self._wake_at = timer
            self._later(timer - self.offset, partial(self._wake, timer))

    def _wake(self, timer: float) -> None:
        if self._wake_at != timer:
            return
        if self.world.agenda.now < self._frozen_until:
            self._later(self._frozen_until, partial(self._wake, timer))
            return
        self._wake_at = None
        # Rounding must not leave us before the time we were woken for.
        self._carry_out(self.pump.advance(max(self.now, timer)))
