"""What the parts of a player share: its memory, its membership, the step being built, and its credentials: who sent a
message, and which token is shown to whom (spec section 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import structs

from league.calling.role import Context
from league.machine import Ask, Letter
from league.membership import LONGEST_NAME, Membership
from league.player.memory import InvitedMatch, PlayerMemory
from league.protocol import tokens
from league.protocol.envelope import Profile, seal
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.exchanges import Role, speakers
from league.protocol.messages import LeagueError, Message, OpenRequest

REGISTRATIONS: Final = 8
"""Tokens of so many registrations are tried: who was told of an earlier one may still go by it (R-36)."""
NO_CONVERSATION: Final = "conv-unknown"
"""The conversation of a message that names none."""
UNNAMED_REFEREE: Final = "unknown"
NO_MATCH: Final = ("-", 0)
"""Match and attempt in the tokens of what is about no match."""
Notified = OpenRequest | LeagueError
"""What a player may be sent."""


@dataclass(frozen=True, slots=True)
class SenderIdentity:
    """Who sent a request. `key` is the K its token was derived from, if it was; `trusted`: the token is right, or there
    is no way to check it under this manager."""

    id: str
    key: str | None
    trusted: bool


class Credentials:
    """What our registrations gave us to show and to check."""

    def __init__(self, membership: Membership, secrets: Mapping[str, str]) -> None:
        self._membership = membership
        self._secrets = secrets

    def identify(self, sender: str | None, token: str | None, match_id: str, attempt: int) -> SenderIdentity:
        """Who this is, by the token it shows for this match and attempt."""
        name, us = sender_id(sender), self._membership
        if not us.derived_tokens:
            return SenderIdentity(name, None, trusted=True)
        for key in self._keys():
            right = tokens.derive(key, name, us.agent_id, us.league_id, match_id, attempt)
            if tokens.same(token, right):
                return SenderIdentity(name, key, trusted=True)
        return SenderIdentity(name, next(self._keys(), None), trusted=False)

    def for_referee(self, sender: SenderIdentity, match_id: str, attempt: int) -> str | None:
        """What a referee is shown: derived for it alone where our manager can tell it so, else our only token.

        Who did not prove to be that referee gets one that opens nothing: the right one would let it answer for us.
        """
        us = self._membership
        if sender.key is None:
            return us.token
        receiver = sender.id if sender.trusted else f"{sender.id}?"
        return tokens.derive(sender.key, us.agent_id, receiver, us.league_id, match_id, attempt)

    def with_acknowledgement(self, sender: SenderIdentity, match_id: str, attempt: int) -> str | None:
        """What an acknowledgement shows: something only to those who proved who they are, since no document asks
        for it and anybody may send what is to be acknowledged."""
        if sender.key is None or not sender.trusted:
            return None
        if sender.id == tokens.MANAGER:
            return self._membership.token
        return self.for_referee(sender, match_id, attempt)

    def _keys(self) -> Iterator[str]:
        """K of our registrations, the newest first."""
        newest = self._membership.serial
        for serial in range(newest, max(newest - REGISTRATIONS, 0), -1):
            token = self._secrets.get(f"token/{serial}")
            if token is not None:
                yield tokens.deriver(token)


def sender_id(sender: str | None) -> str:
    """The id in `sender`; all spellings of the manager are one."""
    word, _, name = (sender or "").partition(":")
    return tokens.MANAGER if word == tokens.MANAGER else name or word


def with_sender(message: Message, memory: PlayerMemory) -> Message:
    """A message without a sender, which `compat` takes, comes from who says such things: the manager, or the referee
    that invited us to the match it is about."""
    if not isinstance(message, Notified) or message.sender is not None:
        return message
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

    @property
    def is_strict(self) -> bool:
        """Are deviations refused? Otherwise they are recorded."""
        return self.profile == "strict"

    def authenticate(self, message: Notified, match_id: str, attempt: int, now: float) -> SenderIdentity:
        """Who sends this about a match."""
        sender = self.credentials.identify(message.sender, message.auth_token, match_id, attempt)
        self.check_token(sender, message, now)
        return sender

    def proven_sender(self, message: Message) -> SenderIdentity | None:
        """Who sends this, if its token proves it."""
        said: dict[str, Any] = {name: getattr(message, name, None) for name in ("sender", "auth_token", "attempt")}
        match_id = getattr(message, "match_id", None)
        known = self.memory.matches.by(match_id, sender_id(said["sender"])) if match_id else None
        about = (match_id, said["attempt"] or (known.token_attempt if known else 1)) if match_id else NO_MATCH
        sender = self.credentials.identify(said["sender"], said["auth_token"], *about)
        return sender if sender.trusted and sender.key is not None else None

    def check_token(self, sender: SenderIdentity, message: Notified, now: float, *, must_prove: bool = False) -> None:
        """A wrong token is a deviation; where the sender `must_prove` itself, it is refused in any profile."""
        if not sender.trusted:
            code, word = ("E012", "not the one this sender has for us") if message.auth_token else ("E011", "missing")
            wrong = Violation(code, "auth_token", f"auth_token is {word}", "ENVELOPE.auth_token")
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
        if player_id is not None and self.membership.is_registered and player_id != self.membership.agent_id:
            raise PeerError("E005", f"{player_id[:LONGEST_NAME]!r} is not here")

    def check_invited(self, match_id: str) -> None:
        if not self.memory.matches.of(match_id):
            raise PeerError("E014", f"nobody invited us to {match_id[:LONGEST_NAME]!r}")

    def acknowledgement(
        self, message: Notified, sender: SenderIdentity, now: float, match: InvitedMatch | None = None
    ) -> dict[str, Any]:
        """What all acknowledgements share (Any: as `seal` has it)."""
        name = match.player_id if match else self.membership.agent_id
        place = (match.match_id, match.token_attempt) if match else NO_MATCH
        token = self.credentials.with_acknowledgement(sender, *place)
        our_name = f"player:{name}" if name else self.membership.sender
        envelope = seal(our_name, now, message.conversation_id or NO_CONVERSATION, token)
        return {**envelope, "status": "ACKNOWLEDGED", "player_id": name or None}
