"""The events of a Player: its invitations, its choices, and the results of its matches."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from league.events.base import Event, Status
from league.protocol.experiment import Provenance


class AnnouncedReferee(Struct, frozen=True):
    """The referee of one of our matches, as the manager announced it."""

    endpoint: str
    tokens: tuple[str, ...] | None = None
    """Digests of the tokens it may show us; None if it shows a token derived for us (spec section 9.2)."""


class RoundAnnounced(Event, frozen=True, kw_only=True):
    """ROUND_ANNOUNCEMENT reached us."""

    round_id: int
    referees: dict[str, AnnouncedReferee] = field(default_factory=dict)
    """The referees of our matches by match id, as far as they are new."""


class RoundEnded(Event, frozen=True, kw_only=True):
    """ROUND_COMPLETED reached us."""

    round_id: int


class InvitationAnswered(Event, frozen=True, kw_only=True):
    """We answered a GAME_INVITATION."""

    match_id: str
    attempt: int
    """Our own count, if the invitation has no `stated_attempt`."""
    game_type: str
    opponent_id: str
    role: str
    accepted: bool
    round_id: int
    referee_id: str
    conversation_id: str
    player_id: str = ""
    stated_attempt: int = 0
    """The attempt that the invitation names; 0 if it names none."""
    trusted: bool = True
    """The referee proved its identity, or this manager's referees cannot."""
    # These two tell the referee from others that call for the same match.
    token_digest: str = ""
    referee_endpoint: str = ""


class ChoiceGiven(Event, frozen=True, kw_only=True):
    """Our choice; the same call gets the same answer if it comes again."""

    match_id: str
    attempt: int
    turn: int
    choice: str
    referee_id: str = ""
    provenance: Provenance | None = None


class ChoiceRefused(Event, frozen=True, kw_only=True):
    """The referee rejected our choice: at its next call we ask the strategy again."""

    match_id: str
    attempt: int
    code: str
    referee_id: str = ""
    turn: int = 1


class ChoiceFailed(Event, frozen=True, kw_only=True):
    """The strategy raised, declined, or returned something that is not a text, and the referee got an error."""

    match_id: str
    attempt: int
    turn: int
    detail: str
    code: str = "E099"
    provenance: Provenance | None = None


class GameEnded(Event, frozen=True, kw_only=True):
    """GAME_OVER reached us. `trusted` as in InvitationAnswered."""

    match_id: str
    attempt: int
    game_type: str
    opponent_id: str
    status: Status
    winner: str | None
    game_result: dict[str, Any]
    referee_id: str = ""
    trusted: bool = True
