"""Who may speak to a player in a match, and which token is shown to whom (spec section 9).

The referee of a match shows a token that we can check. Where none can be expected, because our manager derives none or
has told us that this referee shows none, its referee is the first who calls us for the match from where it was
announced to be, and nobody else is, until the match is over and played again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from league.membership import Membership
from league.player.memory import InvitedMatch, PlayerMemory
from league.protocol import tokens
from league.protocol.endpoints import ip_of
from league.protocol.messages import ChooseParityCall, GameMoveCall

REGISTRATIONS: Final = 8
"""Tokens of so many registrations are tried: who was told of an earlier one may still go by it (R-36)."""
ATTEMPTS: Final = 32
"""A call does not name its attempt: so many are tried for a match we do not know."""
PROVEN: Final = 64
"""So many tokens that proved their senders are remembered."""
SENDERS: Final = 16
"""Of so many senders the id is remembered: few speak to a player, and what a stranger calls itself may be long."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class SenderIdentity(Struct, frozen=True):
    """Who sent a request. `key` is the K its token was derived from, if it was; `trusted`: the token is right, or there
    is no way to check it under this manager; `is_proven`: nobody else could show it."""

    id: str
    key: str | None
    trusted: bool
    is_proven: bool = False


Shown = tuple[str | None, str | None, str, int]
"""A sender, the token it shows, and for which match and attempt."""


class _ProvenSenders(dict[Shown, SenderIdentity]):
    """Whose derived token it was: a match and a league show the same ones again. Any other is found out anew."""

    def __init__(self, find_out: Callable[[Shown], SenderIdentity]) -> None:
        self._find_out = find_out

    def __missing__(self, shown: Shown) -> SenderIdentity:
        return self._find_out(shown)


class Credentials:
    """What our registrations gave us to show and to check, and what is known of the referees of our matches."""

    def __init__(self, membership: Membership, secrets: Mapping[str, str], memory: PlayerMemory) -> None:
        self._membership, self._secrets, self._memory = membership, secrets, memory
        self._keys: tuple[str, ...] = ()
        """K of our registrations in this league, the newest first."""
        self._proven = _ProvenSenders(self._found_out)
        self.identify: Callable[[Shown], SenderIdentity] = self._proven.__getitem__
        """Who this is, by the token it shows."""

    def registered(self) -> None:
        """We have other keys than before, perhaps in another league."""
        newest, first = self._membership.serial, self._membership.first_serial
        serials = range(newest, max(newest - REGISTRATIONS, first - 1), -1)
        given = [self._secrets.get(f"token/{serial}") for serial in serials]
        self._keys = tuple(tokens.deriver(token) for token in given if token is not None)
        self._proven.clear()

    # --- who it is ----------------------------------------------------------------------------------------------------

    def _found_out(self, shown: Shown) -> SenderIdentity:
        sender, token, match_id, attempt = shown
        name, us = sender_id(sender), self._membership
        if not us.derived_tokens:
            return SenderIdentity(name, None, trusted=True)
        for key in self._keys:
            right = tokens.derive(key, name, us.agent_id, us.league_id, match_id, attempt)
            if tokens.same(token, right):
                if len(self._proven) >= PROVEN:
                    self._proven.clear()
                proven = self._proven[shown] = SenderIdentity(name, key, trusted=True, is_proven=True)
                return proven
        announced = self._memory.referees.get(match_id)
        is_announced = announced is not None and tokens.fits(token, announced.tokens or ())
        newest = self._keys[0] if self._keys else None
        return SenderIdentity(name, newest, is_announced, is_proven=is_announced and newest is not None)

    def attempt_of(self, call: ChooseParityCall | GameMoveCall) -> int:
        """The attempt for which the token of a call is right; 1 if it is for none."""
        attempts = range(1, ATTEMPTS + 1 if self._membership.derived_tokens and call.auth_token else 1)
        shown = (call.sender, call.auth_token, call.match_id)
        return next((one for one in attempts if self.identify((*shown, one)).is_proven), 1)

    def is_referee(
        self, sender: SenderIdentity, token: str | None, match_id: str, origin: str, invites_to: int = 0
    ) -> bool:
        """May it speak as the referee of this match? `invites_to`: the attempt that it invites us to."""
        if sender.is_proven:
            return True
        announced = self._memory.referees.get(match_id)
        if self._membership.derived_tokens and (announced is None or announced.tokens is None):
            return False
        if announced is not None and not may_come_from(origin, announced.endpoint):
            return False
        first = self._first_caller(match_id)
        if first is None or (first.over and invites_to > first.token_attempt):
            return True
        return (first.referee_id, first.invitation.token_digest) == (sender.id, digest_of(token))

    def _first_caller(self, match_id: str) -> InvitedMatch | None:
        """The match as whoever called us first for it invited us, since its referee was announced or it was over."""
        endpoint = self.announced_endpoint(match_id)
        invited = [one for one in self._memory.matches.of(match_id) if not (one.over and one.superseded)]
        return next((one for one in invited if one.invitation.referee_endpoint == endpoint), None)

    def announced_endpoint(self, match_id: str) -> str:
        """Where the referee of a match was announced to be; empty if it was not."""
        announced = self._memory.referees.get(match_id)
        return announced.endpoint if announced is not None else ""

    # --- what it is shown ---------------------------------------------------------------------------------------------

    def for_referee(self, sender: SenderIdentity, match_id: str, attempt: int) -> str | None:
        """What a referee is shown: derived for it alone where our manager can tell it so, else our only token.

        Who did not prove to be that referee gets one that opens nothing: the right one would let it answer for us.
        """
        us = self._membership
        if sender.key is None:
            return us.token
        receiver = sender.id if sender.trusted else f"{sender.id}?"
        return tokens.derive(sender.key, us.agent_id, receiver, us.league_id, match_id, attempt)


@lru_cache(maxsize=SENDERS)
def sender_id(sender: str | None) -> str:
    """The id in `sender`; all spellings of the manager are one."""
    word, _, name = (sender or "").partition(":")
    return tokens.MANAGER if word == tokens.MANAGER else name or word


def digest_of(token: str | None) -> str:
    """What is remembered of a token that somebody showed us; empty for none."""
    return tokens.verifier(token) if token else ""


def may_come_from(origin: str, endpoint: str) -> bool:
    """May who calls from there live at that endpoint? Where the endpoint has a name, nobody can say without asking."""
    host, caller = _host(endpoint.partition("://")[2]), _caller(origin)
    return not caller or host == caller or {host, caller} <= _LOOPBACK or not (ip_of(host) or host in _LOOPBACK)


def _caller(origin: str) -> str:
    return origin.lower() if origin.count(":") > 1 and "]" not in origin else _host(origin)


def _host(text: str) -> str:
    """The host in "host:port/path" or "[host]:port/path"."""
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    for end in ":/?":
        text = text.partition(end)[0]
    return text.lower().rstrip(".")
