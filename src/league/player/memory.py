"""The state of a player: its place in the league, its invitations with the answers it gave, and its past matches.

Theory of operation. Events build this state, and nothing else changes it: live and in replay, each event has one
*effect*. A match is known once for each referee that invited us to it (`InvitedMatch`), and each of these is

- *open* while its referee may ask for choices; it is not if we declined, and no longer when it is over;
- *over* after its GAME_OVER; its answers are dropped then;
- *superseded* when a later attempt counts. A superseded match may still be open: a referee that was given up for dead
  may come back and play on. It gets its answers, or it would find us at fault (promise 11), but they count nowhere.

What must never happen: a stranger, who cannot prove to be a referee, supersedes a match of one who can; something of
an earlier league is left over, since its match ids come again in the next one; the memory grows without bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, structs, to_builtins

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
    MatchMissed,
    Registered,
    RoundAnnounced,
    RoundEnded,
)
from league.games import registry
from league.games.contract import LEAGUE_POINTS, PLAYER_A, PLAYER_B, SEATS, Seat, opponent
from league.lifecycle import after
from league.player.history import REMEMBERED, History, PastMatch, past_match
from league.protocol.message.experiment import Provenance

TURNS: Final = 1_000
"""Maximum number of answers kept in one match; no game has so many turns."""
REFEREES: Final = 8
"""Maximum number of referees kept for one match."""
FAILURES: Final = 20
_NOBODY: Final[Mapping[str, InvitedMatch]] = {}

PlayerPhase = Literal[
    "UNREGISTERED",
    "REGISTERED",
    "WAITING_FOR_ROUND",
    "IN_MATCH",
    "WAITING_FOR_RESULT",
]
"""The documents' states of a player, within the five of every agent (R-47)."""


class InvitedMatch:
    """A match as one referee invited us to it."""

    def __init__(self, invitation: InvitationAnswered) -> None:
        self.invitation = invitation
        self.match_id = invitation.match_id
        self.referee_id = invitation.referee_id
        self.player_id = invitation.player_id
        self.trusted = invitation.trusted
        self.attempt = invitation.attempt
        self.stated_attempt = invitation.stated_attempt
        """The attempt as its referee numbers it; 0 if it does not."""
        self.token_attempt = invitation.stated_attempt or 1
        """The attempt as this match's tokens number it."""
        self.answers: dict[int, ChoiceGiven] = {}
        """Our choices by turn, in the order in which they were given; dropped when the match is over."""
        self.signed: dict[int, ChoiceGiven] = {}
        """Our final choices of this attempt, as long as we signed all of them."""
        self.signs = invitation.signs
        """We may sign the next choice, too: what we sign covers all before it."""
        self.superseded = False
        """A later attempt counts."""
        self.over = False
        self.is_open = invitation.accepted
        """Its referee may ask for choices."""

    @property
    def named(self) -> dict[str, Any]:
        """The fields by which events name this match (Any: spread into an event)."""
        return {
            "match_id": self.match_id,
            "attempt": self.attempt,
            "referee_id": self.referee_id,
        }

    @property
    def is_replay(self) -> bool:
        """True if it may go on after the league is over: a LEAGUE_COMPLETED from before it may arrive late."""
        return self.trusted and self.stated_attempt > 1

    @property
    def last_turn(self) -> int | None:
        """The turn we answered last, unless the referee refused that answer."""
        return next(reversed(self.answers), None)

    def attempt_of(self, stated: int) -> int:
        """Return our number of the attempt that its referee calls `stated` (0: it does not number them)."""
        if stated and self.stated_attempt:
            return self.attempt + stated - self.stated_attempt
        return self.attempt

    def end(self, attempt: int) -> None:
        """End the match, perhaps in a later attempt than the one whose invitation reached us."""
        if self.stated_attempt:
            self.stated_attempt += attempt - self.attempt
        self.token_attempt = self.stated_attempt or 1
        self.attempt = attempt
        self.over = True
        self.is_open = False
        self.answers.clear()

    def supersede(self, other: InvitedMatch) -> None:
        """Mark the other one as superseded if this attempt is later, and can be trusted as much."""
        if self.attempt > other.attempt and (self.trusted or not other.trusted):
            other.superseded = True

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            **structs.asdict(self.invitation),
            "attempt": self.attempt,
            "stated_attempt": self.stated_attempt,
            "answers": [(turn, answer.choice) for turn, answer in self.answers.items()],
            "superseded": self.superseded,
            "over": self.over,
            "signed": [(turn, answer.signature) for turn, answer in self.signed.items()],
        }


