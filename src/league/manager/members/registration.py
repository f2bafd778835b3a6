"""Registering: who may become a member, in the order of section 10.3; agents that come back; ids and tokens.

A registration ends in one of four ways. A new agent becomes a member; a member that comes back gets another token; the
application is refused with status REJECTED (R-19); or the message itself is wrong, which is an error. A member that
comes back without a proof gets a token for queries only, and can change nothing about the member (S-25).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from msgspec import structs

from league.calling.delivery import Delivery, Ending, Policy
from league.calling.rate_limit import Rate, RateLimiter
from league.events import (
    AgentMoved,
    AgentRegistered,
    AgentRole,
    ConditionsStated,
    TokenRenewed,
)
from league.machine import Failure, Letter, Ping
from league.manager.fairness.draws import SharedDraws
from league.manager.manager_context import ManagerPart
from league.manager.members import names
from league.manager.members.approval import Application, Approvals
from league.manager.members.authentication import Authentication
from league.manager.members.probes import Probes, StrangerProbe
from league.manager.staffing.assignments import Assignments
from league.manager.staffing.leases import Leases
from league.manager.state.roster import Member, folded
from league.protocol.endpoints import EndpointPolicy, parse
from league.protocol.errors import REJECTIONS, PeerError, Violation, as_error
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.experiment import Conditions, said
from league.protocol.message.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RegisterResponse,
)
from league.protocol.message.parts import PlayerMeta, RefereeMeta
from league.protocol.signing import tokens
from league.protocol.signing.keys import is_public_key
from league.protocol.versions import SHARED_DRAWS, SHARED_LAST_DRAWS, TROUBLE

TOKEN_SCHEME = "derived"
NO_CONVERSATION = "conv-register"
LONGEST_NAME = 100
LATE_ROOM = 2
"""With late players a league may become this many times as large as it was meant to be."""
HOLDER = Policy(limit_s=3.0, is_waited_for=False)
"""For the question whether the agent that has a name is there."""
RENEWALS = Rate(per_s=0.5, burst=20)
"""How often an agent may register again. Every time is an event."""


@dataclass(frozen=True, slots=True)
class Comeback:
    """A member that registers again."""

    member: Member
    is_proven: bool
    moves: bool = False
    """True if it has another endpoint than before."""
    is_readmitted: bool = False
    """True if the operator's order is its only proof: its earlier tokens end."""


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
        if not member.name.is_called(application.meta.display_name):
            return None
        owner = self.authentication.owner(application.token)
        is_owner = owner is not None and owner.member is member
        has_token = owner is not None and is_owner and not owner.by_name
        is_readmitted = member.credentials.readmitting and not has_token
        if has_token or is_readmitted or self.has_key(application) or self.approvals.is_approved(application):
            return Comeback(member, is_proven=True, is_readmitted=is_readmitted)
        if member.is_player and (is_owner or application.origin == member.origin):
            return Comeback(member, is_proven=False)
        self._unproven(application, member, now)
        return None

    def _unproven(self, application: Application, member: Member, now: float) -> None:
        """Let the operator decide about somebody who has nothing but a member's name and endpoint."""
        self.approvals.apply(application, now)
        # For a referee the operator must know: whoever takes its place decides matches.
        if not member.is_player:
            detail = f"{application.origin} registered as {member.agent_id}, without its token or the enrolment key"
            self.authentication.contested(member, "unproven", detail, now)
        if not member.is_player or self._ledger.settings.enrolment == "approve":
            raise self.approvals.objection(application)

    def _moving(self, application: Application) -> Comeback | None:
        """Return the member with the same name, at an endpoint that nobody has, that shows a token of full standing or
        that the operator readmits."""
        namesake = self._ledger.roster.with_name(application.role, application.meta.display_name)
        if namesake is not None and namesake.credentials.readmitting:
            is_same_name = folded(namesake.name.display_name) == folded(application.meta.display_name)
            if is_same_name and namesake.takes_part:
                self._check_endpoint(application)
                return Comeback(namesake, is_proven=True, moves=True, is_readmitted=True)
        owner = self.authentication.owner(application.token)
        if owner is None or owner.by_name or owner.member.role != application.role:
            return None
        member = owner.member
        if not member.takes_part or not member.name.is_called(application.meta.display_name):
            return None
        self._check_endpoint(application)
        return Comeback(member, is_proven=True, moves=True)

    def check(self, application: Application, now: float) -> None:
        """Refuse an application of somebody new, in the order of section 10.3."""
        needs_key = application.role == "referee" and self._ledger.settings.enrolment == "key"
        if needs_key and not self.has_key(application):
            remark = self.approvals.key_remark(application)
            raise PeerError("E043", f"referees need the enrolment key of this league{remark}")
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
            remedy = f'add it to "game_types" (in a Python player: games = ("{game_type}",))'
            raise PeerError("E027", f"this league plays {game_type}: {remedy}", games)
        self._check_endpoint(application)
        self._check_name(application.role, meta.display_name)
        if self._ledger.roster.at_endpoint(meta.contact_endpoint) is not None:
            context = {"contact_endpoint": meta.contact_endpoint}
            raise PeerError("E044", "another agent registered this endpoint; use another --port", context)
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
            raise PeerError("E031", "the league is over; ask its operator for the next one")
        if ledger.state == "WAITING_FOR_REGISTRATIONS":
            return
        if application.role == "player":
            if ledger.settings.late == "admit":
                return
            detail = (
                "the league has started and takes nobody late; ask its operator to run the next one with --late admit"
            )
            namesake = ledger.roster.with_name("player", application.meta.display_name)
            if namesake is not None:
                detail = f"{detail}; {_how_to_come_back(namesake)}"
            raise PeerError("E019", detail)
        is_strict = not self.context.accepts_deviations
        if is_strict and any(referee.state == "ACTIVE" for referee in ledger.roster.of_role("referee")):
            raise PeerError("E019", "the league has started, and its referees are alive")

    def _check_room(self, role: AgentRole) -> None:
        count = self._ledger.roster.count(role)
        room = self._ledger.settings.players if role == "player" else self.context.house.max_referees
        if role == "player" and self._ledger.rounds:
            room *= LATE_ROOM
        if count >= room:
            raise PeerError(
                "E020",
                f"all {room} places are taken",
                {f"max_{role}s": room, f"current_{role}s": count},
            )

    def _check_name(self, role: AgentRole, name: str) -> None:
        """Refuse the name of a sender of the protocol, and that of another agent. In `strict` also one that looks like
        another name or like an id (E022, T-07)."""
        context = {
            "display_name": name,
            "suggestion": "Choose a different display_name",
        }
        is_strict = not self.context.accepts_deviations
        reason = names.objection(role, name) if is_strict else None
        if names.is_sender(name):
            reason = "it stands for a sender of the protocol"
        if reason is not None:
            raise PeerError("E022", f"nobody is called {name!r}: {reason}", context)
        if not self.context.house.unique_names:
            return
        namesake = self._ledger.roster.with_name(role, name)
        if namesake is None:
            return
        problem = "is taken"
        if folded(namesake.name.display_name) != folded(name):
            if not is_strict:
                return
            problem = f"looks like {namesake.name.display_name!r}, which is taken"
        raise PeerError(
            "E022",
            f"the name {name!r} {problem}: choose another one (--name); {_how_to_come_back(namesake)}",
            context,
        )

    def holder(self, application: Application) -> Member | None:
        """Return the member that has the very name of a new agent, if the new one may get a number (T-13)."""
        if not self.context.house.unique_names or not self.context.accepts_deviations or application.asked_name:
            return None
        name = application.meta.display_name
        namesake = self._ledger.roster.with_name(application.role, name)
        if namesake is None or folded(namesake.name.display_name) != folded(name):
            return None
        return namesake

    def _check_approval(self, application: Application, now: float) -> None:
        """Check last that the operator agrees (E043): agents that could not come in anyway do not apply (R-89)."""
        if self._needs_approval(application) and not self.approvals.is_approved(application):
            self.approvals.apply(application, now)
            raise self.approvals.objection(application)

    def _needs_approval(self, application: Application) -> bool:
        """True if the operator must approve this application (S-26).

        Unless the league is set otherwise, referees register openly on this machine until the league starts, as many
        as its settings allow. Others show the key, or wait.
        """
        ledger = self._ledger
        settings = ledger.settings
        if settings.enrolment != "guarded" or application.role == "player":
            return settings.enrolment == "approve"
        room = self.context.house.open_referees
        if room is None:
            room = settings.referees
        is_early = ledger.state == "WAITING_FOR_REGISTRATIONS" and ledger.roster.count("referee") < room
        return not (is_early and self.is_local) and not self.has_key(application)

    def came_openly(self, application: Application) -> bool:
        """True for a referee that neither shows the enrolment key nor was approved by the operator."""
        if application.role != "referee" or self.has_key(application):
            return False
        return not self.approvals.is_approved(application)

    def has_key(self, application: Application) -> bool:
        meta = application.meta
        key = self.context.secrets.get("enrolment_key")
        return isinstance(meta, RefereeMeta) and bool(key) and tokens.same(meta.enrolment_key, key or "")


