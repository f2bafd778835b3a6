"""The events of one journal, as promises read them: all in order, or those of one kind.

Theory of operation. Two dozen checks read the same journal, and nearly all of them look for a few kinds of events.
So the events are grouped by kind once, when a check first asks, and what several checks make of a journal or of all
evidence (the schedule, the tables) is made once and kept with it. Neither ever changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol, Self, TypeVar, cast

from league.events import Event

Some = TypeVar("Some", bound=Event)
Other = TypeVar("Other", bound=Event)
Made = TypeVar("Made")


class Attempt(NamedTuple):
    """One attempt at a match."""

    match_id: str
    number: int


class OfAttempt(Protocol):
    """An event of an attempt."""

    @property
    def match_id(self) -> str: ...

    @property
    def attempt(self) -> int: ...


InAttempt = TypeVar("InAttempt", bound=OfAttempt)


def attempt_of(event: OfAttempt) -> Attempt:
    return Attempt(event.match_id, event.attempt)


class Source:
    """What never changes, and is read by many."""

    def once(self, make: Callable[[Self], Made]) -> Made:
        """Return what this function makes of the source. It is called once."""
        made = self.__dict__.setdefault("_made", {})
        if make not in made:
            made[make] = make(self)
        return cast(Made, made[make])


class EventLog(tuple[Event, ...], Source):
    """A journal's events in order."""

    def places(self, kind: type[Some], *others: type[Other]) -> Iterator[tuple[int, Some | Other]]:
        """Return the events of these kinds with their positions, in order."""
        return zip(self._places_of((kind, *others)), self.of_kind(kind, *others), strict=True)

    def of_kind(self, kind: type[Some], *others: type[Other]) -> Iterator[Some | Other]:
        """Return the events of these kinds, in order."""
        return cast("Iterator[Some | Other]", map(self.__getitem__, self._places_of((kind, *others))))

    def by_attempt(self, kind: type[InAttempt]) -> Mapping[Attempt, InAttempt]:
        """Return the last event of a kind about each attempt."""
        indexes = self.once(_no_indexes)
        if kind not in indexes:
            events = map(self.__getitem__, self.once(_places_by_kind).get(kind, ()))
            indexes[kind] = {attempt_of(event): event for event in cast(Iterator[InAttempt], events)}
        return cast(Mapping[Attempt, InAttempt], indexes[kind])

    def _places_of(self, kinds: Sequence[type[Event]]) -> Sequence[int]:
        places = self.once(_places_by_kind)
        if len(kinds) == 1:
            return places.get(kinds[0], ())
        return sorted(chain.from_iterable(places.get(kind, ()) for kind in kinds))


def _no_indexes(_: EventLog) -> dict[type, Mapping[Attempt, OfAttempt]]:
    return {}


def _places_by_kind(log: EventLog) -> Mapping[type, Sequence[int]]:
    places: dict[type, list[int]] = {}
    for place, event in enumerate(log):
        places.setdefault(type(event), []).append(place)
    return places
