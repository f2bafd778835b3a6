"""The League Manager: one machine out of parts that share a ledger. Here each letter finds the part it concerns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from league.calling.delivery import Delivery, is_refusal
from league.calling.role import RoleMachine
from league.events import Event, LeagueCreated, LeagueSettings, LeagueState
from league.games import registry
from league.machine import Acknowledged, Blame, Chance, Content, Inquiry, Letter, Operate, Ping, Pong, Step, Undelivered
from league.manager.approval import Approvals
from league.manager.assignments import Assignments
from league.manager.authentication import Authentication
from league.manager.broadcasts import Broadcasts
from league.manager.context import ManagerContext
from league.manager.dispatch import Dispatches, RefereeHabits
from league.manager.heartbeats import Heartbeats, Probes
from league.manager.ledger import APPLY, Ledger
from league.manager.messages import Messages, table
from league.manager.orders import OperatorOrders
from league.manager.outages import Outages
from league.manager.queries import LeagueQueries
from league.manager.registration import Admission, RegistrationDesk
from league.manager.results import Results
from league.manager.roster import Member
from league.manager.rounds import Rounds
from league.manager.standings import TIEBREAKERS
from league.protocol import tokens
from league.protocol.endpoints import EndpointPolicy
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, as_error
from league.protocol.parts import StandingsRow

READABLE = (Unsealed, Acknowledged)
"""Answers that may deviate from the documents."""
OPERATOR = "operator"
"""The secret that V of the operator's token is kept as."""


