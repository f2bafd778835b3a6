"""The context that the parts of a player share: its memory, its membership, its credentials, the step being built, and
the checks of incoming messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import structs

from league.calling.delivery import Delivery, Policy
from league.calling.role import Context
from league.machine import Address, Ask, Letter
from league.membership import LONGEST_NAME, Membership
from league.player.memory import InvitedMatch, PlayerMemory
from league.player.playing.credentials import Credentials, SenderIdentity, sender_id
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.message.envelope import Profile, seal
from league.protocol.message.exchanges import Role, speakers
from league.protocol.message.messages import (
    ChooseParityCall,
    GameInvitation,
    GameMoveCall,
    LeagueErrorReply,
    Message,
    OpenRequest,
)
from league.protocol.signing import tokens
from league.protocol.signing.keys import SigningKey

NO_CONVERSATION: Final = "conv-unknown"
"""The conversation of a message that names none."""
UNNAMED_REFEREE: Final = "unknown"
NO_MATCH: Final = ("-", 0)
"""Match and attempt in the tokens of messages that are about no match."""
_POSTED: Final = Policy(10.0, is_waited_for=False)
PATIENCE_S: Final = 2.0
"""How long a referee may take to go on before an answer is posted: the time to join is over after five seconds."""
AddressedToPlayer = GameInvitation | ChooseParityCall | GameMoveCall
"""The messages that name the player they are for."""
Notified = OpenRequest | LeagueErrorReply
"""The messages that a player may be sent."""


def with_sender(message: Notified, memory: PlayerMemory) -> Notified:
    """Add the likely sender to a message without one, which `compat` accepts.

    It is the manager for the manager's messages, and otherwise the referee that invited us to the match.
    """
    if Role.MANAGER in speakers(message.type):
        return structs.replace(message, sender=tokens.MANAGER)
    referee_id = UNNAMED_REFEREE
    invitations = memory.matches.of(getattr(message, "match_id", None) or "")
    if invitations:
        referee_id = invitations[-1].referee_id
    return structs.replace(message, sender=f"referee:{referee_id}")


@dataclass(slots=True)
class PlayerContext(Context):
    """What the parts of a player share.

    `ask` puts a question to the strategy, and `cancel` withdraws it; `tell` hands news to the player's own code;
    `refuse` answers a letter with an error.
    """

    ask: Callable[[Ask], None]
    tell: Callable[[object], None]
    cancel: Callable[[str], None]
    refuse: Callable[[Letter, PeerError], None]
    profile: Profile
    memory: PlayerMemory = field(default_factory=PlayerMemory)
    membership: Membership = field(init=False)
    credentials: Credentials = field(init=False)
    signing_key: SigningKey | None = None
    """Ours, once we are awake."""
    show_token: Callable[[float], None] = field(init=False)
    """Shows the manager which of our tokens we go by."""
    _posts: int = 0

    @property
    def is_strict(self) -> bool:
        """True if deviations are refused; otherwise they are recorded."""
        return self.profile == "strict"

    # --- answers as messages ------------------------------------------------------------------------------------------

    def answer(self, letter: Letter, match: InvitedMatch, answer: Message, now: float) -> None:
        """Answer a call. A referee that does not go on may wait for a message (D0, D2, D3 and D4; R-02)."""
        self.reply(letter, answer)
        if self._reads_posts(match):
            self.timers.set(match, now + PATIENCE_S, lambda later: self._post(letter, match, answer, later))

    def answer_again(self, letter: Letter, match: InvitedMatch, answer: Message, now: float) -> None:
        """Repeat an answer, as a message too: a referee that calls again may read no results."""
        self.reply(letter, answer)
        if self._reads_posts(match):
            self._post(letter, match, answer, now)

    def went_on(self, match: InvitedMatch) -> None:
        """Note that the referee has read our answer, or asks for it again."""
        self.timers.clear(match)

    def _reads_posts(self, match: InvitedMatch) -> bool:
        # Our own referees number their attempts, and read results.
        return bool(match.invitation.referee_endpoint) and not match.stated_attempt and not self.is_strict

    def _post(self, letter: Letter, match: InvitedMatch, answer: Message, now: float) -> None:
        """Send an answer to the endpoint that the manager announced for the match, and to nobody else."""
        self.went_on(match)
        if match.over or match.superseded:
            return
        self._posts += 1
        convention = Convention.BARE if letter.convention is Convention.BARE else Convention.TYPE
        token: str | None = getattr(answer, "auth_token", None)
        address = Address(match.referee_id, match.invitation.referee_endpoint, token, convention)
        message: Message = structs.replace(answer, auth_token=None)
        key = f"{match.match_id}/answer/{self._posts}"
        delivery = Delivery(match.referee_id, key, message, _POSTED, lambda: address)
        self.calls.deliver([delivery], now)

    # --- senders ------------------------------------------------------------------------------------------------------

    def authenticate(self, message: Notified, match_id: str, attempt: int, now: float) -> SenderIdentity:
        """Identify the sender of a notification about a match."""
        sender = self.credentials.identify((message.sender, message.auth_token, match_id, attempt))
        if not sender.trusted:
            self.check_token(sender, message, now)
        return sender

    def proven_sender(self, message: Message) -> SenderIdentity | None:
        """Return the sender of this message, if its token proves it."""
        sender_name: Any = getattr(message, "sender", None)
        token: Any = getattr(message, "auth_token", None)
        match_id = getattr(message, "match_id", None)
        attempt: Any = getattr(message, "attempt", None)
        if not match_id:
            match_id, attempt = NO_MATCH
        elif not attempt:
            match = self.memory.matches.by(match_id, sender_id(sender_name))
            attempt = match.token_attempt if match else 1
        sender = self.credentials.identify((sender_name, token, match_id, attempt))
        if sender.is_proven:
            return sender
        return None

    def is_referee(
        self,
        letter: Letter,
        message: Notified,
        sender: SenderIdentity,
        match_id: str,
        invites_to: int = 0,
    ) -> bool:
        """Return True if this comes from the referee of the match, or from one that plays it again."""
        return self.credentials.is_referee(sender, message.auth_token, match_id, letter.origin, invites_to)

    def admit(
        self,
        letter: Letter,
        message: Notified,
        match_id: str,
        attempt: int,
        now: float,
    ) -> SenderIdentity:
        """Identify the sender of a request in a match; raise PeerError if it is not the match's referee (S-23)."""
        sender = self.credentials.identify((message.sender, message.auth_token, match_id, attempt))
        if sender.is_proven:
            return sender
        invites_to = attempt if isinstance(message, GameInvitation) else 0
        if not self.is_referee(letter, message, sender, match_id, invites_to):
            if not self.membership.agreement.derived_tokens:
                raise PeerError(
                    "E012",
                    "another is the referee of this match",
                    requirement="ENVELOPE.auth_token",
                )
            self.show_token(now)
            raise as_error(_wrong_token(message.auth_token))
        self.check_token(sender, message, now)
        return sender

    # --- checks -------------------------------------------------------------------------------------------------------

    def check_token(
        self,
        sender: SenderIdentity,
        message: Notified,
        now: float,
        *,
        must_prove: bool = False,
    ) -> None:
        """Record a wrong token; refuse it in the strict profile, and if the sender `must_prove` itself."""
        if not sender.trusted:
            violation = _wrong_token(message.auth_token)
            if must_prove or self.is_strict:
                raise as_error(violation)
            self.record(sender.id, violation, now)

    def record(self, agent_id: str, deviation: Violation, now: float) -> None:
        """Record a deviation of this agent."""
        self.membership.record((deviation,), now, agent_id)

    def check_league(self, league_id: str) -> None:
        """Refuse a message about another league."""
        membership = self.membership
        # Third-party managers may call one league by several names.
        if membership.agreement.derived_tokens and league_id != membership.league_id:
            raise PeerError("E028", f"we play in {membership.league_id!r}")

    def check_player(self, message: AddressedToPlayer, sender: SenderIdentity, now: float) -> None:
        """Refuse a message for another player. Third-party managers may give us one id and call us by another:
        there our address says whom a message is for."""
        membership = self.membership
        player_id = message.player_id
        if player_id is None or player_id == membership.agent_id or not membership.is_registered:
            return
        is_opponent = getattr(message, "opponent_id", None) == membership.agent_id
        if membership.agreement.derived_tokens or self.is_strict or is_opponent:
            raise PeerError("E005", f"{player_id[:LONGEST_NAME]!r} is not here")
        detail = f"it calls us {player_id[:LONGEST_NAME]!r}, but we are registered as {membership.agent_id!r}"
        self.record(sender.id, Violation("E005", "player_id", detail, f"{message.type}.player_id"), now)

    def check_invited(self, match_id: str) -> None:
        """Refuse a message about a match to which nobody invited us."""
        if not self.memory.matches.of(match_id):
            raise PeerError("E014", f"nobody invited us to {match_id[:LONGEST_NAME]!r}")

    # --- acknowledgements ---------------------------------------------------------------------------------------------

    def acknowledgement(
        self,
        message: Notified,
        sender: SenderIdentity,
        now: float,
        match: InvitedMatch | None = None,
    ) -> dict[str, Any]:
        """Return the fields that all acknowledgements share (Any: as `seal` has it)."""
        if match is None:
            player_id = self.membership.agent_id
            player = self.membership.sender
        else:
            player_id = match.player_id
            player = f"player:{player_id}"
        conversation_id = message.conversation_id or NO_CONVERSATION
        fields = seal(player, now, conversation_id, self.token_for(sender, match))
        fields["status"] = "ACKNOWLEDGED"
        fields["player_id"] = player_id or None
        return fields

    def token_for(self, sender: SenderIdentity, match: InvitedMatch | None = None) -> str | None:
        """Return the token that an acknowledgement shows to this sender."""
        # No document asks for a token here, and anybody may send a notification: only proven senders see one.
        if not sender.is_proven:
            return None
        if sender.id == tokens.MANAGER:
            return self.membership.token
        if match is None:
            return self.credentials.for_referee(sender, *NO_MATCH)
        return self.credentials.for_referee(sender, match.match_id, match.token_attempt)


def _wrong_token(token: str | None) -> Violation:
    code = "E011"
    detail = "auth_token is missing"
    if token:
        code = "E012"
        detail = "auth_token is not the one this sender has for us"
    return Violation(code, "auth_token", detail, "ENVELOPE.auth_token")
