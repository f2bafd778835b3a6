"""Grading a class: every submission is copied, qualifies, and plays all others. Everyone gets a row, whatever happens.

Theory of operation. A submission plays a series against a reference player. It *qualifies* unless it loses the first
four matches by its own fault, or cannot be asked any more then. Later it plays that series again. If the two differ,
it is not repeatable, and fails: the results of everybody else would depend on its luck. The tournament of the others is
played by the engine of `league tournament`, in threads that wait for processes. If it finds another submission that is
not repeatable, it is played again without it.

The same seed gives the same rows. So nothing here depends on which series is played first, and of what failed only
those words are kept that the second series repeats.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, Final, NamedTuple

from league.features.experiments.playing.plan import game_named
from league.features.experiments.playing.series import MatchEnd, SeriesPlan, play
from league.features.experiments.tournament import Progress, TournamentResult, tournament
from league.features.grade import sandbox
from league.features.grade.contestant import Contestant, SandboxedStrategy
from league.features.grade.reasons import ILLEGAL, NOT_REPEATABLE, SLOW, SOME_FAILED, SubmissionFailed
from league.features.grade.sandboxed import GradingOrder, Grounds, SandboxBroken
from league.features.grade.submissions import Submission, copy
from league.hosting.member import players
from league.terminal import CommandError

QUALIFYING: Final = 4
REPEATED: Final = 32
"""Matches that are played twice. Somebody who tosses a coin in each is found with near certainty."""
LONGER_THAN_A_SECOND: Final = 1.1
"""Time between the two series. Whoever takes its seed from the clock in seconds must not get the same one."""
OWN_FAILURES: Final = {MatchEnd.FIRST_FAILED, MatchEnd.BOTH_FAILED}
RAISED: Final = f"{SubmissionFailed.__name__}: "
"""How the engine begins its words for what a submission did."""
DIFFERS: Final = SubmissionFailed(
    NOT_REPEATABLE,
    "with the same seed it did something else: take chance from turn.random alone, and do not look at clocks",
)
SCORES: Final = ("played", "wins", "draws", "losses", "technical_losses")
MOST_DETAIL: Final = 400


class Trial(NamedTuple):
    """A series of one submission against the reference player."""

    failure: SubmissionFailed | None
    """Why it does not qualify."""
    course: object
    """The ends and moves of all matches: a second trial must repeat them."""
    words: Counter[str]
    """What failed."""


@dataclass
class GradedRow:
    """What came of one submission."""

    submission: Submission
    contestant: Contestant | None = None
    """None if it does not take part."""
    trial: Trial | None = None
    failure: SubmissionFailed | None = None
    """Why it does not take part, or what failed most often."""
    has_same_words: bool = True
    """The second trial failed with the words of the first one."""
    score: dict[str, Any] = field(default_factory=dict)
    """Its row of the standings."""
    points: float = 0.0
    rank: int | None = None
    failures: list[tuple[str, int]] = field(default_factory=list)
    """What failed in the tournament, and how often, the most frequent first."""
    match: dict[str, Any] = field(default_factory=dict)
    """One of its matches: one that it lost by its own fault, or else one that it lost."""

    def fail(self, failure: SubmissionFailed) -> None:
        self.failure = failure
        self.contestant = None

    def kept_words(self, text: str) -> str:
        """Return the words for a failure that are the same each time."""
        return text if self.has_same_words else f"{text.split()[0].rstrip(':')} …"

    def facts(self) -> dict[str, Any]:
        """Return the columns of the tables."""
        failure = self.failure or SubmissionFailed("", "")
        return {
            "id": self.submission.id,
            "name": self.submission.name,
            "e-mail": self.submission.mail,
            "group": self.submission.group,
            "status": "ok" if self.contestant else "failed",
            "reason": failure.reason,
            "detail": failure.text[:MOST_DETAIL],
            "rank": self.rank,
            "points": self.points,
            **{name: self.score.get(name, 0) for name in SCORES},
        }


def grade(order: GradingOrder, tried: Progress, played: Progress) -> list[GradedRow]:
    """Grade all submissions. CommandError if that is not possible."""
    grounds = Grounds(order)
    pool = ThreadPoolExecutor(order.jobs)
    rows = list(map(GradedRow, order.submissions))
    try:
        for step in (_enter, _repeat):
            for done, _ in enumerate(pool.map(partial(_step, step, grounds), range(len(rows)), rows), start=1):
                tried(done, len(rows))
            time.sleep(LONGER_THAN_A_SECOND)
        while not _has_played(order, [row for row in rows if row.contestant], pool, played):
            pass
    except SandboxBroken as error:
        raise CommandError(f"a sandbox failed: {error}") from error
    finally:
        # The threads of the pool wait for processes, which they end when they see this.
        grounds.is_stopped = True
        pool.shutdown(cancel_futures=True)
        grounds.remove()
    return rows


# --- qualifying -------------------------------------------------------------------------------------------------------


def _step(take: Callable[[Grounds, int, GradedRow], None], grounds: Grounds, number: int, row: GradedRow) -> None:
    try:
        take(grounds, number, row)
    except SubmissionFailed as error:
        row.fail(error)


def _enter(grounds: Grounds, number: int, row: GradedRow) -> None:
    """Let a submission qualify."""
    row.contestant, row.trial = _tried(grounds, number, row.submission, f"{number}")
    # What took too long once need not do so twice.
    if row.trial.failure is not None and row.trial.failure.reason == SLOW:
        raise row.trial.failure


def _repeat(grounds: Grounds, number: int, row: GradedRow) -> None:
    """Let a submission do the same again, later and elsewhere."""
    if row.contestant is None or row.trial is None:
        return
    first = row.trial
    _, second = _tried(grounds, number, row.submission, f"{number}-again")
    row.has_same_words = first.words == second.words
    if first.course != second.course:
        raise DIFFERS
    if first.failure is not None:
        raise replace(first.failure, text=row.kept_words(first.failure.text))


def _tried(grounds: Grounds, number: int, submission: Submission, place: str) -> tuple[Contestant, Trial]:
    """Let a new copy of a submission play against the reference player."""
    order = grounds.order
    user = sandbox.user_of(number) if order.is_boxed and sandbox.is_root() else None
    folder = copy(submission, grounds.folder / place, user)
    # No folder can have the other name.
    name = submission.id if submission.id not in order.against else f"{submission.id}/player.py"
    contestant = Contestant(grounds, name, folder, number)
    plan = SeriesPlan(
        game=game_named(order.game),
        seed=f"{order.seed}/qualify",
        start=0,
        count=REPEATED,
        move_seconds=order.move_seconds,
    )
    strategy = SandboxedStrategy(contestant)
    result = play(plan, (lambda: strategy, lambda: players.load(order.against[0]).strategy))
    failure = None
    # It may have ended in one of these, and could not be asked from then on.
    if strategy.end is not None and OWN_FAILURES.issuperset(result.ends[QUALIFYING - 1 :]):
        failure = strategy.end
    elif OWN_FAILURES.issuperset(result.ends[:QUALIFYING]):
        own = next(text for text in result.failures if text.startswith("0 "))
        failure = _failure_in(own.removeprefix("0 "), contestant)
    words = result.failures if failure is None else Counter([failure.text])
    course = (bytes(result.ends), result.moves, failure and failure.reason)
    return contestant, Trial(failure, course, words)


def _failure_in(text: str, contestant: Contestant) -> SubmissionFailed:
    """Return the failure that the engine describes so. If it has no other, it judged the choice by the rules."""
    words = text.removeprefix(RAISED)
    return contestant.failures.get(words) or SubmissionFailed(ILLEGAL, words.removeprefix(f"{ILLEGAL}: "))


# --- the tournament ---------------------------------------------------------------------------------------------------


def _has_played(order: GradingOrder, rows: list[GradedRow], pool: ThreadPoolExecutor, progress: Progress) -> bool:
    """Play the tournament of these. False if it has to be played again, without somebody who was caught."""
    if not rows:
        return True
    result = tournament(
        [*(row.contestant for row in rows if row.contestant), *order.against],
        game=order.game,
        meetings=order.meetings,
        seed=order.seed,
        move_seconds=order.move_seconds,
        executor=pool,
        progress=progress,
    )
    caught = [row for row, name in zip(rows, result.names, strict=False) if name in result.not_repeatable]
    for row in caught:
        row.fail(DIFFERS)
    if not caught:
        _add_results(rows, result)
    return not caught


def _add_results(rows: Iterable[GradedRow], result: TournamentResult) -> None:
    scores = {row["strategy"]: row for row in result.document["standings"]}
    matches = _examples(result)
    for row, name in zip(rows, result.names, strict=False):
        row.score = scores[name]
        row.points = round(row.score["points_per_match"], 3)
        row.match = matches[name]
        row.failure = None
        counts: Counter[str] = Counter()
        for failed in result.document["failures"]:
            if failed["strategy"] == name:
                counts[failed["failure"]] += failed["times"]
        if counts:
            _add_failures(row, counts)
    for row in rows:
        row.rank = 1 + sum(other.points > row.points for other in rows)


def _add_failures(row: GradedRow, counts: Counter[str]) -> None:
    """Say what failed in the tournament, and what failed most often."""
    assert row.contestant is not None
    times: Counter[str] = Counter()
    failures: dict[str, SubmissionFailed] = {}
    for text, count in counts.items():
        failure = _failure_in(text, row.contestant)
        failure = replace(failure, text=row.kept_words(failure.text))
        words = str(failure)
        times[words] += count
        failures[words] = min(failure, failures.get(words, failure), key=attrgetter("question", "trace"))
    row.failures = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    worst, _ = row.failures[0]
    lost = row.score["technical_losses"]
    row.failure = replace(
        failures[worst],
        reason=SOME_FAILED if lost else "",
        text=f"{lost} of {row.score['played']} matches: {worst}",
    )


def _examples(result: TournamentResult) -> dict[str, dict[str, Any]]:
    """Return a match of each strategy that says the most: lost by its own fault, or lost, or any."""
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for row in result.match_rows():
        for own, other in (("FIRST", "SECOND"), ("SECOND", "FIRST")):
            name = row[own.lower()]
            weight = 1 + (row["ended"] == f"{other}_WON") + 2 * (row["ended"] in (f"{own}_FAILED", "BOTH_FAILED"))
            if found.get(name, (0,))[0] < weight:
                found[name] = (weight, row)
    return {name: row for name, (_, row) in found.items()}
