"""The kit's HTTP server: it answers as manager, as referee, and as the opponent that no player may call."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from typing import Any, Final

from league.gateway.forms import halved
from league.protocol import timestamps, tokens
from league.protocol.errors import ERRORS, Family
from league.protocol.exchanges import EXCHANGES, REPLY_TYPES
from league.protocol.jsonrpc import ENVELOPED, MANAGER_LIMIT
from league.protocol.versions import PROTOCOL
from league_kit.conventions import Object, message_in
from league_kit.messages import LEAGUE
from league_kit.record import OPPONENT, Arrival, RegisteredAgent, RunRecord

UNUSUAL_ID: Final = "kit-player-7f"
"""An id of a kind that other managers give (REGISTER.takes_any_id)."""
USUAL_ID: Final = "P01"
UNANSWERED_S: Final = 1.0
"""How long registrations get no answer, in whatever form they come (REGISTER.retries)."""
MANAGER, REFEREE, HOSTED = "/mcp", "/referee/mcp", "/hosted/"
"""Where the kit is a manager, a referee, and (below the last) players and referees of somebody else's league."""
_REGISTRATIONS: Final = {
    "LEAGUE_REGISTER_REQUEST": ("LEAGUE_REGISTER_RESPONSE", "player_id", "player_meta"),
    "REFEREE_REGISTER_REQUEST": ("REFEREE_REGISTER_RESPONSE", "referee_id", "referee_meta"),
}


class KitServer:
    """Answers and records the requests that the agent makes by itself."""

    def __init__(self, record: RunRecord, rejects: str = "", drops_first: bool = True, derives: bool = False) -> None:
        self._record = record
        self._scheme: Object = {"token_scheme": "derived"} if derives else {}
        self._rejects = rejects
        """The error that registrations get: E020 all of them, E043 the first."""
        self._drops = drops_first
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._waiting: list[tuple[Callable[[Arrival], bool], asyncio.Future[Arrival]]] = []
        self._sent_e012 = derives
        """One query is refused, to see the agent register again; not where its tokens are to stay what they are."""
        self.url = ""

    # --- the server ---------------------------------------------------------------------------------------------------

    async def open(self, host: str, port: int) -> None:
        self._server = await asyncio.start_server(self._connected, host, port, limit=MANAGER_LIMIT)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, asyncio.CancelledError):
            pass  # the peer went away or speaks no HTTP, or the run is over
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:-2])
        body = await _body(reader, fields)
        place = head.split(b" ", 2)[1].decode("latin-1").partition("?")[0]
        answer = self._arrived(place, head, body)
        if answer is None:
            return False
        status = b"200 OK" if answer else b"204 No Content"
        writer.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(answer))
        )
        writer.write(answer)
        await writer.drain()
        return b"close" not in fields.get(b"connection", b"").lower() and b"HTTP/1.1" in head.split(b"\r\n", 1)[0]

    def _arrived(self, place: str, head: bytes, body: bytes) -> bytes | None:
        try:
            document: object = json.loads(body)
        except ValueError:
            document = None
        message = message_in(document)
        answer = self._answer(place, document, message)
        arrival = Arrival(time.time(), place, head, body, document, message, answer)
        self._record.arrivals.append(arrival)
        for fits, waiting in self._waiting:
            if not waiting.done() and fits(arrival):
                waiting.set_result(arrival)
        return answer

    async def wait_for(self, fits: Callable[[Arrival], bool], timeout_s: float) -> Arrival | None:
        """The next request like this; None if none comes in time."""
        waiting: asyncio.Future[Arrival] = asyncio.get_running_loop().create_future()
        entry = (fits, waiting)
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(max(timeout_s, 0)):
                return await waiting
        except TimeoutError:
            return None
        finally:
            self._waiting.remove(entry)

    # --- what it answers ----------------------------------------------------------------------------------------------

    def _answer(self, place: str, document: object, message: Object) -> bytes | None:
        kind = message.get("message_type")
        if place == OPPONENT:
            return _error(document, "E032", "players do not talk to each other")
        if place.startswith(HOSTED):
            return _result(document, _acknowledgement(message))
        if kind in _REGISTRATIONS:
            return self._registering(document, message)
        if kind == "LEAGUE_QUERY":
            return self._query(document, message)
        pinged = isinstance(document, dict) and document.get("method") == "ping"
        if kind in REPLY_TYPES or pinged:
            return _result(document, {} if pinged else {"status": "ACKNOWLEDGED"})
        return _error(document, "E036", "this manager is a conformance kit and takes registrations and queries only")

    def _registering(self, document: object, message: Object) -> bytes | None:
        record = self._record
        response, id_name, meta_name = _REGISTRATIONS[str(message["message_type"])]
        now = time.time()
        if self._rejects == "E020":
            record.rejected_at = record.rejected_at or now
            return _result(document, {**_reply(message, response, now), **_rejected("E020", "the league is full")})
        if self._rejects == "E043" and record.put_off_at is None:
            record.put_off_at = now
            refusal = _rejected("E043", "waiting for the operator's approval, as A01; register again later")
            waiting = {"context": {"pending": True, "applicant_id": "A01"}}
            return _result(document, {**_reply(message, response, now), **refusal, **waiting})
        if self._drops and now < (record.dropped_at or now) + UNANSWERED_S / record.time_scale:
            record.dropped_at = record.dropped_at or now
            return None
        given = record.member
        agent_id = UNUSUAL_ID
        if given is not None:
            # Registered again before anything was asked: it did not take the unusual id. Later it keeps its id.
            agent_id = given.id if record.probes or self._sent_e012 else USUAL_ID
        token = f"tok_{agent_id}_{secrets.token_urlsafe(24)}"
        meta = message.get(meta_name)
        kept = given.tokens if given is not None else ()
        record.member = RegisteredAgent(agent_id, (*kept, token), meta if isinstance(meta, dict) else {})
        accepted = {"status": "ACCEPTED", id_name: agent_id, "league_id": LEAGUE, "reason": None}
        reply = _reply(message, response, now)
        return _result(document, {**reply, **accepted, **self._scheme, "auth_token": token})

    def _query(self, document: object, message: Object) -> bytes:
        if not self._sent_e012 and self._record.member is not None:
            self._sent_e012 = True
            return _error(document, "E012", "this token belongs to nobody here any more")
        data: Object = {"standings": [], "current_round": 1, "rounds": [], "next_match": None, "matches": []}
        reply = _reply(message, "LEAGUE_QUERY_RESPONSE", time.time())
        kind = message.get("query_type")
        return _result(document, {**reply, "query_type": kind or "GET_STATUS", "success": True, "data": data})


