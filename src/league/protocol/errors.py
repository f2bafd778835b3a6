"""The one error catalogue (spec section 10): codes, names, numbers, what may be retried, how others' errors read.

`PeerError` is for *their* mistakes and always names a row of the catalogue; our own bugs are ordinary exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum


class Family(IntEnum):
    """The thousands of a JSON-RPC error number: which exchange it belongs to."""

    REFEREE_REGISTRATION = 1
    PLAYER_REGISTRATION = 2
    NOTIFICATION = 3
    MATCH = 4
    REPORT = 5
    QUERY = 6


class Retry(Enum):
    """May the sender try again, and how?"""

    NO = "no"
    YES = "yes"
    IN_WINDOW = "in window"
    LATER = "later"
    COUNTS_AS_ACK = "counts as ack"


class Severity(Enum):
    """How much is at stake."""

    CRITICAL = "critical"
    """Somebody cannot be reached, or cannot work."""
    HIGH = "high"
    """The request is lost; repeated, it costs the match or the place in the league."""
    MEDIUM = "medium"
    """Nothing is lost yet: it has to be put right."""
    LOW = "low"
    """Nothing is wrong: wait, or go on."""


_SEVERITIES = {
    Severity.CRITICAL: "E009 E041 E099",
    Severity.MEDIUM: "E021 E022 E023 E028 E029 E036 E042 E043 E044 E045",
    Severity.LOW: "E010 E017 E030 E031",
}
_SEVERITY = {code: severity for severity, codes in _SEVERITIES.items() for code in codes.split()}


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One row of the catalogue. `numbers` is one number for all families, or a number per family;
    `suffix` completes the rest as family x 1000 + suffix."""

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


_R, _P, _N, _M, _RE, _Q = Family
_TOKEN = {_N: 3001, _M: 4001, _RE: 5001, _Q: 6001, _R: 1095, _P: 2095}
_ENDPOINT = {_R: 1002, _P: 2003}

