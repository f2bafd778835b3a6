"""uvicorn's connection with what it lacks: a deadline for every phase, caps on everything a client can make grow,
refusals that reach the client, and answers for clients that have stopped sending."""

from __future__ import annotations

import asyncio
import contextlib
import math
import urllib.parse
from collections import deque
from enum import Enum
from functools import lru_cache
from typing import Any, NoReturn, cast

import httptools
from uvicorn._types import ASGISendEvent, HTTPScope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from league.transport.http import ANSWER, Response, refuse
from league.transport.http_guard import Guard

NEVER = math.inf
DISCARD = 8 * 1024 * 1024
"""So much is read and thrown away for a client to see why it was refused."""

_ONCE_ONLY = (b"host", b"origin", b"content-type", b"content-encoding")
_OFFER = (b"connection", b"upgrade")


class Phase(Enum):
    """Of what a client is sending. Answering is no phase: several requests may wait for their answer."""

    IDLE = "between requests"
    HEAD = "headers"
    BODY = "body"


class _Refused(Exception):  # noqa: N818 (it never leaves this module: it only stops the parser)
    """The parser is to stop here; the verdict lies with the connection."""


def written(answer: Response, date_line: bytes, keep_alive: bool, with_body: bool = True) -> bytes:
    """An answer as it goes over the wire."""
    lines = [
        STATUS_LINE[answer.status],
        date_line,
        b"content-type: %b\r\ncontent-length: %d\r\n" % (answer.content_type.encode("latin-1"), len(answer.body)),
        *(_header_line(name, value) for name, value in answer.headers),
        b"\r\n" if keep_alive else b"connection: close\r\n\r\n",
    ]
    if with_body:
        lines.append(answer.body)
    return b"".join(lines)


def _header_line(name: str, value: str) -> bytes:
    if not (name + value).isprintable():
        raise ValueError(f"the header {name!r} cannot be sent")
    return f"{name}: {value}\r\n".encode("latin-1")


