"""Registering: who may become a member, in the order of section 10.3; agents that come back; ids and tokens.

A registration ends in one of four ways. A new agent becomes a member; a member that comes back gets another token; the
application is refused with status REJECTED (R-19); or the message itself is wrong, which is an error. A member that
comes back without a proof gets a token for queries only, and can change nothing about the member (S-25).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from league.calling.rate_limit import Rate, RateLimiter
from league.events import (
    AgentMoved,
    AgentRegistered,
    AgentRole,
    ConditionsStated,
    RequestRefused,
    TokenRenewed,
)
from league.machine import Failure, Letter
from league.manager import names
from league.manager.approval import Application, Approvals
from league.manager.assignments import Assignments
from league.manager.authentication import Authentication
from league.manager.heartbeats import Heartbeats, Probes
from league.manager.manager_context import LONGEST_DETAIL, ManagerPart
from league.manager.roster import Member, folded
from league.protocol import tokens
from league.protocol.endpoints import EndpointPolicy, parse
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import REJECTIONS, PeerError, Violation, as_error
from league.protocol.exchanges import EXCHANGES
from league.protocol.experiment import Conditions, said
from league.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RegisterResponse,
)
from league.protocol.parts import PlayerMeta, RefereeMeta

TOKEN_SCHEME = "derived"
NO_CONVERSATION = "conv-register"
LONGEST_NAME = 100
LATE_ROOM = 2
"""With late players a league may become this many times as large as it was meant to be."""
RENEWALS = Rate(per_s=0.5, burst=20)
"""How often an agent may register again. Every time is an event."""


@dataclass(frozen=True, slots=True)
class Comeback:
    """A member that registers again."""

    member: Member
    is_proven: bool
    moves: bool = False
    """True if it has another endpoint than before."""


@dataclass(slots=True)
class Admission(ManagerPart):
    """Decides who may become a member. PeerError says why not. `is_local`: we listen to this machine alone."""

    endpoints: EndpointPolicy
    is_local: bool
    authentication: Authentication
    approvals: Approvals

    def returning(self, application: Application, now: float) -> Comeback | None:
        """Return the member that comes back with this application: the one with the same name and endpoint (S-25).

        A token of full standing, the enrolment key or the operator's approval proves it. A player without any of them
        may come back from the same address.
        """
        member = self._ledger.roster.at_endpoint(application.meta.contact_endpoint)
        if member is None:
            return self._moving(application)
        if member.role != application.role:
            return None
        if folded(member.display_name) != folded(application.meta.display_name):
            return None
        owner = self.authentication.owner(application.token)
        is_owner = owner is not None and owner.member is member
        has_token = owner is not None and is_owner and not owner.by_name
        if has_token or self._has_key(application) or self.approvals.is_approved(application):
            return Comeback(member, is_proven=True)
        if member.is_player and (is_owner or application.origin == member.origin):
            return Comeback(member, is_proven=False)
        self.approvals.apply(application, now)
        # For a referee the operator must know: whoever takes its place decides matches.
        if not member.is_player:
            detail = f"{application.origin} registered as {member.agent_id}, without its token or the enrolment key"
            self.authentication.contested(member, "unproven", detail, now)
        if not member.is_player or self._ledger.settings.enrolment == "approve":
            raise self.approvals.objection(application)
        return None

    def _moving(self, application: Application) -> Comeback | None:
        """Return the member with the same name and a token of full standing, at an endpoint that nobody has."""
        owner = self.authentication.owner(application.token)
        if owner is None or owner.by_name or owner.member.role != application.role:
            return None
        member = owner.member
        if not member.takes_part or folded(member.display_name) != folded(application.meta.display_name):
            return None
        self._check_endpoint(application)
        return Comeback(member, is_proven=True, moves=True)

    def check(self, application: Application, now: float) -> None:
        """Refuse an application of somebody new, in the order of section 10.3."""
        needs_key = application.role == "referee" and self._ledger.settings.enrolment == "key"
        if needs_key and not self._has_key(application):
            raise PeerError("E043", "referees need the enrolment key of this league")
        # The first objection is the answer, so the order is part of the protocol.
        self._check_time(application)
        self._check_room(application.role)
        meta = application.meta
        game_type = self._ledger.settings.game_type
        if game_type not in meta.game_types:
            games: dict[str, list[str]] = {
                "supported_game_types": [game_type],
                "game_types": list(meta.game_types)[:10],
            }
            raise PeerError("E027", f"this league plays {game_type}", games)
        self._check_endpoint(application)
        self._check_name(application.role, meta.display_name)
        if self._ledger.roster.at_endpoint(meta.contact_endpoint) is not None:
            context = {"contact_endpoint": meta.contact_endpoint}
            raise PeerError("E044", "another agent registered this endpoint", context)
        self._check_approval(application, now)

    def forbidden(self, application: Application, objection: str = "") -> PeerError:
        """Return E026. It does not say what a name leads to: the sender may not be able to find that out itself."""
        endpoint = application.meta.contact_endpoint
        if not objection:
            objection = (
                f"{endpoint} does not lead to where you speak from ({application.origin}): register that address"
            )
        return PeerError("E026", objection, {"contact_endpoint": endpoint})

    def must_look_up(self, application: Application) -> bool:
        """True if the policy depends on what the name of its endpoint leads to."""
        return self.endpoints.must_look_up(parse(application.meta.contact_endpoint))

    def _check_endpoint(self, application: Application) -> None:
        endpoint = parse(application.meta.contact_endpoint)
        objection = self.endpoints.objection(endpoint, application.origin)
        if objection:
            raise self.forbidden(application, objection)

    def _check_time(self, application: Application) -> None:
        ledger = self._ledger
        if ledger.is_finished:
            raise PeerError("E031", "the league is over")
        if ledger.state == "WAITING_FOR_REGISTRATIONS":
            return
        if application.role == "player":
            if ledger.settings.late == "admit":
                return
            detail = "the league has started"
            namesake = ledger.roster.with_name("player", application.meta.display_name)
            if namesake is not None:
                detail = f"{detail}; {_how_to_come_back(namesake)}"
            raise PeerError("E019", detail)
        is_closed = not ledger.settings.late_referees or not self.context.accepts_deviations
        if is_closed and any(referee.state == "ACTIVE" for referee in ledger.roster.of_role("referee")):
            raise PeerError("E019", "the league has started, and its referees are alive")

    def _check_room(self, role: AgentRole) -> None:
        settings = self._ledger.settings
        count = self._ledger.roster.count(role)
        room = settings.players if role == "player" else settings.max_referees
        if role == "player" and self._ledger.rounds:
            room *= LATE_ROOM
        if count >= room:
            raise PeerError(
                "E020",
                f"all {room} places are taken",
                {f"max_{role}s": room, f"current_{role}s": count},
            )

    def _check_name(self, role: AgentRole, name: str) -> None:
        """Refuse the name of somebody else, or one that looks like it (E022, S-31)."""
        context = {
            "display_name": name,
            "suggestion": "Choose a different display_name",
        }
        reason = names.reserved(role, name)
        if reason is not None:
            raise PeerError("E022", f"nobody is called {name!r}: {reason}", context)
        if not self._ledger.settings.unique_names:
            return
        namesake = self._ledger.roster.with_name(role, name)
        if namesake is None:
            return
        problem = "is taken"
        if folded(namesake.display_name) != folded(name):
            problem = f"looks like {namesake.display_name!r}, which is taken"
        raise PeerError(
            "E022",
            f"the name {name!r} {problem}; {_how_to_come_back(namesake)}",
            context,
        )

    def _check_approval(self, application: Application, now: float) -> None:
        """Check last that the operator agrees (E043): agents that could not come in anyway do not apply (R-89)."""
        if self._needs_approval(application) and not self.approvals.is_approved(application):
            self.approvals.apply(application, now)
            raise self.approvals.objection(application)

    def _needs_approval(self, application: Application) -> bool:
        """True if the operator must approve this application (S-26).

        Unless the league is set otherwise, referees register openly on this machine until there are as many as it
        needs, and as long as it has not begun. Later ones show the key, or wait.
        """
        ledger = self._ledger
        settings = ledger.settings
        if settings.enrolment != "guarded" or application.role == "player":
            return settings.enrolment == "approve"
        is_early = ledger.state == "WAITING_FOR_REGISTRATIONS" and ledger.roster.count("referee") < settings.referees
        return not (is_early and self.is_local) and not self._has_key(application)

    def _has_key(self, application: Application) -> bool:
        meta = application.meta
        key = self.context.secrets.get("enrolment_key")
        return isinstance(meta, RefereeMeta) and bool(key) and tokens.same(meta.enrolment_key, key or "")


@dataclass(slots=True)
class RegistrationDesk(ManagerPart):
    """Takes registrations."""

    admission: Admission
    authentication: Authentication
    probes: Probes
    heartbeats: Heartbeats
    assignments: Assignments
    # Two limits, so that nobody without a proof uses up what the agent itself may do.
    proven_renewals: RateLimiter = field(default_factory=lambda: RateLimiter(RENEWALS))
    unproven_renewals: RateLimiter = field(default_factory=lambda: RateLimiter(RENEWALS))

    def register(self, letter: Letter, read: Unsealed, now: float) -> None:
        """Answer an application with ACCEPTED, REJECTED or, if the message is wrong, an error (PeerError)."""
        message = read.message
        if not isinstance(message, RefereeRegisterRequest | LeagueRegisterRequest):
            self._answer_wrong(letter, read, now)
            return
        self.authentication.check_audience(message.auth_token, read, letter.origin, now)
        role: AgentRole = "player"
        meta: PlayerMeta | RefereeMeta
        if isinstance(message, RefereeRegisterRequest):
            role = "referee"
            meta = message.referee_meta
        else:
            meta = message.player_meta
        application = Application(
            role=role,
            meta=meta,
            wanted_id=(message.sender or "").rpartition(":")[2],
            conversation_id=message.conversation_id or NO_CONVERSATION,
            token=message.auth_token,
            origin=letter.origin,
            convention=letter.convention,
            read=read,
        )
        self._consider(letter, application, now)

    def _note(
        self,
        role: AgentRole,
        name: object,
        endpoint: object,
        error: PeerError,
        now: float,
    ) -> None:
        """Tell the operator that somebody wanted to come in and could not."""
        is_applicant = error.code == "E043" and bool(error.context)
        if not is_applicant:  # applicants are on a list of their own
            self.context.refused(
                RequestRefused(
                    at=now,
                    request="registration",
                    role=role,
                    name=str(name or "?")[:LONGEST_NAME],
                    endpoint=str(endpoint or "?")[:LONGEST_NAME],
                    code=error.code,
                    detail=error.detail[:LONGEST_DETAIL],
                )
            )

    def _answer_wrong(self, letter: Letter, read: Unsealed, now: float) -> None:
        error = as_error(read.violations[0])
        role: AgentRole = "referee" if read.message_type == "REFEREE_REGISTER_REQUEST" else "player"
        meta = read.content.get(f"{role}_meta")
        if not isinstance(meta, dict):
            meta = {}
        name = meta.get("display_name") or read.content.get("sender")
        endpoint = meta.get("contact_endpoint") or letter.origin
        self._note(role, name, endpoint, error, now)
        # What is wrong with the agent is a rejection; what is wrong with the message is an error.
        if error.code not in REJECTIONS:
            raise error
        conversation_id = read.content.get("conversation_id")
        if not isinstance(conversation_id, str) or not conversation_id:
            conversation_id = NO_CONVERSATION
        self.context.reply(letter, self._rejected(role, conversation_id, error, now))

    def _consider(
        self,
        letter: Letter,
        application: Application,
        now: float,
        was_probed: bool = False,
    ) -> None:
        try:
            comeback = self.admission.returning(application, now)
            if comeback is None:
                self.admission.check(application, now)
            # A member at its known endpoint was looked up when it first came.
            is_new_endpoint = comeback is None or comeback.moves
            if is_new_endpoint and not was_probed and self._must_probe(application):
                self._probe_first(letter, application, now)
                return
        except PeerError as error:
            self._reject(letter, application, error, now)
            return
        if comeback is None:
            self._enter(letter, application, now)
        else:
            self._renew(letter, comeback, application, now)

    def _reject(
        self,
        letter: Letter,
        application: Application,
        error: PeerError,
        now: float,
    ) -> None:
        self._note(
            application.role,
            application.meta.display_name,
            application.meta.contact_endpoint,
            error,
            now,
        )
        self.context.reply(
            letter,
            self._rejected(application.role, application.conversation_id, error, now),
        )

    def _must_probe(self, application: Application) -> bool:
        return self.context.probes_before_accepting or self.admission.must_look_up(application)

    def _probe_first(self, letter: Letter, application: Application, now: float) -> None:
        """Answer when the endpoint has answered (R-35) or its name was looked up. By then it may be too late.

        The answer does not say why an endpoint is silent: nobody shall find out through us what is behind an address.
        """

        def probed(failure: Failure | None, later: float) -> None:
            # By now somebody else may have taken the place: the application is considered again from the start.
            if failure is Failure.FORBIDDEN:
                self._reject(
                    letter,
                    application,
                    self.admission.forbidden(application),
                    later,
                )
            elif failure is not None and self.context.probes_before_accepting:
                error = PeerError(
                    "E025",
                    f"{application.meta.contact_endpoint} does not answer",
                )
                self._reject(letter, application, error, later)
            else:
                self._consider(letter, application, later, was_probed=True)

        self.probes.probe_stranger(application.meta.contact_endpoint, application.origin, probed, now)

    # --- becoming a member --------------------------------------------------------------------------------------------

    def _enter(self, letter: Letter, application: Application, now: float) -> None:
        meta = application.meta
        agent_id = self._ledger.roster.free_id(application.role, application.wanted_id)
        token = self._mint(agent_id, 1)
        capacity = 1
        if isinstance(meta, RefereeMeta):
            capacity = meta.max_concurrent_matches or 1
        known_as = ""
        if self._is_somebody_else(application.wanted_id, agent_id):
            known_as = application.wanted_id
        self.context.happened(
            AgentRegistered(
                at=now,
                role=application.role,
                agent_id=agent_id,
                display_name=meta.display_name.strip(),
                version=meta.version,
                endpoint=meta.contact_endpoint,
                origin=application.origin,
                game_types=tuple(meta.game_types),
                capacity=capacity,
                serial=1,
                verify=tokens.verifier(token),
                convention=application.convention.value,
                known_as=known_as,
                shows_derived_tokens=_shows_derived_tokens(meta),
                applicant_id=self.admission.approvals.applicant_id(application),
            )
        )
        self._record(agent_id, application, now)
        member = self.context.member(agent_id)
        self._state_conditions(member, application, now)
        self._welcome(member, now)
        self.context.reply(letter, self._accepted(application, token, now))

    def _state_conditions(self, member: Member, application: Application, now: float) -> None:
        """Note how a language model plays for a member, if that is new."""
        meta = application.meta
        conditions = said(Conditions, meta.conditions) if isinstance(meta, PlayerMeta) else None
        if conditions is not None and member.conditions[-1:] != (conditions,):
            self.context.happened(ConditionsStated(at=now, agent_id=member.agent_id, conditions=conditions))

    def _record(self, agent_id: str, application: Application, now: float) -> None:
        """Record how a registration that was taken deviates."""
        deviations = application.read.deviations
        endpoint = application.meta.contact_endpoint
        if self.context.accepts_deviations and not endpoint.partition("://")[2].partition("/")[2]:
            detail = f"the endpoint {endpoint} has no path; /mcp is tried where there is nothing"
            deviations = (
                *deviations,
                Violation(
                    "E003",
                    "contact_endpoint",
                    detail,
                    "HTTP.post_mcp",
                    lenient=True,
                ),
            )
        self.context.record(agent_id, deviations, now)

    def _is_somebody_else(self, wanted_id: str, agent_id: str) -> bool:
        return wanted_id != agent_id and wanted_id in self._ledger.roster.members

    def _welcome(self, member: Member, now: float) -> None:
        """Before the start a new member is probed. One that comes later goes to work at once."""
        if self.context.probes_before_accepting:
            self.probes.alive(member.agent_id)
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self.probes.begin(member.agent_id, now)
        else:
            self.context.change(member, "league_start", now)
            if not member.is_player:
                self.heartbeats.alive(member, now)
                self.heartbeats.greet(member, now)
                self.assignments.came_back(now)

    def _renew(
        self,
        letter: Letter,
        comeback: Comeback,
        application: Application,
        now: float,
    ) -> None:
        member = comeback.member
        limit = self.proven_renewals if comeback.is_proven else self.unproven_renewals
        if not limit.allows(member.agent_id, now):
            raise PeerError(
                "E010",
                "this agent was registered again too often; come again later",
            )
        if comeback.moves:
            self.context.happened(
                AgentMoved(
                    at=now,
                    agent_id=member.agent_id,
                    endpoint=application.meta.contact_endpoint,
                    origin=application.origin,
                )
            )
        if comeback.is_proven:
            self.context.book.learn(member.agent_id, member.endpoint, application.convention, now)
        self._record(member.agent_id, application, now)
        # An approval is good for one registration, which must be a proven one.
        applicant_id = ""
        if comeback.is_proven:
            applicant_id = self.admission.approvals.applicant_id(application)
        serial = max(member.tokens) + 1
        token = self._mint(member.agent_id, serial)
        self.context.happened(
            TokenRenewed(
                at=now,
                agent_id=member.agent_id,
                serial=serial,
                verify=tokens.verifier(token),
                shows_derived_tokens=_shows_derived_tokens(application.meta),
                queries_only=not comeback.is_proven,
                applicant_id=applicant_id,
            )
        )
        # Somebody who only knows a member's name and address may not change how it is said to play.
        if comeback.is_proven:
            self._state_conditions(member, application, now)
        else:
            self.authentication.confirm(member, serial, application.origin)
        self._welcome_back(member, now)
        self.context.reply(letter, self._accepted(application, token, now))

    def _welcome_back(self, member: Member, now: float) -> None:
        """Before the start it is probed again. Later a player's referees show it the new token, and a referee goes to
        work."""
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self.probes.begin(member.agent_id, now)
        elif member.is_player:
            self.assignments.show_new_token(member, now)
        else:
            self.heartbeats.alive(member, now)
            self.assignments.habits.proved(member.agent_id)
            self.assignments.came_back(now)

    def _mint(self, agent_id: str, serial: int) -> str:
        # The token itself is never stored: V in the journal recognises it, K among the secrets derives others.
        token = tokens.mint(agent_id, self.context.chance(32))
        self.context.keep_secret(f"derive/{agent_id}/{serial}", tokens.deriver(token))
        return token

    # --- answers ------------------------------------------------------------------------------------------------------

    def _accepted(self, application: Application, token: str, now: float) -> RegisterResponse:
        owner = self._ledger.roster.owner(token)
        assert owner is not None, "a token that was just minted has an owner"
        member, _ = owner
        fields: dict[str, Any] = {
            **seal(tokens.MANAGER, now, application.conversation_id, token),
            "status": "ACCEPTED",
            "reason": None,
            "league_id": self._ledger.settings.league_id,
            "token_scheme": TOKEN_SCHEME,
        }
        return _response(application.role, member.agent_id, fields)

    def _rejected(
        self,
        role: AgentRole,
        conversation_id: str,
        error: PeerError,
        now: float,
    ) -> RegisterResponse:
        message_type = "REFEREE_REGISTER_REQUEST" if role == "referee" else "LEAGUE_REGISTER_REQUEST"
        fields: dict[str, Any] = {
            **seal(tokens.MANAGER, now, conversation_id),
            "status": "REJECTED",
            "reason": error.detail,
            "league_id": self._ledger.settings.league_id,
            "error_code": error.code,
            "error_name": error.row.name,
            "rpc_code": error.row.number(EXCHANGES[message_type].family),
            "context": dict(error.context),
        }
        return _response(role, None, fields)


def _response(role: AgentRole, agent_id: str | None, fields: dict[str, Any]) -> RegisterResponse:
    """Any: the envelope as `seal` gives it."""
    if role == "referee":
        return RefereeRegisterResponse(**fields, referee_id=agent_id)
    return LeagueRegisterResponse(**fields, player_id=agent_id)


def _how_to_come_back(member: Member) -> str:
    """Tell an applicant with the name of a member how to come back as that member."""
    return (
        f"this name is that of {member.agent_id}, at {member.endpoint}: to come back as {member.agent_id}, "
        "start again at that endpoint, or with the journal that holds its token"
    )


def _shows_derived_tokens(meta: PlayerMeta | RefereeMeta) -> bool:
    """True if a referee promises to show players the tokens of its assignments."""
    return isinstance(meta, RefereeMeta) and meta.token_scheme == TOKEN_SCHEME
