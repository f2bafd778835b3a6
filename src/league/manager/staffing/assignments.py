"""Which referee plays which match (spec section 8.12).

Theory of operation. A match goes through four steps. It is *named* a referee ahead of time, so that players can be told
whom to expect. It is *assigned* when its round is opened, or when it has to be played again: MatchAssigned begins a new
attempt. It is *dispatched* when the players were told of the round: its referee gets a copy (dispatch.py), and a lease
begins (leases.py). It is *forgotten* here when it has a result.

An attempt is lost (MatchLost) when its lease runs out, its referee is dead or no longer knows it, or its report can't
be used. Then the match waits for another referee. After three lost attempts that count it is parked until a referee
comes back or the operator decides.

These things must never happen: two referees hold the same attempt; a match is taken away while nobody else could play
it; a third-party referee gets more matches at a time than it can play.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from league.calling.delivery import Delivery, Ending, Policy
from league.events import (
    AgentProbed,
    MatchAssigned,
    MatchLost,
    MatchParked,
    MatchUnparked,
    RefereesNamed,
)
from league.machine import Address, Pong
from league.manager.fairness.draws import SharedDraws
from league.manager.manager_context import ManagerPart
from league.manager.staffing.dispatch import (
    Dispatch,
    Dispatches,
)
from league.manager.staffing.leases import Leases
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import ONCE
from league.protocol.safe_text import without_tokens
from league.protocol.signing.tokens import hmac_sha256

ATTEMPTS = 3
ASSIGNMENT_SEED = "assignment_seed"
"""The name of the secret by which referees are drawn for matches."""
MATCHES_IN_ONE_MESSAGE = 100
"""D4's bound for arrays. A referee with more matches gets several announcements."""
INTRODUCTION_S = 2.0
"""How long a match waits until its players have heard of a referee that they could not know otherwise."""


