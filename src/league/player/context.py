"""What the parts of a player share: its memory, its membership, its credentials, the step being built, and the checks
of what it is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import structs

from league.calling.role import Context
from league.machine import Ask, Letter
from league.membership import LONGEST_NAME, Membership
from league.player.credentials import Credentials, SenderIdentity, sender_id
from league.player.memory import InvitedMatch, PlayerMemory
from league.protocol import tokens
from league.protocol.envelope import Profile, seal
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.exchanges import Role, speakers
from league.protocol.messages import GameInvitation, LeagueError, Message, OpenRequest

NO_CONVERSATION: Final = "conv-unknown"
"""The conversation of a message that names none."""
UNNAMED_REFEREE: Final = "unknown"
NO_MATCH: Final = ("-", 0)
"""Match and attempt in the tokens of what is about no match."""
Notified = OpenRequest | LeagueError
"""What a player may be sent."""


def with_sender(message: Notified, memory: PlayerMemory) -> Notified:
    """A message without a sender, which `compat` takes, comes from who says such things: the manager, or the referee
    that invited us to the match it is about."""
    if Role.MANAGER in speakers(message.type):
        return structs.replace(message, sender=tokens.MANAGER)
    invited = memory.matches.of(getattr(message, "match_id", None) or "")
    return structs.replace(message, sender=f"referee:{invited[-1].referee_id if invited else UNNAMED_REFEREE}")


@dataclass(slots=True)
class PlayerContext(Context):
    """`ask` puts a question to the strategy, `cancel` takes it back; `tell` hands news to the player's own code;
    `refuse` answers a letter with an error."""

    ask: Callable[[Ask], None]
    tell: Callable[[object], None]
    cancel: Callable[[str], None]
    refuse: Callable[[Letter, PeerError], None]
    profile: Profile
    memory: PlayerMemory = field(default_factory=PlayerMemory)
    membership: Membership = field(init=False)
    credentials: Credentials = field(init=False)
    show_token: Callable[[float], None] = field(init=False)
    """Shows the manager which of our tokens we go by."""

    @property
    def is_strict(self) -> bool:
        """Are deviations refused? Otherwise they are recorded."""
        return self.profile == "strict"

    def authenticate(self, message: Notified, match_id: str, attempt: int, now: float) -> SenderIdentity:
        """Who tells us something about a match."""
        sender = self.credentials.identify((message.sender, message.auth_token, match_id, attempt))
        if not sender.trusted:
            self.check_token(sender, message, now)
        return sender

    def proven_sender(self, message: Message) -> SenderIdentity | None:
        """Who sends this, if its token proves it."""
        said: dict[str, Any] = {name: getattr(message, name, None) for name in ("sender", "auth_token", "attempt")}
        match_id = getattr(message, "match_id", None)
        known = self.memory.matches.by(match_id, sender_id(said["sender"])) if match_id else None
        about = (match_id, said["attempt"] or (known.token_attempt if known else 1)) if match_id else NO_MATCH
        sender = self.credentials.identify((said["sender"], said["auth_token"], *about))
        return sender if sender.is_proven else None

    def is_referee(
        self, letter: Letter, message: Notified, sender: SenderIdentity, match_id: str, invites_to: int = 0
    ) -> bool:
        """Does this come from the referee of the match, or from one that plays it again?"""
        return self.credentials.is_referee(sender, message.auth_token, match_id, letter.origin, invites_to)

    def admit(self, letter: Letter, message: Notified, match_id: str, attempt: int, now: float) -> SenderIdentity:
        """Who asks us something in a match: its referee, or nobody gets an answer (S-23)."""
        sender = self.credentials.identify((message.sender, message.auth_token, match_id, attempt))
        if sender.is_proven:
            return sender
        invites_to = attempt if isinstance(message, GameInvitation) else 0
        if not self.is_referee(letter, message, sender, match_id, invites_to):
            if not self.membership.derived_tokens:
                raise PeerError("E012", "another is the referee of this match", requirement="ENVELOPE.auth_token")
            self.show_token(now)
            raise as_error(_wrong_token(message.auth_token))
        self.check_token(sender, message, now)
        return sender

    def check_token(self, sender: SenderIdentity, message: Notified, now: float, *, must_prove: bool = False) -> None:
        """A wrong token is a deviation; where the sender `must_prove` itself, it is refused in any profile."""
        if not sender.trusted:
            wrong = _wrong_token(message.auth_token)
            if must_prove or self.is_strict:
                raise as_error(wrong)
            self.record(sender.id, wrong, now)

    def record(self, agent_id: str, deviation: Violation, now: float) -> None:
        self.membership.record((deviation,), now, agent_id)

    def check_league(self, league_id: str) -> None:
        """Only our manager is sure to call the league the same everywhere."""
        us = self.membership
        if us.derived_tokens and league_id != us.league_id:
            raise PeerError("E028", f"we play in {us.league_id!r}")

    def check_player(self, player_id: str | None) -> None:
        us = self.membership
        if player_id is not None and player_id != us.agent_id and us.is_registered:
            raise PeerError("E005", f"{player_id[:LONGEST_NAME]!r} is not here")

    def check_invited(self, match_id: str) -> None:
        if not self.memory.matches.of(match_id):
            raise PeerError("E014", f"nobody invited us to {match_id[:LONGEST_NAME]!r}")

    def acknowledgement(
        self, message: Notified, sender: SenderIdentity, now: float, match: InvitedMatch | None = None
    ) -> dict[str, Any]:
        """What all acknowledgements share (Any: as `seal` has it)."""
        us, token = self.membership, self.token_for(sender, match)
        name, our_name = us.agent_id, us.sender
        if match is not None:
            name, our_name = match.player_id, f"player:{match.player_id}"
        fields = seal(our_name, now, message.conversation_id or NO_CONVERSATION, token)
        fields["status"], fields["player_id"] = "ACKNOWLEDGED", name or None
        return fields

    def token_for(self, sender: SenderIdentity, match: InvitedMatch | None = None) -> str | None:
        """What whoever tells us something is shown in the acknowledgement. Only those who proved who they are see a
        token: no document asks for it, and anybody may send what is to be acknowledged."""
        if not sender.is_proven:
            return None
        if sender.id == tokens.MANAGER:
            return self.membership.token
        place = NO_MATCH if match is None else (match.match_id, match.token_attempt)
        return self.credentials.for_referee(sender, *place)


def _wrong_token(token: str | None) -> Violation:
    code, word = ("E012", "not the one this sender has for us") if token else ("E011", "missing")
    return Violation(code, "auth_token", f"auth_token is {word}", "ENVELOPE.auth_token")
