"""The shell in life: sockets, disk and timers around the pump. It decides nothing; it carries out orders.

Requests come in at `post`, answers and failures of calls come back from tasks, the journal says what is durable; each
is an input of the pump, and all of them run on one loop, so there is not one lock.
"""

from __future__ import annotations

import asyncio
import math
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from league.agent.pump import Call, Orders, Pump
from league.agent.sources import Clock
from league.agent.watch import ANSWERED, Durations, Log, Meter, kind_of, label
from league.machine import Answering, Ask, Blame, Failure, Machine, Operate, Ping, RecordRequest, Refusal
from league.protocol.errors import PeerError
from league.protocol.tokens import MANAGER
from league.storage.journal import Entry, Journal
from league.storage.notices import Durable, Failed, Notice
from league.storage.transcript import LetterNote, mask
from league.transport import jsonrpc, letters, mcp_door
from league.transport.http import Response
from league.transport.http_call import CallFailed, Reply
from league.transport.http_client import HttpClient
from league.transport.jsonrpc import BadRequestError
from league.transport.letters import Asked, Speaker
from league.transport.line import Line

RETRY_AFTER = ("retry-after", "2")
TRY_DISK_S = 1.0
LONGEST_REST_S = 60.0
"""After a bug that came back again and again."""
FLUSH_LOG_S = 1.0


class LiveJournal(Journal, Protocol):
    """A journal as the shell uses it: it says by itself what became durable."""

    @property
    def is_full(self) -> bool: ...

    @property
    def keeps_letters(self) -> bool: ...

    def note(self, letter: LetterNote) -> None: ...

    def try_again(self, failed: Failed) -> bool: ...

    def close(self) -> None: ...


Think = Callable[[Ask], Awaitable[object]]


@dataclass(slots=True)
class _Waiting:
    """A request that waits for its answer."""

    asked: Asked
    answer: asyncio.Future[Answering]
    since: float


@dataclass(slots=True)
class Setup:
    """What an agent is put together from. `speaker` may change: an agent has no id before it registered."""

    build: Callable[[Mapping[str, str]], Machine]
    speaker: Callable[[Machine], Speaker]
    client: HttpClient
    clock: Clock = field(default_factory=Clock)
    think: Think | None = None
    log: Log = field(default_factory=lambda: Log(None))
    limit: int = jsonrpc.MESSAGE_LIMIT
    """The largest request this role takes."""
    answer_limit: int = jsonrpc.MESSAGE_LIMIT
    """The largest answer it takes."""


