"""What others wrote, made safe to keep and to show: tokens are masked, and no character of it controls a terminal."""

from __future__ import annotations

import re
from functools import lru_cache

from league.protocol.tokens import masked

_SHOWN = (b"tok_", "tok_…".encode())
"""What is left of a token that its sender masked already."""
_HIDDEN = "…".encode()
_ESCAPE = re.compile(rb"\\(?:u00([2-7][0-9A-Fa-f])|.)", re.DOTALL)
# It begins with three plain letters, by which it is found; what stands before them is looked at behind them.
_TOKEN = re.compile(
    rb"""tok(?:
        en(?<="auth_token)(?<!\\"auth_token) (?P<key>"\s*+:\s*+)
            (?: "(?P<value>(?:[^"\\]++|\\.)*+)"?+
              | (?P<empty>null\b)
              | [\[{].*+ | [^\s,\]}]++ )            # no token looks so; nothing behind a [ or { is kept
      | en(?<=auth_token) (?P<inner> \\*+["']\s*+:\s*+\\*+["'] | = )   # JSON as text in JSON (MCP tools); a form
            (?P<inner_value>[^"'\\&\s]*+)
      | _(?<="tok_)(?<!\\"tok_) (?:[^"\\]++|\\.)*+
      | _(?<![A-Za-z0-9]tok_) [A-Za-z0-9_.~+/=-]*+
    )""",
    re.VERBOSE | re.DOTALL,
)
_BEFORE, _VALUE, _LONGEST = len(',"auth_'), len('token":"'), 256
"""Of a plain field: what stands before its first "tok", where its value begins behind that, and how long it may be."""


def mask(body: bytes) -> bytes:
    """The body without its tokens: every value of `auth_token` and everything that starts with tok_."""
    # Every letter is masked: `find` is faster than `in`, and than the search for a pattern.
    if body.find(b"\\") >= 0 and body.find(b"\\u") >= 0:
        body = _ESCAPE.sub(_plain, body)
    kept: list[bytes] = []
    end, at = 0, body.find(b"tok")
    while at >= 0:
        close = body.find(b'"', at + _VALUE, at + _LONGEST) + 1
        hidden = _hidden_plainly(body[at - _BEFORE : close]) if close and at >= _BEFORE else None
        if hidden is not None:
            kept += body[end:at], hidden
            end = close
        elif found := _TOKEN.match(body, at):
            kept += body[end:at], _hide(found)
            end = found.end()
        at = body.find(b"tok", max(end, at + 1))
    return b"".join((*kept, body[end:])) if end else body


@lru_cache(maxsize=4096)
def _hidden_plainly(field: bytes) -> bytes | None:
    """The end of a field with a token, as nearly all of them are written: `,"auth_token":"…"` from its "tok" on, or
    `…_token":"tok_…"` from its value on. None if it is anything else, or has an escape. `field` begins _BEFORE that
    "tok" and ends with the quote behind the value."""
    is_named = field.startswith(b'"auth_token":"', 1)
    is_value = field.startswith(b'"tok_', _BEFORE - 1) and field.find(b'"', _BEFORE) == len(field) - 1
    if field.find(b"\\") >= 0 or not (is_named or is_value):
        return None
    if is_value:
        return _masked(field[_BEFORE:-1]) + b'"'
    found = _TOKEN.match(field, _BEFORE)
    assert found is not None, "it is a token, whatever its value is"
    return _hide(found)


def _plain(escape: re.Match[bytes]) -> bytes:
    """A letter, digit or _ written as an escape, so that no token hides in one; the JSON means the same."""
    char = bytes.fromhex(escape[1].decode()) if escape[1] else b""
    return char if char.isalnum() or char == b"_" else escape[0]


def _hide(found: re.Match[bytes]) -> bytes:
    group = found.lastgroup
    if group is None:
        return _masked(found[0])
    if group == "value":
        return b'token%b"%b"' % (found["key"], _masked(found["value"])) if found["value"] else found[0]
    if group == "inner_value":
        return b"token%b%b" % (found["inner"], found["inner_value"] and _masked(found["inner_value"]))
    return found[0] if group == "empty" else b'token%b"%b"' % (found["key"], _HIDDEN)


def _masked(token: bytes) -> bytes:
    if token in _SHOWN:
        return token
    # Half an escape, or what it stood for, would break the JSON around it.
    return _HIDDEN if token.find(b"\\") >= 0 else masked(token.decode(errors="replace")).encode()


def without_tokens(text: str) -> str:
    """A text without its tokens."""
    if text.isascii() and "tok" not in text and "\\" not in text:
        return text  # nearly always, and documents are full of text
    return mask(text.encode(errors="backslashreplace")).decode(errors="replace")


def escaped(text: str, keep: str = "") -> str:
    """The text with every character that is not printable written as an escape, but those to keep."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else ascii(char)[1:-1] for char in text)


def printable(text: str, keep: str = "") -> str:
    """The text as a terminal may be given it: without tokens, without control characters."""
    return escaped(without_tokens(text), keep)
