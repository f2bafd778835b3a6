"""Sections of the league page that other features bring.

A section shows the result of a view (`league.rows.ViewRow`). Its feature turns the result into parts: lists of
pieces, each piece plain data under the id of its HTML element. Two templates of the feature render them:
`NAME_section.html` is the section, and `NAME_parts.html` has a macro for each list. The live page compares, renders and
sends these pieces as it does its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from league.manager.league_manager import LeagueManager
from league.rows import SectionRow, ViewRow, every, load

Parts = Mapping[str, Mapping[str, object]]
"""The pieces in each list of the page, by the ids of their elements."""


@dataclass(frozen=True, slots=True)
class SectionView:
    """A section as it is shown now."""

    name: str
    parts: Parts
    is_pending: bool
    """True while its first result is being worked out."""

    @property
    def template(self) -> str:
        return f"{self.name}_section.html"


@cache
def section_rows() -> tuple[SectionRow, ...]:
    """The sections of all installed features."""
    return tuple(every(SectionRow))


def section_view(row: SectionRow, result: Any) -> SectionView:
    """A section with this result of its view; None while there is none (Any: results are the feature's own)."""
    parts_of = load(row.parts)
    return SectionView(row.view, parts_of(result), is_pending=result is None)


def sections_of(manager: LeagueManager) -> tuple[SectionView, ...]:
    """All sections of a league that does not change, worked out here and now."""
    # A running league works these out in the background (`league.hosting.background`).
    views = {row.name: row for row in every(ViewRow)}
    sections = []
    for row in section_rows():
        view = views[row.view]
        observe = load(view.observe)
        work_out = load(view.work_out)
        result = work_out(observe(manager))
        sections.append(section_view(row, result))
    return tuple(sections)
