"""Players for the kit: one that keeps every clause, and what may be spoiled in it, as data.

`script` spoils answers (tests.support.scripts); `blind` lets wrong requests pass; `refuses` refuses right ones;
`registration` says how it becomes a member.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from league.features.kit.driver.kit import Options
from league.features.kit.runner import CheckReport
from league.protocol.errors import ERRORS, Family, PeerError
from league.protocol.message.envelope import STRICT
from league.protocol.message.exchanges import Role
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, BadRequestError, decode_call, read_call
from tests.support.kit_runs import check_player
from tests.support.peer import UNSUSPECTING, Convention, Peer, Received
from tests.support.scripts import ABSENT, MATCH_CALLS, Object, Reaction

WATCHDOG_S = 60.0
GAMES = ["even_odd", "rock_paper_scissors"]


@dataclass(frozen=True, slots=True)
class Registration:
    """How a player registers: what it changes, how it repeats it, what it asks afterwards."""

    meta: Mapping[str, object] = field(default_factory=dict)
    message: Mapping[str, object] = field(default_factory=dict)
    rpc: Mapping[str, object] = field(default_factory=dict)
    pause_s: float = 2.0
    attempts: int = 3
    again_when_rejected: bool = False
    adopts: bool = True
    """Goes by the id it was given."""
    query: Mapping[str, object] | None = None
    """A LEAGUE_QUERY with these fields follows."""
    comes_back: bool = True
    """Registers again when the query is answered with an error."""


@dataclass
class Conforming(Peer):
    """A good player, as far as nothing is said against it."""

    agent_id: str = "P01"
    convention: Convention = UNSUSPECTING
    """What is no message is found below, by the clauses."""
    blind: frozenset[str] = frozenset()
    """Codes and clauses of mistakes it does not notice."""
    refuses: Callable[[Received], str | None] = lambda _: None
    """The code with which it refuses a request it should take."""
    registration: Registration = field(default_factory=Registration)
    leaks: bool = False
    """Repeats the whole request in its errors."""
    referees: dict[str, object] = field(default_factory=dict)
    """By match: the token its first caller showed."""
    forgets: bool = True
    """Whose a match was, when it is over."""

    # --- answering ----------------------------------------------------------------------------------------------------

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        request = await super()._read(reader)
        inner = request.message.get("arguments")
        if request.method == "tools/call" and isinstance(inner, dict):
            request.message, request.kind = inner, str(inner.get("message_type"))
        return request

    def _answer(self, request: Received, reaction: Reaction) -> bytes:
        status = self._http_status(request)
        if status:
            return super()._answer(request, replace(reaction, status=status, reason="No", body=b""))
        error = self._mistake(request)
        if error is None or self.blind & {error.code, error.requirement}:
            return super()._answer(request, reaction)
        body = json.dumps(self._refusal(request, error)).encode()
        status = reaction.status if reaction.status != 200 else ERRORS[error.code].http_status or 200
        return super()._answer(request, replace(reaction, body=body, status=status))

    def _http_status(self, request: Received) -> int:
        head = request.head.lower()
        host = f"host: 127.0.0.1:{self.port}\r\n".encode()
        found = {
            421: host not in head,
            403: b"\r\norigin: http://evil" in head,
            405: not head.startswith(b"post "),
            415: b"content-type: application/json" not in head,
        }
        return next((status for status, is_so in found.items() if is_so and str(status) not in self.blind), 0)

    def _mistake(self, request: Received) -> PeerError | None:
        code = self.refuses(request)
        if code is not None:
            return PeerError(code, "no")
        try:
            call = decode_call(request.body, MANAGER_LIMIT)
            if call.method != "ping":
                read_call(call, STRICT, Role.PLAYER).open()
        except BadRequestError as bad:
            return bad.error
        except PeerError as error:
            return error
        return self._stranger(request)

    def _stranger(self, request: Received) -> PeerError | None:
        """The first caller of a match is its referee, and nobody else, until it is over."""
        shown, match = request.message.get("auth_token"), str(request.message.get("match_id"))
        if request.kind in MATCH_CALLS and self.referees.setdefault(match, shown) != shown:
            return PeerError("E012", "another is the referee of this match")
        if request.kind == "GAME_OVER" and self.forgets and self.referees.get(match) == shown:
            del self.referees[match]
        return None

    def _refusal(self, request: Received, error: PeerError) -> Object:
        detail = request.body.decode("utf-8", "replace") if self.leaks else error.detail
        data = {"error_code": error.code, "error_name": error.row.name, "error_detail": detail}
        number = error.row.number(Family.MATCH)
        given = request.call.get("id")
        return {"jsonrpc": "2.0", "id": given, "error": {"code": number, "message": error.row.name, "data": data}}

    # --- registering --------------------------------------------------------------------------------------------------

    def enrol(self, manager: str) -> None:
        """Register until it is answered, then ask what is to be asked."""
        how = self.registration
        answer = self._register(manager)
        result = answer.get("result", {})
        if result.get("status") == "REJECTED" and how.again_when_rejected:
            self._register(manager)
        if result.get("status") == "ACCEPTED":
            self.token = result["auth_token"]
            self.agent_id = result["player_id"] if how.adopts else self.agent_id
            if how.query is not None:
                self._query(manager, how)

    def _register(self, manager: str) -> Object:
        how = self.registration
        meta = {"display_name": self.name, "version": "1.0.0", "game_types": GAMES, **how.meta}
        meta = {"contact_endpoint": self.endpoint, **meta}
        message = {
            **self._envelope("LEAGUE_REGISTER_REQUEST"),
            "player_meta": _without(meta),
            **how.message,
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": _without(message), **how.rpc}
        for attempt in range(how.attempts):
            if attempt:
                threading.Event().wait(how.pause_s)
            answer = _post(manager, _without(call))
            if answer is not None:
                return answer
        return {}

    def _query(self, manager: str, how: Registration) -> None:
        fields = {"league_id": "conformance", "query_type": "GET_STATUS", "query_params": {}, **(how.query or {})}
        message = _without({**self._envelope("LEAGUE_QUERY"), **fields})
        answer = _post(manager, {"jsonrpc": "2.0", "id": 2, "method": "league_query", "params": message}) or {}
        if "error" in answer and how.comes_back:
            again = self._register(manager)
            self.token = again["result"]["auth_token"]


def _without(fields: Mapping[str, Any]) -> Object:
    return {name: value for name, value in fields.items() if value is not ABSENT}


def _post(url: str, document: Object) -> Object | None:
    """The answer; None if the connection was closed without one."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=WATCHDOG_S)
    try:
        connection.request("POST", parts.path, json.dumps(document), {"Content-Type": "application/json"})
        answer: Object = json.loads(connection.getresponse().read())
    except http.client.HTTPException:
        return None
    else:
        return answer
    finally:
        connection.close()


def checked(player: Conforming, time_scale: float = 1.0, only: tuple[str, ...] = ()) -> CheckReport:
    """What the kit says of a player it calls as it is."""
    with player:
        return check_player(Options(player.endpoint, time_scale=time_scale, only=only))


def checked_member(player: Conforming, time_scale: float = 2.0, only: tuple[str, ...] = ()) -> CheckReport:
    """What the kit says of a player that registers with it."""
    threads: list[threading.Thread] = []

    def told(line: str) -> None:
        manager = line.removeprefix("ready: ")
        threads.append(threading.Thread(target=player.enrol, args=(manager,), daemon=True))
        threads[0].start()

    with player:
        options = Options(player.endpoint, listen=0, wait_s=5.0, time_scale=time_scale, only=only)
        report = check_player(options, told)
        threads[0].join(WATCHDOG_S)
        return report
