"""Who belongs to the league, found by id, name, endpoint and token; and who applied and waits for the operator."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from league.events import AgentApplied, AgentApproved, AgentRegistered, AgentRole, AgentState, Bulletin
from league.protocol import tokens

PREFIXES: Mapping[AgentRole, str] = {"player": "P", "referee": "REF"}
UNUSED_TOKENS = 4
"""So many tokens that were never used are kept beside the one in use (an answer may be lost, or come twice)."""
LONGEST_NUMBER = 6
FAULTS_THAT_SUSPEND = 2
"""So many technical losses in a row (R-51)."""
MOST_WAITING, MOST_AT_ADDRESS = 1000, 200
"""So many may wait for approval at once: whoever can reach the manager can apply, and each application is kept for
ever."""


class Member(Struct):
    """A player or referee, as the manager knows it. `tokens`: serial to V, all still valid."""

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
    """The token that was last handed out or used: what this agent is shown is derived from its K."""
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

    @property
    def newest_serial(self) -> int:
        return max(self.tokens)

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


class Applicants(Struct):
    """Who needs the operator to become a member (R-89) or to come back from another address (R-90): everybody who ever
    applied, in that order."""

    by_id: dict[str, Applicant] = {}
    known: dict[str, str] = {}
    """What tells one applicant from another, to its id."""
    approved: int = 0

    def has_room(self, origin: str) -> bool:
        """May another one from this address wait?"""
        neighbours = sum(one.origin == origin for one in self.waiting)
        return len(self.by_id) - self.approved < MOST_WAITING and neighbours < MOST_AT_ADDRESS

    @property
    def next_id(self) -> str:
        return f"A{len(self.by_id) + 1:02d}"

    @property
    def waiting(self) -> Iterator[Applicant]:
        return (one for one in self.by_id.values() if not one.approved)

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
        self.by_id[event.applicant_id].approved = True
        self.approved += 1


class Roster(Struct):
    """All members, in the order they registered."""

    members: dict[str, Member] = {}
    names: dict[str, list[str]] = {}
    endpoints: dict[str, str] = {}
    verifiers: dict[str, tuple[str, int]] = {}
    next_number: dict[str, int] = {}
    """The smallest number of each role that was never given."""
    counts: dict[str, int] = {}
    applicants: Applicants = field(default_factory=Applicants)

    def of_role(self, role: AgentRole) -> Iterator[Member]:
        return (member for member in self.members.values() if member.role == role)

    def count(self, role: AgentRole) -> int:
        """How many of a role are in the league; who was withdrawn has left its place."""
        return self.counts.get(role, 0)

    def with_name(self, role: AgentRole, display_name: str) -> list[str]:
        return self.names.get(f"{role}:{folded(display_name)}", [])

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
        self.names.setdefault(f"{event.role}:{folded(event.display_name)}", []).append(event.agent_id)
        self.endpoints[same_endpoint(event.endpoint)] = event.agent_id
        self.verifiers[event.verify] = (event.agent_id, event.serial)
        self.counts[event.role] = self.count(event.role) + 1
        number, prefix = self.next_number.get(event.role, 1), PREFIXES[event.role]
        while _written(prefix, number) in self.members:
            number += 1
        self.next_number[event.role] = number

    def renew(self, member: Member, serial: int, verify: str) -> None:
        """A new token beside the one in use; the oldest of those never used makes room."""
        member.tokens[serial] = verify
        member.serial = serial
        self.verifiers[verify] = (member.agent_id, serial)
        _, *unused = sorted(member.tokens)
        for old in unused[:-UNUSED_TOKENS]:
            self._forget(member, old)

    def take_up(self, member: Member, serial: int) -> None:
        """This token was used: older ones are void."""
        for old in [one for one in member.tokens if one < serial]:
            self._forget(member, old)
        member.serial = serial

    def _forget(self, member: Member, serial: int) -> None:
        self.verifiers.pop(member.tokens.pop(serial), None)

    def leave(self, member: Member) -> None:
        member.withdrawn = True
        self.counts[member.role] -= 1


def folded(name: str) -> str:
    """A name as it is compared (R-20): NFKC, case folded, single blanks."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


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
