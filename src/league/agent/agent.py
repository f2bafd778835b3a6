"""The shell in life: sockets, disk and timers around the pump. It decides nothing; it carries out actions.

Theory of operation. Requests come in at `respond`, the ends of calls from `Outbound`, the answers of strategies from
`Thinking`, and the journal's thread reports what is durable. Each is an input of the pump, and each returns actions.
All of this runs on one loop: the shell itself needs no lock.

The shell is open, broken or closing. A bug in the machine makes it broken: requests are refused, and once everything
appended before the bug is stored, the machine is built anew from the journal and goes on after a rest. A write that
fails takes the machine back in the same way, and the disk is tried until it works. If the journal's files are gone, or
another process has taken the journal over, the process must end (`journal_lost`).

A journal that is held by a lease (`has_lease`) may have been taken over while this process stood still. So before
anything comes in, or leaves, the lease is looked at; if it has run out, the journal must be confirmed first.

What must never happen: that a bug of ours ends the process or is told as a peer's fault, that a request stays without
an answer, or that actions are carried out in another order than the pump returned them.
"""

from __future__ import annotations

import asyncio
import math
import sys
import traceback
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Literal, TypeVar, TypeVarTuple

from msgspec import Struct, field

from league import letters
from league.agent.caller import Caller
from league.agent.error_notes import ERRORS_TOLD, ErrorNote, error_given, error_told
from league.agent.log import Log
from league.agent.meter import Meter, label
from league.agent.outbound import Outbound
from league.agent.pump import FLUSH_S, Actions, Pump, storage_error
from league.agent.recovery import (
    TRY_DISK_S,
    BugBackoff,
    JournalPosition,
    LiveJournal,
)
from league.agent.sources import Clock
from league.agent.thinking import Think, Thinking
from league.calling.rate_limit import Rate, RateLimiter
from league.events import Event
from league.letters import Asked, Speaker
from league.machine import Answering, Content, Machine, Operate, Step
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.message.exchanges import Role
from league.protocol.safe_text import without_tokens
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import BadRequestError
from league.storage.notices import UNFIT, JournalError, JournalLostError, Notice, UnfitEventError, WriteFailed
from league.storage.transcripts.transcript import exchanged, refused
from league.transport.broadcast_reading import BroadcastReader
from league.transport.http import Response
from league.transport.http_client import HttpClient

TOO_MANY = PeerError(
    "E010",
    "too many requests at once from this address, or of this agent; come again later",
)
RETRY_AFTER = ("retry-after", "2")
REQUESTS = Rate(per_s=1000, burst=5000)
"""Honest play stays far below."""
GAP_S = 2.0
"""A loop that did not turn for this long stood still: no load explains it."""
BROADCASTS = BroadcastReader()
"""Shared by all agents in this process."""

Shown = TypeVar("Shown")
Arguments = TypeVarTuple("Arguments")
Tell = Callable[[Sequence[object]], None]
Offer = Callable[[bytes, str, str], Awaitable[Response | None]]
"""Takes a body, the caller's address and its authorization; returns None for a request that it does not know."""


class Setup(Struct):
    """The parts of an agent. The sender of `speaker` may change: an agent registers to get its id."""

    build: Callable[[Mapping[str, str]], Machine]
    speaker: Callable[[Machine], Speaker]
    client: HttpClient
    clock: Clock = field(default_factory=Clock)
    think: Think | None = None
    show: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
    """Shows people what is wrong here."""
    show_error: Callable[[ErrorNote], None] = lambda _: None
    """Shows people the errors that others tell us of."""
    happened: Callable[[Machine, Sequence[Event]], Callable[[], None]] | None = None
    """Gets the machine's events, live ones only; what it returns is called once they are stored."""
    tell: Tell = lambda _: None
    """Gets the news of the machine at once and in order."""
    log: Log = field(default_factory=lambda: Log(None))
    addresses: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS))
    """What callers at one address may ask. A hundred agents of a league may share an address."""
    members: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS))
    """What a member may ask beyond that: a caller that floods us takes nothing from members at its address."""
    limit: int = jsonrpc.MESSAGE_LIMIT
    """The largest request this role takes."""
    answer_limit: int = jsonrpc.MESSAGE_LIMIT
    """The largest answer it takes."""
    offer: Offer | None = None
    """Answers requests that are neither messages nor questions of the protocol."""


