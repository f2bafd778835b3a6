"""The manager of friendly matches: the League Manager, with guests that are registered nowhere.

Registration, tokens, assignments, reports and the table are the league's own. Three things differ:

- A guest is a member from the beginning, without a token. It never registered, so there is nothing it could show.
- The schedule is a list of fixtures, one match to a round, instead of a round robin.
- Members hear only of the rounds to come. They get no table and never LEAGUE_COMPLETED: a player that is told of the
  end of its league may end its process, and a guest has a league elsewhere, or none yet.

The matches end when all fixtures are played, or when a guest has lost twice in a row by its own fault. Then no
further round opens, and the league stays open until its process ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from league.calling.delivery import Delivery
from league.events import AgentRegistered, Bulletin, Pairing, ScheduleMade
from league.machine import Address, Chance, Letter, Refusal
from league.manager.league_manager import LeagueManager
from league.manager.season.rounds import Rounds
from league.manager.state.ledger import Ledger
from league.manager.state.roster import FAULTS_THAT_SUSPEND, Member
from league.manager.telling.broadcasts import Broadcasts
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Unsealed
from league.protocol.message.messages import LeagueRegisterRequest, RefereeRegisterRequest, RoundAnnouncement
from league.settings import LeagueSettings

REFEREE_ID: Final = "REF01"
"""The first referee of a league: some players take matches only from referees whose ids they know."""
GUEST_ID: Final = "P01"
LAST_OPPONENT: Final = 99
"""Opponents are P99, P98, …: a guest may answer under its id of another league, which must not be theirs (E033)."""
NUMBERS: Final = 100_000_000
"""Matches are numbered by the millisecond, modulo this (more than a day): two runs of the command never share one."""


@dataclass(frozen=True, slots=True)
class Fixtures:
    """The matches to play: the guest meets the opponents in turn.

    `opponents` play in this process, `rivals` elsewhere, as the guest does. `first` is the number of the first match.
    A player that remembers its matches must not mistake a new one for one of an earlier run.
    """

    league_id: str
    game_type: str
    guest: Address
    opponents: tuple[str, ...]
    matches: int
    first: int
    move_seconds: float | None = None
    rivals: tuple[Address, ...] = ()
    opening_at: Callable[[int], tuple[str, ...]] = lambda _: ()
    """Returns the moves that the match at a place begins with."""

    @property
    def guests(self) -> tuple[Address, ...]:
        """The players that run elsewhere."""
        return (self.guest, *self.rivals)

    def match_id(self, place: int) -> str:
        return f"R{place + 1}M{self.first + place}"

    def place(self, match_id: str) -> int:
        """Return the place of a match, counted from 0."""
        return int(match_id.rpartition("M")[2]) - self.first

    def opening(self, match_id: str) -> tuple[str, ...]:
        """Return the moves that a match begins with."""
        return self.opening_at(self.place(match_id))

    def meetings_before(self, match_id: str) -> int:
        """Return how many matches the opponent of this match has before it."""
        return self.place(match_id) // len(self._all_opponents)

    def opponent(self, place: int) -> str:
        opponents = self._all_opponents
        return opponents[place % len(opponents)]

    @property
    def _all_opponents(self) -> tuple[str, ...]:
        return (*self.opponents, *(rival.agent_id for rival in self.rivals))

    def pairing(self, place: int) -> Pairing:
        """Return the match at this place. The sides change with every match."""
        match_id = self.match_id(place)
        guest_id = self.guest.agent_id
        if place % 2 == 0:
            return Pairing(match_id, guest_id, self.opponent(place))
        return Pairing(match_id, self.opponent(place), guest_id)


def opponent_ids(count: int) -> tuple[str, ...]:
    return tuple(f"P{LAST_OPPONENT - place:02}" for place in range(count))


def first_number(now: float) -> int:
    """Return the number of a match that begins now."""
    return int(now * 1000) % NUMBERS + 1


class SparringManager(LeagueManager):
    """Gives out matches until all are played, or a guest has lost too often by its own fault.

    `endpoints` are the addresses of our own referee and opponents. Nobody else can register.
    """

    def __init__(
        self,
        fixtures: Fixtures,
        endpoints: Collection[str],
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.fixtures = fixtures
        self.refusal: Refusal | None = None
        """The answer of our own referee to a match that it cannot play."""
        self._endpoints = endpoints
        # The base class builds its parts at once, and they need what is set above.
        settings = _settings(fixtures)
        super().__init__(settings, chance, secrets, ledger=_ledger_with_guests(settings, fixtures))
        self._calls.on_answer = self._call_answered

    @property
    def gave_up(self) -> bool:
        """True if a guest lost its last matches by its own fault. Another such loss would teach nothing new."""
        members = self.ledger.roster.members
        for guest in self.fixtures.guests:
            if members[guest.agent_id].attendance.faults_in_a_row >= FAULTS_THAT_SUSPEND:
                return True
        return False

    @property
    def is_over(self) -> bool:
        is_played = len(self.completed) == self.fixtures.matches
        return is_played or self.gave_up or self.refusal is not None

    # --- what differs from a league -----------------------------------------------------------------------------------

    def _make_broadcasts(self, *parts: Any) -> Broadcasts:
        return SparringBroadcasts(*parts)

    def _make_rounds(self, *parts: Any) -> Rounds:
        rounds = SparringRounds(*parts)
        rounds.manager = self
        return rounds

    def _requested(self, letter: Letter, now: float) -> None:
        if isinstance(letter.content, Unsealed) and self._is_stranger(letter.content.message):
            raise PeerError("E019", "only the referee and the opponents of these friendly matches can register here")
        super()._requested(letter, now)

    def _is_stranger(self, message: object) -> bool:
        if isinstance(message, RefereeRegisterRequest):
            return message.referee_meta.contact_endpoint not in self._endpoints
        if isinstance(message, LeagueRegisterRequest):
            return message.player_meta.contact_endpoint not in self._endpoints
        return False

    def _call_answered(self, delivery: Delivery, now: float) -> None:
        # A league would try another referee, and after a while wait for an operator. Here there is neither.
        is_assignment = delivery.peer == REFEREE_ID and isinstance(delivery.message, RoundAnnouncement)
        if is_assignment and isinstance(delivery.answer, Refusal):
            self.refusal = delivery.answer
        self._requests.signs_of_life.call_answered(delivery, now)


class SparringRounds(Rounds):
    """The fixtures, one after the other."""

    manager: SparringManager

    def _start(self, now: float) -> None:
        fixtures = self.manager.fixtures
        if not self._ledger.rounds:
            rounds = tuple((fixtures.pairing(place),) for place in range(fixtures.matches))
            byes = (None,) * fixtures.matches
            self.context.happened(ScheduleMade(at=now, rounds=rounds, byes=byes))
        super()._start(now)

    def _go_on(self, now: float) -> bool:
        # Without this the manager would finish the league, and tell everybody.
        if self.manager.is_over:
            return False
        return super()._go_on(now)


class SparringBroadcasts(Broadcasts):
    """Announcements of rounds, and nothing else."""

    def _is_owed(self, member: Member, bulletin: Bulletin) -> bool:
        return bulletin.kind == "round_announced" and super()._is_owed(member, bulletin)

    def _renew_table(self, now: float) -> None:
        """Write no table: members that are owed none are sent none."""


def _settings(fixtures: Fixtures) -> LeagueSettings:
    settings: dict[str, Any] = {}
    if fixtures.move_seconds is not None:
        settings["move_seconds"] = fixtures.move_seconds
    return LeagueSettings(
        league_id=fixtures.league_id,
        game_type=fixtures.game_type,
        players=len(fixtures.guests) + len(fixtures.opponents),
        referees=1,
        # A silent guest loses its matches. A league would wait for a player that is gone.
        outage_minutes=0.0,
        enrolment="open",
        **settings,
    )


def _ledger_with_guests(settings: LeagueSettings, fixtures: Fixtures) -> Ledger:
    ledger = Ledger(settings)
    for serial, guest in enumerate(fixtures.guests, start=1):
        registration = AgentRegistered(
            at=0.0,
            role="player",
            agent_id=guest.agent_id,
            display_name=_guest_name(serial),
            version="1.0.0",
            endpoint=guest.endpoint,
            origin="",
            game_types=(fixtures.game_type,),
            serial=serial,
            verify="",
        )
        ledger.apply(registration)
        # Without a token none of its answers can be checked, so the referee is told to check none.
        ledger.roster.members[guest.agent_id].credentials.tokens.clear()
    return ledger


def _guest_name(serial: int) -> str:
    if serial == 1:
        return "Guest"
    return f"Guest {serial}"
