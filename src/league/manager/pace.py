"""How fast broadcasts go in a large league (S-44): how many messages are under way at once, for what is sent to a
thousand players at once is answered by all at once, and too late; and how far apart tables are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from league.protocol.messages import LeagueStandingsUpdate, Message, RoundAnnouncement

MOST_AT_ONCE: Final = 100
"""So many messages are under way at once; others leave as these are answered."""
PLACE_HELD_S: Final = 1.0
"""Who does not answer within this time is not waited for by others."""
LONGEST_INTERVAL_S: Final = 4.0
"""A result is on its way to the players within 5 seconds (spec section 8.5)."""
PAUSE_PER_BROADCAST: Final = 8


@dataclass(slots=True)
class SendWindow:
    """The messages under way that others wait for, in the order they left."""

    _left_at: dict[object, float] = field(default_factory=dict)

    def room(self, now: float) -> int:
        """How many may leave now."""
        left_at = self._left_at
        while left_at:
            first = next(iter(left_at))
            if left_at[first] + PLACE_HELD_S > now:
                break
            del left_at[first]
        return MOST_AT_ONCE - len(left_at)

    @property
    def free_at(self) -> float:
        """When the next place is free, if nobody answers."""
        return next(iter(self._left_at.values())) + PLACE_HELD_S

    def left(self, messages: Iterable[object], now: float) -> None:
        self._left_at.update(dict.fromkeys(messages, now))

    def ended(self, one: object) -> None:
        self._left_at.pop(one, None)


@dataclass(slots=True)
class UpdatePace:
    """How far apart tables are. A table goes to everybody with a row for everybody: where telling them takes long, the
    next one waits longer, so that large leagues do not spend all their time on tables. What counts is when half of the
    players had answered the last table or announcement: a slow player delays nobody but itself."""

    took_s: float = 0.0
    measured: Message | None = None
    """The newest of the messages that grow with the league."""
    _place: tuple[int, ...] = ()
    _since: float = 0.0
    _answered: int = 0

    def left(self, message: Message, now: float) -> None:
        """It left to players."""
        place = _place_of(message)
        if place > self._place:
            self.measured, self._place, self._since, self._answered = message, place, now, 0

    def answered(self, players: int, now: float) -> None:
        """The delivery of the measured message to one of so many players ended."""
        self._answered += 1
        if self._answered == (players + 1) // 2:
            self.took_s = now - self._since

    def interval_s(self, shortest_s: float) -> float:
        return max(shortest_s, min(PAUSE_PER_BROADCAST * self.took_s, LONGEST_INTERVAL_S))


def _place_of(message: Message) -> tuple[int, ...]:
    """Its place among the messages that grow with the league, in the order they leave; of any other, none."""
    if isinstance(message, LeagueStandingsUpdate):
        return message.round_id, 1, message.version or 0
    return (message.round_id, 0) if isinstance(message, RoundAnnouncement) else ()
