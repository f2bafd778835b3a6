"""Many simulated leagues, one seed each, on all cores; and the fewest faults that still break the same promise."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from random import Random
from typing import Literal, TypeVar

from league.events import LeagueSettings
from league.features.audit.promises import PromiseFinding, check
from league.features.audit.promises.grounds.event_history import in_force
from league.features.lab.simulation.faults import KINDS
from league.features.lab.simulation.misconduct.rewriting import unnoticed
from league.features.lab.simulation.world import World
from league.terminal import CommandError
from league.workers import worker_pool

Some = TypeVar("Some")
TWIN_EVERY = 50
"""Promise 18 costs a second run: it is checked on every fiftieth seed."""
LARGEST_CHUNK = 10
"""Maximum number of seeds that a process gets at once."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The shape of simulated leagues, whatever their seeds."""

    players: int = 8
    referees: int = 2
    faults: float = 0.1
    game_type: str = "even_odd"
    double: bool = False
    dialects: float = 0.0
    outages: float = 0.0
    """The share of leagues with power cuts, 0 to 1."""
    cheats: float = 0.0
    """The share of players that cheat, and of leagues with a rogue referee, 0 to 1."""
    late: int = 0
    """Number of additional players that come when the league may have begun."""
    trust: Literal["tokens", "class"] = "tokens"
    """With "class" some agents show no token, and count by their addresses."""
    rogues: float = 0.0
    """The share of leagues with a dishonest referee; the journals of such leagues are rewritten, too."""

    def settings(self, seed: int) -> LeagueSettings:
        """Return the settings of the league of this seed."""
        return LeagueSettings(
            league_id=f"sim_{seed}",
            game_type=self.game_type,
            players=self.players,
            referees=self.referees,
            double=self.double,
            late="admit" if self.late else "refuse",
            trust=self.trust,
        )

    @classmethod
    def drawn(cls, seed: int) -> Plan:
        """Draw a shape, mostly a small one: some faults need many matches for few referees, or all kinds at once."""
        dice = Random(f"{seed}/shape")
        return cls(
            players=min(dice.randint(2, 20) for _ in range(3)),
            referees=dice.randint(1, 6),
            faults=dice.choice((0.0, 0.1, 0.3, 0.5, 0.8, 1.0)),
            game_type=dice.choice(
                (
                    "even_odd",
                    "even_odd",
                    "rock_paper_scissors",
                    "tic_tac_toe",
                    "connect_four",
                    "kuhn_poker",
                    "cop_and_thief",
                )
            ),
            double=dice.random() < 0.1,
            dialects=dice.choice((0.0, 0.0, 0.4, 1.0)),
            outages=dice.choice((0.0, 0.0, 1.0)),
            cheats=dice.choice((0.0, 0.0, 0.3, 1.0)),
            late=dice.choice((0, 0, 0, 1, 2)),
            trust=dice.choice(("tokens", "tokens", "class")),
            rogues=dice.choice((0.0, 0.0, 1.0)),
        )

    def command(self, seed: int) -> str:
        """Return the command that plays this league again."""
        words = [
            f"league simulate --leagues 1 --seed {seed} --players {self.players} --referees {self.referees}",
            f"--faults {self.faults} --game {self.game_type}",
        ]
        if self.double:
            words.append("--double")
        for name in ("dialects", "outages", "cheats", "late", "rogues"):
            value = getattr(self, name)
            if value:
                words.append(f"--{name} {value}")
        if self.trust != "tokens":
            words.append(f"--trust {self.trust}")
        return " ".join(words)

    def world(self, seed: int, excluded: frozenset[str] = frozenset()) -> World:
        """Return the league of this seed, ready to run."""
        return World(
            self.settings(seed),
            seed,
            self.faults,
            excluded,
            dialects=self.dialects,
            outages=self.outages,
            cheats=self.cheats,
            late=self.late,
            rogues=self.rogues,
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

    @property
    def broken_promises(self) -> set[int]:
        """The numbers of the promises that were broken."""
        return {finding.promise for finding in self.broken}


def play_drawn(seed: int) -> tuple[Plan, Run]:
    """Play the league of this seed, in a shape that is drawn from it too."""
    plan = Plan.drawn(seed)
    return plan, play(plan, seed)


def play(plan: Plan, seed: int, excluded: frozenset[str] = frozenset()) -> Run:
    """Play one league, from its seed to the verdict on its promises."""
    world = plan.world(seed, excluded)
    evidence = world.run()
    if seed % TWIN_EVERY == 0:
        # The same seed must lead to the same journals, byte for byte.
        twin = plan.world(seed, excluded)
        twin.run()
        facts = replace(evidence.simulator, twin_digest=(world.digest, twin.digest))
        evidence = replace(evidence, simulator=facts)
    findings = check(evidence).findings
    if plan.rogues > 0:
        findings = [*findings, *unnoticed(evidence, seed)]
    results = in_force(evidence.manager)
    return Run(
        seed,
        matches=len(results),
        technical_losses=sum(event.status == "TECHNICAL_LOSS" for event in results),
        finished=evidence.finished,
        faults=world.faults.counts,
        broken=tuple(finding for finding in findings if finding.verdict == "broken"),
        unobservable=tuple(finding.promise for finding in findings if finding.verdict == "unobservable"),
        excluded=excluded,
    )


def play_many(plan: Plan, seeds: Sequence[int], jobs: int) -> Iterator[Run]:
    """Play all these seeds; yield the runs in order."""
    return _on_all_cores(partial(play, plan), seeds, jobs)


def play_drawn_many(seeds: Sequence[int], jobs: int) -> Iterator[tuple[Plan, Run]]:
    """Play all these seeds, each league in a shape of its own; yield the runs in order."""
    return _on_all_cores(play_drawn, seeds, jobs)


def _on_all_cores(play_seed: Callable[[int], Some], seeds: Sequence[int], jobs: int) -> Iterator[Some]:
    if jobs == 1:
        yield from map(play_seed, seeds)
        return
    # Large chunks save messages between processes, small ones keep all of them busy to the end.
    size = max(1, min(LARGEST_CHUNK, len(seeds) // (jobs * 4)))
    chunks = [seeds[start : start + size] for start in range(0, len(seeds), size)]
    finished = 0
    try:
        with worker_pool(jobs) as pool:
            # Not `pool.map`: it submits everything at once and cancels the other futures when one fails. The pool's
            # thread, when it finds that a process was killed, fails on both, with a traceback of its own.
            futures = deque(pool.submit(_play_chunk, play_seed, chunk) for chunk in chunks[: 2 * jobs])
            waiting = iter(chunks[2 * jobs :])
            while futures:
                results = futures.popleft().result()
                futures.extend(pool.submit(_play_chunk, play_seed, chunk) for chunk in islice(waiting, 1))
                for result in results:
                    yield result
                    finished += 1
    except BrokenProcessPool as error:
        seed = seeds[finished]
        raise CommandError(
            f"A process that plays leagues was killed after {finished} of {len(seeds)} leagues, perhaps because memory "
            f"ran out. Go on with --seed {seed} --jobs 1."
        ) from error


def _play_chunk(play_seed: Callable[[int], Some], seeds: Sequence[int]) -> list[Some]:
    return [play_seed(seed) for seed in seeds]


def shortest(plan: Plan, seed: int) -> Run:
    """Play the same seed with as few kinds of faults as still break the same promise."""
    worst = play(plan, seed)
    # One kind after the other is left out for good, unless the promise is kept without it.
    for kind in KINDS:
        fewer = play(plan, seed, worst.excluded | {kind})
        if fewer.broken_promises & worst.broken_promises:
            worst = fewer
    return worst
