"""What others wrote, made safe to keep and to show: tokens are masked, and no character of it controls a terminal."""

from __future__ import annotations

import re

from league.protocol.tokens import masked

_SHOWN = (b"tok_", "tok_…".encode())
"""What is left of a token that its sender masked already."""
_ESCAPE = re.compile(rb"\\(?:u00([2-7][0-9A-Fa-f])|.)", re.DOTALL)
# It begins with three plain letters, and what stands before them is looked at behind them: so the search is fast.
_TOKEN = re.compile(
    rb"""tok(?:
        en(?<="auth_token)(?<!\\"auth_token) (?P<key>"\s*+:\s*+)
            (?: "(?P<value>(?:[^"\\]|\\.)*+)"?+
              | (?P<empty>null\b)
              | [\[{].*+ | [^\s,\]}]++ )            # no token looks so; nothing behind a [ or { is kept
      | en(?<=auth_token) (?P<inner> \\*+["']\s*+:\s*+\\*+["'] | = )   # JSON as text in JSON (MCP tools); a form
            (?P<inner_value>[^"'\\&\s]*+)
      | _(?<="tok_)(?<!\\"tok_) (?:[^"\\]|\\.)*+
      | _(?<![A-Za-z0-9]tok_) [A-Za-z0-9_.~+/=-]*+
    )""",
    re.VERBOSE | re.DOTALL,
)


def mask(body: bytes) -> bytes:
    """The body without its tokens: every value of `auth_token` and everything that starts with tok_."""
    if b"\\u" in body:
        body = _ESCAPE.sub(_plain, body)
    return _TOKEN.sub(_hide, body) if b"tok" in body else body


def _plain(escape: re.Match[bytes]) -> bytes:
    """A letter, digit or _ written as an escape, so that no token hides in one; the JSON means the same."""
    char = bytes.fromhex(escape[1].decode()) if escape[1] else b""
    return char if char.isalnum() or char == b"_" else escape[0]


def _hide(found: re.Match[bytes]) -> bytes:
    key, value, inner = found["key"], found["value"], found["inner"]
    if key is not None:
        return found[0] if found["empty"] or value == b"" else b'token%b"%b"' % (key, _masked(value or b""))
    if inner is not None:
        return b"token%b%b" % (inner, found["inner_value"] and _masked(found["inner_value"]))
    return _masked(found[0])


def _masked(token: bytes) -> bytes:
    if token in _SHOWN:
        return token
    # Half an escape, or what it stood for, would break the JSON around it.
    return "…".encode() if b"\\" in token else masked(token.decode(errors="replace")).encode()


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
