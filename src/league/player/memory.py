"""The state of a player: where it stands in its league, the matches it was invited to and what it answered in them, the
matches it played. Events build it, and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from msgspec import structs

from league.events import (
    AgentState,
    AnnouncedReferee,
    ChoiceFailed,
    ChoiceGiven,
    ChoiceRefused,
    Event,
    GameEnded,
    InvitationAnswered,
    LeagueEnded,
    Registered,
    RoundAnnounced,
    RoundEnded,
    Withdrawn,
)
from league.lifecycle import after
from league.player.history import REMEMBERED, History, past_match

TURNS: Final = 1_000
"""More answers in one match than this are not kept; no game has so many turns."""
REFEREES: Final = 8
"""More referees of one match than this are not kept."""
FAILURES: Final = 20

PlayerPhase = Literal["UNREGISTERED", "REGISTERED", "WAITING_FOR_ROUND", "IN_MATCH", "WAITING_FOR_RESULT"]
"""The documents' states of a player, within the five of every agent (R-47)."""


@dataclass(slots=True)
class InvitedMatch:
    """A match as one referee invited us to it."""

    invitation: InvitationAnswered
    attempt: int
    stated_attempt: int
    """The attempt as its referee numbers it; 0 if it does not."""
    answers: dict[int, ChoiceGiven] = field(default_factory=dict)
    """Our choices by turn, in the order in which they were given; dropped when the match is over."""
    superseded: bool = False
    """A later attempt counts."""
    over: bool = False

    @property
    def match_id(self) -> str:
        return self.invitation.match_id

    @property
    def referee_id(self) -> str:
        return self.invitation.referee_id

    @property
    def named(self) -> dict[str, Any]:
        """What events call it by (Any: spread into an event)."""
        return {"match_id": self.match_id, "attempt": self.attempt, "referee_id": self.referee_id}

    @property
    def player_id(self) -> str:
        return self.invitation.player_id

    @property
    def trusted(self) -> bool:
        return self.invitation.trusted

    @property
    def is_open(self) -> bool:
        """May its referee ask for choices?"""
        return self.invitation.accepted and not self.over

    @property
    def is_replay(self) -> bool:
        """May it be played on when the league is over? A LEAGUE_COMPLETED from before it may arrive late."""
        return self.trusted and self.stated_attempt > 1

    @property
    def last_turn(self) -> int | None:
        """The turn we answered last and nobody refused."""
        return next(reversed(self.answers), None)

    @property
    def token_attempt(self) -> int:
        """The attempt as this match's tokens number it."""
        return self.stated_attempt or 1

    def attempt_of(self, stated: int) -> int:
        """Our number of the attempt that its referee calls `stated` (0: it does not number them)."""
        return self.attempt + (stated - self.stated_attempt if stated and self.stated_attempt else 0)

    def end(self, attempt: int) -> None:
        """It is over, perhaps in a later attempt than the one whose invitation reached us."""
        self.stated_attempt += attempt - self.attempt if self.stated_attempt else 0
        self.attempt = attempt
        self.over = True
        self.answers.clear()

    def supersede(self, other: InvitedMatch) -> None:
        """The other one is superseded if this attempt is later, and may be trusted as much."""
        other.superseded |= self.attempt > other.attempt and (self.trusted or not other.trusted)

    def snapshot(self) -> dict[str, Any]:
        answers = [(turn, given.choice) for turn, given in self.answers.items()]
        known = {"attempt": self.attempt, "stated_attempt": self.stated_attempt, "answers": answers}
        return {**structs.asdict(self.invitation), **known, "superseded": self.superseded, "over": self.over}


class InvitedMatches:
    """By match and inviting referee; the oldest are forgotten first.

    A referee that was given up for dead may come back and play on: it gets its answers, or it would find us at fault
    (promise 11), but its match is superseded. A stranger, who cannot prove to be a referee, supersedes nobody.
    """

    def __init__(self) -> None:
        self._by_match: dict[str, dict[str, InvitedMatch]] = {}

    def of(self, match_id: str) -> list[InvitedMatch]:
        """The match, by every referee that invited us to it."""
        return list(self._by_match.get(match_id, {}).values())

    def by(self, match_id: str, referee_id: str) -> InvitedMatch | None:
        """The match as this referee invited us to it."""
        return self._by_match.get(match_id, {}).get(referee_id)

    def newest_attempt(self, match_id: str, is_trusted: bool) -> int:
        """The highest attempt of a match that counts against such a sender; 0 without any."""
        return max((one.attempt for one in self.of(match_id) if one.trusted or not is_trusted), default=0)

    def invited(self, event: InvitationAnswered) -> None:
        # The newest comes last, so that the first is the one to be forgotten.
        referees = self._by_match.pop(event.match_id, {})
        self._by_match[event.match_id] = referees
        referees.pop(event.referee_id, None)
        invited = InvitedMatch(event, event.attempt, event.stated_attempt)
        for other in referees.values():
            other.supersede(invited)
            invited.supersede(other)
        referees[event.referee_id] = invited
        _forget_first(referees, REFEREES)
        _forget_first(self._by_match, REMEMBERED)

    def chosen(self, event: ChoiceGiven) -> None:
        match = self._current(event)
        if match is not None:
            match.answers.pop(event.turn, None)
            match.answers[event.turn] = event
            _forget_first(match.answers, TURNS)

    def refused(self, event: ChoiceRefused) -> None:
        match = self._current(event)
        if match is not None:
            match.answers.pop(event.turn, None)

    def ended(self, event: GameEnded) -> None:
        for match in self.of(event.match_id):
            if match.referee_id == event.referee_id:
                match.end(event.attempt)
            elif event.trusted:
                match.superseded |= match.attempt < event.attempt

    def _current(self, event: ChoiceGiven | ChoiceRefused) -> InvitedMatch | None:
        match = self.by(event.match_id, event.referee_id)
        return match if match is not None and match.attempt == event.attempt and match.is_open else None

    def snapshot(self) -> list[dict[str, Any]]:
        return [match.snapshot() for referees in self._by_match.values() for match in referees.values()]


