"""The matches and rounds of the schedule, and what they need before they have a result."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from league import events
from league.manager.standings import Decided

ResultInForce = events.ResultAccepted | events.WalkoverDecided
MatchStatus = Literal["SCHEDULED", "WAITING", "ASSIGNED", "PARKED", "COMPLETED", "VOIDED"]
"""WAITING: needs a referee now. VOIDED: will need one when the round being played is finished."""


class ScheduledMatch(Struct):
    """A match of the schedule. `referee_id` and `attempt` are those of the current attempt, or of the last; before the
    first it is the referee that is to play it."""

    match_id: str
    round_id: int
    player_a: str
    player_b: str
    status: MatchStatus = "SCHEDULED"
    referee_id: str | None = None
    attempt: int = 0
    tries: int = 0
    """Attempts that count, since it was scheduled, voided or unparked, or since its referee came back."""
    result: ResultInForce | None = None
    interrupted: int = 0
    """The last attempt during which its manager or its referee was gone."""
    held: int = 0
    """How often a technical loss was refused or voided because of that, or of an outage."""

    @property
    def players(self) -> tuple[str, str]:
        return self.player_a, self.player_b

    def opponent(self, player: str) -> str:
        return self.player_b if player == self.player_a else self.player_a


class ScheduledRound(Struct):
    """A round of the schedule; `undecided` counts its matches without a result in force."""

    matches: list[str]
    bye: str | None
    undecided: int
    opened_at: float | None = None
    assignments_sent: bool = False
    finished: bool = False
    active: list[str] = []
    """The players that were ACTIVE when it was opened."""
    out_of_reach: dict[str, tuple[str, ...]] = {}
    """The technical losses in force since it was opened that an outage would excuse, and who could not be reached."""
    unchecked: dict[str, None] = {}
    """Those of them after which the players were not probed yet."""
    held_s: float = 0.0
    """How long the league was held in it; each time counts as a minute at least."""


def decided(match: ScheduledMatch, result: ResultInForce) -> Decided:
    """How a result counts in the table: a walkover as a technical loss of whoever was withdrawn."""
    technical = isinstance(result, events.WalkoverDecided) or result.status == "TECHNICAL_LOSS"
    return Decided(match.players, result.winner, technical)


class MatchesInPlay(Struct):
    """The ids of matches that need something before they have a result."""

    waiting: dict[str, None] = {}
    voided: dict[str, None] = {}
    parked: dict[str, None] = {}
    holdings: dict[str, dict[str, None]] = {}
    """Referee to the matches it holds, in the order it got them."""

    def remove(self, match: ScheduledMatch) -> None:
        match_id = match.match_id
        self.waiting.pop(match_id, None)
        self.voided.pop(match_id, None)
        self.parked.pop(match_id, None)
        if match.referee_id is not None:
            self.holdings[match.referee_id].pop(match_id, None)

    def wait(self, match: ScheduledMatch) -> None:
        """It needs a referee now."""
        self.remove(match)
        match.status = "WAITING"
        self.waiting[match.match_id] = None


class ToldEvent(Struct):
    """An event of a match record, as far as the league looks into it (Any: it may say anything)."""

    event: Any = None
    player_id: Any = None
    convention: Any = None
    code: Any = None
    requirement: Any = None


_TOLD = msgspec.json.Decoder(list[ToldEvent])


def told(kept: events.MatchRecordKept) -> list[ToldEvent]:
    """What a referee told of a match."""
    return _TOLD.decode(kept.written)
