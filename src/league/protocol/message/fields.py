"""The grammar of fields (spec section 3.5): named types whose rules go beyond a JSON type.

A type carries its rule by name, and `judge` runs the rule. A rule returns None or a `Finding`; a lenient finding is
an error in `strict` and only recorded in `compat`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from league.protocol import endpoints, timestamps, versions
from league.protocol.signing import tokens

INT32_MAX = 2**31 - 1
NAME_MAX = 50
MARKUP = ("<", ">", "](")
"""Never part of a name: names are shown in web pages and documents by many programs (T-07)."""
SEMVER = "MAJOR.MINOR.PATCH"
QUERY_TYPES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_STATUS", "PROTEST")


class Finding(NamedTuple):
    """Something wrong with a text, by one of the rules below."""

    code: str
    detail: str
    lenient: bool = False
    expected: str = ""


Rule = Callable[[str], Finding | None]

UTC = "YYYY-MM-DDTHH:MM:SSZ"


def _timestamp(text: str) -> Finding | None:
    if timestamps.is_strict(text):
        return None
    detail = f"{text!r} is not an ISO 8601 time in UTC; write UTC as {UTC}"
    return Finding("E021", detail, timestamps.is_compat(text), UTC)


_SENDER = re.compile(r"(?:league_manager(?::.+)?|(?:referee|player):.+)")
OTHER_MANAGERS = ("manager", "league")
"""The first word of `sender` of third-party managers."""
_OTHER_ROLES = ("players:", *(f"{role}:" for role in OTHER_MANAGERS))


def _sender(text: str) -> Finding | None:
    if _SENDER.fullmatch(text):
        return None
    # Third-party agents send "players:ID", "manager:ID", "league:ID", and a name without a role.
    is_usual = text.startswith(_OTHER_ROLES) or (text != "" and ":" not in text)
    detail = f'{text!r} is not a sender; use "league_manager", "referee:ID" or "player:ID"'
    return Finding("E008", detail, is_usual, "league_manager, referee:{id} or player:{id}")


def _semver(text: str) -> Finding | None:
    if versions.is_semver(text):
        return None
    return Finding("E008", f'{text!r} is not a semantic version such as "1.0.0"', expected=SEMVER)


def _protocol_version(text: str) -> Finding | None:
    if text == versions.PROTOCOL:
        detail = 'protocol_version must be a version such as "2.1.0", not the name of the protocol'
        return Finding("E008", detail, lenient=True, expected=SEMVER)
    return _semver(text)


JOINERS = "\u200c\u200d\ufe0e\ufe0f"
"""Zero-width joiners, which some scripts need, and the two emoji selectors: after a visible character they change its
shape."""
UNSEEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u2800\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufff8"
    "\U0001d159\U000e0000\U000e0002-\U000e001f\U000e0080-\U000e0fff"
)
"""Invisible letters, marks and symbols: Unicode's Default_Ignorable_Code_Point, and characters that look blank."""
_UNSEEN = re.compile(rf"[{UNSEEN}]|(?:^|\s)[{JOINERS}]")
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Controls, direction-changing and zero-width characters, surrogates, line breaks."""


def _display_name(text: str) -> Finding | None:
    # Two names that look alike must be alike, so nothing in a name may be invisible.
    has_controls = any(unicodedata.category(char) in _CONTROLS and char not in JOINERS for char in text)
    if has_controls or _UNSEEN.search(text):
        detail = "a name must not contain control, direction-changing or invisible characters"
        return Finding("E008", detail, expected="visible characters")
    for mark in MARKUP:
        if mark in text:
            detail = f"a name must not contain {mark}, which some pages and documents read as markup"
            return Finding("E008", detail, expected="no markup")
    length = len(text.strip())
    if 1 <= length <= NAME_MAX:
        return None
    bound = f"at most {NAME_MAX} characters" if length else "at least 1 character"
    detail = f"a name must have {bound}, not counting blanks around it; this one has {length}"
    return Finding("E008", detail, expected=f"1 to {NAME_MAX} characters")


def _url(text: str) -> Finding | None:
    try:
        endpoints.parse(text)
    except endpoints.BadAddressError as error:
        return Finding("E008", str(error), expected="http://{host}:{port}/{path}")
    return None


def is_url(text: str) -> bool:
    """Whether this is an address that can be called."""
    return _url(text) is None


def _query_type(text: str) -> Finding | None:
    if text in QUERY_TYPES:
        return None
    options = ", ".join(QUERY_TYPES)
    return Finding("E029", f"{text!r} is not a query type; use one of {options}", expected=options)


def _assigned_id(prefix: str) -> Rule:
    pattern = re.compile(rf"{prefix}[0-9]{{2,}}")

    def rule(text: str) -> Finding | None:
        if pattern.fullmatch(text):
            return None
        # Third-party managers assign ids of other shapes; any id works that is not empty.
        detail = f'{text!r} is not an id such as "{prefix}01"'
        return Finding("E008", detail, lenient=text != "", expected=f"{prefix}{{number}}")

    return rule


# Any code will do, not only those of the catalogue: third-party agents have codes of their own.
_ERROR_CODE = re.compile("E[0-9]{3}")


def _error_code(text: str) -> Finding | None:
    if _ERROR_CODE.fullmatch(text):
        return None
    return Finding("E008", f'{text!r} is not a code such as "E001"', expected="E{three digits}")


def _token(text: str) -> Finding | None:
    if text:
        return None
    return Finding("E011", "auth_token is empty", lenient=True, expected=tokens.FORMAT)


RULES: Mapping[str, Rule] = {
    "timestamp": _timestamp,
    "reply_timestamp": _timestamp,
    "sender": _sender,
    "reply_sender": _sender,
    "semver": _semver,
    "protocol_version": _protocol_version,
    "display_name": _display_name,
    "url": _url,
    "query_type": _query_type,
    "player_id": _assigned_id("P"),
    "referee_id": _assigned_id("REF"),
    "token": _token,
    "error_code": _error_code,
}


def _ruled(rule: str) -> Meta:
    return Meta(extra={"rule": rule})


Text = Annotated[str, Meta(min_length=1)]
Timestamp = Annotated[str, _ruled("timestamp")]
ReplyTimestamp = Annotated[str, _ruled("reply_timestamp")]
Sender = Annotated[str, _ruled("sender")]
ReplySender = Annotated[str, _ruled("reply_sender")]
Version = Annotated[str, _ruled("semver")]
ProtocolVersion = Annotated[str, _ruled("protocol_version")]
DisplayName = Annotated[str, _ruled("display_name")]
Url = Annotated[str, _ruled("url")]
QueryType = Annotated[str, _ruled("query_type")]
AssignedPlayerId = Annotated[str, _ruled("player_id")]
AssignedRefereeId = Annotated[str, _ruled("referee_id")]
Token = Annotated[str, _ruled("token")]
ErrorCode = Annotated[str, _ruled("error_code")]

Count = Annotated[int, Meta(ge=0, le=INT32_MAX)]
Ordinal = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Int32 = Annotated[int, Meta(ge=-(2**31), le=INT32_MAX)]
Seconds = Annotated[float, Meta(ge=0)]

Parity = Literal["even", "odd"]
ParityChoice = Annotated[Parity, Meta(extra={"code": "E004"})]
"""The only field with an error code of its own, used for every wrong value, including null and wrong types."""