def _forget_first(kept: dict[Any, Any], limit: int) -> None:
    if len(kept) > limit:
        del kept[next(iter(kept))]


@dataclass(frozen=True, slots=True)
class FailedChoice:
    """A choice our strategy was asked for and did not make."""

    match_id: str
    turn: int
    detail: str


class PlayerMemory:
    """The state of a player, but for what its registrations gave it. Only `apply` changes it."""

    def __init__(self) -> None:
        self._begin_league()
        self._effects: Mapping[type[Event], Callable[[Any], None]] = {
            Registered: self._registered,
            RoundAnnounced: self._round_announced,
            RoundEnded: self._round_ended,
            InvitationAnswered: self._invitation_answered,
            ChoiceGiven: self._choice_given,
            ChoiceRefused: lambda event: self.matches.refused(event),
            ChoiceFailed: self._choice_failed,
            GameEnded: self._game_ended,
            LeagueEnded: self._league_ended,
            Withdrawn: self._withdrawn,
        }

    def _begin_league(self) -> None:
        """Nothing is known of this league yet. Match ids of another one come again in it: none of them is kept."""
        self.state: AgentState = "INIT"
        self.announced_round = 0
        self.ended_round = 0
        self.champion: str | None = None
        self.final: tuple[int | None, int | None] = (None, None)
        """Rank and points in the final table."""
        self.referees: dict[str, AnnouncedReferee] = {}
        """By match, as the manager announced them."""
        self.matches = InvitedMatches()
        self.history = History()
        self.failures: deque[FailedChoice] = deque(maxlen=FAILURES)
        self.tokens_spent = 0
        self._playing: tuple[str, str] | None = None

    def apply(self, event: Event) -> None:
        """Make one event true; what is none of a player's changes nothing."""
        effect = self._effects.get(type(event))
        if effect is not None:
            effect(event)

    @property
    def is_over(self) -> bool:
        """Has the league ended?"""
        return self.state == "SHUTDOWN"

    @property
    def playing(self) -> InvitedMatch | None:
        """The match we joined last, while it may still go on."""
        match = self.matches.by(*self._playing) if self._playing else None
        return match if match is not None and match.is_open and not match.superseded else None

    @property
    def phase(self) -> PlayerPhase:
        """Where we stand, in the documents' own words; after the end we are merely registered."""
        if self.state == "INIT":
            return "UNREGISTERED"
        if self.state != "ACTIVE":
            return "REGISTERED"
        match = self.playing
        if match is None:
            return "WAITING_FOR_ROUND"
        return "WAITING_FOR_RESULT" if match.answers else "IN_MATCH"

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "state": self.state,
            "announced_round": self.announced_round,
            "ended_round": self.ended_round,
            "champion": self.champion,
            "final": self.final,
            "referees": {match_id: structs.asdict(one) for match_id, one in self.referees.items()},
            "matches": self.matches.snapshot(),
            "history": self.history.snapshot(),
            "failures": [asdict(one) for one in self.failures],
            "tokens_spent": self.tokens_spent,
            "playing": self._playing,
        }

    def _registered(self, event: Registered) -> None:
        if event.new_league:
            self._begin_league()
        self.state = after(self.state, "register")

    def _round_announced(self, event: RoundAnnounced) -> None:
        self.state = after(self.state, "league_start")
        self.announced_round = max(self.announced_round, event.round_id)
        for match_id, referee in event.referees.items():
            self.referees[match_id] = referee
            _forget_first(self.referees, REMEMBERED)

    def _round_ended(self, event: RoundEnded) -> None:
        self.state = after(self.state, "league_start")
        self.ended_round = max(self.ended_round, event.round_id)
        match = self.playing
        if match is not None and match.invitation.round_id <= event.round_id:
            # Its GAME_OVER was lost, or it never came to its end.
            self._playing = None

    def _invitation_answered(self, event: InvitationAnswered) -> None:
        self.state = after(after(self.state, "reopen"), "league_start")
        self.matches.invited(event)
        invited = self.matches.by(event.match_id, event.referee_id)
        counts = invited is not None and invited.is_open and not invited.superseded
        if counts and (event.trusted or self.playing is None):
            self._playing = (event.match_id, event.referee_id)

    def _choice_given(self, event: ChoiceGiven) -> None:
        self.matches.chosen(event)
        self._count_tokens(event)

    def _count_tokens(self, event: ChoiceGiven | ChoiceFailed) -> None:
        self.tokens_spent += event.provenance.tokens if event.provenance else 0

    def _choice_failed(self, event: ChoiceFailed) -> None:
        self._count_tokens(event)
        self.failures.append(FailedChoice(event.match_id, event.turn, event.detail))

    def _game_ended(self, event: GameEnded) -> None:
        invited = self.matches.of(event.match_id)
        if invited:
            match = self.matches.by(event.match_id, event.referee_id) or invited[-1]
            self.history.add(past_match(event, match.player_id, match.invitation.role))
            self.matches.ended(event)

    def _league_ended(self, event: LeagueEnded) -> None:
        self.state = after(self.state, "league_end")
        self.champion, self.final = event.champion, (event.rank, event.points)

    def _withdrawn(self, _: Withdrawn) -> None:
        self.state = after(self.state, "withdraw")
