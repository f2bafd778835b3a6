"""Everything the kit and the agent sent each other, and how it is read. Checks judge this record and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from league.gateway import understanding
from league.protocol.errors import BY_NAME, ERRORS, Family, PeerError, read_foreign
from league.protocol.exchanges import EXCHANGES
from league.protocol.strict_json import parse
from league_kit.conventions import Convention, Object, of_event_stream, text_of_content, unpacked
from league_kit.wire import RawResponse, Trouble

NO_ENDPOINT: Final = (301, 302, 303, 307, 308, 404, 405, 415, 501)
"""Statuses of a server that takes no messages at this address."""
BUSY: Final = (429, 503)
"""Statuses that mean "ask again later": no fault (section 6.3)."""
OPPONENT: Final = "/opponent/mcp"
"""The path where the kit plays the opponent, which no player may call."""
JOIN_WORDS: Final = ("ACCEPTED", "ACK", "ACKNOWLEDGED")


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An answer that is an error: its code, name, number and text."""

    code: str | None
    name: str | None
    number: int | None
    text: str
    is_unknown: bool = False
    """It says so in words."""

    def means(self, wanted: str) -> bool:
        """Is it this row of the catalogue? A bare JSON-RPC number may stand for each row that has it."""
        if self.code is None and self.name is None:
            return any(ERRORS[wanted].number(family) == self.number for family in Family)
        return read_foreign(self.code, self.name, self.number) == wanted

    @property
    def says_unknown(self) -> bool:
        """Does it say that there is no such method or message?"""
        return self.is_unknown or self.number == understanding.UNKNOWN_METHOD

    def __str__(self) -> str:
        told = (self.code, self.name or self.text[:80], None if self.number is None else f"({self.number})")
        return " ".join(one for one in told if one) or "an error without code, name and number"


