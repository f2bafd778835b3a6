"""Between a client that starts local MCP servers and one that is reached over HTTP: each line of the client is posted,
and each message that comes back is a line for it. Both eras of MCP pass: the bridge reads only what decides about the
headers of a request, and keeps what opens a session, to open it again after a restart of the server.
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
from typing import Any, Final

import msgspec

from league.gateway.tools import NO_SESSION, Session, greeted
from league.terminal.addresses import split_http

PAUSES_S: Final = (0.25, 0.5, 1.0, 1.0)
"""Before another try, when nobody listens, or only begins to: nothing was done yet."""
REOPEN_S: Final = 1.0
"""Before a stream that broke is opened again."""
CONNECT_S: Final = 5.0
ANSWER_S: Final = 300.0
"""How long a connection may be silent; no answer of ours takes a tenth of it."""
LAST_ANSWERS_S: Final = 30.0
"""How long requests under way may take when the input has ended."""
LARGEST: Final = 64 << 20
NO_ANSWER, NO_JSON = -32000, -32700
INITIALIZE, INITIALIZED = "initialize", "notifications/initialized"
CANCELLED, LISTEN = "notifications/cancelled", "subscriptions/listen"
SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
_KEPT: Final = (INITIALIZE, INITIALIZED, SUBSCRIBE)
"""What a session is opened with again."""
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_EVENTS: Final = "text/event-stream"


class NoAnswerError(Exception):
    """A request came to nothing, in a sentence."""


class NotReadyError(NoAnswerError):
    """Nobody listens there, or only begins to: nothing was done."""


class BrokenStreamError(NoAnswerError):
    """The answer had begun."""


# --- what the client says ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClientLine:
    """One line of the client, as far as its way depends on it (Any: JSON)."""

    raw: bytes
    method: str = ""
    id: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    is_request: bool = False
    """Does the client wait for an answer?"""

    @property
    def name(self) -> str:
        """What of the server it is about: a tool, a prompt or a resource."""
        named = self.params.get("uri" if self.method == "resources/read" else "name")
        return named if isinstance(named, str) else ""

    @property
    def version(self) -> str:
        """The version of MCP that the message itself names, as in the era without sessions."""
        meta = self.params.get("_meta")
        version = meta.get(_VERSION) if isinstance(meta, dict) else None
        return version if isinstance(version, str) else ""


def read_line(raw: bytes) -> ClientLine:
    """What stands on a line; ValueError if it is no JSON."""
    message = msgspec.json.decode(raw)
    if not isinstance(message, dict):
        return ClientLine(raw, is_request=True)
    method, params = message.get("method"), message.get("params")
    known = method if isinstance(method, str) else ""
    about = params if isinstance(params, dict) else {}
    return ClientLine(raw, known, message.get("id"), about, is_request=bool(known) and "id" in message)


# --- what the server says ---------------------------------------------------------------------------------------------


def messages_in(response: HTTPResponse) -> Iterator[bytes]:
    """The messages of an answer, each as soon as it is there."""
    if response.headers.get_content_type() == _EVENTS:
        yield from events_in(response)
    else:
        yield response.read(LARGEST)


def events_in(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The data of each event of a server-sent stream."""
    data: list[bytes] = []
    for line in lines:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []


