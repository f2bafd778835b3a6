"""Text for people: in colours if the terminal has them, with lines broken between words at the terminal's width.

Painted text carries its colour codes with it. Third-party text is made harmless first, so it never carries any.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import Final, TextIO

from league.protocol.safe_text import printable
from league.terminal import terminal_size

_COLOUR: Final = re.compile(r"\x1b\[[0-9]*m")


class Style(Enum):
    """The meaning of a text for its reader, and the colour code that shows it."""

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
    """Text without tokens and control characters. Painted text is harmless already."""
    if isinstance(value, Painted):
        return value
    return printable(str(value), keep)


def show(text: str, stream: TextIO | None = None) -> None:
    """Print text at once, in the form that suits the stream (default: stdout)."""
    if stream is None:
        stream = sys.stdout
    print(shown(text, stream), file=stream, flush=True)


def shown(text: str, stream: TextIO) -> str:
    """The text in the form that suits a stream: without colours if it has none, and wrapped if it is a terminal."""
    if not has_colours(stream):
        text = _COLOUR.sub("", text)
    if stream.isatty():
        text = wrap(text, terminal_size().columns)
    return text


def has_colours(stream: TextIO) -> bool:
    """True if a stream gets colours. NO_COLOR and FORCE_COLOR decide first, then the kind of terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return is_capable(stream)


def is_capable(stream: TextIO) -> bool:
    """True for a terminal that understands escape sequences."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


# --- lines ------------------------------------------------------------------------------------------------------------


def width(text: str) -> int:
    """The number of columns that a text takes up."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(map(_char_width, _COLOUR.sub("", text)))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 1


def wrap(text: str, columns: int) -> str:
    """The text with long lines broken between words. Continuation lines keep the indent of their line."""
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, columns))


def _pieces(line: str, columns: int) -> Iterator[str]:
    # A deep indent in a narrow terminal would leave no room for text.
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
    """The place of the last space at which the line fits, or of the first one if its first word is too long.

    -1 if the line cannot be broken.
    """
    place = line.find(" ", start + 1)
    if place < 0:
        return -1
    following = line.find(" ", place + 1)
    while following >= 0 and width(line[:following]) <= columns:
        place = following
        following = line.find(" ", place + 1)
    if not line[place:].strip(" "):
        return -1  # only spaces follow
    return place
