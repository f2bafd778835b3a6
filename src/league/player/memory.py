"""What a player has been through: all that its events build, but for what its registrations gave it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from league.events import (
    AgentState,
    ChoiceFailed,
    ChoiceGiven,
    ChoiceRefused,
    DeviationRecorded,
    Enrolled,
    Event,
    GameEnded,
    InvitationAnswered,
    LeagueEnded,
    RoundTold,
)
from league.lifecycle import after
from league.player.history import History, past_match
from league.player.matches import Matches, OwnMatch

Phase = Literal["UNREGISTERED", "REGISTERED", "WAITING_FOR_ROUND", "IN_MATCH", "WAITING_FOR_RESULT"]
"""The documents' states of a player, within the five of every agent (R-47)."""

FAILURES: Final = 20
DEVIATIONS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Failed:
    """A question our strategy had no answer to."""

    match_id: str
    turn: int
    detail: str


Deviation = tuple[str, str, str]
"""Who, which error, which clause."""


class Memory:
    """The state of a player. Only `apply` changes it."""

    def __init__(self) -> None:
        self.state: AgentState = "INIT"
        self.announced = 0
        self.completed = 0
        self.champion: str | None = None
        self.matches = Matches()
        self.history = History()
        self.failures: deque[Failed] = deque(maxlen=FAILURES)
        self.deviations: set[Deviation] = set()
        self._playing: tuple[str, str] | None = None
        self._effects: Mapping[type[Event], Callable[[Any], None]] = {
            Enrolled: self._enrolled,
            RoundTold: self._round_told,
            InvitationAnswered: self._invitation_answered,
            ChoiceGiven: self.matches.chosen,
            ChoiceRefused: self.matches.refused,
            ChoiceFailed: self._choice_failed,
            GameEnded: self._game_ended,
            DeviationRecorded: self._deviation_recorded,
            LeagueEnded: self._league_ended,
        }

    def apply(self, event: Event) -> None:
        """Make one event true; what is none of a player's changes nothing."""
        effect = self._effects.get(type(event))
        if effect is not None:
            effect(event)

    # --- what it means ------------------------------------------------------------------------------------------------

    @property
    def playing(self) -> OwnMatch | None:
        """The match we joined last, while it may still go on."""
        match = self.matches.by(*self._playing) if self._playing else None
        return match if match is not None and match.is_open and not match.superseded else None

    @property
    def phase(self) -> Phase:
        """Where we stand, in the documents' own words; after the end we are merely registered."""
        if self.state == "INIT":
            return "UNREGISTERED"
        if self.state != "ACTIVE":
            return "REGISTERED"
        match = self.playing
        if match is None:
            return "WAITING_FOR_ROUND"
        return "WAITING_FOR_RESULT" if match.answers else "IN_MATCH"

    def is_new(self, deviation: Deviation) -> bool:
        """Is it still to be recorded? Once per agent and kind, and not without end."""
        return deviation not in self.deviations and len(self.deviations) < DEVIATIONS

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "state": self.state,
            "announced": self.announced,
            "completed": self.completed,
            "champion": self.champion,
            "matches": self.matches.snapshot(),
            "history": self.history.snapshot(),
            "failures": [asdict(one) for one in self.failures],
            "deviations": sorted(self.deviations),
            "playing": self._playing,
        }

    # --- what events do -----------------------------------------------------------------------------------------------

    def _enrolled(self, _: Enrolled) -> None:
        self.state = after(self.state, "register")

    def _round_told(self, event: RoundTold) -> None:
        self.state = after(self.state, "league_start")
        if not event.completed:
            self.announced = max(self.announced, event.round_id)
            return
        self.completed = max(self.completed, event.round_id)
        match = self.playing
        if match is not None and match.round_id <= event.round_id:
            # Its GAME_OVER was lost, or it never came to its end.
            self._playing = None

    def _invitation_answered(self, event: InvitationAnswered) -> None:
        self.state = after(self.state, "league_start")
        self.matches.invited(event)
        invited = self.matches.by(event.match_id, event.referee_id)
        counts = invited is not None and invited.is_open and not invited.superseded
        if counts and (event.trusted or self.playing is None):
            self._playing = (event.match_id, event.referee_id)

    def _choice_failed(self, event: ChoiceFailed) -> None:
        self.failures.append(Failed(event.match_id, event.turn, event.detail))

    def _game_ended(self, event: GameEnded) -> None:
        invited = self.matches.of(event.match_id)
        if invited:
            match = self.matches.by(event.match_id, event.referee_id) or invited[-1]
            self.history.add(past_match(event, match.player_id, match.role))
            self.matches.ended(event)

    def _deviation_recorded(self, event: DeviationRecorded) -> None:
        self.deviations.add((event.agent_id, event.code, event.requirement))

    def _league_ended(self, event: LeagueEnded) -> None:
        self.state = after(self.state, "league_end")
        self.champion = event.champion
