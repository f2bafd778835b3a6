"""The checks for players: one table per section of the specification, and one of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from league_kit.checks import errors, fields, general, matches, notifications, registration, transport
from league_kit.clauses import clauses_for
from league_kit.outcome import Check

SECTIONS = (transport, errors, registration, matches, notifications, general)


@cache
def player_checks() -> Mapping[str, Check]:
    """Every check for players by the id of its clause, in the order of the specification's list."""
    own: dict[str, Check] = {}
    for section in SECTIONS:
        own.update(section.CHECKS)
    observable = clauses_for("player")
    made = {**own, **fields.checks(observable, own)}
    return {name: made[name] for name in [*observable, *made] if name in made}