class _Alarm:
    """The one timer of an agent. One that rings too early does no harm and is set anew then: that is cheaper than to
    set it with every step."""

    def __init__(self, clock: Clock, ring: Callable[[float], None]) -> None:
        self.due = math.inf
        self._clock = clock
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def set(self, moment: float) -> None:
        self.cancel()
        self.due = moment
        self._timer = self._loop.call_later(self._clock.seconds_until(moment), self._rings)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rings(self) -> None:
        moment = self.due
        self._timer = None
        self.due = math.inf
        self._ring(moment)


class Agent:
    """One role, alive. Open the journal with `notify=agent.notice`, then `start`."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.meter = Meter()
        self.now = setup.clock.now
        setup.log.on_dropped = self.meter.lines_dropped
        self.changed = asyncio.Event()
        """Set after every step: whoever watches the machine may look again."""
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[Answering]] = {}
        """Requests that have no answer yet, by the ids of their letters."""
        self._thinking = Thinking(setup.think, self._strategy_answered)
        self._alarm = _Alarm(setup.clock, self._wake)
        self._position = JournalPosition()
        self._bugs = BugBackoff()
        self._closing = False
        self._outbound = Outbound(
            Caller(setup.client),
            setup.clock,
            self.meter,
            log=setup.log,
            answer_limit=setup.answer_limit,
            hand_in=self._input,
            note_error=self._note_error,
        )

    def start(self, journal: LiveJournal) -> None:
        """Replay the journal and take up what is open."""
        self.journal = journal
        self.pump = Pump(
            self._load,
            GAP_S * self.setup.clock.scale,
            is_volatile=journal.is_volatile,
        )
        # Its role and reading stay the same, so that requests are read without building a speaker for each.
        self._reader = self.speaker
        self._outbound.pump = self.pump
        self._outbound.reading = self._reader.reading
        if journal.keeps_letters:
            self._outbound.note = journal.note
        self._carry_out(self.pump.start(self.now()))
        self._loop.call_later(FLUSH_S, self._flush)

    def _load(self) -> Machine:
        machine = self.setup.build(self.journal.secrets())
        machine.journal_head = lambda: self.journal.head
        self._position.seq = 0
        self.meter.replay(self._replayed(machine))
        return machine

    def _replayed(self, machine: Machine) -> Iterator[Event]:
        for event in self.journal.events():
            self._position.seq += 1
            try:
                machine.apply(event)
            except UNFIT as error:
                raise UnfitEventError(self._position.seq, error) from error
            yield event

    @property
    def machine(self) -> Machine:
        return self.pump.machine

    @property
    def journal_lost(self) -> str:
        """Why nothing can be stored any more, if so: then the process must end."""
        return self._position.lost

    @property
    def journal_seq(self) -> int:
        """The number of the newest event the machine knows; the disk may not have it yet."""
        return self._position.seq

    @property
    def sights(self) -> int:
        """Grows with every event, and with whatever else the machine has to show."""
        return self._position.seq + self.machine.sights

    async def shown(self, show: Callable[[Machine, int], Shown]) -> Shown:
        """Return a view of the machine at a position of its journal, once that is durable: so it stays true."""
        while True:
            while self.pump.is_stale:
                self.changed.clear()
                await self.changed.wait()
            view = show(self.machine, self._position.seq)
            position = self._position.appended
            # A write that fails takes the machine back: then there is something else to show.
            while self._position.durable < position <= self._position.appended:
                self.journal.wake_writer()
                self.changed.clear()
                await self.changed.wait()
            if position <= self._position.durable:
                return view

    @property
    def speaker(self) -> Speaker:
        return self.setup.speaker(self.pump.machine)

    async def stop(self) -> None:
        """Cancel all calls, and store the journal to the end."""
        self._closing = True
        self._alarm.cancel()
        tasks = [*self._outbound.cancel_all(), *self._thinking.tasks]
        if self._position.retry is not None:
            tasks.append(self._position.retry)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for waiting in self._waiting.values():
            waiting.cancel()
        # Closing waits for the disk: not on the loop, which other agents of this process share.
        await asyncio.to_thread(self.journal.close)
        for _, tell in self._position.untold:
            tell()
        self.setup.log.close()

    # --- requests -----------------------------------------------------------------------------------------------------

    async def post(self, raw: bytes, origin: str, authorization: str = "", *, is_mcp: bool = False) -> Response:
        """Answer one request over HTTP; `is_mcp`: a message, whose answer is as MCP has it."""
        answer = self.respond(raw, origin, authorization, is_mcp=is_mcp)
        if isinstance(answer, Response):
            return answer
        return await answer

    def respond(
        self, raw: bytes, origin: str, authorization: str = "", *, is_mcp: bool = False
    ) -> Response | Awaitable[Response]:
        """Answer as `post` does, without waiting where the answer is ready at once."""
        setup = self.setup
        now = self.now()
        is_crowded = not setup.addresses.allows(origin, now)
        request = BROADCASTS.read_quickly(raw, self._reader, setup.limit)
        if request is None or is_crowded or is_mcp:
            read = self._read_closely(raw, request, now, is_crowded=is_crowded, is_mcp=is_mcp)
            if isinstance(read, Response):
                return read
            request = read
            if request.is_unknown and setup.offer is not None and not (is_crowded or is_mcp):
                return self._ask_offer(setup.offer(raw, origin, authorization), raw, origin, request, now)
        kind = label(request)
        answer = self._request(request.content, origin, now, request.convention)
        # Noted after the machine has judged it, but before its events can reach the disk.
        is_noted = self._outbound.note is not None and self._note_request(now, origin, request, raw, answer)
        if isinstance(answer, Answering):
            return self._response_to(request, kind, origin, now, answer, is_noted=is_noted)
        return self._response_when(answer, request, kind, origin, now)

    async def _response_when(
        self,
        answer: asyncio.Future[Answering],
        request: Asked,
        kind: str,
        origin: str,
        now: float,
    ) -> Response:
        return self._response_to(request, kind, origin, now, await answer)

    def _read_closely(
        self,
        raw: bytes,
        request: Asked | None,
        now: float,
        *,
        is_crowded: bool,
        is_mcp: bool,
    ) -> Asked | Response:
        """Read a request that is not right in every way (then `request` is None), not of the protocol, or one too many.
        Return its answer where it goes no further."""
        speaker = self.speaker
        if request is None:
            try:
                request = letters.read_closely(raw, speaker, self.setup.limit)
            except BadRequestError as bad:
                error = TOO_MANY if is_crowded else bad.error
                return self._refuse(BadRequestError(bad.id, error), speaker, now)
        if is_mcp:
            request = request.by_mcp()
        # A member proves by its token who it is, and has a share of its own beyond that of its address.
        if is_crowded and not self._is_member_with_share(request.content, now):
            self.meter.refused(label(request), TOO_MANY.code)
            return _response(
                letters.write_answer(request, Answering(0, TOO_MANY), speaker, now),
                TOO_MANY,
            )
        return request

    def _is_member_with_share(self, content: Content, now: float) -> bool:
        member = self.machine.member_behind(content)
        return member is not None and self.setup.members.allows(member, now)

    async def _ask_offer(
        self,
        offered: Awaitable[Response | None],
        raw: bytes,
        origin: str,
        request: Asked,
        now: float,
    ) -> Response:
        """Answer a request that the protocol does not know. If nothing else does, the machine refuses it."""
        response = await offered
        if response is not None:
            return response
        answer = self._request(request.content, origin, now, request.convention)
        is_noted = self._outbound.note is not None and self._note_request(now, origin, request, raw, answer)
        if not isinstance(answer, Answering):
            answer = await answer
        return self._response_to(request, label(request), origin, now, answer, is_noted=is_noted)

    def _refuse(self, bad: BadRequestError, speaker: Speaker, now: float) -> Response:
        """Answer something that is not a request."""
        self.meter.refused("?", bad.error.code, bad.error.code)
        return _response(letters.write_bad_request(bad, speaker, now), bad.error)

    def _response_to(
        self,
        request: Asked,
        kind: str,
        origin: str,
        since: float,
        answering: Answering,
        *,
        is_noted: bool = True,
    ) -> Response:
        """Write the answer as it leaves; count, log and note it."""
        now = self.now()
        content = answering.content
        if isinstance(content, PeerError):
            outcome = content.code
            match_id = None
            # Managers tell their operators of refusals by events.
            if self.speaker.role is not Role.MANAGER:
                self._note_error(error_given(request, kind, origin, content))
            response = _response(
                letters.write_answer(request, answering, self.speaker, now),
                content,
            )
        else:
            outcome = "ok"
            match_id = request.match_id
            # Words of somebody whom we refused are not those of the sender that they name.
            if kind in ERRORS_TOLD and (error := error_told(request)) is not None:
                self._note_error(error)
            response = Response(200, letters.write_answer(request, answering, self._reader, now))
        self.meter.answered(kind, outcome, request.content, now - since, request.match_id)
        if self.setup.log.is_kept:
            self.setup.log.letter(now, "in", origin, kind, outcome, match_id)
        if is_noted and self._outbound.note is not None:
            self._note(now, "out", origin, request, str(response.status), response.body)
        return response

    async def operate(self, order: Operate) -> Answering:
        """Carry out an order of the operator."""
        now = self.now()
        answer = self._request(order, "operator", now)
        if not isinstance(answer, Answering):
            answer = await answer
        self.meter.answering["?"].add(self.now() - now)
        return answer

    def _request(
        self,
        content: Content,
        origin: str,
        now: float,
        convention: Convention = Convention.SPEC,
    ) -> Answering | asyncio.Future[Answering]:
        """Hand a request to the pump; its answer is often ready at once."""
        if self._closing or self._bugs.is_broken or self.journal.is_full:
            return Answering(0, PeerError("E042", "no room for another request at the moment"))
        if self.journal.has_lease and not self.journal.is_ours():
            return Answering(0, storage_error())
        try:
            letter_id, actions = self.pump.request(content, origin, now, convention)
        except Exception:  # noqa: BLE001 - one of two doors where our own bugs end: logged once, answered as E099
            return Answering(0, self._our_bug())
        answer: Answering | asyncio.Future[Answering] | None = None
        for reply in actions.replies:
            if reply.letter_id == letter_id:
                answer = reply
        if answer is None:
            answer = self._waiting[letter_id] = self._loop.create_future()
        self._carry_out(actions)
        return answer

    def _our_bug(self) -> PeerError:
        """Show the traceback once. The machine may have stopped half-way, so it goes back to its journal."""
        incident = f"{self.now():.3f}"
        report = without_tokens(traceback.format_exc())
        self.setup.show(f"incident {incident}\n{report}")
        self._bugs.hit(self._loop.time())
        self.journal.wake_writer()
        self._rebuild_when_stored()
        return PeerError(
            "E099",
            "an internal error; the log has it under the incident id",
            {"incident": incident},
        )

    # --- the actions of the pump --------------------------------------------------------------------------------------

    def _carry_out(self, actions: Actions) -> None:
        # Events first: replies and calls of the same step may only leave after them.
        if actions.append:
            self._append(actions)
        if actions.replies and self._waiting:
            self._reply(actions.replies)
        for call_id in actions.cancel:
            self._outbound.cancel(call_id)
        for call in actions.calls:
            self._outbound.start(call)
        if actions.asks or actions.unasked:
            self._thinking.turn_to(actions.asks, actions.unasked)
        if actions.news:
            self.setup.tell(actions.news)
        if self.pump.due < self._alarm.due and not self._closing and not self._bugs.is_broken:
            self._alarm.set(self.pump.due)
        self.changed.set()

    def _reply(self, replies: Iterable[Answering]) -> None:
        for reply in replies:
            waiting = self._waiting.pop(reply.letter_id, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)

    def _append(self, actions: Actions) -> None:
        """Hand events to the journal, and to everybody who follows them."""
        position = self._position
        for entry in actions.append:
            self.journal.enqueue(entry)
            # Counted even if nothing waits for it: `Durable` counts entries, lazy ones too.
            position.appended += 1
            position.seq += len(entry.events)
            self.meter.happened(entry.events)
            if self.setup.log.is_kept:
                self.setup.log.events(entry.events)
            if self.setup.happened is not None:
                due = position.appended if actions.is_awaited else 0
                position.untold.append((due, self.setup.happened(self.machine, entry.events)))
        if self.journal.is_volatile:
            position.durable = position.appended
        elif actions.is_awaited:
            # Once a turn of the loop: everything else that happens in this turn is committed in the same group.
            self._loop.call_soon(self.journal.wake_writer)
        self._tell_stored()

    def _tell_stored(self) -> None:
        """Tell people what has happened, in its order, once it cannot get lost any more."""
        position = self._position
        while position.untold and position.untold[0][0] <= position.durable:
            position.untold.popleft()[1]()

    def _wake(self, moment: float) -> None:
        now = self.now()
        self.meter.lag_s = max(0.0, now - moment)
        # A timer may ring a little early by our clock: the pump must see its moment reached.
        self._input(self.pump.advance, max(now, moment))

    def _input(self, give: Callable[[*Arguments], Actions], *arguments: *Arguments) -> None:
        """Hand something to the pump and carry out what it returns."""
        if self._closing or self._bugs.is_broken or (self.journal.has_lease and not self.journal.is_ours()):
            return
        try:
            actions = give(*arguments)
        except Exception:  # noqa: BLE001 - the other door: a bug must not end the process, nor be told as a peer's
            self._our_bug()
        else:
            self._carry_out(actions)

    def _rebuild_when_stored(self) -> None:
        """Build the machine anew once everything that was appended before the bug is on disk."""
        if self._position.durable != self._position.appended:
            return
        self._position.base = self._position.durable
        actions = self.pump.storage_failed()
        # The bug may have swallowed answers that were ready: everybody who waits gets one.
        answered = {reply.letter_id for reply in actions.replies}
        lost = PeerError("E099", "an internal error; the log has it")
        actions.replies += tuple([Answering(letter, lost) for letter in self._waiting if letter not in answered])
        self._carry_out(actions)
        self._loop.call_later(self._bugs.delay_s, self._go_on)

    def _go_on(self) -> None:
        if self._bugs.is_broken:
            self._bugs.is_broken = False
            self._input(self.pump.storage_back, self.now())

    # --- strategies ---------------------------------------------------------------------------------------------------

    def _strategy_answered(self, key: str, value: object) -> None:
        self._input(self.pump.strategy_answered, key, value, self.now())

    def prompt(self, prompt: Callable[[Machine], Step]) -> None:
        """Have the machine do something of its own accord; the outcome is among its news."""
        self._input(self.pump.prompted, prompt, self.now())

    # --- the journal --------------------------------------------------------------------------------------------------

    def notice(self, notice: Notice) -> None:
        """Take a notice from the journal's own thread."""
        self._loop.call_soon_threadsafe(self._noticed, notice)

    def _noticed(self, notice: Notice) -> None:
        if self._closing:
            return
        if isinstance(notice, WriteFailed):
            self._write_failed(notice)
        elif self.journal.has_lease and not self.journal.is_ours():
            return  # the notice of the failure comes next
        # A notice of an epoch that is over counts entries that were dropped since.
        elif notice.epoch == self._position.epoch:
            self._position.durable = notice.entries
            self._tell_stored()
            # Also after a bug: what was stored before it is told.
            self._carry_out(self.pump.durable(notice.entries - self._position.base))
            if self._bugs.is_broken:
                self._rebuild_when_stored()

    def _write_failed(self, failed: WriteFailed) -> None:
        self._bugs.is_broken = False  # whatever was, the machine is built anew
        self._position.restart()
        self._carry_out(self.pump.storage_failed(failed.can_read))
        if failed.is_final:
            self._lose(failed.error)
            return
        self.setup.show(f"the journal cannot be written: {failed.error}; trying again")
        self._position.retry = self._loop.create_task(self._try_disk(failed))

    def _lose(self, why: str) -> None:
        self._position.lost = why
        self.changed.set()

    async def _try_disk(self, failed: WriteFailed) -> None:
        try:
            # Neither a disk nor a server sends an event when it works again.
            while not await asyncio.to_thread(self.journal.try_again, failed):  # noqa: ASYNC110
                await asyncio.sleep(TRY_DISK_S)
        except JournalLostError as error:
            self._lose(str(error))
            return
        self._position.epoch += 1
        while self.pump.is_stale and not self._can_load():  # noqa: ASYNC110
            await asyncio.sleep(TRY_DISK_S)
        self._input(self.pump.storage_back, self.now())

    def _can_load(self) -> bool:
        try:
            self.pump.go_back()
        except JournalError:
            return False
        return True

    # --- transcript and log -------------------------------------------------------------------------------------------

    def _note_request(
        self,
        now: float,
        origin: str,
        request: Asked,
        raw: bytes,
        answer: Answering | asyncio.Future[Answering],
    ) -> bool:
        """Note a request to us; only its beginning, and no answer, if it is a stranger's and was refused."""
        error = answer.content if isinstance(answer, Answering) else None
        if isinstance(error, PeerError) and self.machine.member_behind(request.content) is None:
            self.journal.note(refused(now, origin, request.message_type, error.code, raw))
            return False
        self._note(now, "in", origin, request, "", raw)
        return True

    def _note(
        self,
        now: float,
        direction: Literal["in", "out"],
        peer: str,
        request: Asked,
        status: str,
        body: bytes,
    ) -> None:
        """Note a request to us, or (with a status) our answer."""
        if request.message_type is not None:
            self.journal.note(
                exchanged(
                    now,
                    direction,
                    peer,
                    message_type=request.message_type,
                    match_id=request.match_id,
                    status=status,
                    body=body,
                )
            )

    def _note_error(self, error: ErrorNote) -> None:
        """Log an error that somebody told us of, or that we answer, and show it to people."""
        self.setup.log.error(self.now(), error)
        if error.is_shown:
            self.setup.show_error(error)

    def _flush(self) -> None:
        if not self._closing:
            self.setup.log.flush()
            # Lazy events and letters reach the disk here, if no other event took them along before.
            self.journal.wake_writer()
            self._loop.call_later(FLUSH_S, self._flush)


def _response(body: bytes, error: PeerError) -> Response:
    """R-27: 200 whatever the verdict, except for "later" and for what is not a request at all."""
    status = error.row.http_status or 200
    headers = (RETRY_AFTER,) if status in (429, 503) else ()
    return Response(status, body, headers=headers)
