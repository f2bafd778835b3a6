"""The shell in life: sockets, disk and timers around the pump. It decides nothing; it carries out actions.

Requests come in at `post`, what calls come to by `Outbound`, the journal says what is durable; each
is an input of the pump, and all of them run on one loop: the shell itself needs no lock.
"""

from __future__ import annotations

import asyncio
import math
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar, TypeVarTuple

from league.agent.caller import Caller
from league.agent.gate import Gate
from league.agent.log import Log
from league.agent.outbound import Outbound
from league.agent.pump import FLUSH_S, Actions, Pump
from league.agent.recovery import TRY_DISK_S, BugBackoff, JournalPosition, LiveJournal
from league.agent.sources import Clock
from league.agent.thinking import Think, Thinking
from league.agent.watch import ERRORS_TOLD, ErrorNote, Meter, error_told, label
from league.events import Event
from league.machine import Answering, Content, Machine, Operate, Step
from league.protocol import jsonrpc
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.jsonrpc import BadRequestError
from league.protocol.safe_text import without_tokens
from league.storage.journal import Entry
from league.storage.notices import UNFIT, Durable, Notice, UnfitEventError, WriteFailed
from league.storage.transcript import exchanged
from league.transport import letters, mcp_door
from league.transport.broadcast_reading import BroadcastReader
from league.transport.http import LaterResponse, Response
from league.transport.http_client import HttpClient
from league.transport.letters import Asked, Speaker

TOO_MANY = PeerError("E010", "too many requests at once from this address, or of this agent; come again later")
RETRY_AFTER = ("retry-after", "2")
GAP_S = 2.0
"""A loop that did not turn for so long stood still: no load explains it."""
BROADCASTS = BroadcastReader()
"""Of all agents in this process."""

Shown = TypeVar("Shown")
Given = TypeVarTuple("Given")
Tell = Callable[[Sequence[object]], None]