class AnswerPlace(Enum):
    """Where in the body an answer is (section 13.2); the specification allows only the first."""

    RESULT = "result"
    PARAMS = "params"
    BODY = "the body itself, without JSON-RPC"
    CONTENT = "MCP content within the result"


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer, parsed. `trouble` says why that failed."""

    trouble: str = ""
    rpc: Mapping[str, Any] | None = None
    content: object = None
    error: ErrorAnswer | None = None
    place: AnswerPlace = AnswerPlace.RESULT

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
class Probe:
    """A request of the kit and its answer. `label` says what it tests."""

    label: str
    kind: str
    message: Object
    request_id: object
    method: str
    proper: bool
    """A JSON-RPC 2.0 request object: whatever the verdict, it gets an answer with status 200."""
    sent: bytes
    response: RawResponse
    at: float
    limit_s: float
    parsed: ParsedAnswer
    posted: Arrival | None = None
    plain: bool = False
    """A right message of the documents, in the form the agent understands: it must be answered."""

    @property
    def trouble(self) -> Trouble | None:
        return self.response.trouble

    @property
    def is_busy(self) -> bool:
        return self.response.status in BUSY

    @property
    def is_readable(self) -> bool:
        return self.trouble is None and not self.parsed.trouble

    @property
    def is_empty(self) -> bool:
        """Answered with an empty body, which some agents do for messages that expect no response."""
        return self.trouble is None and 200 <= self.response.status < 300 and not self.response.body.strip()

    @property
    def seconds(self) -> float:
        """How long the answer took, in the response or as a request of its own."""
        return self.posted.at - self.at if self.posted is not None else self.response.seconds

    @property
    def answer(self) -> Mapping[str, Any]:
        """The fields of the answer, wherever it came."""
        return self.posted.message if self.posted is not None else self.parsed.fields

    @property
    def is_answered(self) -> bool:
        """Answered as it should be: an invitation or a call with a message, the rest with anything but an error."""
        if self.is_empty and self.posted is not None:
            return True
        if not self.is_readable or self.parsed.error is not None or self.is_busy:
            return False
        return self.posted is not None or not is_bare_acknowledgement(self.kind, self.parsed.content)

    def why_not(self) -> str:
        """Why this is no answer, in words."""
        if self.trouble is not None:
            return self.response.detail
        if self.parsed.trouble:
            return self.parsed.trouble
        if self.parsed.error is not None:
            return f"the answer is an error: {self.parsed.error}"
        if self.is_busy:
            return f"the answer is status {self.response.status}, also when asked again"
        return "the result is a mere acknowledgement, and no message followed"


def is_bare_acknowledgement(kind: str, content: object) -> bool:
    """Does an invitation or a call get a result that is not the message asked for (section 6.2)?"""
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
class RegisteredAgent:
    """The agent as it registered with the kit."""

    id: str
    tokens: tuple[str, ...]
    meta: Mapping[str, Any]


@dataclass(slots=True)
class RunRecord:
    """A whole run."""

    target: str
    time_scale: float = 1.0
    probes: list[Probe] = field(default_factory=list)
    tried: list[Probe] = field(default_factory=list)
    """Requests in forms that the agent does not understand; they are not judged."""
    arrivals: list[Arrival] = field(default_factory=list)
    member: RegisteredAgent | None = None
    convention: Convention | None = None
    """How the agent is called; None: no form brought an answer to the invitation."""
    own_tokens: set[str] = field(default_factory=set)
    """The kit's own tokens, as manager and as referee."""
    listening: str = ""
    """Why nobody registered, where that is so."""
    played: set[str] = field(default_factory=set)
    """The scenarios that were run."""
    pages: dict[str, RawResponse] = field(default_factory=dict)
    died_after: Probe | None = None
    """The last request before nobody listened any more."""
    dropped_at: float | None = None
    rejected_at: float | None = None
    put_off_at: float | None = None
    """When a registration was told to wait for the operator's approval."""

    def set_aside(self, exchange: Probe) -> None:
        """This request was in a form that the agent does not understand."""
        self.probes = [one for one in self.probes if one is not exchange]
        self.tried.append(exchange)

    def of(self, *labels: str) -> list[Probe]:
        """The probes with one of these labels, or whose label begins with one before a colon."""
        return [one for one in self.probes if one.label.partition(":")[0] in labels]

    def of_kind(self, *kinds: str) -> list[Probe]:
        return [one for one in self.probes if one.kind in kinds]

    def proper(self) -> list[Probe]:
        """Right JSON-RPC requests that the agent did not put off as busy."""
        return [one for one in self.probes if one.proper and not one.is_busy]

    def requests(self, *kinds: str) -> list[Arrival]:
        """What the agent sent to the manager or the referee, of these kinds or of any."""
        ours = [one for one in self.arrivals if not one.is_to_opponent]
        return [one for one in ours if not kinds or one.kind in kinds]

    def messages(self) -> Iterator[tuple[Probe | Arrival, Mapping[str, Any], str]]:
        """Every message in the agent's answers: the request, its fields, and the type it should have."""
        for one in self.probes:
            if one.kind and one.is_readable and one.parsed.error is None and one.answer:
                yield one, one.answer, EXCHANGES[one.kind].replies[0]

    @property
    def is_reached(self) -> bool:
        return any(one.trouble is not Trouble.REFUSED for one in self.probes)

    @property
    def is_gone(self) -> bool:
        """Does nobody listen any more where somebody did?"""
        answered = any(one.trouble is None for one in self.probes)
        return answered and self.probes[-1].trouble is Trouble.REFUSED

    def discard_after_exit(self) -> None:
        """Drop the requests sent after the agent had exited: they say nothing about the clauses they were for."""
        if self.is_gone:
            while self.probes[-1].trouble in (Trouble.REFUSED, Trouble.BROKEN):
                self.probes.pop()
            self.died_after = self.probes[-1]

    @property
    def has_endpoint(self) -> bool:
        """Does anybody take messages there?"""
        statuses = {one.response.status for one in self.proper() if one.trouble is None}
        return not statuses or not statuses <= set(NO_ENDPOINT)


# --- reading an answer ------------------------------------------------------------------------------------------------


