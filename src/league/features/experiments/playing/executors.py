"""Playing the series of a tournament: here, in several processes, or by any executor, over machines.

Theory of operation. Work is a function of a task. It is done in this process, in a pool of processes or threads of our
own, or by a `concurrent.futures.Executor` that somebody passed. Results come in the order in which they are done;
`in_order` puts them back into the order of their tasks. The number of tasks that are handed out at once is limited, so
that a long tournament fits into memory.

Work never raises in a pool: whatever goes wrong in it is returned as `WorkFailure`, and ends the tournament. So an
exception out of a future always means that the work was lost, with a process, a machine or a connection. A lost task
is handed out again, to a new pool if the old one is broken, but not without end: a strategy that kills its process
would kill every one.

Other machines know neither our files nor our modules, except this package. So strategies and games are shipped with
each task (`sources.py`). Threads of an executor in this process use the strategies as they are.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from league.features.experiments.contenders import Contender, maker, title_of
from league.features.experiments.outcome.series_store import encode
from league.features.experiments.playing import repeatability, sources
from league.features.experiments.playing.loading import is_unloaded
from league.features.experiments.playing.plan import PlanFacts, Task, TournamentPlan, game_named, openings_for
from league.features.experiments.playing.series import SeriesPlan, play
from league.features.experiments.playing.time_limit import needs_process
from league.games import registry
from league.terminal import CommandError, LeagueError
from league.workers import worker_pool

AHEAD: Final = 4
"""Tasks that are handed out for each process, so that none waits."""
AT_ONCE: Final = 256
"""Tasks that are handed out to an executor that does not say how many workers it has."""
MOST_LOSSES: Final = 5
"""A task that was lost this many times is not handed out again."""
PAUSE_S: Final = 0.2
"""After a loss: what was lost with a machine must not go to the same machine before others notice."""
SHORT_S: Final = 2.0
"""A tournament that takes no longer is played in one process: others would only cost time."""
SAMPLE: Final = 4
"""How many matches of each pair are played to find that out."""
UNGUARDED: Final = 78
"""Exit status of a process that was about to play the tournament once more, because the script lets it."""
CONNECT_S: Final = 10.0
"""How long a connection to a cluster may take."""
RAY: Final = "ray"
LOCAL: Final = "local"

GivenExecutor = Executor | Callable[[], Executor] | str | None
"""An executor, a function that makes one, "ray", or "local" and None for processes of our own."""
R = TypeVar("R")


# --- work -------------------------------------------------------------------------------------------------------------


def play_series(facts: PlanFacts, task: Task, contenders: tuple[Contender, Contender]) -> bytes:
    """Play one series in this process, and return its line; or its choices, if it is played again.

    The contenders are in the order of their digests.
    """
    series = facts.series(task)
    first, second = contenders
    plan = SeriesPlan(
        game=game_named(facts.game),
        seed=series.seed,
        start=series.start,
        count=task.replayed or task.matches,
        openings=openings_for(facts.game, facts.openings, facts.seed),
        move_seconds=facts.move_seconds,
        names=(facts.names[series.first], facts.names[series.second]),
    )
    # Made anew for each series: a strategy must not remember an earlier one.
    make = (maker(first, series.seed), maker(second, series.seed))
    if not task.replayed:
        return encode(facts, series, play(plan, make))
    choices: list[repeatability.ReplayedChoice] = []
    play(
        plan,
        (
            lambda: repeatability.Recorder(make[0](), 0, choices),
            lambda: repeatability.Recorder(make[1](), 1, choices),
        ),
    )
    return repeatability.encode(choices)


@dataclass(frozen=True)
class LocalWork:
    """Plays series where the strategies can be loaded as they were named."""

    facts: PlanFacts
    contenders: tuple[Contender, ...]

    def __call__(self, task: Task) -> bytes:
        series = self.facts.series(task)
        first = self.contenders[series.first]
        second = self.contenders[series.second]
        return play_series(self.facts, task, (first, second))


@dataclass(frozen=True)
class ShippedWork:
    """Plays series anywhere."""

    facts: PlanFacts
    game: sources.Shipped
    strategies: tuple[sources.Shipped, ...]

    def __call__(self, task: Task) -> bytes:
        ours = version(sources.OURS)
        if ours != self.facts.agent_league:
            raise CommandError(
                f"a worker has agent-league {ours}: install version {self.facts.agent_league} there, as it is here"
            )
        sources.unpack_game(self.facts.game, self.game)
        series = self.facts.series(task)
        first = sources.unpack(self.strategies[series.first])
        second = sources.unpack(self.strategies[series.second])
        return play_series(self.facts, task, (first, second))


class WorkFailure(NamedTuple):
    """Work that failed by itself: doing it once more would not help."""

    sentence: str


@dataclass(frozen=True)
class Guarded(Generic[R]):
    """Work that returns what went wrong with it."""

    work: Callable[[Task], R]

    def __call__(self, task: Task) -> R | WorkFailure:
        try:
            return self.work(task)
        except LeagueError as error:
            return WorkFailure(str(error))
        except Exception as error:  # noqa: BLE001 - code of others, such as the constructor of a strategy
            return WorkFailure(f"{type(error).__name__}: {error}")


# --- workers ----------------------------------------------------------------------------------------------------------


@dataclass
class Workers:
    """Where tasks are done. `open` opens a pool."""

    open: Callable[[], AbstractContextManager[Executor]]
    at_once: int
    can_open_again: bool = True
    are_processes: bool = False
    may_be_idle: bool = False
    """If there is little to do, this process does it itself."""
    processes: set[BaseProcess] = field(default_factory=set)
    """Processes of our own: their exit statuses say why they ended."""

    def why_lost(self, error: BaseException) -> str:
        """Say why a task was lost so often."""
        if any(process.exitcode == UNGUARDED for process in self.processes):
            return (
                'write `if __name__ == "__main__":` above the call of league.tournament, and indent what follows: the '
                "tournament plays in several processes, and each of them imports your script (or pass jobs=1)"
            )
        if self.are_processes:
            return (
                "a process that played matches ended early: a strategy ended it, or there was not enough memory "
                "(`league grade` finds out which one it was)"
            )
        reason = f"{type(error).__name__}: {error}".strip(": ")
        return f"a series was lost {MOST_LOSSES} times by the executor, the last time because of {reason}"


def workers_for(plan: TournamentPlan, tasks: int) -> Workers | None:
    """Return our own workers for this many tasks; None if this process does all of them."""
    asking = plan.asking
    if asking:
        # Never more questions at once than each of them allows: a match asks one at a time.
        at_once = min(contender.at_once for contender in asking)
        return Workers(lambda: ThreadPoolExecutor(at_once), AHEAD * at_once)
    jobs = min(plan.jobs or os.cpu_count() or 1, tasks)
    # Code of others may end its process or start others, and other threads cannot be interrupted.
    is_alone = any(is_unloaded(contender) for contender in plan.contenders) or needs_process()
    needs_none = jobs == 1 and not needs_process() and (plan.jobs is not None or not is_alone)
    if jobs < 1 or not _can_share(plan) or needs_none:
        return None
    # A new interpreter for each process: no threads or locks of ours are copied into it.
    context = multiprocessing.get_context("spawn")
    may_be_idle = plan.jobs is None and not is_alone
    return Workers(lambda: worker_pool(jobs, context), AHEAD * jobs, are_processes=True, may_be_idle=may_be_idle)


def workers_of(executor: GivenExecutor, address: str | None) -> Workers:
    """Return the workers of an executor that somebody passed or named, or of a function that makes one."""
    if executor == RAY:
        return ray_workers(address)
    if isinstance(executor, Executor):
        at_once = AHEAD * getattr(executor, "_max_workers", AT_ONCE // AHEAD)
        return Workers(lambda: nullcontext(executor), at_once, can_open_again=False)
    if not callable(executor):
        raise CommandError(
            f"{executor!r} is not an executor: pass a concurrent.futures.Executor, or the name ray or local"
        )
    return Workers(executor, AT_ONCE)


def is_in_process(executor: GivenExecutor) -> bool:
    """Return True if an executor can use the strategies as they are."""
    return isinstance(executor, ThreadPoolExecutor)


def shipped_work(plan: TournamentPlan) -> ShippedWork:
    """Pack the strategies and the game of a plan. CommandError if one cannot leave this process."""
    strategies = tuple(sources.ship(contender) for contender in plan.contenders)
    return ShippedWork(plan.facts, sources.ship_game(plan.game), strategies)


def _can_share(plan: TournamentPlan) -> bool:
    """Return True if other processes can play all strategies."""
    main_file = getattr(sys.modules["__main__"], "__file__", None)
    has_name = getattr(sys.modules["__main__"], "__spec__", None) is not None
    # Each new process imports the script. One that came through a pipe, as in `python - <<END`, is nowhere.
    if main_file is not None and not has_name and not Path(main_file).exists():
        print(f"all matches are played in this process, because others cannot import {main_file}", file=sys.stderr)
        return False
    if registry.given(plan.game) is not None:
        return False
    if all(isinstance(contender, str) for contender in plan.contenders):
        return True
    # A script may look at what its classes did, so they leave this process only if it says so.
    if plan.jobs is None:
        return False
    local = [title_of(contender) for contender in plan.contenders if not _can_be_sent(contender)]
    if local and plan.jobs > 1:
        reason = "other processes can import only what is at the top level of a module or a script"
        print(f"jobs={plan.jobs} has no effect, because of {', '.join(local)}: {reason}", file=sys.stderr)
    return not local


def _can_be_sent(contender: Contender) -> bool:
    # A notebook is no file that another process could import.
    is_in_notebook = not hasattr(sys.modules["__main__"], "__file__")
    if is_in_notebook and getattr(contender, "__module__", "") == "__main__":
        return False
    return sources.can_pickle(contender)


def refuse_unguarded_script() -> None:
    """End a new process that imports a script which calls us again. Its parent says what is wrong with the script."""
    # multiprocessing asks the same question before it starts a process, and answers with a page of tracebacks.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(UNGUARDED)


# --- handing out ------------------------------------------------------------------------------------------------------


class Done(NamedTuple, Generic[R]):
    """A task that was done."""

    task: Task
    result: R


class Lost(NamedTuple):
    """A task that was lost."""

    task: Task
    error: BaseException


def done(
    workers: Workers | None,
    work: Callable[[Task], R],
    waiting: deque[Task],
) -> Generator[Done[R], None, None]:
    """Do all waiting tasks, and yield them as soon as they are done. More may be added meanwhile.

    CommandError if that is not possible.
    """
    if workers is None:
        while waiting:
            task = waiting.popleft()
            yield Done(task, work(task))
        return
    if workers.may_be_idle and _is_short(work, waiting):
        yield from done(None, work, waiting)
    losses: Counter[Task] = Counter()
    while waiting:
        with workers.open() as pool:
            lost = yield from _until_broken(workers, pool, Guarded(work), waiting, losses)
            if lost:
                # Only then are the exit statuses known.
                pool.shutdown()
        if lost and not workers.can_open_again:
            reason = lost[0].error
            raise CommandError(
                f"the executor is broken ({type(reason).__name__}: {reason}); pass a function that makes an executor, "
                "and a new one is made after a failure"
            )
        for loss in lost:
            _count(workers, loss, losses)
        # First of all, so that a pool that breaks whenever it is opened is noticed after a few times.
        waiting.extendleft(loss.task for loss in reversed(lost))


def _is_short(work: Callable[[Task], R], waiting: Iterable[Task]) -> bool:
    """Play a few matches of each pair, and return True if all matches together would take about two seconds."""
    ends = time.monotonic() + SHORT_S / 5
    estimate_s = 0.0
    match_s: dict[int, float] = {}
    for task in waiting:
        if task.pair not in match_s:
            work(task._replace(replayed=1))  # loads what the matches need
            began = time.process_time()
            work(task._replace(replayed=min(SAMPLE, task.matches)))
            match_s[task.pair] = (time.process_time() - began) / min(SAMPLE, task.matches)
        estimate_s += match_s[task.pair] * task.matches
        if estimate_s > SHORT_S or time.monotonic() > ends:
            return False
    return True


def _until_broken(
    workers: Workers,
    pool: Executor,
    work: Guarded[R],
    waiting: deque[Task],
    losses: Counter[Task],
) -> Generator[Done[R], None, list[Lost]]:
    """Hand out tasks until all are done or the pool is broken, and return the tasks that were lost with it."""
    flights: dict[Future[R | WorkFailure], Task] = {}
    try:
        while waiting or flights:
            broken = _hand_out(workers, pool, work, waiting, flights)
            if broken is not None and not flights:
                return [Lost(waiting.popleft(), broken)]
            ended, _ = wait(flights, return_when=FIRST_COMPLETED)
            for future in ended:
                task = flights.pop(future)
                error = _error_of(future)
                if isinstance(error, BrokenExecutor):
                    # With the pool, everything that it was given is lost.
                    tasks = [task, *flights.values()]
                    return [Lost(lost, error) for lost in tasks]
                if error is None:
                    yield Done(task, _result_of(future))
                else:
                    _count(workers, Lost(task, error), losses)
                    waiting.append(task)
        return []
    finally:
        # Our own processes are ended, and a pool that ends does not expect futures that were cancelled.
        if not workers.are_processes:
            for future in flights:
                future.cancel()


def _hand_out(
    workers: Workers,
    pool: Executor,
    work: Guarded[R],
    waiting: deque[Task],
    flights: dict[Future[R | WorkFailure], Task],
) -> BaseException | None:
    """Submit as many tasks as may be handed out. Return the error if the pool takes none."""
    while waiting and len(flights) < workers.at_once:
        try:
            future = pool.submit(work, waiting[0])
        except (BrokenExecutor, RuntimeError) as error:
            return error
        flights[future] = waiting.popleft()
        if workers.are_processes:
            workers.processes.update(multiprocessing.active_children())
    return None


def _result_of(future: Future[R | WorkFailure]) -> R:
    result = future.result()
    if isinstance(result, WorkFailure):
        raise CommandError(result.sentence)
    return result


def _error_of(future: Future[Any]) -> BaseException | None:
    """Return why a task was lost; None if it was done."""
    if future.cancelled():
        return RuntimeError("the executor cancelled it")
    return future.exception()


def _count(workers: Workers, lost: Lost, losses: Counter[Task]) -> None:
    losses[lost.task] += 1
    is_unguarded = any(process.exitcode == UNGUARDED for process in workers.processes)
    if is_unguarded or losses[lost.task] >= MOST_LOSSES:
        raise CommandError(workers.why_lost(lost.error)) from lost.error
    time.sleep(PAUSE_S)


def in_order(played: Generator[Done[R], None, None], tasks: Iterable[Task]) -> Iterator[Done[R]]:
    """Yield the same in the order of the tasks."""
    results: dict[Task, R] = {}
    order = iter(tasks)
    following = next(order, None)
    # Closed at once: processes that play ahead have nothing more to do.
    with closing(played):
        for item in played:
            results[item.task] = item.result
            while following in results:
                yield Done(following, results.pop(following))
                following = next(order, None)


# --- Ray --------------------------------------------------------------------------------------------------------------


def ray_workers(address: str | None) -> Workers:
    """Return the workers of a Ray cluster. CommandError if Ray is not installed."""
    try:
        import ray  # noqa: F401 - an extra that few have installed
    except ImportError as error:
        raise CommandError("Ray is not installed: pip install 'agent-league[ray]'") from error
    return Workers(lambda: _ray_executor(address), AT_ONCE)


@contextmanager
def _ray_executor(address: str | None) -> Iterator[Executor]:
    import logging

    import ray

    was_connected = ray.is_initialized()
    if not was_connected:
        try:
            _require_listener(address)
            ray.init(address=address or "auto", logging_level=logging.ERROR)
        except (ConnectionError, OSError, ValueError, RuntimeError) as error:
            place = address or "this machine"
            raise CommandError(
                f"there is no Ray cluster at {place}: start one with `ray start --head`, or name one with --address"
            ) from error
    try:
        yield RayExecutor()
    finally:
        # A connection that the script has made stays its own.
        if not was_connected:
            ray.shutdown()


def _require_listener(address: str | None) -> None:
    """Raise OSError if nobody listens at an address: Ray would try for minutes."""
    place = (address or "").removeprefix("ray://")
    host, colon, port = place.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), CONNECT_S).close()


class RayExecutor(Executor):
    """The executor of a cluster that this process is connected to."""

    def __init__(self) -> None:
        import ray

        # We hand out lost tasks ourselves, as with every executor.
        self._call: Any = ray.remote(max_retries=0)(_call)

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        future: Future[R] = self._call.remote(fn, args, kwargs).future()
        return future


def _call(work: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    return work(*args, **kwargs)
