"""The error catalogue (spec section 10): codes, names, numbers, what may be retried, and how to read others' errors.

`PeerError` is for mistakes of peers and always names a row of the catalogue; our own bugs are ordinary exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum

from msgspec import Struct


class Family(IntEnum):
    """The thousands of a JSON-RPC error number: which exchange it belongs to."""

    REFEREE_REGISTRATION = 1
    PLAYER_REGISTRATION = 2
    NOTIFICATION = 3
    MATCH = 4
    REPORT = 5
    QUERY = 6


class Retry(Enum):
    """Whether and how the sender may try again."""

    NO = "no"
    YES = "yes"
    IN_WINDOW = "in window"
    LATER = "later"
    COUNTS_AS_ACK = "counts as ack"


class Severity(Enum):
    """How much is at stake."""

    CRITICAL = "critical"
    """An agent cannot be reached, or cannot work."""
    HIGH = "high"
    """The request failed; if that repeats, it costs the match or the place in the league."""
    MEDIUM = "medium"
    """Nothing is lost yet, but somebody has to correct it."""
    LOW = "low"
    """Nothing is wrong: wait, or go on."""


# Errors that are not listed here are of high severity.
_SEVERITIES = {
    Severity.CRITICAL: "E009 E041 E099",
    Severity.MEDIUM: "E021 E022 E023 E028 E029 E036 E042 E043 E044 E045",
    Severity.LOW: "E010 E017 E030 E031",
}
_SEVERITY = {code: severity for severity, codes in _SEVERITIES.items() for code in codes.split()}


class ErrorRow(Struct, frozen=True):
    """One row of the catalogue.

    `numbers` is one number for all families, or a number for each family; families without one get
    family x 1000 + `suffix`.
    """

    code: str
    name: str
    numbers: int | Mapping[Family, int]
    retry: Retry
    when: str
    suffix: int | None = None
    http_status: int | None = None

    @property
    def severity(self) -> Severity:
        """High, unless the table says otherwise."""
        return _SEVERITY.get(self.code, Severity.HIGH)

    def number(self, family: Family) -> int:
        """The JSON-RPC error number of this row in that family."""
        if isinstance(self.numbers, int):
            return self.numbers
        if family in self.numbers:
            return self.numbers[family]
        if self.suffix is not None:
            return family * 1000 + self.suffix
        return next(iter(self.numbers.values()))


# Short names for the table below.
_R, _P, _N, _M, _RE, _Q = Family
_TOKEN = {_N: 3001, _M: 4001, _RE: 5001, _Q: 6001, _R: 1095, _P: 2095}
_ENDPOINT = {_R: 1002, _P: 2003}

# First line: code, name, number and retry. Second line: the cause, for the people who get the error.
_ROWS = (
    ErrorRow("E001", "TIMEOUT_ERROR", 4010, Retry.YES,
             "no complete and valid answer arrived in time"),
    ErrorRow("E003", "MISSING_REQUIRED_FIELD", -32602, Retry.NO,
             "a required field is missing or null"),
    ErrorRow("E004", "INVALID_PARITY_CHOICE", 4004, Retry.IN_WINDOW,
             'parity_choice has a value other than "even" or "odd"'),
    ErrorRow("E005", "PLAYER_NOT_REGISTERED", {_N: 3002, _M: 4002, _Q: 6004}, Retry.NO,
             "the player id is unknown"),
    ErrorRow("E007", "INVALID_FIELD_TYPE", -32602, Retry.NO,
             "a field has the wrong JSON type (true is not 1)"),
    ErrorRow("E008", "INVALID_FIELD_VALUE", -32602, Retry.NO,
             "a value has the wrong length, range or pattern, or is not allowed"),
    ErrorRow("E009", "CONNECTION_ERROR", 4011, Retry.YES,
             "the connection was refused or reset, the host unreachable, or the HTTP broken"),
    ErrorRow("E010", "RATE_LIMITED", {}, Retry.LATER,
             "too many requests: wait as long as Retry-After says", suffix=91, http_status=429),
    ErrorRow("E011", "AUTH_TOKEN_MISSING", _TOKEN, Retry.NO,
             "a token is required, but it is missing or empty"),
    ErrorRow("E012", "AUTH_TOKEN_INVALID", _TOKEN, Retry.NO,
             "the token is unknown or revoked, or meant for another receiver"),
    ErrorRow("E013", "REFEREE_NOT_REGISTERED", {_RE: 5004, _Q: 6005}, Retry.NO,
             "the referee id is unknown"),
    ErrorRow("E014", "MATCH_NOT_FOUND", {_M: 4003, _RE: 5002}, Retry.NO,
             "the match id is unknown"),
    ErrorRow("E015", "MATCH_ID_MISMATCH", 4012, Retry.IN_WINDOW,
             "the answer names another match"),
    ErrorRow("E016", "MATCH_NOT_ASSIGNED", 5002, Retry.NO,
             "the match belongs to another referee, or to a newer attempt"),
    ErrorRow("E017", "DUPLICATE_REPORT", 5003, Retry.COUNTS_AS_ACK,
             "the same result was already reported"),
    ErrorRow("E018", "PROTOCOL_VERSION_MISMATCH", {}, Retry.NO,
             "protocol is not league.v2, or the version is not supported", suffix=94),
    ErrorRow("E019", "LATE_REGISTRATION", {_R: 1004, _P: 2005}, Retry.NO,
             "the league has already started"),
    ErrorRow("E020", "LEAGUE_FULL", {_R: 1001, _P: 2001}, Retry.NO,
             "the league has no more places"),
    ErrorRow("E021", "INVALID_TIMESTAMP", -32602, Retry.NO,
             "the timestamp is not ISO 8601 in UTC"),
    ErrorRow("E022", "DUPLICATE_NAME", {_R: 1005, _P: 2002}, Retry.NO,
             "the name is already taken"),
    ErrorRow("E023", "INVALID_STATE", {_M: 4005}, Retry.NO,
             "the request does not fit the current phase", suffix=96),
    ErrorRow("E024", "INVALID_MOVE", 4006, Retry.IN_WINDOW,
             "the move is illegal (in games other than even_odd)"),
    ErrorRow("E025", "ENDPOINT_UNREACHABLE", _ENDPOINT, Retry.YES,
             "the manager could not reach the endpoint"),
    ErrorRow("E026", "ENDPOINT_FORBIDDEN", _ENDPOINT, Retry.NO,
             "the endpoint policy (7.5) does not allow it"),
    ErrorRow("E027", "UNSUPPORTED_GAME_TYPE", {_R: 1003, _P: 2004}, Retry.NO,
             "the agent and the league have no game in common"),
    ErrorRow("E028", "LEAGUE_NOT_FOUND", {_Q: 6003}, Retry.NO,
             "the league id is unknown", suffix=97),
    ErrorRow("E029", "INVALID_QUERY_TYPE", 6002, Retry.NO,
             "the query type is unknown"),
    ErrorRow("E030", "LEAGUE_NOT_STARTED", {}, Retry.LATER,
             "the league has not started yet", suffix=98),
    ErrorRow("E031", "LEAGUE_ALREADY_COMPLETE", {}, Retry.NO,
             "the league is over", suffix=99),
    ErrorRow("E032", "NOT_AUTHORIZED", {}, Retry.NO,
             "the token is valid, but its owner has the wrong role or is not the sender", suffix=90),
    ErrorRow("E033", "PLAYER_ID_MISMATCH", 4013, Retry.IN_WINDOW,
             "the answer names another player"),
    ErrorRow("E034", "MALFORMED_JSON", -32700, Retry.NO,
             "not UTF-8 or not JSON, or with duplicate keys, NaN, NUL or lone surrogates, or nested too deep",
             http_status=400),
    ErrorRow("E035", "INVALID_REQUEST", -32600, Retry.NO,
             "not a JSON-RPC 2.0 object, a batch, or with a bad id", http_status=400),
    ErrorRow("E036", "UNKNOWN_METHOD", -32601, Retry.NO,
             "this role does not have the method"),
    ErrorRow("E037", "MESSAGE_TOO_LARGE", -32600, Retry.NO,
             "the message is larger than the limit", http_status=413),
    ErrorRow("E038", "MESSAGE_TYPE_MISMATCH", -32602, Retry.NO,
             "the message type is unknown, or does not fit the method or the expected reply"),
    ErrorRow("E039", "RESULT_INCONSISTENT", 5005, Retry.NO,
             "winner, choices and drawn number contradict each other"),
    ErrorRow("E040", "RESULT_CONFLICT", 5003, Retry.NO,
             "a different result was already accepted, and remains"),
    ErrorRow("E041", "STORAGE_UNAVAILABLE", {}, Retry.LATER,
             "the disk is full or the database is gone; nothing was stored", suffix=93, http_status=503),
    ErrorRow("E042", "OVERLOADED", {}, Retry.LATER,
             "the queue is full, or the agent is shutting down", suffix=92, http_status=503),
    ErrorRow("E043", "ENROLMENT_REQUIRED", 1006, Retry.NO,
             "the referee did not show the enrolment key, or the agent waits for the operator's approval"),
    ErrorRow("E044", "ENDPOINT_IN_USE", {_R: 1007, _P: 2006}, Retry.NO,
             "another agent has registered this endpoint"),
    ErrorRow("E045", "PROVIDER_UNAVAILABLE", 4014, Retry.YES,
             "the player cannot choose, because the service that chooses for it does not answer"),
    ErrorRow("E046", "FALLBACK_REFUSED", 4015, Retry.NO,
             "the player's language model did not choose, and this league accepts no fallback"),
    ErrorRow("E099", "INTERNAL_ERROR", -32603, Retry.YES,
             "a bug in the answering agent: the text is fixed and has an incident id"),
)  # fmt: skip

ERRORS: Mapping[str, ErrorRow] = {row.code: row for row in _ROWS}
BY_NAME: Mapping[str, ErrorRow] = {row.name: row for row in _ROWS}

NO_CHOICE = "no choice could be made"
"""What our players tell a referee when there is nothing to send (E099, E045)."""
NO_CHOICE_BECAUSE = f"{NO_CHOICE}: "
"""The beginning of the same sentence if the league may know the cause, such as an exception in the author's code."""
REJECTIONS = frozenset({"E018", "E019", "E020", "E022", "E025", "E026", "E027", "E031", "E043", "E044"})
"""Registration answers these with status REJECTED; every other code is a JSON-RPC error there too (R-19)."""

