"""The checks: the rows of a table for each role, and the functions that judge them by the record of a run.

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
    manager_checks,
    match_checks,
    notification_checks,
    outcome,
    referee_checks,
    registration_checks,
    signature_checks,
    transport_checks,
)
from league.features.kit.checks.outcome import NEEDS, Check, CheckOutcome, CheckVerdict, untestable
from league.features.kit.clauses import Clause, clauses_for
from league.features.kit.driver.record import RunRecord
from league.features.kit.driver.templates import table
from league.protocol.message.messages import AMONG_OURS

JUDGES: Mapping[str, Any] = {
    name: function
    for module in (
        field_checks,
        general_checks,
        manager_checks,
        match_checks,
        notification_checks,
        outcome,
        referee_checks,
        signature_checks,
        registration_checks,
        transport_checks,
    )
    for name, function in vars(module).items()
}
"""The functions that rows name. Any: their second argument is the row, or (of fields) the clause."""


@cache
def checks_for(role: str) -> Mapping[str, Check]:
    """Return every check for agents of this role by the id of its clause, in the order of the specification's list."""
    rows = dict(table("checks", f"{role}.toml"))
    of_fields = rows.pop("fields", {"ENVELOPE": ()})
    checks = {}
    for name, clause in clauses_for(role).items():
        message = name.partition(".")[0]
        row: dict[str, Any] = rows.get(name, {})
        if not row and clause.kind == "field" and message not in AMONG_OURS:
            row = {"judge": "field", "scenarios": of_fields.get(message, of_fields["ENVELOPE"])}
        if row:
            row = {field: tuple(value) if isinstance(value, list) else value for field, value in row.items()}
            checks[name] = Check(name, **{"labels": (name,), **row})
    return checks


def judged(check: Check, clause: Clause, record: RunRecord) -> CheckOutcome:
    """Return the outcome of a check; a SHOULD never fails."""
    if check.never:
        return untestable(check.never)
    missing = NEEDS[check.needs](record)
    result: CheckOutcome = missing or JUDGES[check.judge](record, check)
    if result.verdict is CheckVerdict.FAIL and "SHOULD" in (clause.level, check.level):
        return replace(result, verdict=CheckVerdict.WARN)
    return result
