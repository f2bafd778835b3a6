"""A run of the kit: the programme is played once, then every check judges the record."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from league.conformance.acts import play
from league.conformance.checks import player_checks
from league.conformance.clauses import Clause, clauses_for
from league.conformance.house import House
from league.conformance.kit import Kit, Options
from league.conformance.outcome import Outcome, Verdict, judged
from league.conformance.record import Record

REJECTED, RETRIES = "REGISTER.stops_when_rejected", "REGISTER.retries"
ROBUST = (
    *("RPC.object", "RPC.batch", "RPC.bad_id", "RPC.unknown_method", "RPC.method_contradicts_type"),
    *("HTTP.other_statuses", "HTTP.origin_and_host", "READING.null_is_absent"),
)
BEFORE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("readings", "strict_json", "requests", "http", "end"), ("dialect",)),
    "methods": ("readings", "dialect"),
}
"""Acts that others build upon."""


@dataclass(frozen=True, slots=True)
class Result:
    """One clause and what became of it."""

    clause: Clause
    outcome: Outcome

    @property
    def verdict(self) -> Verdict:
        return self.outcome.verdict

    @property
    def is_robustness(self) -> bool:
        """Is it about requests that no right caller makes?"""
        return self.clause.section == "2.6" or self.clause.id in ROBUST


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run."""

    record: Record
    results: tuple[Result, ...]
    seconds: float
    manager_url: str

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

    def of(self, verdict: Verdict) -> list[Result]:
        """The results with this verdict; what may lose matches comes before what only makes a player robust."""
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


def acts_of(ids: list[str], alone: bool) -> frozenset[str]:
    """What has to be played to judge these; registering is never left out, as the player's id comes from it."""
    checks = player_checks()
    acts = {"registration", *(act for name in ids for act in checks[name].acts)}
    for act in tuple(acts):
        acts.update(BEFORE.get(act, ()))
    return frozenset({"registration"} if alone else acts)


async def run(options: Options, said: Callable[[str], None] = lambda _: None) -> Report:
    """Play the programme against the player; `said` is told what a person should know meanwhile."""
    ids = chosen(options.only)
    alone = ids == [REJECTED]
    record = Record(options.target, options.time_scale)
    house = House(record, reject=alone, drops_first=options.drops_first or RETRIES in options.only)
    began = time.monotonic()
    await house.open(options.host, options.listen or 0)
    try:
        kit = Kit(options, record, house)
        if options.listen is not None:
            said(f"ready: {kit.manager_url}")
        await play(kit, acts_of(ids, alone))
    finally:
        await house.close()
    checks, clauses = player_checks(), clauses_for("player")
    results = tuple(Result(clauses[name], judged(checks[name], clauses[name], record)) for name in ids)
    return Report(record, results, time.monotonic() - began, kit.manager_url)


def check_player(options: Options, said: Callable[[str], None] = lambda _: None) -> Report:
    """The same, for callers without a loop."""
    return asyncio.run(run(options, said))
