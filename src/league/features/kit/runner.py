"""A run of the kit: the scenarios are run once, then every check judges the record."""

# Theory of operation
#
# `run` opens the kit, runs the scenarios that the chosen checks need (`scenarios/`), and closes it. Only then does each
# check judge the finished record. So a check never sends anything, the order of checks does not matter, and a clause
# that could not be observed is `untestable` instead of failed.
#
# Some checks need a run of their own, because they spoil it for the others: a rejected player does not play. They run
# only when they are chosen alone; in a full run they are untestable and say how to run them.

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from league.features.kit.checks import checks_for, judged
from league.features.kit.checks.manager_checks import would_lead
from league.features.kit.checks.outcome import CheckOutcome, CheckVerdict
from league.features.kit.checks.playing import Playing, would_play
from league.features.kit.checks.referee_checks import would_referee
from league.features.kit.clauses import Clause, clauses_for, is_below
from league.features.kit.driver.kit import Notify, Options, open_kit
from league.features.kit.driver.record import RunRecord
from league.features.kit.driver.server import KitServer
from league.features.kit.scenarios.programme import run_scenarios
from league.protocol.conventions import Convention

RETRIES = "REGISTER.retries"
WOULD_PLAY: Final = {"player": would_play, "referee": would_referee, "manager": would_lead}
ROLE_SCENARIOS: Final = {"referee": frozenset({"registration", "refereeing"}), "manager": frozenset({"leading"})}
"""The scenarios of referees and managers; those of players depend on the checks that are chosen."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One clause and the outcome of its check."""

    clause: Clause
    outcome: CheckOutcome
    bad_input: str = ""
    """The id of the input, where the result is about one bad input of many."""

    @property
    def name(self) -> str:
        """The name of the result in reports."""
        return self.bad_input or self.clause.id

    @property
    def verdict(self) -> CheckVerdict:
        return self.outcome.verdict

    @property
    def is_robustness(self) -> bool:
        """Is it about requests that no correct caller makes?"""
        check = checks_for("player").get(self.clause.id)
        return bool(self.bad_input) or self.clause.section == "2.6" or (check is not None and check.is_robustness)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A whole run."""

    record: RunRecord
    results: tuple[CheckResult, ...]
    seconds: float
    role: str = "player"

    @property
    def counts(self) -> Counter[CheckVerdict]:
        return Counter(result.verdict for result in self.results)

    @property
    def passed(self) -> bool:
        """Is no MUST broken, and would the agent play?"""
        is_idle = self.role != "player" and self.playing.would_play is False
        return not self.counts[CheckVerdict.FAIL] and not is_idle

    @property
    def playing(self) -> Playing:
        """Whether the agent would play in a league."""
        if any(result.bad_input for result in self.results):
            return Playing(None)
        return WOULD_PLAY[self.role](self.record)

    @property
    def dialect(self) -> str | None:
        """The name of the agent's calling convention; the case of a type makes no difference here."""
        convention = self.record.convention
        if convention is Convention.LOWER:
            convention = Convention.TYPE
        return convention.value if convention else None

    def of(self, verdict: CheckVerdict) -> list[CheckResult]:
        """Return the results with this verdict; those about robustness come last."""
        results = [result for result in self.results if result.verdict is verdict]
        return sorted(results, key=lambda result: result.is_robustness)


def chosen(only: tuple[str, ...], role: str = "player") -> list[str]:
    """Return the ids of the checks to run; ValueError names one that does not exist."""
    ids = list(checks_for(role))
    for name in only:
        if not any(is_below(check_id, name) for check_id in ids):
            raise ValueError(f"there is no check {name}; --list shows all")
    if not only:
        return ids
    return [check_id for check_id in ids if any(is_below(check_id, name) for name in only)]


def scenarios_of(ids: list[str]) -> frozenset[str]:
    """Return the scenarios that these checks need. Registration is always one: the player's id comes from it."""
    checks = [checks_for("player")[check_id] for check_id in ids]
    scenarios = {"registration", *(scenario for check in checks for scenario in check.scenarios)}
    # These need to know how the player is called, and some need what others leave behind.
    if scenarios & {"readings", "strict_json", "requests", "http", "end", "methods"}:
        scenarios.add("dialect")
    if "methods" in scenarios:
        scenarios.add("readings")
    return frozenset(scenarios)


async def run(options: Options, notify: Notify = lambda _: None, role: str = "player") -> CheckReport:
    """Run the scenarios against the agent and judge the record."""
    ids = chosen(options.only, role)
    checks = [checks_for(role)[check_id] for check_id in ids]
    record = RunRecord(options.target, options.time_scale, role)
    rejects = checks[0].rejects if len(checks) == 1 else ""
    server = KitServer(record, rejects, drops_first=RETRIES in options.only)
    began = time.monotonic()
    async with open_kit(options, server, record, notify) as kit:
        await run_scenarios(kit, ROLE_SCENARIOS.get(role) or scenarios_of(ids))
    clauses = clauses_for(role)
    results = tuple(CheckResult(clauses[check.id], judged(check, clauses[check.id], record)) for check in checks)
    return CheckReport(record, results, time.monotonic() - began, role)
