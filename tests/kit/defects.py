"""Defects as data: a player, the clause it breaks, and what the kit must say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.clauses import clauses_for
from league.features.kit.runner import CheckReport
from tests.support.scripts import Reaction, on


@dataclass(frozen=True, slots=True)
class Defect:
    """A player, the clause it breaks, and the warnings that are true of it as well."""

    clause: str
    player: dict[str, Any]
    warns: frozenset[str] = frozenset()
    time_scale: float = 1.0

    @property
    def fails(self) -> set[str]:
        """A MUST that is broken is a failure."""
        return {self.clause} if self.clause and clauses_for("player")[self.clause].level == "MUST" else set()

    @property
    def warned(self) -> set[str]:
        """A SHOULD that is not kept is a warning."""
        return {*self.warns, *({self.clause} - {""} - self.fails)}


def broken_by(clause: str, *warns: str, time_scale: float = 1.0, note: str = "", **player: Any) -> Any:
    """A test case. (Any: the fields of Conforming, and what pytest makes of a case.)"""
    name = f"{clause}{'-' if note else ''}{note}"
    return pytest.param(Defect(clause, player, frozenset(warns), time_scale), id=name)


def says(kind: str, **fields: object) -> dict[str, Any]:
    """A script that changes what is answered to this."""
    return {"script": on(kind, Reaction(fields=fields))}


def failed(report: CheckReport) -> set[str]:
    return {one.clause.id for one in report.of(CheckVerdict.FAIL)}


def warned(report: CheckReport) -> set[str]:
    return {one.clause.id for one in report.of(CheckVerdict.WARN)}


def told(report: CheckReport) -> str:
    found = [*report.of(CheckVerdict.FAIL), *report.of(CheckVerdict.WARN)]
    return "\n".join(f"{one.clause.id}: {one.outcome.detail}" for one in found)
