"""How fast players answer and how often they fail, as their referees wrote it down."""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from league import events as e


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Of the answers that came: how many, and how long they took, in seconds."""

    count: int
    median: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True)
class Answering:
    """What the league page says of a player; `times` is None before its first answer."""

    times: AnswerTimes | None
    failures: int


class AnswerLog:
    """What is known of all players; it grows with the records of matches."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self._failures = Counter[str]()

    def add(self, records: Iterable[e.Event]) -> None:
        """Whole records of matches."""
        told = list(records)
        for answered, seconds in answers(told):
            insort(self._seconds.setdefault(answered.player_id, []), seconds)
        self._failures.update(one.player_id for one in told if isinstance(one, e.AttemptFailed | e.WrongAnswer))

    def of_players(self) -> Mapping[str, Answering]:
        """By player."""
        return {
            one: Answering(times_of(self._seconds[one]) if one in self._seconds else None, self._failures[one])
            for one in {*self._seconds, *self._failures}
        }


def answers(records: Iterable[e.Event]) -> Iterator[tuple[e.PlayerJoined | e.MoveMade, float]]:
    """Each answer with the seconds it took. A question is out as soon as the one before it was answered by both."""
    asked: dict[tuple[str, int, int], float] = {}
    for one in records:
        if not isinstance(one, e.MatchBegun | e.PlayerJoined | e.MoveMade):
            continue
        turn = one.turn if isinstance(one, e.MoveMade) else 0
        now, following = (one.match_id, one.attempt, turn), (one.match_id, one.attempt, turn + 1)
        if isinstance(one, e.MatchBegun):
            asked[now] = one.at
            continue
        asked[following] = one.at
        if now in asked:
            yield one, one.at - asked[now]


def times_of(seconds: Sequence[float]) -> AnswerTimes:
    """Median and 95th percentile by the nearest rank."""
    found = sorted(seconds)
    median, p95 = (found[math.ceil(share * len(found)) - 1] for share in (0.5, 0.95))
    return AnswerTimes(len(found), median, p95, found[-1])
