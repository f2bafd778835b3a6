"""How fast broadcasts go in a large league (S-44): how many messages are under way at once, for what is sent to a
thousand players at once is answered by all at once, and too late; and how far apart tables are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from league.protocol.messages import LeagueStandingsUpdate, Message, RoundAnnouncement

MOST_AT_ONCE: Final = 100
"""So many messages are under way at once; others leave as these are answered."""
PLACE_HELD_S: Final = 1.0
"""Who does not answer within this time is not waited for by others."""
LONGEST_INTERVAL_S: Final = 4.0
"""A result is on its way to the players within 5 seconds (spec section 8.5)."""
PAUSE_PER_BROADCAST: Final = 8


class SendWindow(dict[object, float]):
    """The messages under way that others wait for, in the order they left, and when."""

    def room(self, now: float) -> int:
        """How many may leave now."""
        while self:
            first = next(iter(self))
            if self[first] + PLACE_HELD_S > now:
                break
            del self[first]
        return MOST_AT_ONCE - len(self)

    @property
    def free_at(self) -> float:
        """When the next place is free, if nobody answers."""
        return next(iter(self.values())) + PLACE_HELD_S


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
    _unanswered: int = 0
    """By so many players, until half have answered it."""

    def left(self, message: Message, players: int, now: float) -> None:
        """It left to some of so many players."""
        if message is not self.measured and (place := _place_of(message)) > self._place:
            self.measured, self._place, self._since = message, place, now
            self._unanswered = (players + 1) // 2

    def answered(self, now: float) -> None:
        """The delivery of the measured message to one player ended."""
        self._unanswered -= 1
        if self._unanswered == 0:
            self.took_s = now - self._since

    def interval_s(self, shortest_s: float) -> float:
        return max(shortest_s, min(PAUSE_PER_BROADCAST * self.took_s, LONGEST_INTERVAL_S))


def _place_of(message: Message) -> tuple[int, ...]:
    """Its place among the messages that grow with the league, in the order they leave; of any other, none."""
    if isinstance(message, LeagueStandingsUpdate):
        return message.round_id, 1, message.version or 0
    return (message.round_id, 0) if isinstance(message, RoundAnnouncement) else ()