def parse_answer(response: RawResponse, convention: Convention, sent: Object) -> ParsedAnswer:
    """Read the body of an HTTP answer to a message; `sent` is empty for anything else."""
    if response.trouble is not None or not response.body.strip():
        return ParsedAnswer(response.detail or f"the answer has no body (status {response.status})")
    streamed = "text/event-stream" in response.headers.get("content-type", "")
    try:
        value = parse(of_event_stream(response.body) if streamed else response.body)
    except PeerError as error:
        return ParsedAnswer(f"the body of the answer cannot be read: {error.detail}")
    if not isinstance(value, dict):
        return ParsedAnswer("the answer is no JSON object")
    if convention is Convention.BARE and "result" not in value and "jsonrpc" not in value:
        return ParsedAnswer(rpc=None, content=value, error=_error_in(value), place=AnswerPlace.BODY)
    return _with_status(
        _parse_error(value) if value.get("error") is not None else _parse_result(value, sent), response.status
    )


def _with_status(parsed: ParsedAnswer, status: int) -> ParsedAnswer:
    """A status of 400 or more counts as an error where the body is no message of the protocol."""
    if status < 400 or parsed.place is not AnswerPlace.BODY or "message_type" in parsed.fields:
        return parsed
    return replace(parsed, error=parsed.error or ErrorAnswer(None, None, None, f"status {status}, {parsed.content}"))


def _parse_error(value: Mapping[str, Any]) -> ParsedAnswer:
    if value.get("result") is not None:
        return ParsedAnswer("the answer holds both a result and an error", value)
    if "jsonrpc" not in value and not isinstance(value["error"], dict):
        return ParsedAnswer(content=value, error=_error_answer(value["error"]), place=AnswerPlace.BODY)
    return ParsedAnswer(rpc=value, error=_error_answer(value["error"]))


def _parse_result(value: Mapping[str, Any], sent: Object) -> ParsedAnswer:
    """A result, wherever it is: an answer in the wrong place is judged too."""
    if "result" in value:
        return _unwrapped(value, value["result"], sent)
    if isinstance(value.get("params"), dict):
        content = value["params"]
        return ParsedAnswer(rpc=value, content=content, error=_error_in(content), place=AnswerPlace.PARAMS)
    if "jsonrpc" not in value:
        return ParsedAnswer(content=value, error=_error_in(value), place=AnswerPlace.BODY)
    return ParsedAnswer("the answer holds neither a result nor an error", value)


def _unwrapped(value: Mapping[str, Any], result: object, sent: Object) -> ParsedAnswer:
    content = unpacked(result, sent)
    if isinstance(result, dict) and result.get("isError") is True:
        refusal = ErrorAnswer(None, None, None, text_of_content(result) or str(content))
        return ParsedAnswer(rpc=value, content=content, error=refusal, place=AnswerPlace.CONTENT)
    place = AnswerPlace.RESULT if content is result else AnswerPlace.CONTENT
    return ParsedAnswer(rpc=value, content=content, error=_error_in(content), place=place)


def _error_in(content: object) -> ErrorAnswer | None:
    """An error in the form of a result (section 6.2, 1)."""
    if not isinstance(content, dict):
        return None
    inner = content.get("error")
    if (
        content.get("message_type") in ("LEAGUE_ERROR", "GAME_ERROR")
        or content.get("status") in ("ERROR", "REJECTED")
        or understanding.is_trouble(content)
    ):
        answer = _error_answer(inner if isinstance(inner, dict) else {"data": content})
        said = understanding.words_of(content)
        text = answer.text if isinstance(inner, dict) else said or answer.text
        return replace(answer, text=text, is_unknown=understanding.says_unknown(content))
    return None


def _error_answer(error: object) -> ErrorAnswer:
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
    data = fields.get("data")
    data = data if isinstance(data, dict) else fields
    code, number, text = data.get("error_code"), fields.get("code"), fields.get("message")
    named = (data.get("error_name"), data.get("error_description"), text)
    return ErrorAnswer(
        code=code if isinstance(code, str) and code else None,
        name=next((one for one in named if isinstance(one, str) and one in BY_NAME), None),
        number=number if isinstance(number, int) and not isinstance(number, bool) else None,
        text=text if isinstance(text, str) else str(error),
    )


def tokens_known(record: RunRecord) -> Sequence[str]:
    """Every token the kit made, its own and the agent's."""
    return [*record.own_tokens, *(record.member.tokens if record.member else ())]
