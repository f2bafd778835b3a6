"""Who sent a request: its token says so, and whatever else it claims must fit (spec sections 9, 10.3). Which of its
tokens an agent goes by, and the signs that two go by one name (S-25).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from league.calling.delivery import Ending
from league.events import AgentRole, IdentityContested, RequestRefused, TokenTakenUp
from league.machine import Content, Refusal
from league.manager.broadcasts import Broadcasts, TokenQuestion
from league.manager.context import LONGEST_DETAIL, ManagerPart
from league.manager.roster import Member
from league.protocol import tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Stage, Violation, as_error

LONGEST_CLAIM = 80


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Who shows a token. `by_name`: with one that was got by name and address alone, which proves nothing. Only
    players have such tokens, and all they may ask a manager is a query."""

    member: Member
    by_name: bool


@dataclass(slots=True)
class Authentication(ManagerPart):
    """`on_token_switched` is told of an agent that goes by another of its tokens than we thought."""

    broadcasts: Broadcasts
    on_token_switched: Callable[[Member, float], None]
    _last_used: dict[str, int] = field(default_factory=dict)

    # --- requests -----------------------------------------------------------------------------------------------------

    def authenticate(self, read: Unsealed, origin: str, now: float) -> Authenticated:
        """Whoever sent this request, by its token; the errors of the envelope come first (section 10.3)."""
        _raise(read.until(Stage.ENVELOPE))
        token, sender = read.field("auth_token"), read.field("sender")
        if not isinstance(token, str | None):
            _raise(read.until(Stage.AUTHORITY))
        self.check_audience(token, read, origin, now)
        member, serial = self._owner(token)
        _raise(read.until(Stage.AUTHORITY))
        _check_sender(member, str(sender))
        self._token_used(member, serial, origin, now)
        self.context.record(member.agent_id, read.deviations, now)
        return Authenticated(member, serial in member.queries_only)

    def identify(self, params: Mapping[str, object], now: float) -> Member:
        """Whoever asks without a message, by its token; what else it claims to be must fit."""
        member, serial = self._owner(params.get("auth_token"))
        for name in ("sender", f"{member.role}_id"):
            claimed = params.get(name)
            if claimed is not None:
                _check_sender(member, str(claimed))
        self._token_used(member, serial, "", now)
        return member

    def check_audience(self, token: object, read: Unsealed, origin: str, now: float) -> None:
        """E012 and a word to the operator, if this token was derived for others (S-32)."""
        meant = self.context.audiences.get(tokens.verifier(token)) if isinstance(token, str) else None
        if meant is None or not isinstance(token, str):
            return
        sender = str(read.field("sender"))[:LONGEST_CLAIM]
        role: AgentRole = "referee" if sender.startswith("referee") else "player"
        detail = f"{sender} at {origin} showed the token that {meant}, with {read.message_type}"
        self.context.refused(
            RequestRefused(
                at=now,
                request="token",
                role=role,
                name=sender,
                endpoint=origin,
                code="E012",
                detail=detail[:LONGEST_DETAIL],
            )
        )
        raise PeerError("E012", "this auth_token was derived for others", tokens.refused(token))

    def owner(self, token: str | None) -> Authenticated | None:
        """Whose token this is, if it is anybody's."""
        found = self._ledger.roster.owner(token) if token else None
        return Authenticated(found[0], found[1] in found[0].queries_only) if found is not None else None

    def _owner(self, token: object) -> tuple[Member, int]:
        """Whose token this is, and which of its tokens (E011, E012)."""
        if not isinstance(token, str) or not token:
            raise PeerError("E011", "auth_token is missing: send the one your registration was answered with")
        found = self._ledger.roster.owner(token)
        if found is None:
            raise PeerError("E012", "this auth_token is not valid here", tokens.refused(token))
        return found

    # --- which token an agent goes by ---------------------------------------------------------------------------------

    def _token_used(self, member: Member, serial: int, origin: str, now: float) -> None:
        """Who shows a token of full standing goes by it. Of any other the endpoint is asked first."""
        if serial < self._last_used.get(member.agent_id, 0):
            detail = f"an earlier token of {member.agent_id} was used after a later one, from {origin or '?'}"
            self.contested(member, "two tokens", detail, now)
        self._last_used[member.agent_id] = serial
        if serial == member.serial:
            return
        if serial in member.queries_only:
            self.confirm(member, serial, origin)
        else:
            self._take_up(member, serial, now)

    def _take_up(self, member: Member, serial: int, now: float) -> None:
        self.context.happened(TokenTakenUp(at=now, agent_id=member.agent_id, serial=serial))
        self.on_token_switched(member, now)

    def confirm(self, member: Member, serial: int, origin: str) -> None:
        """Whoever registered by name and address alone may be anybody: does the agent at the endpoint hold this token?
        It is called with what is derived from it, and shows the token itself to who knows that."""
        self.broadcasts.ask(member, TokenQuestion(serial, partial(self._answered, member, serial, serial, origin)))

    def _answered(
        self, member: Member, serial: int, shown: int, origin: str, answer: Content | None, outcome: Ending, now: float
    ) -> None:
        """Without a token in the acknowledgement it is asked once more, as the one we know: if it is that one, whoever
        registered is another."""
        held = self._serial_in(answer, member)
        is_refused = isinstance(answer, Refusal) and answer.code == "E012" and shown == serial
        if held == serial:
            if serial != member.serial:
                self._take_up(member, serial, now)
        elif held is not None or is_refused:
            detail = f"{origin} registered as {member.agent_id}, but the agent at {member.endpoint} is another one"
            self.contested(member, "unknown token", detail, now)
        elif outcome is Ending.ANSWERED and shown == serial != member.serial:
            then = partial(self._answered, member, serial, member.serial, origin)
            self.broadcasts.ask(member, TokenQuestion(member.serial, then))

    def _serial_in(self, answer: Content | None, member: Member) -> int | None:
        """Which of its tokens an acknowledgement shows."""
        token = answer.field("auth_token") if isinstance(answer, Unsealed) else None
        owner = self._ledger.roster.owner(token) if isinstance(token, str) else None
        return owner[1] if owner is not None and owner[0] is member else None

    def contested(
        self, member: Member, sign: Literal["unproven", "unknown token", "two tokens"], detail: str, now: float
    ) -> None:
        """For the operator: two agents seem to go by one name."""
        if sign not in member.contested:
            self.context.happened(
                IdentityContested(at=now, agent_id=member.agent_id, sign=sign, detail=detail[:LONGEST_DETAIL])
            )


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
