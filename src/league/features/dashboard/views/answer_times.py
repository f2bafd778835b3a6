"""How fast players answer and how often they fail, as their referees recorded it."""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from league import events as e


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """How many answers came, and how long they took, in seconds."""

    count: int
    median: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """What the league page says about a player's answers; `choices` is None before the first choice."""

    choices: AnswerTimes | None
    failures: int


class TimedAnswer(NamedTuple):
    """An answer and how long it took."""

    answer: e.PlayerJoined | e.MoveMade
    seconds: float


class AnswerLog:
    """The choices and failures of all players; it grows with the records of matches."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self._failures = Counter[str]()

    def add(self, records: Sequence[e.Event]) -> None:
        """Add whole records of matches."""
        for answer, seconds in answers(records):
            # Players join a match at once; with invitations among them, the times would not show how long it thinks.
            if not isinstance(answer, e.MoveMade):
                continue
            # Kept in order, so that the page can have its median after every match.
            insort(self._seconds.setdefault(answer.player_id, []), seconds)
        for event in records:
            if isinstance(event, e.AttemptFailed | e.WrongAnswer):
                self._failures[event.player_id] += 1

    def of_players(self) -> Mapping[str, AnswerSummary]:
        """By player."""
        answering = {}
        for player in {*self._seconds, *self._failures}:
            choices = None
            if player in self._seconds:
                choices = times_of(self._seconds[player])
            answering[player] = AnswerSummary(choices, self._failures[player])
        return answering


def answers(records: Iterable[e.Event]) -> Iterator[TimedAnswer]:
    """Each answer with the seconds it took."""
    # A question is out as soon as both players have answered the one before it, so an answer starts the clock of the
    # next question; the later one of the two sets it for good.
    asked_at: dict[tuple[str, int, int], float] = {}
    for event in records:
        if not isinstance(event, e.MatchBegun | e.PlayerJoined | e.MoveMade):
            continue
        # The invitation counts as turn 0.
        turn = 0
        if isinstance(event, e.MoveMade):
            turn = event.turn
        question = (event.match_id, event.attempt, turn)
        if isinstance(event, e.MatchBegun):
            asked_at[question] = event.at
            continue
        asked_at[event.match_id, event.attempt, turn + 1] = event.at
        if question in asked_at:
            yield TimedAnswer(event, event.at - asked_at[question])


def times_of(seconds: Sequence[float]) -> AnswerTimes:
    """Median and 95th percentile by the nearest rank."""
    ordered = sorted(seconds)

    def within(share: float) -> float:
        return ordered[math.ceil(share * len(ordered)) - 1]

    return AnswerTimes(
        count=len(ordered),
        median=within(0.5),
        p95=within(0.95),
        longest=ordered[-1],
    )
