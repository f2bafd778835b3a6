"""Registering: who may become a member, in the order of section 10.3; agents that come back; ids and tokens.

A refusal is a normal answer with status REJECTED (R-19); only what is wrong with the message itself is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from league.calling.rate_limit import Rate, RateLimiter
from league.events import AgentMoved, AgentRegistered, AgentRole, ConditionsStated, RequestRefused, TokenRenewed
from league.machine import Failure, Letter
from league.manager import names
from league.manager.approval import Application, Approvals
from league.manager.assignments import Assignments
from league.manager.authentication import Authentication
from league.manager.context import LONGEST_DETAIL, ManagerPart
from league.manager.heartbeats import Heartbeats, Probes
from league.manager.roster import Member, folded
from league.protocol import tokens
from league.protocol.endpoints import EndpointPolicy, parse
from league.protocol.envelope import Unsealed
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
"""With late players a league may become so many times as large as it was meant to be."""
RENEWALS = Rate(per_s=0.5, burst=20)
"""How often an agent may register again: every time is an event."""


@dataclass(frozen=True, slots=True)
class Comeback:
    """A member that registers again. Without a proof it gets a token for queries only (S-25)."""

    member: Member
    is_proven: bool
    moves: bool = False
    """It lives elsewhere than before."""


@dataclass(slots=True)
class Admission(ManagerPart):
    """Who may become a member; PeerError says why not. `is_local`: we listen to this machine alone."""

    endpoints: EndpointPolicy
    is_local: bool
    authentication: Authentication
    approvals: Approvals

    def returning(self, application: Application, now: float) -> Comeback | None:
        """S-25: the same name and endpoint. What proves it is a token of full standing, the enrolment key or the
        operator's approval; a player without any of them may come back from the same address."""
        member = self._ledger.roster.at_endpoint(application.meta.contact_endpoint)
        if member is None:
            return self._moving(application)
        if member.role != application.role:
            return None
        if folded(member.display_name) != folded(application.meta.display_name):
            return None
        shown = self.authentication.owner(application.token)
        is_known = shown is not None and shown.member is member
        has_token = shown is not None and is_known and not shown.by_name
        if has_token or self._has_key(application) or self.approvals.is_approved(application):
            return Comeback(member, is_proven=True)
        if member.is_player and (is_known or application.origin == member.origin):
            return Comeback(member, is_proven=False)
        self.approvals.apply(application, now)
        if not member.is_player:
            detail = f"{application.origin} registered as {member.agent_id}, without its token or the enrolment key"
            self.authentication.contested(member, "unproven", detail, now)
        if not member.is_player or self._ledger.settings.enrolment == "approve":
            raise self.approvals.objection(application)
        return None

    def _moving(self, application: Application) -> Comeback | None:
        """The same name and a token of full standing, at an endpoint that nobody has."""
        shown, meta = self.authentication.owner(application.token), application.meta
        if shown is None or shown.by_name or shown.member.role != application.role:
            return None
        member = shown.member
        if not member.takes_part or folded(member.display_name) != folded(meta.display_name):
            return None
        self._check_endpoint(application)
        return Comeback(member, is_proven=True, moves=True)

    def check(self, application: Application, now: float) -> None:
        """May somebody new come in? In the order of section 10.3."""
        needs_key = application.role == "referee" and self._ledger.settings.enrolment == "key"
        if needs_key and not self._has_key(application):
            raise PeerError("E043", "referees need the enrolment key of this league")
        self._check_time(application)
        self._check_room(application.role)
        meta, settings = application.meta, self._ledger.settings
        if settings.game_type not in meta.game_types:
            offered: list[str] = list(meta.game_types)[:10]
            games = {"supported_game_types": [settings.game_type], "game_types": offered}
            raise PeerError("E027", f"this league plays {settings.game_type}", games)
        self._check_endpoint(application)
        self._check_name(application.role, meta.display_name)
        if self._ledger.roster.at_endpoint(meta.contact_endpoint) is not None:
            context = {"contact_endpoint": meta.contact_endpoint}
            raise PeerError("E044", "another agent registered this endpoint", context)
        self._check_approval(application, now)

    def forbidden(self, application: Application, objection: str = "") -> PeerError:
        """E026. What a name leads to is not told: who asks may not be able to find that out."""
        endpoint = application.meta.contact_endpoint
        unsaid = f"{endpoint} does not lead to where you speak from ({application.origin}): register that address"
        return PeerError("E026", objection or unsaid, {"contact_endpoint": endpoint})

    def must_look_up(self, application: Application) -> bool:
        """Does the policy depend on what the name of its endpoint leads to?"""
        return self.endpoints.must_look_up(parse(application.meta.contact_endpoint))

    def _check_endpoint(self, application: Application) -> None:
        if objection := self.endpoints.objection(parse(application.meta.contact_endpoint), application.origin):
            raise self.forbidden(application, objection)

    def _check_time(self, application: Application) -> None:
        ledger, role = self._ledger, application.role
        if ledger.is_finished:
            raise PeerError("E031", "the league is over")
        if ledger.state == "WAITING_FOR_REGISTRATIONS":
            return
        if role == "player" and ledger.settings.late == "admit":
            return
        if role == "player":
            known = ledger.roster.with_name(role, application.meta.display_name)
            hint = f"; {_known_as(known)}" if known is not None else ""
            raise PeerError("E019", f"the league has started{hint}")
        closed = not ledger.settings.late_referees or not self.context.accepts_deviations
        if closed and any(one.state == "ACTIVE" for one in ledger.roster.of_role("referee")):
            raise PeerError("E019", "the league has started, and its referees are alive")

    def _check_room(self, role: AgentRole) -> None:
        settings, there = self._ledger.settings, self._ledger.roster.count(role)
        room = settings.players if role == "player" else settings.max_referees
        if role == "player" and self._ledger.rounds:
            room *= LATE_ROOM
        if there >= room:
            raise PeerError("E020", f"all {room} places are taken", {f"max_{role}s": room, f"current_{role}s": there})

    def _check_name(self, role: AgentRole, name: str) -> None:
        """E022: nobody poses as somebody else (S-31)."""
        context = {"display_name": name, "suggestion": "Choose a different display_name"}
        if why := names.reserved(role, name):
            raise PeerError("E022", f"nobody is called {name!r}: {why}", context)
        taken = self._ledger.roster.with_name(role, name) if self._ledger.settings.unique_names else None
        if taken is not None:
            is_same = folded(taken.display_name) == folded(name)
            how = "is taken" if is_same else f"looks like {taken.display_name!r}, which is taken"
            raise PeerError("E022", f"the name {name!r} {how}; {_known_as(taken)}", context)

    def _check_approval(self, application: Application, now: float) -> None:
        """E043 again, as the last of all: who could not come in anyway is told so, and is no applicant (R-89)."""
        if self._needs_approval(application) and not self.approvals.is_approved(application):
            self.approvals.apply(application, now)
            raise self.approvals.objection(application)

    def _needs_approval(self, application: Application) -> bool:
        """S-26: unless the league is set otherwise, referees register openly on this machine until there are as many as
        it needs, and as long as it has not begun. Later ones show the key, or wait."""
        settings, ledger = self._ledger.settings, self._ledger
        if settings.enrolment != "guarded" or application.role == "player":
            return settings.enrolment == "approve"
        is_early = ledger.state == "WAITING_FOR_REGISTRATIONS" and ledger.roster.count("referee") < settings.referees
        return not (is_early and self.is_local) and not self._has_key(application)

    def _has_key(self, application: Application) -> bool:
        meta, key = application.meta, self.context.secrets.get("enrolment_key")
        return isinstance(meta, RefereeMeta) and bool(key) and tokens.same(meta.enrolment_key, key or "")


