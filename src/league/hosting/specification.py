"""The specification, which is part of the package: all of it, or a section."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from league.terminal import CommandError, did_you_mean

_HEADING: Final = re.compile(r"^(#{2,3}) ((?:\d+(?:\.\d+)?|[A-Z])(?=\s)) ?(.*)$")


@cache
def text() -> str:
    """The whole specification. In a checkout it is not in the package, but in a folder at the root."""
    installed = files("league") / "spec" / "league-v2.md"
    checked_out = Path(__file__).parents[3] / "spec" / "league-v2.md"
    for place in (installed, checked_out):
        if place.is_file():
            return place.read_text("utf-8")
    raise CommandError("the specification is missing from this installation")


class Section(NamedTuple):
    """A section of the specification. The lines of a chapter include those of its sections."""

    number: str
    title: str
    lines: Sequence[str]


class _Heading(NamedTuple):
    line: int
    level: int
    number: str
    title: str


def sections(whole: str) -> Iterator[Section]:
    """Every section of the specification, in order."""
    lines = whole.splitlines()
    headings = []
    for place, line in enumerate(lines):
        match = _HEADING.match(line)
        if match is not None:
            headings.append(_Heading(place, len(match[1]), match[2], match[3]))
    for position, heading in enumerate(headings):
        # A section ends at the next heading of its own level or a higher one.
        ends = (later.line for later in headings[position + 1 :] if later.level <= heading.level)
        end = next(ends, len(lines))
        yield Section(heading.number, heading.title, lines[heading.line : end])


def section(whole: str, name: str) -> Sequence[str]:
    """The lines of a section, by its number or its title; CommandError if there is no such section."""
    lines_by_name: dict[str, Sequence[str]] = {}
    for row in sections(whole):
        lines_by_name[row.number] = row.lines
        lines_by_name[row.title.lower()] = row.lines
    lines = lines_by_name.get(name.lower().rstrip(".").removeprefix("§"))
    if lines is None:
        suggestion = did_you_mean(name.lower(), lines_by_name) or "; `league spec` lists them"
        raise CommandError(f"the specification has no section {name!r}{suggestion}")
    return lines
