"""The specification, which is part of the package: all of it, or a section.

It has two pages, the protocol and what concerns older documents and dialects. No number of a section is on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from league.terminal import CommandError, did_you_mean

_HEADING: Final = re.compile(r"^(#{2,3}) (\d+(?:\.\d+)?) (.+)$")
_PAGES: Final = ("league-v2.md", "compatibility.md")


@cache
def pages() -> Sequence[str]:
    """Return the text of each page. In a checkout they are not in the package, but in a folder at the root."""
    installed = files("league") / "spec"
    checked_out = Path(__file__).parents[3] / "spec"
    for folder in (installed, checked_out):
        if all((folder / name).is_file() for name in _PAGES):
            return [(folder / name).read_text("utf-8") for name in _PAGES]
    raise CommandError("the specification is missing from this installation")


def text() -> str:
    """Return the whole specification."""
    return "\n".join(pages())


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


def sections() -> Sequence[Section]:
    """Return every section of the specification, by number."""
    found = (section for page in pages() for section in _sections_of(page.splitlines()))
    return sorted(found, key=lambda section: [int(part) for part in section.number.split(".")])


def _sections_of(lines: Sequence[str]) -> Iterator[Section]:
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


def section(name: str) -> Sequence[str]:
    """Return the lines of a section, by its number or its title; CommandError if there is no such section."""
    lines_by_name: dict[str, Sequence[str]] = {}
    for row in sections():
        lines_by_name[row.number] = row.lines
        lines_by_name[row.title.lower()] = row.lines
    lines = lines_by_name.get(name.lower().rstrip(".").removeprefix("§"))
    if lines is None:
        suggestion = did_you_mean(name.lower(), lines_by_name) or "; `league spec` lists them"
        raise CommandError(f"the specification has no section {name!r}{suggestion}")
    return lines
