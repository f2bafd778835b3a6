"""The League Manager: one machine made of parts that share a ledger.

Each request goes to the part it concerns (`_requested`). Every step ends the same way (`_conclude`): outages are looked
after, the league goes on as far as it can, and members are sent what they need to know. The path of a report, from its
arrival to the table that goes out, is told in scoring.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from league.calling.delivery import Delivery, is_refusal
from league.calling.line import Book, OpenBook, PlainBook
from league.calling.role import RoleMachine
from league.events import EndpointsChanged, Event, LeagueCreated, LeagueSettings, LeagueState
from league.games import registry
from league.machine import (
    Acknowledged,
    Blame,
    Chance,
    Content,
    Inquiry,
    Letter,
    Operate,
    Ping,
    Pong,
    Step,
    Undelivered,
)
from league.manager.approval import Approvals
from league.manager.assignments import Assignments
from league.manager.authentication import Authentication
from league.manager.broadcasts import Broadcasts
from league.manager.dispatch import (
    AnnouncingOnly,
    Dispatches,
    Giving,
    RefereeHabits,
)
from league.manager.heartbeats import Heartbeats, Probes
from league.manager.ledger import APPLY, Ledger
from league.manager.manager_context import ManagerContext, RosterConventions
from league.manager.manager_messages import Messages, table
from league.manager.orders import OperatorOrders
from league.manager.outages import Outages
from league.manager.queries import LeagueQueries
from league.manager.registration import Admission, RegistrationDesk
from league.manager.roster import Member
from league.manager.rounds import Rounds
from league.manager.scoring import Scoring
from league.manager.standings import TIEBREAKERS
from league.protocol import tokens
from league.protocol.endpoints import EndpointPolicy
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, as_error
from league.protocol.parts import StandingsRow

READABLE = (Unsealed, Acknowledged)
"""Answers that may deviate from the documents."""
OPERATOR = "operator"
"""The name of the secret that holds V of the operator's token."""


