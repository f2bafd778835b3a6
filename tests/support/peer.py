"""One scripted HTTP agent: whatever it does is data (scripts.py). Without a script it is a good player.

It runs on a loop and thread of its own at any free port, has every byte of its answers in its hands, keeps all that
came and went, and lets tests wait for what it saw. It shares no code with the agents it plays against.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from tests.support.scripts import ABSENT, Object, Reaction, Rule, Script

WATCHDOG_S = 120.0
"""No test measures time with it."""
CHUNK = 7
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Convention:
    """How an agent wraps its messages: its own requests, how it reads those of others, and its answers to them."""

    request: Callable[[int, str, Object], Object]
    read: Callable[[Object], tuple[str, Object]]
    answer: Callable[[Object, Object], Object]


def _read_params(call: Object) -> tuple[str, Object]:
    params = call.get("params")
    return str(call.get("method", "")), params if isinstance(params, dict) else {}


SPEC = Convention(
    request=lambda number, method, message: {"jsonrpc": "2.0", "id": number, "method": method, "params": message},
    read=_read_params,
    answer=lambda call, message: {"jsonrpc": "2.0", "id": call.get("id"), "result": message},
)

VERBS: Mapping[str, str] = {
    "LEAGUE_REGISTER_REQUEST": "register_player",
    "REFEREE_REGISTER_REQUEST": "register_referee",
    "MATCH_RESULT_REPORT": "report_match_result",
    "LEAGUE_QUERY": "league_query",
}
"""The methods of what an agent asks by itself; anything else is called by its message type."""

REPLIES: Mapping[str, str] = {
    "GAME_INVITATION": "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE",
    "GAME_MOVE_CALL": "GAME_MOVE_RESPONSE",
    "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
}
"""The types of answers; anything else is answered by its own type with _ACK behind it."""


@dataclass(slots=True)
class Received:
    """A request that came in, and what was answered so far."""

    at: float
    kind: str
    """The message type, or the method of what is no message."""
    method: str
    message: Object
    call: Object
    head: bytes
    body: bytes
    answer: bytes = b""
    answered_at: float | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of our own, and what came back."""

    at: float
    url: str
    body: bytes
    status: int
    answer: bytes


