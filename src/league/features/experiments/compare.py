"""`league.compare`: is the new strategy better than the old one? Plays until that is clear, and no longer.

Theory of operation. Two strategies meet in short series, two matches by default: the same opening, with swapped seats.
Every series begins with new strategies that remember nothing, so series do not depend on each other, and the score of
each is one observation for the test (`statistics.methods.sequential`). Series are played ahead in several
processes but judged in their order. The test ends with the first one that decides it, and later ones are not counted.
So the same seed gives the same answer, whatever the number of processes. Agents that run elsewhere play over HTTP, one
match after the other (`agent_matches.py`).

In a game without chance, two strategies without chance repeat themselves. A series that plays what the same opening
gave before, move for move, says nothing new and is not counted, as long as no opening ever went two ways. When nothing
new comes any more, the comparison ends undecided.
"""

from __future__ import annotations

import math
import os
from collections import Counter, deque
from collections.abc import Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from league.features.experiments.agent_matches import check_agents, played_by_agents
from league.features.experiments.contenders import Contender, maker, notes_about
from league.features.experiments.outcome.result_text import comparison_lines, not_rated_note
from league.features.experiments.playing.executors import done, in_order, refuse_unguarded_script, workers_for
from league.features.experiments.playing.plan import Task, TournamentPlan, game_named, openings_for
from league.features.experiments.playing.series import (
    FAILED,
    MOVE_SECONDS,
    MatchEnd,
    PlayedSeries,
    SeriesPlan,
    SeriesResult,
    Start,
    play,
    starts,
)
from league.features.experiments.tournament import Pair, Progress, check, failure_rows, off_the_loop, why_not_own
from league.features.statistics.methods.sequential import FEWEST_PAIRS, Decision, SequentialTest
from league.games import registry
from league.games.contract import Game
from league.terminal import CommandError

MAX_MATCHES: Final = 20_000
CHUNK: Final = 16
"""Series that one process plays before it reports."""
OPENINGS: Final = 24
PATIENCE: Final = 5
"""The comparison ends when every opening has repeated itself this many times."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """The answer, and the matches behind it."""

    decision: Decision
    matches: int
    distinct_matches: int
    elo: float
    interval: tuple[float, float]
    document: dict[str, Any]
    """All of it, as `league compare --json` prints it."""

    def plot(self) -> Any:
        """Return a figure of matplotlib: the difference with its interval. It needs the extra `plot`."""
        from league.features.experiments.outcome.plots import comparison_figure, require_matplotlib

        require_matplotlib()
        return comparison_figure(self.document)

    def __repr__(self) -> str:
        """Show the answer as `league compare` does."""
        return "\n".join(comparison_lines(self.document))


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Plays some series one after the other, in any process."""

    plan: TournamentPlan
    length: int

    def __call__(self, task: Task) -> list[PlayedSeries]:
        results = []
        for start in range(task.start, task.start + task.matches, self.length):
            seed = f"{self.plan.seed}/compare/{start}"
            series = SeriesPlan(
                game=game_named(self.plan.game),
                seed=seed,
                start=start,
                count=min(self.length, task.start + task.matches - start),
                openings=openings_for(self.plan.game, self.plan.openings, self.plan.seed),
                move_seconds=self.plan.move_seconds,
                names=(self.plan.names[0], self.plan.names[1]),
            )
            first, second = self.plan.contenders
            makers = (maker(first, seed), maker(second, seed))
            result = play(series, makers)
            results.append(PlayedSeries(result, list(starts(series, result))))
        return results


def compare(
    new: Contender,
    old: Contender,
    *,
    game: str | Game = "even_odd",
    elo0: float = 0.0,
    elo1: float = 20.0,
    max_matches: int = MAX_MATCHES,
    series: int = 2,
    openings: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    move_seconds: float = MOVE_SECONDS,
    progress: Progress | None = None,
) -> Comparison:
    """Play `new` against `old` until it is clear whether `new` is better.

    "better" means stronger by `elo1` rather than by `elo0`. If the difference is `elo0`, at most 5 % of all comparisons
    say "better", however often anybody looks; if it is `elo1`, at most 5 % say "not_better". After `max_matches` the
    answer is "undecided". A series has `series` matches, an even number; a strategy remembers its series.

    Strategies are given as to `league.tournament`, or as the addresses of agents that run, such as
    "http://127.0.0.1:8101": then all matches are played over HTTP. A strategy may be compared with itself. LeagueError
    if it cannot be played, or if an agent ends meanwhile.
    """
    refuse_unguarded_script()
    game = registry.name_of(game)
    if not elo0 < elo1:
        raise CommandError(f"elo0 must be below elo1, and {elo0:g} is not below {elo1:g}")
    if series < 2 or series % 2:
        raise CommandError("a series needs an even number of matches, at least 2: the strategies swap seats")
    if max_matches < series * FEWEST_PAIRS:
        raise CommandError(f"max_matches must be at least {series * FEWEST_PAIRS}: fewer matches decide nothing")
    if seed is None:
        seed = int.from_bytes(os.urandom(4), "big")
    plan = TournamentPlan((new, old), game, max_matches, openings=0, seed=seed, jobs=jobs, move_seconds=move_seconds)
    check(plan)
    if plan.agents:
        check_agents(plan)
    plan = _with_openings(plan, openings)
    test = SequentialTest(elo0, elo1)
    return off_the_loop(partial(_run, plan, test, series, progress or (lambda *_: None)))


