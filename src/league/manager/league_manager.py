"""The League Manager: one machine made of parts that share a ledger.

Each request goes to the part it concerns (`AgentRequests`). Every step ends the same way (`_conclude`): the
league goes on as far as it can, and members are sent what they need to know. The path of a report,
from its arrival to the table that goes out, is told in season/scoring.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from league.calling.delivery import Delivery, is_refusal
from league.calling.line import Book, OpenBook
from league.calling.role import RoleMachine
from league.events import (
    Event,
    LeagueCreated,
    LeagueState,
    MatchLost,
    RequestRefused,
    ResultAccepted,
    SettingsChanged,
    WalkoverDecided,
)
from league.games import registry
from league.games.draw import SEED_BYTES
from league.machine import (
    Acknowledged,
    Blame,
    Chance,
    Content,
    Inquiry,
    Letter,
    MatchNews,
    Operate,
    Ping,
    Pong,
    Step,
    Undelivered,
)
from league.manager.fairness.draws import SharedDraws
from league.manager.fairness.patience import Patience
from league.manager.fairness.proofs import Proofs
from league.manager.manager_context import ManagerContext, ManagerPart, RosterConventions
from league.manager.members.approval import Approvals
from league.manager.members.authentication import Authenticated, Authentication
from league.manager.members.probes import Probes
from league.manager.members.registration import Admission, RegistrationDesk
from league.manager.members.secret_rotation import ADMIN_TOKEN, OPERATOR, is_retired
from league.manager.orders import OperatorOrders
from league.manager.season.address_reports import AddressReports
from league.manager.season.rounds import Rounds
from league.manager.season.scoring import Scorekeeper
from league.manager.season.standings import TIEBREAKERS
from league.manager.staffing.assignments import ASSIGNMENT_SEED, Assignments
from league.manager.staffing.dispatch import (
    Dispatches,
    Giving,
)
from league.manager.staffing.leases import MOST_NAMED, Leases
from league.manager.state.ledger import APPLY, Ledger
from league.manager.state.roster import Member
from league.manager.telling.broadcasts import Broadcasts
from league.manager.telling.live import LiveMatches
from league.manager.telling.manager_messages import Messages, table
from league.manager.telling.queries import LeagueQueries
from league.protocol.endpoints import EndpointPolicy
from league.protocol.errors import PeerError, as_error
from league.protocol.message.envelope import Unsealed
from league.protocol.message.findings import Findings
from league.protocol.message.parts import StandingsRow
from league.protocol.signing import tokens
from league.protocol.signing.keys import SECRET_BYTES, SIGNING_SECRET, SigningKey, signing_key
from league.settings import HOUSE, HouseRules, LeagueSettings

READABLE = (Unsealed, Acknowledged)
"""Answers that may deviate from the documents."""
FROM_MEMBERS = frozenset({"MATCH_RESULT_REPORT", "LEAGUE_QUERY", "DRAW_REQUEST", "MATCH_TROUBLE"})
"""The messages that members send us, registrations aside."""
LEAVING_PLAY = (ResultAccepted, WalkoverDecided, MatchLost)
"""The events by which a match is nobody's to play any more: its dispatch and its lease end with them."""
REGISTRATIONS = frozenset({"REFEREE_REGISTER_REQUEST", "LEAGUE_REGISTER_REQUEST"})


