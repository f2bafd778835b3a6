"""The strict gate: bytes to a JSON value, or E034. Nothing ambiguous passes: two parsers must never read one text
differently, or a referee and a manager could disagree about what a player said.

The costly checks run only on texts that contain the bytes they are about. Nearly all texts are read by msgspec, which
is ten times as fast. It refuses all that we refuse but two things: a key that stands twice, and a number that is too
long. Where one of these is possible, or something is wrong, the parser reads that can say what.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from typing import Any, NoReturn

import msgspec

from league.protocol.errors import PeerError

MAX_DEPTH = 16
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_NOT_A_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[^][{}"]+', re.DOTALL)
_NEITHER_BRACKET_NOR_QUOTE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_DIGITS_ONLY = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_NUMBER = b"0" * 19
IN_DOUBT: Any = object()
"""Not a value: it must be looked at more closely."""
NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises; RecursionError: at a text that is nested a thousand levels deep."""
WRITER = msgspec.json.Encoder()


def parse(raw: bytes) -> object:
    """The value these bytes stand for, strictly read."""
    if is_too_deep(raw):
        _refuse("JSON.depth", f"nested deeper than {MAX_DEPTH} levels")
    value = quickly(raw)
    return carefully(raw) if value is IN_DOUBT else value


def quickly(raw: bytes) -> Any:
    """The value, or IN_DOUBT."""
    if b"\\" in raw or has_long_number(raw):
        return IN_DOUBT
    try:
        value = _READER.decode(raw)
        return value if is_whole(WRITER.encode(value), raw) else IN_DOUBT
    except NOT_READ:
        return IN_DOUBT


def is_whole(again: bytes, raw: bytes) -> bool:
    """Was nothing lost of a text without escapes, if its value, encoded again, is this? What is dropped, such as the
    first of two equal keys, has quotes. Without escapes every quote begins or ends a string."""
    return again == raw or again.count(b'"') == raw.count(b'"')


def has_long_number(raw: bytes) -> bool:
    """Does it hold so many digits in a row that they may be no number of 64 bits?"""
    return _LONG_NUMBER in raw.translate(_DIGITS_ONLY)


def carefully(raw: bytes) -> object:
    """The value, or what is wrong."""
    try:
        value: object = (_CAREFUL if has_long_number(raw) else _DECODER).decode(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        _refuse("JSON.utf8", f"byte {error.start} is not UTF-8")
    except ValueError as error:
        if raw.startswith(BOM_UTF8):
            _refuse("JSON.utf8", "a byte order mark stands in front")
        _refuse("JSON.syntax", f"not JSON: {error}")
    if b"\\u" in raw:
        _check_escapes(value)
    return value


def _refuse(clause: str, detail: str) -> NoReturn:
    raise PeerError("E034", detail, {"expected_format": "JSON (RFC 8259) in UTF-8"}, clause)


def is_too_deep(raw: bytes) -> bool:
    """Is it nested deeper than allowed? Only with enough brackets need they be looked at."""
    return raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _too_deep(raw)


def _too_deep(raw: bytes) -> bool:
    """Strip everything but brackets, then peel one level of pairs at a time."""
    brackets = raw.translate(_ONE_KIND, _NEITHER_BRACKET_NOR_QUOTE).replace(b'""', b"")
    if b'"' in brackets or b"\\" in raw:
        # A string holds a bracket or an escape: take the strings out one by one.
        brackets = _NOT_A_BRACKET.sub(b"", raw).translate(_ONE_KIND)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return False
        peeled = brackets.replace(b"[]", b"")
        if peeled == brackets:
            # Unbalanced: not JSON at all, and shallow enough for the parser to say so.
            return len(brackets) > 4 * MAX_DEPTH
        brackets = peeled
    return bool(brackets)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        _refuse("JSON.duplicate_keys", f"the key {twice!r} stands twice in one object")
    return members


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        _refuse("JSON.large_numbers", "a number is out of range")
    return value


def _constant(text: str) -> NoReturn:
    _refuse("JSON.syntax", f"{text} is not JSON")


def _int(text: str) -> int:
    value = int(text) if len(text) <= 20 else INT64_MAX + 1
    if not INT64_MIN <= value <= INT64_MAX:
        _refuse("JSON.large_numbers", "a whole number is beyond 64 bits")
    return value


_READER = msgspec.json.Decoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
_CAREFUL = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant, parse_int=_int)


def _check_escapes(value: object) -> None:
    """NUL and lone surrogates can only come in as escapes, and only inside strings."""
    if isinstance(value, str):
        if "\0" in value:
            _refuse("JSON.nul", "a string holds NUL")
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            _refuse("JSON.surrogates", "a string holds half a character (a lone surrogate)")
    elif isinstance(value, list):
        for one in value:
            _check_escapes(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            _check_escapes(name)
            _check_escapes(one)
