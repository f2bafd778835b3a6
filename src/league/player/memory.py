"""The state of a player: where it stands in its league, the matches it was invited to and what it answered in them, the
matches it played. Events build it, and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
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
_NOBODY: Final[Mapping[str, InvitedMatch]] = {}

PlayerPhase = Literal["UNREGISTERED", "REGISTERED", "WAITING_FOR_ROUND", "IN_MATCH", "WAITING_FOR_RESULT"]
"""The documents' states of a player, within the five of every agent (R-47)."""


class InvitedMatch:
    """A match as one referee invited us to it."""

    def __init__(self, invitation: InvitationAnswered) -> None:
        self.invitation = invitation
        self.match_id, self.referee_id = invitation.match_id, invitation.referee_id
        self.player_id, self.trusted = invitation.player_id, invitation.trusted
        self.attempt = invitation.attempt
        self.stated_attempt = invitation.stated_attempt
        """The attempt as its referee numbers it; 0 if it does not."""
        self.token_attempt = invitation.stated_attempt or 1
        """The attempt as this match's tokens number it."""
        self.answers: dict[int, ChoiceGiven] = {}
        """Our choices by turn, in the order in which they were given; dropped when the match is over."""
        self.superseded = False
        """A later attempt counts."""
        self.over = False
        self.is_open = invitation.accepted
        """May its referee ask for choices?"""

    @property
    def named(self) -> dict[str, Any]:
        """What events call it by (Any: spread into an event)."""
        return {"match_id": self.match_id, "attempt": self.attempt, "referee_id": self.referee_id}

    @property
    def is_replay(self) -> bool:
        """May it be played on when the league is over? A LEAGUE_COMPLETED from before it may arrive late."""
        return self.trusted and self.stated_attempt > 1

    @property
    def last_turn(self) -> int | None:
        """The turn we answered last and nobody refused."""
        return next(reversed(self.answers), None)

    def attempt_of(self, stated: int) -> int:
        """Our number of the attempt that its referee calls `stated` (0: it does not number them)."""
        return self.attempt + (stated - self.stated_attempt if stated and self.stated_attempt else 0)

    def end(self, attempt: int) -> None:
        """It is over, perhaps in a later attempt than the one whose invitation reached us."""
        self.stated_attempt += attempt - self.attempt if self.stated_attempt else 0
        self.token_attempt = self.stated_attempt or 1
        self.attempt = attempt
        self.over, self.is_open = True, False
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
        referees = self._by_match.get(match_id)
        return referees.get(referee_id) if referees is not None else None

    def newest_attempt(self, match_id: str, is_trusted: bool) -> int:
        """The highest attempt of a match that counts against such a sender; 0 without any."""
        newest = 0
        for one in self._by_match.get(match_id, _NOBODY).values():
            if one.attempt > newest and (one.trusted or not is_trusted):
                newest = one.attempt
        return newest

    def invited(self, event: InvitationAnswered) -> InvitedMatch:
        # The newest comes last, so that the first is the one to be forgotten.
        referees = self._by_match.pop(event.match_id, {})
        self._by_match[event.match_id] = referees
        referees.pop(event.referee_id, None)
        invited = InvitedMatch(event)
        for other in referees.values():
            other.supersede(invited)
            invited.supersede(other)
        referees[event.referee_id] = invited
        if len(referees) > REFEREES:
            _forget_first(referees)
        if len(self._by_match) > REMEMBERED:
            _forget_first(self._by_match)
        return invited

    def chosen(self, event: ChoiceGiven) -> None:
        match = self._current(event)
        if match is not None:
            match.answers.pop(event.turn, None)  # the newest comes last
            match.answers[event.turn] = event
            if len(match.answers) > TURNS:
                _forget_first(match.answers)

    def refused(self, event: ChoiceRefused) -> None:
        match = self._current(event)
        if match is not None:
            match.answers.pop(event.turn, None)

    def ended(self, event: GameEnded) -> InvitedMatch | None:
        """The match that is over, as whoever says so invited us to it, or else who did so last."""
        its, last = None, None
        for last in self._by_match.get(event.match_id, _NOBODY).values():
            if last.referee_id == event.referee_id:
                its = last
                last.end(event.attempt)
            elif event.trusted:
                last.superseded |= last.attempt < event.attempt
        return its or last

    def _current(self, event: ChoiceGiven | ChoiceRefused) -> InvitedMatch | None:
        match = self._by_match.get(event.match_id, _NOBODY).get(event.referee_id)
        return match if match is not None and match.attempt == event.attempt and match.is_open else None

    def snapshot(self) -> list[dict[str, Any]]:
        return [match.snapshot() for referees in self._by_match.values() for match in referees.values()]


def _forget_first(kept: dict[Any, Any]) -> None:
    del kept[next(iter(kept))]


@dataclass(frozen=True, slots=True)
class FailedChoice:
    """A choice our strategy was asked for and did not make."""

    match_id: str
    turn: int
    detail: str


class PlayerMemory:
    """The state of a player, but for what its registrations gave it. Only `apply` changes it, or who looks up itself
    which of the `effects` an event has."""

    def __init__(self) -> None:
        self._begin_league()
        self.effects: Mapping[type[Event], Callable[[Any], None]] = {
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

    def apply(self, event: Event) -> None:
        """Make one event true; what is none of a player's changes nothing."""
        effect = self.effects.get(type(event))
        if effect is not None:
            effect(event)

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
        if self.state != "ACTIVE":
            self.state = after(self.state, "league_start")
        if event.round_id > self.announced_round:
            self.announced_round = event.round_id
        for match_id, referee in event.referees.items():
            self.referees[match_id] = referee
            if len(self.referees) > REMEMBERED:
                _forget_first(self.referees)

    def _round_ended(self, event: RoundEnded) -> None:
        if self.state != "ACTIVE":
            self.state = after(self.state, "league_start")
        if event.round_id > self.ended_round:
            self.ended_round = event.round_id
        match = self.playing
        if match is not None and match.invitation.round_id <= event.round_id:
            # Its GAME_OVER was lost, or it never came to its end.
            self._playing = None

    def _invitation_answered(self, event: InvitationAnswered) -> None:
        if self.state != "ACTIVE":
            self.state = after(after(self.state, "reopen"), "league_start")
        invited = self.matches.invited(event)
        if invited.is_open and not invited.superseded and (event.trusted or self.playing is None):
            self._playing = (event.match_id, event.referee_id)

    def _choice_given(self, event: ChoiceGiven) -> None:
        self.matches.chosen(event)
        self.tokens_spent += event.provenance.tokens if event.provenance else 0

    def _choice_failed(self, event: ChoiceFailed) -> None:
        self.tokens_spent += event.provenance.tokens if event.provenance else 0
        self.failures.append(FailedChoice(event.match_id, event.turn, event.detail))

    def _game_ended(self, event: GameEnded) -> None:
        match = self.matches.ended(event)
        if match is not None:
            if not match.is_open and self._playing == (match.match_id, match.referee_id):
                self._playing = None
            self.history.add(past_match(event, match.player_id, match.invitation.role))

    def _league_ended(self, event: LeagueEnded) -> None:
        self.state = after(self.state, "league_end")
        self.champion, self.final = event.champion, (event.rank, event.points)

    def _withdrawn(self, _: Withdrawn) -> None:
        self.state = after(self.state, "withdraw")