def _rejected(code: str, reason: str) -> Object:
    row = ERRORS[code]
    named = {"error_code": code, "error_name": row.name, "rpc_code": row.number(Family.PLAYER_REGISTRATION)}
    return {"status": "REJECTED", "player_id": None, "reason": reason, **named}


async def _body(reader: asyncio.StreamReader, fields: dict[bytes, bytes]) -> bytes:
    if b"chunked" not in fields.get(b"transfer-encoding", b"").lower():
        return await reader.readexactly(min(int(fields.get(b"content-length", b"0")), MANAGER_LIMIT))
    body = b""
    while True:
        size = int((await reader.readline()).partition(b";")[0], 16)
        body += (await reader.readexactly(size + 2))[:size]
        if size == 0 or len(body) > MANAGER_LIMIT:
            return body


def _reply(message: Object, kind: str, now: float) -> Object:
    return {
        "protocol": PROTOCOL,
        "message_type": kind,
        "sender": tokens.MANAGER,
        "timestamp": timestamps.write(now),
        "conversation_id": message.get("conversation_id") or "conv-kit",
    }


def _acknowledgement(message: Object) -> Object:
    """What a good member answers to a notification; {} to `ping`."""
    if not message:
        return {}
    kind = str(message["message_type"])
    said: Object = {name: message[name] for name in ("round_id", "match_id") if name in message}
    replies = EXCHANGES[kind].replies if kind in EXCHANGES else (f"{kind}_ACK",)
    return {**_reply(message, replies[0], time.time()), "sender": "player:kit", "status": "ACKNOWLEDGED", **said}


def _id_of(document: object) -> Any:
    return document.get("id") if isinstance(document, dict) else None


def _result(document: object, result: Object) -> bytes:
    """In JSON-RPC, unless the request came without it; as MCP content too, if it came as the call of a tool."""
    bare = isinstance(document, dict) and "jsonrpc" not in document and "message_type" in document
    if isinstance(document, dict) and document.get("method") == "tools/call":
        text = {"type": "text", "text": json.dumps(result)}
        result = {**result, "content": [text], "structuredContent": result, "isError": False}
    if isinstance(document, dict) and document.get("method") == ENVELOPED:
        result = {**result, **halved(result)}
    return json.dumps(result if bare else {"jsonrpc": "2.0", "id": _id_of(document), "result": result}).encode()


def _error(document: object, code: str, detail: str) -> bytes:
    row = ERRORS[code]
    data = {"error_code": code, "error_description": row.name, "error_name": row.name, "error_detail": detail}
    error = {"code": row.number(Family.QUERY), "message": row.name, "data": {"message_type": "LEAGUE_ERROR", **data}}
    return json.dumps({"jsonrpc": "2.0", "id": _id_of(document), "error": error}).encode()


def new_token(owner: str) -> str:
    return f"tok_{owner}_{secrets.token_urlsafe(24)}"
