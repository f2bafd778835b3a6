"""The League Manager: one machine out of parts that share a ledger. Here each letter finds the part it concerns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from league.events import Event, LeagueCreated, LeagueSettings
from league.games import registry
from league.machine import Blame, Chance, Inquiry, Letter, Machine, Operate, Ping, Pong, Step, Undelivered
from league.manager.assignments import Assignments
from league.manager.broadcasts import Broadcasts
from league.manager.courier import Courier, Errand, is_refusal
from league.manager.handovers import Handovers
from league.manager.inquiries import Inquiries
from league.manager.leases import Leases
from league.manager.ledger import Ledger, Match
from league.manager.notices import Notices, table
from league.manager.office import Office
from league.manager.orders import Orders
from league.manager.probes import Probes
from league.manager.queries import Queries
from league.manager.records import MatchRecords
from league.manager.registration import Registration
from league.manager.results import Results
from league.manager.rounds import Rounds
from league.manager.standings import TIEBREAKERS
from league.protocol import tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, as_error
from league.protocol.parts import StandingsRow

OPERATOR = "operator"
"""The secret that V of the operator's token is kept as."""


class LeagueManager(Machine):
    """`allows` is the policy about agents' endpoints, `operator` V of the operator's token (kept as a secret, so that
    the journal knows whom it obeys); everything else about a league is in its settings."""

    def __init__(
        self,
        settings: LeagueSettings,
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
        *,
        allows: Callable[[str], bool] = lambda _: True,
        operator: str = "",
    ) -> None:
        super().__init__(chance, secrets)
        if registry.find(settings.game_type) is None:
            raise ValueError(f"there is no game {settings.game_type!r}; there are {', '.join(registry.known())}")
        if unknown := set(settings.tiebreakers) - TIEBREAKERS:
            raise ValueError(
                f"no tiebreakers: {', '.join(sorted(unknown))}; there are {', '.join(sorted(TIEBREAKERS))}"
            )
        self._ledger = Ledger(settings)
        self._is_awake = False
        self._allows = allows
        self._operator = operator
        self._build()

    def _build(self) -> None:
        office = self._office = Office(
            self._ledger,
            self._secrets,
            self._chance,
            self._happened,
            self._send,
            self._reply,
            self._keep_secret,
        )
        notices = Notices(office)
        courier = self._courier = Courier(office, self._heard, lambda agent_id: self._broadcasts.look_at(agent_id))
        self._broadcasts = Broadcasts(office, courier, notices)
        probes = self._probes = Probes(office, courier)
        handovers = Handovers(office, courier, notices)
        assignments = Assignments(office, courier, handovers, self._overdue)
        office.switched = assignments.show_anew
        leases = self._leases = Leases(office, courier, assignments)
        rounds = self._rounds = Rounds(office, courier, notices, probes, assignments, leases)
        self._registration = Registration(office, probes, leases, self._allows)
        self._results = Results(office, assignments, MatchRecords(office, courier, leases))
        self._queries = Queries(office)
        self._inquiries = Inquiries(office, notices, handovers)
        self._orders = Orders(office, rounds, leases)

    def _overdue(self, match: Match, why: str, now: float) -> None:
        self._leases.overdue(match, why, now)

    # --- what others may look at --------------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """All that has become true, to be read only."""
        return self._ledger

    def obeys(self, token: str) -> bool:
        """Is this the token of the operator?"""
        digest = self._secrets.get(OPERATOR)
        return digest is not None and tokens.fits(token, (digest,))

    @property
    def is_finished(self) -> bool:
        return self._ledger.is_finished

    @property
    def has_told_everybody(self) -> bool:
        """The league is over and every member was told: the process may end."""
        return self.is_finished and not any(one.takes_part for one in self._ledger.roster.members.values())

    @property
    def waiting(self) -> str | None:
        """What the league waits for, if not for the players of a match: registrations, the operator, or a referee."""
        ledger = self._ledger
        if ledger.state == "WAITING_FOR_REGISTRATIONS":
            return ledger.state
        if not ledger.is_running:
            return None
        if ledger.paused:
            return "PAUSED"
        if ledger.parked:
            return "WAITING_FOR_OPERATOR"
        if not any(one.state == "ACTIVE" for one in ledger.roster.of_role("referee")):
            return "WAITING_FOR_REFEREE"
        return None

    @property
    def standings(self) -> list[StandingsRow]:
        return table(self._ledger)

    @property
    def parked(self) -> tuple[str, ...]:
        return tuple(self._ledger.parked)

    @property
    def completed(self) -> tuple[str, ...]:
        return tuple(one.match_id for one in self._ledger.matches.values() if one.result is not None)

    @property
    def player_ids(self) -> tuple[str, ...]:
        return tuple(one.agent_id for one in self._ledger.roster.of_role("player"))

    # --- the shape of a machine ---------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        self._ledger.apply(event)

    def snapshot(self) -> Mapping[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._ledger, order="deterministic")
        return state

    def resume(self, now: float) -> Step:
        self._begin()
        self._is_awake = True
        if not self._ledger.created:
            self._happened(LeagueCreated(at=now, settings=self._ledger.settings))
        if self._operator and not tokens.same(self._secrets.get(OPERATOR), self._operator):
            self._keep_secret(OPERATOR, self._operator)
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            for agent_id in self._ledger.roster.members:
                self._probes.begin(agent_id, now)
        self._rounds.take_up(now)
        return self._settled(now)

    def tick(self, now: float) -> Step:
        self._begin()
        while (alarm := self._office.timers.ring(now)) is not None:
            alarm(now)
        return self._settled(now)

    @property
    def deadline(self) -> float | None:
        return self._office.timers.next

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        self._begin()
        if failed.blame is Blame.LOCAL:
            self._leases.slept(now)
        self._courier.failed(failed, now)
        return self._settled(now)

    def handle(self, letter: Letter, now: float) -> Step:
        self._begin()
        if letter.answers is not None:
            self._courier.answered(letter.answers, letter.peer, letter.content, now)
        else:
            try:
                self._request(letter, now)
            except PeerError as error:
                self._reply(letter, error)
        return self._settled(now)

    def _settled(self, now: float) -> Step:
        """The end of every step: what has become possible is done, and who must be told is told. Until we were
        resumed we only answer questions."""
        if self._is_awake:
            self._rounds.advance(now)
            self._broadcasts.flush(now)
        return self._finish()

    # --- letters ------------------------------------------------------------------------------------------------------

    def _request(self, letter: Letter, now: float) -> None:
        content = letter.content
        if isinstance(content, Ping):
            self._reply(letter, Pong())
        elif isinstance(content, Operate):
            self._orders.carry_out(letter, content, now)
        elif isinstance(content, Inquiry):
            self._inquire(letter, content, now)
        elif not isinstance(content, Unsealed):
            raise PeerError("E035", "an answer without a question")
        elif content.message_type in ("REFEREE_REGISTER_REQUEST", "LEAGUE_REGISTER_REQUEST"):
            self._registration.register(letter, content, now)
        else:
            self._member_request(letter, content, now)

    def _inquire(self, letter: Letter, inquiry: Inquiry, now: float) -> None:
        asker = self._inquiries.asker(inquiry, now)
        if asker is not None:
            self._alive(asker.agent_id, now)
        self._reply(letter, self._inquiries.answer(asker, now))

    def _member_request(self, letter: Letter, read: Unsealed, now: float) -> None:
        if read.message_type not in ("MATCH_RESULT_REPORT", "LEAGUE_QUERY"):
            foreign = PeerError("E036", f"a manager does not take {read.message_type}")
            raise as_error(read.violations[0]) if read.violations else foreign
        member = self._office.authenticate(read, now)
        self._alive(member.agent_id, now)
        if read.message_type == "LEAGUE_QUERY":
            self._reply(letter, self._queries.answer(read, member, now))
        else:
            self._results.report(letter, read, member, now)

    # --- signs of life ------------------------------------------------------------------------------------------------

    def _alive(self, agent_id: str, now: float) -> None:
        member = self._ledger.roster.members.get(agent_id)
        if member is None or not self._is_awake:
            return
        self._courier.alive(agent_id)
        self._probes.heard(agent_id)
        if not member.is_player:
            self._leases.heard(member, now)

    def _heard(self, errand: Errand, now: float) -> None:
        """A call was answered. A suspended player that acknowledges a broadcast is ACTIVE again (R-51)."""
        self._alive(errand.agent_id, now)
        member = self._ledger.roster.members.get(errand.agent_id)
        if member is None or not member.is_player or isinstance(errand.message, Ping):
            return
        acknowledged = errand.answer is not None and not is_refusal(errand.answer)
        if acknowledged and errand.to_suspended and member.state == "SUSPENDED" and self._ledger.is_running:
            self._office.change(member, "recover", now)
