"""A tournament: every strategy meets every other, many times, on all cores. The same seed gives the same results.

The matches of a pair are played in series of at most a thousand. A strategy remembers the matches of its series, and
nothing else; so the results do not depend on how many processes share the work.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, Final

from league.games import registry
from league.player.strategies import Strategy
from league.terminal import CommandError
from league.workers import worker_pool
from league_experiments.series import FAILED, Make, MatchEnd, SeriesPlan, SeriesResult, openings, play
from league_statistics import points

SERIES: Final = 1_000
"""Matches that a strategy remembers together."""
SAME: Final = 5
"""So many matches that were the same, move for move, show that the two always play so."""

Contender = str | type | Callable[[], Strategy]
"""Who plays: a strategy by name or as module:Class, or what makes one."""
Progress = Callable[[int, int], None]
"""Is told how many matches were played, of how many."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two strategies, and what came of their matches; `first` and `second` are their places among the strategies."""

    first: int
    second: int
    result: SeriesResult = field(default_factory=SeriesResult)

    def add(self, more: SeriesResult) -> None:
        """The next series."""
        self.result.ends.extend(more.ends)
        for config, games in more.moves.items():
            self.result.moves.setdefault(config, type(games)()).update(games)
        for what, times in more.failures.items():
            self.result.failures[what] = self.result.failures.get(what, 0) + times


@dataclass(frozen=True, slots=True)
class Score:
    """What a strategy has made of its matches. Technical losses are losses too."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.wins + other.wins,
            self.draws + other.draws,
            self.losses + other.losses,
            self.technical_losses + other.technical_losses,
        )

    @property
    def played(self) -> int:
        return self.wins + self.draws + self.losses

    def row(self) -> dict[str, Any]:
        """As the results show it."""
        low, high = points.interval(self.wins, self.draws, self.losses)
        return {
            "played": self.played,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "technical_losses": self.technical_losses,
            "points_per_match": points.points_per_match(self.wins, self.draws, self.losses),
            "interval": [low, high],
        }


_WON = {MatchEnd.FIRST_WON: 0, MatchEnd.SECOND_FAILED: 0, MatchEnd.SECOND_WON: 1, MatchEnd.FIRST_FAILED: 1}
_FAILED = {MatchEnd.FIRST_FAILED: (0,), MatchEnd.SECOND_FAILED: (1,), MatchEnd.BOTH_FAILED: (0, 1)}


def score_of(counts: Sequence[int], me: int) -> Score:
    """One strategy's score, from how often each MatchEnd came."""
    wins = sum(counts[end] for end, winner in _WON.items() if winner == me)
    draws = counts[MatchEnd.DRAW]
    failed = sum(counts[end] for end, who in _FAILED.items() if me in who)
    return Score(wins, draws, sum(counts) - wins - draws, failed)


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """What came of a tournament; `document` is all of it."""

    document: dict[str, Any]
    pairs: Sequence[Pair]
    names: Sequence[str]

    @property
    def standings(self) -> list[dict[str, Any]]:
        """A row for each strategy, best first."""
        rows: list[dict[str, Any]] = self.document["standings"]
        return rows


@dataclass(frozen=True, slots=True)
class TournamentPlan:
    """What is played."""

    contenders: tuple[Contender, ...]
    game: str = "even_odd"
    meetings: int = 100
    openings: int = 0
    seed: int = 0
    jobs: int | None = None
    """Processes; None: one for each core."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the strategies are called; who plays twice is numbered."""
        titles = [
            one if isinstance(one, str) else getattr(one, "__name__", type(one).__name__) for one in self.contenders
        ]
        return tuple(
            f"{title} ({titles[: at + 1].count(title)})" if titles.count(title) > 1 else title
            for at, title in enumerate(titles)
        )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.contenders)), 2))

    @property
    def matches(self) -> int:
        return len(self.pairs) * self.meetings


