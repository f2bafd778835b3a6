"""Who belongs to the league, found by id, name, endpoint and token; and who applied and waits for the operator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from league.events import (
    AgentApplied,
    AgentApproved,
    AgentMoved,
    AgentRegistered,
    AgentRejected,
    AgentRole,
    AgentState,
    Bulletin,
    TokenRenewed,
)
from league.manager import names
from league.manager.names import folded as folded
from league.protocol import tokens
from league.protocol.experiment import Conditions

PREFIXES: Mapping[AgentRole, str] = {"player": "P", "referee": "REF"}
FULL_TOKENS, LESSER_TOKENS = 16, 4
"""So many tokens of each standing are kept beside the first and the one in use. Only who shows a token of full standing
gets another one, so that nobody else can use up an agent's."""
LONGEST_NUMBER = 6
MOST_CONDITIONS = 4
FAULTS_THAT_SUSPEND = 2
"""So many technical losses in a row (R-51)."""
MOST_WAITING, MOST_AT_ADDRESS = 1000, 200
"""So many may wait for approval at once: whoever can reach the manager can apply, and each application is kept for
ever."""


class Member(Struct):
    """A player or referee, as the manager knows it. `tokens`: serial to V, all valid."""

    role: AgentRole
    agent_id: str
    display_name: str
    version: str
    endpoint: str
    origin: str
    game_types: tuple[str, ...]
    capacity: int
    tokens: dict[int, str]
    serial: int
    """The token it goes by: what this agent is shown is derived from its K."""
    queries_only: set[int] = set()
    """Those of its tokens that were got by name and address alone (S-25)."""
    contested: dict[str, str] = {}
    """Signs that two agents go by its name."""
    state: AgentState = "REGISTERED"
    suspended_at: float = 0.0
    withdrawn: bool = False
    delivered: Bulletin = Bulletin("round_completed", 0)
    """The last bulletin whose delivery has ended."""
    faults_in_a_row: int = 0
    technical_losses: int = 0
    absent: bool = False
    """A player the league waited for in vain: it counts for no other outage before it has played a match."""
    excused: bool = False
    """An outage excused its last loss: another one is no sign of an outage before it has played a match."""
    declined: int = 0
    """So often it declined to choose, and the match was played again (spec section 8.17)."""
    conditions: tuple[Conditions, ...] = ()
    """Under which a language model plays for it, the newest last: more than one if they were changed."""
    convention: str = "SPEC"
    """How it is called: at first as it called us."""
    known_as: str = ""
    """What it may call itself in its answers, too (R-104)."""
    told: set[str] = set()
    """Of what strict leagues refuse, and this one does not, referees have told it: the codes."""
    shows_derived_tokens: bool = False
    """A referee that players know by the token it shows them."""
    dispatch_method: str = ""
    """What makes it play, if it is a referee by others and that was seen (events.DispatchLearned)."""

    def state_conditions(self, conditions: Conditions) -> None:
        if self.conditions[-1:] != (conditions,):
            self.conditions = (*self.conditions[-MOST_CONDITIONS + 1 :], conditions)

    @property
    def newest_serial(self) -> int:
        return max(self.tokens)

    @property
    def full_standing(self) -> list[int]:
        """The tokens that speak for it by themselves."""
        lesser = self.queries_only
        return [serial for serial in self.tokens if serial not in lesser] if lesser else list(self.tokens)

    @property
    def is_player(self) -> bool:
        return self.role == "player"

    @property
    def takes_part(self) -> bool:
        """May it be sent anything?"""
        return self.state != "SHUTDOWN"


class Applicant(Struct):
    """An agent as it described itself, and the address it spoke from: an approval is good for all of that together."""

    applicant_id: str
    role: AgentRole
    display_name: str
    endpoint: str
    origin: str
    applied_at: float
    approved: bool = False
    rejected: bool = False
    admitted: bool = False

    @property
    def is_waiting(self) -> bool:
        return not (self.approved or self.rejected or self.admitted)