@dataclass(slots=True)
class RegistrationDesk(ManagerPart):
    """Takes registrations."""

    admission: Admission
    authentication: Authentication
    probes: Probes
    leases: Leases
    assignments: Assignments
    draws: SharedDraws
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
                "registration",
                role,
                str(name or "?")[:LONGEST_NAME],
                endpoint=str(endpoint or "?")[:LONGEST_NAME],
                error=error,
                now=now,
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
        probe: StrangerProbe | None = None,
    ) -> None:
        """`probe`: the first probe of the endpoint, once it was made."""
        try:
            comeback = self.admission.returning(application, now)
            if comeback is None:
                self.admission.check(application, now)
            # A member at its known endpoint was looked up when it first came.
            is_new_endpoint = comeback is None or comeback.moves
            if is_new_endpoint and probe is None and self._must_probe(application):
                self._probe_first(letter, application, now)
                return
        except PeerError as error:
            holder = self.admission.holder(application)
            if error.code != "E022" or holder is None:
                self._reject(letter, application, error, now)
            elif self.admission.approvals.is_approved(application):
                self._number(letter, application, now)
            else:
                self._ask_holder(letter, application, holder, error, now)
            return
        if comeback is None:
            self._enter(letter, application, probe, now)
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

    def _ask_holder(
        self,
        letter: Letter,
        application: Application,
        holder: Member,
        error: PeerError,
        now: float,
    ) -> None:
        """Give a new agent a number if the one that has its name is there. If not, it may be the same agent, which lost
        its token: then it is told how to come back."""

        def asked(_: Delivery, outcome: Ending, later: float) -> None:
            if outcome is Ending.FAILED:
                self._reject(letter, application, error, later)
            else:
                self._number(letter, application, later)

        address = partial(self.context.address, holder)
        question = Delivery(holder.agent_id, "holder", Ping(), HOLDER, address, on_end=asked)
        self.context.calls.deliver([question], now)

    def _number(self, letter: Letter, application: Application, now: float) -> None:
        """Consider an application with a number behind its name."""
        name = application.meta.display_name
        meta = structs.replace(application.meta, display_name=self._ledger.roster.free_name(application.role, name))
        self._consider(letter, replace(application, meta=meta, asked_name=name), now)

    def _must_probe(self, application: Application) -> bool:
        must_probe = self.context.probes_before_accepting or self.admission.must_look_up(application)
        # After the start there is nothing to wait for: its matches show how a late agent is spoken to.
        is_early = self._ledger.state == "WAITING_FOR_REGISTRATIONS"
        return must_probe or (is_early and self.probes.are_told)

    def _probe_first(self, letter: Letter, application: Application, now: float) -> None:
        """Answer when the endpoint was probed (R-35, T-11) and its name looked up. By then it may be too late.

        The answer says what the probe found out only to an agent on the address that it names: nobody shall find out
        through us what is behind another one.
        """

        def probed(probe: StrangerProbe, later: float) -> None:
            # By now somebody else may have taken the place: the application is considered again from the start.
            failure = probe.failure
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
                self._consider(letter, application, later, probe)

        self.probes.probe_stranger(
            application.role,
            application.meta.contact_endpoint,
            application.origin,
            probed,
            now,
            tells_early=self.context.accepts_deviations and self._may_be_told(application),
        )

    def _may_be_told(self, application: Application) -> bool:
        """True if the agent speaks from the address at which it wants to be called."""
        ip = parse(application.meta.contact_endpoint).ip
        return ip is not None and str(ip) == application.origin

    # --- becoming a member --------------------------------------------------------------------------------------------

    def _enter(
        self,
        letter: Letter,
        application: Application,
        probe: StrangerProbe | None,
        now: float,
    ) -> None:
        meta = application.meta
        agent_id = self._ledger.roster.free_id(application.role, application.wanted_id)
        token = self._mint(agent_id, 1)
        known_as = ""
        # Agents of ours go by the id that they are given.
        declared = _declared(meta)
        if not declared.get("shows_derived_tokens") and self._is_somebody_else(application.wanted_id, agent_id):
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
                capacity=_capacity(meta),
                serial=1,
                verify=tokens.verifier(token),
                convention=application.convention.value,
                known_as=known_as,
                applicant_id=self.admission.approvals.applicant_id(application),
                came_openly=self.admission.came_openly(application),
                asked_name=application.asked_name,
                **declared,
            )
        )
        self._record(agent_id, application, now)
        member = self.context.member(agent_id)
        self._state_conditions(member, application, now)
        words = _new_name(application)
        if probe is not None and probe.findings is not None:
            words = "; ".join(filter(None, (words, probe.findings.in_words())))
            if probe.failure is None:
                self.probes.alive(agent_id)
                self.probes.found(agent_id, probe.findings, now)
        self._welcome(member, now)
        self.context.reply(letter, self._accepted(application, token, words, now))

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
        member = self.context.member(agent_id)
        if member.name.is_lookalike or member.name.reads_as:
            detail = (
                f"the name {member.name.display_name!r} looks like another name or like an id: it is shown with the id"
            )
            deviation = Violation("E022", "display_name", detail, "REGISTER.name_lookalike", lenient=True)
            deviations = (*deviations, deviation)
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
                self.leases.alive(member, now)
                self.leases.greet(member, now)
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
            self._move(member, application, now)
        if comeback.is_proven:
            self.context.book.learn(member.agent_id, member.endpoint, application.convention, now)
        self._record(member.agent_id, application, now)
        # An approval is good for one registration, which must be a proven one.
        applicant_id = ""
        if comeback.is_proven:
            applicant_id = self.admission.approvals.applicant_id(application)
        serial = max(member.credentials.tokens) + 1
        token = self._mint(member.agent_id, serial)
        self.context.happened(
            TokenRenewed(
                at=now,
                agent_id=member.agent_id,
                serial=serial,
                verify=tokens.verifier(token),
                queries_only=not comeback.is_proven,
                readmitted=comeback.is_readmitted,
                applicant_id=applicant_id,
                shows_key=self.admission.has_key(application),
                **_declared(application.meta),
            )
        )
        # Somebody who only knows a member's name and address may not change how it is said to play.
        if comeback.is_proven:
            self.context.calls.peers[member.agent_id].breaker.succeeded()
            self._state_conditions(member, application, now)
        else:
            self.authentication.confirm(member, serial, application.origin)
        self._welcome_back(member, now)
        findings = self.assignments.findings_about(member)
        key = _public_key(application.meta)
        if key and member.credentials.public_key not in ("", key):
            findings = _OTHER_KEY.format(member.agent_id)
        self.context.reply(letter, self._accepted(application, token, findings, now))

    def _move(self, member: Member, application: Application, now: float) -> None:
        self.context.happened(
            AgentMoved(
                at=now,
                agent_id=member.agent_id,
                endpoint=application.meta.contact_endpoint,
                origin=application.origin,
            )
        )

    def _welcome_back(self, member: Member, now: float) -> None:
        """Before the start it is probed again. Later a player's referees show it the new token, and a referee goes to
        work."""
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self.probes.begin(member.agent_id, now)
        elif member.is_player:
            self.assignments.show_new_token(member, now)
        else:
            self.leases.alive(member, now)
            self.assignments.leases.proved(member.agent_id)
            self.assignments.came_back(now)

    def _mint(self, agent_id: str, serial: int) -> str:
        # The token itself is never stored: V in the journal recognises it, K among the secrets derives others.
        token = tokens.mint(agent_id, self.context.chance(32))
        self.context.keep_secret(f"derive/{agent_id}/{serial}", tokens.deriver(token))
        return token

    # --- answers ------------------------------------------------------------------------------------------------------

    def _accepted(self, application: Application, token: str, findings: str, now: float) -> RegisterResponse:
        owner = self._ledger.roster.owner(token)
        assert owner is not None, "a token that was just minted has an owner"
        member, _ = owner
        fields: dict[str, Any] = {
            **seal(tokens.MANAGER, now, application.conversation_id, token),
            "status": "ACCEPTED",
            "reason": None,
            "league_id": self._ledger.settings.league_id,
            "token_scheme": TOKEN_SCHEME,
            "assignment_digest": self.assignments.seed_digest,
            "manager_key": self._ledger.manager_key,
        }
        if member.as_referee.asks_before_losses:
            fields["trouble"] = TROUBLE
        if self.context.manager_endpoints:
            fields["manager_endpoints"] = list(self.context.manager_endpoints)
        if findings and self._may_be_told(application):
            fields["findings"] = findings
        if getattr(application.meta, "public_key", None) and not _public_key(application.meta):
            fields["findings"] = " ".join(filter(None, (findings, _WRONG_KEY)))
        if self.draws.is_for(member):
            fields["draw_scheme"] = SHARED_DRAWS if member.as_referee.shares_every_draw else SHARED_LAST_DRAWS
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
    """Tell an applicant with the name of a member how to come back as that member, if it is the same player."""
    return (
        f"this name is that of {member.agent_id}, at {member.endpoint}; only if that was you yourself, come back as "
        f"{member.agent_id}: start again at that endpoint or with the journal that holds its token, or ask the "
        f"operator for league readmit {member.agent_id}"
    )


