"""A run of the kit: the scenarios are run once, then every check judges the record."""

# Theory of operation
#
# `run` opens the kit, runs the scenarios that the chosen checks need (scenarios.py), and closes it. Only then does each
# check judge the finished record. So a check never sends anything, the order of checks does not matter, and a clause
# that could not be observed is `untestable` instead of failed.
#
# Some checks need a run of their own, because they spoil it for the others: a rejected player does not play. They run
# only when they are chosen alone; in a full run they are untestable and say how to run them.

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from league.protocol.conventions import Convention
from league_kit.checks import player_checks
from league_kit.clauses import Clause, clauses_for, is_below
from league_kit.kit import Notify, Options, open_kit
from league_kit.kit_server import KitServer
from league_kit.outcome import CheckOutcome, Verdict, judged
from league_kit.playing import Playing, would_play
from league_kit.record import RunRecord
from league_kit.scenarios import run_scenarios

RETRIES = "REGISTER.retries"
REJECTING: Mapping[str, str] = {
    "REGISTER.stops_when_rejected": "E020",
    "REGISTER.waits_for_approval": "E043",
}
"""Checks that need a run of their own, and the error with which its registration is rejected."""
ROBUST = (
    "RPC.object",
    "RPC.batch",
    "RPC.bad_id",
    "RPC.unknown_method",
    "RPC.method_contradicts_type",
    "HTTP.other_statuses",
    "HTTP.origin_and_host",
    "READING.null_is_absent",
)
BEFORE: Mapping[str, tuple[str, ...]] = {
    "readings": ("dialect",),
    "strict_json": ("dialect",),
    "requests": ("dialect",),
    "http": ("dialect",),
    "end": ("dialect",),
    "methods": ("readings", "dialect"),
}
"""Scenarios that need others before them."""


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
    def verdict(self) -> Verdict:
        return self.outcome.verdict

    @property
    def is_robustness(self) -> bool:
        """Is it about requests that no correct caller makes?"""
        return bool(self.bad_input) or self.clause.section == "2.6" or self.clause.id in ROBUST


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A whole run."""

    record: RunRecord
    results: tuple[CheckResult, ...]
    seconds: float
    manager_url: str
    role: str = "player"

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(result.verdict for result in self.results)

    @property
    def passed(self) -> bool:
        """Is no MUST broken?"""
        return not self.counts[Verdict.FAIL]

    @property
    def playing(self) -> Playing:
        """Whether the agent would play in a league."""
        if self.role != "player":
            return Playing(None)
        return would_play(self.record)

    @property
    def dialect(self) -> str | None:
        """The name of the agent's calling convention; the case of a type makes no difference here."""
        convention = self.record.convention
        if convention is Convention.LOWER:
            convention = Convention.TYPE
        return convention.value if convention else None

    def of(self, verdict: Verdict) -> list[CheckResult]:
        """Return the results with this verdict; those about robustness come last."""
        results = [result for result in self.results if result.verdict is verdict]
        return sorted(results, key=lambda result: result.is_robustness)


def chosen(only: tuple[str, ...]) -> list[str]:
    """Return the ids of the checks to run; ValueError names one that does not exist."""
    ids = list(player_checks())
    for name in only:
        if not any(is_below(check_id, name) for check_id in ids):
            raise ValueError(f"there is no check {name}; --list shows all")
    if not only:
        return ids
    return [check_id for check_id in ids if any(is_below(check_id, name) for name in only)]


def scenarios_of(ids: list[str], alone: bool) -> frozenset[str]:
    """Return the scenarios that these checks need. Registration is always one: the player's id comes from it."""
    if alone:
        return frozenset({"registration"})
    checks = player_checks()
    scenarios = {"registration"}
    for check_id in ids:
        scenarios.update(checks[check_id].scenarios)
    for scenario in tuple(scenarios):
        scenarios.update(BEFORE.get(scenario, ()))
    return frozenset(scenarios)


async def run(options: Options, notify: Notify = lambda _: None) -> CheckReport:
    """Run the scenarios against the player and judge the record."""
    ids = chosen(options.only)
    rejects = REJECTING.get(ids[0], "") if len(ids) == 1 else ""
    record = RunRecord(options.target, options.time_scale)
    server = KitServer(record, rejects, drops_first=options.drops_first or RETRIES in options.only)
    began = time.monotonic()
    async with open_kit(options, server, record, notify) as kit:
        await run_scenarios(kit, scenarios_of(ids, alone=bool(rejects)))
    checks = player_checks()
    clauses = clauses_for("player")
    results = []
    for check_id in ids:
        clause = clauses[check_id]
        outcome = judged(checks[check_id], clause, record)
        results.append(CheckResult(clause, outcome))
    return CheckReport(record, tuple(results), time.monotonic() - began, kit.manager_url)


def check_player(options: Options, notify: Notify = lambda _: None) -> CheckReport:
    """Do the same as `run`, for callers without an event loop."""
    return asyncio.run(run(options, notify))
