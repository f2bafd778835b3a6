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
# A player that declared a public key is told that its tokens are derived, and a manager's key: the kit derives its own
# tokens from the player's then (messages.py).
#
# One query is refused with E012, to see the agent register again. This changes the key of a player that signs, so it
# must not happen to such a player before features/kit/scenarios/signing.py allows it.

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from typing import Any, Final, cast

import httptools

from league.features.kit.driver.conventions import (
    HOSTED,
    READERS,
    Object,
    ReadRequest,
    is_bare,
    read_request,
)
from league.features.kit.driver.messages import EVEN_ODD, LEAGUE, MANAGER_KEY, number_in
from league.features.kit.driver.messages import REFEREE as REFEREE_ID
from league.features.kit.driver.record import OPPONENT, Arrival, RegisteredAgent, RunRecord, StagedMatch
from league.features.kit.driver.templates import fields_of
from league.gateway.forms import halved, tool_result
from league.letters import write_bad_request
from league.protocol import timestamps
from league.protocol.errors import ERRORS, Family, PeerError
from league.protocol.message.exchanges import EXCHANGES, REPLY_TYPES
from league.protocol.signing import tokens
from league.protocol.versions import PROTOCOL
from league.protocol.wire.jsonrpc import ENVELOPED, MANAGER_LIMIT, TOOLS_CALL, BadRequestError

UNUSUAL_ID: Final = "kit-player-7f"
"""An id of a kind that other managers give (REGISTER.takes_any_id)."""
USUAL_ID: Final = "P01"
UNANSWERED_S: Final = 1.0
"""How long registrations get no answer, in whatever form they come (REGISTER.retries)."""
MANAGER: Final = "/mcp"
REFEREE: Final = "/referee/mcp"
REGISTRATIONS: Final = {"LEAGUE_REGISTER_REQUEST": "player", "REFEREE_REGISTER_REQUEST": "referee"}


class _Connection(asyncio.Protocol):
    """A connection of an agent: it answers requests one after another, however their HTTP is written."""

    def __init__(self, server: KitServer, home: str = "") -> None:
        self._server = server
        self._home = home
        self._parser = httptools.HttpRequestParser(self)
        self._raw = b""
        self._place = b""
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._raw += data
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        self._place += url

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > MANAGER_LIMIT:
            self._transport.close()

    def on_message_complete(self) -> None:
        head = self._raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        place = self._home or self._place.decode("latin-1").partition("?")[0]
        answer = self._server.arrived(place, head, self._body)
        self._raw = self._place = self._body = b""
        if answer is not None:
            status = b"200 OK" if answer else b"204 No Content"
            fields = b"Content-Type: application/json\r\nContent-Length: %d" % len(answer)
            self._transport.write(b"HTTP/1.1 %b\r\n%b\r\n\r\n%b" % (status, fields, answer))
        if answer is None or not self._parser.should_keep_alive():
            self._transport.close()