@dataclass(slots=True)
class Setup:
    """What an agent is put together from. The sender of `speaker` may change: an agent registers to get its id."""

    build: Callable[[Mapping[str, str]], Machine]
    speaker: Callable[[Machine], Speaker]
    client: HttpClient
    clock: Clock = field(default_factory=Clock)
    think: Think | None = None
    show: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
    """Shows people what is wrong here."""
    show_error: Callable[[ErrorNote], None] = lambda _: None
    """Shows people the errors that others tell us of."""
    happened: Callable[[Machine, Sequence[Event]], None] | None = None
    """Is handed the machine's events, live ones only."""
    tell: Tell = lambda _: None
    """Is handed the news of the machine at once and in order."""
    log: Log = field(default_factory=lambda: Log(None))
    gate: Gate = field(default_factory=Gate)
    limit: int = jsonrpc.MESSAGE_LIMIT
    """The largest request this role takes."""
    answer_limit: int = jsonrpc.MESSAGE_LIMIT
    """The largest answer it takes."""


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
        self._tasks: set[asyncio.Task[None]] = set()
        """A disk that is tried again."""
        self._thinking = Thinking(setup.think, self._strategy_answered)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = math.inf
        self._position = JournalPosition()
        self._bugs = BugBackoff()
        self._closing = self._is_waking_writer = False
        self._outbound = Outbound(
            Caller(setup.client),
            setup.clock,
            self.meter,
            setup.log,
            setup.answer_limit,
            self._input,
            self._note_error,
        )

    def start(self, journal: LiveJournal) -> None:
        """Replay the journal and take up what is open."""
        self.journal = journal
        self._outbound.note = journal.note if journal.keeps_letters else None
        self.pump = Pump(self._load, GAP_S * self.setup.clock.scale, is_volatile=journal.is_volatile)
        self._reader = self.speaker
        self._outbound.pump, self._outbound.reading = self.pump, self._reader.reading
        self._carry_out(self.pump.start(self.now()))
        self._loop.call_later(FLUSH_S, self._flush)

    def _load(self) -> Machine:
        machine = self.setup.build(self.journal.secrets())
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

    async def shown(self, show: Callable[[Machine, int], Shown]) -> Shown:
        """A view of the machine at a position of its journal, once that is durable: what was shown stays true."""
        while True:
            body, position = show(self.machine, self._position.seq), self._position.appended
            # A write that fails takes the machine back: then there is something else to show.
            while self._position.durable < position <= self._position.appended:
                self.journal.wake_writer()
                self.changed.clear()
                await self.changed.wait()
            if position <= self._position.durable:
                return body

    @property
    def speaker(self) -> Speaker:
        return self.setup.speaker(self.pump.machine)

    async def stop(self) -> None:
        """Calls are called off, the journal is stored to the end."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._outbound.cancel_all(), *self._tasks, *self._thinking.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for waiting in self._waiting.values():
            waiting.cancel()
        await asyncio.to_thread(self.journal.close)
        self.setup.log.close()

    # --- requests -----------------------------------------------------------------------------------------------------

    async def post(self, raw: bytes, origin: str, *, is_mcp: bool = False) -> Response:
        """One request over HTTP, one answer; `is_mcp`: as MCP has it."""
        answer = self.respond(raw, origin, is_mcp=is_mcp)
        return answer if isinstance(answer, Response) else await answer

    def respond(self, raw: bytes, origin: str, *, is_mcp: bool = False) -> Response | Awaitable[Response]:
        """As `post`: the answer itself where it is there at once."""
        setup, now = self.setup, self.now()
        is_crowded = not setup.gate.allows_address(origin)
        asked = BROADCASTS.read_quickly(raw, self._reader, setup.limit)
        if asked is None or is_crowded or is_mcp:
            read = self._read_closely(raw, asked, now, is_crowded=is_crowded, is_mcp=is_mcp)
            if isinstance(read, Response):
                return read
            asked = read
        kind = label(asked)
        if self._outbound.note is not None:
            self._note(now, "in", origin, asked, "", raw)
        if kind in ERRORS_TOLD and (error := error_told(asked)) is not None:
            self._note_error(error)
        answer = self._request(asked.content, origin, now, asked.convention)
        if isinstance(answer, Answering):
            return self._told(asked, kind, origin, now, answer)
        return LaterResponse(answer, partial(self._told, asked, kind, origin, now))

    def _read_closely(
        self, raw: bytes, asked: Asked | None, now: float, *, is_crowded: bool, is_mcp: bool
    ) -> Asked | Response:
        """A request that is not right in every way (then `asked` is None), not of the protocol, or one too many; its
        answer where it goes no further."""
        speaker, limit = self.speaker, self.setup.limit
        if asked is None:
            greeted = None if is_crowded else mcp_door.answer(raw, speaker.role, limit, speaker.reading.profile)
            if greeted is not None:
                return greeted
            try:
                asked = letters.read_closely(raw, speaker, limit)
            except BadRequestError as bad:
                return self._refuse(BadRequestError(bad.id, TOO_MANY) if is_crowded else bad, speaker, now)
        asked = asked.by_mcp() if is_mcp else asked
        if is_crowded and not self.setup.gate.allows_member(self.machine.member_behind(asked.content)):
            self.meter.refused(label(asked), "E010")
            return _response(letters.write_answer(asked, Answering(0, TOO_MANY), speaker, now), TOO_MANY)
        return asked

    def _refuse(self, bad: BadRequestError, speaker: Speaker, now: float) -> Response:
        """The answer to what is no request."""
        self.meter.refused("?", bad.error.code, bad.error.code)
        return _response(letters.write_bad_request(bad, speaker, now), bad.error)

    def _told(self, asked: Asked, kind: str, origin: str, since: float, answering: Answering) -> Response:
        """The answer as it leaves, counted, logged and noted."""
        now, content = self.now(), answering.content
        if isinstance(content, PeerError):
            outcome, match_id = content.code, None
            response = _response(letters.write_answer(asked, answering, self.speaker, now), content)
        else:
            outcome, match_id = "ok", asked.match_id
            response = Response(200, letters.write_answer(asked, answering, self._reader, now))
        self.meter.answered(kind, outcome, asked.content, now - since, asked.match_id)
        if self.setup.log.is_kept:
            self.setup.log.letter(now, "in", origin, kind, outcome, match_id)
        if self._outbound.note is not None:
            self._note(now, "out", origin, asked, str(response.status), response.body)
        return response

    async def operate(self, order: Operate) -> Answering:
        """The operator's hand."""
        now = self.now()
        answer = self._request(order, "operator", now)
        answering = answer if isinstance(answer, Answering) else await answer
        self.meter.totals().answering["?"].add(self.now() - now)
        return answering

    def _request(
        self, content: Content, origin: str, now: float, convention: Convention = Convention.SPEC
    ) -> Answering | asyncio.Future[Answering]:
        """Hand a request to the pump; its answer is often there at once."""
        if self._closing or self._bugs.is_broken or self.journal.is_full:
            return Answering(0, PeerError("E042", "no room for another request at the moment"))
        try:
            letter_id, actions = self.pump.request(content, origin, now, convention)
        except Exception:  # noqa: BLE001 - one of two doors where our own bugs end: logged once, answered as E099
            return Answering(0, self._our_bug())
        answer: Answering | asyncio.Future[Answering] | None = None
        for one in actions.replies:
            if one.letter_id == letter_id:
                answer = one
        if answer is None:
            answer = self._waiting[letter_id] = self._loop.create_future()
        self._carry_out(actions)
        return answer

    def _our_bug(self) -> PeerError:
        """Told once with its traceback. The machine may have stopped half-way, so it goes back to its journal."""
        incident = f"{self.now():.3f}"
        told = without_tokens(traceback.format_exc())
        self.setup.show(f"incident {incident}\n{told}")
        self._bugs.hit(self._loop.time())
        self.journal.wake_writer()
        self._rebuild_when_stored()
        return PeerError("E099", "an internal error; the log has it under the incident id", {"incident": incident})

    # --- what the pump says must be done ------------------------------------------------------------------------------

    def _carry_out(self, actions: Actions) -> None:
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
        if self.pump.due < self._timer_due:
            self._set_timer()
        self.changed.set()

    def _reply(self, replies: Iterable[Answering]) -> None:
        for one in replies:
            waiting = self._waiting.pop(one.letter_id, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(one)

    def _append(self, actions: Actions) -> None:
        """Hand events to the journal, and to whoever follows them."""
        position = self._position
        for events, secrets in actions.append:
            self.journal.enqueue(Entry(events, secrets))
            position.appended += 1
            position.seq += len(events)
            self.meter.happened(events)
            if self.setup.log.is_kept:
                self.setup.log.events(events)
            if self.setup.happened is not None:
                self.setup.happened(self.machine, events)
        if self.journal.is_volatile:
            position.durable = position.appended
        elif actions.is_awaited and not self._is_waking_writer:
            # Once a turn of the loop: what else happens in this turn is committed in the same group.
            self._is_waking_writer = True
            self._loop.call_soon(self._wake_writer)

    def _wake_writer(self) -> None:
        self._is_waking_writer = False
        self.journal.wake_writer()

    def _set_timer(self) -> None:
        """A timer that rings too early does no harm and is set anew then: cheaper than with every step."""
        if self._closing or self._bugs.is_broken:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due = self.pump.due
        self._timer = self._loop.call_later(self.setup.clock.seconds_until(due), self._wake, due)

    def _wake(self, due: float) -> None:
        self._timer, self._timer_due = None, math.inf
        now = self.now()
        self.meter.lag_s = max(0.0, now - due)
        self._input(self.pump.advance, max(now, due))

    def _input(self, give: Callable[[*Given], Actions], *given: *Given) -> None:
        """Hand something to the pump and do what it says."""
        if self._closing or self._bugs.is_broken:
            return
        try:
            actions = give(*given)
        except Exception:  # noqa: BLE001 - the other door: a bug must not end the process, nor be told as a peer's
            self._our_bug()
        else:
            self._carry_out(actions)

    def _rebuild_when_stored(self) -> None:
        """What was appended before the bug is still on its way to the disk: wait for it, then start from there."""
        if self._bugs.is_broken and self._position.durable == self._position.appended:
            self._position.base = self._position.durable
            actions = self.pump.storage_failed()
            # The bug may have swallowed answers that were ready: everybody who waits gets one.
            told = {one.letter_id for one in actions.replies}
            lost = PeerError("E099", "an internal error; the log has it")
            actions.replies += tuple([Answering(one, lost) for one in self._waiting if one not in told])
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
        """Have the machine do something of its own accord; what comes of it is among its news."""
        self._input(self.pump.prompted, prompt, self.now())

    # --- the journal --------------------------------------------------------------------------------------------------

    def notice(self, notice: Notice) -> None:
        """From the journal's own thread."""
        self._loop.call_soon_threadsafe(self._noticed, notice)

    def _noticed(self, notice: Notice) -> None:
        if self._closing:
            return
        if isinstance(notice, Durable):
            if notice.epoch == self._position.epoch:
                self._position.durable = notice.entries
                # Also after a bug: what was stored before it is told.
                self._carry_out(self.pump.durable(notice.entries - self._position.base))
                self._rebuild_when_stored()
        else:
            self._bugs.is_broken = False  # whatever was, the machine is built anew
            self._position.restart()
            self._carry_out(self.pump.storage_failed())
            if notice.is_final:
                self._position.lost = notice.error
                return
            self.setup.show(f"the journal cannot be written: {notice.error}; trying again")
            self._tasks.add(task := self._loop.create_task(self._try_disk(notice)))
            task.add_done_callback(self._tasks.discard)

    async def _try_disk(self, failed: WriteFailed) -> None:
        while not await asyncio.to_thread(self.journal.try_again, failed):  # noqa: ASYNC110 - a disk sends no event
            await asyncio.sleep(TRY_DISK_S)
        self._position.epoch += 1
        self._input(self.pump.storage_back, self.now())

    # --- what is kept beside ------------------------------------------------------------------------------------------

    def _note(
        self, now: float, direction: Literal["in", "out"], peer: str, asked: Asked, status: str, body: bytes
    ) -> None:
        """A request to us, or (with a status) our answer."""
        if asked.message_type is not None:
            self.journal.note(exchanged(now, direction, peer, asked.message_type, asked.match_id, status, body))

    def _note_error(self, error: ErrorNote) -> None:
        """Somebody told us of an error: that is for people."""
        self.setup.log.error(self.now(), error)
        if error.is_shown:
            self.setup.show_error(error)

    def _flush(self) -> None:
        if not self._closing:
            self.setup.log.flush()
            self.journal.wake_writer()
            self._loop.call_later(FLUSH_S, self._flush)


def _response(body: bytes, error: PeerError | None) -> Response:
    """R-27: 200 whatever the verdict, but for "later" and for what is no request at all."""
    status = (error.row.http_status if error else None) or 200
    return Response(status, body, headers=(RETRY_AFTER,) if status in (429, 503) else ())
