"""What passed between the kit and the agent: every byte, and how it reads. Checks judge this and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from league.conformance.conventions import Convention, Object, of_event_stream, unpacked, words_in
from league.conformance.wire import Response, Trouble
from league.protocol.errors import BY_NAME, ERRORS, Family, PeerError, read_foreign
from league.protocol.exchanges import EXCHANGES
from league.transport.strict_json import parse

NO_ENDPOINT: Final = (301, 302, 303, 307, 308, 404, 405, 415, 501)
"""What somebody answers who does not take messages at this address."""
LATER: Final = (429, 503)
"""Statuses that mean "ask again later": nobody's fault (section 6.3)."""
OPPONENT: Final = "/opponent/mcp"
"""Where the kit plays the opponent, whom nobody may call."""
JOIN_WORDS: Final = ("ACCEPTED", "ACK", "ACKNOWLEDGED")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error: what it calls itself."""

    code: str | None
    name: str | None
    number: int | None
    text: str

    def means(self, wanted: str) -> bool:
        """Is it this row of the catalogue? A bare JSON-RPC number may stand for each row that has it."""
        if self.code is None and self.name is None:
            return any(ERRORS[wanted].number(family) == self.number for family in Family)
        return read_foreign(self.code, self.name, self.number) == wanted

    def __str__(self) -> str:
        told = (self.code, self.name or self.text[:80], None if self.number is None else f"({self.number})")
        return " ".join(one for one in told if one) or "an error without code, name and number"


class Place(Enum):
    """Where an answer lies (section 13.2); only the first is where the specification has it."""

    RESULT = "result"
    PARAMS = "params"
    BODY = "the body itself, without JSON-RPC"
    CONTENT = "MCP content within the result"


@dataclass(frozen=True, slots=True)
class Heard:
    """How an answer reads. `trouble` says why it cannot be read as one."""

    trouble: str = ""
    rpc: Mapping[str, Any] | None = None
    content: object = None
    refusal: Refusal | None = None
    place: Place = Place.RESULT

    @property
    def fields(self) -> Mapping[str, Any]:
        return self.content if isinstance(self.content, dict) else {}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request the agent made to the kit, and what it was answered (None: the connection was closed)."""

    at: float
    place: str
    head: bytes
    body: bytes
    document: object
    message: Object
    answer: bytes | None

    @property
    def kind(self) -> str:
        return str(self.message.get("message_type", ""))

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode("latin-1")

    @property
    def is_to_opponent(self) -> bool:
        return self.place == OPPONENT


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request of the kit and its answer."""

    label: str
    kind: str
    message: Object
    request_id: object
    method: str
    proper: bool
    """A JSON-RPC 2.0 request object: whatever the verdict, it gets an answer with status 200."""
    sent: bytes
    response: Response
    at: float
    limit_s: float
    heard: Heard
    posted: Arrival | None = None
    plain: bool = False
    """A right message of the documents, called in the way the agent understands: it has no excuse not to answer."""

    @property
    def trouble(self) -> Trouble | None:
        return self.response.trouble

    @property
    def is_later(self) -> bool:
        return self.response.status in LATER

    @property
    def is_readable(self) -> bool:
        return self.trouble is None and not self.heard.trouble

    @property
    def is_empty(self) -> bool:
        """Answered by HTTP, but with nothing: all that a message with no expected response needs to some."""
        return self.trouble is None and 200 <= self.response.status < 300 and not self.response.body.strip()

    @property
    def seconds(self) -> float:
        """How long it took until the answer was there, on the connection or as a request of its own."""
        return self.posted.at - self.at if self.posted is not None else self.response.seconds

    @property
    def answer(self) -> Mapping[str, Any]:
        """The fields of the answer, wherever it came."""
        return self.posted.message if self.posted is not None else self.heard.fields

    @property
    def is_answered(self) -> bool:
        """By what was asked for: a message for an invitation or a call, anything but an error for the rest."""
        if not self.is_readable or self.heard.refusal is not None or self.is_later:
            return False
        return self.posted is not None or not is_mere(self.kind, self.heard.content)

    def why_not(self) -> str:
        """Why this is no answer, in words."""
        if self.trouble is not None:
            return self.response.detail
        if self.heard.trouble:
            return self.heard.trouble
        if self.heard.refusal is not None:
            return f"the answer is an error: {self.heard.refusal}"
        if self.is_later:
            return f"the answer is status {self.response.status}, also when asked again"
        return "the result is a mere acknowledgement, and no message followed"


def is_mere(kind: str, content: object) -> bool:
    """A result that is not the message an invitation or a call asks for (section 6.2)."""
    if kind not in ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):
        return False
    fields = content if isinstance(content, dict) else {}
    if fields.get("message_type") in EXCHANGES[kind].replies:
        return False
    if kind == "GAME_INVITATION":
        joins = isinstance(fields.get("accept", fields.get("accepted")), bool)
        return not joins and fields.get("status") not in JOIN_WORDS
    return not any(name in fields for name in ("parity_choice", "choice", "move_data"))


@dataclass(frozen=True, slots=True)
class Member:
    """The agent as it registered with the kit."""

    id: str
    tokens: tuple[str, ...]
    meta: Mapping[str, Any]


@dataclass(slots=True)
class Record:
    """A whole run."""

    target: str
    time_scale: float = 1.0
    exchanges: list[Exchange] = field(default_factory=list)
    tried: list[Exchange] = field(default_factory=list)
    """What was called in ways the agent turned out not to understand; nothing it did then is held against it."""
    arrivals: list[Arrival] = field(default_factory=list)
    member: Member | None = None
    convention: Convention | None = None
    """How the agent is to be called; None: no way of calling brought an answer to the invitation."""
    own_tokens: set[str] = field(default_factory=set)
    """What the kit showed as its own, as manager and as referee."""
    listening: str = ""
    """Why nobody registered, where that is so."""
    played: set[str] = field(default_factory=set)
    """The acts of the programme that were played."""
    pages: dict[str, Response] = field(default_factory=dict)
    died_after: Exchange | None = None
    """What the agent was sent last before nobody listened any more."""
    dropped_at: float | None = None
    rejected_at: float | None = None

    def set_aside(self, exchange: Exchange) -> None:
        """It turned out to be called in a way the agent does not understand."""
        self.exchanges = [one for one in self.exchanges if one is not exchange]
        self.tried.append(exchange)

    def of(self, *labels: str) -> list[Exchange]:
        """The exchanges with one of these labels, or whose label begins with one before a colon."""
        return [one for one in self.exchanges if one.label.partition(":")[0] in labels]

    def of_kind(self, *kinds: str) -> list[Exchange]:
        return [one for one in self.exchanges if one.kind in kinds]

    def proper(self) -> list[Exchange]:
        """Requests that JSON-RPC allows and that nobody postponed."""
        return [one for one in self.exchanges if one.proper and not one.is_later]

    def requests(self, *kinds: str) -> list[Arrival]:
        """What the agent sent to the manager or the referee, of these kinds or of any."""
        ours = [one for one in self.arrivals if not one.is_to_opponent]
        return [one for one in ours if not kinds or one.kind in kinds]

    def messages(self) -> Iterator[tuple[Exchange | Arrival, Mapping[str, Any], str]]:
        """Every message the agent said in answers: where, its fields, and the type that fits there."""
        for one in self.exchanges:
            if one.kind and one.is_readable and one.heard.refusal is None and one.answer:
                yield one, one.answer, EXCHANGES[one.kind].replies[0]

    @property
    def is_reached(self) -> bool:
        return any(one.trouble is not Trouble.REFUSED for one in self.exchanges)

    @property
    def is_gone(self) -> bool:
        """Does nobody listen any more where somebody did?"""
        answered = any(one.trouble is None for one in self.exchanges)
        return answered and self.exchanges[-1].trouble is Trouble.REFUSED

    def bury(self) -> None:
        """Leave out what was sent to an agent that was there no more: it says nothing about the clauses it was for."""
        if self.is_gone:
            while self.exchanges[-1].trouble in (Trouble.REFUSED, Trouble.BROKEN):
                self.exchanges.pop()
            self.died_after = self.exchanges[-1]

    @property
    def has_endpoint(self) -> bool:
        """Does anybody take messages there?"""
        statuses = {one.response.status for one in self.proper() if one.trouble is None}
        return not statuses or not statuses <= set(NO_ENDPOINT)


# --- reading an answer ------------------------------------------------------------------------------------------------


def hear(response: Response, convention: Convention) -> Heard:
    """Read the body of an HTTP answer."""
    if response.trouble is not None or not response.body.strip():
        return Heard(response.detail or f"the answer has no body (status {response.status})")
    streamed = "text/event-stream" in response.headers.get("content-type", "")
    try:
        value = parse(of_event_stream(response.body) if streamed else response.body)
    except PeerError as error:
        return Heard(f"the body of the answer cannot be read: {error.detail}")
    if not isinstance(value, dict):
        return Heard("the answer is no JSON object")
    if convention is Convention.BARE and "result" not in value and "jsonrpc" not in value:
        return Heard(rpc=None, content=value, refusal=_refusal_in(value), place=Place.BODY)
    return _with_status(_hear_error(value) if value.get("error") is not None else _hear_result(value), response.status)


def _with_status(heard: Heard, status: int) -> Heard:
    """A status that says no is believed where the body says nothing of the protocol."""
    if status < 400 or heard.place is not Place.BODY or "message_type" in heard.fields:
        return heard
    return replace(heard, refusal=heard.refusal or Refusal(None, None, None, f"status {status}, {heard.content}"))


def _hear_error(value: Mapping[str, Any]) -> Heard:
    if value.get("result") is not None:
        return Heard("the answer holds both a result and an error", value)
    if "jsonrpc" not in value and not isinstance(value["error"], dict):
        return Heard(content=value, refusal=_refusal(value["error"]), place=Place.BODY)
    return Heard(rpc=value, refusal=_refusal(value["error"]))


def _hear_result(value: Mapping[str, Any]) -> Heard:
    """What is no error, wherever it lies: an answer at the wrong place is still one to be judged."""
    if "result" in value:
        return _unwrapped(value, value["result"])
    if isinstance(value.get("params"), dict):
        content = value["params"]
        return Heard(rpc=value, content=content, refusal=_refusal_in(content), place=Place.PARAMS)
    if "jsonrpc" not in value:
        return Heard(content=value, refusal=_refusal_in(value), place=Place.BODY)
    return Heard("the answer holds neither a result nor an error", value)


def _unwrapped(value: Mapping[str, Any], result: object) -> Heard:
    content = unpacked(result)
    if isinstance(result, dict) and result.get("isError") is True:
        refusal = Refusal(None, None, None, words_in(result) or str(content))
        return Heard(rpc=value, content=content, refusal=refusal, place=Place.CONTENT)
    place = Place.RESULT if content is result else Place.CONTENT
    return Heard(rpc=value, content=content, refusal=_refusal_in(content), place=place)


def _refusal_in(content: object) -> Refusal | None:
    """An error in the clothes of a result (section 6.2, 1)."""
    if not isinstance(content, dict):
        return None
    inner = content.get("error")
    if (
        content.get("message_type") in ("LEAGUE_ERROR", "GAME_ERROR")
        or content.get("status") in ("ERROR", "REJECTED")
        or content.get("success") is False
        or inner is not None
    ):
        return _refusal(inner if isinstance(inner, dict) else {"data": content})
    return None


def _refusal(error: object) -> Refusal:
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
    data = fields.get("data")
    data = data if isinstance(data, dict) else fields
    number = fields.get("code")
    text = fields.get("message")
    named = (data.get("error_name"), data.get("error_description"), text)
    return Refusal(
        code=_text(data.get("error_code")),
        name=next((one for one in named if isinstance(one, str) and one in BY_NAME), None),
        number=number if isinstance(number, int) and not isinstance(number, bool) else None,
        text=text if isinstance(text, str) else str(error),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def tokens_known(record: Record) -> Sequence[str]:
    """Every token the kit made, its own and the agent's."""
    return [*record.own_tokens, *(record.member.tokens if record.member else ())]
