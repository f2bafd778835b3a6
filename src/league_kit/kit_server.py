"""The kit's HTTP server: it answers as manager, as referee, and as the opponent that no player may call."""

# Theory of operation
#
# The server takes every request, however it is wrapped, and hands it to one of four parts by its path: the manager and
# the referee (/mcp, /referee/mcp, and /register for agents that post bare fields), the members that the kit registers
# with somebody else's manager (below /hosted/), and the opponent (/opponent/mcp). Each request becomes an Arrival in
# the record, together with the answer it got. Scenarios wait for arrivals with `wait_for`.
#
# Registrations are answered by what the run tests: rejected (E020), put off once (E043), left without an answer for a
# second, or accepted. An accepted agent first gets an unusual id; if it registers again before the kit has sent
# anything, it did not take that id, and gets a usual one. After that it keeps its id and only gets new tokens.
#
# A player that declared receipts is told that its tokens are derived, and that its receipts are taken: the kit derives
# its own tokens from the player's then (kit_messages.py).
#
# One query is refused with E012, to see the agent register again. This changes the key of a player that signs, so it
# must not happen to such a player before signing.py allows it.

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from league.gateway.forms import halved, tool_result
from league.protocol import timestamps, tokens
from league.protocol.errors import ERRORS, Family
from league.protocol.exchanges import EXCHANGES, REPLY_TYPES
from league.protocol.jsonrpc import ENVELOPED, MANAGER_LIMIT, TOOLS_CALL
from league.protocol.receipts import SCHEME
from league.protocol.versions import PROTOCOL
from league_kit.kit_conventions import Object, ReadRequest, is_bare, read_request
from league_kit.kit_messages import LEAGUE
from league_kit.record import OPPONENT, Arrival, RegisteredAgent, RunRecord

UNUSUAL_ID: Final = "kit-player-7f"
"""An id of a kind that other managers give (REGISTER.takes_any_id)."""
USUAL_ID: Final = "P01"
UNANSWERED_S: Final = 1.0
"""How long registrations get no answer, in whatever form they come (REGISTER.retries)."""
MANAGER: Final = "/mcp"
REFEREE: Final = "/referee/mcp"
PROTEST: Final = "PROTEST"
HOSTED: Final = "/hosted/"
"""Below this path the kit plays members of somebody else's league."""


class _Registration(NamedTuple):
    """How a registration is answered."""

    response: str
    id_name: str
    meta_name: str


_REGISTRATIONS: Final = {
    "LEAGUE_REGISTER_REQUEST": _Registration("LEAGUE_REGISTER_RESPONSE", "player_id", "player_meta"),
    "REFEREE_REGISTER_REQUEST": _Registration("REFEREE_REGISTER_RESPONSE", "referee_id", "referee_meta"),
}


class _Waiter(NamedTuple):
    """Somebody who waits for a request like this."""

    fits: Callable[[Arrival], bool]
    arrival: asyncio.Future[Arrival]