_ROWS = (
    ErrorRow("E001", "TIMEOUT_ERROR", 4010, Retry.YES, "no complete valid answer in time"),
    ErrorRow("E003", "MISSING_REQUIRED_FIELD", -32602, Retry.NO, "absent, or null where a value is required"),
    ErrorRow("E004", "INVALID_PARITY_CHOICE", 4004, Retry.IN_WINDOW,
             'parity_choice is present with any value other than "even" or "odd"'),
    ErrorRow("E005", "PLAYER_NOT_REGISTERED", {_N: 3002, _M: 4002, _Q: 6004}, Retry.NO, "the player id is unknown"),
    ErrorRow("E007", "INVALID_FIELD_TYPE", -32602, Retry.NO, "a field has the wrong JSON type (true is not 1)"),
    ErrorRow("E008", "INVALID_FIELD_VALUE", -32602, Retry.NO, "a length, range, pattern, allowed value or URL"),
    ErrorRow("E009", "CONNECTION_ERROR", 4011, Retry.YES, "refused, reset, unreachable, or broken HTTP"),
    ErrorRow("E010", "RATE_LIMITED", {}, Retry.LATER, "over a limit: wait Retry-After", suffix=91, http_status=429),
    ErrorRow("E011", "AUTH_TOKEN_MISSING", _TOKEN, Retry.NO, "a token is required and is absent or empty"),
    ErrorRow("E012", "AUTH_TOKEN_INVALID", _TOKEN, Retry.NO, "the token is unknown, revoked, or for another audience"),
    ErrorRow("E013", "REFEREE_NOT_REGISTERED", {_RE: 5004, _Q: 6005}, Retry.NO, "the referee id is unknown"),
    ErrorRow("E014", "MATCH_NOT_FOUND", {_M: 4003, _RE: 5002}, Retry.NO, "the match id is unknown"),
    ErrorRow("E015", "MATCH_ID_MISMATCH", 4012, Retry.IN_WINDOW, "the answer names another match"),
    ErrorRow("E016", "MATCH_NOT_ASSIGNED", 5002, Retry.NO, "another referee's match, or a superseded attempt"),
    ErrorRow("E017", "DUPLICATE_REPORT", 5003, Retry.COUNTS_AS_ACK, "the same result again"),
    ErrorRow("E018", "PROTOCOL_VERSION_MISMATCH", {}, Retry.NO,
             "protocol is not league.v2, or a version we do not support", suffix=94),
    ErrorRow("E019", "LATE_REGISTRATION", {_R: 1004, _P: 2005}, Retry.NO, "the league has started"),
    ErrorRow("E020", "LEAGUE_FULL", {_R: 1001, _P: 2001}, Retry.NO, "the maximum is reached"),
    ErrorRow("E021", "INVALID_TIMESTAMP", -32602, Retry.NO, "not ISO 8601 in UTC"),
    ErrorRow("E022", "DUPLICATE_NAME", {_R: 1005, _P: 2002}, Retry.NO, "the name is taken"),
    ErrorRow("E023", "INVALID_STATE", {_M: 4005}, Retry.NO, "out of phase", suffix=96),
    ErrorRow("E024", "INVALID_MOVE", 4006, Retry.IN_WINDOW, "an illegal move in a game other than even_odd"),
    ErrorRow("E025", "ENDPOINT_UNREACHABLE", _ENDPOINT, Retry.YES, "the probe of the endpoint failed"),
    ErrorRow("E026", "ENDPOINT_FORBIDDEN", _ENDPOINT, Retry.NO, "the policy about endpoints (7.5) refuses it"),
    ErrorRow("E027", "UNSUPPORTED_GAME_TYPE", {_R: 1003, _P: 2004}, Retry.NO, "no game in common"),
    ErrorRow("E028", "LEAGUE_NOT_FOUND", {_Q: 6003}, Retry.NO, "the league id is unknown", suffix=97),
    ErrorRow("E029", "INVALID_QUERY_TYPE", 6002, Retry.NO, "the query type is unknown"),
    ErrorRow("E030", "LEAGUE_NOT_STARTED", {}, Retry.LATER, "needs a running league", suffix=98),
    ErrorRow("E031", "LEAGUE_ALREADY_COMPLETE", {}, Retry.NO, "after the end of the league", suffix=99),
    ErrorRow("E032", "NOT_AUTHORIZED", {}, Retry.NO, "valid token, wrong role, or sender is not its owner", suffix=90),
    ErrorRow("E033", "PLAYER_ID_MISMATCH", 4013, Retry.IN_WINDOW, "the answer names another player"),
    ErrorRow("E034", "MALFORMED_JSON", -32700, Retry.NO,
             "not UTF-8, not JSON, duplicate keys, NaN, NUL, lone surrogates, or nested too deep", http_status=400),
    ErrorRow("E035", "INVALID_REQUEST", -32600, Retry.NO, "no JSON-RPC 2.0 object; a batch; a bad id", http_status=400),
    ErrorRow("E036", "UNKNOWN_METHOD", -32601, Retry.NO, "the method is unknown to this role"),
    ErrorRow("E037", "MESSAGE_TOO_LARGE", -32600, Retry.NO, "larger than the limit", http_status=413),
    ErrorRow("E038", "MESSAGE_TYPE_MISMATCH", -32602, Retry.NO,
             "the message type is unknown, or not that of the method or of the expected reply"),
    ErrorRow("E039", "RESULT_INCONSISTENT", 5005, Retry.NO, "winner, choices and number contradict each other"),
    ErrorRow("E040", "RESULT_CONFLICT", 5003, Retry.NO, "a different result is stored; the first stays"),
    ErrorRow("E041", "STORAGE_UNAVAILABLE", {}, Retry.LATER, "disk full or database gone; nothing was stored",
             suffix=93, http_status=503),
    ErrorRow("E042", "OVERLOADED", {}, Retry.LATER, "queue full or shutting down", suffix=92, http_status=503),
    ErrorRow("E043", "ENROLMENT_REQUIRED", 1006, Retry.NO,
             "a referee without the enrolment key, or an agent that waits for the operator's approval"),
    ErrorRow("E044", "ENDPOINT_IN_USE", {_R: 1007, _P: 2006}, Retry.NO, "another agent registered this endpoint"),
    ErrorRow("E045", "PROVIDER_UNAVAILABLE", 4014, Retry.YES,
             "a player cannot choose: the service that thinks for it does not answer"),
    ErrorRow("E099", "INTERNAL_ERROR", -32603, Retry.YES, "a bug of the answering side: fixed text and an incident id"),
)  # fmt: skip

