"""Connects a client that starts local MCP servers with a server that is reached over HTTP.

Each line of the client is posted, and each message that comes back is a line for the client. Both eras of MCP pass:
the bridge reads only what decides about the headers of a request.

In the older era there is a session. The client opens it with `initialize`; the bridge keeps the lines that opened it
and the subscriptions in it. When the server has forgotten the session, after a restart, the bridge opens another one
with the same lines, and the client never notices. In the newer era there is no session, and a stream of changes that
breaks is opened again. A request that reached the server is never sent twice, unless the server refused it unread.

The main thread reads lines. Every request has a thread of its own, and so has the stream of a session.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple

import msgspec

from league.gateway.readers.tools import NO_SESSION, Session, greeted
from league.protocol.safe_text import excerpt
from league.terminal.addresses import split_http

PAUSES_S: Final = (0.25, 0.5, 1.0, 1.0)
"""Before each further try, while nobody listens or the server only begins to: nothing was done yet."""
REOPEN_S: Final = 1.0
"""Before a stream that broke is opened again."""
CONNECT_S: Final = 5.0
ANSWER_S: Final = 300.0
"""How long a connection may be silent; no answer of ours takes a tenth of it."""
LAST_ANSWERS_S: Final = 30.0
"""How long each request under way may take when the input has ended."""
LARGEST: Final = 64 << 20
NO_ANSWER: Final = -32000
NO_JSON: Final = -32700
INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
PING: Final = "ping"
CANCELLED: Final = "notifications/cancelled"
LISTEN: Final = "subscriptions/listen"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_EVENTS: Final = "text/event-stream"


class NoAnswerError(Exception):
    """A request got no answer; the message says why."""


class NotReadyError(NoAnswerError):
    """Nobody listens there, or the server only begins to: nothing was done."""


class BrokenStreamError(NoAnswerError):
    """The answer had begun."""


# --- lines of the client ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClientLine:
    """One line of the client, as far as the bridge must understand it (Any: JSON)."""

    raw: bytes
    method: str = ""
    id: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    is_request: bool = False
    """True if the client waits for an answer."""

    @property
    def key(self) -> str:
        """The id as a key: 1 and "1" are two ids."""
        return repr(self.id)

    @property
    def name(self) -> str:
        """The tool, prompt or resource that the line is about."""
        field_name = "uri" if self.method == "resources/read" else "name"
        return _text(self.params.get(field_name))

    @property
    def version(self) -> str:
        """The version of MCP that the message itself names, as in the newer era."""
        return _text(_object(self.params.get("_meta")).get(_VERSION))


NO_LINE: Final = ClientLine(b"")
"""For requests of the bridge itself."""


def read_line(raw: bytes) -> ClientLine:
    """Read a line; ValueError if it is not JSON."""
    message = msgspec.json.decode(raw)
    if not isinstance(message, dict):
        return ClientLine(raw, is_request=True)
    method = _text(message.get("method"))
    return ClientLine(
        raw,
        method,
        message.get("id"),
        _object(message.get("params")),
        is_request=method != "" and "id" in message,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object) -> Mapping[str, Any]:
    """Any: JSON."""
    return value if isinstance(value, dict) else {}


# --- messages of the server -------------------------------------------------------------------------------------------


def messages_in(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the messages of an answer, each as soon as it arrives."""
    if response.headers.get_content_type() == _EVENTS:
        yield from events_in(response)
    else:
        yield response.read(LARGEST)