class Agent:
    """One role, alive. Open the journal with `notify=agent.notice`, then `start`."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.meter = Meter()
        self.changed = asyncio.Event()
        """Set after every step: whoever watches the machine may look again."""
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, _Waiting] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._thoughts: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._epoch = self._appended = self._durable = self._base = 0
        self._seq = 0
        self._is_broken = False
        self._last_bug_at, self._rest_s = -math.inf, TRY_DISK_S
        self._line = Line(setup.client)
        self._body: tuple[object, bytes] = (None, b"")
        self._closing = False

    def start(self, journal: LiveJournal) -> None:
        """Replay the journal and take up what is open."""
        self.journal = journal
        self.pump = Pump(self._load)
        self._carry_out(self.pump.start(self.now()))
        self._loop.call_later(FLUSH_LOG_S, self._flush)

    def _load(self) -> Machine:
        machine = self.setup.build(self.journal.secrets())
        self._seq = 0
        for event in self.journal.events():
            machine.apply(event)
            self._seq += 1
        return machine

    @property
    def machine(self) -> Machine:
        return self.pump.machine

    @property
    def journal_seq(self) -> int:
        """The number of the newest event the machine knows; the disk may not have it yet."""
        return self._seq

    async def shown(self, show: Callable[[Machine, int], bytes]) -> bytes:
        """A view of the machine at a position of its journal, once that is durable: what was shown stays true."""
        while True:
            body, position = show(self.machine, self._seq), self._appended
            # A write that fails takes the machine back: then there is something else to show.
            while self._durable < position <= self._appended:
                self.changed.clear()
                await self.changed.wait()
            if position <= self._durable:
                return body

    @property
    def speaker(self) -> Speaker:
        return self.setup.speaker(self.pump.machine)

    def now(self) -> float:
        return self.setup.clock.now()

    async def stop(self) -> None:
        """Calls are called off, the journal is stored to the end."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._tasks.values(), *self._thoughts]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for waiting in self._waiting.values():
            waiting.answer.cancel()
        await asyncio.to_thread(self.journal.close)
        self.setup.log.close()

    # --- requests -----------------------------------------------------------------------------------------------------

    async def post(self, raw: bytes, origin: str) -> Response:
        """One request over HTTP, one answer."""
        speaker = self.speaker
        greeted = mcp_door.answer(raw, speaker.role, self.setup.limit)
        if greeted is not None:
            return greeted
        try:
            asked = letters.read_request(raw, speaker, self.setup.limit)
        except BadRequestError as bad:
            self.meter.received["?", bad.error.code] += 1
            self.meter.verdicts[bad.error.code] += 1
            return _response(letters.write_bad_request(bad, speaker, self.now()), bad.error)
        kind = label(asked)
        self.meter.judged(asked.content)
        self._note("in", origin, asked, "", raw)
        answering = await self._answer(asked, origin)
        error = answering.content if isinstance(answering.content, PeerError) else None
        response = _response(letters.write_answer(asked, answering, speaker, self.now()), error)
        outcome = error.code if error else "ok"
        self.meter.received[kind, outcome] += 1
        self.setup.log.letter(self.now(), "in", origin, kind, outcome)
        self._note("out", origin, asked, str(response.status), response.body)
        return response

    async def operate(self, order: Operate) -> Answering:
        """The operator's hand."""
        return await self._answer(Asked(0, order), "operator")

    async def _answer(self, asked: Asked, origin: str) -> Answering:
        if self._closing or self._is_broken or self.journal.is_full:
            return Answering(0, PeerError("E042", "no room for another request at the moment"))
        started = self.now()
        try:
            letter_id, orders = self.pump.request(asked.content, origin, started, asked.convention)
        except Exception:  # noqa: BLE001 - one of two doors where our own bugs end: logged once, answered as E099
            return Answering(0, self._our_bug())
        waiting = _Waiting(asked, self._loop.create_future(), started)
        self._waiting[letter_id] = waiting
        self._carry_out(orders)
        answering = await waiting.answer
        self.meter.answering.setdefault(label(asked), Durations()).add(self.now() - started)
        return answering

    def _our_bug(self) -> PeerError:
        """Told once with its traceback. The machine may have stopped half-way, so it goes back to its journal."""
        incident = f"{self.now():.3f}"
        told = mask(traceback.format_exc().encode(errors="replace")).decode(errors="replace")
        print(f"incident {incident}", told, file=sys.stderr, sep="\n")
        # A bug that comes back at once must fill neither the log nor the processor.
        calm = self._loop.time() - self._last_bug_at > LONGEST_REST_S
        self._rest_s = TRY_DISK_S if calm else min(2 * self._rest_s, LONGEST_REST_S)
        self._last_bug_at = self._loop.time()
        self._is_broken = True
        self._rebuild_when_stored()
        return PeerError("E099", "an internal error; the log has it under the incident id", {"incident": incident})

    # --- orders -------------------------------------------------------------------------------------------------------

    def _carry_out(self, orders: Orders) -> None:
        for events, secrets in orders.append:
            self.journal.append(Entry(events, secrets))
            self._appended += 1
            self._seq += len(events)
            self.meter.happened(events)
            self.setup.log.events(events)
        for one in orders.replies:
            waiting = self._waiting.pop(one.letter_id, None)
            if waiting is not None and not waiting.answer.done():
                waiting.answer.set_result(one)
        for call_id in orders.cancel:
            task = self._tasks.pop(call_id, None)
            if task is not None:
                task.cancel()
        for call in orders.calls:
            self._tasks[call.id] = self._loop.create_task(self._call(call))
        for ask in orders.asks:
            thought = self._loop.create_task(self._think(ask))
            self._thoughts.add(thought)
            thought.add_done_callback(self._thoughts.discard)
        self._set_timer()
        self.changed.set()

    def _set_timer(self) -> None:
        due = None if self._closing or self._is_broken else self.pump.timer
        # A timer that rings too early does no harm and is set anew then: cheaper than with every step.
        if due is None or (self._timer is not None and self._timer_due <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(self.setup.clock.seconds_until(due), self._wake, due)
        self._timer_due = due

    def _wake(self, due: float) -> None:
        self._timer = None
        self._input(lambda: self.pump.advance(max(self.now(), due)))

    def _input(self, give: Callable[[], Orders]) -> None:
        """Hand something to the pump and do what it says."""
        if self._closing or self._is_broken:
            return
        try:
            orders = give()
        except Exception:  # noqa: BLE001 - the other door: a bug must not end the process, nor be told as a peer's
            self._our_bug()
        else:
            self._carry_out(orders)

    def _rebuild_when_stored(self) -> None:
        """What was appended before the bug is still on its way to the disk: wait for it, then start from there."""
        if self._is_broken and self._durable == self._appended:
            self._base = self._durable
            orders = self.pump.storage_failed()
            # The bug may have swallowed answers that were ready: everybody who waits gets one.
            told = {one.letter_id for one in orders.replies}
            lost = PeerError("E099", "an internal error; the log has it")
            orders.replies += [Answering(one, lost) for one in self._waiting if one not in told]
            self._carry_out(orders)
            self._loop.call_later(self._rest_s, self._go_on)

    def _go_on(self) -> None:
        if self._is_broken:
            self._is_broken = False
            self._input(lambda: self.pump.storage_back(self.now()))

    # --- calls --------------------------------------------------------------------------------------------------------

    async def _call(self, call: Call) -> None:
        kind = kind_of(call.message)
        body = self._encoded(call.message)
        started = self.now()
        self._note_call(call, kind, "", body)
        try:
            wait = self.setup.clock.seconds_until(call.deadline)
            reply = await self._line.call(call.id, call.message, body, call.to, wait, self._limit(call))
        except CallFailed as failed:
            self._note_call(call, kind, failed.failure.value, failed.detail.encode())
            self._gone(call, kind, failed.failure, blame=Blame.LOCAL if failed.local else Blame.PEER)
            return
        except asyncio.CancelledError:
            # The pump calls a call off when it is too late for an answer, or when nobody wants one any more.
            outcome = "timeout" if self.now() >= call.deadline else "cancelled"
            self._note_call(call, kind, outcome)
            self._count(call, kind, outcome)
            raise
        finally:
            self._tasks.pop(call.id, None)
        self.meter.round_trip.add(self.now() - started)
        self._note_call(call, kind, str(reply.status), reply.body)
        self._came_back(call, kind, reply)

    def _limit(self, call: Call) -> int:
        """Only the manager may answer at length (R-24)."""
        if isinstance(call.message, RecordRequest):
            return letters.RECORD_LIMIT
        return self.setup.answer_limit if call.to.agent_id == MANAGER else jsonrpc.MESSAGE_LIMIT

    def _came_back(self, call: Call, kind: str, reply: Reply) -> None:
        if reply.status in (429, 503):
            self._gone(call, kind, Failure.BUSY, retry_after=reply.retry_after)
        elif reply.status >= 300 and not letters.says_something(reply.body):
            failure = Failure.NOT_UNDERSTOOD if reply.status < 500 else Failure.BROKEN
            self._gone(call, kind, failure, detail=f"answered with HTTP status {reply.status}")
        else:
            self._input(lambda: self._read(call, kind, reply))

    def _read(self, call: Call, kind: str, reply: Reply) -> Orders:
        content = letters.read_answer(reply.body, call.message, self.speaker.reading, self._limit(call))
        self.meter.judged(content)
        self._count(call, kind, "error" if isinstance(content, Refusal) else ANSWERED)
        return self.pump.answer(call.id, content, self.now())

    def _gone(
        self,
        call: Call,
        kind: str,
        failure: Failure,
        blame: Blame = Blame.PEER,
        retry_after: float | None = None,
        detail: str = "",
    ) -> None:
        self._count(call, kind, failure.value)
        # A timeout is the pump's to notice: it knows whether the peer was late or we were.
        if failure is not Failure.TIMEOUT:
            self._input(lambda: self.pump.failed(call.id, failure, self.now(), blame, retry_after, detail))

    def _count(self, call: Call, kind: str, outcome: str) -> None:
        conversation = getattr(call.message, "conversation_id", "")
        self.meter.call_ended(kind, (call.to.agent_id, kind, conversation), outcome)
        self.setup.log.letter(self.now(), "out", call.to.agent_id, kind, outcome)

    def _encoded(self, message: object) -> bytes:
        """A broadcast is encoded once: its calls leave one after the other."""
        if isinstance(message, Ping):
            return b""
        if self._body[0] is not message:
            self._body = (message, jsonrpc.encode_body(message))  # type: ignore[arg-type]
        return self._body[1]

    # --- strategies ---------------------------------------------------------------------------------------------------

    async def _think(self, ask: Ask) -> None:
        assert self.setup.think is not None, "a machine that asks was given nobody to ask"
        value = await self.setup.think(ask)
        self._input(lambda: self.pump.strategy_answered(ask.key, value, self.now()))

    # --- the journal --------------------------------------------------------------------------------------------------

    def notice(self, notice: Notice) -> None:
        """From the journal's own thread."""
        self._loop.call_soon_threadsafe(self._noticed, notice)

    def notice_here(self, notice: Notice) -> None:
        """From a journal without a thread: there is nobody to wake."""
        self._loop.call_soon(self._noticed, notice)

    def _noticed(self, notice: Notice) -> None:
        if self._closing:
            return
        if isinstance(notice, Durable):
            if notice.epoch == self._epoch:
                self._durable = notice.entries
                # Also after a bug: what was stored before it is told.
                self._carry_out(self.pump.durable(notice.entries - self._base))
                self._rebuild_when_stored()
        else:
            self._is_broken = False  # whatever was, the machine is built anew
            self._appended = self._durable = self._base = 0
            self._carry_out(self.pump.storage_failed())
            print(f"the journal cannot be written: {notice.error}; trying again", file=sys.stderr)
            self._thoughts.add(task := self._loop.create_task(self._try_disk(notice)))
            task.add_done_callback(self._thoughts.discard)

    async def _try_disk(self, failed: Failed) -> None:
        while not await asyncio.to_thread(self.journal.try_again, failed):  # noqa: ASYNC110 - a disk sends no event
            await asyncio.sleep(TRY_DISK_S)
        self._epoch += 1
        self._input(lambda: self.pump.storage_back(self.now()))

    # --- what is kept beside ------------------------------------------------------------------------------------------

    def _note(self, direction: Literal["in", "out"], peer: str, asked: Asked, status: str, body: bytes) -> None:
        """A request to us, or (with a status) our answer."""
        if asked.message_type is not None and self.journal.keeps_letters:
            kind: Literal["request", "response"] = "response" if status else "request"
            named = (peer, asked.message_type, asked.match_id)
            self.journal.note(LetterNote(self.now(), direction, *named, kind, status, body))

    def _note_call(self, call: Call, kind: str, status: str, body: bytes = b"") -> None:
        """A call of ours, without its JSON-RPC frame and token: a broadcast is one and the same for all its receivers;
        or (with a status) what came of it."""
        if self.journal.keeps_letters and not isinstance(call.message, Ping):
            named = (call.to.agent_id, kind, getattr(call.message, "match_id", None))
            letter = (
                LetterNote(self.now(), "in", *named, "response", status, body)
                if status
                else LetterNote(self.now(), "out", *named, "request", status, body)
            )
            self.journal.note(letter)

    def _flush(self) -> None:
        if not self._closing:
            self.setup.log.flush()
            self._loop.call_later(FLUSH_LOG_S, self._flush)


def status_of(error: PeerError | None) -> int:
    """R-27: 200 whatever the verdict, but for "later" and for what is no request at all."""
    return (error.row.http_status if error else None) or 200


def _response(body: bytes, error: PeerError | None) -> Response:
    status = status_of(error)
    return Response(status, body, headers=(RETRY_AFTER,) if status in (429, 503) else ())
