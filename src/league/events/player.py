"""The events of a Player: its invitations, its choices, and the results of its matches."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from league.events.base import Event, Status
from league.protocol.message.experiment import Provenance


class AnnouncedReferee(Struct, frozen=True):
    """The referee of one of our matches, and the attempt, as the manager announced them."""

    endpoint: str
    tokens: tuple[str, ...] | None = None
    """Digests of the tokens it may show us; None if it shows a token derived for us (spec section 9.2)."""
    attempt: int = 0
    share_commitment: str = ""
    """The manager's promise for this attempt: we sign only under it."""


class RoundAnnounced(Event, frozen=True, kw_only=True):
    """ROUND_ANNOUNCEMENT reached us."""

    round_id: int
    referees: dict[str, AnnouncedReferee] = field(default_factory=dict)
    """The referees of our matches by match id, as far as they are new."""


class RoundEnded(Event, frozen=True, kw_only=True):
    """ROUND_COMPLETED reached us."""

    round_id: int
    # The head of the manager's journal in the final table of the round (spec section 8.9).
    head_seq: int = 0
    head_digest: str = ""
    statement: dict[str, Any] = field(default_factory=dict)
    """What the manager signed about the round (spec section 9.8)."""
    signature: str = ""


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
    league_id: str = ""
    """The league that the invitation names."""
    stated_attempt: int = 0
    """The attempt that the invitation names; 0 if it names none."""
    trusted: bool = True
    """The referee proved its identity, or this manager's referees cannot."""
    # These two tell the referee from others that call for the same match.
    token_digest: str = ""
    referee_endpoint: str = ""
    draw_commitment: str = ""
    share_commitment: str = ""
    signs: bool = False
    """We may sign in this attempt: its referee showed the right token, and numbers its attempts."""


class ChoiceGiven(Event, frozen=True, kw_only=True):
    """Our choice; the same call gets the same answer if it comes again."""

    match_id: str
    attempt: int
    turn: int
    choice: str
    referee_id: str = ""
    provenance: Provenance | None = None
    final: bool = False
    """The call named this choice as one of its options: whatever the referee says about it, it never changes."""
    signature: str = ""
    """Our signature under this choice and all before it in the attempt (spec section 9.6)."""
    views: str = ""
    """The chain of what we were shown up to here; empty if the game shows nothing."""
    unsigned: str = ""
    """Why it is not signed."""
    talk: str = ""


class ConversationKept(Event, frozen=True, kw_only=True):
    """What our strategy and the model, program or person it asked said to each other before a choice.

    It precedes the choice, whose provenance has the SHA-256 of `conversation`. So the league's record holds a digest of
    what only this journal holds in full.
    """

    match_id: str
    attempt: int
    turn: int
    conversation: str
    """A JSON document (`league.features.minds.conversations`), kept as the text that was hashed."""


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
    objection: str = ""
    """What in `game_result` contradicts what we know (spec section 8.19)."""


class MatchMissed(Event, frozen=True, kw_only=True):
    """A match of ours ended while we were away, as the manager told us later."""

    match_id: str
    opponent_id: str
    outcome: Literal["WIN", "DRAW", "LOSS", "TECHNICAL_LOSS", "WALKOVER"]
