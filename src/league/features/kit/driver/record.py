"""Everything the kit and the agent sent each other, and how it is read. Checks judge this record and nothing else."""

# Theory of operation
#
# A run has two phases. While the scenarios run, the kit appends to one RunRecord: a Probe for each request of its own,
# an Arrival for each request that the agent made to the kit. Nothing is judged in this phase. Afterwards every check
# reads the finished record, in any order and as often as it likes, and changes nothing in it.
#
# A Probe keeps the raw bytes of both directions (the evidence), and the answer parsed as far as possible. An answer in
# the wrong place (in `params`, in the body itself, in MCP content) is still read, because the clauses about its fields
# can be judged all the same; `AnswerPlace` says where it was, and a clause of its own judges that.
#
# Requests in a form that the agent does not understand are set aside in `tried`: they show how the kit found out how
# to call the agent, and must never count against it. Requests sent after the agent exited are dropped.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from league.features.kit.driver.conventions import HOSTED, Object, move_in
from league.features.kit.driver.templates import fields_of
from league.features.kit.driver.wire import RawResponse
from league.gateway import forms
from league.gateway.readers import normalise, understanding
from league.letters import read_answer
from league.machine import Failure
from league.protocol.conventions import Convention
from league.protocol.errors import BY_NAME, ERRORS, Family, PeerError, read_foreign
from league.protocol.message.envelope import Reading, unseal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.findings import Findings
from league.protocol.message.messages import Message
from league.protocol.signing.keys import is_public_key
from league.protocol.wire.jsonrpc import MESSAGE_LIMIT, RpcAnswer, is_int
from league.protocol.wire.strict_json import parse

NO_ENDPOINT: Final = (301, 302, 303, 307, 308, 404, 405, 415, 501)
"""Statuses of a server that takes no messages at this address."""
BUSY: Final = (429, 503)
"""Statuses that mean "ask again later": not a fault (section 6.3)."""
OPPONENT: Final = "/opponent/mcp"
"""The path where the kit plays the opponent, which no player may call."""
COMPAT: Final = Reading("compat")
QUESTIONS: Final = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
"""The messages that need a message as their answer."""


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An answer that is an error: its text, code, name and number."""

    text: str
    code: str | None = None
    name: str | None = None
    number: int | None = None
    is_unknown: bool = False
    """Its words say that there is no such method or message."""

    def means(self, code: str) -> bool:
        """Is it this row of the catalogue? A bare JSON-RPC number may stand for each row that has it."""
        if self.code is None and self.name is None:
            return any(ERRORS[code].number(family) == self.number for family in Family)
        return read_foreign(self.code, self.name, self.number) == code

    @property
    def says_unknown(self) -> bool:
        """Does it say that there is no such method or message?"""
        return self.is_unknown or self.number == understanding.UNKNOWN_METHOD

    def __str__(self) -> str:
        parts = [self.code, self.name or understanding.quoted(self.text)]
        if self.number is not None:
            parts.append(f"({self.number})")
        return " ".join(filter(None, parts)) or "an error without code, name and number"


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
        return fields_of(self.content)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request the agent made to the kit, and the kit's answer (None: the connection was closed)."""

    at: float
    place: str
    head: bytes
    body: bytes
    document: object
    kind: str
    """The type of its message, as a manager reads it; empty if there is none."""
    message: Object
    answer: bytes | None
    normalised: Object = field(default_factory=dict)
    """The message in the words of the documents."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """The members of the JSON document, which is a JSON-RPC request if it is right."""
        return fields_of(self.document)

    @property
    def method(self) -> str:
        """The method of the HTTP request."""
        return self.head.split(b" ", 1)[0].decode("latin-1")

    @property
    def is_to_opponent(self) -> bool:
        return self.place == OPPONENT


@dataclass(frozen=True, slots=True)
class Probe:
    """A request of the kit and its answer. `label` says what it tests."""

    label: str
    sent: bytes
    response: RawResponse
    limit_s: float
    parsed: ParsedAnswer
    method: str = ""
    request_id: object = None
    message: Object = field(default_factory=dict)
    """The message that was sent; empty for anything else."""
    proper: bool = False
    """A JSON-RPC 2.0 request object: whatever the verdict, it gets an answer with status 200."""
    plain: bool = False
    """A right message of the documents, in the form the agent understands: it must be answered."""
    posted: Arrival | None = None
    """The request with which the agent answered, if not in the response."""

    @property
    def kind(self) -> str:
        return str(self.message.get("message_type", ""))

    @property
    def at(self) -> float:
        return self.response.at

    @property
    def trouble(self) -> Failure | None:
        return self.response.trouble

    @property
    def is_busy(self) -> bool:
        return self.response.status in BUSY

    @property
    def is_readable(self) -> bool:
        return self.trouble is None and not self.parsed.trouble

    @property
    def is_empty(self) -> bool:
        """Is the answer an empty body? Some agents answer so where they expect to say nothing."""
        is_success = self.trouble is None and 200 <= self.response.status < 300
        return is_success and not self.response.body.strip()

    @property
    def seconds(self) -> float:
        """How long the answer took, in the response or as a request of its own."""
        if self.posted is not None:
            return self.posted.at - self.at
        return self.response.seconds

    @property
    def answer(self) -> Mapping[str, Any]:
        """The fields of the answer, in the response or in a request of its own."""
        if self.posted is not None:
            return self.posted.message
        return self.parsed.fields

    @property
    def accept(self) -> object:
        """The player's word on an invitation, under either name."""
        return self.answer.get("accept", self.answer.get("accepted"))

    @property
    def has_joined(self) -> bool:
        """Is it an invitation that the player accepted?"""
        return self.is_answered and self.accept is not False

    @property
    def choice(self) -> object:
        """The player's choice, under either name."""
        return self.answer.get("parity_choice", self.answer.get("choice"))

    @property
    def move(self) -> object:
        """The player's move in a game other than even_odd."""
        move = self.answer.get("move_data")
        return move.get("choice") if isinstance(move, dict) else self.choice

    @property
    def is_answered(self) -> bool:
        """Is it answered as it should be: a question with a message, the rest with anything but an error?"""
        if self.is_empty and self.posted is not None:
            return True
        if not self.is_readable or self.parsed.error is not None or self.is_busy:
            return False
        return self.posted is not None or not is_bare_acknowledgement(self.message, self.parsed.content)

    def why_not(self) -> str:
        """Say why this does not count as an answer."""
        if self.trouble is not None:
            return self.response.detail
        if self.parsed.trouble:
            return self.parsed.trouble
        if self.parsed.error is not None:
            return f"the answer is an error: {self.parsed.error}"
        if self.is_busy:
            return f"the answer is status {self.response.status}, even when asked again"
        return "the result only acknowledges the request, and no message followed"


