"""Who sent a request: its token says so, and whatever else it claims must fit (spec sections 9, 10.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from league.events import TokenTakenUp
from league.manager.context import ManagerPart
from league.manager.roster import Member
from league.protocol import tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Stage, Violation, as_error


@dataclass(slots=True)
class Authentication(ManagerPart):
    """`on_token_switched` is told of an agent that uses another of its tokens than we thought."""

    on_token_switched: Callable[[Member, float], None]

    def authenticate(self, read: Unsealed, now: float) -> Member:
        """Whoever sent this request, by its token; the errors of the envelope come first (section 10.3)."""
        _raise(read.until(Stage.ENVELOPE))
        token, sender = read.field("auth_token"), read.field("sender")
        if not isinstance(token, str | None):
            _raise(read.until(Stage.AUTHORITY))
        member, serial = self._owner(token)
        _raise(read.until(Stage.AUTHORITY))
        _check_sender(member, str(sender))
        self._token_used(member, serial, now)
        self.context.record(member.agent_id, read.deviations, now)
        return member

    def identify(self, params: Mapping[str, object], now: float) -> Member:
        """Whoever asks without a message, by its token; what else it claims to be must fit."""
        member, serial = self._owner(params.get("auth_token"))
        for name in ("sender", f"{member.role}_id"):
            claimed = params.get(name)
            if claimed is not None:
                _check_sender(member, str(claimed))
        self._token_used(member, serial, now)
        return member

    def _owner(self, token: object) -> tuple[Member, int]:
        """Whose token this is, and which of its tokens (E011, E012)."""
        if not isinstance(token, str) or not token:
            raise PeerError("E011", "auth_token is missing: send the one your registration was answered with")
        found = self._ledger.roster.owner(token)
        if found is None:
            raise PeerError("E012", "this auth_token is not valid here", tokens.refused(token))
        return found

    def _token_used(self, member: Member, serial: int, now: float) -> None:
        is_other = serial != member.serial
        if is_other or min(member.tokens) < serial:
            self.context.happened(TokenTakenUp(at=now, agent_id=member.agent_id, serial=serial))
        if is_other:
            self.on_token_switched(member, now)


def _raise(violation: Violation | None) -> None:
    if violation is not None:
        raise as_error(violation)


def _check_sender(member: Member, sender: str) -> None:
    """The token's owner, in any of the spellings `compat` reads: "player:P01", "players:P01", "P01"."""
    word, colon, name = sender.partition(":")
    if not colon:
        word, name = member.role, sender
    if name != member.agent_id or word.removesuffix("s") != member.role:
        raise PeerError("E032", f"this token does not belong to {sender[:80]!r}")
