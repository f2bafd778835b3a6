"""Finds strategies that do not play the same again.

Theory of operation. Results can be repeated only if strategies take their chance from `turn.random` or `turn.chance`
and remember nothing but their series. So the first matches of one series of each strategy are played a second time,
by whoever plays the series, and compared move by move. Up to the first difference both strategies were asked the same
questions, so whoever moved there is the one. Such a strategy breaks nothing: it is only named.

Matches are replayed up to the first one that failed: code that takes too long need not do so twice.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple

import msgspec

from league.features.experiments.contenders import Contender, asks
from league.features.experiments.outcome.series_store import SeriesRecord
from league.features.experiments.playing.plan import Series, Task, TournamentPlan
from league.features.experiments.playing.series import WHOLE
from league.player.strategies import Answer, Considered, Strategy, Turn

FEWEST: Final = 5
"""Matches that are played again, at least."""
SHARE: Final = 20
"""Of a long series, one in this many is played again."""


class ReplayedChoice(NamedTuple):
    """A choice in a match that is played again. `place` is that of the strategy in its series."""

    match_id: str
    turn: int
    place: int
    choice: str


class Recorder:
    """A strategy that notes what another one chooses."""

    def __init__(self, strategy: Strategy, place: int, choices: list[ReplayedChoice]) -> None:
        self._strategy = strategy
        self._place = place
        self._choices = choices
        for name in ("match_over", "series_over"):
            hook = getattr(strategy, name, None)
            if hook is not None:
                setattr(self, name, hook)

    def choose(self, turn: Turn) -> Answer | Awaitable[Answer]:
        # Noted first: a choice that fails is a difference, too.
        choice = ReplayedChoice(turn.match_id, turn.number, self._place, "")
        self._choices.append(choice)
        answer: Any = self._strategy.choose(turn)
        if not isinstance(answer, str) and inspect.isawaitable(answer):
            return self._waited(answer)
        return self._noted(answer)

    async def _waited(self, answer: Awaitable[Answer]) -> Answer:
        return self._noted(await answer)

    def _noted(self, answer: Answer) -> Answer:
        choice = answer.choice if isinstance(answer, Considered) else answer
        noted = self._choices[-1]
        self._choices[-1] = noted._replace(choice=str(choice))
        return answer


def encode(choices: list[ReplayedChoice]) -> bytes:
    return msgspec.json.encode(choices)


class Repeatability:
    """Which strategies were examined, and which are not repeatable."""

    def __init__(self, plan: TournamentPlan) -> None:
        self._plan = plan.facts
        self._waiting = {place for place, contender in enumerate(plan.contenders) if _is_in_question(contender)}
        self._caught: set[int] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the strategies that are not repeatable."""
        return tuple(self._plan.names[place] for place in sorted(self._caught))

    def replay_of(self, task: Task, record: SeriesRecord) -> Task | None:
        """Return the task to play the beginning of a series again; None if nobody in it has to be examined."""
        series = self._plan.series(task)
        places = {series.first, series.second}
        if not places & self._waiting:
            return None
        matches = max(FEWEST, len(record.ends) // SHARE)
        whole = 0
        # A failure may have taken all of its time.
        for end in record.ends[:matches]:
            if int(end) not in WHOLE:
                break
            whole += 1
        if whole == 0:
            return None
        self._waiting -= places
        return task._replace(replayed=whole)

    def compare(self, series: Series, record: SeriesRecord, replayed: bytes) -> None:
        """Compare matches with what was played before."""
        choices = msgspec.json.decode(replayed, type=list[ReplayedChoice])
        matches: dict[str, list[ReplayedChoice]] = {}
        for choice in choices:
            matches.setdefault(choice.match_id, []).append(choice)
        for moves, again in zip(record.moves, matches.values(), strict=False):
            places = _differing(moves_in(moves), again)
            if places:
                strategies = (series.first, series.second)
                self._caught |= {strategies[place] for place in places}
                # Whatever comes after a difference may be its consequence.
                return

    def warn(self) -> None:
        """Name the strategies that are not repeatable."""
        for name in self.names:
            print(
                f"{name} is not repeatable: with the same seed it chose differently when a series was played again. "
                "Take chance from turn.random, and remember nothing outside the object",
                file=sys.stderr,
            )


def _is_in_question(contender: Contender) -> bool:
    # Strategies of ours are repeatable, and nobody expects it of those that ask.
    if isinstance(contender, str):
        return ":" in contender
    return not asks(contender)


def moves_in(text: str) -> list[str]:
    """Return the moves of a match, which `moves_text` wrote."""
    if text.startswith("["):
        moves: list[str] = json.loads(text)
        return moves
    return text.split(" ")


def _differing(moves: list[str], again: list[ReplayedChoice]) -> set[int]:
    """Return the places of the strategies that first chose differently: both, if they moved at once."""
    places: set[int] = set()
    turn = 0
    for move, choice in zip(moves, again, strict=False):
        if places and choice.turn != turn:
            break
        if move != choice.choice:
            turn = choice.turn
            places.add(choice.place)
    return places