def is_bare_acknowledgement(message: Object, content: object) -> bool:
    """Is this the result of a question, but not the message that the question asks for (section 6.2)?"""
    kind = str(message.get("message_type", ""))
    if kind not in QUESTIONS:
        return False
    if not isinstance(content, dict):
        return True
    if content.get("message_type") in EXCHANGES[kind].replies:
        return False
    # A wrong type is the matter of ENVELOPE.message_type: here the fields decide.
    fields = {name: value for name, value in content.items() if name != "message_type"}
    normalised, _ = normalise.normalise_answer(fields, kind, move_in(message))
    return "message_type" not in normalised


@dataclass(frozen=True, slots=True)
class RegisteredAgent:
    """The agent as it registered with the kit."""

    id: str
    tokens: tuple[str, ...]
    meta: Mapping[str, Any]

    @property
    def signs(self) -> bool:
        """True if it declared a key with which it signs its choices (spec section 9.6)."""
        key = self.meta.get("public_key")
        return key is not None and is_public_key(key)


@dataclass(frozen=True, slots=True)
class StagedMatch:
    """A match between players that the kit plays."""

    match_id: str
    choices: Mapping[str, tuple[str, ...]]
    """What each player chooses, one choice after each GAME_ERROR; nothing: it declines."""
    is_dropped: bool = False
    """The first report of it gets no answer."""


@dataclass(frozen=True, slots=True)
class KitMember:
    """A player or referee that the kit plays in somebody else's league."""

    role: str
    name: str
    id: str
    token: str | None

    @property
    def path(self) -> str:
        return f"{HOSTED}{self.name.lower()}/mcp"