class InvitedMatches:
    """All invitations, by match and inviting referee; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._by_match: dict[str, dict[str, InvitedMatch]] = {}

    @property
    def known_as(self) -> frozenset[str]:
        """The ids by which referees have called us."""
        return frozenset(match.player_id for referees in self._by_match.values() for match in referees.values())

    def of(self, match_id: str) -> list[InvitedMatch]:
        """Return the match, once for each referee that invited us to it."""
        return list(self._by_match.get(match_id, {}).values())

    def by(self, match_id: str, referee_id: str) -> InvitedMatch | None:
        """Return the match as this referee invited us to it."""
        referees = self._by_match.get(match_id)
        if referees is None:
            return None
        return referees.get(referee_id)

    def newest_attempt(self, match_id: str, is_trusted: bool) -> int:
        """Return the highest attempt of a match that counts against such a sender; 0 without any."""
        newest = 0
        for match in self._by_match.get(match_id, _NOBODY).values():
            if match.attempt > newest and (match.trusted or not is_trusted):
                newest = match.attempt
        return newest

    def invited(self, event: InvitationAnswered) -> InvitedMatch:
        """Add the match of this invitation, in place of an earlier one by the same referee."""
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
        """Keep an answer of ours."""
        match = self._current(event)
        if match is not None:
            match.answers.pop(event.turn, None)  # the newest comes last
            match.answers[event.turn] = event
            if event.signature:
                match.signed[event.turn] = event
            elif event.final:
                match.signs = False
            if len(match.answers) > TURNS:
                _forget_first(match.answers)

    def refused(self, event: ChoiceRefused) -> None:
        """Drop an answer of ours that the referee refused."""
        match = self._current(event)
        # It may be gone already: a GAME_ERROR and a repeated call say the same.
        if match is not None:
            match.answers.pop(event.turn, None)

    def ended(self, event: GameEnded) -> InvitedMatch | None:
        """End a match. Return it as the referee that ended it invited us to it, or else as the last one did."""
        ended = None
        match = None
        for match in self._by_match.get(event.match_id, _NOBODY).values():
            if match.referee_id == event.referee_id:
                ended = match
                match.end(event.attempt)
            elif event.trusted and match.attempt < event.attempt:
                match.superseded = True
        return ended or match

    def _current(self, event: ChoiceGiven | ChoiceRefused) -> InvitedMatch | None:
        match = self._by_match.get(event.match_id, _NOBODY).get(event.referee_id)
        if match is None or match.attempt != event.attempt or not match.is_open:
            return None
        return match

    def snapshot(self) -> list[dict[str, Any]]:
        """Return everything as plain data."""
        return [match.snapshot() for referees in self._by_match.values() for match in referees.values()]


def _forget_first(entries: dict[Any, Any]) -> None:
    del entries[next(iter(entries))]


class FailedChoice(Struct, frozen=True):
    """A choice our strategy was asked for and did not make."""

    match_id: str
    turn: int
    detail: str


class PlayerMemory:
    """The state of a player, except for what its registrations gave it.

    Only `apply` changes it, or a caller that looks up the effect of an event in `effects` itself.
    """

    def __init__(self) -> None:
        self._begin_league()
        # One table instead of a chain of tests: live and in replay, every event passes through it.
        self.effects: Mapping[type[Event], Callable[[Any], None]] = {
            Registered: self._registered,
            RoundAnnounced: self._round_announced,
            RoundEnded: self._round_ended,
            InvitationAnswered: self._invitation_answered,
            ChoiceGiven: self._choice_given,
            # A new league replaces `matches`, so its method must not be bound here.
            ChoiceRefused: lambda event: self.matches.refused(event),
            ChoiceFailed: self._choice_failed,
            GameEnded: self._game_ended,
            MatchMissed: lambda event: self.missed.add(event.match_id),
            LeagueEnded: self._league_ended,
        }

    def apply(self, event: Event) -> None:
        """Make one event true; events that are not a player's change nothing."""
        effect = self.effects.get(type(event))
        if effect is not None:
            effect(event)

    def _begin_league(self) -> None:
        """Begin with an empty memory: match ids of an earlier league come again in the next one."""
        self.state: AgentState = "INIT"
        self.announced_round = 0
        self.ended_round = 0
        self.champion: str | None = None
        self.end: LeagueEnded | None = None
        """The end of the league, with our row of the final table."""
        self.referees: dict[str, AnnouncedReferee] = {}
        """By match, as the manager announced them."""
        self.matches = InvitedMatches()
        self.history = History()
        self.tally = OwnTally()
        self.missed: set[str] = set()
        """Matches that ended while we were away."""
        self.failures: deque[FailedChoice] = deque(maxlen=FAILURES)
        self.tokens_spent = 0
        self.cost_spent = 0.0
        self._playing: tuple[str, str] | None = None
        """Match and referee of the match we joined last."""

    @property
    def is_over(self) -> bool:
        """True after the end of the league."""
        return self.state == "SHUTDOWN"

    @property
    def playing(self) -> InvitedMatch | None:
        """The match we joined last, while it may still go on."""
        if self._playing is None:
            return None
        match = self.matches.by(*self._playing)
        if match is None or not match.is_open or match.superseded:
            return None
        return match

    @property
    def phase(self) -> PlayerPhase:
        """Our state in the documents' own words; after the end we are merely registered."""
        if self.state == "INIT":
            return "UNREGISTERED"
        if self.state != "ACTIVE":
            return "REGISTERED"
        match = self.playing
        if match is None:
            return "WAITING_FOR_ROUND"
        return "WAITING_FOR_RESULT" if match.answers else "IN_MATCH"

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "state": self.state,
            "announced_round": self.announced_round,
            "ended_round": self.ended_round,
            "champion": self.champion,
            "final": to_builtins(self.end),
            "referees": {match_id: structs.asdict(referee) for match_id, referee in self.referees.items()},
            "matches": self.matches.snapshot(),
            "history": self.history.snapshot(),
            "missed": sorted(self.missed),
            "failures": [structs.asdict(failure) for failure in self.failures],
            "tokens_spent": self.tokens_spent,
            "cost_spent": self.cost_spent,
            "playing": self._playing,
        }

    # --- effects of events --------------------------------------------------------------------------------------------

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
            # Either the league has just begun, or a match is played again after its end.
            self.state = after(after(self.state, "reopen"), "league_start")
        match = self.matches.invited(event)
        # A stranger's invitation does not hide the match we are playing.
        if match.is_open and not match.superseded and (event.trusted or self.playing is None):
            self._playing = (event.match_id, event.referee_id)

    def _choice_given(self, event: ChoiceGiven) -> None:
        self.matches.chosen(event)
        if event.provenance:
            self._spent(event.provenance)

    def _spent(self, provenance: Provenance) -> None:
        self.tokens_spent += provenance.tokens
        self.cost_spent += provenance.cost

    def _choice_failed(self, event: ChoiceFailed) -> None:
        if event.provenance:
            self._spent(event.provenance)
        self.failures.append(FailedChoice(event.match_id, event.turn, event.detail))

    def _game_ended(self, event: GameEnded) -> None:
        match = self.matches.ended(event)
        if match is None:
            return
        if not match.is_open and self._playing == (
            match.match_id,
            match.referee_id,
        ):
            self._playing = None
        row = past_match(event, match.player_id, match.invitation.role)
        self.tally.count(row, self.history.by_match.get(row.match_id))
        self.history.add(row)

    def _league_ended(self, event: LeagueEnded) -> None:
        if event.withdrawn:
            self.state = after(self.state, "withdraw")
            return
        self.state = after(self.state, "league_end")
        self.champion = event.champion
        self.end = event


