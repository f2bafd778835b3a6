"""Third-party texts, made safe to keep and to show: tokens are masked, and no character controls a terminal.

Theory of operation. `mask` searches a body for "tok", with which every token and the end of every `auth_token` begin.
What stands before these letters is checked by looking behind. Nearly all tokens stand in a plain field, which two tests
recognise (`_plain_field`); the pattern `_TOKEN` handles everything else. Both must hide the same bytes. Masked JSON
stays JSON, and no token of a body may survive, even one that is written with escapes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from league.protocol.signing.tokens import masked

_SHOWN = (b"tok_", "tok_…".encode())
"""What remains of a token that its sender masked."""
_HIDDEN = "…".encode()
_ESCAPE = re.compile(rb"\\(?:u00([2-7][0-9A-Fa-f])|.)", re.DOTALL)
# It begins with three plain letters, for which `find` searches; look-behinds check what stands before them.
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
# The shape of a plain field: what stands before its "tok", where its value begins after that, its greatest length.
_BEFORE = len(',"auth_')
_VALUE = len('token":"')
_LONGEST = 256


def mask(body: bytes) -> bytes:
    """The body without its tokens: without every value of `auth_token` and everything that starts with tok_."""
    # Every message is masked, so speed matters: `find` is faster than `in` and than the search for a pattern.
    if body.find(b"\\") >= 0 and body.find(b"\\u") >= 0:
        body = _ESCAPE.sub(_plain, body)
    parts: list[bytes] = []
    end = 0
    at = body.find(b"tok")
    while at >= 0:
        close = body.find(b'"', at + _VALUE, at + _LONGEST) + 1
        hidden = None
        if close and at >= _BEFORE:
            hidden = _plain_field(body[at - _BEFORE : close])
        if hidden is not None:
            parts += body[end:at], hidden
            end = close
        elif token := _TOKEN.match(body, at):
            parts += body[end:at], _hide(token)
            end = token.end()
        at = body.find(b"tok", max(end, at + 1))
    if not end:
        return body
    parts.append(body[end:])
    return b"".join(parts)


@lru_cache(maxsize=4096)
def _plain_field(field: bytes) -> bytes | None:
    """Mask a plain field: `,"auth_token":"…"` from its "tok" on, or `…_token":"tok_…"` from its value on.

    `field` begins _BEFORE that "tok" and ends with the quote after the value. None if it is anything else, or has an
    escape.
    """
    is_named = field.startswith(b'"auth_token":"', 1)
    is_value = field.startswith(b'"tok_', _BEFORE - 1) and field.find(b'"', _BEFORE) == len(field) - 1
    if field.find(b"\\") >= 0 or not (is_named or is_value):
        return None
    if is_value:
        return _masked(field[_BEFORE:-1]) + b'"'
    token = _TOKEN.match(field, _BEFORE)
    assert token is not None, "it is a token, whatever its value is"
    return _hide(token)


def _plain(escape: re.Match[bytes]) -> bytes:
    """Replace the escape of a letter, digit or _ by the character, so that no token hides in escapes.

    The JSON means the same.
    """
    if not escape[1]:
        return escape[0]
    char = bytes.fromhex(escape[1].decode())
    return char if char.isalnum() or char == b"_" else escape[0]


def _hide(token: re.Match[bytes]) -> bytes:
    """The replacement of a token that the pattern matched; its last group tells in which form it was written."""
    group = token.lastgroup
    if group is None:
        return _masked(token[0])
    if group == "empty":
        return token[0]
    if group == "value":
        if not token["value"]:
            return token[0]
        return b'token%b"%b"' % (token["key"], _masked(token["value"]))
    if group == "inner_value":
        return b"token%b%b" % (token["inner"], token["inner_value"] and _masked(token["inner_value"]))
    return b'token%b"%b"' % (token["key"], _HIDDEN)


def _masked(token: bytes) -> bytes:
    if token in _SHOWN:
        return token
    if token.find(b"\\") >= 0:
        # Half an escape, or what it stood for, would break the JSON around it.
        return _HIDDEN
    return masked(token.decode(errors="replace")).encode()


def without_tokens(text: str) -> str:
    """The text without its tokens."""
    if text.isascii() and "tok" not in text and "\\" not in text:
        # Nearly always, and documents are full of text.
        return text
    return mask(text.encode(errors="backslashreplace")).decode(errors="replace")


LONGEST_EXCERPT = 80


def excerpt(body: bytes) -> str:
    """The beginning of a third-party body as it is quoted: on one line, without tokens and control characters."""
    text = mask(body[: 4 * LONGEST_EXCERPT]).decode(errors="replace")
    line = " ".join(text.split())
    if len(line) > LONGEST_EXCERPT:
        line = line[: LONGEST_EXCERPT - 1] + "…"
    return escaped(line)


_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that steer a terminal, or turn the direction of the text around them."""


def steady(text: str) -> str:
    """The text with characters that steer written as escapes; a page may show everything else."""
    if text.isprintable():
        return text
    return _STEERING.sub(lambda char: ascii(char[0])[1:-1], text)


def escaped(text: str, keep: str = "") -> str:
    """The text with unprintable characters written as escapes, except for those in `keep`."""
    if text.isprintable():
        return text
    chars = list(text)
    for place, char in enumerate(chars):
        if not char.isprintable() and char not in keep:
            # ascii() puts quotes around it.
            chars[place] = ascii(char)[1:-1]
    return "".join(chars)


def printable(text: str, keep: str = "") -> str:
    """The text as a terminal may show it: without tokens and without control characters."""
    return escaped(without_tokens(text), keep)
