"""What the parts of the manager share: the ledger, how agents are called, the tokens they are shown.

The parts change nothing directly. They record an event with `happened`, and the ledger makes it true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from league import lifecycle
from league.calling.line import Line, Purpose
from league.calling.role import Context
from league.events import (
    AgentRole,
    AgentStateChanged,
    DeviationRecorded,
    RequestRefused,
)
from league.games import registry
from league.games.contract import Game
from league.machine import Address, JournalHead
from league.manager.state.ledger import Ledger, ScheduledMatch
from league.manager.state.roster import Member
from league.protocol.conventions import Convention, convention_of
from league.protocol.errors import PeerError, Violation
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import RetrySchedule
from league.protocol.signing import tokens
from league.protocol.signing.keys import SigningKey
from league.settings import HOUSE, HouseRules

LONGEST_DETAIL = 300
MAX_REFUSALS = 100
MAX_REFUSALS_OF_MATCH = 5
"""Maximum number of refused requests kept of each kind, or about one attempt of a match: strangers can send as many as
they like."""


@dataclass(slots=True)
class ManagerContext(Context):
    """The shared context of a role, and the league."""

    ledger: Ledger
    journal_head: Callable[[], JournalHead | None] = lambda: None
    """Says where our journal ends."""
    house: HouseRules = HOUSE
    manager_endpoints: Sequence[str] = ()
    """Where this manager and its standbys are, as members are told; empty if there is only this one."""
    signing_key: SigningKey | None = None
    """Our own; None until the machine is resumed."""
    is_awake: bool = False
    """False until the machine is resumed: until then it only answers questions."""
    audiences: dict[str, str] = field(default_factory=dict)
    """For V of each token that we derived since we were started, a sentence on who shows it to whom (S-32)."""
    _addresses: dict[tuple[str, int, str], Address] = field(default_factory=dict)
    """By agent, serial and convention. An address is used until the agent moves."""

    @property
    def accepts_deviations(self) -> bool:
        """True in `compat`: a message that deviates from the documents is taken if its meaning is clear."""
        return self.ledger.settings.profile == "compat"

    @property
    def probes_before_accepting(self) -> bool:
        """True in `strict`: a registration is answered when the endpoint it names has answered (R-35)."""
        return not self.accepts_deviations

    def member(self, agent_id: str) -> Member:
        return self.ledger.roster.members[agent_id]

    def change(self, member: Member, trigger: str, now: float, why: str = "") -> None:
        """Follow the lifecycle's table. A trigger that does not apply changes nothing and is no event."""
        state = lifecycle.after(member.state, trigger)
        if state != member.state:
            self.happened(
                AgentStateChanged(
                    at=now,
                    agent_id=member.agent_id,
                    state=state,
                    why=why or trigger,
                )
            )

    def record(self, agent_id: str, deviations: Iterable[Violation], now: float) -> None:
        """Record deviations that were accepted, once per agent and kind."""
        for deviation in deviations:
            if (
                agent_id,
                deviation.code,
                deviation.requirement,
            ) not in self.ledger.irregularities.deviations:
                self.happened(
                    DeviationRecorded(
                        at=now,
                        agent_id=agent_id,
                        code=deviation.code,
                        requirement=deviation.requirement,
                        detail=deviation.detail[:LONGEST_DETAIL],
                    )
                )

    # --- calls --------------------------------------------------------------------------------------------------------

    def retries(self, *, refused_only: bool = False) -> RetrySchedule:
        """Return the retries that this league's settings ask for."""
        return RetrySchedule(
            tuple(self.ledger.settings.retry_delays_s),
            refused_only=refused_only,
        )

    def is_reachable(self, member: Member, now: float) -> bool:
        """True if the circuit breaker lets calls to this member pass."""
        return not self.calls.peers[member.agent_id].breaker.is_open(now)

    def address(self, member: Member, serial: int | None = None) -> Address | None:
        """Return where to call an agent and the token to show it, or None if the agent has left.

        The token is derived from the one the agent goes by, or from another one (`serial`).
        """
        if member.state == "SHUTDOWN":
            return None
        # Deriving a token is slow, and broadcasts ask for every address again and again.
        serial = serial or member.credentials.serial
        place = (member.agent_id, serial, member.convention)
        address = self._addresses.get(place)
        if address is not None and address.endpoint == member.endpoint and address.origin == member.origin:
            return address
        key = self.key_of(member, serial)
        token = None if key is None else self.derived(key, tokens.MANAGER, member.agent_id)
        address = Address(
            member.agent_id,
            member.endpoint,
            token,
            convention_of(member.convention),
            member.origin,
        )
        if token is not None:
            self._addresses[place] = address
        return address

    def derived(
        self,
        key: str,
        sender: str,
        receiver: str,
        match_id: str = "-",
        attempt: int = 0,
    ) -> str:
        """Return the token that `sender` shows `receiver`. Anybody else who shows it is found out."""
        token = tokens.derive(
            key,
            sender,
            receiver,
            self.ledger.settings.league_id,
            match_id,
            attempt,
        )
        about = f" in {match_id}" if attempt else ""
        self.audiences.setdefault(tokens.verifier(token), f"{sender} shows {receiver}{about}")
        return token

    def key_of(self, member: Member, serial: int) -> str | None:
        """Return K of one of an agent's tokens."""
        return self.secrets.get(f"derive/{member.agent_id}/{serial}")

    def refused(
        self,
        request: Literal["registration", "report", "token"],
        role: AgentRole,
        name: str,
        *,
        endpoint: str,
        error: PeerError,
        now: float,
        match: ScheduledMatch | None = None,
    ) -> None:
        """Show the operator a refused request, once per sender, match and code. A token that it quotes is masked."""
        refused = RequestRefused(
            at=now,
            request=request,
            role=role,
            name=tokens.hidden_in(name),
            endpoint=tokens.hidden_in(endpoint),
            code=error.code,
            detail=tokens.hidden_in(error.detail)[:LONGEST_DETAIL],
            match_id=match.match_id if match else "",
            attempt=match.attempt if match else 0,
        )
        earlier = [refusal for refusal in self.ledger.irregularities.refusals if refusal.request == refused.request]
        limit = MAX_REFUSALS
        if refused.match_id:
            limit = MAX_REFUSALS_OF_MATCH
            about = (refused.match_id, refused.attempt)
            earlier = [refusal for refusal in earlier if (refusal.match_id, refusal.attempt) == about]
        if len(earlier) < limit and not any(_is_same(refused, refusal) for refusal in earlier):
            self.happened(refused)

    def line(
        self,
        member: Member,
        purpose: Purpose = Purpose.TELL,
        pause_s: float = 0.0,
    ) -> Line:
        """Open a line for a message that an agent must understand, in whatever form."""
        to = Address(
            member.agent_id,
            member.endpoint,
            convention=convention_of(member.convention),
        )
        return self.book.line(to, purpose, pause_s)

    def check_league(self, read: Unsealed) -> None:
        """Refuse the id of another league (E028). A `league_id` that is none at all is an error of the message."""
        league_id = read.field("league_id")
        if isinstance(league_id, str) and league_id not in (
            "",
            self.ledger.settings.league_id,
        ):
            raise PeerError(
                "E028",
                f"there is no league {league_id[:80]!r} here",
                {"league_id": league_id[:80]},
            )


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

    @property
    def game(self) -> Game:
        game = registry.find(self._ledger.settings.game_type)
        assert game is not None, "a league is made with a game that is installed"
        return game


def _is_same(refused: RequestRefused, earlier: RequestRefused) -> bool:
    return all(getattr(refused, name) == getattr(earlier, name) for name in _TOLD_APART_BY)


_TOLD_APART_BY = (
    "request",
    "role",
    "name",
    "endpoint",
    "code",
    "match_id",
    "attempt",
)