def _new_name(application: Application) -> str:
    """Tell an agent whose name is taken what it is called here."""
    if not application.asked_name:
        return ""
    return f"the name {application.asked_name!r} is taken: you are called {application.meta.display_name!r} here"


def _capacity(meta: PlayerMeta | RefereeMeta) -> int:
    """Return how many matches a referee conducts at a time."""
    if isinstance(meta, RefereeMeta):
        return meta.max_concurrent_matches or 1
    return 1


_OTHER_KEY = (
    "you came back without the journal (--journal) that holds your signing key: your results rest on the referee's "
    "word, unless you start again after the operator's league readmit {}"
)
_WRONG_KEY = "public_key is ignored: write the Ed25519 public key as 64 lower-case hexadecimal digits"


def _public_key(meta: PlayerMeta | RefereeMeta) -> str:
    """Return the key with which a player signs; empty without one that signatures can be checked with."""
    key = meta.public_key if isinstance(meta, PlayerMeta) else None
    return key if key and is_public_key(key) else ""


def _declared(meta: PlayerMeta | RefereeMeta) -> dict[str, Any]:
    """Return what an agent says that it can do, as events have it (Any: spread into one)."""
    if isinstance(meta, PlayerMeta):
        return {"public_key": _public_key(meta)}
    return {
        "shows_derived_tokens": meta.token_scheme == TOKEN_SCHEME,
        "asks_before_losses": meta.trouble == TROUBLE,
        "shares_draws": meta.draw_scheme in (SHARED_DRAWS, SHARED_LAST_DRAWS),
        "shares_every_draw": meta.draw_scheme == SHARED_DRAWS,
    }