@dataclass(slots=True)
class SignsOfLife(ManagerPart):
    """Notices which members are there, by what they send and by how they answer."""

    authentication: Authentication
    probes: Probes
    leases: Leases
    patience: Patience

    def heard(self, member: Member, now: float) -> None:
        """A member asked or answered something, so it is there."""
        if not self.context.is_awake:
            return
        breaker = self.context.calls.peers[member.agent_id].breaker
        if breaker.failing_since is not None:
            breaker.succeeded()
        self.patience.silent.discard(member.agent_id)
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self.probes.alive(member.agent_id)
        if member.role == "referee":
            self.leases.alive(member, now)

    def call_answered(self, delivery: Delivery, now: float) -> None:
        """A call was answered. A suspended player that acknowledges a broadcast is ACTIVE again (R-51)."""
        answer = delivery.answer
        member = self._ledger.roster.members.get(delivery.peer)
        if member is None:
            return
        if isinstance(answer, READABLE):
            if answer.deviations:
                self.context.record(member.agent_id, answer.deviations, now)
            # A league that trusts addresses must know which referees can prove themselves, and every league which
            # players have the token that they are held to.
            is_trusting = self._ledger.settings.trust == "class" and member.role == "referee"
            if (member.credentials.public_key or is_trusting) and isinstance(answer, Unsealed):
                self.authentication.acknowledged(member, answer)
        elif _lists_matches(answer):
            self.leases.listed_matches(member.agent_id, answer.is_live if isinstance(answer, Pong) else None)
        self.heard(member, now)
        if member.state == "SUSPENDED" and member.role == "player" and self._ledger.is_running:
            # An answer to a call from before the suspension says nothing about the time since.
            is_acknowledged = answer is not None and not is_refusal(answer) and not isinstance(delivery.message, Ping)
            if is_acknowledged and member.attendance.suspended_at <= delivery.attempt.sent_at:
                self.context.change(member, "recover", now)

    def call_failed(self, failed: Undelivered, now: float) -> None:
        # A call that failed by our own fault means that this process stood still.
        if failed.blame is Blame.LOCAL:
            self.leases.slept(now)


@dataclass(slots=True)
class AgentRequests(ManagerPart):
    """Takes the messages and inquiries of agents to the part that they concern."""

    signs_of_life: SignsOfLife
    authentication: Authentication
    registration: RegistrationDesk
    queries: LeagueQueries
    draws: SharedDraws
    patience: Patience
    scoring: Scorekeeper
    address_reports: AddressReports

    def take_message(self, letter: Letter, read: Unsealed, now: float) -> None:
        """Take a message. PeerError refuses it."""
        if read.message_type in REGISTRATIONS:
            self.registration.register(letter, read, now)
            return
        sender = self._authenticated(letter, read, now)
        # A report without a token was dealt with already.
        if sender is None:
            return
        member = sender.member
        # A token that proves nothing is no sign of life of its owner either.
        if not sender.by_name:
            self.signs_of_life.heard(member, now)
        if read.message_type == "LEAGUE_QUERY":
            self.context.reply(letter, self.queries.answer(read, sender, now))
        elif read.message_type == "DRAW_REQUEST":
            self.draws.answer_request(letter, read, member, now)
        elif read.message_type == "MATCH_TROUBLE":
            self.patience.take_trouble(letter, read, member, now)
        else:
            self.scoring.take_report(letter, read, member, now)

    def _authenticated(self, letter: Letter, read: Unsealed, now: float) -> Authenticated | None:
        """Return the sender of a request; None for a report without a token that the league takes by its address."""
        if read.message_type not in FROM_MEMBERS:
            if read.violations:
                raise as_error(read.violations[0])
            raise PeerError("E036", f"a manager does not take {read.message_type}")
        try:
            return self.authentication.authenticate(read, letter.origin, now)
        except PeerError as error:
            if read.message_type != "MATCH_RESULT_REPORT":
                raise
            try:
                self.address_reports.take_report(letter, read, error, now)
            except PeerError as refusal:
                self.scoring.refused_unproven(refusal, read, letter.origin, now)
                raise
        return None

    def inform(self, letter: Letter, inquiry: Inquiry, now: float) -> None:
        member = self.queries.sender_of(inquiry, now)
        if member is not None:
            self.signs_of_life.heard(member, now)
        self.context.reply(letter, self.queries.inform(member, now))


