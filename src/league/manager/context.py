"""What the parts of the manager share: the ledger, how agents are called, the tokens they are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from league import lifecycle
from league.calling.line import Line, Purpose
from league.calling.role import Context
from league.events import AgentStateChanged, DeviationRecorded, RequestRefused
from league.machine import Address
from league.manager.ledger import Ledger
from league.manager.roster import Member
from league.protocol import tokens
from league.protocol.conventions import Convention, convention_of
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import PeerError, Violation
from league.protocol.exchanges import RetrySchedule

LONGEST_DETAIL = 300
REFUSALS = 100
"""So many refused requests of each kind are kept of a league: strangers can send as many as they like."""


@dataclass(slots=True)
class ManagerContext(Context):
    """The shared context of a role, and the league."""

    ledger: Ledger
    audiences: dict[str, str] = field(default_factory=dict)
    """V of the tokens we derived for others, since we were started, to who shows whom which of them (S-32)."""
    _addresses: dict[tuple[str, int, str], Address] = field(default_factory=dict)
    """By agent, serial and convention, for as long as it stays where it is."""

    @property
    def league_id(self) -> str:
        return self.ledger.settings.league_id

    @property
    def accepts_deviations(self) -> bool:
        """`compat`: what deviates from the documents without doubt about its meaning is taken, and recorded."""
        return self.ledger.settings.profile == "compat"

    @property
    def probes_before_accepting(self) -> bool:
        """`strict`: a registration is answered when the endpoint it names has answered (R-35)."""
        return not self.accepts_deviations

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
        """Deviations that were accepted: once per agent and kind."""
        for one in deviations:
            if (agent_id, one.code, one.requirement) not in self.ledger.deviations:
                detail = one.detail[:LONGEST_DETAIL]
                self.happened(
                    DeviationRecorded(
                        at=now, agent_id=agent_id, code=one.code, requirement=one.requirement, detail=detail
                    )
                )

    # --- calls --------------------------------------------------------------------------------------------------------

    def retries(self, *, refused_only: bool = False) -> RetrySchedule:
        """What this league's settings say about retries."""
        return RetrySchedule(tuple(self.ledger.settings.retry_delays_s), refused_only=refused_only)

    def is_reachable(self, member: Member, now: float) -> bool:
        """Does its circuit breaker let calls pass?"""
        return not self.calls.peers[member.agent_id].breaker.is_open(now)

    def address(self, member: Member, serial: int | None = None) -> Address | None:
        """Where to call an agent, and the token we show it: derived from the one it goes by, or another of its tokens.
        None for one that has left."""
        if member.state == "SHUTDOWN":
            return None
        place = (member.agent_id, serial or member.serial, member.convention)
        known = self._addresses.get(place)
        if known is not None and known.endpoint == member.endpoint and known.origin == member.origin:
            return known
        key = self.key_of(member, place[1])
        token = None if key is None else self.derived(key, tokens.MANAGER, member.agent_id)
        made = Address(member.agent_id, member.endpoint, token, convention_of(member.convention), member.origin)
        if token is not None:
            self._addresses[place] = made
        return made

    def derived(self, key: str, sender: str, receiver: str, match_id: str = "-", attempt: int = 0) -> str:
        """The token that `sender` shows `receiver`; whoever else shows it is found out."""
        token = tokens.derive(key, sender, receiver, self.ledger.settings.league_id, match_id, attempt)
        about = f" in {match_id}" if attempt else ""
        self.audiences.setdefault(tokens.verifier(token), f"{sender} shows {receiver}{about}")
        return token

    def key_of(self, member: Member, serial: int) -> str | None:
        """K of one of an agent's tokens."""
        return self.secrets.get(f"derive/{member.agent_id}/{serial}")

    def refused(self, refused: RequestRefused) -> None:
        """For the operator's eyes: once per sender, match and code."""
        known = [one for one in self.ledger.refusals if one.request == refused.request]
        if len(known) < REFUSALS and not any(_is_same(refused, one) for one in known):
            self.happened(refused)

    def line(self, member: Member, purpose: Purpose = Purpose.TELL, pause_s: float = 0.0) -> Line:
        """Open a line for a message that an agent must understand, in whatever form."""
        to = Address(member.agent_id, member.endpoint, convention=convention_of(member.convention))
        return self.book.line(to, purpose, pause_s)

    def check_league(self, read: Unsealed) -> None:
        """E028 comes before the message's own fields; a league_id that is none at all is a matter of those."""
        league_id = read.field("league_id")
        if isinstance(league_id, str) and league_id not in ("", self.ledger.settings.league_id):
            raise PeerError("E028", f"there is no league {league_id[:80]!r} here", {"league_id": league_id[:80]})


@dataclass(frozen=True, slots=True)
class RosterConventions:
    """The conventions of all members, as the journal says."""

    ledger: Ledger

    def get(self, agent_id: str, /) -> Convention | None:
        member = self.ledger.roster.members.get(agent_id)
        return None if member is None else convention_of(member.convention)


@dataclass(slots=True)
class ManagerPart:
    """A part of the manager."""

    context: ManagerContext
    _ledger: Ledger = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._ledger = self.context.ledger


def _is_same(one: RequestRefused, other: RequestRefused) -> bool:
    return (one.request, one.role, one.name, one.endpoint, one.code, one.match_id, one.attempt) == (
        other.request, other.role, other.name, other.endpoint, other.code, other.match_id, other.attempt
    )  # fmt: skip
