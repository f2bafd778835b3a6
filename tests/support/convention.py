"""How a scripted peer puts a message into a request and reads one: what a convention is, and the documents' own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tests.support.scripts import Object, Reaction

NOT_UNDERSTOOD = "(not understood)"


@dataclass(frozen=True, slots=True)
class Convention:
    """How an agent wraps its messages: its own requests, how it reads those of others, and its answers to them."""

    request: Callable[[int, str, Object], Object]
    read: Callable[[Object], tuple[str, Object]]
    answer: Callable[[Object, Object], Object]
    hear: Callable[[Object], Object] = lambda answer: _part(answer, "result")
    """The message in an answer to a request of its own; {} if there is none it could read."""
    aside: Callable[[Received, Sequence[Received]], Reaction | None] = lambda _request, _before: None
    """What it does with a call that is no message to it, given all that came before; None: it is a message."""
    opening: tuple[Object, ...] = ()
    """Calls it makes at every endpoint, before its first message there."""
    registers: Convention | None = None
    """How it registers, if in another way."""
    path: str = ""
    """Where it posts, if not at the endpoint's own path."""
    events: bool = False
    """Its answers are streams of one event, as MCP's often are."""


def _part(whole: Object, name: str) -> Object:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _read_params(call: Object) -> tuple[str, Object]:
    return str(call.get("method", "")), _part(call, "params")


def _no_message(request: Received, _before: Sequence[Received]) -> Reaction | None:
    if request.method == "ping" or "message_type" in request.message:
        return None
    code, words = (-32601, "Method not found") if request.method else (-32600, "Invalid Request")
    answer = {"jsonrpc": "2.0", "id": request.call.get("id"), "error": {"code": code, "message": words}}
    return Reaction(body=json.dumps(answer).encode())


UNSUSPECTING = Convention(
    request=lambda number, method, message: {"jsonrpc": "2.0", "id": number, "method": method, "params": message},
    read=_read_params,
    answer=lambda call, message: {"jsonrpc": "2.0", "id": call.get("id"), "result": message},
)
"""Takes whatever comes for a message."""
SPEC = replace(UNSUSPECTING, aside=_no_message)
"""The documents' way: a message in `params`, or `ping`."""

VERBS: Mapping[str, str] = {
    "LEAGUE_REGISTER_REQUEST": "register_player",
    "REFEREE_REGISTER_REQUEST": "register_referee",
    "MATCH_RESULT_REPORT": "report_match_result",
    "LEAGUE_QUERY": "league_query",
    "ROUND_ANNOUNCEMENT": "notify_round",
    "LEAGUE_STANDINGS_UPDATE": "update_standings",
    "ROUND_COMPLETED": "notify_round_completed",
    "LEAGUE_COMPLETED": "notify_league_completed",
    "GAME_INVITATION": "handle_game_invitation",
    "CHOOSE_PARITY_CALL": "parity_choose",
    "GAME_MOVE_CALL": "choose_move",
    "GAME_OVER": "notify_match_result",
    "GAME_ERROR": "notify_game_error",
}
"""The methods of requests; anything else is called by its message type."""

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
    """The message type, or the method of what is no message; NOT_UNDERSTOOD if the convention sets it aside."""
    method: str
    message: Object
    call: Object
    head: bytes
    body: bytes
    aside: Reaction | None = None
    """What the convention makes of it; None: it was understood as a message."""
    answer: bytes = b""
    answered_at: float | None = None

    @property
    def reply(self) -> Object:
        """The JSON of the answer; {} if it is none."""
        return json_object(self.answer.partition(b"\r\n\r\n")[2])


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of our own, and what came back."""

    at: float
    url: str
    body: bytes
    status: int
    answer: bytes

    @property
    def json(self) -> Object:
        """What came back; {} if it is no JSON object."""
        return json_object(self.answer)


def json_object(body: bytes) -> Object:
    """The JSON object in these bytes; {} if there is none."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