class LeagueManager(RoleMachine):
    """`endpoints` is the policy about where agents may be, `operator` V of the operator's token (kept as a secret, so
    that the journal knows whom it obeys), `is_local` whether we listen to this machine alone; everything else about a
    league is in its settings. `ledger` is a state to go on from, in place of an empty one."""

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
    ) -> None:
        super().__init__(chance, secrets)
        if registry.find(settings.game_type) is None:
            raise ValueError(registry.why_unknown(settings.game_type))
        if unknown := set(settings.tiebreakers) - TIEBREAKERS:
            raise ValueError(
                f"no tiebreakers: {', '.join(sorted(unknown))}; there are {', '.join(sorted(TIEBREAKERS))}"
            )
        self._ledger = ledger or Ledger(settings)
        self._is_awake = False
        self._operator = operator
        self._build(endpoints or EndpointPolicy(), is_local)

    def _build(self, endpoints: EndpointPolicy, is_local: bool) -> None:
        context = self._context = ManagerContext(
            self._calls,
            self._timers,
            self._secrets,
            self._chance,
            self._happened,
            self._reply,
            self._keep_secret,
            self._ledger,
        )
        messages = Messages(context)
        self._broadcasts = self._make_broadcasts(context, messages)
        habits = self._habits = RefereeHabits(context)
        dispatches = Dispatches(context, messages, habits)
        assignments = Assignments(context, dispatches, habits)
        self._probes = Probes(context)
        outages = self._outages = Outages(context, assignments)
        self._heartbeats = Heartbeats(context, assignments, habits, outages)
        self._rounds = self._make_rounds(
            context, self._broadcasts, self._probes, assignments, self._heartbeats, outages
        )
        self._rounds.on_reopened = self._broadcasts.stop_completing
        self._broadcasts.is_holding = lambda: outages.is_holding
        self._authentication = Authentication(context, self._broadcasts, outages.token_switched)
        admission = Admission(context, endpoints, is_local, self._authentication, Approvals(context))
        self._registration = RegistrationDesk(
            context, admission, self._authentication, self._probes, self._heartbeats, assignments
        )
        self._results = Results(context, assignments, dispatches, habits, outages)
        self._queries = LeagueQueries(context, self._authentication, messages, dispatches)
        self._orders = OperatorOrders(context, self._rounds, assignments, outages)
        self._calls.on_answer, self._calls.on_idle = self._call_answered, self._broadcasts.look_at

    def _make_broadcasts(self, *parts: Any) -> Broadcasts:
        """For a manager that sends less. Any: the fields of Broadcasts."""
        return Broadcasts(*parts)

    def _make_rounds(self, *parts: Any) -> Rounds:
        """For a manager with a schedule of its own. Any: the fields of Rounds."""
        return Rounds(*parts)

    # --- what others may look at --------------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """All that has become true, to be read only."""
        return self._ledger

    def member_behind(self, content: Content) -> str | None:
        token = content.field("auth_token") if isinstance(content, Unsealed) else None
        owner = self._ledger.roster.owner(token) if isinstance(token, str) else None
        return owner[0].agent_id if owner else None

    def obeys(self, token: str) -> bool:
        """Is this the token of the operator?"""
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
        """The league is over and every member got LEAGUE_COMPLETED: the process may end."""
        # The last one told is likely to answer last.
        members = reversed(self._ledger.roster.members.values())
        return self.is_finished and not any(one.takes_part for one in members)

    @property
    def waiting(self) -> str | None:
        """What the league waits for, if not for the players of a match: registrations, the operator, many players that
        are gone, or a referee."""
        ledger = self._ledger
        if self.state == "WAITING_FOR_REGISTRATIONS":
            return self.state
        reasons = {
            "PAUSED": ledger.controls.paused,
            "WAITING_FOR_PLAYERS": self.waiting_reason is not None,
            "WAITING_FOR_OPERATOR": bool(ledger.in_play.parked),
            "WAITING_FOR_REFEREE": not any(one.state == "ACTIVE" for one in ledger.roster.of_role("referee")),
        }
        return next((name for name, holds in reasons.items() if holds), None) if ledger.is_running else None

    @property
    def waiting_reason(self) -> str | None:
        """Why the league waits for players, if it does."""
        return self._outages.reason if self._ledger.is_running else None

    @property
    def not_answering(self) -> Mapping[str, float]:
        """Who did not answer our last calls, and since when. A manager that was just started does not know yet."""
        members = (one for one in self._ledger.roster.members.values() if one.takes_part)
        failing = {one.agent_id: self._calls.peers[one.agent_id].breaker.failing_since for one in members}
        return {agent_id: since for agent_id, since in failing.items() if since is not None}

    @property
    def probe_failures(self) -> Mapping[str, str]:
        """Before the start: who did not answer its last probe, and why."""
        return self._probes.failures

    @property
    def standings(self) -> list[StandingsRow]:
        return table(self._ledger)

    @property
    def parked(self) -> tuple[str, ...]:
        return tuple(self._ledger.in_play.parked)

    @property
    def completed(self) -> tuple[str, ...]:
        return tuple(one.match_id for one in self._ledger.matches.values() if one.result is not None)

    @property
    def player_ids(self) -> tuple[str, ...]:
        return tuple(one.agent_id for one in self._ledger.roster.of_role("player"))

    # --- the shape of a machine ---------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        APPLY[type(event)](self._ledger, event)

    def snapshot(self) -> Mapping[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._ledger, order="deterministic")
        return state

    def resume(self, now: float) -> Step:
        self._step = Step()
        self._is_awake = True
        if not self._ledger.created:
            self._happened(LeagueCreated(at=now, settings=self._ledger.settings))
        if self._operator and not tokens.same(self._secrets.get(OPERATOR), self._operator):
            self._keep_secret(OPERATOR, self._operator)
        if self.state == "WAITING_FOR_REGISTRATIONS":
            for agent_id in self._ledger.roster.members:
                self._probes.begin(agent_id, now)
        self._rounds.take_up(now)
        return self._conclude(now)

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        if failed.blame is Blame.LOCAL:
            self._heartbeats.slept(now)
        self._outages.failed(failed, now)
        return super().undelivered(failed, now)

    def _conclude(self, now: float) -> Step:
        """What has become possible is done, and what is due is sent. Until we were resumed we only answer questions."""
        if self._is_awake:
            self._outages.advance(now)
            self._rounds.advance(now)
            self._broadcasts.flush(now)
        return super()._conclude(now)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _requested(self, letter: Letter, now: float) -> None:
        content = letter.content
        if isinstance(content, Ping):
            self._reply(letter, Pong())
        elif isinstance(content, Operate):
            self._orders.carry_out(letter, content, now)
        elif isinstance(content, Inquiry):
            self._inquiry(letter, content, now)
        elif not isinstance(content, Unsealed):
            raise PeerError("E035", "an answer without a question")
        elif content.message_type in ("REFEREE_REGISTER_REQUEST", "LEAGUE_REGISTER_REQUEST"):
            self._registration.register(letter, content, now)
        else:
            self._member_request(letter, content, now)

    def _inquiry(self, letter: Letter, inquiry: Inquiry, now: float) -> None:
        asker = self._queries.asker(inquiry, now)
        if asker is not None:
            self._alive(asker, now)
        self._reply(letter, self._queries.inform(asker, now))

    def _member_request(self, letter: Letter, read: Unsealed, now: float) -> None:
        if read.message_type not in ("MATCH_RESULT_REPORT", "LEAGUE_QUERY"):
            foreign = PeerError("E036", f"a manager does not take {read.message_type}")
            raise as_error(read.violations[0]) if read.violations else foreign
        sender = self._authentication.authenticate(read, letter.origin, now)
        member = sender.member
        if not sender.by_name:
            self._alive(member, now)
        if read.message_type == "LEAGUE_QUERY":
            self._reply(letter, self._queries.answer(read, member, now))
        else:
            self._results.report(letter, read, member, now)
            if member.role == "referee":
                self._heartbeats.reported(member, now)

    # --- signs of life ------------------------------------------------------------------------------------------------

    def _alive(self, member: Member, now: float) -> None:
        """A member asked us something."""
        if self._is_awake:
            self._calls.peers[member.agent_id].breaker.succeeded()
            self._heard(member, now)

    def _heard(self, member: Member, now: float) -> None:
        """Whoever says anything is there."""
        self._outages.gone.discard(member.agent_id)
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self._probes.alive(member.agent_id)
        if member.role == "referee":
            self._heartbeats.alive(member, now)

    def _call_answered(self, delivery: Delivery, now: float) -> None:
        """A call was answered. A suspended player that acknowledges a broadcast is ACTIVE again (R-51)."""
        answer, member = delivery.answer, self._ledger.roster.members.get(delivery.peer)
        if member is None:
            return
        if isinstance(answer, READABLE):
            if answer.deviations:
                self._context.record(member.agent_id, answer.deviations, now)
        elif isinstance(answer, Pong) and answer.matches is not None:
            self._habits.listed_matches(member.agent_id)
        self._heard(member, now)
        if member.state == "SUSPENDED" and member.role == "player" and self._ledger.is_running:
            is_acknowledged = answer is not None and not is_refusal(answer) and not isinstance(delivery.message, Ping)
            if is_acknowledged and member.suspended_at <= delivery.attempt.sent_at:
                self._context.change(member, "recover", now)