class Applicants(Struct):
    """Who needs the operator to become a member (R-89) or to come back without a proof (R-90, S-25): everybody who ever
    applied, in that order. An approval is good for one registration: who comes again applies anew."""

    by_id: dict[str, Applicant] = {}
    known: dict[str, str] = {}
    """What tells one applicant from another, to its id, until it is admitted."""
    settled: int = 0

    def has_room(self, origin: str) -> bool:
        """May another one from this address wait?"""
        neighbours = sum(one.origin == origin for one in self.waiting)
        return len(self.by_id) - self.settled < MOST_WAITING and neighbours < MOST_AT_ADDRESS

    @property
    def next_id(self) -> str:
        return f"A{len(self.by_id) + 1:02d}"

    @property
    def waiting(self) -> Iterator[Applicant]:
        return (one for one in self.by_id.values() if one.is_waiting)

    @property
    def rejected(self) -> Iterator[Applicant]:
        return (one for one in self.by_id.values() if one.rejected)

    def find(self, role: AgentRole, display_name: str, endpoint: str, origin: str) -> Applicant | None:
        applicant_id = self.known.get(_identity(role, display_name, endpoint, origin))
        return self.by_id[applicant_id] if applicant_id else None

    def meant_by(self, target: str) -> list[Applicant]:
        """Whom an operator calls so: one by its id, else all with this name or endpoint."""
        if target in self.by_id:
            return [self.by_id[target]]
        name, endpoint = folded(target), same_endpoint(target)
        return [
            one
            for one in self.by_id.values()
            if folded(one.display_name) == name or same_endpoint(one.endpoint) == endpoint
        ]

    # --- made true by events ------------------------------------------------------------------------------------------

    def enter(self, event: AgentApplied) -> None:
        self.by_id[event.applicant_id] = Applicant(
            applicant_id=event.applicant_id,
            role=event.role,
            display_name=event.display_name,
            endpoint=event.endpoint,
            origin=event.origin,
            applied_at=event.at,
        )
        identity = _identity(event.role, event.display_name, event.endpoint, event.origin)
        self.known[identity] = event.applicant_id

    def approve(self, event: AgentApproved) -> None:
        one = self.by_id[event.applicant_id]
        self.settled += one.is_waiting
        one.approved, one.rejected = True, False

    def reject(self, event: AgentRejected) -> None:
        one = self.by_id[event.applicant_id]
        self.settled += one.is_waiting
        one.approved, one.rejected = False, True

    def admit(self, applicant_id: str) -> None:
        """It became a member, or came back as one."""
        if not applicant_id:
            return
        one = self.by_id[applicant_id]
        self.settled += one.is_waiting
        one.admitted, one.rejected = True, False
        self.known.pop(_identity(one.role, one.display_name, one.endpoint, one.origin), None)


