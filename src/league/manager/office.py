"""What the parts of the manager share: the ledger, the step being built, alarms, tokens, and who may say what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league import lifecycle
from league.events import AgentStateChanged, ConventionLearned, DeviationRecorded, Event, TokenTakenUp
from league.machine import Address, Chance, Information, Letter, Outgoing, Pong
from league.manager.ledger import Ledger
from league.manager.roster import Member
from league.manager.timers import Timers
from league.protocol import tokens
from league.protocol.conventions import Convention, convention_of
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import PeerError, Stage, Violation, as_error
from league.protocol.messages import Message

LONGEST_DETAIL = 300


@dataclass(slots=True)
class Office:
    """`happened`, `send`, `reply` and `keep_secret` write into the step the machine is building."""

    ledger: Ledger
    secrets: Mapping[str, str]
    chance: Chance
    happened: Callable[[Event], None]
    send: Callable[[Outgoing], None]
    reply: Callable[[Letter, Message | Pong | Information | PeerError], None]
    keep_secret: Callable[[str, str], None]
    timers: Timers = field(default_factory=Timers)
    switched: Callable[[Member, float], None] = lambda _member, _now: None
    """Called when an agent turns out to go by another of its tokens than we thought."""
    _shown: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def league_id(self) -> str:
        return self.ledger.settings.league_id

    def member(self, agent_id: str) -> Member:
        return self.ledger.roster.members[agent_id]

    def sealed(self, now: float, conversation_id: str, auth_token: str | None = None) -> dict[str, Any]:
        """The envelope of a message of ours (Any: as `seal` has it)."""
        return seal(tokens.MANAGER, now, conversation_id, auth_token)

    def change(self, member: Member, trigger: str, now: float, why: str = "") -> None:
        """Follow the lifecycle's table; a trigger that does not apply is no event."""
        state = lifecycle.after(member.state, trigger)
        if state != member.state:
            self.happened(AgentStateChanged(at=now, agent_id=member.agent_id, state=state, why=why or trigger))

    def record(self, agent_id: str, deviations: Iterable[Violation], now: float) -> None:
        """What `compat` let pass: once per agent and kind."""
        for one in deviations:
            if (agent_id, one.code, one.requirement) not in self.ledger.deviations:
                detail = one.detail[:LONGEST_DETAIL]
                self.happened(
                    DeviationRecorded(
                        at=now, agent_id=agent_id, code=one.code, requirement=one.requirement, detail=detail
                    )
                )

    # --- tokens -------------------------------------------------------------------------------------------------------

    def key_of(self, member: Member, serial: int) -> str | None:
        """K of one of an agent's tokens."""
        return self.secrets.get(f"derive/{member.agent_id}/{serial}")

    def address(self, member: Member) -> Address:
        """Where to call an agent, and the token we show it."""
        place, convention = (member.agent_id, member.serial), convention_of(member.convention)
        if place not in self._shown:
            key = self.key_of(member, member.serial)
            if key is None:
                return Address(member.agent_id, member.endpoint, None, convention)
            self._shown[place] = tokens.derive(key, tokens.MANAGER, member.agent_id, self.league_id)
        return Address(member.agent_id, member.endpoint, self._shown[place], convention)

    def speak(self, member: Member, convention: Convention, now: float) -> None:
        """From now on this agent is spoken to like this."""
        if member.convention != convention.value:
            about = {"agent_id": member.agent_id, "endpoint": member.endpoint, "convention": convention.value}
            self.happened(ConventionLearned(at=now, **about))

    def authenticate(self, read: Unsealed, now: float) -> Member:
        """Whoever sent this request, by its token; the errors of the envelope come first (section 10.3)."""
        _raise(read.until(Stage.ENVELOPE))
        token, sender = read.said("auth_token"), read.said("sender")
        if not isinstance(token, str | None):
            _raise(read.until(Stage.AUTHORITY))
        member, serial = self._owner(token)
        _raise(read.until(Stage.AUTHORITY))
        _check_sender(member, str(sender))
        self._token_used(member, serial, now)
        self.record(member.agent_id, read.deviations, now)
        return member

    def identify(self, params: Mapping[str, object], now: float) -> Member:
        """Whoever asks without a message, by its token; what else it says of itself must fit."""
        member, serial = self._owner(params.get("auth_token"))
        for name in ("sender", f"{member.role}_id"):
            said_to_be = params.get(name)
            if said_to_be is not None:
                _check_sender(member, str(said_to_be))
        self._token_used(member, serial, now)
        return member

    def _owner(self, token: object) -> tuple[Member, int]:
        """Whose token this is, and which of its tokens (E011, E012)."""
        if not isinstance(token, str) or not token:
            raise PeerError("E011", "auth_token is missing: send the one your registration was answered with")
        found = self.ledger.roster.owner(token)
        if found is None:
            raise PeerError("E012", "this auth_token is not valid here", {"provided_token": tokens.masked(token)})
        return found

    def check_league(self, read: Unsealed) -> None:
        """E028 comes before the message's own fields; a league_id that is none at all is a matter of those."""
        league_id = read.said("league_id")
        if isinstance(league_id, str) and league_id not in ("", self.league_id):
            raise PeerError("E028", f"there is no league {league_id[:80]!r} here", {"league_id": league_id[:80]})

    def _token_used(self, member: Member, serial: int, now: float) -> None:
        is_other = serial != member.serial
        if is_other or min(member.tokens) < serial:
            self.happened(TokenTakenUp(at=now, agent_id=member.agent_id, serial=serial))
        if is_other:
            self.switched(member, now)


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