@dataclass(slots=True)
class RunRecord:
    """A whole run."""

    target: str
    time_scale: float = 1.0
    role: str = "player"
    """Of the agent."""
    staged: list[StagedMatch] = field(default_factory=list)
    """The matches that the agent is given as a referee, or announced as a manager."""
    hosted: list[KitMember] = field(default_factory=list)
    """The members of its league that the kit plays."""
    probes: list[Probe] = field(default_factory=list)
    tried: list[Probe] = field(default_factory=list)
    """Requests in forms that the agent does not understand; they are not judged."""
    arrivals: list[Arrival] = field(default_factory=list)
    member: RegisteredAgent | None = None
    convention: Convention | None = None
    """How the agent is called; None: no form brought an answer to the invitation."""
    findings: Findings | None = None
    """What a manager's probe finds out about the agent."""
    own_tokens: set[str] = field(default_factory=set)
    """The kit's own tokens, as manager and as referee."""
    listening: str = ""
    """Why nobody registered, if nobody did."""
    played: set[str] = field(default_factory=set)
    """The scenarios that were run."""
    pages: dict[str, RawResponse] = field(default_factory=dict)
    died_after: Probe | None = None
    """The last request before the agent stopped listening."""
    refusals: dict[str, float] = field(default_factory=dict)
    """When the kit first refused something on purpose, to see what the agent does. "unanswered", "rejected" and "put
    off" are registrations, the last until the operator approves; "query" got E012, to see the agent register again."""

    def set_aside(self, exchange: Probe) -> None:
        """Do not judge this request: it was in a form that the agent does not understand."""
        self.probes = [probe for probe in self.probes if probe is not exchange]
        self.tried.append(exchange)

    def of(self, *labels: str) -> list[Probe]:
        """Return the probes with one of these labels, or whose label begins with one before a colon."""
        return [probe for probe in self.probes if probe.label.partition(":")[0] in labels]

    def of_kind(self, *kinds: str) -> list[Probe]:
        return [probe for probe in self.probes if probe.kind in kinds]

    def proper(self) -> list[Probe]:
        """Return the right JSON-RPC requests that the agent did not put off as busy."""
        return [probe for probe in self.probes if probe.proper and not probe.is_busy]

    def requests(self, *kinds: str) -> list[Arrival]:
        """Return the agent's requests to the manager or the referee, of these kinds or of any."""
        requests = [request for request in self.arrivals if not request.is_to_opponent]
        return [request for request in requests if not kinds or request.kind in kinds]

    def about(self, match_id: str, *kinds: str) -> list[Arrival]:
        """Return the agent's requests of these kinds about a match."""
        return [request for request in self.requests(*kinds) if request.normalised.get("match_id") == match_id]

    def members(self, role: str) -> list[KitMember]:
        return [member for member in self.hosted if member.role == role]

    def messages(self) -> Iterator[tuple[Probe, Mapping[str, Any]]]:
        """Iterate over the messages in the agent's answers: the request, and the fields of the answer."""
        for probe in self.probes:
            if probe.kind and probe.is_readable and probe.parsed.error is None and probe.answer:
                yield probe, probe.answer

    @property
    def is_reached(self) -> bool:
        return any(probe.trouble is not Failure.REFUSED for probe in self.probes)

    @property
    def is_gone(self) -> bool:
        """Did the agent listen once, and does it no longer?"""
        has_answered = any(probe.trouble is None for probe in self.probes)
        return has_answered and self.probes[-1].trouble is Failure.REFUSED

    def discard_after_exit(self) -> None:
        """Drop the requests sent after the agent had exited: they say nothing about the clauses they were for."""
        if self.is_gone:
            while self.probes[-1].trouble in (Failure.REFUSED, Failure.BROKEN):
                self.probes.pop()
            self.died_after = self.probes[-1]

    @property
    def has_endpoint(self) -> bool:
        """Does the agent take messages at this address?"""
        statuses = {probe.response.status for probe in self.proper() if probe.trouble is None}
        return not statuses or not statuses <= set(NO_ENDPOINT)


def tokens_known(record: RunRecord) -> Sequence[str]:
    """Return every token the kit made, its own and the agent's."""
    if record.member is None:
        return list(record.own_tokens)
    return [*record.own_tokens, *record.member.tokens]


def message_in(probe: Probe) -> Message | None:
    """Return the message in an answer, as an agent of ours reads it."""
    if probe.posted is not None:
        return unseal(probe.posted.message, COMPAT).message
    sent = unseal(dict(probe.message), COMPAT).message
    body = probe.response.body
    if sent is None or probe.trouble is not None:
        return None
    if "text/event-stream" in probe.response.reply.content_type:
        body = forms.event_data(body)
    content = read_answer(body, sent, COMPAT, MESSAGE_LIMIT, probe.response.status)
    return getattr(content, "message", None)


