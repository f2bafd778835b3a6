"""Leases: a referee's time with a match (spec section 8.12).

Theory of operation. A referee has a lease on each match that it was given: the longest that a legal match can take, and
a minute; a match at the end of its queue has one for every turn before it.

    dispatched ──▶ leased ── half of it is over ──▶ the operator hears, once ──── the end ──▶ another referee
                     ▲ │                                                                               ▲
                     └─┴─ a report, a question, or a sign of life after a silence: it begins anew      │
                       └─ the referee is silent for too long, or lists the match no longer ────────────┘

While the league runs, referees that report nothing are pinged. Referees of ours list their matches in every answer, so
20 seconds of silence are long enough; any other referee may serve nobody while it waits for players, so it may be
silent for as long as one turn can take. One whose last ping failed gets no new match, and one that did not finish a
match gets none before it has proven itself, if there is another.

Nothing here survives a crash: after a restart every match is dispatched again, with a new lease. What must never
happen: a match is taken away while nobody else could play it; a referee keeps a match for ever; a time in which no
report could reach us is held against a referee.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from msgspec import Struct

from league.calling.delivery import Delivery, Ending, FailedAttempt, Policy
from league.events import AgentProbed
from league.games import registry
from league.machine import Ping, Pong, Watch
from league.manager.manager_context import ManagerPart
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.protocol.message.exchanges import EXCHANGES
from league.settings import LeagueSettings

PING: Final = Policy(limit_s=3.0, is_guarded=True, is_waited_for=False)
PLAIN: Final = Ping()
PING_S: Final = 5.0
SILENT_S: Final = 20.0
"""How long a referee that lists its matches may be silent."""
GRACE_S: Final = 60.0
LATE_S: Final = 1.0
"""A timer that expires later than this was slept through."""
MOST_NAMED: Final = 3
"""How many matches of a referee are named in one sentence."""


def lease_s(settings: LeagueSettings) -> float:
    """Return how long a referee may keep a match: the longest a legal match can take, and a minute (R-52)."""
    return longest_match_s(settings) + GRACE_S


def longest_match_s(settings: LeagueSettings) -> float:
    """Return the time from the invitation to the last choice, with all retries (spec section 6.4)."""
    return _match_s(settings, len(settings.retry_delays_s) + 1, sum(settings.retry_delays_s))


def unrepeated_match_s(settings: LeagueSettings) -> float:
    """Return the same time for players that use every limit, but never need a retry."""
    return _match_s(settings, 1, 0.0)


def longest_silence_s(settings: LeagueSettings) -> float:
    """Return how long a referee that does not list its matches may be silent: the time of a turn, and a minute."""
    attempts = len(settings.retry_delays_s) + 1
    return sum(_turn_s(settings, attempts, sum(settings.retry_delays_s))) + GRACE_S


def _turn_s(settings: LeagueSettings, attempts: int, pauses_s: float) -> tuple[float, float]:
    """Return the time for an invitation, and the time for a choice."""
    join_s = attempts * EXCHANGES["GAME_INVITATION"].limit_s + pauses_s
    return join_s, attempts * settings.move_seconds + pauses_s


def _match_s(settings: LeagueSettings, attempts: int, pauses_s: float) -> float:
    game = registry.find(settings.game_type)
    join_s, move_s = _turn_s(settings, attempts, pauses_s)
    if game is None:
        return join_s + move_s
    play_s = move_s * game.turns
    clock_s = game.clock_s(settings.move_seconds)
    if clock_s is not None:
        # Both clocks may run down, one after the other. The last retries of a choice may end after its clock did.
        play_s = min(play_s, 2 * (clock_s + move_s))
    return join_s + play_s


class Lessor(Protocol):
    """The part that gives matches to referees, and takes them away."""

    def failed(self, match: ScheduledMatch, why: str, now: float) -> None:
        """A lease is over."""

    def reassign(self, now: float) -> None:
        """A referee counts as dead, or the silence of one is over."""

    def came_back(self, now: float) -> None:
        """A referee that counted as dead is back."""

    def ping_answered(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> None:
        """A referee answered a ping."""

    def has_arrived(self, referee: Member) -> bool:
        """Return whether a referee knows of all matches that it was to be told of."""


class Tenant(Struct):
    """What was seen of a referee in this life of the process."""

    heard_at: float = math.inf
    """When it was heard last, or first expected to be."""
    is_pinged: bool = False
    has_reported: bool = False
    """True if it reported a result since the last round of pings: then it knows its matches."""
    lists_matches: bool = False
    is_live: bool | None = None
    """Whether it tells of watched matches; None if it was not asked."""
    is_silent: bool = False
    """True if its last ping failed, and nothing was heard since."""
    has_lapsed: bool = False
    """True if it did not finish a match, and has reported none since."""


@dataclass(slots=True)
class Leases(ManagerPart):
    """Begins, prolongs and ends leases, and pings referees."""

    lessor: Lessor = field(init=False)
    watched: dict[str, Watch] = field(default_factory=dict)
    """By referee: the ping that names its watched matches."""
    duration_s: float = 0.0
    """How long a lease is, once the league runs."""
    _tenants: defaultdict[str, Tenant] = field(default_factory=lambda: defaultdict(Tenant))
    _next_ping: float = math.inf

    # --- what was seen of referees ------------------------------------------------------------------------------------

    def listed_matches(self, referee_id: str, is_live: bool | None = None) -> None:
        """It answered a ping with its matches."""
        tenant = self._tenants[referee_id]
        tenant.lists_matches = True
        if is_live is not None:
            tenant.is_live = is_live

    def is_ours(self, referee_id: str) -> bool:
        """Only our referees answer pings with their matches (R-52)."""
        return self._tenants[referee_id].lists_matches

    def is_silent(self, referee_id: str) -> bool:
        """True if its last ping failed, and nothing was heard since."""
        return self._tenants[referee_id].is_silent

    def lapsed(self, referee_id: str) -> None:
        """It did not finish a match that it was given."""
        self._tenants[referee_id].has_lapsed = True

    def proved(self, referee_id: str) -> None:
        """It came back, and may have other matches again."""
        self._tenants[referee_id].has_lapsed = False

    def is_reliable(self, referee_id: str) -> bool:
        return not self._tenants[referee_id].has_lapsed

    # --- leases -------------------------------------------------------------------------------------------------------

    def begin(self, referee: Member, matches: Iterable[ScheduledMatch], now: float) -> None:
        """Begin the leases of these matches. The operator hears of a match when half of its first lease is over."""
        holdings = self._ledger.in_play.holdings[referee.agent_id]
        places = {match_id: place for place, match_id in enumerate(holdings, start=1)}
        for match in matches:
            turns = math.ceil(places[match.match_id] / referee.as_referee.capacity)
            self._lease(match, now + turns * self.duration_s)
            if not self.context.timers.is_set(("half", match.match_id)):
                self._notice_at(match, now + turns * self.duration_s / 2)

    def prolong(self, match: ScheduledMatch, now: float) -> None:
        """Begin the lease of a match anew: its referee plays it, or begins to play it only now."""
        self._lease(match, now + self.duration_s)

    def reported(self, referee: Member, now: float) -> None:
        """Note that a referee reported a match: it works, need not be pinged for a while, and may go on with others."""
        tenant = self._tenants[referee.agent_id]
        tenant.has_lapsed = False
        tenant.has_reported = True
        for match_id in self._ledger.in_play.holdings[referee.agent_id]:
            self.context.timers.clear(("half", match_id))
        self._renew(referee, now)

    def _renew(self, referee: Member, now: float) -> None:
        held = self._ledger.held_by(referee.agent_id)
        self.begin(referee, [match for match in held if self.context.timers.is_set(("lease", match.match_id))], now)

    def _lease(self, match: ScheduledMatch, until: float, *, is_prolonged: bool = False) -> None:
        action = partial(self._expired, match, until, is_prolonged)
        self.context.timers.set(("lease", match.match_id), until, action)

    def _expired(self, match: ScheduledMatch, until: float, is_prolonged: bool, now: float) -> None:
        unwatched_s = now - until
        if unwatched_s > LATE_S and not is_prolonged:
            # We slept: the time in which no report could reach us does not count.
            self._lease(match, now + unwatched_s, is_prolonged=True)
        else:
            # This lease ends if the match is taken away, and holds if nobody else could play it.
            self.prolong(match, now)
            self.lessor.failed(match, "no report in time", now)

    # --- what the operator hears --------------------------------------------------------------------------------------

    def _notice_at(self, match: ScheduledMatch, at: float) -> None:
        self.context.timers.set(("half", match.match_id), at, partial(self._half_over, match, match.attempt))

    def _half_over(self, match: ScheduledMatch, attempt: int, now: float) -> None:
        if match.status != "ASSIGNED" or match.attempt != attempt:
            return
        referee = self.context.member(match.referee_id or "")
        is_explained = referee.state != "ACTIVE" or self.is_silent(referee.agent_id) or referee.probed.in_trouble
        if self._ledger.controls.paused or is_explained:
            self._notice_at(match, now + SILENT_S)
            return
        late = self._noticed(referee)
        if match.match_id not in late:
            late.append(match.match_id)
            findings = f"it {self.lateness(late)}"
            self.context.happened(
                AgentProbed(at=now, agent_id=referee.agent_id, findings=findings, unreported=tuple(late))
            )

    def _noticed(self, referee: Member) -> list[str]:
        """Return the matches that the operator was told of and that the referee still has."""
        held = self._ledger.in_play.holdings[referee.agent_id]
        return [match_id for match_id in referee.probed.unreported if match_id in held]

    def late(self) -> dict[str, list[str]]:
        """Return the referees that do not report, with their matches: those that take long, and whatever was given to a
        referee that lost a match in this way and has reported none since."""
        late = {}
        for referee in self._ledger.roster.of_role("referee"):
            matches = self._noticed(referee)
            if not self.is_reliable(referee.agent_id):
                matches = list(self._ledger.in_play.holdings[referee.agent_id])
            if matches:
                late[referee.agent_id] = matches
        return late

    def lateness(self, matches: Sequence[str]) -> str:
        """Say of a referee that it has not reported these matches, and how long that may take."""
        settings = self._ledger.settings
        return (
            f"has not reported {', '.join(matches[:MOST_NAMED])}; a match takes at most "
            f"{unrepeated_match_s(settings):.0f} s, and {longest_match_s(settings):.0f} s with every retry"
        )

    # --- pings --------------------------------------------------------------------------------------------------------

    def begin_to_ping(self, now: float) -> None:
        """Begin to ping, because the league starts or this process does."""
        self.duration_s = lease_s(self._ledger.settings)
        for tenant in self._tenants.values():
            # Referees of ours list their matches in every answer to a ping. Those that were asked just now are not
            # asked again.
            tenant.has_reported = tenant.lists_matches and now < tenant.heard_at + PING_S
            tenant.heard_at = now
            tenant.is_pinged = False
        self._next_ping = math.inf
        self._ping_all(now)

    def _dead_from(self, referee_id: str) -> float:
        """Return the time from which a referee counts as dead if nothing is heard of it."""
        tenant = self._tenants[referee_id]
        if tenant.lists_matches:
            return tenant.heard_at + SILENT_S
        return tenant.heard_at + longest_silence_s(self._ledger.settings)

    def _ping_all(self, now: float) -> None:
        if not self._ledger.is_running:
            return
        if now > self._next_ping + LATE_S:
            self.slept(now)
        self._next_ping = now + PING_S
        self.context.timers.set("ping", self._next_ping, self._ping_all)
        referees = self._ledger.roster.of_role("referee")
        needed = [referee for referee in referees if self._needs_ping(referee, now)]
        self._ping(needed, now)
        for tenant in self._tenants.values():
            tenant.has_reported = False

    def greet(self, referee: Member, now: float) -> None:
        """Ping a new referee: whether it is one of ours decides how matches are dispatched to it."""
        if self._ledger.is_running:
            self._ping([referee], now)

    def slept(self, now: float) -> None:
        """Let everybody's silence begin again: this process did not listen for a while."""
        for tenant in self._tenants.values():
            tenant.heard_at = now

    def _needs_ping(self, referee: Member, now: float) -> bool:
        """True if this referee has to be asked whether it is alive."""
        tenant = self._tenants[referee.agent_id]
        # Who was never heard is expected from now on.
        tenant.heard_at = min(tenant.heard_at, now)
        if tenant.is_pinged or not referee.takes_part:
            return False
        # A report says as much as an answer to a ping, and costs nothing.
        is_busy = tenant.has_reported and referee.agent_id not in self.watched
        if is_busy and tenant.lists_matches and self.lessor.has_arrived(referee):
            return False
        # An open circuit breaker spares a referee that does not answer, but not past the moment that decides.
        if referee.state == "ACTIVE" and now >= self._dead_from(referee.agent_id):
            return True
        return self.context.is_reachable(referee, now)

    def name(self, watched: Mapping[str, Sequence[str]], now: float) -> None:
        """Name these matches to their referees from now on; a referee that has not heard of one is pinged at once."""
        for referee_id in self.watched.keys() - watched.keys():
            del self.watched[referee_id]
        for referee_id, match_ids in watched.items():
            tenant = self._tenants[referee_id]
            known = self.watched.get(referee_id)
            is_new = known is None or not set(match_ids) <= set(known.match_ids)
            if tenant.is_live is False or (is_new and tenant.is_pinged):
                continue
            if tenant.is_live:
                self.watched[referee_id] = Watch(tuple(match_ids))
            # Nobody is asked twice whether it declares it: it says so in any answer.
            tenant.is_live = tenant.is_live or False
            if is_new:
                self._ping([self.context.member(referee_id)], now)

    def _ping(self, referees: Sequence[Member], now: float) -> None:
        deliveries = [
            Delivery(
                referee.agent_id,
                "ping",
                self.watched.get(referee.agent_id, PLAIN),
                PING,
                address=partial(self.context.address, referee),
                on_end=self._ended,
                on_attempt_failed=self._attempt_failed,
            )
            for referee in referees
        ]
        for delivery in deliveries:
            tenant = self._tenants[delivery.peer]
            tenant.is_pinged = True
            tenant.heard_at = min(tenant.heard_at, now)
        self.context.calls.deliver(deliveries, now)

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._tenants[delivery.peer].is_pinged = False
        if outcome is Ending.FAILED or not self._ledger.is_running:
            return
        # Third-party referees answer a ping with anything: then they are alive, and no more is known.
        pong = Pong()
        if isinstance(delivery.answer, Pong):
            pong = delivery.answer
        self.lessor.ping_answered(self.context.member(delivery.peer), pong, delivery.attempt.sent_at, now)

    def _attempt_failed(self, delivery: Delivery, _: FailedAttempt, now: float) -> None:
        referee = self.context.member(delivery.peer)
        # From its first failed ping on a referee gets no new match, long before it counts as dead.
        self._tenants[referee.agent_id].is_silent = True
        is_dead = now >= self._dead_from(referee.agent_id)
        if self._ledger.is_running and referee.state == "ACTIVE" and is_dead:
            self.context.change(referee, "max_fail", now, "no answer and no message for too long")
            self.lessor.reassign(now)

    def alive(self, referee: Member, now: float) -> None:
        """Note that a referee sent a message or an answer."""
        tenant = self._tenants[referee.agent_id]
        tenant.heard_at = now
        was_silent = tenant.is_silent
        tenant.is_silent = False
        is_suspended = referee.state == "SUSPENDED"
        if not (was_silent or is_suspended) or not self._ledger.is_running:
            return
        if is_suspended:
            self.context.change(referee, "recover", now)
            self.lessor.came_back(now)
        else:
            self.lessor.reassign(now)
        # Its matches go on where they were.
        self._renew(referee, now)