REFUSED_BY_STRICT = frozenset({"E011", "E012", "E021"})
"""Errors that cost a player nothing in `compat`, but would in a strict league; the player is warned (section 5.16)."""


class Stage(IntEnum):
    """The order of errors (spec section 10.3): a violation of an earlier stage decides the answer."""

    TYPE = 0
    PROTOCOL = 1
    ENVELOPE = 2
    AUTHORITY = 3
    FIELDS = 4
    VERDICT = 5


class Violation(Struct, frozen=True):
    """One violated clause: its error code, its place, a sentence for the author, and the id of the requirement.

    A lenient violation is an error in `strict`, and is recorded as a deviation in `compat`.
    """

    code: str
    path: str
    detail: str
    requirement: str
    stage: Stage = Stage.FIELDS
    lenient: bool = False
    expected: str = ""
    """The format that the value should have, if there is one."""

    @property
    def name(self) -> str:
        """The catalogue name of the code."""
        return ERRORS[self.code].name


class PeerError(Exception):
    """A peer broke the protocol; `code` is a row of the catalogue, `requirement` the id of the violated clause."""

    def __init__(
        self,
        code: str,
        detail: str,
        context: Mapping[str, object] | None = None,
        requirement: str = "",
    ) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail
        self.context = context or {}
        self.requirement = requirement

    @property
    def row(self) -> ErrorRow:
        """The catalogue row."""
        return ERRORS[self.code]

    def __str__(self) -> str:
        return f"{self.code} {self.row.name}: {self.detail}"