class Roster(Struct):
    """All members, in the order they registered."""

    members: dict[str, Member] = {}
    roles: dict[str, list[str]] = {}
    """The ids of all members of a role."""
    names: dict[str, str] = {}
    """Skeletons of names to whoever took them first."""
    endpoints: dict[str, str] = {}
    verifiers: dict[str, tuple[str, int]] = {}
    next_number: dict[str, int] = {}
    """The smallest number of each role that was never given."""
    counts: dict[str, int] = {}
    changes: int = 0
    """How often somebody came, or another state was entered."""
    applicants: Applicants = field(default_factory=Applicants)

    def of_role(self, role: AgentRole) -> list[Member]:
        return list(map(self.members.__getitem__, self.roles.get(role, ())))

    def count(self, role: AgentRole) -> int:
        """How many of a role are in the league; who was withdrawn has left its place."""
        return self.counts.get(role, 0)

    def with_name(self, role: AgentRole, display_name: str) -> Member | None:
        """Who has this name, or one that looks like it."""
        taken = (self.names.get(f"{role}:{one}") for one in names.skeletons(display_name))
        return next((self.members[agent_id] for agent_id in taken if agent_id is not None), None)

    def at_endpoint(self, endpoint: str) -> Member | None:
        agent_id = self.endpoints.get(same_endpoint(endpoint))
        return self.members[agent_id] if agent_id else None

    def owner(self, token: str) -> tuple[Member, int] | None:
        """Whose valid token this is, and which of its tokens."""
        digest = tokens.verifier(token)
        agent_id, serial = self.verifiers.get(digest, ("", 0))
        member = self.members.get(agent_id)
        if member is None or not tokens.same(member.tokens.get(serial), digest):
            return None
        return member, serial

    def free_id(self, role: AgentRole, wanted: str) -> str:
        """The wanted id if it is well-formed and was never given (R-37), else the next one."""
        prefix = PREFIXES[role]
        digits = wanted.removeprefix(prefix)
        well_formed = re.fullmatch(f"[0-9]{{2,{LONGEST_NUMBER}}}", digits) and int(digits) > 0
        if well_formed and wanted == _written(prefix, int(digits)) and wanted not in self.members:
            return wanted
        return _written(prefix, self.next_number.get(role, 1))

    # --- made true by events ------------------------------------------------------------------------------------------

    def enter(self, event: AgentRegistered, delivered: Bulletin) -> None:
        self.members[event.agent_id] = Member(
            role=event.role,
            agent_id=event.agent_id,
            display_name=event.display_name,
            version=event.version,
            endpoint=event.endpoint,
            origin=event.origin,
            game_types=event.game_types,
            capacity=event.capacity,
            tokens={event.serial: event.verify},
            serial=event.serial,
            delivered=delivered,
            convention=event.convention,
            known_as=event.known_as,
            shows_derived_tokens=event.shows_derived_tokens,
        )
        self.changes += 1
        self.roles.setdefault(event.role, []).append(event.agent_id)
        for skeleton in names.skeletons(event.display_name):
            self.names.setdefault(f"{event.role}:{skeleton}", event.agent_id)
        self.endpoints[same_endpoint(event.endpoint)] = event.agent_id
        self.verifiers[event.verify] = (event.agent_id, event.serial)
        self.counts[event.role] = self.counts.get(event.role, 0) + 1
        self.applicants.admit(event.applicant_id)
        number, prefix = self.next_number.get(event.role, 1), PREFIXES[event.role]
        while _written(prefix, number) in self.members:
            number += 1
        self.next_number[event.role] = number

    def renew(self, event: TokenRenewed) -> None:
        """A new token beside the earlier ones; who proved to be this member goes by it from now on."""
        member = self.members[event.agent_id]
        member.tokens[event.serial] = event.verify
        member.shows_derived_tokens = event.shows_derived_tokens
        self.verifiers[event.verify] = (event.agent_id, event.serial)
        if event.queries_only:
            member.queries_only.add(event.serial)
        else:
            member.serial = event.serial
        self.applicants.admit(event.applicant_id)
        _, *full = sorted(member.full_standing)
        for old in (*full[:-FULL_TOKENS], *sorted(member.queries_only)[:-LESSER_TOKENS]):
            if old != member.serial:
                self.verifiers.pop(member.tokens.pop(old), None)
                member.queries_only.discard(old)

    def move(self, event: AgentMoved) -> None:
        member = self.members[event.agent_id]
        self.endpoints.pop(same_endpoint(member.endpoint), None)
        self.endpoints[same_endpoint(event.endpoint)] = event.agent_id
        member.endpoint, member.origin = event.endpoint, event.origin

    def leave(self, member: Member) -> None:
        member.withdrawn = True
        self.counts[member.role] -= 1


def same_endpoint(url: str) -> str:
    """An endpoint as it is compared: scheme and host in any case, with or without a last slash."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")


def _written(prefix: str, number: int) -> str:
    return f"{prefix}{number:02d}"


def _identity(role: AgentRole, display_name: str, endpoint: str, origin: str) -> str:
    # None of these holds a line break: a folded name has single blanks only.
    return "\n".join((role, origin, same_endpoint(endpoint), folded(display_name)))
