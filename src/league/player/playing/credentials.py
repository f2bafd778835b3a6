"""Which senders may speak to a player in a match, and which token it shows to each (spec section 9).

The referee of a match shows a token that we can check. Sometimes there is none to expect: our manager derives no
tokens, or it has told us that this referee shows none. Then the referee is the first one that calls us for the match
from the announced address, and nobody else is, until the match is over and played again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from league.membership import Membership
from league.player.memory import InvitedMatch, PlayerMemory
from league.protocol.endpoints import ip_of
from league.protocol.message.fields import OTHER_MANAGERS
from league.protocol.message.messages import ChooseParityCall, GameMoveCall
from league.protocol.signing import tokens

REGISTRATIONS: Final = 8
"""Number of registrations whose tokens are tried: a referee may still go by an earlier one (R-36)."""
ATTEMPTS: Final = 32
"""Number of attempts that are tried for a call in an unknown match: calls do not name their attempt."""
PROVEN: Final = 64
"""Maximum number of remembered tokens that proved their senders."""
SENDERS: Final = 16
"""Maximum number of remembered sender ids: few speak to a player, and the name of a stranger may be long."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class SenderIdentity(Struct, frozen=True):
    """The sender of a request, and how far its token proves who it is."""

    id: str
    key: str | None
    """The K its token was derived from, if it was."""
    trusted: bool
    """The token is right, or there is no way to check it under this manager."""
    is_proven: bool = False
    """Nobody else could show this token."""
    is_derived: bool = False
    """The token was derived from `key`, by the manager, for this sender alone."""


Claim = tuple[str | None, str | None, str, int]
"""A sender, the token it shows, and the match and attempt it shows it for."""


class _ProvenSenders(dict[Claim, SenderIdentity]):
    """The senders that proved themselves, by the token they showed; all others are identified again each time."""

    def __init__(self, identify: Callable[[Claim], SenderIdentity]) -> None:
        self._identify = identify

    def __missing__(self, claim: Claim) -> SenderIdentity:
        return self._identify(claim)


