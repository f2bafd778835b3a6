"""The strict reader of JSON: bytes become a value, or error E034.

Nothing ambiguous passes: two parsers must never read one text differently, or a referee and a manager could disagree
about what a player said.

Theory of operation. There are two parsers. msgspec reads nearly all texts; it is ten times as fast and rejects all
that we reject, except for two things: a key that occurs twice in an object, and a number that is too long. The
standard library's parser, with hooks, reads the rest and can say what is wrong.

The fast parser decides only where it cannot be mistaken: the text has no escapes and no long run of digits, and its
value, encoded again, has as many quotes as the text had (`is_whole`). In all other cases, and whenever the fast parser
rejects a text, the careful parser reads the same bytes and has the last word. So a text is accepted or rejected
independently of which parser saw it first.

The costly checks run only on texts that contain the bytes they are about. `quick_read` uses the same checks.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from typing import Any, NoReturn

import msgspec

from league.protocol.errors import PeerError
from league.protocol.safe_text import excerpt

MAX_DEPTH = 16
INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1

_NOT_A_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[^][{}"]+', re.DOTALL)
_NEITHER_BRACKET_NOR_QUOTE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_DIGITS_ONLY = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
# Every number of 64 bits has at most 19 digits; shorter runs need no second look.
_LONG_NUMBER = b"0" * 19
IN_DOUBT: Any = object()
"""Not a value: the careful parser has to read the text."""
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises; RecursionError for a text that is nested a thousand levels deep."""
WRITER = msgspec.json.Encoder()


def parse(raw: bytes) -> object:
    """Read these bytes strictly."""
    if is_too_deep(raw):
        _refuse("JSON.depth", f"nested deeper than {MAX_DEPTH} levels")
    value = quickly(raw)
    if value is IN_DOUBT:
        return carefully(raw)
    return value


def quickly(raw: bytes) -> Any:
    """Read with the fast parser: the value, or IN_DOUBT."""
    if b"\\" in raw or has_long_number(raw):
        return IN_DOUBT
    try:
        value = _READER.decode(raw)
        encoded = WRITER.encode(value)
    except NOT_READ:
        return IN_DOUBT
    if is_whole(encoded, raw):
        return value
    return IN_DOUBT


def is_whole(encoded: bytes, raw: bytes) -> bool:
    """Whether decoding lost nothing of a text without escapes; `encoded` is the decoded value, encoded again.

    Whatever is dropped, such as the first of two equal keys, has quotes. Without escapes every quote begins or ends a
    string, so that equally many quotes mean that nothing was dropped.
    """
    return encoded == raw or encoded.count(b'"') == raw.count(b'"')


def has_long_number(raw: bytes) -> bool:
    """Whether it has so many digits in a row that they may exceed 64 bits."""
    return _LONG_NUMBER in raw.translate(_DIGITS_ONLY)


def carefully(raw: bytes) -> object:
    """Read with the careful parser: the value, or an error that says what is wrong."""
    decoder = _CAREFUL if has_long_number(raw) else _DECODER
    try:
        value: object = decoder.decode(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        _refuse("JSON.utf8", f"byte {error.start} is not UTF-8")
    except ValueError as error:
        if raw.startswith(BOM_UTF8):
            _refuse("JSON.utf8", "the text begins with a byte order mark")
        _refuse("JSON.syntax", _not_json(raw, error))
    if b"\\u" in raw:
        _check_escapes(value)
    return value


def _not_json(raw: bytes, error: ValueError) -> str:
    """Quote a text that is not JSON, and say where it ceases to be. What a parser says helps nobody."""
    quote = excerpt(raw)
    if not quote:
        return "not JSON: the text is empty"
    place = ""
    if isinstance(error, json.JSONDecodeError) and raw[: error.pos].strip():
        place = f", from character {error.pos + 1} on"
    return f'not JSON{place}: "{quote}"'


def _refuse(clause: str, detail: str) -> NoReturn:
    raise PeerError("E034", detail, {"expected_format": "JSON (RFC 8259) in UTF-8"}, clause)


def is_too_deep(raw: bytes, depth: int = MAX_DEPTH) -> bool:
    """Whether it is nested deeper than allowed."""
    # Few texts have enough brackets for that.
    return raw.count(b"[") + raw.count(b"{") > depth and _too_deep(raw, depth)


def _too_deep(raw: bytes, depth: int) -> bool:
    """Strip everything but brackets, then peel one level of pairs at a time."""
    brackets = raw.translate(_ONE_KIND, _NEITHER_BRACKET_NOR_QUOTE).replace(b'""', b"")
    if b'"' in brackets or b"\\" in raw:
        # A string holds a bracket or an escape: remove the strings one by one.
        brackets = _NOT_A_BRACKET.sub(b"", raw).translate(_ONE_KIND)
    for _ in range(depth):
        if not brackets:
            return False
        peeled = brackets.replace(b"[]", b"")
        if peeled == brackets:
            # Unbalanced: not JSON at all, and shallow enough for the parser to say so.
            return len(brackets) > 4 * depth
        brackets = peeled
    return bool(brackets)


# --- hooks of the careful parser --------------------------------------------------------------------------------------


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        _refuse("JSON.duplicate_keys", f"the key {repeated!r} occurs twice in one object")
    return members


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        _refuse("JSON.large_numbers", "a number is out of range")
    return value


def _constant(text: str) -> NoReturn:
    _refuse("JSON.syntax", f"{text} is not JSON")


def _int(text: str) -> int:
    # Converting thousands of digits would take long.
    is_short = len(text) <= 20
    if not is_short or not INT64_MIN <= int(text) <= INT64_MAX:
        _refuse("JSON.large_numbers", "a whole number does not fit into 64 bits")
    return int(text)


_READER = msgspec.json.Decoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
_CAREFUL = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant, parse_int=_int)


def _check_escapes(value: object) -> None:
    """Reject NUL and lone surrogates, which only escapes inside strings can bring in."""
    if isinstance(value, str):
        if "\0" in value:
            _refuse("JSON.nul", "a string contains NUL")
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            _refuse("JSON.surrogates", "a string contains half a character (a lone surrogate)")
    elif isinstance(value, list):
        for element in value:
            _check_escapes(element)
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_escapes(name)
            _check_escapes(member)
