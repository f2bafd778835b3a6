"""The plan of a tournament: which series are played, with which seeds.

Theory of operation. A `TournamentPlan` is what was ordered, with strategies that can be played. Its `facts` are plain
data: enough to name every series, and to make the tables of a tournament whose strategies are elsewhere.

A series is known by its content. Its seed depends on the tournament's seed, the game, the digests of both strategies
and the number of its first match, and not on places in a list: adding a strategy changes no other series. The two are
put in the order of their digests, so that A against B is the same series as B against A. The key adds everything else
that its results depend on. A series with the same key is never played twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from itertools import combinations
from typing import Any, Final, NamedTuple

import msgspec

from league.features.experiments.contenders import AskingContender, Contender, asks, entrant_of, is_agent, title_of
from league.features.experiments.playing import sources
from league.features.experiments.playing.series import MOVE_SECONDS, openings
from league.games import registry
from league.games.contract import Game

SERIES: Final = 1_000
"""How many matches a strategy remembers together."""
FORMAT: Final = 1
"""The number of the format of plans and series in files."""
HEX_DIGITS: Final = 32
"""Of a digest, in seeds and keys."""


class Task(NamedTuple):
    """One series: the number of its pair, the number of its first match, and how many matches it has."""

    pair: int
    start: int
    matches: int
    replayed: int = 0
    """The series was played before, and this many matches are played again (`repeatability.py`)."""


class Places(NamedTuple):
    """Two strategies, as places in the list."""

    first: int
    second: int


class Series(NamedTuple):
    """A series as it is played: `first` and `second` are places in the list, in the order of the digests."""

    key: str
    seed: str
    first: int
    second: int
    start: int
    matches: int


class Shard(NamedTuple):
    """A part of a tournament, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class StrategyFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a plan knows of a strategy."""

    name: str
    digest: str
    """Of its content. A strategy that plays several times is numbered behind a #, from the second time on."""
    asks: bool = False
    conditions: dict[str, Any] | None = None
    """The conditions under which a language model plays (Any: JSON)."""


class PlanFacts(msgspec.Struct, frozen=True, dict=True):
    """Everything that the results of a tournament depend on, without the code."""

    agent_league: str
    game: str
    game_digest: str
    seed: int
    openings: int
    move_seconds: float
    meetings: int
    strategies: tuple[StrategyFacts, ...]
    format: int = FORMAT

    @cached_property
    def digest(self) -> str:
        """The digest of the whole plan: tournaments with the same one can be merged."""
        return _digest(msgspec.json.encode(self))

    @property
    def settings(self) -> dict[str, Any]:
        """The part that all series of a folder share. Strategies and meetings may be added later."""
        return {
            "format": self.format,
            "agent_league": self.agent_league,
            "game": self.game,
            "game_digest": self.game_digest,
            "seed": self.seed,
            "openings": self.openings,
            "move_seconds": self.move_seconds,
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(strategy.name for strategy in self.strategies)

    @cached_property
    def pairs(self) -> list[Places]:
        return [Places(first, second) for first, second in combinations(range(len(self.strategies)), 2)]

    @property
    def matches(self) -> int:
        return len(self.pairs) * self.meetings

    def tasks(self) -> list[Task]:
        """Return all series in their order."""
        tasks: list[Task] = []
        for pair in range(len(self.pairs)):
            length = self.length(pair)
            for start in range(0, self.meetings, length):
                matches = min(length, self.meetings - start)
                tasks.append(Task(pair, start, matches))
        return tasks

    def shard(self, shard: Shard) -> list[Task]:
        """Return the series of one shard. They are dealt out by their keys: each shard has some of every pair."""
        tasks = self.tasks()
        # Keys are digests, so this shuffles them, the same way on every machine.
        tasks.sort(key=lambda task: self.series(task).key)
        return sorted(tasks[shard.number - 1 :: shard.of])

    def length(self, pair: int) -> int:
        """Return how many matches a whole series of a pair has."""
        first, second = self.pairs[pair]
        # Whoever asks need not wait for the match before: it remembers none.
        if self.strategies[first].asks or self.strategies[second].asks:
            return 1
        return SERIES

    def is_swapped(self, pair: int) -> bool:
        """Return True if the second strategy of a pair is the first one of its series."""
        first, second = self.pairs[pair]
        return self.strategies[second].digest < self.strategies[first].digest

    def series(self, task: Task) -> Series:
        """Return the series of a task."""
        first, second = self.pairs[task.pair]
        if self.is_swapped(task.pair):
            first, second = second, first
        content = (
            "series",
            str(self.seed),
            self.game,
            self.strategies[first].digest,
            self.strategies[second].digest,
            str(task.start),
        )
        seed = _digest("/".join(content).encode())
        # Settings that change results but not the seed are part of the key alone.
        conditions = (seed, task.matches, *self.settings.values())
        key = _digest(msgspec.json.encode(conditions))
        return Series(key, seed, first, second, task.start, task.matches)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:HEX_DIGITS]


@dataclass(frozen=True)
class TournamentPlan:
    """The tournament that was ordered."""

    contenders: tuple[Contender, ...]
    game: str = "even_odd"
    meetings: int = 100
    openings: int = 0
    seed: int = 0
    jobs: int | None = None
    """The number of processes; None means one for each core."""
    move_seconds: float = MOVE_SECONDS
    """How long a strategy may take for a choice."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the strategies. A strategy that plays several times is numbered."""
        titles = [title_of(contender) for contender in self.contenders]
        names = []
        for place, title in enumerate(titles, start=1):
            if titles.count(title) > 1:
                names.append(f"{title} ({titles[:place].count(title)})")
            else:
                names.append(title)
        return tuple(names)

    @property
    def asking(self) -> list[AskingContender]:
        """The contenders that ask somebody."""
        return [contender for contender in self.contenders if asks(contender)]

    @property
    def agents(self) -> list[str]:
        """The addresses of contenders that run elsewhere."""
        return [contender for contender in self.contenders if is_agent(contender)]

    @cached_property
    def facts(self) -> PlanFacts:
        """The plan as plain data. The strategies were loaded before."""
        copies: Counter[str] = Counter()
        strategies = []
        for contender, name in zip(self.contenders, self.names, strict=True):
            digest = sources.digest(contender)
            copies[digest] += 1
            # Otherwise all copies of a strategy would play the same series.
            if copies[digest] > 1:
                digest = f"{digest}#{copies[digest]}"
            conditions = entrant_of(contender).conditions if asks(contender) else None
            strategies.append(StrategyFacts(name, digest, asks(contender), conditions))
        return PlanFacts(
            agent_league=version(sources.OURS),
            game=self.game,
            game_digest=sources.game_digest(self.game),
            seed=self.seed,
            openings=self.openings,
            move_seconds=float(self.move_seconds),
            meetings=self.meetings,
            strategies=tuple(strategies),
        )


def game_named(name: str) -> Game:
    game = registry.find(name)
    assert game is not None, "the plan was checked"
    return game


@lru_cache(maxsize=8)  # once for every series
def openings_for(game: str, count: int, seed: int) -> tuple[tuple[str, ...], ...]:
    return openings(game_named(game), count, f"{seed}/openings")
