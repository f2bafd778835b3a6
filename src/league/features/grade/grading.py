"""Grading a class: every submission is copied, qualifies, and plays all others. Everyone gets a row, whatever happens.

Theory of operation. A submission *qualifies* with four matches against a reference player. It fails if it loses all
of them by its own fault, or if it cannot be asked any more. Then it plays two series with the same seed. If they
differ, it is not repeatable, and fails: the results of everybody else would depend on its luck. The tournament of the
others is played by the engine of `league tournament`, in threads that wait for processes. If it finds another
submission that is not repeatable, it is played again without it.

The same seed gives the same rows. So nothing here depends on which series is played first, and of what failed only
those words are kept that a second try repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from league.features.experiments.playing.plan import game_named
from league.features.experiments.playing.series import MatchEnd, SeriesPlan, play
from league.features.experiments.tournament import Progress, TournamentResult, tournament
from league.features.grade import sandbox
from league.features.grade.contestant import Contestant, SandboxedStrategy
from league.features.grade.reasons import ILLEGAL, NOT_REPEATABLE, SLOW, SOME_FAILED, SubmissionFailed
from league.features.grade.sandboxed import REPEATED, GradingOrder, Grounds, SandboxBroken
from league.features.grade.submissions import Submission, copy
from league.hosting.member import players
from league.terminal import CommandError

QUALIFYING: Final = 4
OWN_FAILURES: Final = (MatchEnd.FIRST_FAILED, MatchEnd.BOTH_FAILED)
RAISED: Final = f"{SubmissionFailed.__name__}: "
"""How the engine begins its words for what a submission did."""
DIFFERS: Final = SubmissionFailed(
    NOT_REPEATABLE,
    "with the same seed it did something else: take chance from turn.random alone, and do not look at clocks",
)
SCORES: Final = ("played", "wins", "draws", "losses", "technical_losses")
MOST_DETAIL: Final = 400


@dataclass
class GradedRow:
    """What came of one submission."""

    submission: Submission
    contestant: Contestant | None = None
    """None if it does not take part."""
    failure: SubmissionFailed | None = None
    """Why it does not take part, or what failed most often."""
    printed: str = ""
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

    def facts(self) -> dict[str, Any]:
        """Return the columns of the tables."""
        student = self.submission
        failure = self.failure or SubmissionFailed("", "")
        return {
            "id": student.id,
            "name": student.name,
            "e-mail": student.mail,
            "group": student.group,
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
    rows: list[GradedRow] = []
    try:
        for row in pool.map(lambda number: _entered(grounds, number), range(len(order.submissions))):
            rows.append(row)
            tried(len(rows), len(order.submissions))
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


def _entered(grounds: Grounds, number: int) -> GradedRow:
    """Copy a submission, and let it qualify."""
    order = grounds.order
    row = GradedRow(order.submissions[number])
    user = sandbox.user_of(number) if order.is_boxed and sandbox.is_root() else None
    try:
        folder = copy(row.submission, grounds.folder / str(number), user)
        name = row.submission.id
        # No folder can have this name.
        row.contestant = Contestant(grounds, f"{name}/player.py" if name in order.against else name, folder, number)
        failure = _tried(order, row.contestant, QUALIFYING).failure
        # What took too long once need not do so twice.
        if failure is not None and failure.reason == SLOW:
            raise failure
        first, second = (_tried(order, row.contestant, REPEATED) for _ in range(2))
        if first.course != second.course:
            raise DIFFERS
        row.printed = first.printed if first.printed == second.printed else ""
        if failure is not None:
            # Messages may have something new in them each time.
            raise failure if first.words == second.words else replace(failure, text=failure.text.partition(":")[0])
    except SubmissionFailed as error:
        row.fail(error)
    return row


class Trial(NamedTuple):
    """A few matches of one submission against the reference player."""

    failure: SubmissionFailed | None
    """Why it does not qualify."""
    course: tuple[bytes, list[str]]
    """The ends and moves of all matches: a second trial must repeat them."""
    words: Counter[str]
    """What failed."""
    printed: str


def _tried(order: GradingOrder, contestant: Contestant, matches: int) -> Trial:
    plan = SeriesPlan(
        game=game_named(order.game),
        seed=f"{order.seed}/qualify",
        start=0,
        count=matches,
        move_seconds=order.move_seconds,
    )
    strategy = SandboxedStrategy(contestant)
    result = play(plan, (lambda: strategy, lambda: players.load(order.against[0]).strategy))
    failure = strategy.end
    if failure is None and all(end in OWN_FAILURES for end in result.ends):
        own = next(text for text in result.failures if text.startswith("0 "))
        failure = _failure_in(own.removeprefix("0 "), contestant)
    return Trial(failure, (bytes(result.ends), result.moves), result.failures, strategy.printed)


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
        failures: Counter[str] = Counter()
        for failed in result.document["failures"]:
            if failed["strategy"] == name:
                failures[failed["failure"].removeprefix(RAISED)] += failed["times"]
        row.failures = sorted(failures.items(), key=lambda item: (-item[1], item[0]))
        assert row.contestant is not None
        row.failure = _worst(row, row.contestant)
    for row in rows:
        row.rank = 1 + sum(other.points > row.points for other in rows)


def _worst(row: GradedRow, contestant: Contestant) -> SubmissionFailed | None:
    """Return what failed most often in the tournament, or else what was tried and did not work."""
    if row.failures:
        text, _ = row.failures[0]
        lost = row.score["technical_losses"]
        reason = SOME_FAILED if lost else ""
        return replace(
            _failure_in(text, contestant), reason=reason, text=f"{lost} of {row.score['played']} matches: {text}"
        )
    if contestant.attempts:
        return SubmissionFailed("", f"tried: {'; '.join(sorted(contestant.attempts))}")
    return None


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