class OwnTally(Struct):
    """The matches that have ended, also those that the history has forgotten, and our points of them."""

    played: int = 0
    points: int = 0

    def count(self, row: PastMatch, earlier_row: PastMatch | None) -> None:
        """Count a match, perhaps in place of its earlier row."""
        if earlier_row is None:
            self.played += 1
        else:
            self.points -= points_of(earlier_row)
        self.points += points_of(row)


def points_of(row: PastMatch) -> int:
    """Our points of a match, by the scoring of its game."""
    game = registry.find(row.game_type)
    scoring = game.scoring if game else LEAGUE_POINTS
    our_seat = PLAYER_A if row.role == "PLAYER_A" else PLAYER_B
    winner = None
    if row.outcome == "WIN":
        winner = our_seat
    elif row.winner is not None:
        winner = opponent(our_seat)
    returns = _returns(row, our_seat) if scoring.by_margin else ()
    return scoring.points(winner, row.status == "TECHNICAL_LOSS", returns)[our_seat]


def _returns(row: PastMatch, our_seat: Seat) -> Sequence[float]:
    """What each seat got, by GAME_OVER; nothing if it does not say so."""
    returns = row.game_result.get("returns")
    if not isinstance(returns, dict) or len(returns) != len(SEATS) or row.opponent_id not in returns:
        return ()
    # Third-party referees may write anything here.
    if not all(isinstance(value, int | float) for value in returns.values()):
        return ()
    theirs = returns[row.opponent_id]
    ours = next(value for player, value in returns.items() if player != row.opponent_id)
    return (ours, theirs) if our_seat == PLAYER_A else (theirs, ours)