def _with_openings(plan: TournamentPlan, openings: int | None) -> TournamentPlan:
    """Return the plan with as many openings as were asked for, or as the game has, up to a usual number."""
    if openings is not None:
        plan = replace(plan, openings=openings)
        check(plan)
        return plan
    for count in range(OPENINGS, 0, -1):
        try:
            openings_for(plan.game, count, plan.seed)
        except ValueError:
            continue
        return replace(plan, openings=count)
    return plan


def _run(
    plan: TournamentPlan,
    test: SequentialTest,
    length: int,
    progress: Progress,
) -> Comparison:
    game = game_named(plan.game)
    repeats = _Repeats(PATIENCE * max(plan.openings, 1))
    matches = 0
    decision: Decision = "undecided"
    pair = Pair(0, 1)
    # Closed at once: processes that play ahead have nothing more to do.
    with closing(_series(plan, length)) as played:
        for result, games in played:
            matches += len(result.ends)
            pair.result.failures.update(result.failures)
            for place, report in result.minds.items():
                pair.result.add_mind(place, report.provenance)
            if repeats.is_new(games):
                test.add(_score(game, result))
            decision = test.decision
            progress(matches, plan.meetings)
            if decision != "undecided" or repeats.is_over:
                break
    progress(plan.meetings, plan.meetings)
    return _comparison(plan, test, length, decision, matches, pair)


def _series(plan: TournamentPlan, length: int) -> Generator[PlayedSeries, None, None]:
    """Play series after series, and yield them in their order."""
    if plan.agents:
        yield from played_by_agents(plan, length)
        return
    chunk = length * CHUNK
    tasks = []
    # Several series to a task: one is played faster than it is handed out.
    for start in range(0, plan.meetings, chunk):
        matches = min(chunk, plan.meetings - start)
        tasks.append(Task(0, start, matches))
    with ExitStack() as sessions:
        for contender in plan.asking:
            sessions.enter_context(contender.playing())
        workers = workers_for(plan, len(tasks))
        played = done(workers, _Chunk(plan, length), deque(tasks))
        for _, series in in_order(played, tasks):
            yield from series


def _score(game: Game, result: SeriesResult) -> float:
    """Return the score of the new strategy in a series: the mean of its matches, from 0 to 1."""
    if game.scoring.by_margin:
        margins = [mine - theirs for mine, theirs in result.scores]
        mean = sum(margins) / len(margins)
        # From -1 to 1 times the largest margin, to 0 to 1.
        return 0.5 + mean / (2 * game.scoring.most)
    scores = [_SCORES[MatchEnd(end)] for end in result.ends]
    return sum(scores) / len(scores)


_SCORES: Final = {
    MatchEnd.DRAW: 0.5,
    MatchEnd.FIRST_WON: 1.0,
    MatchEnd.SECOND_WON: 0.0,
    MatchEnd.FIRST_FAILED: 0.0,
    MatchEnd.SECOND_FAILED: 1.0,
    MatchEnd.BOTH_FAILED: 0.5,
}


class _Repeats:
    """Notices series that play, move for move, what the same opening gave before."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._moves: dict[object, object] = {}
        self._in_a_row = 0
        self._has_chance = False
        """Some series could not be foreseen: from then on each one counts."""

    @property
    def is_over(self) -> bool:
        return self._in_a_row >= self._patience

    def is_new(self, games: list[tuple[Start, str]]) -> bool:
        """Return False for a series that says nothing new. `games` says how its matches began and went."""
        if self._has_chance:
            return True
        moves = Counter(games)
        if not moves or any(game == FAILED for _, game in moves):
            self._has_chance = True
            return True
        start = frozenset(begin for begin, _ in moves)
        if start not in self._moves:
            self._moves[start] = moves
            self._in_a_row = 0
            return True
        if self._moves[start] != moves:
            self._has_chance = True
            self._in_a_row = 0
            return True
        self._in_a_row += 1
        return False


def _comparison(
    plan: TournamentPlan,
    test: SequentialTest,
    length: int,
    decision: Decision,
    matches: int,
    played: Pair,
) -> Comparison:
    estimate = test.estimate()
    # Decimals beyond the first are far below the error.
    interval = (round(estimate.low, 1), round(estimate.high, 1))
    notes = notes_about(plan.contenders, plan.game)
    for place, total in played.result.minds.items():
        reason = why_not_own(total)
        # Choices that nobody made decide nothing.
        if reason:
            decision = "undecided"
            notes.append(not_rated_note(plan.names[place], reason))
    document = {
        "decision": decision,
        "matches": matches,
        "distinct_matches": test.pairs * length,
        "elo": round(estimate.elo, 1),
        "interval": list(interval),
        "new": plan.names[0],
        "old": plan.names[1],
        "game": plan.game,
        "elo0": test.elo0,
        "elo1": test.elo1,
        "series": length,
        "openings": plan.openings,
        "seed": plan.seed,
        "scores": {f"{score:g}": count for score, count in sorted(test.counts.items())},
        "notes": notes,
        "failures": failure_rows(plan.names, [played]),
    }
    assert all(math.isfinite(value) for value in (*interval, estimate.elo))
    return Comparison(decision, matches, test.pairs * length, estimate.elo, interval, document)
