"""One scripted HTTP agent: whatever it does is data (scripts.py). Without a script it is a good player.

It runs on a loop and thread of its own at any free port, has every byte of its answers in its hands, keeps all that
came and went, and lets tests wait for what it saw. It shares no code with the agents it plays against.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import urlsplit

from tests.support.dialects import REPLIES, SPEC, UNSUSPECTING, VERBS, Convention
from tests.support.raw_http import exchange, http_answer, post
from tests.support.scripts import (
    ABSENT,
    NOT_UNDERSTOOD,
    Object,
    Reaction,
    Received,
    Rule,
    Script,
    Sent,
    header,
    json_object,
)

__all__ = ["SPEC", "UNSUSPECTING", "VERBS", "WATCHDOG_S", "Convention", "Peer", "Received", "Sent", "exchange", "post"]

T = TypeVar("T")
WATCHDOG_S = 120.0
"""No test measures time with it."""
_RESET = struct.pack("ii", 1, 0)


@dataclass
class Peer:
    """An agent. Use it with `with`; its methods may be called from any other thread."""

    name: str
    script: Script = ()
    role: Literal["player", "referee", "manager"] = "player"
    convention: Convention = SPEC
    choice: str = "even"
    port: int = 0
    agent_id: str = ""
    token: str = ""
    adopts: frozenset[str] = frozenset({"id", "token"})
    """What it takes from the answer to its registration; what it has anyway it keeps."""
    sender: str = "{role}:{id}"
    """Also known: {name}, and {member}, which is UNREGISTERED before there is an id."""
    clock: Callable[[datetime], str] = lambda now: now.strftime("%Y-%m-%dT%H:%M:%SZ")
    listens_late: bool = False
    """Its port is refused until it has registered."""
    received: list[Received] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    stumbles: list[BaseException] = field(default_factory=list)
    """What went wrong in its own work, beside its answers."""

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._started: Future[int] = Future()
        self._listening = threading.Event()
        self._events: dict[str, asyncio.Event] = {}
        self._arrivals: dict[str, list[asyncio.Future[None]]] = {}
        self._met: dict[int, int] = {}
        self._referees: dict[str, str] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sessions: dict[str, tuple[tuple[str, str], ...]] = {}
        self._manager = ""
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
            with contextlib.suppress(RuntimeError):  # its loop is closed: it goes by itself
                self.release(_LISTEN)
                self.release(_END)
            self._thread.join(WATCHDOG_S)

    def join(self) -> None:
        """Wait until it has gone by itself."""
        self._thread.join(WATCHDOG_S)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def register(self, manager: str, **meta: object) -> Object:
        """Become a member; the manager's answer."""
        answer = self.convention_of(REGISTRATION).hear(self.apply(manager, **meta))
        assert answer.get("status") in MEMBER, answer
        return answer

    def apply(self, manager: str, **meta: object) -> Object:
        """Ask to become a member; the whole JSON answer, whatever it says."""
        answer = self._on_loop(self._enter_league(manager, meta)).json
        if self.listens_late:
            self.release(_LISTEN)
            self._listening.wait(WATCHDOG_S)
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

    def got(self, count: int) -> None:
        """Wait until so many requests came in, whatever they were."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.received) >= count, WATCHDOG_S)
        assert came, f"{self.name} waits for {count} requests; it saw {[one.kind for one in self.received]}"

    def requests(self, kind: str) -> list[Received]:
        """All requests of this kind so far."""
        return [one for one in self.received if kind == one.kind]

    def release(self, name: str) -> None:
        """Let go whatever waits `until` this."""
        self._loop.call_soon_threadsafe(lambda: self._event(name).set())

    def _on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WATCHDOG_S)

    # --- the server ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, start_serving=False)
        except OSError as error:
            self._started.set_exception(error)
            return
        if not self.listens_late:
            await server.start_serving()
        self._started.set_result(server.sockets[0].getsockname()[1])
        if self.listens_late:
            await self._event(_LISTEN).wait()
            await server.start_serving()
            self._listening.set()
        await self._event(_END).wait()
        server.close()
        await asyncio.sleep(0.01)  # connections that were just accepted come to `_connected`, which closes them

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the other side has gone
        except asyncio.CancelledError:
            writer.transport.abort()  # we go ourselves, whatever is not sent yet
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
        if request.aside is None:
            await self._act(request)
        data = self._answer(request, reaction) if reaction.raw is None else reaction.raw
        await self._write(writer, request, data if reaction.cut is None else data[: reaction.cut], reaction)
        return reaction.ending == "keep" and reaction.cut is None and reaction.framing != "close"

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        head = await reader.readuntil(b"\r\n\r\n")
        headers = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:-2])
        body = await reader.readexactly(int(headers.get(b"content-length", b"0")))
        call = json_object(body)
        method, message = self.convention.read(call)
        kind = message.get("message_type")
        known = kind if isinstance(kind, str) else method
        request = Received(time.time(), known, method, message, call, head, body)
        request.aside = self.convention.aside(request, self.received)
        if request.aside is not None:
            request.kind, request.message = NOT_UNDERSTOOD, {}
        return request

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
        """The first rule that fits decides; but what the convention sets aside, it answers, unless the rule does."""
        aside = request.aside
        for rule in self.script:
            if rule.fits(request.kind, request.method if aside is None else NOT_UNDERSTOOD):
                chosen = rule.reaction(self._count(rule))
                if aside is None or chosen.body is not None or chosen.raw is not None:
                    return chosen
                said = replace(chosen, body=aside.body, status=aside.status, reason=aside.reason)
                return replace(said, headers=(*aside.headers, *chosen.headers))
        return aside or Reaction()

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

    async def _act(self, request: Received) -> None:
        """What it does before it answers a message."""

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something beside the answers; on the peer's own loop."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.stumbles.append(error)

    # --- what it says -------------------------------------------------------------------------------------------------

    def _answer(self, request: Received, reaction: Reaction) -> bytes:
        """The bytes of a whole HTTP answer."""
        body = reaction.body
        if body is None or reaction.posted:
            changes = {name: one(request.message) if callable(one) else one for name, one in reaction.fields.items()}
            message = _changed({} if reaction.alone else self.honest(request), changes)
            if reaction.posted:
                self.begin(self._call_later(reaction.posted_after_s, request.message["match_id"], message))
                message = {"status": "received, the answer follows"}
            around = {name: one(request.call) if callable(one) else one for name, one in reaction.rpc.items()}
            answer: object = _changed(self.convention.answer(request.call, message), around)
            body = json.dumps([answer] if reaction.batch else answer).encode() if body is None else body
        if reaction.registers:
            self.begin(self._enter_league(self._manager, {}))
        if self.convention.events and body and reaction.status == 200:
            body = b"event: message\r\ndata: " + body + b"\r\n\r\n"
            reaction = replace(reaction, content_type="text/event-stream")
        return http_answer(body + b" " * reaction.padding, reaction)

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
            return {**answer, "arrival_timestamp": self._now(), "accept": True}
        if kind == "CHOOSE_PARITY_CALL":
            return {**answer, "parity_choice": self.choice}
        if kind == "GAME_MOVE_CALL":
            wanted = asked["move_request"]
            return {**answer, "move_data": {"move_type": wanted["move_type"], "choice": wanted["valid_options"][0]}}
        return {**answer, "status": "ACKNOWLEDGED"}

    def _envelope(self, kind: str) -> Object:
        envelope: Object = {
            "protocol": "league.v2",
            **({"message_type": kind} if kind else {}),
            "sender": self._sender(),
            "timestamp": self._now(),
            "conversation_id": f"conv-{self.name.lower().replace(' ', '-')}-{self._numbers}",
        }
        return {**envelope, "auth_token": self.token} if self.token else envelope

    def _sender(self) -> str:
        member = self.agent_id or "UNREGISTERED"
        return self.sender.format(role=self.role, id=self.agent_id or self.name, name=self.name, member=member)

    def _now(self) -> str:
        return self.clock(datetime.now(UTC))

    # --- what it asks -------------------------------------------------------------------------------------------------

    def convention_of(self, kind: str) -> Convention:
        """How it says a message of this type."""
        return (self.convention.registers if REGISTRATION in kind else None) or self.convention

    async def _enter_league(self, manager: str, meta: Mapping[str, object]) -> Sent:
        self._manager = manager
        kind, part = _REGISTRATIONS[self.role]
        known = {"display_name": self.name, "version": "1.0.0", "game_types": ["even_odd"]}
        sent = await self._call(
            manager, {"message_type": kind, part: {**known, "contact_endpoint": self.endpoint, **meta}}
        )
        given = self.convention_of(kind).hear(sent.json)
        if given.get("status") in MEMBER:
            if "id" in self.adopts:
                self.agent_id = given[f"{self.role}_id"]
            if "token" in self.adopts:
                self.token = given.get("auth_token", "")
        return sent

    async def _call(self, url: str, message: Object, method: str = "", convention: Convention | None = None) -> Sent:
        """Send a message; without a type in it, it goes by the method."""
        kind = message.get("message_type", "")
        how = convention or self.convention_of(kind)
        if how.opening and url not in self._sessions:
            await self._open(url, how)
        whole = {**self._envelope(kind), **message}
        return await self._post(url, how, how.request(self._number(), method or VERBS.get(kind, kind), whole))

    async def _call_later(self, seconds: float, match_id: str, message: Object) -> None:
        """To the referee of a match, after a while."""
        await asyncio.sleep(seconds)
        await self._call(self._referees[match_id], message)

    async def _open(self, url: str, how: Convention) -> None:
        self._sessions[url] = ()
        for call in how.opening:
            numbered = call if call["method"].startswith("notifications/") else {**call, "id": self._number()}
            await self._post(url, how, numbered)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    async def _post(self, url: str, how: Convention, call: Object) -> Sent:
        target = url if not how.path else urlsplit(url)._replace(path=how.path).geturl()
        body, at = json.dumps(call).encode(), time.time()
        status, head, answer = await exchange(target, body, self._sessions.get(url, ()))
        if header(head, b"content-type").startswith("text/event-stream"):
            answer = answer.rpartition(b"data: ")[2].strip()
        session = header(head, b"mcp-session-id")
        if session:
            self._sessions[url] = (("Mcp-Session-Id", session),)
        sent = Sent(at, target, body, status, answer)
        with self._changed:
            self.sent.append(sent)
            self._changed.notify_all()
        return sent


REGISTRATION = "REGISTER"
MEMBER = ("ACCEPTED", "REGISTERED")
_LISTEN = "the first connection"
_END = "the end"
_REGISTRATIONS = {
    "player": ("LEAGUE_REGISTER_REQUEST", "player_meta"),
    "referee": ("REFEREE_REGISTER_REQUEST", "referee_meta"),
}


def _changed(message: Object, changes: Mapping[str, object]) -> Object:
    return {name: value for name, value in {**message, **changes}.items() if value is not ABSENT}