class Credentials:
    """The tokens that our registrations gave us to show and to check, and the referees of our matches."""

    def __init__(
        self,
        membership: Membership,
        secrets: Mapping[str, str],
        memory: PlayerMemory,
    ) -> None:
        self._membership = membership
        self._secrets = secrets
        self._memory = memory
        self._keys: tuple[str, ...] = ()
        """K of our registrations in this league, the newest first."""
        self._proven = _ProvenSenders(self._identify_anew)
        self.identify: Callable[[Claim], SenderIdentity] = self._proven.__getitem__
        """Identifies a sender by the token it shows."""

    def registered(self) -> None:
        """Take the keys of our newest registrations, which may be in another league."""
        newest = self._membership.registrations.newest
        oldest = max(newest - REGISTRATIONS + 1, self._membership.registrations.first)
        keys = []
        for serial in range(newest, oldest - 1, -1):
            token = self._secrets.get(f"token/{serial}")
            if token is not None:
                keys.append(tokens.deriver(token))
        self._keys = tuple(keys)
        self._proven.clear()

    # --- who a sender is ----------------------------------------------------------------------------------------------

    def _identify_anew(self, claim: Claim) -> SenderIdentity:
        sender, token, match_id, attempt = claim
        name = sender_id(sender)
        membership = self._membership
        if not membership.agreement.derived_tokens:
            return SenderIdentity(name, None, trusted=True)
        for key in self._keys:
            right = tokens.derive(
                key,
                name,
                membership.agent_id,
                membership.league_id,
                match_id,
                attempt,
            )
            if tokens.same(token, right):
                # Matches and leagues show the same tokens many times: deriving each once is enough.
                if len(self._proven) >= PROVEN:
                    self._proven.clear()
                identity = SenderIdentity(name, key, trusted=True, is_proven=True, is_derived=True)
                self._proven[claim] = identity
                return identity
        announced = self._memory.referees.get(match_id)
        is_announced = announced is not None and tokens.fits(token, announced.tokens or ())
        newest_key = self._keys[0] if self._keys else None
        return SenderIdentity(
            name,
            newest_key,
            is_announced,
            is_proven=is_announced and newest_key is not None,
        )

    def attempt_of(self, call: ChooseParityCall | GameMoveCall) -> int:
        """Return the attempt for which the token of a call is right; 1 if it is right for none."""
        if self._membership.agreement.derived_tokens and call.auth_token:
            for attempt in range(1, ATTEMPTS + 1):
                if self.identify((call.sender, call.auth_token, call.match_id, attempt)).is_proven:
                    return attempt
        return 1

    def is_referee(
        self,
        sender: SenderIdentity,
        token: str | None,
        match_id: str,
        origin: str,
        invites_to: int = 0,
    ) -> bool:
        """Return True if the sender may speak as the referee of this match.

        `invites_to` is the attempt that it invites us to.
        """
        if sender.is_proven:
            return True
        announced = self._memory.referees.get(match_id)
        if self._membership.agreement.derived_tokens and (announced is None or announced.tokens is None):
            return False
        if announced is not None and not may_come_from(origin, announced.endpoint):
            return False
        # Nothing proves this sender, but the first caller stays the referee until the match is over.
        first = self._first_caller(match_id)
        if first is None or (first.over and invites_to > first.token_attempt):
            return True
        return first.referee_id == sender.id and first.invitation.token_digest == digest_of(token)

    def _first_caller(self, match_id: str) -> InvitedMatch | None:
        """Return the match as the first referee invited us to it since it was announced, or since it was over."""
        endpoint = self.announced_endpoint(match_id)
        for match in self._memory.matches.of(match_id):
            has_passed = match.over and match.superseded
            if not has_passed and match.invitation.referee_endpoint == endpoint:
                return match
        return None

    def announced_endpoint(self, match_id: str) -> str:
        """Return the announced endpoint of the match's referee; empty without an announcement."""
        announced = self._memory.referees.get(match_id)
        if announced is None:
            return ""
        return announced.endpoint

    # --- what a referee is shown --------------------------------------------------------------------------------------

    def for_referee(self, sender: SenderIdentity, match_id: str, attempt: int) -> str | None:
        """Return the token for a referee: derived for it alone if our manager can tell it so, else our only token."""
        membership = self._membership
        if sender.key is None:
            return membership.token
        receiver = sender.id
        if not sender.trusted:
            # The right token would let an unproven sender answer for us; this one opens nothing.
            receiver = f"{sender.id}?"
        return tokens.derive(
            sender.key,
            membership.agent_id,
            receiver,
            membership.league_id,
            match_id,
            attempt,
        )


@lru_cache(maxsize=SENDERS)
def sender_id(sender: str | None) -> str:
    """Return the id in `sender`; all spellings of the manager are one."""
    role, _, name = (sender or "").partition(":")
    if role == tokens.MANAGER or (name and role in OTHER_MANAGERS):
        return tokens.MANAGER
    return name or role


def digest_of(token: str | None) -> str:
    """Return what is remembered of a token that somebody showed us; empty without one."""
    if not token:
        return ""
    return tokens.verifier(token)


def may_come_from(origin: str, endpoint: str) -> bool:
    """Return True if a caller from this origin may live at that endpoint."""
    host = _host(endpoint.partition("://")[2])
    caller = _caller(origin)
    if not caller or host == caller:
        return True
    if caller in _LOOPBACK and host in _LOOPBACK:
        return True
    # A name cannot be compared with an address without looking it up.
    return not ip_of(host) and host not in _LOOPBACK


def _caller(origin: str) -> str:
    if origin.count(":") > 1 and "]" not in origin:
        return origin.lower()  # a bare IPv6 address
    return _host(origin)


def _host(text: str) -> str:
    """Return the host in "host:port/path" or "[host]:port/path"."""
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    for end in ":/?":
        text = text.partition(end)[0]
    return text.lower().rstrip(".")