def as_error(violation: Violation) -> PeerError:
    """The error that the author of a violation gets."""
    context = {"field": violation.path}
    if violation.expected:
        context["expected_format"] = violation.expected
    return PeerError(violation.code, violation.detail, context, violation.requirement)


# Codes and names of the documents' own tables, which contradict each other.
_FOREIGN: Mapping[tuple[str, str], str] = {
    ("E001", "INVALID_PROTOCOL_VERSION"): "E018",
    ("E002", ""): "E003",
    ("E002", "MISSING_REQUIRED_FIELD"): "E003",
    ("E002", "INVALID_MOVE"): "E024",
    ("E003", "INVALID_FIELD_TYPE"): "E007",
    ("E003", "PLAYER_DISCONNECT"): "E009",
    ("E004", "INVALID_STATE"): "E023",
    ("E013", "AUTH_TOKEN_MISSING"): "E011",
    ("E021", "DUPLICATE_NAME"): "E022",
}
FIRST_NUMBER = 1000
"""The documents' numbers of errors begin here."""
_TOKEN_NUMBERS = frozenset({12, 3001, 4001, 5001, 6001})


def read_foreign(
    code: str | None,
    name: str | None,
    number: int | None,
) -> str:
    """The catalogue code of a third-party error: by its name, then by its number, then by its code, else E099."""
    foreign = _FOREIGN.get((code or "", name or ""))
    if foreign is not None:
        return foreign
    row = BY_NAME.get(name or "")
    if row is not None:
        return row.code
    by_number = _by_number(number)
    by_code = code if code is not None and code in ERRORS else "E099"
    # Without a name, the code says more than a number that many codes share.
    if by_number == "E099" or (name is None and by_code != "E099"):
        return by_code
    # Under an unknown name, the code may mean anything.
    return by_number


def is_documented(number: int | None) -> bool:
    """True for the number of an error that a document knows, in whatever exchange: whoever sends it has understood the
    call. JSON-RPC's own numbers say nothing of the kind."""
    return number is not None and number >= FIRST_NUMBER and _by_number(number) != "E099"


def _by_number(number: int | None) -> str:
    if number is None:
        return "E099"
    if number == -1:
        # Document 1 uses this number for a timeout.
        return "E001"
    if number in _TOKEN_NUMBERS:
        return "E012"
    for row in _ROWS:
        if any(row.number(family) == number for family in Family):
            return row.code
    return "E099"