def tournament(
    strategies: Iterable[Contender],
    *,
    game: str = "even_odd",
    meetings: int = 100,
    openings: int = 0,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> TournamentResult:
    """Let every strategy meet every other `meetings` times.

    `strategies` are names as of `league player --strategy` ("random", "module:Class", "./mine.py:Mine"), or classes and
    functions that make a strategy; those are played in this process. Works inside a running event loop too.
    """
    chosen = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    plan = TournamentPlan(tuple(strategies), game, meetings, openings, chosen, jobs)
    check(plan)
    return _off_the_loop(partial(run, plan, progress or (lambda *_: None)))


def check(plan: TournamentPlan) -> None:
    """CommandError for what cannot be played."""
    from league.hosting import require_game

    require_game(plan.game)
    if len(plan.contenders) < 2:
        raise CommandError("a tournament needs at least two strategies")
    if plan.meetings < 1:
        raise CommandError("every pair meets at least once")
    for one in plan.contenders:
        maker(one)()
    try:
        _openings(plan)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _openings(plan: TournamentPlan) -> tuple[tuple[str, ...], ...]:
    game = registry.find(plan.game)
    assert game is not None, "the plan was checked"
    return openings(game, plan.openings, f"{plan.seed}/openings")


def maker(contender: Contender) -> Make:
    """What makes a new strategy; CommandError if nothing does."""
    from league.hosting import players

    if isinstance(contender, str):
        return lambda: players.load(contender).strategy
    if not callable(contender):
        raise CommandError(f"{contender!r} is no strategy: give its name, its class, or a function that makes one")
    return lambda: players.enter(contender(), getattr(contender, "__name__", "a strategy")).strategy


def run(plan: TournamentPlan, progress: Progress) -> TournamentResult:
    """Play it all."""
    started = time.monotonic()
    pairs = [Pair(*places) for places in plan.pairs]
    done = 0
    for at, result in _played(plan, list(_tasks(plan))):
        pairs[at].add(result)
        done += len(result.ends)
        progress(done, plan.matches)
    return TournamentResult(_document(plan, pairs, time.monotonic() - started), pairs, plan.names)


Task = tuple[int, int, int]
"""The number of a pair, the number of its first match, and how many."""


def _tasks(plan: TournamentPlan) -> Iterator[Task]:
    for at in range(len(plan.pairs)):
        for start in range(0, plan.meetings, SERIES):
            yield at, start, min(SERIES, plan.meetings - start)


def _played(plan: TournamentPlan, tasks: list[Task]) -> Iterator[tuple[int, SeriesResult]]:
    """The series in their order, whoever plays them."""
    jobs = min(plan.jobs or os.cpu_count() or 1, len(tasks))
    if jobs == 1 or not all(isinstance(one, str) for one in plan.contenders):
        for task in tasks:
            yield task[0], play_task(plan, task)
        return
    # A new interpreter for each process: no threads or locks of ours are copied into it.
    with worker_pool(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from _in_order(pool, plan, tasks, jobs)


def _in_order(
    pool: ProcessPoolExecutor, plan: TournamentPlan, tasks: list[Task], jobs: int
) -> Iterator[tuple[int, SeriesResult]]:
    """Series are handed out a few ahead, so that a long tournament fits into memory."""
    waiting: deque[tuple[int, Future[SeriesResult]]] = deque()
    for task in tasks:
        if len(waiting) == 4 * jobs:
            at, result = waiting.popleft()
            yield at, result.result()
        waiting.append((task[0], pool.submit(play_task, plan, task)))
    yield from ((at, result.result()) for at, result in waiting)


def play_task(plan: TournamentPlan, task: Task) -> SeriesResult:
    """Play one series, here."""
    at, start, count = task
    first, second = plan.pairs[at]
    game = registry.find(plan.game)
    assert game is not None, "the plan was checked"
    series = SeriesPlan(game, f"{plan.seed}/{at}/{start}", start, count, _openings(plan))
    return play(series, (maker(plan.contenders[first]), maker(plan.contenders[second])))


def _off_the_loop(work: Callable[[], TournamentResult]) -> TournamentResult:
    """In a notebook a loop is running already: strategies that are `async` need one of their own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return ThreadPoolExecutor(1).submit(work).result()


# --- what is told -----------------------------------------------------------------------------------------------------


def _document(plan: TournamentPlan, pairs: Sequence[Pair], seconds: float) -> dict[str, Any]:
    counted = [counts_of(pair) for pair in pairs]
    totals = [Score() for _ in plan.contenders]
    rows = []
    for pair, (counts, distinct) in zip(pairs, counted, strict=True):
        for place, me in ((pair.first, 0), (pair.second, 1)):
            totals[place] += score_of(counts, me)
        rows.append(_pair_row(plan, pair, counts, distinct))
    standings = [{"strategy": name, **score.row()} for name, score in zip(plan.names, totals, strict=True)]
    return {
        "game": plan.game,
        "seed": plan.seed,
        "meetings": plan.meetings,
        "openings": plan.openings,
        "matches": plan.matches,
        "distinct_matches": sum(distinct for _, distinct in counted),
        "standings": sorted(standings, key=lambda row: -row["points_per_match"]),
        "pairs": rows,
        "failures": _failures(plan, pairs),
        "seconds": round(seconds, 3),
    }


def _pair_row(plan: TournamentPlan, pair: Pair, counts: Sequence[int], distinct: int) -> dict[str, Any]:
    score = score_of(counts, 0)
    row = {"first": plan.names[pair.first], "second": plan.names[pair.second], **score.row()}
    row["technical_losses_of_second"] = score_of(counts, 1).technical_losses
    return row | {"matches": len(pair.result.ends), "distinct_matches": distinct}


def counts_of(pair: Pair) -> tuple[list[int], int]:
    """How often each MatchEnd came, and how many of the matches tell something new.

    In a game without chance, two strategies that played the same match, move for move, every time they sat so and began
    so, and at least five times, always will: those matches are one observation. Everything else counts as it came.
    """
    ends = pair.result.ends
    counts = [ends.count(end) for end in MatchEnd]
    repeated = {config for config, games in pair.result.moves.items() if _always_the_same(games)}
    if not repeated:
        return counts, len(ends)
    openings_played = 1 + max(opening for opening, _ in pair.result.moves)
    seen: set[tuple[int, int]] = set()
    counts = [0] * len(MatchEnd)
    for number, end in enumerate(ends):
        config = number // 2 % openings_played, number % 2
        if config not in repeated or config not in seen:
            counts[end] += 1
            seen.add(config)
    return counts, sum(counts)


def _always_the_same(games: Counter[tuple[str, ...]]) -> bool:
    return len(games) == 1 and games.total() >= SAME and FAILED not in games


def _failures(plan: TournamentPlan, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """What the strategies' own code did wrong, the most frequent first."""
    times: dict[tuple[str, str], int] = {}
    for pair in pairs:
        for told, count in pair.result.failures.items():
            me, _, what = told.partition(" ")
            name = plan.names[pair.first if me == "0" else pair.second]
            times[name, what] = times.get((name, what), 0) + count
    rows = [{"strategy": name, "failure": what, "times": count} for (name, what), count in times.items()]
    return sorted(rows, key=lambda row: (-row["times"], row["strategy"]))