def written_to(file: int) -> Callable[[bytes], None]:
    """What writes whole lines to this file, at once and from any thread; without a buffer, whose lock a thread could
    hold when the process ends."""
    lock = Lock()

    def write(message: bytes) -> None:
        rest = memoryview(message.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")
        with lock, suppress(BrokenPipeError):  # the client has gone: the end of its input is on the way
            while rest:
                rest = rest[os.write(file, rest) :]

    return write


# --- the bridge -------------------------------------------------------------------------------------------------------


class Bridge:
    """Carries one client's messages to the server at `url` and back. `token` goes with every request; `write` takes a
    message for the client, `tell` a sentence for people."""

    def __init__(
        self, url: str, token: str | None, write: Callable[[bytes], None], tell: Callable[[str], None]
    ) -> None:
        self._url, self._write, self._tell = url, write, tell
        self._target = split_http(url).path
        self._headers = {"Accept": f"application/json, {_EVENTS}", "Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._session = NO_SESSION
        self._kept: dict[str, ClientLine] = {}
        """What the session was opened with, in order."""
        self._renewing = Lock()
        self._under_way: dict[str, socket.socket | None] = {}
        """The requests that wait, by id, with what their answers come through."""
        self._ended = Event()

    def run(self, lines: Iterable[bytes]) -> None:
        """Until the input ends. Requests run beside each other; whatever else the client says keeps its order."""
        calls: list[Thread] = []
        self._tell(f"passes on what it reads to {self._url}")
        try:
            for raw in lines:
                calls = [one for one in calls if one.is_alive()]
                if raw.strip() and (line := self._read(raw.strip())) is not None:
                    calls += self._take(line)
        finally:
            self._ended.set()
        for one in calls:
            one.join(LAST_ANSWERS_S)
        if self._session.id:
            with suppress(NoAnswerError), self._answer_to("DELETE", self._session):
                pass

    def _read(self, raw: bytes) -> ClientLine | None:
        try:
            return read_line(raw)
        except ValueError as error:
            self._fail(None, f"this line is no JSON: {error}", NO_JSON)
            return None

    def _take(self, line: ClientLine) -> list[Thread]:
        """Send a line on its way; the threads whose end is worth waiting for."""
        if line.method == CANCELLED and self._called_off(line.params.get("requestId")):
            return []
        self._keep(line)
        if not line.is_request:
            self._deliver(line)
            if line.method == INITIALIZED and self._session.id:
                Thread(target=self._listen, daemon=True).start()
            return []
        self._under_way[_key(line.id)] = None
        call = Thread(target=self._deliver, args=(line,), daemon=True)
        call.start()
        return [] if line.method == LISTEN else [call]

    def _keep(self, line: ClientLine) -> None:
        about = str(line.params.get("uri", ""))
        if line.method == INITIALIZE:
            self._kept, self._session = {INITIALIZE: line}, NO_SESSION
        elif line.method in _KEPT and INITIALIZE in self._kept:
            self._kept[line.method + about] = line
        elif line.method == UNSUBSCRIBE:
            self._kept.pop(SUBSCRIBE + about, None)

    def _called_off(self, request_id: object) -> bool:
        """In the era without sessions a request is called off by hanging up; in the other the server is told."""
        if INITIALIZE in self._kept:
            return False
        connection = self._under_way.pop(_key(request_id), None)
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        return True

    # --- requests -----------------------------------------------------------------------------------------------------

    def _deliver(self, line: ClientLine) -> None:
        """Post a line and pass on what comes back; the client is told if that is nothing."""
        try:
            self._exchange(line)
        except BrokenStreamError as error:
            if line.method == LISTEN:
                self._open_again(line)
            else:
                self._failed(line, str(error))
        except (NoAnswerError, HTTPException, OSError) as error:
            self._failed(line, str(error))
        finally:
            self._under_way.pop(_key(line.id), None)

    def _open_again(self, line: ClientLine) -> None:
        """A subscription goes on after it broke, until the client calls it off or the server ends it."""
        while _key(line.id) in self._under_way and not self._ended.wait(REOPEN_S):
            with suppress(NoAnswerError):
                self._exchange(line)
                return

    def _exchange(self, line: ClientLine) -> None:
        """One POST and its answer, in a session that is renewed if the server has forgotten it."""
        session = Session(line.version) if line.version else self._session
        with self._answer_to("POST", session, line) as response:
            if response.status != HTTPStatus.NOT_FOUND or not session.id:
                self._pass_on(line, response)
                return
        self._renew(session)
        with self._answer_to("POST", self._session, line) as response:
            self._pass_on(line, response)

    def _pass_on(self, line: ClientLine, response: HTTPResponse) -> None:
        """Give the client what the server says to this line."""
        passed = 0
        try:
            for raw in messages_in(response):
                message = _message(raw)
                if not message or not line.is_request:
                    continue
                passed += 1
                if self._is_answer(line, message, response):
                    self._answered(line, raw, message)
                    return
                self._write(raw)
        except (HTTPException, OSError) as error:
            broken = f"{self._url} broke off: {_reason(error)}; what was asked may have been done"
            raise (BrokenStreamError if passed else NoAnswerError)(broken) from error
        if line.is_request or response.status >= 300:
            kind = BrokenStreamError if passed else NoAnswerError
            raise kind(f"{self._url} answered with status {response.status} and no message for it")

    def _is_answer(self, line: ClientLine, message: Mapping[str, Any], response: HTTPResponse) -> bool:
        """Any: JSON."""
        if "method" in message:
            return False
        if line.method == INITIALIZE and "result" in message:
            self._session = greeted(message["result"], response.headers.get("mcp-session-id", ""))
        return True

    def _answered(self, line: ClientLine, raw: bytes, message: Mapping[str, Any]) -> None:
        """A server that refused a request before it had read its id answers to nobody: to the client it is this one
        (Any: JSON)."""
        if message.get("id") is None and line.id is not None:
            raw = msgspec.json.encode({**message, "id": line.id})
        self._write(raw)

    def _failed(self, line: ClientLine, sentence: str) -> None:
        """A request that was called off needs no answer, and a message that is no request gets none."""
        if not line.is_request:
            self._tell(sentence)
        elif _key(line.id) in self._under_way:
            self._fail(line.id, sentence)

    def _fail(self, request_id: object, sentence: str, code: int = NO_ANSWER) -> None:
        self._tell(sentence)
        error = {"code": code, "message": sentence}
        self._write(msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error}))

    # --- the session --------------------------------------------------------------------------------------------------

    def _renew(self, session: Session) -> None:
        """The server has forgotten this session: open it again, with the words the client used. The client has had the
        answers."""
        with self._renewing:
            if self._session is not session:
                return
            fresh = NO_SESSION
            for line in list(self._kept.values()):
                with self._answer_to("POST", fresh, line) as response:
                    found = (one["result"] for one in map(_message, messages_in(response)) if "result" in one)
                    result = next(found, None) if line.is_request else None
                    if line.method == INITIALIZE and result is None:
                        raise NoAnswerError(f"{self._url} has forgotten the session and opens no other")
                    if line.method == INITIALIZE:
                        fresh = greeted(result, response.headers.get("mcp-session-id", ""))
            self._session = fresh
            self._tell(f"{self._url} was started again: the session goes on")

    def _listen(self) -> None:
        """Pass on what the server says unasked, if it has a stream for that."""
        while not self._ended.is_set():
            session = self._session
            with suppress(NoAnswerError, HTTPException, OSError):
                with self._answer_to("GET", session) as response:
                    if response.status not in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
                        return
                    for raw in messages_in(response) if response.status == HTTPStatus.OK else ():
                        self._write(raw)
                    is_forgotten = response.status == HTTPStatus.NOT_FOUND
                if is_forgotten:
                    self._renew(session)
            self._ended.wait(REOPEN_S)

    # --- HTTP ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def _answer_to(self, verb: str, session: Session, line: ClientLine | None = None) -> Iterator[HTTPResponse]:
        """The answer to a request, to be read. A server that is not ready is tried again for a while."""
        for pause in PAUSES_S:
            with suppress(NotReadyError):
                connection, response = self._ask(verb, session, line)
                break
            self._ended.wait(pause)
        else:
            connection, response = self._ask(verb, session, line)
        try:
            yield response
        finally:
            connection.close()

    def _ask(self, verb: str, session: Session, line: ClientLine | None) -> tuple[HTTPConnection, HTTPResponse]:
        headers = self._headers | dict(session.headers(line.method if line else "", line.name if line else ""))
        connection = self._connected()
        if line is not None and line.is_request and _key(line.id) in self._under_way:
            self._under_way[_key(line.id)] = connection.sock
        try:
            connection.request(verb, self._target, line.raw if line else None, headers)
            response = connection.getresponse()
            if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
                raise NotReadyError(f"{self._url} is busy, or about to start or to end")
        except (HTTPException, OSError) as error:
            connection.close()
            raise NoAnswerError(f"{self._url} hung up before it answered: {_reason(error)}") from error
        except NotReadyError:
            connection.close()
            raise
        return connection, response

    def _connected(self) -> HTTPConnection:
        parts = split_http(self._url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_S)
        try:
            connection.connect()
        except OSError as error:
            raise NotReadyError(f"nobody answers at {self._url}: {_reason(error)}") from error
        connection.sock.settimeout(ANSWER_S)
        return connection


def _message(raw: bytes) -> Mapping[str, Any]:
    """A message of the server; empty if it is none (Any: JSON)."""
    try:
        message = msgspec.json.decode(raw)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _key(request_id: object) -> str:
    """1 and "1" are two ids."""
    return repr(request_id)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
