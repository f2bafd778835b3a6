"""The sender of a request: its token proves who it is, and its other claims must fit (spec sections 9, 10.3).

An agent may hold several valid tokens, one for each time it registered; `Member.serial` is the one it goes by, and the
calls to it show what is derived from that token. A token is of full standing if its registration was proven. An agent
that shows such a token goes by it from then on. Any other token was issued for a name and an address alone, so its
holder may be anybody. It is good for queries only, and the agent at the registered endpoint is asked whether it holds
it (S-25). No such token may ever change a result, or whom the league calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from league.calling.delivery import Ending
from league.events import (
    AgentRole,
    IdentityContested,
    TokenTakenUp,
)
from league.machine import Content, Refusal
from league.manager.manager_context import LONGEST_DETAIL, ManagerPart
from league.manager.state.roster import Member
from league.manager.telling.broadcasts import Broadcasts, TokenQuestion
from league.protocol.errors import PeerError, Stage, as_error
from league.protocol.message.envelope import Unsealed
from league.protocol.signing import tokens

LONGEST_CLAIM = 80


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The owner of a token. `by_name`: the token was issued for a name and an address alone, which proves nothing.
    Only players have such tokens, and they may only send queries with them."""

    member: Member
    by_name: bool


@dataclass(slots=True)
class Authentication(ManagerPart):
    """`on_token_switched` is called when an agent goes by another of its tokens than before."""

    broadcasts: Broadcasts
    on_token_switched: Callable[[Member, float], None]
    _last_used: dict[str, int] = field(default_factory=dict)
    _have_acknowledged: set[str] = field(default_factory=set)
    """The members that showed a token of theirs in an answer."""

    # --- requests -----------------------------------------------------------------------------------------------------

    def authenticate(self, read: Unsealed, origin: str, now: float) -> Authenticated:
        """Return the sender of a request, found by its token. Errors of the envelope come first (section 10.3)."""
        if read.violations:
            _check(read, Stage.ENVELOPE)
        token = read.field("auth_token")
        sender = read.field("sender")
        if token is not None and not isinstance(token, str):
            _check(read, Stage.AUTHORITY)
        try:
            member, serial = self._owner(token)
        except PeerError:
            # A token that was derived for others has no owner either, and the operator must hear of it.
            self.check_audience(token, read, origin, now)
            raise
        if read.violations:
            _check(read, Stage.AUTHORITY)
        # Nearly every sender is spelled so; the other spellings cost more to read.
        if sender != f"{member.role}:{member.agent_id}":
            _check_sender(member, str(sender))
        if serial != member.credentials.serial or serial != self._last_used.get(member.agent_id):
            self._token_used(member, serial, origin, now)
        if read.deviations:
            self.context.record(member.agent_id, read.deviations, now)
        return Authenticated(member, serial in member.credentials.queries_only)

    def identify(self, params: Mapping[str, object], now: float) -> Member:
        """Return the sender of a request that is no message, found by its token. Its other claims must fit."""
        member, serial = self._owner(params.get("auth_token"))
        for name in ("sender", f"{member.role}_id"):
            claim = params.get(name)
            if claim is not None:
                _check_sender(member, str(claim))
        self._token_used(member, serial, "", now)
        return member

    def check_audience(self, token: object, read: Unsealed, origin: str, now: float) -> None:
        """Refuse a token that was derived for others, and tell the operator (E012, S-32)."""
        if not isinstance(token, str):
            return
        audience = self.context.audiences.get(tokens.verifier(token))
        if audience is None:
            return
        sender = str(read.field("sender"))[:LONGEST_CLAIM]
        role: AgentRole = "referee" if sender.startswith("referee") else "player"
        detail = f"{sender} at {origin} showed the token that {audience}, with {read.message_type}"
        self.context.refused("token", role, sender, endpoint=origin, error=PeerError("E012", detail), now=now)
        raise PeerError(
            "E012",
            "this auth_token was derived for others",
            tokens.refused(token),
        )

    def owner(self, token: str | None) -> Authenticated | None:
        """Return the owner of this token, or None if it is nobody's."""
        owner = self._ledger.roster.owner(token)
        if owner is None:
            return None
        member, serial = owner
        return Authenticated(member, serial in member.credentials.queries_only)

    def has_shown_token(self, member: Member) -> bool:
        """True if this member has shown a token in this life of the process."""
        return member.agent_id in self._last_used or member.agent_id in self._have_acknowledged

    def acknowledged(self, member: Member, answer: Unsealed) -> None:
        """Note whether an acknowledgement shows a token of its sender."""
        if member.agent_id not in self._have_acknowledged and self._serial_in(answer, member) is not None:
            self._have_acknowledged.add(member.agent_id)

    def _owner(self, token: object) -> tuple[Member, int]:
        """Return the owner of this token, and which of its tokens it is (E011, E012)."""
        if not isinstance(token, str) or not token:
            raise _missing_token()
        owner = self._ledger.roster.owner(token)
        if owner is None:
            raise PeerError(
                "E012",
                "this auth_token is not valid here",
                tokens.refused(token),
            )
        return owner

    # --- which token an agent goes by ---------------------------------------------------------------------------------

    def _token_used(self, member: Member, serial: int, origin: str, now: float) -> None:
        if serial < self._last_used.get(member.agent_id, 0):
            detail = f"an earlier token of {member.agent_id} was used after a later one, from {origin or '?'}"
            self.contested(member, "two tokens", detail, now)
        self._last_used[member.agent_id] = serial
        if serial == member.credentials.serial:
            return
        if serial in member.credentials.queries_only:
            self.confirm(member, serial, origin)
        else:
            self._take_up(member, serial, now)

    def _take_up(self, member: Member, serial: int, now: float) -> None:
        self.context.happened(TokenTakenUp(at=now, agent_id=member.agent_id, serial=serial))
        self.on_token_switched(member, now)

    def confirm(self, member: Member, serial: int, origin: str) -> None:
        """Ask the agent at the endpoint whether it holds this token.

        The question is a call that shows what is derived from the token. Only an agent that holds the token
        recognises it, and then shows the token itself.
        """
        self._ask(member, serial, serial, origin)

    def _ask(self, member: Member, serial: int, shown_serial: int, origin: str) -> None:
        then = partial(self._answered, member, serial, shown_serial, origin)
        self.broadcasts.ask(member, TokenQuestion(shown_serial, then))

    def _answered(
        self,
        member: Member,
        serial: int,
        shown_serial: int,
        origin: str,
        answer: Content | None,
        outcome: Ending,
        now: float,
    ) -> None:
        """If the acknowledgement shows no token, the agent is asked once more, as the one we know. If it is that one,
        somebody else has registered in its name."""
        held = self._serial_in(answer, member)
        is_refused = isinstance(answer, Refusal) and answer.code == "E012" and shown_serial == serial
        if held == serial:
            if serial != member.credentials.serial:
                self._take_up(member, serial, now)
        elif held is not None or is_refused:
            detail = f"{origin} registered as {member.agent_id}, but the agent at {member.endpoint} is another one"
            self.contested(member, "unknown token", detail, now)
        elif outcome is Ending.ANSWERED and shown_serial == serial != member.credentials.serial:
            self._ask(member, serial, member.credentials.serial, origin)

    def _serial_in(self, answer: Content | None, member: Member) -> int | None:
        """Return which of its tokens an acknowledgement shows."""
        if not isinstance(answer, Unsealed):
            return None
        owner = self._ledger.roster.owner(answer.field("auth_token"))
        if owner is None:
            return None
        holder, serial = owner
        return serial if holder is member else None

    def contested(
        self,
        member: Member,
        sign: Literal["unproven", "unknown token", "two tokens"],
        detail: str,
        now: float,
    ) -> None:
        """Tell the operator that two agents seem to go by one name."""
        if sign not in member.credentials.contested:
            self.context.happened(
                IdentityContested(
                    at=now,
                    agent_id=member.agent_id,
                    sign=sign,
                    detail=detail[:LONGEST_DETAIL],
                )
            )


def _missing_token() -> PeerError:
    return PeerError(
        "E011",
        "auth_token is missing: send the one your registration was answered with",
    )


def _check(read: Unsealed, stage: Stage) -> None:
    """Raise the decisive violation up to this stage, if there is one."""
    violation = read.until(stage)
    if violation is not None:
        raise as_error(violation)


def _check_sender(member: Member, sender: str) -> None:
    """Check the sender in any of the spellings that `compat` reads: "player:P01", "players:P01", "P01"."""
    word, colon, name = sender.partition(":")
    if not colon:
        word = member.role
        name = sender
    if name != member.agent_id or word.removesuffix("s") != member.role:
        raise PeerError("E032", f"this token does not belong to {sender[:80]!r}")