class LeagueManager(RoleMachine):
    """The machine of the league.

    `endpoints` says where agents may be. `operator` is V of the operator's token; it is kept as a secret so that the
    journal knows whom it obeys. `kept_secrets` are others that the journal must hold. `manager_endpoints` are this
    manager's and those of its standbys. `is_local` is true if we listen
    to this machine alone. `ledger` is a state to go on from instead of an empty one. `open_book` and `open_giving` are
    the gateway to third-party agents; without them everybody is spoken to by the documents. Everything else about a
    league is in its settings.
    """

    def __init__(
        self,
        settings: LeagueSettings,
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
        *,
        endpoints: EndpointPolicy | None = None,
        operator: str = "",
        kept_secrets: Mapping[str, str] | None = None,
        manager_endpoints: Sequence[str] = (),
        house: HouseRules = HOUSE,
        is_local: bool = True,
        ledger: Ledger | None = None,
        open_book: OpenBook = Book,
        open_giving: Callable[[Dispatches], Giving] = Giving,
    ) -> None:
        super().__init__(chance, secrets)
        if registry.find(settings.game_type) is None:
            raise ValueError(registry.why_unknown(settings.game_type))
        unknown = set(settings.tiebreakers) - TIEBREAKERS
        if unknown:
            raise ValueError(
                f"no tiebreakers: {', '.join(sorted(unknown))}; there are {', '.join(sorted(TIEBREAKERS))}"
            )
        self._ledger = ledger or Ledger(settings)
        self._chosen_settings = settings
        self._kept_secrets = {**(kept_secrets or {})}
        if operator:
            self._kept_secrets[OPERATOR] = operator
        conventions = RosterConventions(self._ledger)
        book = open_book(
            self._happened,
            lambda: self._ledger.settings.profile == "strict",
            conventions,
        )
        self._context = self._new_context(book, manager_endpoints, house)
        self._build(endpoints or EndpointPolicy(), is_local, open_giving)

    def _build(
        self,
        endpoints: EndpointPolicy,
        is_local: bool,
        open_giving: Callable[[Dispatches], Giving],
    ) -> None:
        context = self._context
        messages = Messages(context)
        broadcasts = self._make_broadcasts(context, messages)
        leases = Leases(context)
        dispatches = Dispatches(context, messages, leases, open_giving)
        proofs = Proofs(context)
        draws = SharedDraws(context, proofs)
        assignments = Assignments(context, dispatches, leases, draws)
        probes = Probes(context, leases)
        rounds = self._make_rounds(context, broadcasts, probes, assignments, leases, proofs)
        authentication = Authentication(context, broadcasts, assignments.show_new_token)
        admission = Admission(context, endpoints, is_local, authentication, Approvals(context))
        registration = RegistrationDesk(
            context, admission, authentication, probes=probes, leases=leases, assignments=assignments, draws=draws
        )
        patience = Patience(context, assignments, authentication.has_shown_token)
        scoring = Scorekeeper(
            context, assignments, dispatches, leases=leases, patience=patience, proofs=proofs, draws=draws
        )
        address_reports = AddressReports(context, scoring, leases, authentication.has_shown_token)
        queries = LeagueQueries(context, authentication, messages, dispatches)
        self._assignments = assignments
        self._leases = leases
        self.live = LiveMatches(context, leases)
        """What is to be seen of the matches that somebody watches."""
        self._probes = probes
        self._patience = patience
        self._rounds = rounds
        self._broadcasts = broadcasts
        self._scoring = scoring
        self._orders = OperatorOrders(context, rounds, assignments)
        self._requests = AgentRequests(
            context,
            SignsOfLife(context, authentication, probes, leases, patience),
            authentication,
            registration=registration,
            queries=queries,
            draws=draws,
            patience=patience,
            scoring=scoring,
            address_reports=address_reports,
        )
        self._connect()

    def _connect(self) -> None:
        """Let parts that are made earlier reach those that are made later."""
        self._rounds.on_reopened = self._broadcasts.stop_completing
        self._calls.on_answer = self._requests.signs_of_life.call_answered
        self._calls.on_idle = self._broadcasts.look_at

    def _new_context(self, book: Book, manager_endpoints: Sequence[str], house: HouseRules) -> ManagerContext:
        return ManagerContext(
            self._calls,
            self._timers,
            self._secrets,
            chance=self._chance,
            happened=self._happened,
            reply=self._reply,
            keep_secret=self._keep_secret,
            book=book,
            ledger=self._ledger,
            journal_head=lambda: self.journal_head(),
            house=house,
            manager_endpoints=manager_endpoints,
        )

    def _make_broadcasts(self, *parts: Any) -> Broadcasts:
        """For a manager that sends less. Any: the fields of Broadcasts."""
        return Broadcasts(*parts)

    def _make_rounds(self, *parts: Any) -> Rounds:
        """For a manager with a schedule of its own. Any: the fields of Rounds."""
        return Rounds(*parts)

    # --- what others may look at --------------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """Everything that has become true. For reading only."""
        return self._ledger

    def member_behind(self, content: Content) -> str | None:
        if isinstance(content, MatchNews):
            token: object = content.token
        elif isinstance(content, Unsealed):
            token = content.field("auth_token")
        else:
            return None
        owner = self._ledger.roster.owner(token)
        if owner is None:
            return None
        member, _ = owner
        return member.agent_id

    @property
    def sights(self) -> int:
        return self.live.version

    def obeys(self, token: str) -> bool:
        """True if this is the token of the operator."""
        digest = self._secrets.get(OPERATOR)
        return digest is not None and tokens.fits(token, (digest,))

    def secret(self, name: str) -> str:
        """A secret of the league, for the operator's files."""
        return self._secrets[name]

    def obeyed(self, token: str) -> bool:
        """True if this was the token of the operator, until it was replaced."""
        return is_retired(self._secrets, ADMIN_TOKEN, token)

    @property
    def state(self) -> LeagueState:
        return self._ledger.state

    @property
    def is_finished(self) -> bool:
        return self._ledger.is_finished

    @property
    def has_notified_everybody(self) -> bool:
        """True when the league is over and every member got LEAGUE_COMPLETED: the process may end."""
        # The member that was told last is likely to answer last.
        members = reversed(self._ledger.roster.members.values())
        return self.is_finished and not any(member.takes_part for member in members)

    @property
    def waiting(self) -> str | None:
        """What the league waits for, if not for the players of a match: registrations, the operator, many players that
        are gone, a referee, or a report: it is overdue, or the last one was refused."""
        ledger = self._ledger
        reason = None
        if ledger.state == "WAITING_FOR_REGISTRATIONS":
            reason = "WAITING_FOR_REGISTRATIONS"
        elif not ledger.is_running:
            reason = None
        elif ledger.controls.paused:
            reason = "PAUSED"
        elif self._patience.is_waiting:
            reason = "WAITING_FOR_PLAYERS"
        elif ledger.in_play.parked:
            reason = "WAITING_FOR_OPERATOR"
        elif not any(referee.state == "ACTIVE" for referee in ledger.roster.of_role("referee")):
            reason = "WAITING_FOR_REFEREE"
        elif self.refused_reports or self._leases.late():
            reason = "WAITING_FOR_REPORT"
        return reason

    @property
    def waiting_reason(self) -> str | None:
        """Why the league waits for players or for a report, if it does."""
        if not self._ledger.is_running:
            return None
        if self.waiting != "WAITING_FOR_REPORT":
            return self._patience.reason
        reasons = []
        refusals = [f"{refusal.match_id}: {refusal.code} {refusal.detail}" for refusal in self.refused_reports]
        if refusals:
            reasons.append(f"a report was refused ({'; '.join(refusals[:MOST_NAMED])})")
        late = self._leases.late()
        for referee_id, matches in late.items():
            reasons.append(f"{referee_id} {self._leases.lateness(matches)}")
        if late and len(self._assignments.available()) == 1:
            reasons.append("no other referee could play what it holds")
        return "; ".join(reasons)

    def findings_about(self, member: Member) -> str:
        """Return what was found out about a member, in words."""
        return self._assignments.findings_about(member)

    @property
    def refused_reports(self) -> list[RequestRefused]:
        """The refused reports of matches that are being played, for each match the newest."""
        newest = {}
        for refusal in self._ledger.irregularities.refusals:
            match = self._ledger.matches.get(refusal.match_id)
            is_played = match is not None and match.status == "ASSIGNED" and match.attempt == refusal.attempt
            if is_played and refusal.request == "report":
                newest[refusal.match_id] = refusal
        return list(newest.values())

    def not_answering(self) -> Mapping[str, float]:
        """Return the members that did not answer our last calls, and since when. A manager that was just started does
        not know yet."""
        failing = {}
        for member in self._ledger.roster.members.values():
            since = self._calls.peers[member.agent_id].breaker.failing_since
            if since is not None and member.takes_part:
                failing[member.agent_id] = since
        return failing

    @property
    def probe_failures(self) -> Mapping[str, str]:
        """Before the start, the members that did not answer their last probe, and why."""
        return self._probes.failures

    def speechless(self, agent_id: str = "") -> list[tuple[Member, Member]]:
        """The referees and players that share no calling convention; with an id, only the pairs that it is part of."""
        return self._assignments.speechless(self._ledger.roster.members.get(agent_id))

    @property
    def standings(self) -> list[StandingsRow]:
        return table(self._ledger)

    @property
    def parked(self) -> tuple[str, ...]:
        return tuple(self._ledger.in_play.parked)

    @property
    def completed(self) -> tuple[str, ...]:
        return tuple(match.match_id for match in self._ledger.matches.values() if match.result is not None)

    @property
    def player_ids(self) -> tuple[str, ...]:
        return tuple(player.agent_id for player in self._ledger.roster.of_role("player"))

    # --- the shape of a machine ---------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        APPLY[type(event)](self._ledger, event)
        if isinstance(event, LEAVING_PLAY):
            self._assignments.dispatches.left_play(event.match_id)

    def snapshot(self) -> Mapping[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._ledger, order="deterministic")
        return state

    def resume(self, now: float) -> Step:
        self._step = Step()
        self._context.is_awake = True
        for name, size in ((ASSIGNMENT_SEED, SEED_BYTES), (SIGNING_SECRET, SECRET_BYTES)):
            if name not in self._secrets:
                self._keep_secret(name, self._chance(size).hex())
        key = signing_key(bytes.fromhex(self._secrets[SIGNING_SECRET]))
        self._context.signing_key = key
        # The first event of a journal says what league it is of.
        if not self._ledger.created:
            self._happened(LeagueCreated(at=now, settings=self._ledger.settings, manager_key=key.public))
        self._note_changes(key, now)
        for name, value in self._kept_secrets.items():
            if not tokens.same(self._secrets.get(name), value):
                self._keep_secret(name, value)
        if self.state == "WAITING_FOR_REGISTRATIONS":
            for agent_id in self._ledger.roster.members:
                self._probes.begin(agent_id, now)
        self._rounds.take_up(now)
        self._scoring.take_up(now)
        return self._conclude(now)

    def _note_changes(self, key: SigningKey, now: float) -> None:
        """Record the rules about endpoints and trust, and our key, if they are not those of the journal. All settings
        may change until somebody registers."""
        chosen = self._chosen_settings
        if chosen != self._ledger.settings and not self._ledger.roster.members:
            self._happened(SettingsChanged(at=now, settings=chosen))
        stored = self._ledger.settings
        endpoints = None if chosen.endpoints == stored.endpoints else chosen.endpoints
        trust = None if chosen.trust == stored.trust else chosen.trust
        public = None if key.public == self._ledger.manager_key else key.public
        if endpoints or trust or public:
            self._happened(SettingsChanged(at=now, endpoints=endpoints, trust=trust, manager_key=public))

    def watch(self, match_ids: Sequence[str], now: float) -> Step:
        """Somebody looks at these matches: have their referees tell of them. Nothing else changes."""
        self._step = Step()
        if self._context.is_awake:
            self.live.watch(match_ids, now)
        return super()._conclude(now)

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        self._requests.signs_of_life.call_failed(failed, now)
        return super().undelivered(failed, now)

    def _conclude(self, now: float) -> Step:
        """Do what has become possible, and send what members need to know."""
        # Until `resume` we only answer questions.
        # Broadcasts come last, because they tell what has happened.
        if self._context.is_awake:
            self._rounds.advance(now)
            self._broadcasts.flush(now)
        return super()._conclude(now)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _requested(self, letter: Letter, now: float) -> None:
        content = letter.content
        if isinstance(content, Unsealed):
            self._requests.take_message(letter, content, now)
        elif isinstance(content, MatchNews):
            self.live.take_news(letter, content)
        elif isinstance(content, Ping):
            self._reply(letter, Pong())
        elif isinstance(content, Operate):
            self._orders.carry_out(letter, content, now)
        elif isinstance(content, Inquiry):
            self._requests.inform(letter, content, now)
        else:
            raise PeerError("E035", "an answer without a question")


def _lists_matches(answer: Content | None) -> bool:
    """True if a referee answered a ping, or a probe, with its matches."""
    if isinstance(answer, Findings):
        return answer.answer.lists_matches
    return isinstance(answer, Pong) and answer.matches is not None
