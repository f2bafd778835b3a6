"""A tournament: every strategy meets every other one, many times, on all cores. The same seed gives the same results.

Theory of operation. The matches of a pair are played in series of at most a thousand (`playing/series.py`). A strategy
remembers only the matches of its series, and each series has its own seed (`playing/plan.py`), so the results do not
depend on the process that plays a series (`playing/executors.py`). Every series is stored as soon as it is played
(`outcome/series_store.py`), in a folder, or for as long as its result lives. It is added to the results once all series
before it are: results grow in the order of the plan, even if a later series is done first. Of a match, memory holds one
byte, and its points in games that are scored by their margin; everything else is read from the store.

A strategy that asks somebody, such as a `league.LLM`, spends its time waiting. If one takes part, the whole tournament
stays in this process, and as many matches are played at once as its provider allows. Each of its matches is a series of
its own: it need not wait for the one before, and remembers nothing of it.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from league.features.experiments.contenders import Contender, entrant_of, is_agent, notes_about
from league.features.experiments.outcome.result_text import result_notes
from league.features.experiments.outcome.results import MatchRows, ResultViews
from league.features.experiments.outcome.series_store import (
    LINES,
    FolderPlan,
    SeriesRecord,
    SeriesStore,
    decode,
    open_folder,
    read_plan,
    write_plan,
    writing,
)
from league.features.experiments.playing import executors
from league.features.experiments.playing.executors import Done, GivenExecutor, LocalWork
from league.features.experiments.playing.loading import NotLoaded, is_unloaded, unloadable
from league.features.experiments.playing.plan import PlanFacts, Shard, Task, TournamentPlan, game_named, openings_for
from league.features.experiments.playing.repeatability import Repeatability
from league.features.experiments.playing.series import MOVE_SECONDS, WHOLE, MatchEnd, Start, moves_text
from league.features.statistics.methods import strata
from league.features.statistics.methods.points import points_per_match
from league.games import registry
from league.games.contract import PLAYER_A, PLAYER_B, Game
from league.protocol.message.experiment import Provenance
from league.reading.models import why_not_rated
from league.terminal import USAGE, CommandError

SAME: Final = 5
"""After this many equal matches, move for move, two strategies are taken to play that match always."""
MOST_FAILURES: Final = 1_000
"""Different failures of a pair that are told apart. Texts of exceptions may hold anything, a new number each time."""
OTHER_FAILURES: Final = "other failures"

Progress = Callable[[int, int], None]
"""Is called with how many matches were played, and how many there are."""
OnMatch = Callable[[dict[str, Any]], None]
"""Is called with each match, as soon as it and those before it were played."""
R = TypeVar("R")


@dataclass(slots=True)
class Repeated:
    """Matches of a pair that began in the same way."""

    moves: str
    """Of the first one."""
    count: int = 0
    is_same: bool = True
    """All of them went like the first one, move for move."""


@dataclass(slots=True)
class PairResult:
    """The results of a pair, for its first and its second strategy."""

    ends: bytearray = field(default_factory=bytearray)
    """A MatchEnd for each match."""
    repeated: dict[Start, Repeated] = field(default_factory=dict)
    """Matches without chance, by how they began."""
    points: tuple[array[int], array[int]] = field(default_factory=lambda: (array("i"), array("i")))
    """The points of both in each match, in games that are scored by their margin."""
    failures: Counter[str] = field(default_factory=Counter)
    """How often a strategy's code failed in which way: "0 ValueError: …" (0 is the first strategy)."""
    minds: dict[int, Provenance] = field(default_factory=dict)
    """How the choices of strategies that ask others came about, by their places."""

    def add_mind(self, place: int, provenance: Provenance) -> None:
        self.minds[place] = self.minds.get(place, Provenance(choices=0)).plus(provenance)


