"""The matches a player was invited to, by match and inviting referee: which attempt counts, what we answered in it.

A referee that was given up for dead may come back and play on: it gets its answers, or it would find us at fault
(promise 11), but its match is superseded. A stranger, who cannot prove to be a referee, supersedes nobody.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from league.events import ChoiceGiven, ChoiceRefused, GameEnded, InvitationAnswered
from league.player.history import REMEMBERED

TURNS: Final = 1_000
"""More answers in one match than this are not kept; no game has so many turns."""
REFEREES: Final = 8
"""More referees of one match than this are not kept."""

NOBODY: Final[dict[str, OwnMatch]] = {}


@dataclass(slots=True)
class OwnMatch:
    """A match as one referee invited us to it."""

    match_id: str
    attempt: int
    said: int
    game_type: str
    round_id: int
    player_id: str
    opponent_id: str
    role: str
    referee_id: str
    conversation_id: str
    accepted: bool
    trusted: bool
    arrived: float
    answers: dict[int, str] = field(default_factory=dict)
    """Our choices by turn, in the order in which they were given; dropped when the match is over."""
    superseded: bool = False
    """A later attempt counts."""
    over: bool = False

    @property
    def is_open(self) -> bool:
        """May its referee ask for choices?"""
        return self.accepted and not self.over

    @property
    def last_turn(self) -> int | None:
        """The turn we answered last and nobody refused."""
        return next(reversed(self.answers), None)

    @property
    def numbered(self) -> int:
        """The attempt as this match's tokens number it."""
        return self.said or 1

    def attempt_of(self, said: int) -> int:
        """Our number of the attempt that its referee calls `said` (0: it does not number them)."""
        return self.attempt + (said - self.said if said and self.said else 0)

    def end(self, attempt: int) -> None:
        """It is over, perhaps in a later attempt than the one whose invitation reached us."""
        self.said += attempt - self.attempt if self.said else 0
        self.attempt = attempt
        self.over = True
        self.answers.clear()


class Matches:
    """All of them; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._by_match: dict[str, dict[str, OwnMatch]] = {}

    def of(self, match_id: str) -> list[OwnMatch]:
        """The match, by every referee that invited us to it."""
        return list(self._by_match.get(match_id, NOBODY).values())

    def by(self, match_id: str, referee_id: str) -> OwnMatch | None:
        """The match as this referee invited us to it."""
        return self._by_match.get(match_id, NOBODY).get(referee_id)

    def snapshot(self) -> list[dict[str, Any]]:
        return [
            {**asdict(match), "answers": list(match.answers.items())}
            for referees in self._by_match.values()
            for match in referees.values()
        ]

    # --- what events do -----------------------------------------------------------------------------------------------

    def invited(self, event: InvitationAnswered) -> None:
        # The newest comes last, so that the first is the one to be forgotten.
        referees = self._by_match.pop(event.match_id, {})
        self._by_match[event.match_id] = referees
        referees.pop(event.referee_id, None)
        invited = _invited(event)
        for other in referees.values():
            _supersede(invited, other)
            _supersede(other, invited)
        referees[event.referee_id] = invited
        _forget_first(referees, REFEREES)
        _forget_first(self._by_match, REMEMBERED)

    def chosen(self, event: ChoiceGiven) -> None:
        match = self._current(event)
        if match is not None:
            match.answers.pop(event.turn, None)
            match.answers[event.turn] = event.choice
            _forget_first(match.answers, TURNS)

    def refused(self, event: ChoiceRefused) -> None:
        match = self._current(event)
        if match is not None:
            match.answers.pop(event.turn, None)

    def ended(self, event: GameEnded) -> None:
        for match in self.of(event.match_id):
            if match.referee_id == event.referee_id:
                match.end(event.attempt)
            elif event.trusted:
                match.superseded |= match.attempt < event.attempt

    def _current(self, event: ChoiceGiven | ChoiceRefused) -> OwnMatch | None:
        match = self.by(event.match_id, event.referee_id)
        return match if match is not None and match.attempt == event.attempt and match.is_open else None


def _invited(event: InvitationAnswered) -> OwnMatch:
    return OwnMatch(
        match_id=event.match_id,
        attempt=event.attempt,
        said=event.said,
        game_type=event.game_type,
        round_id=event.round_id,
        player_id=event.player_id,
        opponent_id=event.opponent_id,
        role=event.role,
        referee_id=event.referee_id,
        conversation_id=event.conversation_id,
        accepted=event.accepted,
        trusted=event.trusted,
        arrived=event.at,
    )


def _supersede(match: OwnMatch, other: OwnMatch) -> None:
    """The other attempt of this match is later, and may be trusted as much."""
    match.superseded |= other.attempt > match.attempt and (other.trusted or not match.trusted)


def _forget_first(kept: dict[Any, Any], limit: int) -> None:
    if len(kept) > limit:
        del kept[next(iter(kept))]
