"""A tournament: every strategy meets every other one, many times, on all cores. The same seed gives the same results.

Theory of operation. The matches of a pair are played in series of at most a thousand (`series.py`). A strategy
remembers only the matches of its series, and each series has its own seed, so the results do not depend on how many
processes share the work. Results are added up in the order of the series, whichever process is done first. Classes and
functions are played in this process, unless `jobs` asks for more and other processes can import them.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import pickle
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from league.games import registry
from league.games.contract import Game
from league.player.strategies import Strategy
from league.terminal import CommandError
from league.workers import worker_pool
from league_experiments.series import (
    FAILED,
    MOVE_SECONDS,
    Make,
    MatchEnd,
    SeriesPlan,
    SeriesResult,
    openings,
    play,
)
from league_experiments.time_limit import needs_process
from league_statistics import points

if TYPE_CHECKING:
    from league.hosting.players import Entrant

SERIES: Final = 1_000
"""How many matches a strategy remembers together."""
SAME: Final = 5
"""After this many equal matches, move for move, two strategies are taken to play that match always."""
AHEAD: Final = 4
"""Series that are handed out for each process, so that none waits and a long tournament still fits into memory."""

UNGUARDED: Final = 78
"""Exit status of a process that was about to play the tournament once more, because the script lets it."""

Contender = str | type | Callable[[], Strategy]
"""A strategy: its name, module:Class, or something that makes one."""
Progress = Callable[[int, int], None]
"""Is called with how many matches were played, and how many there are."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two strategies and the results of their matches. `first` and `second` are places in the list of strategies."""

    first: int
    second: int
    result: SeriesResult = field(default_factory=SeriesResult)

    def add(self, series: SeriesResult) -> None:
        """Add the results of the next series."""
        # In their order: the number of a match says who sat where.
        self.result.ends.extend(series.ends)
        for start, moves in series.moves.items():
            self.result.moves.setdefault(start, Counter()).update(moves)
        self.result.failures.update(series.failures)


@dataclass(frozen=True, slots=True)
class Score:
    """The results of one strategy. Technical losses count as losses, too."""

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

    def row(self, distinct: int) -> dict[str, Any]:
        """Return the score as the document has it. `distinct` of its matches say something new."""
        # The others make nothing more certain, so the interval is that of fewer matches with the same results.
        share = 1 if distinct == self.played else distinct / self.played
        interval = points.interval(self.wins * share, self.draws * share, self.losses * share)
        return {
            "played": self.played,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "technical_losses": self.technical_losses,
            "points_per_match": points.points_per_match(self.wins, self.draws, self.losses),
            "interval": list(interval),
            "distinct_matches": distinct,
        }


class Outcome(NamedTuple):
    """A MatchEnd for each strategy: the places of the winner, and of those that failed."""

    winner: int | None
    failed: tuple[int, ...] = ()


_OUTCOMES: Final = {
    MatchEnd.DRAW: Outcome(None),
    MatchEnd.FIRST_WON: Outcome(0),
    MatchEnd.SECOND_WON: Outcome(1),
    MatchEnd.FIRST_FAILED: Outcome(1, failed=(0,)),
    MatchEnd.SECOND_FAILED: Outcome(0, failed=(1,)),
    MatchEnd.BOTH_FAILED: Outcome(None, failed=(0, 1)),
}


def score_of(counts: Sequence[int], place: int) -> Score:
    """Return the score of one strategy of a pair. `counts` says how often each MatchEnd came."""
    wins = 0
    failed = 0
    for end, outcome in _OUTCOMES.items():
        if outcome.winner == place:
            wins += counts[end]
        if place in outcome.failed:
            failed += counts[end]
    draws = counts[MatchEnd.DRAW]
    # Every other match is a loss, for both of them if both failed.
    return Score(wins, draws, sum(counts) - wins - draws, failed)


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """The results of a tournament. `document` has all of them."""

    document: dict[str, Any]
    pairs: Sequence[Pair]
    names: Sequence[str]

    @property
    def standings(self) -> list[dict[str, Any]]:
        """A row for each strategy, the best one first."""
        rows: list[dict[str, Any]] = self.document["standings"]
        return rows


