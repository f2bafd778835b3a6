"""The specification, which is part of the package: whole, and by its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from league.terminal import CommandError, did_you_mean

_HEADING: Final = re.compile(r"^(#{2,3}) ((?:\d+(?:\.\d+)?|[A-Z])(?=\s)) ?(.*)$")


@cache
def text() -> str:
    """It is part of the package; in a checkout it stands beside it."""
    for place in (files("league") / "spec" / "league-v2.md", Path(__file__).parents[3] / "spec" / "league-v2.md"):
        if place.is_file():
            return place.read_text("utf-8")
    raise CommandError("the specification is missing from this installation")


def sections(whole: str) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Number, title and lines of every section; those of a chapter are all of its sections'."""
    lines = whole.splitlines()
    heads = [(at, found) for at, line in enumerate(lines) if (found := _HEADING.match(line)) is not None]
    for position, (at, head) in enumerate(heads):
        after = (end for end, other in heads[position + 1 :] if len(other[1]) <= len(head[1]))
        yield head[2], head[3], lines[at : next(after, len(lines))]


def section(whole: str, wanted: str) -> Sequence[str]:
    """The lines of a section, by its number or its title; CommandError if there is none."""
    known: dict[str, Sequence[str]] = {}
    for number, title, lines in sections(whole):
        known |= {number: lines, title.lower(): lines}
    found = known.get(wanted.lower().rstrip(".").removeprefix("§"))
    if found is None:
        near = did_you_mean(wanted.lower(), known) or "; `league spec` lists them"
        raise CommandError(f"the specification has no section {wanted!r}{near}")
    return found