ERRORS: Mapping[str, ErrorRow] = {row.code: row for row in _ROWS}
BY_NAME: Mapping[str, ErrorRow] = {row.name: row for row in _ROWS}

REJECTIONS = frozenset({"E018", "E019", "E020", "E022", "E025", "E026", "E027", "E031", "E043", "E044"})
"""Registration answers these with status REJECTED; every other code is a JSON-RPC error there too (R-19)."""

REFUSED_BY_STRICT = frozenset({"E011", "E012", "E021"})
"""What costs a player nothing in `compat`, and would in a strict league: it is told so (spec section 5.16)."""


class Stage(IntEnum):
    """Which error comes first (spec section 10.3): a violation of an earlier stage decides the answer."""

    TYPE = 0
    PROTOCOL = 1
    ENVELOPE = 2
    AUTHORITY = 3
    FIELDS = 4
    VERDICT = 5


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated clause: its error code, where, a sentence for its author, and the requirement's id.

    A lenient one is refused in `strict` and recorded as a deviation in `compat`.
    """

    code: str
    path: str
    detail: str
    requirement: str
    stage: Stage = Stage.FIELDS
    lenient: bool = False
    expected: str = ""
    """The format that was violated, if one was."""

    @property
    def name(self) -> str:
        """The catalogue name of the code."""
        return ERRORS[self.code].name


@dataclass(frozen=True, slots=True, eq=False)
class PeerError(Exception):
    """A peer broke the protocol; `code` is a row of the catalogue, `requirement` the violated clause's id."""

    code: str
    detail: str
    context: Mapping[str, object] = field(default_factory=dict)
    requirement: str = ""

    @property
    def row(self) -> ErrorRow:
        """The catalogue row."""
        return ERRORS[self.code]

    def __str__(self) -> str:
        return f"{self.code} {self.row.name}: {self.detail}"


def as_error(violation: Violation) -> PeerError:
    """A violated clause as the error its author gets."""
    expected = {"expected_format": violation.expected} if violation.expected else {}
    return PeerError(violation.code, violation.detail, {"field": violation.path, **expected}, violation.requirement)


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
_TOKEN_NUMBERS = frozenset({12, 3001, 4001, 5001, 6001})


def read_foreign(code: str | None, name: str | None, number: int | None) -> str:
    """The catalogue code of somebody else's error: by name first, then by number, then by code, else E099."""
    row = BY_NAME.get(name or "")
    known = _FOREIGN.get((code or "", name or "")) or (row.code if row else None)
    if known is not None:
        return known
    by_number = _by_number(number)
    by_code = code if code is not None and code in ERRORS else "E099"
    # A code alone says more than a number many codes share; a code under an unknown name may mean anything.
    first, second = (by_code, by_number) if name is None else (by_number, by_code)
    return first if first != "E099" else second


def _by_number(number: int | None) -> str:
    if number is None:
        return "E099"
    if number == -1:
        return "E001"
    if number in _TOKEN_NUMBERS:
        return "E012"
    for row in _ROWS:
        if any(row.number(family) == number for family in Family):
            return row.code
    return "E099"
