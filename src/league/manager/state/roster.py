"""The members of the league, found by id, name, endpoint and token; and the applicants that wait for the operator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from league.events import (
    AgentApplied,
    AgentMoved,
    AgentRegistered,
    AgentRole,
    AgentState,
    Bulletin,
    TokenRenewed,
)
from league.manager.members import names
from league.manager.members.names import folded as folded
from league.protocol.message.experiment import Conditions
from league.protocol.signing import tokens

PREFIXES: Mapping[AgentRole, str] = {"player": "P", "referee": "REF"}
MAX_FULL_TOKENS = 16
MAX_QUERY_TOKENS = 4
"""Maximum number of tokens of each standing that are kept beside the first one and the one in use. An agent gets
another token of full standing only if it shows one, so nobody else can use them up."""
LONGEST_NUMBER = 6
FAULTS_THAT_SUSPEND = 2
"""Number of technical losses in a row that suspend a player (R-51)."""
MOST_WAITING = 1000
MOST_AT_ADDRESS = 200
"""Maximum number of applicants that may wait at once, in all and from one address. Anybody who can reach the manager
can apply, and each application is kept for ever."""


class MemberName(Struct):
    """The name of a member, and the names that it may be taken for."""

    display_name: str
    asked: str = ""
    """The name it registered with, if that was taken and it got a number."""
    known_as: str = ""
    """Another name that it may use for itself in its answers (R-104)."""
    reads_as: str = ""
    """The id that its name looks like."""
    is_lookalike: bool = False
    """True if its name looks like one that was taken before."""

    def is_called(self, name: str) -> bool:
        """True if the member has this name, or asked for it."""
        return folded(name) in (folded(self.display_name), folded(self.asked))


class MemberCredentials(Struct):
    """The tokens of a member, and what each of them is good for."""

    tokens: dict[int, str]
    """V of each valid token, by its serial number."""
    serial: int
    """The token the member goes by. What it is shown is derived from its K."""
    queries_only: set[int] = set()
    """The tokens that were issued for a name and an address alone (S-25)."""
    public_key: str = ""
    """The key with which a player signs its choices (spec section 9.6); it belongs to the member, not to a token."""
    readmitting: bool = False
    """True if the operator lets the member come back from anywhere, without a proof."""
    contested: dict[str, str] = {}
    """Signs that two agents go by its name."""

    @property
    def full_standing(self) -> list[int]:
        """The serial numbers of the tokens that prove who it is."""
        if not self.queries_only:
            return list(self.tokens)
        return [serial for serial in self.tokens if serial not in self.queries_only]


class Attendance(Struct):
    """When a member was not there, and what came of it."""

    withdrawn: bool = False
    suspended_at: float = 0.0
    faults_in_a_row: int = 0
    technical_losses: int = 0
    own_pauses: int = 0
    """How often a match waited for it on its own account (spec section 8.15)."""
    outage_pauses: int = 0
    """How often a match waited for it at nobody's expense."""
    declined: int = 0
    """How often a match waited for its language model (spec section 8.17)."""
    gone_behind: int = 0
    """How often it was gone from a match in which its opponent was ahead."""


class RefereeTraits(Struct):
    """What sets one referee apart from others."""

    capacity: int = 0
    """How many matches it conducts at once."""
    shows_derived_tokens: bool = False
    """True if players know it by the token it shows them."""
    asks_before_losses: bool = False
    """True if it asks before it decides a technical loss."""
    shares_draws: bool = False
    """True if it can share its draws (spec section 12.1)."""
    shares_every_draw: bool = False
    """True if it can do so in every game, and not only where the single draw comes last."""
    came_openly: bool = False
    """True if it came in without the enrolment key and without approval."""
    has_shown_key: bool = False
    """True if it came in openly, and has shown the enrolment key since."""
    dispatch_method: str = ""
    """What makes a third-party referee play, once that is known (events.DispatchLearned)."""