@dataclass(slots=True)
class Assignments(ManagerPart):
    """Assigns, dispatches, takes away and reassigns."""

    dispatches: Dispatches
    leases: Leases
    draws: SharedDraws
    _kept_back: dict[str, None] = field(default_factory=dict)
    """The referees that hold matches that were not dispatched to them yet."""
    _named_among: Sequence[str] = ()
    """The referees that share the matches of the rounds to come."""
    _named_at: int = -1
    """`Roster.changes` at that time."""

    def __post_init__(self) -> None:
        ManagerPart.__post_init__(self)
        self.dispatches.on_begun_anew = self.leases.prolong
        self.leases.lessor = self
        self.dispatches.on_refused = self._refused

    @property
    def seed_digest(self) -> str | None:
        """SHA-256 of the seed by which referees are drawn; None before there is one."""
        seed = self.context.secrets.get(ASSIGNMENT_SEED)
        if seed is None:
            return None
        return hashlib.sha256(bytes.fromhex(seed)).hexdigest()

    # --- assigning ----------------------------------------------------------------------------------------------------

    def available(self) -> list[Member]:
        """Return the referees that are alive and know the game."""
        game_type = self._ledger.settings.game_type
        referees = self._ledger.roster.of_role("referee")
        active = [referee for referee in referees if referee.state == "ACTIVE"]
        return [referee for referee in active if game_type in referee.game_types]

    def _answering(self) -> Iterator[Member]:
        """Return those of them that could be given a match now: their last ping did not fail."""
        return (referee for referee in self.available() if not self.leases.is_silent(referee.agent_id))

    @property
    def is_possible(self) -> bool:
        """True if there is a referee that could play a match."""
        return next(self._answering(), None) is not None

    def catch_up(self, now: float) -> None:
        """Take account of referees that came, left or finished a match."""
        if self._named_at != self._ledger.roster.changes:
            self._named_at = self._ledger.roster.changes
            self._name_referees(now)
        if self._kept_back:
            self._dispatch_next(now)

    def _name_referees(self, now: float) -> None:
        """Share out the matches of the rounds to come again if referees came or left."""
        available = [referee.agent_id for referee in self.available()]
        if available and available != self._named_among:
            self._named_among = available
            # Matches of the current round stay where they are: their referees may be playing them.
            rounds_to_come = range(
                self._ledger.current_round + 1,
                len(self._ledger.rounds) + 1,
            )
            self.share_out(rounds_to_come, now)

    def share_out(self, rounds: Iterable[int], now: float) -> None:
        """Name referees for the matches of these rounds, by what is known of players and referees now."""
        referees = self.available()
        if not referees:
            return
        unusual = self._unusual_agents()
        named: dict[str, str] = {}
        for round_id in rounds:
            named.update(self._shares(round_id, referees, unusual))
        if named:
            self.context.happened(RefereesNamed(at=now, referees=named))

    def _shares(
        self,
        round_id: int,
        referees: Sequence[Member],
        unusual: Collection[str],
    ) -> Iterator[tuple[str, str]]:
        """Yield the matches of a round that get another referee than they have, with that referee."""
        shares: Counter[str] = Counter()
        matches = [match for match in self._ledger.matches_in(round_id) if match.result is None]
        even_share = math.ceil(len(matches) / len(referees))
        for match in matches:
            fitting = self._fitting(match, referees, unusual)
            referee_id = self._drawn(match, fitting, shares, even_share).agent_id
            shares[referee_id] += 1
            if match.referee_id != referee_id:
                yield match.match_id, referee_id

    def assign_waiting(self, now: float) -> None:
        """Assign every match that needs a referee now."""
        self._assign(self._ledger.in_play.waiting, now)

    def assign_voided(self, now: float) -> None:
        """Assign matches of finished rounds that are played again, now that no round is open."""
        self._assign(self._ledger.in_play.voided, now)

    def _assign(self, match_ids: Collection[str], now: float) -> None:
        if not match_ids:
            return
        referees = list(self._answering())
        if not referees:
            return
        unusual = self._unusual_agents()
        # The ledger takes each match out of `match_ids` as soon as it is assigned.
        matches = [self._ledger.matches[match_id] for match_id in match_ids]
        for match in matches:
            reliable = self._reliable(match, referees)
            referee = self._best(match, self._fitting(match, reliable, unusual))
            attempt = match.attempt + 1
            self.context.happened(
                MatchAssigned(
                    at=now,
                    match_id=match.match_id,
                    referee_id=referee.agent_id,
                    attempt=attempt,
                    share_commitment=self.draws.promise(referee, match, attempt),
                    keys=self._keys_of(match),
                )
            )
            # Before the players were told of the round, nobody is: `dispatch_round` does it for all.
            if self._ledger.round_of(match).assignments_sent:
                self._dispatch(referee, [match], now)

    def _keys_of(self, match: ScheduledMatch) -> dict[str, str]:
        """Return the keys of the players that sign, as they are now."""
        keys = {player: self.context.member(player).credentials.public_key for player in match.players}
        return {player: key for player, key in keys.items() if key}

    def _unusual_agents(self) -> Collection[str]:
        """Return the agents that deviate, or are called in another convention than that of the documents."""
        unusual = {agent_id for agent_id, _, _ in self._ledger.irregularities.deviations}
        for member in self._ledger.roster.members.values():
            if member.convention != Convention.SPEC.value:
                unusual.add(member.agent_id)
        return unusual

    def _reliable(self, match: ScheduledMatch, referees: Sequence[Member]) -> Sequence[Member]:
        """Leave out referees that lost a match and have proven nothing since, and the one that lost this match, unless
        nobody else is left."""
        reliable = [referee for referee in referees if self.leases.is_reliable(referee.agent_id)]
        if reliable:
            referees = reliable
        if match.tries == 0:
            return referees
        rivals = [referee for referee in referees if referee.agent_id != match.referee_id]
        return rivals or referees

    def _fitting(
        self,
        match: ScheduledMatch,
        referees: Sequence[Member],
        unusual: Collection[str],
    ) -> Sequence[Member]:
        """Return the referees that should play with these players: if not all can speak to both, or a player deviates,
        one of the operator's own that can, if there is one."""
        conversant = self.conversant(match, referees)
        is_usual = match.player_a not in unusual and match.player_b not in unusual
        if is_usual and len(conversant) == len(referees):
            return referees
        if not is_usual:
            ours = [referee for referee in conversant if self.leases.is_ours(referee.agent_id)]
            conversant = ours or conversant
        # A referee that came in openly gets no more than its even share: otherwise a player could pick its referee by
        # the convention it speaks (T-18). One that shows the enrolment key later is the operator's own after all.
        trusted = [
            referee for referee in conversant if referee.as_referee.has_shown_key or not referee.as_referee.came_openly
        ]
        return trusted or referees

    def conversant(self, match: ScheduledMatch, referees: Sequence[Member]) -> list[Member]:
        """Return the referees that can speak to both players of a match."""
        members = self._ledger.roster.members
        player_a = members[match.player_a]
        player_b = members[match.player_b]
        return [
            referee for referee in referees if self.can_speak(referee, player_a) and self.can_speak(referee, player_b)
        ]

    def can_speak(self, referee: Member, player: Member) -> bool:
        """True if a referee is known to call players in a convention that this one understands."""
        # Referees that follow this specification find out every convention; our players understand all the documents'.
        if (
            referee.as_referee.shows_derived_tokens
            or self.leases.is_ours(referee.agent_id)
            or player.credentials.public_key
        ):
            return True
        return referee.convention == player.convention

    def speechless(self, newcomer: Member | None = None) -> list[tuple[Member, Member]]:
        """Return the referees and players that share no calling convention; with `newcomer`, only those it is one
        of."""
        referees = self._ledger.roster.of_role("referee")
        players = self._ledger.roster.of_role("player")
        pairs = []
        for referee in referees:
            for player in players:
                is_asked = newcomer is None or newcomer is referee or newcomer is player
                if is_asked and not self.can_speak(referee, player):
                    pairs.append((referee, player))
        return pairs

    def _best(self, match: ScheduledMatch, referees: Sequence[Member]) -> Member:
        """Return the referee that was named, if it can play, or else one by lot."""
        if match.attempt == 0:
            for referee in referees:
                if referee.agent_id == match.referee_id:
                    return referee
        holdings = self._ledger.in_play.holdings
        held = Counter({referee.agent_id: len(holdings[referee.agent_id]) for referee in referees})
        even_share = math.ceil((held.total() + 1) / len(referees))
        return self._drawn(match, referees, held, even_share)

    def _drawn(
        self,
        match: ScheduledMatch,
        referees: Sequence[Member],
        held: Counter[str],
        even_share: int,
    ) -> Member:
        """Draw a referee for the next attempt of a match, by a lot that nobody can steer (spec section 8.12).

        The lot falls among those that have the most free places for their size, weighted by these places: so a referee
        with twice the capacity gets twice the matches. One that came in openly never gets more than its even share.
        """
        eligible = [
            referee
            for referee in referees
            if not (referee.as_referee.came_openly and held[referee.agent_id] >= even_share)
        ]
        eligible = eligible or list(referees)
        lightest = min(held[referee.agent_id] / referee.as_referee.capacity for referee in eligible)
        drawn_among = [
            referee for referee in eligible if held[referee.agent_id] / referee.as_referee.capacity == lightest
        ]
        seed = bytes.fromhex(self.context.secrets[ASSIGNMENT_SEED])
        name = f"{match.match_id}|{match.attempt + 1}".encode()
        lot = int.from_bytes(hmac_sha256(seed, name), "big")
        lot %= sum(referee.as_referee.capacity for referee in drawn_among)
        for referee in drawn_among:
            if lot < referee.as_referee.capacity:
                return referee
            lot -= referee.as_referee.capacity
        raise AssertionError("the lot falls on one of them")

    # --- dispatching --------------------------------------------------------------------------------------------------

    def dispatch_round(self, round_id: int, now: float, *, is_repeated: bool) -> None:
        """Give every referee its matches of this round: the players know of it."""
        assigned = [match for match in self._ledger.matches_in(round_id) if match.status == "ASSIGNED"]
        self._dispatch_all(assigned, now, is_repeated=is_repeated)

    def dispatch_again(self, now: float) -> None:
        """After a restart, dispatch everything that is open, with new leases."""
        by_round: dict[int, list[ScheduledMatch]] = {}
        for referee_id in self._ledger.in_play.holdings:
            for match in self._ledger.held_by(referee_id):
                by_round.setdefault(match.round_id, []).append(match)
        for round_id, matches in sorted(by_round.items()):
            # The others leave with their round, when its players were told.
            if self._ledger.rounds[round_id - 1].assignments_sent:
                self._dispatch_all(matches, now, is_repeated=True)

    def _dispatch_all(
        self,
        matches: Sequence[ScheduledMatch],
        now: float,
        *,
        is_repeated: bool = False,
    ) -> None:
        """Dispatch matches: those of one round go to a referee in one message."""
        groups: dict[tuple[str, int], list[ScheduledMatch]] = {}
        for match in matches:
            groups.setdefault((match.referee_id or "", match.round_id), []).append(match)
        for (referee_id, _), group in groups.items():
            for start in range(0, len(group), MATCHES_IN_ONE_MESSAGE):
                part = group[start : start + MATCHES_IN_ONE_MESSAGE]
                self._dispatch(
                    self.context.member(referee_id),
                    part,
                    now,
                    is_repeated=is_repeated,
                )

    def _dispatch(
        self,
        referee: Member,
        matches: Sequence[ScheduledMatch],
        now: float,
        *,
        is_repeated: bool = False,
    ) -> None:
        """Dispatch matches to one referee. Our referees get all of them at once."""
        # Third-party referees may not keep a queue. They get what they can play at a time, and the next match when one
        # is reported.
        if not self.leases.is_ours(referee.agent_id):
            room = self._room(referee)
            if len(matches) > room:
                self._kept_back[referee.agent_id] = None
                matches = matches[:room]
        if not matches:
            return
        self.leases.begin(referee, matches, now)
        introduced = [match for match in matches if self.dispatches.messages.is_known_to_players(match)]
        if introduced:
            self.dispatches.dispatch(referee, introduced, self.leases.duration_s, now, again=is_repeated)
        for match in matches:
            if match not in introduced:
                self._introduce(referee, match, is_repeated, now)

    def _introduce(
        self,
        referee: Member,
        match: ScheduledMatch,
        is_repeated: bool,
        now: float,
    ) -> None:
        """Tell the players of their referee before it gets the match.

        Players listen to a referee that shows no derived tokens only if they were told of it (section 9.2). It gets the
        match when both players have answered, or can't be reached.
        """
        attempt = match.attempt
        waiting = set(match.players)

        def introduced(delivery: Delivery, _: Ending, then: float) -> None:
            waiting.discard(delivery.peer)
            # Meanwhile the match may have been taken away, or given to its referee after all.
            is_same = match.referee_id == referee.agent_id and match.attempt == attempt
            is_held = match.status == "ASSIGNED" and is_same
            if not waiting and is_held and not self.dispatches.is_dispatched(match):
                self.dispatches.dispatch(
                    referee,
                    [match],
                    self.leases.duration_s,
                    then,
                    again=is_repeated,
                )

        message = self.dispatches.messages.announcement_of(match, now)
        policy = Policy(INTRODUCTION_S, ONCE)
        deliveries = [
            Delivery(
                player,
                "introduce",
                message,
                policy,
                address=partial(self._address, player),
                on_end=introduced,
            )
            for player in match.players
        ]
        self.context.calls.deliver(deliveries, now)

    def _address(self, agent_id: str) -> Address | None:
        return self.context.address(self.context.member(agent_id))

    def _room(self, referee: Member) -> int:
        """Return how many more matches the referee can play now."""
        held = self._ledger.held_by(referee.agent_id)
        dispatched = sum(map(self.dispatches.is_dispatched, held))
        return max(referee.as_referee.capacity - dispatched, 0)

    def _dispatch_next(self, now: float) -> None:
        """Dispatch what was kept back, as far as there is room for it now."""
        for referee_id in list(self._kept_back):
            self._kept_back.pop(referee_id)
            held = self._ledger.held_by(referee_id)
            announced = [match for match in held if self._ledger.round_of(match).assignments_sent]
            matches = [match for match in announced if not self.dispatches.is_dispatched(match)]
            self._dispatch_all(matches, now)

    def show_new_token(self, player: Member, now: float) -> None:
        """Tell the referees of a player that it uses another token than we thought."""
        # A third-party referee that is told of a match once more might play it once more. Referees of ours take the new
        # tokens over, and so do those that ask before they decide a loss: they know attempts.
        for referee in self._ledger.roster.of_role("referee"):
            for match in self._ledger.held_by(referee.agent_id):
                if player.agent_id not in match.players or not self.dispatches.is_dispatched(match):
                    continue
                if self.leases.is_ours(referee.agent_id) or referee.as_referee.asks_before_losses:
                    self.dispatches.remind(referee, match, now)

    # --- leases -------------------------------------------------------------------------------------------------------

    def prolong(self, match: ScheduledMatch, referee: Member, now: float) -> None:
        """Its referee asks about the match, so it is playing it."""
        self.leases.prolong(match, now)
        self.dispatches.make_up(referee, match, now)

    def findings_about(self, member: Member) -> str:
        """Return what was found out about a member and what it has not reported, in words."""
        sentences = [member.probed.findings]
        late = self.leases.late().get(member.agent_id)
        if late:
            sentences.append(f"it {self.leases.lateness(late)}")
        return ". ".join(filter(None, sentences))

    def _refused(self, dispatch: Dispatch, advice: str, now: float) -> None:
        """Its referee accepts the match in no way that we know: tell the operator, and let another referee play it,
        unless this one may be playing."""
        referee_id = dispatch.referee_id
        why = f"it refuses every form of assignment that we know; {without_tokens(dispatch.refusal)}"
        findings = f"{why}. {advice}"
        if self.context.member(referee_id).probed.findings != findings:
            self.context.happened(AgentProbed(at=now, agent_id=referee_id, findings=findings, is_trouble=True))
        others = [referee for referee in self._answering() if referee.agent_id != referee_id]
        if not dispatch.may_be_playing and any(self.leases.is_reliable(referee.agent_id) for referee in others):
            self.failed(dispatch.match, f"{referee_id}: {why}", now)

    # --- taking away and reassigning ----------------------------------------------------------------------------------

    def ping_answered(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> None:
        """Take away the matches that a referee should have and no longer lists."""
        for match in self.dispatches.compare(referee, pong, pinged_at, now):
            self._overdue(match, f"{referee.agent_id} no longer holds it", now)

    def has_arrived(self, referee: Member) -> bool:
        """True if a referee knows of all matches that it was to be told of."""
        held = self._ledger.held_by(referee.agent_id)
        return all(map(self.dispatches.has_arrived, held))

    def reassign(self, now: float) -> None:
        """Take matches from dead referees, so that live ones get them.

        While there is no live referee the matches stay: their referee may come back and report, and nobody else could
        play them.
        """
        if self._ledger.controls.paused or not self.is_possible:
            return
        for referee in self._ledger.roster.of_role("referee"):
            if referee.state == "SUSPENDED":
                for match in self._ledger.held_by(referee.agent_id):
                    self._lose(match, f"{referee.agent_id} is silent", now, is_silent=True)

    def came_back(self, now: float) -> None:
        """Play lost and parked matches again: a referee is back, or a new one came."""
        self.reassign(now)
        for match_id in list(self._ledger.in_play.parked):
            self.context.happened(MatchUnparked(at=now, match_id=match_id))

    def failed(self, match: ScheduledMatch, why: str, now: float) -> None:
        """Its referee did not finish the match, and nothing more will come.

        The referee gets no other match before it has proven itself, and what was kept back for it goes to others.
        """
        referee_id = match.referee_id or ""
        self._overdue(match, why, now, counts=True)
        if match.status == "ASSIGNED":
            return
        self.leases.lapsed(referee_id)
        if any(self.leases.is_reliable(referee.agent_id) for referee in self._answering()):
            for held in self._ledger.held_by(referee_id):
                if not self.dispatches.is_dispatched(held):
                    self._overdue(
                        held,
                        f"{referee_id} did not finish {match.match_id}",
                        now,
                    )

    def _overdue(
        self,
        match: ScheduledMatch,
        why: str,
        now: float,
        *,
        counts: bool = False,
    ) -> None:
        """Take the match away, unless nobody else could play it."""
        if self._ledger.is_running and not self._ledger.controls.paused and self.is_possible:
            self._lose(match, why, now, counts=counts)

    def _lose(
        self,
        match: ScheduledMatch,
        why: str,
        now: float,
        *,
        counts: bool = False,
        is_silent: bool = False,
    ) -> None:
        """`counts`: it is one of the three attempts even if it was never acknowledged, because a referee that is alive
        had the time for it."""
        counts = counts or self.dispatches.is_acknowledged(match)
        if self.draws.is_decided(match):
            # The match is decided: everything that decides it was handed in before its referee was lost.
            self.draws.decide(match, now)
            return
        self.dispatches.giving.taken_away(match.referee_id or "")
        self.context.happened(
            MatchLost(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                why=why,
                counts=counts,
                is_silent=is_silent,
            )
        )
        if match.tries >= ATTEMPTS:
            self.context.happened(MatchParked(at=now, match_id=match.match_id))
