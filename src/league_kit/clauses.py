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
    """One requirement, as far as somebody outside can see it kept."""

    id: str
    level: str
    section: str
    kind: str
    observable: tuple[str, ...]
    sentence: str
    player_level: str = ""
    """The level for players, where it is another."""


@cache
def clauses() -> Mapping[str, Clause]:
    """Every clause by its id, in the order of the specification's list."""
    rows = json.loads(files("league_kit").joinpath(FILE).read_text(encoding="utf-8"))
    return {row["id"]: Clause(**{**row, "observable": tuple(row["observable"])}) for row in rows}


def clauses_for(role: str) -> Mapping[str, Clause]:
    """The clauses that can be observed in an agent of this role, each with the level it has for that role."""
    found = {name: one for name, one in clauses().items() if role in one.observable}
    if role != "player":
        return found
    return {name: replace(one, level=one.player_level or one.level) for name, one in found.items()}
