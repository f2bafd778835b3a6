"""The page docs/reference/conformance.md: how each clause is checked in a player."""

from __future__ import annotations

from collections.abc import Iterable

from league.conformance.acts import PROGRAMME
from league.conformance.checks import player_checks
from league.conformance.clauses import Clause, clauses_for
from league.conformance.outcome import Check

HEAD = """\
# What `league check player` checks

The kit plays manager and referee against a player and judges what comes back. It has a verdict for every clause of
`spec/requirements.toml` that somebody outside can see a player keep, under the clause's own id:

| verdict | means |
|---|---|
| pass | kept, as far as the kit looked |
| fail | a MUST is broken; the command exits with 1 |
| warn | a SHOULD is not kept, or a habit that may cost matches elsewhere |
| untestable | the kit could not see it, and says why: the player did not register, or something it builds on failed |

The acts it plays, in this order: {acts}. Clauses about registration need a player that is started with the kit as its
manager: `league check player URL --listen 8000`, then the player with `--manager http://127.0.0.1:8000/mcp`.

This page is written by `make generate`.

| clause | level | section | acts | what must be true |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    acts = ", ".join(name.replace("_", " ") for name in PROGRAMME)
    checks, clauses = player_checks(), clauses_for("player")
    lines = [_line(clauses[name], check) for name, check in checks.items()]
    return HEAD.format(acts=acts) + "".join(lines) + _never(checks.items())


def _line(clause: Clause, check: Check) -> str:
    acts = "never" if check.never else ", ".join(name.replace("_", " ") for name in PROGRAMME if name in check.acts)
    sentence = clause.sentence.replace("|", "\\|")
    return f"| `{clause.id}` | {clause.level} | {clause.section} | {acts} | {sentence} |\n"


def _never(checks: Iterable[tuple[str, Check]]) -> str:
    lines = [f"- `{name}`: {check.never}\n" for name, check in checks if check.never]
    return "\nClauses that are never testable from outside, and why:\n\n" + "".join(lines)
