"""The clauses the kit judges by: clauses.json, written by scripts/generate.py from spec/requirements.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

FILE: Final = "clauses.json"


@dataclass(frozen=True, slots=True)
class Clause:
    """One requirement that can be observed from outside."""

    id: str
    level: str
    section: str
    kind: str
    observable: tuple[str, ...]
    sentence: str
    player_level: str = ""
    """The level for players, if it is a different one."""


@cache
def clauses() -> Mapping[str, Clause]:
    """Return every clause by its id, in the order of the specification's list."""
    rows = json.loads(files("league.features.kit").joinpath(FILE).read_text(encoding="utf-8"))
    return {row["id"]: Clause(**{**row, "observable": tuple(row["observable"])}) for row in rows}


def for_role(clause: Clause, role: str) -> Clause:
    """Return a clause with the level it has for this role."""
    if role == "player" and clause.player_level:
        return replace(clause, level=clause.player_level)
    return clause


def is_below(check_id: str, name: str) -> bool:
    """Is this the id with that name, or one below it?"""
    return check_id == name or check_id.startswith((f"{name}.", f"{name}/"))


def clauses_for(role: str) -> Mapping[str, Clause]:
    """Return the clauses that can be observed in an agent of this role, each with the level it has for that role."""
    return {name: for_role(clause, role) for name, clause in clauses().items() if role in clause.observable}