class KitServer:
    """Answers and records the requests that the agent makes by itself."""

    def __init__(self, record: RunRecord, rejects: str = "", drops_first: bool = True, derives: bool = False) -> None:
        self._record = record
        self._derives = derives
        """Does the kit announce that tokens are derived? Then the agent must keep its tokens."""
        self._rejects = rejects
        """The error that registrations get: E020 all of them, E043 the first."""
        self._drops = drops_first
        self._servers: list[asyncio.Server] = []
        self._news = asyncio.Event()
        self.connections: set[asyncio.Transport] = set()
        self.refuses_next_query = not derives and record.role == "player"
        """Is the next query of a member refused with E012?"""
        self.schedule: list[Object] = []
        """The announcements so far, for referees that ask for them."""
        self.url = ""

    # --- the server ---------------------------------------------------------------------------------------------------

    async def open(self, host: str, port: int) -> None:
        server = await self.listen(host, port)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{server.sockets[0].getsockname()[1]}"

    async def listen(self, host: str, port: int, home: str = "") -> asyncio.Server:
        """Serve at a port; `home` is the place that all requests there are meant for."""
        server = await asyncio.get_running_loop().create_server(lambda: _Connection(self, home), host, port)
        self._servers.append(server)
        return server

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        # A connection that was accepted just now is handed over first, or nobody would close it.
        for _ in range(2):
            await asyncio.sleep(0)
        for connection in list(self.connections):
            connection.close()

    def arrived(self, place: str, head: bytes, body: bytes) -> bytes | None:
        """Answer a request; None closes its connection."""
        try:
            document: object = json.loads(body)
        except ValueError:
            document = None
        request = read_request(document, place)
        answer = self._answer(place, document, request)
        arrival = Arrival(
            at=time.time(),
            place=place,
            head=head,
            body=body,
            document=document,
            kind=request.kind,
            message=request.message,
            answer=answer,
            normalised=self._filled(request.normalised),
        )
        self._record.arrivals.append(arrival)
        self._news.set()
        return answer

    async def wait_for(self, fits: Callable[[Arrival], bool], timeout_s: float) -> Arrival | None:
        """Return the first request like this, the next if there was none; None if none comes in time."""
        try:
            async with asyncio.timeout(max(timeout_s, 0)):
                while True:
                    for arrival in self._record.arrivals:
                        if fits(arrival):
                            return arrival
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return None

    # --- what it answers ----------------------------------------------------------------------------------------------

    def _answer(self, place: str, document: object, request: ReadRequest) -> bytes | None:
        if place == OPPONENT:
            return _error(document, "E032", "players do not talk to each other")
        if place.startswith(HOSTED) or fields_of(document).get("method") == "ping":
            return _result(document, self._as_member(place, request))
        if request.kind in REGISTRATIONS:
            reply = self._registering(request, REGISTRATIONS[request.kind])
            return None if reply is None else _result(document, reply)
        return self._as_manager(document, request)

    def _as_manager(self, document: object, request: ReadRequest) -> bytes | None:
        staged = self._staged(request.normalised)
        if request.kind == "MATCH_RESULT_REPORT" and staged is not None:
            return self._reported(document, staged, request)
        if fields_of(document).get("method") == "get_assigned_matches":
            return _result(document, {"matches": [match for row in self.schedule for match in row["matches"]]})
        if request.kind == "LEAGUE_QUERY":
            return self._query(document, request.message)
        if request.kind in REPLY_TYPES:
            return _result(document, {"status": "ACKNOWLEDGED"})
        return _error(document, "E036", "this manager is a conformance kit and takes registrations and queries only")

    def _filled(self, message: Object) -> Object:
        """Return a message with what goes without saying about a match of the kit's."""
        staged = self._staged(message)
        if staged is None or not message:
            return message
        return {"league_id": LEAGUE, "round_id": number_in(staged.match_id), "game_type": EVEN_ODD, **message}

    def _staged(self, message: Object) -> StagedMatch | None:
        """Return the match of the kit's players that a message is about."""
        if self._record.role != "referee":
            return None
        staged = (match for match in self._record.staged if match.match_id == message.get("match_id"))
        return next(staged, None)

    def _as_member(self, place: str, request: ReadRequest) -> Object:
        """Answer as a member of somebody else's league: join, choose, and acknowledge the rest."""
        match = self._staged(request.normalised)
        player = place.removeprefix(HOSTED).partition("/")[0].upper()
        choices = match.choices.get(player, ()) if match else ()
        fields: Object = {}
        if match and request.kind == "GAME_INVITATION":
            fields = {"arrival_timestamp": timestamps.write(time.time()), "accept": bool(choices)}
        elif match and request.kind == "CHOOSE_PARITY_CALL" and choices:
            errors = [error for error in self._record.about(match.match_id, "GAME_ERROR") if error.place == place]
            fields = {"parity_choice": choices[min(len(errors), len(choices) - 1)]}
        else:
            return _acknowledgement(request.message)
        reply = _reply(request.message, EXCHANGES[request.kind].replies[0])
        return {**reply, "sender": f"player:{player}", "match_id": match.match_id, "player_id": player, **fields}

    def _reported(self, document: object, match: StagedMatch, request: ReadRequest) -> bytes | None:
        if match.is_dropped and not self._record.about(match.match_id, "MATCH_RESULT_REPORT"):
            return None
        round_id = request.normalised.get("round_id")
        reply = _reply(request.message, "MATCH_RESULT_ACK")
        return _result(document, {**reply, "status": "ACCEPTED", "match_id": match.match_id, "round_id": round_id})

    def _registering(self, request: ReadRequest, role: str) -> Object | None:
        """Answer a registration; None leaves it without an answer."""
        record = self._record
        refusals = record.refusals
        now = time.time()
        reply = _reply(request.message, EXCHANGES[request.kind].replies[0])
        if self._rejects == "E020":
            refusals.setdefault("rejected", now)
            return {**reply, **_rejected("E020", "the league is full")}
        if self._rejects == "E043" and "put off" not in refusals:
            refusals["put off"] = now
            refusal = _rejected("E043", "waiting for the operator's approval, as A01; register again later")
            return {**reply, **refusal, "context": {"pending": True, "applicant_id": "A01"}}
        if self._drops and now < refusals.setdefault("unanswered", now) + UNANSWERED_S / record.time_scale:
            return None
        meta = request.normalised.get(f"{role}_meta")
        member = self._enrol(fields_of(meta), role)
        reply |= {
            "status": "ACCEPTED",
            f"{role}_id": member.id,
            "league_id": LEAGUE,
            "reason": None,
            "auth_token": member.tokens[-1],
        }
        signs = member.signs and role == "player"
        if self._derives or signs:
            reply["token_scheme"] = "derived"
        if signs:
            reply["manager_key"] = MANAGER_KEY
            self.refuses_next_query = self.refuses_next_query and "query" in refusals
        return reply

    def _enrol(self, meta: Object, role: str) -> RegisteredAgent:
        """Give the agent an id and a new token."""
        record = self._record
        agent_id = UNUSUAL_ID
        if role == "referee":
            agent_id = REFEREE_ID
        earlier: tuple[str, ...] = ()
        if record.member is not None:
            earlier = record.member.tokens
            has_begun = bool(record.probes) or self._derives or "query" in record.refusals
            agent_id = record.member.id if has_begun else USUAL_ID
        record.member = RegisteredAgent(agent_id, (*earlier, new_token(agent_id)), meta)
        return record.member

    def _query(self, document: object, message: Object) -> bytes:
        if self.refuses_next_query and self._record.member is not None:
            self.refuses_next_query = False
            self._record.refusals["query"] = time.time()
            return _error(document, "E012", "this token belongs to nobody here any more")
        data: Object = {
            "standings": [],
            "current_round": 1,
            "rounds": self.schedule,
            "next_match": None,
            "matches": [],
        }
        reply = _reply(message, "LEAGUE_QUERY_RESPONSE")
        reply |= {"query_type": message.get("query_type") or "GET_STATUS", "success": True, "data": data}
        return _result(document, reply)


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


def _result(document: object, result: Object) -> bytes:
    """Wrap a result as the request was wrapped."""
    if is_bare(document):
        return json.dumps(result).encode()
    method = fields_of(document).get("method")
    if method == TOOLS_CALL:
        result = tool_result(result)
    if method == ENVELOPED:
        result = {**result, **halved(result)}
    return json.dumps({"jsonrpc": "2.0", "id": fields_of(document).get("id"), "result": result}).encode()


def _error(document: object, code: str, detail: str) -> bytes:
    request_id: Any = fields_of(document).get("id")
    return write_bad_request(BadRequestError(request_id, PeerError(code, detail)), READERS[0], time.time())


def new_token(owner: str) -> str:
    return f"tok_{owner}_{secrets.token_urlsafe(24)}"