class Probed(Struct):
    """What the last probe before the start found out about a member (events.AgentProbed)."""

    findings: str = ""
    """In words."""
    in_trouble: bool = False
    """True if it cannot take part as it was found."""
    count: int = 0
    """The number of probes that were noted."""
    unreported: tuple[str, ...] = ()
    """The matches that it had acknowledged and not reported in the usual time, when that was last seen."""


class Told(Struct):
    """What a member has heard of."""

    bulletin: Bulletin = Bulletin("round_completed", 0)
    """The last bulletin whose delivery has ended."""
    deviations: set[str] = set()
    """Codes of deviations that strict leagues refuse, and that referees have told it of."""


class Member(Struct):
    """A player or referee, as the manager knows it."""

    role: AgentRole
    agent_id: str
    name: MemberName
    version: str
    endpoint: str
    origin: str
    game_types: tuple[str, ...]
    credentials: MemberCredentials
    told: Told
    as_referee: RefereeTraits
    state: AgentState = "REGISTERED"
    attendance: Attendance = field(default_factory=Attendance)
    conditions: tuple[Conditions, ...] = ()
    """The conditions under which a language model plays for it, the newest last."""
    convention: str = "SPEC"
    """How it is called. At first that is how it called us."""
    probed: Probed = field(default_factory=Probed)

    @property
    def is_player(self) -> bool:
        return self.role == "player"

    @property
    def takes_part(self) -> bool:
        """True if it may be sent anything."""
        return self.state != "SHUTDOWN"


class Applicant(Struct):
    """An agent as it described itself, and the address it spoke from. An approval is good for all of that together."""

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
    """Everybody who ever applied, in that order: agents that need the operator to become a member (R-89), or to come
    back without a proof (R-90, S-25). An approval is good for one registration; the next one needs another."""

    by_id: dict[str, Applicant] = {}
    known: dict[str, str] = {}
    """The ids of applicants by what tells them apart, until they are admitted."""
    settled: int = 0

    def has_room(self, origin: str) -> bool:
        """True if another applicant from this address may wait."""
        neighbours = sum(applicant.origin == origin for applicant in self.waiting)
        return len(self.by_id) - self.settled < MOST_WAITING and neighbours < MOST_AT_ADDRESS

    @property
    def next_id(self) -> str:
        return f"A{len(self.by_id) + 1:02d}"

    @property
    def waiting(self) -> Iterator[Applicant]:
        return (applicant for applicant in self.by_id.values() if applicant.is_waiting)

    @property
    def approved(self) -> Iterator[Applicant]:
        """Return those that were approved and have not registered since."""
        return (applicant for applicant in self.by_id.values() if applicant.approved and not applicant.admitted)

    @property
    def rejected(self) -> Iterator[Applicant]:
        return (applicant for applicant in self.by_id.values() if applicant.rejected)

    def find(
        self,
        role: AgentRole,
        display_name: str,
        endpoint: str,
        origin: str,
    ) -> Applicant | None:
        identity = _identity(role, display_name, endpoint, origin)
        applicant_id = self.known.get(identity)
        if applicant_id is None:
            return None
        return self.by_id[applicant_id]

    def meant_by(self, target: str) -> list[Applicant]:
        """Return the applicant with this id, or else all with this name or endpoint."""
        if target in self.by_id:
            return [self.by_id[target]]
        name = folded(target)
        endpoint = same_endpoint(target)
        applicants = []
        for applicant in self.by_id.values():
            has_name = folded(applicant.display_name) == name
            if has_name or same_endpoint(applicant.endpoint) == endpoint:
                applicants.append(applicant)
        return applicants

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

    def approve(self, applicant_id: str) -> None:
        applicant = self._settle(applicant_id)
        applicant.approved = True
        applicant.rejected = False

    def reject(self, applicant_id: str) -> None:
        applicant = self._settle(applicant_id)
        applicant.approved = False
        applicant.rejected = True

    def admit(self, applicant_id: str) -> None:
        """An applicant became a member, or came back as one."""
        if not applicant_id:
            return
        applicant = self._settle(applicant_id)
        applicant.admitted = True
        applicant.rejected = False
        identity = _identity(
            applicant.role,
            applicant.display_name,
            applicant.endpoint,
            applicant.origin,
        )
        self.known.pop(identity, None)

    def _settle(self, applicant_id: str) -> Applicant:
        applicant = self.by_id[applicant_id]
        if applicant.is_waiting:
            self.settled += 1
        return applicant