def events_in(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each event of a server-sent stream."""
    data: list[bytes] = []
    for line in lines:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []


def _read_message(raw: bytes) -> Mapping[str, Any]:
    """Read a message; an empty one if this is none (Any: JSON)."""
    try:
        return _object(msgspec.json.decode(raw))
    except ValueError:
        return {}


def written_to(file: int) -> Callable[[bytes], None]:
    """Return a function that writes whole lines to this file, at once and from any thread."""
    # There is no buffer: a thread could hold its lock when the process ends.
    lock = Lock()

    def write(message: bytes) -> None:
        line = message.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
        rest = memoryview(line)
        # If the client has gone, the end of its input is on the way.
        with lock, suppress(BrokenPipeError):
            while rest:
                written = os.write(file, rest)
                rest = rest[written:]

    return write


# --- the bridge -------------------------------------------------------------------------------------------------------


class _Exchange(NamedTuple):
    """An answer that is to be read, and the connection to close then."""

    connection: HTTPConnection
    response: HTTPResponse


class Bridge:
    """Carries one client's messages to the server at `url` and back.

    `token` goes with every request. `write` takes a message for the client, `tell` a sentence for people.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        write: Callable[[bytes], None],
        tell: Callable[[str], None],
    ) -> None:
        self._url = url
        self._write = write
        self._tell = tell
        self._headers = {
            "Accept": f"application/json, {_EVENTS}",
            "Content-Type": "application/json",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._session = NO_SESSION
        self._opening_lines: dict[str, ClientLine] = {}
        """The lines that open a session like this one, in order."""
        self._renewing = Lock()
        self._under_way: dict[str, socket.socket | None] = {}
        """The requests that wait, by the keys of their ids, with the sockets of their answers."""
        self._ended = Event()

    def run(self, lines: Iterable[bytes]) -> None:
        """Work until the input ends. Requests run beside each other; all else that the client says keeps its order."""
        calls: list[Thread] = []
        self._tell(f"passing everything on to {self._url}")
        try:
            for raw in lines:
                calls = [call for call in calls if call.is_alive()]
                if raw.strip():
                    calls += self._take(raw.strip())
        finally:
            self._ended.set()
        for call in calls:
            call.join(LAST_ANSWERS_S)
        if self._session.id:
            with suppress(NoAnswerError), self._answer_to("DELETE", self._session):
                pass

    def _take(self, raw: bytes) -> list[Thread]:
        """Send a line on its way; return the threads that are worth waiting for."""
        try:
            line = read_line(raw)
        except ValueError:
            self._report(None, f'this line is not JSON: "{excerpt(raw)}"', NO_JSON)
            return []
        if line.method == CANCELLED and self._cancel(repr(line.params.get("requestId"))):
            return []
        self._keep(line)
        if not line.is_request:
            self._deliver(line)
            if line.method == INITIALIZED and self._session.id:
                Thread(target=self._listen, daemon=True).start()
            return []
        self._under_way[line.key] = None
        call = Thread(target=self._deliver, args=(line,), daemon=True)
        call.start()
        if line.method == LISTEN:
            return []  # a subscription does not end by itself
        return [call]

    def _keep(self, line: ClientLine) -> None:
        """Keep a line if it opens a session, or belongs to what is opened with it."""
        subscription = SUBSCRIBE + str(line.params.get("uri", ""))
        if line.method == INITIALIZE:
            self._opening_lines = {INITIALIZE: line}
            self._session = NO_SESSION
        elif line.method == UNSUBSCRIBE:
            self._opening_lines.pop(subscription, None)
        elif INITIALIZE in self._opening_lines:
            if line.method == INITIALIZED:
                self._opening_lines[INITIALIZED] = line
            elif line.method == SUBSCRIBE:
                self._opening_lines[subscription] = line

    def _cancel(self, key: str) -> bool:
        """Cancel a request by hanging up, as in the newer era; False in the older one, where the server is told."""
        if INITIALIZE in self._opening_lines:
            return False
        connection = self._under_way.pop(key, None)
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        return True

    # --- requests -----------------------------------------------------------------------------------------------------

    def _deliver(self, line: ClientLine) -> None:
        """Post a line and pass on what comes back; tell the client if that is nothing."""
        try:
            self._exchange(line)
        except (NoAnswerError, HTTPException, OSError) as error:
            if line.method == LISTEN and isinstance(error, BrokenStreamError):
                self._reopen(line)
            else:
                self._fail(line, str(error))
        finally:
            self._under_way.pop(line.key, None)

    def _reopen(self, line: ClientLine) -> None:
        """Go on with a subscription that broke, until the client cancels it or the server ends it."""
        while line.key in self._under_way and not self._ended.wait(REOPEN_S):
            with suppress(NoAnswerError):
                self._exchange(line)
                return

    def _exchange(self, line: ClientLine) -> None:
        """Post a line and pass on the answer, in a session that is renewed if the server has forgotten it."""
        session = Session(line.version) if line.version else self._session
        with self._answer_to("POST", session, line) as response:
            is_forgotten = response.status == HTTPStatus.NOT_FOUND and session.id
            if not is_forgotten:
                self._pass_on(line, response)
                return
        self._renew(session)
        with self._answer_to("POST", self._session, line) as response:
            self._pass_on(line, response)

    def _pass_on(self, line: ClientLine, response: HTTPResponse) -> None:
        """Give the client the server's messages up to the answer."""
        failure = NoAnswerError
        try:
            for raw in messages_in(response):
                message = _read_message(raw)
                if not message or not line.is_request:
                    continue
                failure = BrokenStreamError
                if "method" not in message:
                    self._answer(line, raw, message, response)
                    return
                self._write(raw)
        except (HTTPException, OSError) as error:
            detail = f"{self._url} broke off: {_reason(error)}; the request may have been carried out"
            raise failure(detail) from error
        if line.is_request or response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise failure(f"{self._url} answered with status {response.status} and without a message for this request")

    def _answer(
        self,
        line: ClientLine,
        raw: bytes,
        message: Mapping[str, Any],
        response: HTTPResponse,
    ) -> None:
        """Pass on the answer to a request (Any: JSON)."""
        if line.method == INITIALIZE and "result" in message:
            self._session = _session_of(message["result"], response)
        # A server that refuses a request before it has read its id cannot name it; the client needs the id.
        if message.get("id") is None and line.id is not None:
            message = {**message, "id": line.id}
            raw = msgspec.json.encode(message)
        # Without a session the server takes a ping for that of an agent, and names its protocol. MCP wants it empty.
        if line.method == PING and message.get("result"):
            raw = msgspec.json.encode({**message, "result": {}})
        self._write(raw)

    def _fail(self, line: ClientLine, sentence: str) -> None:
        """Report a failure. A request that was cancelled needs no answer, and other messages get none."""
        if not line.is_request:
            self._tell(sentence)
        elif line.key in self._under_way:
            self._report(line.id, sentence, NO_ANSWER)

    def _report(self, request_id: object, sentence: str, code: int) -> None:
        self._tell(sentence)
        error = {"code": code, "message": sentence}
        self._write(msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error}))

    # --- the session --------------------------------------------------------------------------------------------------

    def _renew(self, forgotten: Session) -> None:
        """Open a session again that the server has forgotten. The client has had the answers already."""
        with self._renewing:
            if self._session is not forgotten:
                return  # another thread has renewed it
            session = NO_SESSION
            for line in list(self._opening_lines.values()):
                with self._answer_to("POST", session, line) as response:
                    if not line.is_request:
                        continue
                    # The answer is read to its end, so that the server has done it before the next line.
                    result = _result_in(response)
                    if line.method == INITIALIZE:
                        if result is None:
                            raise NoAnswerError(f"{self._url} has forgotten the session and opens no other")
                        session = _session_of(result, response)
            self._session = session
            self._tell(f"{self._url} was restarted; the session goes on")

    def _listen(self) -> None:
        """Pass on the server's messages outside of answers, if it has a stream for them."""
        while not self._ended.is_set():
            session = self._session
            with suppress(NoAnswerError, HTTPException, OSError):
                with self._answer_to("GET", session) as response:
                    status = response.status
                    if status == HTTPStatus.OK:
                        for raw in messages_in(response):
                            self._write(raw)
                if status == HTTPStatus.NOT_FOUND:
                    self._renew(session)
                elif status != HTTPStatus.OK:
                    return
            self._ended.wait(REOPEN_S)

    # --- HTTP ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def _answer_to(self, verb: str, session: Session, line: ClientLine = NO_LINE) -> Iterator[HTTPResponse]:
        """Make a request and yield its answer, to be read."""
        exchange = self._ask(verb, session, line)
        try:
            yield exchange.response
        finally:
            exchange.connection.close()

    def _ask(self, verb: str, session: Session, line: ClientLine) -> _Exchange:
        """Make a request; if the server is not ready, try again for a while."""
        for pause in PAUSES_S:
            try:
                return self._ask_once(verb, session, line)
            except NotReadyError:
                self._ended.wait(pause)
        return self._ask_once(verb, session, line)

    def _ask_once(self, verb: str, session: Session, line: ClientLine) -> _Exchange:
        connection = self._connect()
        if line.is_request and line.key in self._under_way:
            self._under_way[line.key] = connection.sock
        headers = self._headers | dict(session.headers(line.method, line.name))
        try:
            connection.request(verb, split_http(self._url).path, line.raw or None, headers)
            response = connection.getresponse()
        except (HTTPException, OSError) as error:
            connection.close()
            raise NoAnswerError(f"{self._url} hung up before it answered: {_reason(error)}") from error
        if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
            connection.close()
            raise NotReadyError(f"{self._url} is busy, or about to start or to end")
        return _Exchange(connection, response)

    def _connect(self) -> HTTPConnection:
        parts = split_http(self._url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_S)
        try:
            connection.connect()
        except OSError as error:
            raise NotReadyError(f"nobody answers at {self._url}: {_reason(error)}") from error
        connection.sock.settimeout(ANSWER_S)
        return connection


def _session_of(result: object, response: HTTPResponse) -> Session:
    return greeted(result, response.headers.get("mcp-session-id", ""))


def _result_in(response: HTTPResponse) -> object | None:
    for raw in messages_in(response):
        message = _read_message(raw)
        if "result" in message:
            result: object = message["result"]
            return result
    return None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
