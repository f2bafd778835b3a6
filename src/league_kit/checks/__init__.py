"""The checks for players: one table per section of the specification, and one of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from league_kit.checks import (
    errors,
    fields,
    general,
    matches,
    notifications,
    registration,
    transport,
)
from league_kit.clauses import clauses_for
from league_kit.outcome import Check

SECTIONS = (transport, errors, registration, matches, notifications, general)


@cache
def player_checks() -> Mapping[str, Check]:
    """Return every check for players by the id of its clause, in the order of the specification's list."""
    checks: dict[str, Check] = {}
    for section in SECTIONS:
        checks.update(section.CHECKS)
    observable = clauses_for("player")
    checks.update(fields.checks(observable, checks))
    return {name: checks[name] for name in [*observable, *checks] if name in checks}
