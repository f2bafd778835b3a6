"""All matches a referee was ever given, as its events made them: which wait, which are played, which are reported."""

from __future__ import annotations

from typing import Any

from league.events import (
    AgentState,
    ConventionLearned,
    Enrolled,
    Event,
    LeagueEnded,
    MatchBegun,
    MatchDropped,
    MatchTaken,
    PlayerDeviated,
    PlayerFaulted,
    PlayersTold,
    ReportSettled,
)
from league.lifecycle import after
from league.referee.match import Match


class Docket:
    """Only `apply` changes it. `open` holds the newest attempt of each match until it is reported or dropped."""

    def __init__(self) -> None:
        self.state: AgentState = "INIT"
        self.champion: str | None = None
        self.matches: dict[tuple[str, int], Match] = {}
        self.open: dict[str, Match] = {}
        self.queue: dict[str, None] = {}
        self.running: dict[str, None] = {}
        self.players: set[str] = set()
        """Everybody who ever played here: whose id in an answer is somebody else's (R-43)."""
        self.conventions: dict[str, str] = {}
        """By endpoint: how a player there is spoken to, once it answered an invitation."""
        self.deviations: set[tuple[str, str, str]] = set()
        """Who deviated from which clause, with which error."""
        self._attempts: dict[str, int] = {}

    def attempt_of(self, match_id: str) -> int:
        """The newest attempt of a match we were given; 0 for none."""
        return self._attempts.get(match_id, 0)

    def newest(self, match_id: str) -> Match | None:
        return self.matches.get((match_id, self.attempt_of(match_id)))

    def apply(self, event: Event) -> None:
        match event:
            case Enrolled():
                self.state = after(self.state, "register")
            case LeagueEnded():
                self.state, self.champion = after(self.state, "league_end"), event.champion
            case ConventionLearned():
                self.conventions[event.endpoint] = event.convention
            case MatchTaken():
                self._taken(event)
            case _:
                self._played(event)

    def _taken(self, event: MatchTaken) -> None:
        self.state = after(self.state, "league_start")
        match = Match(event)
        self.matches[event.match_id, event.attempt] = match
        self.open[event.match_id] = match
        self.queue[event.match_id] = None
        self.players.update(event.players)
        self._attempts[event.match_id] = event.attempt

    def _played(self, event: Any) -> None:
        """Whatever concerns one match (Any: all such events name it and its attempt)."""
        match_id: str = event.match_id
        self.matches[match_id, event.attempt].apply(event)
        match event:
            case MatchBegun():
                del self.queue[match_id]
                self.running[match_id] = None
            case PlayersTold():
                del self.running[match_id]
            case ReportSettled() | MatchDropped():
                del self.open[match_id]
                self.queue.pop(match_id, None)
                self.running.pop(match_id, None)
            case PlayerDeviated():
                self.deviations.add((event.player_id, event.code, event.requirement))
            case PlayerFaulted(phase="join"):
                # Somebody else may sit there now: the next invitation finds out anew.
                taken = self.matches[match_id, event.attempt].taken
                self.conventions.pop(taken.endpoints[taken.players.index(event.player_id)], None)
            case _:
                pass

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "state": self.state,
            "champion": self.champion,
            "open": [match.name for match in self.open.values()],
            "queue": list(self.queue),
            "running": list(self.running),
            "players": sorted(self.players),
            "conventions": dict(sorted(self.conventions.items())),
            "deviations": sorted(self.deviations),
            "matches": {match.name: match.snapshot() for match in self.matches.values()},
        }
