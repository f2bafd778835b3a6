"""The checks for players: one table per section of the specification, and one of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from league_kit.checks import (
    error_checks,
    field_checks,
    general_checks,
    match_checks,
    notification_checks,
    receipt_checks,
    registration_checks,
    transport_checks,
)
from league_kit.clauses import clauses_for
from league_kit.outcome import Check

SECTIONS = (
    transport_checks,
    error_checks,
    registration_checks,
    match_checks,
    notification_checks,
    receipt_checks,
    general_checks,
)


@cache
def player_checks() -> Mapping[str, Check]:
    """Return every check for players by the id of its clause, in the order of the specification's list."""
    checks: dict[str, Check] = {}
    for section in SECTIONS:
        checks.update(section.CHECKS)
    observable = clauses_for("player")
    checks.update(field_checks.checks(observable, checks))
    return {name: checks[name] for name in [*observable, *checks] if name in checks}
