"""Many simulated leagues, one seed each, on all cores; and the fewest faults that still break the same promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from league.events import Event, LeagueSettings, ResultAccepted, ResultVoided
from league.promises import PromiseFinding, check
from league.simulation.faults import KINDS
from league.simulation.world import World

TWIN_EVERY = 50
"""Promise 18 costs a second run: it is checked on every fiftieth seed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated, whatever the seed."""

    players: int = 8
    referees: int = 2
    faults: float = 0.1
    game_type: str = "even_odd"
    double: bool = False
    dialects: float = 0.0
    outages: float = 0.0
    """How many of the leagues have power cuts, 0 to 1."""

    def settings(self, seed: int) -> LeagueSettings:
        return LeagueSettings(
            league_id=f"sim_{seed}",
            game_type=self.game_type,
            players=self.players,
            referees=self.referees,
            double=self.double,
        )


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one seed."""

    seed: int
    matches: int
    technical_losses: int
    finished: bool
    faults: Counter[str]
    broken: tuple[PromiseFinding, ...] = ()
    unobservable: tuple[int, ...] = ()
    excluded: frozenset[str] = field(default_factory=frozenset)


def play(plan: Plan, seed: int, excluded: frozenset[str] = frozenset()) -> Run:
    """One league, from its seed to the verdict on its promises."""
    world = World(plan.settings(seed), seed, plan.faults, excluded, plan.dialects, plan.outages)
    evidence = world.run()
    if seed % TWIN_EVERY == 0:
        twin = World(plan.settings(seed), seed, plan.faults, excluded, plan.dialects, plan.outages)
        twin.run()
        evidence = replace(evidence, twin_digest=(world.digest, twin.digest))
    report = check(evidence)
    results = in_force(evidence.manager)
    return Run(
        seed,
        matches=len(results),
        technical_losses=sum(event.status == "TECHNICAL_LOSS" for event in results),
        finished=evidence.finished,
        faults=world.faults.seen,
        broken=tuple(one for one in report.findings if one.verdict == "broken"),
        unobservable=tuple(one.promise for one in report.findings if one.verdict == "unobservable"),
        excluded=excluded,
    )


def in_force(manager: Sequence[Event]) -> list[ResultAccepted]:
    """The results that stand at the end."""
    found: dict[str, ResultAccepted] = {}
    for event in manager:
        if isinstance(event, ResultAccepted):
            found[event.match_id] = event
        elif isinstance(event, ResultVoided):
            found.pop(event.match_id, None)
    return list(found.values())


def play_many(plan: Plan, seeds: Sequence[int], jobs: int) -> Iterator[Run]:
    """All these seeds, in order."""
    if jobs == 1:
        yield from map(partial(play, plan), seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(partial(play, plan), seeds, chunksize=max(1, min(10, len(seeds) // (jobs * 4))))


def shortest(plan: Plan, seed: int) -> Run:
    """The same seed with as few kinds of faults as still break the same promise."""
    worst = play(plan, seed)
    for kind in KINDS:
        fewer = play(plan, seed, worst.excluded | {kind})
        if {one.promise for one in fewer.broken} & {one.promise for one in worst.broken}:
            worst = fewer
    return worst