class Roster(Struct):
    """All members, in the order they registered."""

    members: dict[str, Member] = {}
    roles: dict[str, list[str]] = {}
    """The ids of all members of a role."""
    names: dict[str, str] = {}
    """The members that took a name first, by its skeletons."""
    endpoints: dict[str, str] = {}
    verifiers: dict[str, tuple[str, int]] = {}
    """Agent and serial number of each valid token, by its V."""
    next_number: dict[str, int] = {}
    """The smallest number of each role that was never given."""
    counts: dict[str, int] = {}
    changes: int = 0
    """Grows when a member comes or changes its state."""
    late: list[str] = []
    """Players that came after the start and have no place in the schedule yet."""
    applicants: Applicants = field(default_factory=Applicants)

    def of_role(self, role: AgentRole) -> list[Member]:
        return list(map(self.members.__getitem__, self.roles.get(role, ())))

    def count(self, role: AgentRole) -> int:
        """Return how many members of a role are in the league. Withdrawn players do not count."""
        return self.counts.get(role, 0)

    def with_name(self, role: AgentRole, display_name: str) -> Member | None:
        """Return the member that has this name, or one that looks like it."""
        for skeleton in names.skeletons(display_name):
            agent_id = self.names.get(f"{role}:{skeleton}")
            if agent_id is not None:
                return self.members[agent_id]
        return None

    def shown_name(self, member: Member) -> str:
        """Return a member's name for people: with its id in front if it could be taken for another member (T-07)."""
        # Judged each time: the agent whose id it looks like may come later.
        is_another = member.name.reads_as != member.agent_id and member.name.reads_as in self.members
        if member.name.is_lookalike or is_another:
            return f"{member.agent_id} {member.name.display_name}"
        return member.name.display_name

    def free_name(self, role: AgentRole, name: str) -> str:
        """Return a name with the smallest number that makes it free."""
        number = 2
        while self.with_name(role, names.numbered(name, number)) is not None:
            number += 1
        return names.numbered(name, number)

    def at_endpoint(self, endpoint: str) -> Member | None:
        agent_id = self.endpoints.get(same_endpoint(endpoint))
        if agent_id is None:
            return None
        return self.members[agent_id]

    def owner(self, token: object) -> tuple[Member, int] | None:
        """Return the owner of a valid token, and the token's serial number. None if this is no valid token."""
        if not isinstance(token, str):
            return None
        # The index finds the owner, a comparison in constant time decides.
        digest = tokens.verifier(token)
        agent_id, serial = self.verifiers.get(digest, ("", 0))
        member = self.members.get(agent_id)
        if member is None or not tokens.same(member.credentials.tokens.get(serial), digest):
            return None
        return member, serial

    def free_id(self, role: AgentRole, desired_id: str) -> str:
        """Return the desired id if it is well-formed and was never given (R-37), or else the next one."""
        prefix = PREFIXES[role]
        digits = desired_id.removeprefix(prefix)
        is_number = re.fullmatch(f"[0-9]{{2,{LONGEST_NUMBER}}}", digits) is not None
        # Only ids that we would write the same way: P1 and P001 would be taken for P01.
        is_well_formed = is_number and int(digits) > 0 and desired_id == _written(prefix, int(digits))
        if is_well_formed and desired_id not in self.members:
            return desired_id
        return _written(prefix, self.next_number.get(role, 1))

    # --- made true by events ------------------------------------------------------------------------------------------

    def enter(self, event: AgentRegistered, delivered: Bulletin) -> None:
        # Ids, names and endpoints are indexed, so that a registration costs the same in a league of any size.
        is_lookalike = self.with_name(event.role, event.display_name) is not None
        self.members[event.agent_id] = Member(
            role=event.role,
            agent_id=event.agent_id,
            name=MemberName(
                event.display_name,
                event.asked_name,
                event.known_as,
                names.id_in(event.display_name),
                is_lookalike,
            ),
            version=event.version,
            endpoint=event.endpoint,
            origin=event.origin,
            game_types=event.game_types,
            credentials=MemberCredentials(
                tokens={event.serial: event.verify},
                serial=event.serial,
                public_key=event.public_key,
            ),
            told=Told(delivered),
            as_referee=RefereeTraits(
                capacity=event.capacity,
                shows_derived_tokens=event.shows_derived_tokens,
                asks_before_losses=event.asks_before_losses,
                shares_draws=event.shares_draws,
                shares_every_draw=event.shares_every_draw,
                came_openly=event.came_openly,
            ),
            convention=event.convention,
        )
        self.changes += 1
        self.roles.setdefault(event.role, []).append(event.agent_id)
        for skeleton in names.skeletons(event.display_name):
            self.names.setdefault(f"{event.role}:{skeleton}", event.agent_id)
        self.endpoints[same_endpoint(event.endpoint)] = event.agent_id
        self.verifiers[event.verify] = (event.agent_id, event.serial)
        self.counts[event.role] = self.counts.get(event.role, 0) + 1
        self.applicants.admit(event.applicant_id)
        number = self.next_number.get(event.role, 1)
        prefix = PREFIXES[event.role]
        while _written(prefix, number) in self.members:
            number += 1
        self.next_number[event.role] = number

    def renew(self, event: TokenRenewed) -> None:
        """Keep a new token beside the earlier ones. A member that proved its identity goes by it from now on."""
        member = self.members[event.agent_id]
        if event.readmitted:
            self._end_tokens(member)
        member.credentials.tokens[event.serial] = event.verify
        member.as_referee.shows_derived_tokens = event.shows_derived_tokens
        member.as_referee.asks_before_losses = event.asks_before_losses
        self.verifiers[event.verify] = (event.agent_id, event.serial)
        member.as_referee.shares_draws = event.shares_draws
        member.as_referee.shares_every_draw = event.shares_every_draw
        member.as_referee.has_shown_key = member.as_referee.has_shown_key or event.shows_key
        if event.public_key and not event.queries_only:
            # Whoever knows only a name and an address cannot replace the key.
            member.credentials.public_key = event.public_key
        if event.queries_only:
            member.credentials.queries_only.add(event.serial)
        else:
            member.credentials.serial = event.serial
        self.applicants.admit(event.applicant_id)
        # The first token is never dropped.
        later = sorted(member.credentials.full_standing)[1:]
        outdated = later[:-MAX_FULL_TOKENS]
        outdated += sorted(member.credentials.queries_only)[:-MAX_QUERY_TOKENS]
        for serial in outdated:
            if serial != member.credentials.serial:
                self.verifiers.pop(member.credentials.tokens.pop(serial), None)
                member.credentials.queries_only.discard(serial)

    def _end_tokens(self, member: Member) -> None:
        """Make all earlier tokens of this member worthless."""
        for digest in member.credentials.tokens.values():
            self.verifiers.pop(digest, None)
        member.credentials.tokens = {}
        member.credentials.queries_only = set()
        member.credentials.readmitting = False

    def move(self, event: AgentMoved) -> None:
        member = self.members[event.agent_id]
        self.endpoints.pop(same_endpoint(member.endpoint), None)
        self.endpoints[same_endpoint(event.endpoint)] = event.agent_id
        member.endpoint = event.endpoint
        member.origin = event.origin

    def leave(self, member: Member) -> None:
        member.attendance.withdrawn = True
        self.counts[member.role] -= 1


def same_endpoint(url: str) -> str:
    """Return an endpoint as it is compared: scheme and host in lower case, without a last slash."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")


def _written(prefix: str, number: int) -> str:
    return f"{prefix}{number:02d}"


def _identity(role: AgentRole, display_name: str, endpoint: str, origin: str) -> str:
    # None of these holds a line break: a folded name has single blanks only.
    return "\n".join((role, origin, same_endpoint(endpoint), folded(display_name)))
