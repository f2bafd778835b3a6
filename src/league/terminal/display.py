"""How text is shown to people: in colours where the terminal has them, its lines broken between words at its width.

Text that is painted carries its colour with it; what others wrote is made harmless first, so it never does.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import Final, TextIO

from league.protocol.safe_text import printable

_COLOUR: Final = re.compile(r"\x1b\[[0-9]*m")


class Style(Enum):
    """What a text is to its reader, and the code that shows it so."""

    GOOD = 32
    BAD = 31
    WARNING = 33
    STRONG = 1


class Painted(str):
    """Harmless text with its style."""

    __slots__ = ()


def paint(text: object, style: Style) -> Painted:
    """The text in this style."""
    return Painted(f"\x1b[{style.value}m{printable(str(text))}\x1b[0m")


def harmless(value: object, keep: str = "") -> str:
    """Text that others had a part in, without tokens and control characters. What is painted is so already."""
    return value if isinstance(value, Painted) else printable(str(value), keep)


def show(text: str, stream: TextIO | None = None) -> None:
    """Print this at once, as the stream takes it (stdout unless another is named)."""
    to = sys.stdout if stream is None else stream
    print(shown(text, to), file=to, flush=True)


def shown(text: str, stream: TextIO) -> str:
    """The text as this stream takes it."""
    if not has_colours(stream):
        text = _COLOUR.sub("", text)
    return wrap(text, shutil.get_terminal_size().columns) if stream.isatty() else text


def has_colours(stream: TextIO) -> bool:
    """NO_COLOR and FORCE_COLOR decide, then whether it is a terminal that knows colours."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    return forced != "0" if forced else is_capable(stream)


def is_capable(stream: TextIO) -> bool:
    """Is it a terminal that follows escape sequences?"""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


# --- lines ------------------------------------------------------------------------------------------------------------


def width(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    text = _COLOUR.sub("", text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def wrap(text: str, columns: int) -> str:
    """The text with longer lines broken between words; what is broken off is indented as its line is."""
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, columns))


def _pieces(line: str, columns: int) -> Iterator[str]:
    indent = " " * min(len(line) - len(line.lstrip(" ")), columns // 2)
    line = indent + line.lstrip(" ")
    while width(line) > columns:
        at = _break(line, len(indent), columns)
        if at < 0:
            break
        yield line[:at].rstrip(" ")
        line = indent + line[at:].lstrip(" ")
    yield line


def _break(line: str, start: int, columns: int) -> int:
    """The last space of the line that still fits, or the first after a word that does not; -1: there is none."""
    at = line.find(" ", start + 1)
    after = line.find(" ", at + 1) if at >= 0 else -1
    while after >= 0 and width(line[:after]) <= columns:
        at, after = after, line.find(" ", after + 1)
    return at if at >= 0 and line[at:].strip(" ") else -1
