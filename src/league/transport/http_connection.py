"""One client of a server: its requests are answered in their order, within a deadline for everything it does.

Theory of operation. `data_received` answers at once a message that comes alone and whole, with a head that passed
before. Anything else is fed to the parser, which calls `head_read` (a request that can be refused by its head is) and
`request_read`. Requests stand in line (`_waiting`); the first is answered by a task or by its refusal, then `_answered`
takes it out and turns to the next.

- While a second request waits, nothing more is read: a client cannot fill our memory by pipelining.
- A connection that will take no more requests is *discarding*: it throws away what still comes in, so that its last
  answer is not lost to a reset.
- `deadline` runs while the client owes us something (a head, a body, the next request), never while we owe it an
  answer. `write_deadline` runs while it leaves an answer unread. Only `expire` acts on them.

What must never happen: that answers leave in another order than their requests came, that a request in line is counted
in `table.requests` twice or left there, or that two tasks answer at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections import deque
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from league.transport.http import (
    Answer,
    Headers,
    HttpRequest,
    Response,
    StreamedAnswer,
    address_of,
)
from league.transport.http_parser import (
    RequestParser,
    RequestPhase,
    RequestRejectedError,
    StopReading,
)
from league.transport.http_response import (
    StreamWriter,
    streamed_head,
    whole_answer,
)

if TYPE_CHECKING:
    from league.transport.http_server import ConnectionTable

NEVER = math.inf
GRACE_S = 1.0
"""Within this time nobody counts as slow: a request is on its way."""
DISCARD_LIMIT = 8 * 1024 * 1024
"""Bytes that are read and thrown away so that a client can see why it was refused."""

_LOG = logging.getLogger(__name__)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_IDLE = RequestPhase.IDLE


class ServerConnection(asyncio.Protocol):
    """One client."""

    def __init__(self, table: ConnectionTable) -> None:
        self.address = ""
        self.deadline = NEVER
        """When what the client is doing takes too long."""
        self.write_deadline = NEVER
        """When the client has left an answer unread too long; NEVER while the buffers have room."""
        self.waiting_since = 0.0
        """When the wait for the client began that `deadline` ends."""
        self._table = table
        self._transport: asyncio.Transport
        self._parser = RequestParser(table.limits, self)
        self._waiting: deque[HttpRequest] = deque()
        """Not yet answered, in order; the first is being answered. The last may still be being read."""
        self._task: asyncio.Future[Any] | None = None
        """Answers the first in line, if its answer takes time."""
        self._awaited: asyncio.Future[Any] | None = None
        """The answer, if its handler returned a future. It is cancelled when the client leaves."""
        self._writer: StreamWriter | None = None
        """Sends the answer that goes out in pieces."""
        self._drained: asyncio.Future[None] | None = None
        self._has_ended = False
        """The client has closed its side."""
        self._is_discarding = False
        """Whatever comes in now is thrown away."""
        self._discarded = 0

    def eviction_order(self, now: float) -> tuple[bool, float] | None:
        """Rank this client for eviction; the smallest goes first. Clients that are slow to send a request or to read
        their answer, and viewers of a stream that may be broken off, go first; then those we have waited for longest.
        None: a complete request waits for our answer."""
        if self.write_deadline != NEVER:
            return False, self.write_deadline - self._table.limits.answer_s
        if self._writer is not None and self._writer.may_be_broken_off:
            return False, self.waiting_since
        if self._task is not None or self.deadline == NEVER:
            return None
        is_between_requests = self._parser.phase is _IDLE and self._parser.request.is_complete
        is_slow = not is_between_requests and now - self.waiting_since >= GRACE_S
        return not is_slow, self.waiting_since

    # --- the socket ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.address = address_of(transport, "peername")
        refusal = self._table.admit(self)
        self._expire_in(self._table.limits.header_s)
        if refusal is not None and (self._table.is_flooded or not self.address):
            self.abort()
        elif refusal is not None:
            self._refuse(*refusal)

    def data_received(self, data: bytes) -> None:
        if not self._waiting and not self._is_discarding:
            body = self._parser.known_body(data)
            if body is not None and self._answer_at_once(body):
                return
        self._read(data)

    def eof_received(self) -> bool:
        """The client sends no more, but may still be reading: what it has sent completely is answered."""
        if self._waiting and not self._waiting[-1].is_complete and self._waiting[-1].refusal is None:
            self._waiting.pop()
            self._table.requests -= 1
        if not self._waiting or self._writer or self._awaited or not self._transport.can_write_eof():
            return False  # close
        self._has_ended = True
        self._stop_reading()
        return True

    def pause_writing(self) -> None:
        self.write_deadline = self._table.loop.time() + self._table.limits.answer_s

    def resume_writing(self) -> None:
        self.write_deadline = NEVER
        self._wake_writer()
        if self._waiting and self._task is None and not self._transport.is_closing():
            self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_discarding = True
        in_work = 0 if self._task is None else 1  # the task takes its request out of line itself
        while len(self._waiting) > in_work:
            self._waiting.pop()
            self._table.requests -= 1
        self._wake_writer()
        if self._writer is not None:
            self._writer.on_disconnect()
        if self._awaited is not None:
            self._awaited.cancel()
        self._parser.close()
        self._table.forget(self)

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read(self, data: bytes) -> None:
        """Read several requests, parts of one, or one whose head is not known."""
        if self._is_discarding:
            self._discarded += len(data)
            if self._discarded > DISCARD_LIMIT:
                self.abort()
            return
        try:
            self._parser.feed(data)
        except StopReading:
            pass
        except RequestRejectedError as error:
            if not self._is_discarding:
                self._refuse(error.status, error.detail)
        else:
            if self._parser.phase is not _IDLE:
                self._watch_the_rest()

    def request_begun(self) -> None:
        if self._is_discarding:
            raise StopReading
        # Several requests may arrive in one piece, before reading can be paused.
        if len(self._waiting) > self._table.limits.pipelined:
            self._stop_reading()
            raise StopReading
        self.deadline = NEVER

    def head_read(self, request: HttpRequest) -> None:
        table = self._table
        if table.requests >= table.limits.requests:
            raise RequestRejectedError(503, "too many requests at once")
        self.deadline = NEVER
        request.address = self.address
        request.refusal = table.router.check(request, self._local_address)
        self._append(request)
        # One request may be read ahead; the client waits with any further.
        if len(self._waiting) > 1:
            self._transport.pause_reading()
        elif request.refusal is not None or request.expects_continue:
            self._advance()

    def request_read(self, request: HttpRequest) -> None:
        if self._is_discarding:
            return  # refused already, and the connection ends
        self.deadline = NEVER
        self._is_discarding = not request.keep_alive
        if not self._waiting:  # refused already
            self._expire_in(self._table.limits.idle_s)
        elif self._waiting[0] is request:
            self._advance()

    def _local_address(self) -> str:
        return address_of(self._transport, "sockname")

    def _append(self, request: HttpRequest) -> None:
        self._waiting.append(request)
        self._table.requests += 1

    def _watch_the_rest(self) -> None:
        """Part of a request is here: from now on the deadline for the rest runs."""
        if self.deadline != NEVER:
            return
        if self._parser.phase is RequestPhase.HEAD:
            self._expire_in(self._table.limits.header_s)
        elif len(self._waiting) <= 1:  # behind an unanswered request it is we who are slow: we do not even read on
            self._expire_in(self._table.limits.body_s)

    def _resume_reading(self) -> None:
        if not self._transport.is_reading() and not self._transport.is_closing():
            self._transport.resume_reading()

    def _stop_reading(self) -> None:
        """The last request that will be answered here has been read."""
        self._is_discarding = True
        self.deadline = NEVER
        if self._waiting:
            self._waiting[-1].keep_alive = False
        else:
            self.hang_up()

    # --- answering ----------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Answer the first in line, as far as it is here."""
        if self.write_deadline != NEVER:
            return  # the client is slow to read; `resume_writing` comes back
        request = self._waiting[0]
        if request.refusal is not None:
            self.write_response(request, request.refusal)
            self._answered()
        elif request.is_complete:
            self._start_task(request)
        else:
            if request.expects_continue:
                request.expects_continue = False
                self._transport.write(_CONTINUE)
            if self.deadline == NEVER:
                self._expire_in(self._table.limits.body_s)

    def _answer_at_once(self, body: bytes) -> bool:
        """Answer a request that came alone, with the known head; False if it must wait. Of several that came
        together one is answered in a turn of the loop, by a task: others are served in between."""
        assert self._parser.known is not None
        table = self._table
        transport = self._transport
        if self.write_deadline != NEVER or table.requests >= table.limits.requests or transport.is_closing():
            return False
        request = replace(self._parser.known.request, body=body, is_complete=True)
        try:
            answer = table.router.dispatch(request)
            if isinstance(answer, Response):
                transport.write(whole_answer(answer, request))
                self._expire_in(table.limits.idle_s)
                return True
        except Exception:  # noqa: BLE001 (one of the top doors, as below)
            self._append(request)
            self._apologise(request)
            self._answered()
            return True
        self.deadline = NEVER
        self._append(request)
        self._start_task(request, answer)
        return True

    def _start_task(self, request: HttpRequest, begun: Awaitable[Answer] | Answer | None = None) -> None:
        """Have a request answered by a task, or by the future that its handler returned."""
        task: asyncio.Future[Any]
        if asyncio.isfuture(begun):
            task = self._awaited = begun
        else:
            task = self._table.loop.create_task(self._answer(request, begun))
        self._task = task
        self._table.tasks.add(task)
        task.add_done_callback(partial(self._finished, request))

    async def _answer(self, request: HttpRequest, begun: Awaitable[Answer] | Answer | None) -> Response | None:
        """Work out the answer; None if it was sent in pieces."""
        answer: Awaitable[Answer] | Answer = begun or self._table.router.dispatch(request)
        if asyncio.isfuture(answer):
            self._awaited = answer
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, Response):
            return answer
        await self._stream(request, answer)
        return None

    def _finished(self, request: HttpRequest, task: asyncio.Future[Response | None]) -> None:
        """The task of a request ended."""
        try:
            answer = task.result()
            if answer is not None:
                self.write_response(request, answer)
        except asyncio.CancelledError:
            # Only a server that ends cancels, or the end of a client that was being sent a stream.
            self._break_off(request, 503, "this server is shutting down")
        except Exception:  # noqa: BLE001 (one of the top doors: a bug is logged, and the client gets an answer)
            self._apologise(request)
        self._table.tasks.discard(task)
        self._task = self._writer = self._awaited = None
        self._answered()

    def write_response(self, request: HttpRequest, answer: Response) -> None:
        """Send an answer in one write: two would be two packets, and make the client read twice."""
        if not self._transport.is_closing():
            self._transport.write(whole_answer(answer, request))

    async def _stream(self, request: HttpRequest, answer: StreamedAnswer) -> None:
        writer = self._writer = StreamWriter(self, request)
        if self._transport.is_closing():
            return
        await answer.send_to(writer)
        if not writer.is_started:
            if self._transport.is_closing():
                return  # the client did not wait for it
            raise RuntimeError("there was no answer to send")
        await writer.end()

    def _apologise(self, request: HttpRequest) -> None:
        _LOG.exception("%s %s could not be answered", request.method, request.path)
        request.keep_alive = False
        self._break_off(request, 500, "something went wrong here")

    def _break_off(self, request: HttpRequest, status: int, detail: str) -> None:
        """There is no answer, or no end of it."""
        if self._writer is not None and self._writer.is_started:
            self.abort()
        else:
            self.write_response(request, self._table.router.refuse(status, detail))

    def _answered(self) -> None:
        """The first in line has its answer."""
        request = self._waiting.popleft()
        self._table.requests -= 1
        if self._transport.is_closing():
            self._expire_in(self._table.limits.linger_s)
        elif not request.keep_alive:
            self._half_close()
        elif self._waiting:
            if len(self._waiting) == 1:
                self._resume_reading()
            self._advance()
        else:
            self._resume_reading()
            if self._parser.phase is _IDLE:
                self._expire_in(self._table.limits.idle_s)

    def write_head(
        self,
        request: HttpRequest,
        status: int,
        content_type: str,
        headers: Headers,
    ) -> None:
        """Send the head of an answer whose pieces follow."""
        if not self._transport.is_closing():
            self._transport.write(streamed_head(status, content_type, headers, request))

    async def write_piece(self, data: bytes) -> None:
        """Write, and wait while the client is slow to read."""
        if self._transport.is_closing():
            return
        self._transport.write(data)
        while self.write_deadline != NEVER and not self._transport.is_closing():
            self._drained = self._table.loop.create_future()
            await self._drained

    def _wake_writer(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # --- endings ------------------------------------------------------------------------------------------------------

    def expire(self, now: float) -> None:
        """A deadline has passed."""
        if self.write_deadline <= now:
            self.abort()
        elif self.write_deadline != NEVER:
            self.deadline = self.write_deadline  # it is reading its last answer
        elif self._is_discarding or self._transport.is_closing():
            self.abort()
        elif self._parser.phase is _IDLE:
            self.hang_up()
        else:
            self._refuse(408, f"the {self._parser.phase.value} took too long")

    def hang_up(self) -> None:
        """Close when all is written; at the end of `linger_s` close anyway."""
        self._expire_in(self._table.limits.linger_s)
        self._transport.close()

    def evict(self, status: int, detail: str) -> None:
        """Close because others need its place. A client that has begun a request learns that it may come again."""
        if self.write_deadline == NEVER and self._parser.phase is not _IDLE and not self._is_discarding:
            request = HttpRequest()
            request.keep_alive = False
            self.write_response(request, self._table.router.refuse(status, detail))
        self._is_discarding = True
        self.hang_up()

    def finish(self) -> None:
        """Answer what was asked, then close."""
        if self._waiting:
            self._waiting[-1].keep_alive = False
            self._is_discarding = self._is_discarding or self._parser.phase is not RequestPhase.BODY
        elif not self._is_discarding:
            self.hang_up()

    def give_up(self) -> None:
        """The time to finish is over: refuse requests that have no answer yet, break off an answer in pieces."""
        if self._writer is not None and self._writer.is_started:
            self.abort()
            return
        # The request that a task works on is refused when the table cancels the task.
        for request in self._waiting:
            if self._task is None or request is not self._waiting[0]:
                request.refusal = self._table.router.refuse(503, "this server is shutting down")
        self._is_discarding = True
        if self._waiting and self._task is None:
            self._advance()

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self._is_discarding = True
        self._transport.abort()

    def _refuse(self, status: int, detail: str) -> None:
        """Answer in the place of the request being read, after all that were read before it."""
        phase = self._parser.phase
        request = self._parser.request
        if phase is RequestPhase.BODY and not (self._waiting and self._waiting[-1] is request):
            self._half_close()  # it has its answer
            return
        if phase is _IDLE:
            request = HttpRequest()
        if phase is not RequestPhase.BODY:
            self._append(request)
        self._is_discarding = True
        self.deadline = NEVER
        request.refusal = self._table.router.refuse(status, detail)
        request.keep_alive = False
        if self._waiting[0] is request:
            self._advance()

    def _half_close(self) -> None:
        """Say no more, but read on for a while: closing with bytes unread would destroy the answer on its way."""
        if self._has_ended or not self._transport.can_write_eof():
            self.hang_up()
            return
        self._is_discarding = True
        self._expire_in(self._table.limits.linger_s)
        self._resume_reading()
        with contextlib.suppress(OSError):  # the client may have gone
            self._transport.write_eof()

    def _expire_in(self, seconds: float) -> None:
        self.waiting_since = self._table.loop.time()
        self.deadline = self.waiting_since + seconds