_SWAPPED_ENDS: Final = bytes(
    (
        MatchEnd.DRAW,
        MatchEnd.SECOND_WON,
        MatchEnd.FIRST_WON,
        MatchEnd.SECOND_FAILED,
        MatchEnd.FIRST_FAILED,
        MatchEnd.BOTH_FAILED,
    )
)
"""Each MatchEnd as the other strategy sees it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two strategies and the results of their matches. `first` and `second` are places in the list of strategies."""

    first: int
    second: int
    is_swapped: bool = False
    """The first strategy of their series is the second one of the pair."""
    openings: int = 1
    result: PairResult = field(default_factory=PairResult)

    def add(self, series: SeriesRecord) -> None:
        """Add the results of the next series."""
        # In their order: the number of a match says who sat where.
        ends = self.oriented_ends(series)
        self._add_repeated(series, ends)
        self.result.ends.extend(ends)
        for description, count in series.failures.items():
            number, _, failure = description.partition(" ")
            self._add_failure(f"{self.place(int(number))} {failure}", count)
        for place, report in series.minds.items():
            self.result.add_mind(self.place(place), report.provenance)
        points_of_first, points_of_second = self.result.points
        for score in series.scores:
            points_of_first.append(score[self.place(0)])
            points_of_second.append(score[self.place(1)])

    def oriented_ends(self, series: SeriesRecord) -> bytes:
        """Return how the matches of a series ended, for the first and the second strategy of the pair."""
        ends = bytes(map(int, series.ends))
        if self.is_swapped:
            return ends.translate(_ENDS_TABLE)
        return ends

    def place(self, place: int) -> int:
        """Return the place in the pair of a place in its series, and the other way round."""
        if self.is_swapped:
            return 1 - place
        return place

    def first_seat(self, number: int) -> int:
        """Return the seat of the first strategy in match `number`, counted from 0."""
        # With every match the two change seats.
        return (number + self.is_swapped) % 2

    def start(self, number: int) -> Start:
        """Return how a match begins."""
        return Start(number // 2 % self.openings, self.first_seat(number))

    def numbers(self, start: Start) -> slice:
        """Return the numbers of the matches that begin in one way."""
        # The seats change with every match, the openings after every two.
        seat_of_series = (start.first_seat + self.is_swapped) % 2
        first_number = 2 * start.opening + seat_of_series
        return slice(first_number, None, 2 * self.openings)

    def is_always_the_same(self, start: Start) -> bool:
        """Return True if all matches that began so went the same way, often enough to say that they always will."""
        repeated = self.result.repeated.get(start)
        return repeated is not None and repeated.is_same and repeated.count >= SAME

    def _add_failure(self, description: str, count: int) -> None:
        failures = self.result.failures
        if description not in failures and len(failures) >= MOST_FAILURES:
            description = f"{description.partition(' ')[0]} {OTHER_FAILURES}"
        failures[description] += count

    def _add_repeated(self, series: SeriesRecord, ends: bytes) -> None:
        for place, moves in enumerate(series.moves):
            # With chance, equal moves are no sign that the two always play so.
            if series.chance and series.chance[place]:
                continue
            start = self.start(series.start + place)
            is_whole = ends[place] in WHOLE
            repeated = self.result.repeated.setdefault(start, Repeated(moves))
            repeated.count += 1
            repeated.is_same = repeated.is_same and is_whole and repeated.moves == moves


_ENDS_TABLE: Final = _SWAPPED_ENDS + bytes(range(len(_SWAPPED_ENDS), 256))


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

    def row(self, mean: float | None, interval: tuple[float, ...], distinct: int) -> dict[str, Any]:
        """Return the score as the document has it. `distinct` of its matches differ from all others."""
        return {
            "played": self.played,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "technical_losses": self.technical_losses,
            "points_per_match": mean,
            "interval": [float(end) for end in interval] or None,
            "distinct_matches": distinct,
        }


class MatchPlaces(NamedTuple):
    """A MatchEnd for each strategy: the places of the winner, and of those that failed."""

    winner: int | None
    failed: tuple[int, ...] = ()


_OUTCOMES: Final = {
    MatchEnd.DRAW: MatchPlaces(None),
    MatchEnd.FIRST_WON: MatchPlaces(0),
    MatchEnd.SECOND_WON: MatchPlaces(1),
    MatchEnd.FIRST_FAILED: MatchPlaces(1, failed=(0,)),
    MatchEnd.SECOND_FAILED: MatchPlaces(0, failed=(1,)),
    MatchEnd.BOTH_FAILED: MatchPlaces(None, failed=(0, 1)),
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


@dataclass(frozen=True, slots=True, repr=False)
class TournamentResult(ResultViews):
    """The results of a tournament. `document` has all of them but the single matches."""

    document: dict[str, Any]
    played: Sequence[Pair]
    plan: PlanFacts
    store: SeriesStore
    """The series, which hold every match."""
    not_repeatable: tuple[str, ...] = ()

    @property
    def names(self) -> Sequence[str]:
        return self.plan.names

    @property
    def matches(self) -> MatchRows:
        """A row for each match, as in `matches.csv`."""
        return MatchRows([len(pair.result.ends) for pair in self.played], self._match_row)

    def _match_row(self, pair: int, place: int) -> dict[str, Any]:
        length = self.plan.length(pair)
        start = place - place % length
        # The last series of a pair may be shorter.
        matches = min(length, self.plan.meetings - start)
        series = self.plan.series(Task(pair, start, matches))
        record = self.store.record(series.key)
        rows = SeriesRows(self.plan, self.played[pair], record)
        return rows.row(place - start)

    def match_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the same rows, one after the other, which is faster."""
        for task in self.plan.tasks():
            series = self.plan.series(task)
            pair = self.played[task.pair]
            yield from SeriesRows(self.plan, pair, self.store.record(series.key))

    def plot(self) -> Any:
        """Return a figure of matplotlib: ratings with intervals, and a heat map of pairs. It needs the extra `plot`."""
        from league.features.experiments.outcome.plots import require_matplotlib, tournament_figure

        require_matplotlib()
        shares = {}
        for pair in self.played:
            counts = [pair.result.ends.count(end) for end in MatchEnd]
            names = (self.names[pair.first], self.names[pair.second])
            for place in (0, 1):
                score = score_of(counts, place)
                if score.played:
                    shares[names[place], names[1 - place]] = (score.wins + score.draws / 2) / score.played
        return tournament_figure(self.document, self.ratings(), shares)

    def write(self, folder: str | Path) -> list[Path]:
        """Write everything to a folder, as `league tournament --to` does: JSON, CSV, and Parquet with pyarrow."""
        from league.features.experiments.outcome import result_files

        return result_files.write(self, Path(folder))


def tournament(
    strategies: Contender | Iterable[Contender],
    *,
    game: str | Game = "even_odd",
    meetings: int = 100,
    openings: int = 0,
    seed: int | None = None,
    jobs: int | None = None,
    move_seconds: float = MOVE_SECONDS,
    executor: GivenExecutor = None,
    address: str | None = None,
    to: str | Path | None = None,
    resume: bool = False,
    shard: str | None = None,
    progress: Progress | None = None,
    on_match: OnMatch | None = None,
) -> TournamentResult:
    """Let every strategy meet every other one `meetings` times.

    `strategies` are names as for `league player --strategy` ("random", "module:Class", "./mine.py:Mine"), functions
    `choose(turn)`, objects (each series begins with a copy), or classes and functions that make one. All but names are
    played in this process, unless `jobs` is given and other processes
    can import them. A `league.LLM` or a `league.Ask` plays many matches at once, and remembers none. `on_match` is
    called with each match, in their order. `game` is a name, or a `Game` of your own, which is played in this process.

    `executor` plays the series elsewhere: a `concurrent.futures.Executor`, a function that makes one, or "ray", on the
    cluster at `address`. `to` names a folder to which series are written as soon as they are played, and all tables at
    the end. With `resume`, series that are there are not played again. `shard`, such as "2/7", plays that part only.

    Works inside a running event loop, too. LeagueError if it cannot be played.
    """
    executors.refuse_unguarded_script()
    game = registry.name_of(game)
    folder = None if to is None else Path(to)
    if folder is None and (resume or shard):
        raise CommandError("--resume and --shard need a folder for the series: name one with --to", USAGE)
    if shard and seed is None:
        raise CommandError("all shards need one seed, or they can't be merged: give the same --seed to each", USAGE)
    if address and executor != "ray":
        raise CommandError("--address is that of a Ray cluster: add --executor ray", USAGE)
    if seed is None:
        seed = _seed(folder, resume)
    # A text can be looped over, too, but it is one strategy.
    if isinstance(strategies, str) or not isinstance(strategies, Iterable):
        strategies = (strategies,)
    contenders = tuple(strategies)
    missing = _not_loaded(contenders, game)
    names = {strategy.name for strategy in missing}
    contenders = tuple(
        contender for contender in contenders if not isinstance(contender, str) or contender not in names
    )
    plan = TournamentPlan(
        contenders, game, meetings, openings=openings, seed=seed, jobs=jobs, move_seconds=move_seconds
    )
    check(plan)
    for agent in plan.agents:
        raise CommandError(
            f"{agent} is a running agent, and a tournament plays without servers: use `league compare` or `league spar`"
        )
    order = Order(plan, executor, address, folder, resume, _shard(shard))
    result = off_the_loop(partial(run, order, progress or (lambda *_: None), on_match))
    for strategy in missing:
        row = {"strategy": strategy.name, "failure": f"took no part: {strategy.sentence}", "times": 1}
        result.document.setdefault("failures", []).append(row)
    return result


def _not_loaded(contenders: tuple[Contender, ...], game: str) -> list[NotLoaded]:
    """Return the strategies that cannot be loaded. CommandError if too few are left."""
    from league.hosting import require_game

    require_game(game)
    missing = unloadable(contenders, game)
    if missing and len(contenders) - len(missing) < 2:
        raise CommandError("; ".join(strategy.sentence for strategy in missing), missing[0].status)
    for strategy in missing:
        print(f"{strategy.sentence}; the others play without it", file=sys.stderr)
    return missing


def _seed(folder: Path | None, resume: bool) -> int:
    """Return the seed of the tournament that goes on in a folder, or a new one."""
    before = None
    if folder is not None and resume:
        before = read_plan(folder)
    if before is not None:
        return before.plan.seed
    return int.from_bytes(os.urandom(4), "big")


def _shard(text: str | None) -> Shard | None:
    if text is None:
        return None
    number, _, count = text.partition("/")
    is_number = number.isdecimal() and count.isdecimal()
    if not is_number or not 1 <= int(number) <= int(count):
        raise CommandError(f"a shard is written as 2/7, counted from 1, and not {text!r}")
    return Shard(int(number), int(count))


def check(plan: TournamentPlan) -> None:
    """Raise CommandError if the plan cannot be played. Agents that run elsewhere are not asked yet."""
    from league.hosting import require_game
    from league.hosting.member import players

    require_game(plan.game)
    if len(plan.contenders) < 2:
        only = "".join(f", and {name} is only one" for name in plan.names)
        raise CommandError(f"a tournament needs at least two strategies{only}")
    if plan.meetings < 1 or plan.openings < 0 or (plan.jobs is not None and plan.jobs < 1):
        raise CommandError("--meetings and --jobs must be at least 1, and --openings at least 0", USAGE)
    if not 0 < plan.move_seconds < math.inf:
        raise CommandError("the time for a choice must be more than 0 seconds")
    # Made once here, so that an error is found before hours of play.
    for contender in plan.contenders:
        # Code that this process has not imported was examined where it was loaded.
        if is_agent(contender) or is_unloaded(contender):
            continue
        entrant = entrant_of(contender)
        players.check_code(entrant)
        players.refuse_unplayable(entrant, plan.game)
    try:
        openings_for(plan.game, plan.openings, plan.seed)
    except ValueError as error:
        raise CommandError(str(error)) from error


# --- playing ----------------------------------------------------------------------------------------------------------


class Order(NamedTuple):
    """A plan, who plays it, and where its series go."""

    plan: TournamentPlan
    executor: GivenExecutor = None
    address: str | None = None
    folder: Path | None = None
    resume: bool = False
    shard: Shard | None = None


def run(order: Order, progress: Progress, on_match: OnMatch | None) -> TournamentResult:
    """Play what is missing, and return the results."""
    started = time.monotonic()
    facts = order.plan.facts
    tasks = facts.tasks()
    if order.shard is not None:
        tasks = facts.shard(order.shard)
    matches = sum(task.matches for task in tasks)
    place = (order.folder or Path(gettempdir())) / LINES
    with _open_store(order) as store:
        missing = deque(task for task in tasks if facts.series(task).key not in store)
        played = matches - sum(task.matches for task in missing)
        if played:
            progress(played, matches)
        tally = ResultCollector(facts, store, tasks, on_match)
        tally.advance()
        repeatability = Repeatability(order.plan)
        with closing(_played(order, missing)) as done, _resumable(order.folder, lambda: played):
            for task, line in done:
                series = facts.series(task)
                # It was played before, and its results are stored.
                if task.replayed:
                    repeatability.compare(series, store.record(series.key), line)
                    continue
                with writing(place):
                    store.add(series.key, line)
                played += task.matches
                progress(played, matches)
                tally.advance()
                replay = repeatability.replay_of(task, decode(line))
                if replay is not None:
                    missing.append(replay)
        repeatability.warn()
        with writing(place.parent):
            return _ended(order, tally, repeatability.names, time.monotonic() - started)


@contextmanager
def _resumable(folder: Path | None, played: Callable[[], int]) -> Iterator[None]:
    """Say how to play on if the tournament ends in the middle."""
    try:
        yield
    except CommandError as error:
        if not played():
            raise
        way = "nothing was kept: with a folder (--to, to=), a tournament can go on where it stopped"
        if folder is not None:
            way = (
                f"{played()} matches are kept in {folder}: the same order with --resume (resume=True) plays the others"
            )
        raise CommandError(f"{error}; {way}", error.status) from error


def _open_store(order: Order) -> SeriesStore:
    if order.folder is None:
        return SeriesStore.temporary()
    from league.features.experiments.outcome import result_files

    result_files.prepare(order.folder)
    return open_folder(order.folder, order.plan.facts, order.shard, order.resume)


def _played(order: Order, tasks: deque[Task]) -> Generator[Done[bytes], None, None]:
    """Play series, and yield them as soon as they are played."""
    plan = order.plan
    work = LocalWork(plan.facts, plan.contenders)
    if plan.asking or executors.is_in_process(order.executor):
        # Threads must not import one file at the same time.
        for contender in plan.contenders:
            if is_unloaded(contender):
                entrant_of(contender)
    with ExitStack() as sessions:
        if order.executor in (None, executors.LOCAL):
            for contender in plan.asking:
                sessions.enter_context(contender.playing())
            own_workers = executors.workers_for(plan, len(tasks))
            yield from executors.done(own_workers, work, tasks)
            return
        workers = executors.workers_of(order.executor, order.address)
        if executors.is_in_process(order.executor):
            yield from executors.done(workers, work, tasks)
        else:
            # Other machines do not know our files.
            shipped_work = executors.shipped_work(plan)
            yield from executors.done(workers, shipped_work, tasks)


def _ended(order: Order, tally: ResultCollector, not_repeatable: tuple[str, ...], seconds: float) -> TournamentResult:
    """Put the results together, and write them to the folder."""
    store = tally.store
    facts = tally.facts
    if order.folder is not None:
        before = read_plan(order.folder)
        assert before is not None, "it was written when the folder was opened"
        # Strategies that were caught before stay caught.
        caught = {*before.not_repeatable, *not_repeatable}
        not_repeatable = tuple(name for name in facts.names if name in caught)
        shard = str(order.shard) if order.shard else None
        folder_plan = FolderPlan(facts, facts.digest, shard, not_repeatable)
        write_plan(order.folder, folder_plan)
        store.arrange_in(order.folder)
    if order.shard is not None:
        document = _shard_document(facts, order.shard, tally, seconds)
        return TournamentResult(document, tally.pairs, facts, store, not_repeatable)
    result = result_of(tally, not_repeatable, seconds)
    if order.folder is not None:
        from league.features.experiments.outcome import result_files

        result_files.write_tables(result, order.folder)
    return result


def result_of(tally: ResultCollector, not_repeatable: tuple[str, ...], seconds: float) -> TournamentResult:
    """Return the results of a whole tournament."""
    document = _document(tally.facts, tally.pairs, seconds)
    document["not_repeatable"] = list(not_repeatable)
    # A strategy that plays several times is numbered.
    titles = [name.partition(" (")[0] for name in tally.facts.names]
    document["notes"] = [*notes_about(titles, tally.facts.game), *result_notes(document)]
    return TournamentResult(document, tally.pairs, tally.facts, tally.store, not_repeatable)


def _shard_document(facts: PlanFacts, shard: Shard, tally: ResultCollector, seconds: float) -> dict[str, Any]:
    return {
        "game": facts.game,
        "seed": facts.seed,
        "meetings": facts.meetings,
        "openings": facts.openings,
        "shard": str(shard),
        "plan": facts.digest,
        "series": len(tally.tasks),
        "matches": sum(task.matches for task in tally.tasks),
        "seconds": round(seconds, 3),
    }


class ResultCollector:
    """Adds series to the results, in the order of the plan, as soon as the store has them."""

    def __init__(
        self,
        facts: PlanFacts,
        store: SeriesStore,
        tasks: list[Task],
        on_match: OnMatch | None = None,
    ) -> None:
        self.facts = facts
        self.store = store
        self.tasks = tasks
        self.pairs = []
        # Without openings, every match begins in the same way.
        openings = max(facts.openings, 1)
        for number, (first, second) in enumerate(facts.pairs):
            is_swapped = facts.is_swapped(number)
            self.pairs.append(Pair(first, second, is_swapped, openings))
        self._on_match = on_match
        self._added = 0

    def advance(self) -> None:
        """Add all series that are there and whose predecessors are."""
        while self._added < len(self.tasks):
            task = self.tasks[self._added]
            key = self.facts.series(task).key
            if key not in self.store:
                return
            record = self.store.record(key)
            pair = self.pairs[task.pair]
            pair.add(record)
            if self._on_match is not None:
                for row in SeriesRows(self.facts, pair, record):
                    self._on_match(row)
            self._added += 1


class SeriesRows:
    """The matches of a series as files and callbacks have them."""

    # What all rows share is found once: a tournament may have millions of them.

    def __init__(self, facts: PlanFacts, pair: Pair, series: SeriesRecord) -> None:
        self._pair = pair
        self._series = series
        self._players = (facts.names[pair.first], facts.names[pair.second])
        self._ends = pair.oriented_ends(series)
        self._openings = _opening_texts(facts.game, facts.openings, facts.seed)
        self._chance = series.chance or [""] * len(series.ends)
        self._scoring = game_named(facts.game).scoring

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self.row, range(len(self._ends)))

    def row(self, place: int) -> dict[str, Any]:
        """Return one match."""
        pair = self._pair
        series = self._series
        first, second = self._players
        number = series.start + place
        row = {
            "first": first,
            "second": second,
            "number": number + 1,
            "player_a": self._players[pair.first_seat(number)],
            "ended": _END_NAMES[self._ends[place]],
            "opening": self._openings[number // 2 % pair.openings],
            "moves": series.moves[place],
            "chance": self._chance[place],
            "seed": series.seed,
        }
        if series.scores:
            returns = list(map(self._scoring.return_of, series.scores[place]))
            row["return_of_first"] = returns[pair.place(0)]
            row["return_of_second"] = returns[pair.place(1)]
        return row


_END_NAMES: Final = tuple(end.name for end in MatchEnd)


@lru_cache(maxsize=8)  # once for every series
def _opening_texts(game: str, count: int, seed: int) -> tuple[str, ...]:
    return tuple(moves_text(opening) for opening in openings_for(game, count, seed))


def off_the_loop(work: Callable[[], R]) -> R:
    """Do work in a thread of its own if this thread runs an event loop."""
    # A notebook runs an event loop already, and strategies that are `async` need one of their own.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return ThreadPoolExecutor(1).submit(work).result()


# --- the document -----------------------------------------------------------------------------------------------------


def _document(plan: PlanFacts, pairs: Sequence[Pair], seconds: float) -> dict[str, Any]:
    minds = _minds(plan, pairs)
    not_rated = {row["strategy"]: row["not_rated"] for row in minds if row["not_rated"]}
    # By the place of the strategy in the list.
    totals = [Score() for _ in plan.strategies]
    rated = [Score() for _ in plan.strategies]
    groups: list[list[list[strata.Sample]]] = [[] for _ in plan.strategies]
    distinct = [0 for _ in plan.strategies]
    rows = []
    for pair in pairs:
        counts = [pair.result.ends.count(end) for end in MatchEnd]
        own_groups: list[list[strata.Sample]] = []
        # Choices that nobody made say nothing about either player.
        is_rated = not_rated.keys().isdisjoint((plan.names[pair.first], plan.names[pair.second]))
        if is_rated:
            own_groups = _strata(plan, pair, 0)
            groups[pair.first] += own_groups
            groups[pair.second] += _strata(plan, pair, 1)
            rated[pair.first] += score_of(counts, 0)
            rated[pair.second] += score_of(counts, 1)
        row = _pair_row(plan, pair, counts, own_groups)
        totals[pair.first] += score_of(counts, 0)
        totals[pair.second] += score_of(counts, 1)
        distinct[pair.first] += row["distinct_matches"]
        distinct[pair.second] += row["distinct_matches"]
        rows.append(row)
    standings = []
    for place, name in enumerate(plan.names):
        row = _score_row(plan, totals[place], rated[place], groups[place], distinct[place])
        standings.append({"strategy": name, "not_rated": not_rated.get(name, ""), **row})
    # Whoever has no match that counts comes last.
    standings.sort(key=lambda row: -1.0 if row["points_per_match"] is None else row["points_per_match"], reverse=True)
    return {
        "game": plan.game,
        "seed": plan.seed,
        "meetings": plan.meetings,
        "openings": plan.openings,
        "matches": plan.matches,
        "distinct_matches": sum(row["distinct_matches"] for row in rows),
        "standings": standings,
        "pairs": rows,
        "failures": failure_rows(plan.names, pairs),
        "minds": minds,
        "seconds": round(seconds, 3),
    }


def _strata(plan: PlanFacts, pair: Pair, place: int) -> list[list[strata.Sample]]:
    """Return the points of one strategy of a pair, by seat, and by opening within each seat."""
    by_margin = game_named(plan.game).scoring.by_margin
    groups = []
    for seat in (PLAYER_A, PLAYER_B):
        group = []
        for opening in range(pair.openings):
            numbers = pair.numbers(Start(opening, seat))
            ends = pair.result.ends[numbers]
            if not ends:
                continue
            if by_margin:
                points = pair.result.points[place]
                sample = strata.of_values(points[numbers])
            else:
                counts = [ends.count(end) for end in MatchEnd]
                score = score_of(counts, place)
                sample = strata.of_results(score.wins, score.draws, score.losses)
            if pair.is_always_the_same(Start(opening, seat)):
                sample = sample.repeating(len(ends))
            group.append(sample)
        groups.append(group)
    return groups


def _score_row(
    plan: PlanFacts,
    score: Score,
    rated: Score,
    groups: list[list[strata.Sample]],
    distinct: int,
) -> dict[str, Any]:
    """Return a score with the mean and interval of the matches that count: in points, and in a game scored by its
    margin also in returns."""
    scoring = game_named(plan.game).scoring
    mean: float | None = None
    interval: tuple[float, ...] = ()
    if any(groups):
        mean = points_per_match(rated.wins, rated.draws, rated.losses)
        if scoring.by_margin:
            mean = strata.mean(groups)
        scale = strata.margin_scale(scoring.most) if scoring.by_margin else strata.LEAGUE_SCALE
        interval = strata.interval(groups, scale)
    row = score.row(mean, interval, distinct)
    if scoring.by_margin:
        row["return_per_match"] = None if mean is None else scoring.return_of(mean)
        row["return_interval"] = list(map(scoring.return_of, interval)) or None
    return row


def _pair_row(
    plan: PlanFacts,
    pair: Pair,
    counts: Sequence[int],
    groups: list[list[strata.Sample]],
) -> dict[str, Any]:
    return {
        "first": plan.names[pair.first],
        "second": plan.names[pair.second],
        **_score_row(plan, score_of(counts, 0), score_of(counts, 0), groups, distinct_matches(pair)),
        "technical_losses_of_second": score_of(counts, 1).technical_losses,
        "matches": len(pair.result.ends),
        "rated": _rated(plan, pair),
    }


def _rated(plan: PlanFacts, pair: Pair) -> list[dict[str, Any]]:
    """Return the results of the first strategy by seat, without technical losses. A repeated match counts once."""
    names = (plan.names[pair.first], plan.names[pair.second])
    rows = []
    for seat in (PLAYER_A, PLAYER_B):
        counts = [0, 0, 0]
        for opening in range(pair.openings):
            start = Start(opening, seat)
            ends = pair.result.ends[pair.numbers(start)]
            # Repetitions say nothing about who is stronger.
            if pair.is_always_the_same(start):
                ends = ends[:1]
            for end in WHOLE:
                counts[end] += ends.count(end)
        rows.append(
            {
                "player_a": names[seat],
                "wins": counts[MatchEnd.FIRST_WON],
                "draws": counts[MatchEnd.DRAW],
                "losses": counts[MatchEnd.SECOND_WON],
            }
        )
    return rows


def distinct_matches(pair: Pair) -> int:
    """Return how many matches of a pair say something new.

    In a game without chance, two strategies that always played the same match, move for move, when they sat and began
    the same way, and did so at least five times, always will: those matches are one observation. All others count.
    """
    matches = len(pair.result.ends)
    for start, repeated in pair.result.repeated.items():
        if pair.is_always_the_same(start):
            matches -= repeated.count - 1
    return matches


def failure_rows(names: Sequence[str], pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the failures of the strategies' code, the most frequent ones first."""
    times: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        for description, count in pair.result.failures.items():
            place, _, failure = description.partition(" ")
            # "0" is the first strategy of the pair, "1" the second.
            strategy = (pair.first, pair.second)[int(place)]
            times[names[strategy], failure] += count
    rows = []
    for (name, failure), count in times.items():
        rows.append({"strategy": name, "failure": failure, "times": count})
    # Names break ties: the order must not depend on which failure came first.
    return sorted(rows, key=lambda row: (-row["times"], row["strategy"]))


def why_not_own(total: Provenance) -> str:
    """Return why the choices of a strategy are not its own; empty if they are."""
    return why_not_rated(total.choices, total.fallbacks, total.provider_errors)


def _minds(plan: PlanFacts, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return how the choices of the strategies that ask came about."""
    totals: dict[int, Provenance] = {}
    for pair in pairs:
        for place, provenance in pair.result.minds.items():
            strategy = (pair.first, pair.second)[place]
            before = totals.get(strategy, Provenance(choices=0))
            totals[strategy] = before.plus(provenance)
    rows = []
    for strategy, total in sorted(totals.items()):
        row = {
            "strategy": plan.names[strategy],
            **msgspec.structs.asdict(total),
            "not_rated": why_not_own(total),
            "conditions": plan.strategies[strategy].conditions,
        }
        rows.append(row)
    return rows
