"""A run of the kit: the scenarios are run once, then every check judges the record."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from league_kit.checks import player_checks
from league_kit.clauses import Clause, clauses_for
from league_kit.kit import Notify, Options, open_kit
from league_kit.kit_server import KitServer
from league_kit.outcome import CheckOutcome, Verdict, judged
from league_kit.record import RunRecord
from league_kit.scenarios import run_scenarios

RETRIES = "REGISTER.retries"
REJECTING: Mapping[str, str] = {"REGISTER.stops_when_rejected": "E020", "REGISTER.waits_for_approval": "E043"}
"""Checks that need a run of their own, and the error with which its registration is rejected."""
ROBUST = (
    *("RPC.object", "RPC.batch", "RPC.bad_id", "RPC.unknown_method", "RPC.method_contradicts_type"),
    *("HTTP.other_statuses", "HTTP.origin_and_host", "READING.null_is_absent"),
)
BEFORE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("readings", "strict_json", "requests", "http", "end"), ("dialect",)),
    "methods": ("readings", "dialect"),
}
"""Scenarios that need others before them."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One clause and the outcome of its check."""

    clause: Clause
    outcome: CheckOutcome
    bad_input: str = ""
    """What was sent, where the result is about one bad input of many."""

    @property
    def name(self) -> str:
        """What the result is called in reports."""
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
        return Counter(one.verdict for one in self.results)

    @property
    def passed(self) -> bool:
        """No MUST fails."""
        return not self.counts[Verdict.FAIL]

    @property
    def dialect(self) -> str | None:
        return self.record.convention.value if self.record.convention else None

    def of(self, verdict: Verdict) -> list[CheckResult]:
        """The results with this verdict; those about robustness come last."""
        found = [one for one in self.results if one.verdict is verdict]
        return sorted(found, key=lambda one: one.is_robustness)


def chosen(only: tuple[str, ...]) -> list[str]:
    """The ids of the checks to run; ValueError names one that does not exist."""
    known = list(player_checks())
    for name in only:
        if not any(one == name or one.startswith(f"{name}.") for one in known):
            raise ValueError(f"there is no check {name}; --list shows all")
    if not only:
        return known
    return [one for one in known if any(one == name or one.startswith(f"{name}.") for name in only)]


def scenarios_of(ids: list[str], alone: bool) -> frozenset[str]:
    """The scenarios that these checks need. Registration is never left out: the player's id comes from it."""
    checks = player_checks()
    found = {"registration", *(one for name in ids for one in checks[name].scenarios)}
    for one in tuple(found):
        found.update(BEFORE.get(one, ()))
    return frozenset({"registration"} if alone else found)


async def run(options: Options, notify: Notify = lambda _: None) -> CheckReport:
    """Run the scenarios against the player and judge the record."""
    ids = chosen(options.only)
    rejects = REJECTING.get(ids[0], "") if len(ids) == 1 else ""
    record = RunRecord(options.target, options.time_scale)
    server = KitServer(record, rejects, drops_first=options.drops_first or RETRIES in options.only)
    began = time.monotonic()
    async with open_kit(options, server, record, notify) as kit:
        await run_scenarios(kit, scenarios_of(ids, alone=bool(rejects)))
    checks, clauses = player_checks(), clauses_for("player")
    results = tuple(CheckResult(clauses[name], judged(checks[name], clauses[name], record)) for name in ids)
    return CheckReport(record, results, time.monotonic() - began, kit.manager_url)


def check_player(options: Options, notify: Notify = lambda _: None) -> CheckReport:
    """`run`, for callers without an event loop."""
    return asyncio.run(run(options, notify))
