"""The checks for players: the rows of checks.toml, and the functions that judge them by the record of a run.

A check sends nothing and changes nothing. Clauses about the fields of a message need no row: they are judged alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from league.features.kit.checks import (
    field_checks,
    general_checks,
    match_checks,
    notification_checks,
    outcome,
    registration_checks,
    signature_checks,
    transport_checks,
)
from league.features.kit.checks.outcome import NEEDS, Check, CheckOutcome, CheckVerdict, untestable
from league.features.kit.clauses import Clause, clauses_for
from league.features.kit.driver.record import RunRecord
from league.features.kit.driver.templates import table

JUDGES: Mapping[str, Any] = {
    name: function
    for module in (
        field_checks,
        general_checks,
        match_checks,
        notification_checks,
        outcome,
        signature_checks,
        registration_checks,
        transport_checks,
    )
    for name, function in vars(module).items()
}
"""The functions that rows name. Any: their second argument is the row, or (of fields) the clause."""


@cache
def player_checks() -> Mapping[str, Check]:
    """Return every check for players by the id of its clause, in the order of the specification's list."""
    rows = dict(table("checks", "checks.toml"))
    of_fields = rows.pop("fields")
    checks = {}
    for name, clause in clauses_for("player").items():
        row: dict[str, Any] = rows.get(name, {})
        if not row and clause.kind == "field":
            row = {"judge": "field", "scenarios": of_fields.get(name.partition(".")[0], of_fields["ENVELOPE"])}
        row = {field: tuple(value) if isinstance(value, list) else value for field, value in row.items()}
        checks[name] = Check(name, **{"labels": (name,), **row})
    return checks


def judged(check: Check, clause: Clause, record: RunRecord) -> CheckOutcome:
    """Return the outcome of a check; a SHOULD never fails."""
    if check.never:
        return untestable(check.never)
    missing = NEEDS[check.needs](record)
    result: CheckOutcome = missing or JUDGES[check.judge](record, check)
    if result.verdict is CheckVerdict.FAIL and clause.level == "SHOULD":
        return replace(result, verdict=CheckVerdict.WARN)
    return result