@dataclass
class Peer:
    """An agent. Use it with `with`; its methods may be called from any other thread."""

    name: str
    script: Script = ()
    role: Literal["player", "referee"] = "player"
    convention: Convention = SPEC
    choice: str = "even"
    port: int = 0
    agent_id: str = ""
    token: str = ""
    received: list[Received] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._started: Future[int] = Future()
        self._events: dict[str, asyncio.Event] = {}
        self._arrivals: dict[str, list[asyncio.Future[None]]] = {}
        self._met: dict[int, int] = {}
        self._referees: dict[str, str] = {}
        self._posts: set[asyncio.Task[Sent]] = set()
        self._numbers = 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name=self.name, daemon=True)

    # --- for tests ----------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = self._started.result(WATCHDOG_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gone, with all its connections; its port is refused from now on."""
        if self._thread.is_alive():
            self.release(_END)
            self._thread.join(WATCHDOG_S)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def register(self, manager: str, **meta: object) -> Object:
        """Become a member; the manager's answer."""
        answer: Object = self.apply(manager, **meta).get("result", {})
        assert answer.get("status") == "ACCEPTED", answer
        return answer

    def apply(self, manager: str, **meta: object) -> Object:
        """Ask to become a member; the whole JSON answer, whatever it says."""
        kind, part = _REGISTRATIONS[self.role]
        known = {"display_name": self.name, "version": "1.0.0", "game_types": ["even_odd"]}
        message = {"message_type": kind, part: {**known, "contact_endpoint": self.endpoint, **meta}}
        answer = self.call(manager, message)
        result = answer.get("result", {})
        if result.get("status") == "ACCEPTED":
            self.agent_id, self.token = result[f"{self.role}_id"], result["auth_token"]
        return answer

    def call(self, url: str, message: Object) -> Object:
        """Send a message of our own, its envelope filled in where it lacks it; the whole JSON answer."""
        answer: Object = json.loads(self._on_loop(self._call(url, message)).answer or b"{}")
        return answer

    def saw(self, kind: str, count: int = 1) -> Received:
        """Wait until so many requests of this kind came in; the last of them."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.requests(kind)) >= count, WATCHDOG_S)
            assert came, f"{self.name} waits for {count} {kind}; it saw {[one.kind for one in self.received]}"
            return self.requests(kind)[count - 1]

    def requests(self, kind: str) -> list[Received]:
        """All requests of this kind so far."""
        return [one for one in self.received if kind == one.kind]

    def release(self, name: str) -> None:
        """Let go whatever waits `until` this."""
        self._loop.call_soon_threadsafe(lambda: self._event(name).set())

    def _on_loop(self, work: Coroutine[Any, Any, Sent]) -> Sent:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WATCHDOG_S)

    # --- the server ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        except OSError as error:
            self._started.set_exception(error)
            return
        self._started.set_result(server.sockets[0].getsockname()[1])
        await self._event(_END).wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side has gone, or we go ourselves
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False if the connection is over."""
        request = await self._read(reader)
        reaction = self._reaction(request)
        arrived = self._next(reaction.after) if reaction.after else None
        self._record(request)
        if reaction.until:
            await self._event(reaction.until).wait()
        if arrived is not None:
            await arrived
        data = self._answer(request, reaction) if reaction.raw is None else reaction.raw
        await self._write(writer, request, data if reaction.cut is None else data[: reaction.cut], reaction)
        return reaction.ending == "keep" and reaction.cut is None and reaction.framing != "close"

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        head = await reader.readuntil(b"\r\n\r\n")
        headers = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:-2])
        body = await reader.readexactly(int(headers.get(b"content-length", b"0")))
        call = _object(body)
        method, message = self.convention.read(call)
        kind = message.get("message_type")
        return Received(time.time(), kind if isinstance(kind, str) else method, method, message, call, head, body)

    def _record(self, request: Received) -> None:
        for one in request.message.get("matches", ()) if request.kind == "ROUND_ANNOUNCEMENT" else ():
            self._referees[one["match_id"]] = one["referee_endpoint"]
        for waiting in self._arrivals.pop(request.kind, ()):
            if not waiting.done():
                waiting.set_result(None)
        with self._changed:
            self.received.append(request)
            self._changed.notify_all()

    def _reaction(self, request: Received) -> Reaction:
        for rule in self.script:
            if rule.fits(request.kind, request.method):
                return rule.reaction(self._count(rule))
        return Reaction()

    def _count(self, rule: Rule) -> int:
        nth = self._met.get(id(rule), 0)
        self._met[id(rule)] = nth + 1
        return nth

    def _event(self, name: str) -> asyncio.Event:
        return self._events.setdefault(name, asyncio.Event())

    def _next(self, kind: str) -> asyncio.Future[None]:
        arrived: asyncio.Future[None] = self._loop.create_future()
        self._arrivals.setdefault(kind, []).append(arrived)
        return arrived

    async def _write(self, writer: asyncio.StreamWriter, request: Received, data: bytes, reaction: Reaction) -> None:
        size, pause_s = reaction.drip or (len(data) or 1, 0.0)
        for start in range(0, len(data), size):
            if start:
                await asyncio.sleep(pause_s)
            writer.write(data[start : start + size])
            request.answer += data[start : start + size]
            await writer.drain()
        request.answered_at = time.time()
        if reaction.ending == "exit":
            self._event(_END).set()
        if reaction.ending == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()

    # --- what it says -------------------------------------------------------------------------------------------------

    def _answer(self, request: Received, reaction: Reaction) -> bytes:
        """The bytes of a whole HTTP answer."""
        body = reaction.body
        if body is None:
            changes = {name: one(request.message) if callable(one) else one for name, one in reaction.fields.items()}
            message = _changed(self.honest(request), changes)
            if reaction.posted:
                referee = self._referees[request.message["match_id"]]
                self._posts.add(self._loop.create_task(self._call(referee, message)))
                message = {"status": "received, the answer follows"}
            answer: object = _changed(self.convention.answer(request.call, message), reaction.rpc)
            body = json.dumps([answer] if reaction.batch else answer).encode()
        return _http(body + b" " * reaction.padding, reaction)

    def honest(self, request: Received) -> Object:
        """What a good agent answers."""
        asked, kind = request.message, request.kind
        if not asked:
            return {}
        echoed: Object = {name: asked[name] for name in ("match_id", "round_id") if name in asked}
        answer: Object = {
            **self._envelope(REPLIES.get(kind, f"{kind}_ACK")),
            **echoed,
            f"{self.role}_id": self.agent_id,
        }
        answer["conversation_id"] = asked.get("conversation_id", "conv-none")
        if kind == "GAME_INVITATION":
            return {**answer, "arrival_timestamp": _now(), "accept": True}
        if kind == "CHOOSE_PARITY_CALL":
            return {**answer, "parity_choice": self.choice}
        if kind == "GAME_MOVE_CALL":
            wanted = asked["move_request"]
            return {**answer, "move_data": {"move_type": wanted["move_type"], "choice": wanted["valid_options"][0]}}
        return {**answer, "status": "ACKNOWLEDGED"}

    def _envelope(self, kind: str) -> Object:
        envelope: Object = {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": f"{self.role}:{self.agent_id or self.name}",
            "timestamp": _now(),
            "conversation_id": f"conv-{self.name.lower().replace(' ', '-')}-{self._numbers}",
        }
        return {**envelope, "auth_token": self.token} if self.token else envelope

    # --- what it asks -------------------------------------------------------------------------------------------------

    async def _call(self, url: str, message: Object) -> Sent:
        self._numbers += 1
        kind = message["message_type"]
        whole = {**self._envelope(kind), **message}
        body = json.dumps(self.convention.request(self._numbers, VERBS.get(kind, kind), whole)).encode()
        at = time.time()
        status, answer = await post(url, body)
        sent = Sent(at, url, body, status, answer)
        with self._changed:
            self.sent.append(sent)
            self._changed.notify_all()
        return sent


_END = "the end"
_REGISTRATIONS = {
    "player": ("LEAGUE_REGISTER_REQUEST", "player_meta"),
    "referee": ("REFEREE_REGISTER_REQUEST", "referee_meta"),
}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _object(body: bytes) -> Object:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _changed(message: Object, changes: Mapping[str, object]) -> Object:
    return {name: value for name, value in {**message, **changes}.items() if value is not ABSENT}


def _http(body: bytes, reaction: Reaction) -> bytes:
    headers = [("Content-Type", reaction.content_type), *reaction.headers]
    if reaction.gzip:
        body = gzip.compress(body)
        headers.append(("Content-Encoding", "gzip"))
    if reaction.framing == "length":
        headers.append(("Content-Length", str(len(body))))
    elif reaction.framing == "chunked":
        headers.append(("Transfer-Encoding", "chunked"))
        pieces = [body[start : start + CHUNK] for start in range(0, len(body), CHUNK)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    first = f"{reaction.version} {reaction.status} {reaction.reason}"
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


async def post(url: str, body: bytes) -> tuple[int, bytes]:
    """Status and body of the answer; the server ends the connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        lines = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        writer.write(f"{lines}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
        return int(head.split()[1]), answer
    finally:
        writer.close()
