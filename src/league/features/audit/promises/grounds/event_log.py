"""The events of one journal, as promises read them: all in order, or those of one kind.

Theory of operation. Two dozen checks read the same journal, and nearly all of them look for a few kinds of events.
So the events are grouped by kind once, when a check first asks, and what several checks make of a journal or of all
evidence (the schedule, the tables) is made once and kept with it. Neither ever changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Self, TypeVar, cast

from league.events import Event

Some = TypeVar("Some", bound=Event)
Made = TypeVar("Made")


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

    def places(self, *kinds: type[Some]) -> Iterator[tuple[int, Some]]:
        """Return the events of these kinds with their positions, in order."""
        return zip(self._places_of(kinds), self.of_kind(*kinds), strict=True)

    def of_kind(self, *kinds: type[Some]) -> Iterator[Some]:
        """Return the events of these kinds, in order."""
        return cast(Iterator[Some], map(self.__getitem__, self._places_of(kinds)))

    def _places_of(self, kinds: Sequence[type[Event]]) -> Sequence[int]:
        places = self.once(_places_by_kind)
        if len(kinds) == 1:
            return places.get(kinds[0], ())
        return sorted(chain.from_iterable(places.get(kind, ()) for kind in kinds))


def _places_by_kind(log: EventLog) -> Mapping[type[Event], Sequence[int]]:
    places: dict[type[Event], list[int]] = {}
    for place, event in enumerate(log):
        places.setdefault(type(event), []).append(place)
    return places


def log_of(events: Sequence[Event]) -> EventLog:
    """Return these events as a log; a log is returned as it is."""
    return events if isinstance(events, EventLog) else EventLog(events)