@dataclass(frozen=True, slots=True)
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

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the strategies. A strategy that plays several times is numbered."""
        titles = [_title(contender) for contender in self.contenders]
        names = []
        for place, title in enumerate(titles, start=1):
            if titles.count(title) > 1:
                names.append(f"{title} ({titles[:place].count(title)})")
            else:
                names.append(title)
        return tuple(names)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.contenders)), 2))

    @property
    def matches(self) -> int:
        return len(self.pairs) * self.meetings


def _title(contender: Contender) -> str:
    if isinstance(contender, str):
        return contender
    return str(getattr(contender, "__name__", type(contender).__name__))


def tournament(
    strategies: Contender | Iterable[Contender],
    *,
    game: str = "even_odd",
    meetings: int = 100,
    openings: int = 0,
    seed: int | None = None,
    jobs: int | None = None,
    move_seconds: float = MOVE_SECONDS,
    progress: Progress | None = None,
) -> TournamentResult:
    """Let every strategy meet every other one `meetings` times.

    `strategies` are names as for `league player --strategy` ("random", "module:Class", "./mine.py:Mine"), or classes
    and functions that make a strategy. Those are played in this process, unless `jobs` is given and other processes
    can import them. Works inside a running event loop, too. LeagueError if it cannot be played.
    """
    _refuse_unguarded_script()
    if seed is None:
        seed = int.from_bytes(os.urandom(4), "big")
    # A text can be looped over, too, but it is one strategy.
    if isinstance(strategies, str) or callable(strategies):
        strategies = (strategies,)
    plan = TournamentPlan(tuple(strategies), game, meetings, openings, seed, jobs, move_seconds)
    check(plan)
    return _off_the_loop(partial(run, plan, progress or (lambda *_: None)))


def check(plan: TournamentPlan) -> None:
    """Raise CommandError if the plan cannot be played."""
    from league.hosting import players, require_game

    require_game(plan.game)
    if len(plan.contenders) < 2:
        only = "".join(f", and {name} is only one" for name in plan.names)
        raise CommandError(f"a tournament needs at least two strategies{only}")
    if plan.meetings < 1:
        raise CommandError("every pair must meet at least once")
    if not 0 < plan.move_seconds < math.inf:
        raise CommandError("the time for a choice must be more than 0 seconds")
    # Made once here, so that an error is found before hours of play.
    for contender in plan.contenders:
        players.refuse_unplayable(_entrant(contender), plan.game)
    try:
        _openings(plan)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _game(plan: TournamentPlan) -> Game:
    game = registry.find(plan.game)
    assert game is not None, "the plan was checked"
    return game


def _openings(plan: TournamentPlan) -> tuple[tuple[str, ...], ...]:
    return openings(_game(plan), plan.openings, f"{plan.seed}/openings")


def _entrant(contender: Contender) -> Entrant:
    """Make a new strategy. CommandError if the contender is not a strategy."""
    from league.hosting import players

    if isinstance(contender, str):
        return players.load(contender)
    if not callable(contender):
        raise CommandError(f"{contender!r} is not a strategy: give its name, its class, or a function that makes one")
    return players.enter(contender(), _title(contender))


def maker(contender: Contender) -> Make:
    """Return a function that makes a new strategy."""
    return lambda: _entrant(contender).strategy


# --- playing ----------------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """One series: the number of its pair, the number of its first match, and how many matches it has."""

    pair: int
    start: int
    matches: int


class PlayedTask(NamedTuple):
    """A series that was played."""

    pair: int
    result: SeriesResult


def run(plan: TournamentPlan, progress: Progress) -> TournamentResult:
    """Play the whole tournament."""
    started = time.monotonic()
    pairs = [Pair(first, second) for first, second in plan.pairs]
    played = 0
    for task in _played(plan, list(_tasks(plan))):
        pairs[task.pair].add(task.result)
        played += len(task.result.ends)
        progress(played, plan.matches)
    document = _document(plan, pairs, time.monotonic() - started)
    return TournamentResult(document, pairs, plan.names)


def _tasks(plan: TournamentPlan) -> Iterator[Task]:
    for pair in range(len(plan.pairs)):
        for start in range(0, plan.meetings, SERIES):
            yield Task(pair, start, min(SERIES, plan.meetings - start))


def _played(plan: TournamentPlan, tasks: list[Task]) -> Iterator[PlayedTask]:
    """Play all series, and yield them in their order."""
    jobs = min(plan.jobs or os.cpu_count() or 1, len(tasks))
    if not _can_share(plan) or (jobs == 1 and not needs_process()):
        for task in tasks:
            yield PlayedTask(task.pair, play_task(plan, task))
        return
    # A new interpreter for each process: no threads or locks of ours are copied into it.
    with worker_pool(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from _in_order(pool, plan, tasks, AHEAD * jobs)


def _can_share(plan: TournamentPlan) -> bool:
    """Return True if other processes can play all strategies."""
    if all(isinstance(contender, str) for contender in plan.contenders):
        return True
    # A script may look at what its classes did, so they leave this process only if it says so.
    if plan.jobs is None:
        return False
    local = [_title(contender) for contender in plan.contenders if not _can_be_sent(contender)]
    if local and plan.jobs > 1:
        reason = "other processes can import only what is at the top level of a module or a script"
        print(f"jobs={plan.jobs} has no effect, because of {', '.join(local)}: {reason}", file=sys.stderr)
    return not local


def _can_be_sent(contender: Contender) -> bool:
    # A notebook is no file that another process could import.
    is_in_notebook = not hasattr(sys.modules["__main__"], "__file__")
    if is_in_notebook and getattr(contender, "__module__", "") == "__main__":
        return False
    try:
        pickle.dumps(contender)
    except Exception:  # noqa: BLE001 - pickle raises several, and objects raise their own
        return False
    return True


def _in_order(
    pool: ProcessPoolExecutor,
    plan: TournamentPlan,
    tasks: list[Task],
    most: int,
) -> Iterator[PlayedTask]:
    waiting: deque[tuple[int, Future[SeriesResult]]] = deque()
    workers: set[BaseProcess] = set()
    try:
        for task in tasks:
            if len(waiting) == most:
                pair, future = waiting.popleft()
                yield PlayedTask(pair, future.result())
            waiting.append((task.pair, pool.submit(play_task, plan, task)))
            workers.update(multiprocessing.active_children())
        for pair, future in waiting:
            yield PlayedTask(pair, future.result())
    except BrokenProcessPool:
        # Only then are the exit statuses known.
        pool.shutdown()
        raise CommandError(_why_broken(workers)) from None


def _why_broken(workers: Iterable[BaseProcess]) -> str:
    if any(worker.exitcode == UNGUARDED for worker in workers):
        return (
            'write `if __name__ == "__main__":` above the call of league.tournament, and indent what follows: the '
            "tournament plays in several processes, and each of them imports your script (or pass jobs=1)"
        )
    return "a process that played matches ended early: a strategy ended it, or there was not enough memory"


def _refuse_unguarded_script() -> None:
    """End a new process that imports a script which calls us again. Its parent says what is wrong with the script."""
    # multiprocessing asks the same question before it starts a process, and answers with a page of tracebacks.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(UNGUARDED)


def play_task(plan: TournamentPlan, task: Task) -> SeriesResult:
    """Play one series in this process."""
    first, second = plan.pairs[task.pair]
    series = SeriesPlan(
        game=_game(plan),
        seed=f"{plan.seed}/{task.pair}/{task.start}",
        start=task.start,
        count=task.matches,
        openings=_openings(plan),
        move_seconds=plan.move_seconds,
        names=(plan.names[first], plan.names[second]),
    )
    # Made anew for each series: a strategy must not remember an earlier one.
    return play(series, (maker(plan.contenders[first]), maker(plan.contenders[second])))


def _off_the_loop(work: Callable[[], TournamentResult]) -> TournamentResult:
    # A notebook runs an event loop already, and strategies that are `async` need one of their own.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return ThreadPoolExecutor(1).submit(work).result()


# --- the document -----------------------------------------------------------------------------------------------------


def _document(plan: TournamentPlan, pairs: Sequence[Pair], seconds: float) -> dict[str, Any]:
    totals = [Score() for _ in plan.contenders]
    distinct = [0 for _ in plan.contenders]
    rows = []
    for pair in pairs:
        counts = [pair.result.ends.count(end) for end in MatchEnd]
        totals[pair.first] += score_of(counts, 0)
        totals[pair.second] += score_of(counts, 1)
        row = _pair_row(plan, pair, counts)
        distinct[pair.first] += row["distinct_matches"]
        distinct[pair.second] += row["distinct_matches"]
        rows.append(row)
    standings = []
    for place, name in enumerate(plan.names):
        standings.append({"strategy": name, **totals[place].row(distinct[place])})
    standings.sort(key=lambda row: -row["points_per_match"])
    return {
        "game": plan.game,
        "seed": plan.seed,
        "meetings": plan.meetings,
        "openings": plan.openings,
        "matches": plan.matches,
        "distinct_matches": sum(row["distinct_matches"] for row in rows),
        "standings": standings,
        "pairs": rows,
        "failures": _failures(plan, pairs),
        "seconds": round(seconds, 3),
    }


def _pair_row(plan: TournamentPlan, pair: Pair, counts: Sequence[int]) -> dict[str, Any]:
    return {
        "first": plan.names[pair.first],
        "second": plan.names[pair.second],
        **score_of(counts, 0).row(distinct_matches(pair)),
        "technical_losses_of_second": score_of(counts, 1).technical_losses,
        "matches": len(pair.result.ends),
    }


def distinct_matches(pair: Pair) -> int:
    """Return how many matches of a pair say something new.

    In a game without chance, two strategies that always played the same match, move for move, when they sat and began
    the same way, and did so at least five times, always will: those matches are one observation. All others count.
    """
    matches = len(pair.result.ends)
    for games in pair.result.moves.values():
        if _is_always_the_same(games):
            matches -= games.total() - 1
    return matches


def _is_always_the_same(games: Counter[tuple[str, ...]]) -> bool:
    return len(games) == 1 and games.total() >= SAME and FAILED not in games


def _failures(plan: TournamentPlan, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the failures of the strategies' code, the most frequent ones first."""
    times: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        for description, count in pair.result.failures.items():
            place, _, failure = description.partition(" ")
            # "0" is the first strategy of the pair, "1" the second.
            strategy = (pair.first, pair.second)[int(place)]
            times[plan.names[strategy], failure] += count
    rows = []
    for (name, failure), count in times.items():
        rows.append({"strategy": name, "failure": failure, "times": count})
    return sorted(rows, key=lambda row: (-row["times"], row["strategy"]))