@dataclass(slots=True)
class RegistrationDesk(ManagerPart):
    """Takes registrations."""

    admission: Admission
    authentication: Authentication
    probes: Probes
    heartbeats: Heartbeats
    assignments: Assignments
    renewals: RateLimiter = field(default_factory=lambda: RateLimiter(RENEWALS))

    def register(self, letter: Letter, read: Unsealed, now: float) -> None:
        """Answer an application: ACCEPTED, REJECTED or, for a message that is wrong, an error (PeerError)."""
        message = read.message
        if not isinstance(message, RefereeRegisterRequest | LeagueRegisterRequest):
            self._answer_wrong(letter, read, now)
            return
        self.authentication.check_audience(message.auth_token, read, letter.origin, now)
        is_referee = isinstance(message, RefereeRegisterRequest)
        application = Application(
            role="referee" if is_referee else "player",
            meta=message.referee_meta if isinstance(message, RefereeRegisterRequest) else message.player_meta,
            wanted_id=(message.sender or "").rpartition(":")[2],
            conversation_id=message.conversation_id or NO_CONVERSATION,
            token=message.auth_token,
            origin=letter.origin,
            convention=letter.convention,
            read=read,
        )
        self._consider(letter, application, now)

    def _note(self, role: AgentRole, name: object, endpoint: object, error: PeerError, now: float) -> None:
        """For the operator: somebody wanted to come in and could not."""
        is_applicant = error.code == "E043" and bool(error.context)  # it is on a list of its own
        if not is_applicant:
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
        kind: AgentRole = "referee" if read.message_type == "REFEREE_REGISTER_REQUEST" else "player"
        meta = read.content.get(f"{kind}_meta")
        fields = meta if isinstance(meta, dict) else {}
        name, endpoint = fields.get("display_name") or read.content.get("sender"), fields.get("contact_endpoint")
        self._note(kind, name, endpoint or letter.origin, error, now)
        if error.code not in REJECTIONS:
            raise error
        conversation_id = read.content.get("conversation_id")
        known = conversation_id if isinstance(conversation_id, str) and conversation_id else NO_CONVERSATION
        self.context.reply(letter, self._rejected(kind, known, error, now))

    def _consider(self, letter: Letter, application: Application, now: float, was_probed: bool = False) -> None:
        try:
            comeback = self.admission.returning(application, now)
            if comeback is None:
                self.admission.check(application, now)
            is_new_endpoint = comeback is None or comeback.moves
            if is_new_endpoint and not was_probed and self._must_probe(application):
                self._probe_first(letter, application, now)
                return
        except PeerError as error:
            self._reject(letter, application, error, now)
            return
        token = self._enter(application, now) if comeback is None else self._renew(comeback, application, now)
        self.context.reply(letter, self._accepted(application, token, now))

    def _reject(self, letter: Letter, application: Application, error: PeerError, now: float) -> None:
        self._note(application.role, application.meta.display_name, application.meta.contact_endpoint, error, now)
        self.context.reply(letter, self._rejected(application.role, application.conversation_id, error, now))

    def _must_probe(self, application: Application) -> bool:
        return self.context.probes_before_accepting or self.admission.must_look_up(application)

    def _probe_first(self, letter: Letter, application: Application, now: float) -> None:
        """The answer waits until the endpoint has answered (R-35), or its name was looked up; by then it may be too
        late. Why an endpoint does not answer is not told: nobody shall find out by us what is behind an address."""

        def probed(failure: Failure | None, later: float) -> None:
            if failure is Failure.FORBIDDEN:
                self._reject(letter, application, self.admission.forbidden(application), later)
            elif failure is not None and self.context.probes_before_accepting:
                error = PeerError("E025", f"{application.meta.contact_endpoint} does not answer")
                self._reject(letter, application, error, later)
            else:
                self._consider(letter, application, later, was_probed=True)

        self.probes.probe_stranger(application.meta.contact_endpoint, application.origin, probed, now)

    # --- becoming a member --------------------------------------------------------------------------------------------

    def _enter(self, application: Application, now: float) -> str:
        meta = application.meta
        agent_id = self._ledger.roster.free_id(application.role, application.wanted_id)
        token = self._mint(agent_id, 1)
        capacity = meta.max_concurrent_matches if isinstance(meta, RefereeMeta) else None
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
                capacity=capacity or 1,
                serial=1,
                verify=tokens.verifier(token),
                convention=application.convention.value,
                known_as=application.wanted_id if self._is_somebody_else(application.wanted_id, agent_id) else "",
                shows_derived_tokens=_shows_derived_tokens(meta),
                applicant_id=self.admission.approvals.applicant_id(application),
            )
        )
        self._record(agent_id, application, now)
        member = self.context.member(agent_id)
        self._state_conditions(member, application, now)
        self._welcome(member, now)
        return token

    def _state_conditions(self, member: Member, application: Application, now: float) -> None:
        """How a language model plays for it, if that is new. Who only knows its name and address cannot change it."""
        stated = said(Conditions, application.meta.conditions) if isinstance(application.meta, PlayerMeta) else None
        if stated is not None and member.conditions[-1:] != (stated,):
            self.context.happened(ConditionsStated(at=now, agent_id=member.agent_id, conditions=stated))

    def _record(self, agent_id: str, application: Application, now: float) -> None:
        """How a registration that was taken deviates."""
        deviations = application.read.deviations
        endpoint = application.meta.contact_endpoint
        if self.context.accepts_deviations and not endpoint.partition("://")[2].partition("/")[2]:
            detail = f"the endpoint {endpoint} has no path; /mcp is tried where there is nothing"
            deviations = (*deviations, Violation("E003", "contact_endpoint", detail, "HTTP.post_mcp", lenient=True))
        self.context.record(agent_id, deviations, now)

    def _is_somebody_else(self, wanted_id: str, agent_id: str) -> bool:
        return wanted_id != agent_id and wanted_id in self._ledger.roster.members

    def _welcome(self, member: Member, now: float) -> None:
        """Before the start a new member is probed; who comes later goes to work at once."""
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

    def _renew(self, comeback: Comeback, application: Application, now: float) -> str:
        member = comeback.member
        # Each kind for itself: nobody uses up what the agent itself may do.
        if not self.renewals.allows(member.agent_id + "?" * (not comeback.is_proven), now):
            raise PeerError("E010", "this agent was registered again too often; come again later")
        if comeback.moves:
            about = {"endpoint": application.meta.contact_endpoint, "origin": application.origin}
            self.context.happened(AgentMoved(at=now, agent_id=member.agent_id, **about))
        if comeback.is_proven:
            self.context.book.learn(member.agent_id, member.endpoint, application.convention, now)
        self._record(member.agent_id, application, now)
        serial = member.newest_serial + 1
        token = self._mint(member.agent_id, serial)
        self.context.happened(
            TokenRenewed(
                at=now,
                agent_id=member.agent_id,
                serial=serial,
                verify=tokens.verifier(token),
                shows_derived_tokens=_shows_derived_tokens(application.meta),
                queries_only=not comeback.is_proven,
                applicant_id=self.admission.approvals.applicant_id(application) if comeback.is_proven else "",
            )
        )
        if comeback.is_proven:
            self._state_conditions(member, application, now)
        else:
            self.authentication.confirm(member, serial, application.origin)
        self._welcome_back(member, now)
        return token

    def _welcome_back(self, member: Member, now: float) -> None:
        """Before the start it is probed again; later a player's referees show it the new token, and a referee goes to
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
        token = tokens.mint(agent_id, self.context.chance(32))
        self.context.keep_secret(f"derive/{agent_id}/{serial}", tokens.deriver(token))
        return token

    # --- answers ------------------------------------------------------------------------------------------------------

    def _accepted(self, application: Application, token: str, now: float) -> RegisterResponse:
        owner = self._ledger.roster.owner(token)
        assert owner is not None, "a token that was just minted has an owner"
        fields: dict[str, Any] = {
            **self.context.sealed(now, application.conversation_id, token),
            "status": "ACCEPTED",
            "reason": None,
            "league_id": self.context.league_id,
            "token_scheme": TOKEN_SCHEME,
        }
        return _response(application.role, owner[0].agent_id, fields)

    def _rejected(self, role: AgentRole, conversation_id: str, error: PeerError, now: float) -> RegisterResponse:
        kind = "REFEREE_REGISTER_REQUEST" if role == "referee" else "LEAGUE_REGISTER_REQUEST"
        fields: dict[str, Any] = {
            **self.context.sealed(now, conversation_id),
            "status": "REJECTED",
            "reason": error.detail,
            "league_id": self.context.league_id,
            "error_code": error.code,
            "error_name": error.row.name,
            "rpc_code": error.row.number(EXCHANGES[kind].family),
            "context": dict(error.context),
        }
        return _response(role, None, fields)


def _response(role: AgentRole, agent_id: str | None, fields: dict[str, Any]) -> RegisterResponse:
    """Any: the envelope as `seal` gives it."""
    if role == "referee":
        return RefereeRegisterResponse(**fields, referee_id=agent_id)
    return LeagueRegisterResponse(**fields, player_id=agent_id)


def _known_as(member: Member) -> str:
    """For somebody with a name that is known: who has it, and how to come back."""
    return (
        f"this name is that of {member.agent_id}, at {member.endpoint}: to come back as {member.agent_id}, "
        "start again at that endpoint, or with the journal that holds its token"
    )


def _shows_derived_tokens(meta: PlayerMeta | RefereeMeta) -> bool:
    """Does a referee promise to show players the tokens of its assignments?"""
    return isinstance(meta, RefereeMeta) and meta.token_scheme == TOKEN_SCHEME