class KitServer:
    """Answers and records the requests that the agent makes by itself."""

    def __init__(
        self,
        record: RunRecord,
        rejects: str = "",
        drops_first: bool = True,
        derives: bool = False,
    ) -> None:
        self._record = record
        self._derives = derives
        """Does the kit announce that tokens are derived? Then the agent must keep its tokens."""
        self._rejects = rejects
        """The error that registrations get: E020 all of them, E043 the first."""
        self._drops = drops_first
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._waiters: list[_Waiter] = []
        self.refuses_next_query = not derives
        self.played: list[Object] = []
        """The player's matches, as GET_PLAYER_STATS tells them."""
        """Is the next query of a member refused with E012?"""
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
        except (
            OSError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
            ValueError,
            asyncio.CancelledError,
        ):
            pass  # the peer went away or does not speak HTTP, or the run is over
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; True if the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        first_line, *lines = head.split(b"\r\n")[:-2]
        fields = dict(line.lower().split(b":", 1) for line in lines)
        body = await _body(reader, fields)
        place = first_line.split(b" ", 2)[1].decode("latin-1").partition("?")[0]
        answer = self._arrived(place, head, body)
        if answer is None:
            return False
        status = b"200 OK" if answer else b"204 No Content"
        writer.write(b"HTTP/1.1 %b\r\nContent-Type: application/json\r\n" % status)
        writer.write(b"Content-Length: %d\r\n\r\n" % len(answer))
        writer.write(answer)
        await writer.drain()
        return b"close" not in fields.get(b"connection", b"").lower() and b"HTTP/1.1" in first_line

    def _arrived(self, place: str, head: bytes, body: bytes) -> bytes | None:
        try:
            document: object = json.loads(body)
        except ValueError:
            document = None
        request = read_request(document, place)
        answer = self._answer(place, document, request)
        arrival = Arrival(time.time(), place, head, body, document, request.kind, request.message, answer)
        self._record.arrivals.append(arrival)
        for waiter in self._waiters:
            if not waiter.arrival.done() and waiter.fits(arrival):
                waiter.arrival.set_result(arrival)
        return answer

    async def wait_for(self, fits: Callable[[Arrival], bool], timeout_s: float) -> Arrival | None:
        """Return the first request like this, the next if there was none; None if none comes in time."""
        for arrival in self._record.arrivals:
            if fits(arrival):
                return arrival
        waiter = _Waiter(fits, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(max(timeout_s, 0)):
                return await waiter.arrival
        except TimeoutError:
            return None
        finally:
            self._waiters.remove(waiter)

    # --- what it answers ----------------------------------------------------------------------------------------------

    def _answer(self, place: str, document: object, request: ReadRequest) -> bytes | None:
        if place == OPPONENT:
            return _error(document, "E032", "players do not talk to each other")
        if place.startswith(HOSTED) or _member_of(document, "method") == "ping":
            return _result(document, _acknowledgement(request.message))
        if request.kind in _REGISTRATIONS:
            return self._registering(document, request)
        if request.kind == "LEAGUE_QUERY":
            return self._query(document, request.message)
        if request.kind in REPLY_TYPES:
            return _result(document, {"status": "ACKNOWLEDGED"})
        return _error(
            document,
            "E036",
            "this manager is a conformance kit and takes registrations and queries only",
        )

    def _registering(self, document: object, request: ReadRequest) -> bytes | None:
        record = self._record
        row = _REGISTRATIONS[request.kind]
        now = time.time()
        reply = _reply(request.message, row.response)
        if self._rejects == "E020":
            record.refusals.rejected_at = record.refusals.rejected_at or now
            return _result(document, {**reply, **_rejected("E020", "the league is full")})
        if self._rejects == "E043" and record.refusals.put_off_at is None:
            record.refusals.put_off_at = now
            refusal = _rejected("E043", "waiting for the operator's approval, as A01; register again later")
            context = {"pending": True, "applicant_id": "A01"}
            return _result(document, {**reply, **refusal, "context": context})
        if self._drops and now < (record.refusals.dropped_at or now) + UNANSWERED_S / record.time_scale:
            record.refusals.dropped_at = record.refusals.dropped_at or now
            return None
        meta = request.normalised.get(row.meta_name)
        member = self._enrol(meta if isinstance(meta, dict) else {})
        accepted = {
            "status": "ACCEPTED",
            row.id_name: member.id,
            "league_id": LEAGUE,
            "reason": None,
            "auth_token": member.tokens[-1],
        }
        signs = member.signs and row.id_name == "player_id"
        if self._derives or signs:
            accepted["token_scheme"] = "derived"
        if signs:
            accepted["receipts"] = SCHEME
        if signs and record.refusals.query_at is None:
            self.refuses_next_query = False
        return _result(document, {**reply, **accepted})

    def _enrol(self, meta: Object) -> RegisteredAgent:
        """Give the agent an id and a new token."""
        record = self._record
        agent_id = UNUSUAL_ID
        earlier: tuple[str, ...] = ()
        if record.member is not None:
            earlier = record.member.tokens
            has_begun = bool(record.probes) or self._derives or record.refusals.query_at is not None
            agent_id = record.member.id if has_begun else USUAL_ID
        record.member = RegisteredAgent(agent_id, (*earlier, new_token(agent_id)), meta)
        return record.member

    def _query(self, document: object, message: Object) -> bytes:
        if self.refuses_next_query and self._record.member is not None:
            self.refuses_next_query = False
            self._record.refusals.query_at = time.time()
            return _error(document, "E012", "this token belongs to nobody here any more")
        reply = _reply(message, "LEAGUE_QUERY_RESPONSE")
        data: Object = {
            "standings": [],
            "current_round": 1,
            "rounds": [],
            "next_match": None,
            "matches": self.played,
        }
        query_type = message.get("query_type") or "GET_STATUS"
        params = message.get("query_params")
        if query_type == PROTEST and isinstance(params, dict):
            data = {"match_id": params.get("match_id"), "attempt": params.get("attempt"), "recorded": True}
        return _result(document, {**reply, "query_type": query_type, "success": True, "data": data})


def _rejected(code: str, reason: str) -> Object:
    row = ERRORS[code]
    return {
        "status": "REJECTED",
        "player_id": None,
        "reason": reason,
        "error_code": code,
        "error_name": row.name,
        "rpc_code": row.number(Family.PLAYER_REGISTRATION),
    }


async def _body(reader: asyncio.StreamReader, fields: dict[bytes, bytes]) -> bytes:
    if b"chunked" not in fields.get(b"transfer-encoding", b"").lower():
        size = int(fields.get(b"content-length", b"0"))
        return await reader.readexactly(min(size, MANAGER_LIMIT))
    body = b""
    while True:
        line = await reader.readline()
        size = int(line.partition(b";")[0], 16)
        chunk = await reader.readexactly(size + 2)
        body += chunk[:size]
        if size == 0 or len(body) > MANAGER_LIMIT:
            return body


def _reply(message: Object, kind: str) -> Object:
    return {
        "protocol": PROTOCOL,
        "message_type": kind,
        "sender": tokens.MANAGER,
        "timestamp": timestamps.write(time.time()),
        "conversation_id": message.get("conversation_id") or "conv-kit",
    }


def _acknowledgement(message: Object) -> Object:
    """Return the answer of a good member to a notification; {} to `ping`."""
    if not message:
        return {}
    kind = str(message["message_type"])
    reply = EXCHANGES[kind].replies[0] if kind in EXCHANGES else f"{kind}_ACK"
    echoed: Object = {name: message[name] for name in ("round_id", "match_id") if name in message}
    return {
        **_reply(message, reply),
        "sender": "player:kit",
        "status": "ACKNOWLEDGED",
        **echoed,
    }


def _member_of(document: object, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None


def _result(document: object, result: Object) -> bytes:
    """Wrap a result as the request was wrapped."""
    if is_bare(document):
        return json.dumps(result).encode()
    method = _member_of(document, "method")
    if method == TOOLS_CALL:
        result = tool_result(result)
    if method == ENVELOPED:
        result = {**result, **halved(result)}
    return json.dumps({"jsonrpc": "2.0", "id": _member_of(document, "id"), "result": result}).encode()


def _error(document: object, code: str, detail: str) -> bytes:
    row = ERRORS[code]
    data = {
        "message_type": "LEAGUE_ERROR",
        "error_code": code,
        "error_description": row.name,
        "error_name": row.name,
        "error_detail": detail,
    }
    error = {"code": row.number(Family.QUERY), "message": row.name, "data": data}
    return json.dumps({"jsonrpc": "2.0", "id": _member_of(document, "id"), "error": error}).encode()


def new_token(owner: str) -> str:
    return f"tok_{owner}_{secrets.token_urlsafe(24)}"