# --- reading an answer ------------------------------------------------------------------------------------------------


def parse_answer(response: RawResponse, convention: Convention, sent: Object) -> ParsedAnswer:
    """Read the body of an HTTP answer to a message, wherever in it the answer is; `sent` is empty for anything else."""
    value = _object_in(response)
    if isinstance(value, str):
        return ParsedAnswer(value)
    if value.get("error") is not None and value.get("result") is not None:
        return ParsedAnswer("the answer holds both a result and an error", value)
    try:
        answer = forms.answer_in(value)
    except PeerError:
        return ParsedAnswer("the answer holds neither a result nor an error", value)
    parsed = _parsed(value, answer, convention is Convention.BARE, sent)
    # A status of 400 or more is an error if the body is not a message of the protocol.
    is_message = parsed.place is not AnswerPlace.BODY or "message_type" in parsed.fields
    if response.status < 400 or is_message or parsed.error is not None:
        return parsed
    return replace(parsed, error=ErrorAnswer(f"status {response.status}, {parsed.content}"))


def _object_in(response: RawResponse) -> Object | str:
    """Return the JSON object in an answer, or say why there is none."""
    body = response.body
    if response.trouble is not None or not body.strip():
        return response.detail or f"the answer has no body (status {response.status})"
    if "text/event-stream" in response.reply.content_type:
        body = forms.event_data(body)
    try:
        value = parse(body)
    except PeerError as error:
        return f"the body of the answer cannot be read: {error.detail}"
    return value if isinstance(value, dict) else "the answer is not a JSON object"


def _parsed(value: Object, answer: RpcAnswer, takes_bare: bool, sent: Object) -> ParsedAnswer:
    error = value.get("error")
    is_bare = "jsonrpc" not in value and "result" not in value
    if is_bare and (takes_bare or (error is not None and not isinstance(error, dict))):
        refusal = _error_in(value) if takes_bare else _error_answer(error)
        return ParsedAnswer(content=value, error=refusal, place=AnswerPlace.BODY)
    if error is not None:
        return ParsedAnswer(rpc=value, error=_error_answer(error))
    content = answer.content
    place = _place_of(value, content)
    if place is AnswerPlace.CONTENT and isinstance(content, dict):
        content = normalise.named(content, str(sent.get("message_type", "")), move_in(sent))
    refusal = _error_in(content)
    if answer.is_tool_error:
        refusal = ErrorAnswer(understanding.words_of(content) or str(content))
    return ParsedAnswer(rpc=None if place is AnswerPlace.BODY else value, content=content, error=refusal, place=place)


def _place_of(value: Object, content: object) -> AnswerPlace:
    if content is value:
        return AnswerPlace.BODY
    if "result" not in value:
        return AnswerPlace.PARAMS
    if content is value["result"]:
        return AnswerPlace.RESULT
    return AnswerPlace.CONTENT


def _error_in(content: object) -> ErrorAnswer | None:
    """Return the error that is written as a result (section 6.2, 1)."""
    if not isinstance(content, dict):
        return None
    is_error = (
        content.get("message_type") in ("LEAGUE_ERROR", "GAME_ERROR")
        or content.get("status") in ("ERROR", "REJECTED")
        or understanding.is_trouble(content)
    )
    if not is_error:
        return None
    is_unknown = understanding.says_unknown(content)
    inner = content.get("error")
    if isinstance(inner, dict):
        return replace(_error_answer(inner), is_unknown=is_unknown)
    answer = _error_answer({"data": content})
    text = understanding.words_of(content) or answer.text
    return replace(answer, text=text, is_unknown=is_unknown)


def _error_answer(error: object) -> ErrorAnswer:
    fields = fields_of(error)
    data = fields_of(fields.get("data")) or fields
    code = data.get("error_code")
    number = fields.get("code")
    text = fields.get("message")
    names = [name for name in (data.get("error_name"), data.get("error_description"), text) if isinstance(name, str)]
    return ErrorAnswer(
        text=text if isinstance(text, str) else str(error),
        code=code if isinstance(code, str) and code else None,
        name=next((name for name in names if name in BY_NAME), None),
        number=number if is_int(number) else None,
    )