class LeagueManager(RoleMachine):
    """The machine of the league.

    `endpoints` says where agents may be. `operator` is V of the operator's token; it is kept as a secret so that the
    journal knows whom it obeys. `is_local` is true if we listen to this machine alone. `ledger` is a state to go on
    from instead of an empty one. `open_book` and `open_giving` are the gateway to agents by others; without them
    everybody is spoken to by the documents. Everything else about a league is in its settings.
    """

    def __init__(
        self,
        settings: LeagueSettings,
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
        *,
        endpoints: EndpointPolicy | None = None,
        operator: str = "",
        is_local: bool = True,
        ledger: Ledger | None = None,
        open_book: OpenBook = PlainBook,
        open_giving: Callable[[Dispatches], Giving] = AnnouncingOnly,
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
        self._is_awake = False
        self._operator = operator
        conventions = RosterConventions(self._ledger)
        book = open_book(
            self._happened,
            lambda: self._ledger.settings.profile == "strict",
            conventions,
        )
        self._build(endpoints or EndpointPolicy(), is_local, book, open_giving)

    def _build(
        self,
        endpoints: EndpointPolicy,
        is_local: bool,
        book: Book,
        open_giving: Callable[[Dispatches], Giving],
    ) -> None:
        context = ManagerContext(
            self._calls,
            self._timers,
            self._secrets,
            self._chance,
            self._happened,
            self._reply,
            self._keep_secret,
            book,
            self._ledger,
        )
        messages = Messages(context)
        broadcasts = self._make_broadcasts(context, messages)
        habits = RefereeHabits(context)
        dispatches = Dispatches(context, messages, habits, open_giving)
        assignments = Assignments(context, dispatches, habits)
        probes = Probes(context)
        outages = Outages(context, assignments)
        heartbeats = Heartbeats(context, assignments, habits, outages)
        rounds = self._make_rounds(context, broadcasts, probes, assignments, heartbeats, outages)
        rounds.on_reopened = broadcasts.stop_completing
        broadcasts.is_holding = lambda: outages.is_holding
        authentication = Authentication(context, broadcasts, outages.token_switched)
        admission = Admission(context, endpoints, is_local, authentication, Approvals(context))
        self._context = context
        self._probes = probes
        self._heartbeats = heartbeats
        self._outages = outages
        self._rounds = rounds
        self._broadcasts = broadcasts
        self._authentication = authentication
        self._registration = RegistrationDesk(context, admission, authentication, probes, heartbeats, assignments)
        self._scoring = Scoring(context, assignments, dispatches, habits, outages)
        self._queries = LeagueQueries(context, authentication, messages, dispatches)
        self._orders = OperatorOrders(context, rounds, assignments, outages)
        self._calls.on_answer = self._call_answered
        self._calls.on_idle = broadcasts.look_at

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
        if not isinstance(content, Unsealed):
            return None
        owner = self._ledger.roster.owner(content.field("auth_token"))
        if owner is None:
            return None
        member, _ = owner
        return member.agent_id

    def obeys(self, token: str) -> bool:
        """True if this is the token of the operator."""
        digest = self._secrets.get(OPERATOR)
        return digest is not None and tokens.fits(token, (digest,))

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
        are gone, or a referee."""
        ledger = self._ledger
        reason = None
        if ledger.state == "WAITING_FOR_REGISTRATIONS":
            reason = "WAITING_FOR_REGISTRATIONS"
        elif not ledger.is_running:
            reason = None
        elif ledger.controls.paused:
            reason = "PAUSED"
        elif self._outages.reason is not None:
            reason = "WAITING_FOR_PLAYERS"
        elif ledger.in_play.parked:
            reason = "WAITING_FOR_OPERATOR"
        elif not any(referee.state == "ACTIVE" for referee in ledger.roster.of_role("referee")):
            reason = "WAITING_FOR_REFEREE"
        return reason

    @property
    def waiting_reason(self) -> str | None:
        """Why the league waits for players, if it does."""
        return self._outages.reason if self._ledger.is_running else None

    @property
    def not_answering(self) -> Mapping[str, float]:
        """The members that did not answer our last calls, and since when. A manager that was just started does not
        know yet."""
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

    def snapshot(self) -> Mapping[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._ledger, order="deterministic")
        return state

    def resume(self, now: float) -> Step:
        self._step = Step()
        self._is_awake = True
        # The first event of a journal says what league it is of.
        if not self._ledger.created:
            self._happened(LeagueCreated(at=now, settings=self._ledger.settings))
        self._note_endpoints(now)
        if self._operator and not tokens.same(self._secrets.get(OPERATOR), self._operator):
            self._keep_secret(OPERATOR, self._operator)
        if self.state == "WAITING_FOR_REGISTRATIONS":
            for agent_id in self._ledger.roster.members:
                self._probes.begin(agent_id, now)
        self._rounds.take_up(now)
        return self._conclude(now)

    def _note_endpoints(self, now: float) -> None:
        """Record the rule about endpoints if the operator changed it."""
        chosen = self._chosen_settings
        stored = self._ledger.settings
        if chosen.endpoints != stored.endpoints or chosen.allow_endpoint != stored.allow_endpoint:
            self._happened(EndpointsChanged(at=now, endpoints=chosen.endpoints, allow_endpoint=chosen.allow_endpoint))

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        # A call that failed by our own fault means that this process stood still.
        if failed.blame is Blame.LOCAL:
            self._heartbeats.slept(now)
        self._outages.failed(failed, now)
        return super().undelivered(failed, now)

    def _conclude(self, now: float) -> Step:
        """Do what has become possible, and send what members need to know."""
        # Until `resume` we only answer questions.
        # Outages come first, because they hold rounds back; broadcasts come last, because they tell what has happened.
        if self._is_awake:
            self._outages.advance(now)
            self._rounds.advance(now)
            self._broadcasts.flush(now)
        return super()._conclude(now)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _requested(self, letter: Letter, now: float) -> None:
        content = letter.content
        if isinstance(content, Unsealed):
            if content.message_type in (
                "REFEREE_REGISTER_REQUEST",
                "LEAGUE_REGISTER_REQUEST",
            ):
                self._registration.register(letter, content, now)
            else:
                self._member_request(letter, content, now)
        elif isinstance(content, Ping):
            self._reply(letter, Pong())
        elif isinstance(content, Operate):
            self._orders.carry_out(letter, content, now)
        elif isinstance(content, Inquiry):
            self._inquiry(letter, content, now)
        else:
            raise PeerError("E035", "an answer without a question")

    def _member_request(self, letter: Letter, read: Unsealed, now: float) -> None:
        if read.message_type not in ("MATCH_RESULT_REPORT", "LEAGUE_QUERY"):
            if read.violations:
                raise as_error(read.violations[0])
            raise PeerError("E036", f"a manager does not take {read.message_type}")
        sender = self._authentication.authenticate(read, letter.origin, now)
        member = sender.member
        # A token that proves nothing is no sign of life of its owner either.
        if not sender.by_name:
            self._heard(member, now)
        if read.message_type == "LEAGUE_QUERY":
            self._reply(letter, self._queries.answer(read, member, now))
        else:
            self._scoring.take(letter, read, member, now)
            if member.role == "referee":
                self._heartbeats.reported(member, now)

    def _inquiry(self, letter: Letter, inquiry: Inquiry, now: float) -> None:
        member = self._queries.sender_of(inquiry, now)
        if member is not None:
            self._heard(member, now)
        self._reply(letter, self._queries.inform(member, now))

    # --- signs of life ------------------------------------------------------------------------------------------------

    def _heard(self, member: Member, now: float) -> None:
        """A member asked or answered something, so it is there."""
        if not self._is_awake:
            return
        breaker = self._calls.peers[member.agent_id].breaker
        if breaker.failing_since is not None:
            breaker.succeeded()
        self._outages.gone.discard(member.agent_id)
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self._probes.alive(member.agent_id)
        if member.role == "referee":
            self._heartbeats.alive(member, now)

    def _call_answered(self, delivery: Delivery, now: float) -> None:
        """A call was answered. A suspended player that acknowledges a broadcast is ACTIVE again (R-51)."""
        answer = delivery.answer
        member = self._ledger.roster.members.get(delivery.peer)
        if member is None:
            return
        if isinstance(answer, READABLE):
            if answer.deviations:
                self._context.record(member.agent_id, answer.deviations, now)
        elif isinstance(answer, Pong) and answer.matches is not None:
            self._heartbeats.habits.listed_matches(member.agent_id)
        self._heard(member, now)
        if member.state == "SUSPENDED" and member.role == "player" and self._ledger.is_running:
            # An answer to a call from before the suspension says nothing about the time since.
            is_acknowledged = answer is not None and not is_refusal(answer) and not isinstance(delivery.message, Ping)
            if is_acknowledged and member.suspended_at <= delivery.attempt.sent_at:
                self._context.change(member, "recover", now)
