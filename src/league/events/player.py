"""What becomes true at a Player: what it was asked, what it answered, how it ended."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from league.events.base import Event, Status
from league.protocol.experiment import Provenance


class AnnouncedReferee(Struct, frozen=True):
    """The referee of a match of ours, as the manager announced it. `tokens`: digests of what it may show us, where it
    shows no token derived for us (spec section 9.2); None where it shows that."""

    endpoint: str
    tokens: tuple[str, ...] | None = None


class RoundAnnounced(Event, frozen=True, kw_only=True):
    """ROUND_ANNOUNCEMENT reached us. `referees`: those of our matches, as far as that is new."""

    round_id: int
    referees: dict[str, AnnouncedReferee] = field(default_factory=dict)


class RoundEnded(Event, frozen=True, kw_only=True):
    """ROUND_COMPLETED reached us."""

    round_id: int


class InvitationAnswered(Event, frozen=True, kw_only=True):
    """GAME_INVITATION, and whether we joined. `stated_attempt`: as the invitation numbers it, 0 if it does not; then we
    count `attempt` ourselves. `trusted`: the referee proved who it is, or under this manager nobody can. What it showed
    (as a digest), and where it was announced to be, tell it from others that call for the same match."""

    match_id: str
    attempt: int
    game_type: str
    opponent_id: str
    role: str
    accepted: bool
    round_id: int
    referee_id: str
    conversation_id: str
    player_id: str = ""
    stated_attempt: int = 0
    trusted: bool = True
    token_digest: str = ""
    referee_endpoint: str = ""


class ChoiceGiven(Event, frozen=True, kw_only=True):
    """What we answered: the same call again gets the same answer."""

    match_id: str
    attempt: int
    turn: int
    choice: str
    referee_id: str = ""
    provenance: Provenance | None = None


class ChoiceRefused(Event, frozen=True, kw_only=True):
    """The referee called this choice wrong: the next call asks the strategy anew."""

    match_id: str
    attempt: int
    code: str
    referee_id: str = ""
    turn: int = 1


class ChoiceFailed(Event, frozen=True, kw_only=True):
    """The strategy raised, declined, or answered with something that is no text: the referee got an error instead."""

    match_id: str
    attempt: int
    turn: int
    detail: str
    code: str = "E099"
    provenance: Provenance | None = None


class GameEnded(Event, frozen=True, kw_only=True):
    """GAME_OVER, for history and strategies. `trusted` as in InvitationAnswered."""

    match_id: str
    attempt: int
    game_type: str
    opponent_id: str
    status: Status
    winner: str | None
    game_result: dict[str, Any]
    referee_id: str = ""
    trusted: bool = True