class Cycle(RequestResponseCycle):
    """One request and its answer: uvicorn's, and a way to give the whole answer at once."""

    guard: Guard

    async def answer(self, answer: Response) -> None:
        """In one write: two would be two packets, and make the client read twice."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if not self._can_write() or self.response_started:
            return
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        with_body = self.scope["method"] != "HEAD"
        self.transport.write(written(answer, self.guard.date_line, self.keep_alive, with_body))
        self.message_event.set()
        self.on_response()

    async def send(self, message: ASGISendEvent) -> None:
        """What an application behind ours says."""
        if self._can_write():
            await super().send(message)

    def _can_write(self) -> bool:
        # uvloop raises an error for a connection that was reset a moment ago.
        self.disconnected = self.disconnected or self.transport.is_closing()
        return not self.disconnected

    async def send_500_response(self) -> None:
        """A bug of ours, which uvicorn has logged."""
        self.keep_alive = False
        await self.answer(refuse(500, "something went wrong here", self.guard.word))


class Connection(HttpToolsProtocol):
    """One client."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard.config, guard.state, {}, guard.loop)
        self.guard = guard
        self.limits = guard.limits
        self.address = ""
        self.deadline = NEVER
        self.stalled = NEVER
        self._phase = Phase.IDLE
        self._waiting: deque[Cycle] = deque()
        """Read and not yet answered, in order; the first is being answered."""
        self._deaf = False
        """Whatever comes in now is thrown away."""
        self._verdict: Response | None = None
        self._begun = self._piece = self._head = self._body = self._discarded = 0

    @property
    def is_idle(self) -> bool:
        """Does nothing happen here at the moment?"""
        return self._phase is Phase.IDLE and not self._waiting and not self._deaf and not self.transport.is_closing()

    # --- the connection -----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.client is not None:
            self.address = self.client[0].removeprefix("::ffff:")
            self.client = (self.address, self.client[1])
        verdict = self.guard.admit(self)
        self.deadline = self.loop.time() + self.limits.header_s
        if verdict is not None and self.guard.curt:
            self.cut()
        elif verdict is not None:
            self._refuse(*verdict)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disconnect()
        self._waiting.clear()
        self.guard.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            self._discarded += len(data)
            if self._discarded > DISCARD:
                self.cut()
            return
        phase, begun = self._phase, self._begun
        self._piece = len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError as error:
            self._stop(error)
        else:
            if self._phase is Phase.HEAD:
                self._watch_head(phase, self._begun - begun)
            elif self._phase is Phase.BODY:
                self._watch_body()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            # Java's client offers HTTP/2 with its first request. llhttp then takes the body for another protocol, so
            # the request is read anew without the offer.
            version = self.parser.get_http_version().encode()
            head = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
            head += [b"%b: %b" % header for header in self.headers if header[0] not in _OFFER]
            self.parser = httptools.HttpRequestParser(self)
            self.parser.feed_data(b"\r\n".join([*head, b"", b""]))
            self._feed(data[offer.args[0] :])

    def _watch_head(self, before: Phase, begun: int) -> None:
        """A head came in without its end: from now on its deadline runs, and it may not grow for ever."""
        if begun == 0 or (begun == 1 and before is Phase.IDLE):  # else this piece also holds the end of another
            self._head += self._piece
        if self._head > self.limits.head:
            self._refuse(431, "the headers are too large")
        elif self.deadline == NEVER:
            self.deadline = self.loop.time() + self.limits.header_s

    def _watch_body(self) -> None:
        # Behind an unanswered request it is we who are slow: we do not even read on.
        if self.deadline == NEVER and len(self._waiting) <= 1:
            self.deadline = self.loop.time() + self.limits.body_s

    def _stop(self, error: httptools.HttpParserError) -> None:
        if self._verdict is not None:
            self._refuse_with(self._verdict)
        elif not self._deaf:
            self._refuse(400, f"this is not HTTP/1.1: {error}")

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends no more. If it has a whole request here, it may still be reading."""
        if self._phase is Phase.IDLE and self._waiting and not self._waiting[0].response_started:
            self._read_no_more()
            return True
        return None

    # --- reading ------------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._deaf or len(self._waiting) > self.limits.pipelined:
            self._read_no_more()
            raise _Refused
        self.url = b""
        self.headers = []
        self._phase, self.deadline = Phase.HEAD, NEVER
        self._begun += 1
        self._head = self._body = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase is not Phase.HEAD:
            return  # a trailer
        if len(self.headers) >= self.limits.headers:
            self._reject(431, "there are too many headers")
        self.headers.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        version, headers = self.parser.get_http_version(), dict(self.headers)
        self._check_form(version, headers)
        if self.parser.should_upgrade():
            return  # it is going to be read again
        self._check_size(headers)
        expects = version == "1.1" and headers.get(b"expect", b"").lower() == b"100-continue"
        scope = self._scope(version)
        cycle = self.cycle = Cycle(
            scope=cast(HTTPScope, scope),
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=expects,
            # Refused before it was told to go on, a client may send the body or not: only an end is unambiguous.
            keep_alive=version == "1.1" and not expects and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        cycle.guard = self.guard
        scope["extensions"] = {ANSWER: cycle.answer}
        self._phase, self.deadline = Phase.BODY, NEVER
        self._waiting.append(cycle)
        if len(self._waiting) == 1:
            self._start_asgi_task(cycle, self.app)
        else:
            self.flow.pause_reading()

    def _check_form(self, version: str, headers: dict[bytes, bytes]) -> None:
        if self.parser.get_method() == b"CONNECT":
            self._reject(400, "this is no proxy")
        if version not in ("1.0", "1.1"):
            self._reject(505, "this server speaks HTTP/1.1")
        if version == "1.1" and b"host" not in headers:
            self._reject(400, "the Host header is missing")
        if len(headers) != len(self.headers):
            names = [name for name, _ in self.headers]
            if any(names.count(name) > 1 for name in _ONCE_ONLY):
                self._reject(400, "a header that may stand once stands twice")
        coding = headers.get(b"transfer-encoding")
        if coding is not None and (version == "1.0" or coding.lower() != b"chunked"):
            self._reject(400, "the only transfer encoding is chunked, in HTTP/1.1")

    def _check_size(self, headers: dict[bytes, bytes]) -> None:
        # Usually what came in is too little to hold too much, and nothing need be counted.
        if self._head + self._piece > self.limits.head and self._head_size() > self.limits.head:
            self._reject(431, "the headers are too large")
        if int(headers.get(b"content-length", b"0")) > self.limits.body:
            self._reject(413, f"at most {self.limits.body} bytes are taken")
        if len(self.tasks) >= self.limits.requests:
            self._reject(503, "too many requests at once")

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _scope(self, version: str) -> dict[str, Any]:
        path, raw_path, query, host = _parsed(self.url)
        headers = self.headers
        if host:  # a whole address counts more than the Host header (RFC 9112, 3.2.2)
            headers = [(b"host", host), *((name, value) for name, value in headers if name != b"host")]
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": self.parser.get_method().decode("ascii"),
            "root_path": "",
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": headers,
            "state": {},
        }

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if self._body > self.limits.body:
            self._reject(413, f"at most {self.limits.body} bytes are taken")
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._phase, self.deadline = Phase.IDLE, NEVER
        cycle = self.cycle
        self._deaf = not cycle.keep_alive
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()
        elif not self._waiting:
            self.deadline = self.loop.time() + self.limits.idle_s

    # --- answering ----------------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        answered = self._waiting.popleft()
        now = self.loop.time()
        if self.transport.is_closing():
            self.deadline = now + self.limits.linger_s
        elif not answered.keep_alive:
            self._half_close()
        elif self._waiting:
            self._answer_next(now)
        elif self._verdict is not None:
            self._send(self._verdict)
        else:
            self.flow.resume_reading()
            if self._phase is Phase.IDLE:
                self.deadline = now + self.limits.idle_s

    def _answer_next(self, now: float) -> None:
        if len(self._waiting) == 1:
            self.flow.resume_reading()
            if self._phase is Phase.BODY:
                self.deadline = now + self.limits.body_s
        self._start_asgi_task(self._waiting[0], self.app)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stalled = self.loop.time() + self.limits.answer_s

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stalled = NEVER

    # --- endings ------------------------------------------------------------------------------------------------------

    def expire(self, now: float) -> None:
        """A deadline has passed."""
        if self.stalled <= now or self._deaf or self.transport.is_closing():
            self.cut()
        elif self._phase is Phase.IDLE:
            self.hang_up()
        else:
            self._refuse(408, f"the {self._phase.value} took too long")

    def hang_up(self) -> None:
        """Close when all is written; at the end of `linger_s` close anyway."""
        self.deadline = self.loop.time() + self.limits.linger_s
        self.transport.close()

    def shutdown(self) -> None:
        """Answer what was asked, then close."""
        if self._waiting:
            self._waiting[-1].keep_alive = False
            self._deaf = self._phase is not Phase.BODY
        elif not self._deaf:
            self.hang_up()

    def cut_answer(self) -> None:
        """An answer that was begun and did not end in time will not end."""
        if self._waiting and self._waiting[0].response_started:
            self.cut()

    def cut(self) -> None:
        """Close at once, whatever is under way."""
        self._disconnect()
        self.transport.abort()

    def _disconnect(self) -> None:
        self._deaf = True
        for cycle in self._waiting:
            cycle.disconnected = True
            cycle.message_event.set()

    def _read_no_more(self) -> None:
        """The last request that will be answered here has been read."""
        self._deaf, self._phase, self.deadline = True, Phase.IDLE, NEVER
        if self._waiting:
            self._waiting[-1].keep_alive = False
        else:
            self.hang_up()

    def _reject(self, status: int, detail: str) -> NoReturn:
        """From within the parser: stop it."""
        self._verdict = refuse(status, detail, self.guard.word)
        raise _Refused

    def _refuse(self, status: int, detail: str) -> None:
        self._refuse_with(refuse(status, detail, self.guard.word))

    def _refuse_with(self, verdict: Response) -> None:
        """Answer in the place of the request being read, after all that were read before it."""
        unread = self.cycle if self._phase is Phase.BODY else None
        self._deaf, self._phase, self.deadline = True, Phase.IDLE, NEVER
        if unread is not None and unread.response_complete:
            self._half_close()
        elif unread is not None and unread.response_started:
            self.cut()
        else:
            if unread is not None:
                self._waiting.pop()
                unread.disconnected = True
                unread.message_event.set()
            self._verdict = verdict
            if not self._waiting:
                self._send(verdict)

    def _send(self, verdict: Response) -> None:
        self.transport.write(written(verdict, self.guard.date_line, keep_alive=False))
        self._half_close()

    def _half_close(self) -> None:
        """Say no more, but read on for a while: closing with bytes unread would destroy the answer on its way."""
        self._deaf, self._phase, self.deadline = True, Phase.IDLE, self.loop.time() + self.limits.linger_s
        self.flow.resume_reading()
        with contextlib.suppress(OSError):  # the client may have gone
            self.transport.write_eof()


@lru_cache(maxsize=256)
def _parsed(url: bytes) -> tuple[str, bytes, bytes, bytes]:
    """Path, raw path, query and host of a request's address."""
    parts = httptools.parse_url(url)
    path = parts.path.decode("ascii")
    return urllib.parse.unquote(path) if "%" in path else path, parts.path, parts.query or b"", parts.host or b""
