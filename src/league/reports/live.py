"""The shared files of one agent while it works: a fold of its journal that knows which files changed.

A league's manager is followed by a second one, replayed event by event: what it shows is what `league export` would,
and no thread looks into a machine that another one drives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from league.events import (
    Enrolled,
    Event,
    GameEnded,
    LeagueCreated,
    MatchDecided,
    MatchDropped,
    MatchRecordKept,
    MatchTaken,
    ReportSettled,
)
from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS
from league.machine import Machine
from league.manager.league import LeagueManager
from league.player.competitor import Competitor
from league.player.history import PastMatch
from league.player.memory import Memory
from league.protocol import timestamps
from league.referee.desk import RefereeDesk
from league.reports import shared
from league.reports.replaying import blank_manager
from league.reports.shared import File, MatchAccount, Object, PastRow
from league.storage.transcript import LetterNote

AGENTS, STANDINGS, HISTORY = "agents", "standings", "history"
UNVERIFIED: Final = "this is the referee's account: the manager verifies results"
_POINTS: Final = {"WIN": WIN_POINTS, "DRAW": DRAW_POINTS, "LOSS": LOSS_POINTS}


class Transcript(Protocol):
    """Where the letters of a match are, if they are kept."""

    def letters(self, match_id: str | None = None) -> Iterator[LetterNote]: ...

    def remarks(self) -> Iterator[LetterNote]: ...


class Fold(Protocol):
    """What one role's files are made from. A topic stands for one file."""

    def apply(self, event: Event) -> Iterable[str]:
        """Take in the next event; the topics it changes."""
        ...

    def file(self, topic: str, transcript: Transcript | None) -> File | None:
        """A topic's file as it is now; None if it is not ours to write, or not yet."""
        ...


def fold_for(machine: Callable[[], Machine], folder: Path) -> Fold:
    """The fold that fits an agent's machine. It may be another one later: a disk that fails takes it back."""
    kind = machine()
    if isinstance(kind, LeagueManager):
        return _ManagersFiles()
    if isinstance(kind, RefereeDesk):
        return _RefereesFiles(folder)
    return _PlayersFile(machine)


# --- the manager ------------------------------------------------------------------------------------------------------


class _ManagersFiles:
    """Agents and standings."""

    def __init__(self) -> None:
        self._manager: LeagueManager | None = None
        self._newest = self._newest_about_agents = 0.0

    def apply(self, event: Event) -> Iterable[str]:
        if isinstance(event, LeagueCreated):
            self._manager = blank_manager(event)
        if self._manager is None:
            return ()
        self._manager.apply(event)
        if isinstance(event, MatchRecordKept):
            return ()
        self._newest = max(self._newest, event.at)
        if not shared.is_about_agents(event):
            return (STANDINGS,)
        self._newest_about_agents = max(self._newest_about_agents, event.at)
        return (AGENTS, STANDINGS)

    def file(self, topic: str, _: Transcript | None) -> File | None:
        assert self._manager is not None, "a topic comes after the league's creation"
        if topic == AGENTS:
            return shared.agents_file(self._manager, self._newest_about_agents)
        return shared.standings_file(self._manager, self._newest)


# --- a referee --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Played:
    """A match as its referee knows it: the newest attempt, and all that happened in any."""

    taken: MatchTaken
    told: list[Event] = field(default_factory=list)
    decided: MatchDecided | None = None
    ended: str = ""
    """COMPLETED, or DROPPED where the attempt came to nothing."""

    def take(self, event: Event) -> None:
        self.told.append(event)
        match event:
            case MatchTaken():
                self.taken, self.decided, self.ended = event, None, ""
            case MatchDecided(attempt=self.taken.attempt):
                self.decided = event
            case ReportSettled(attempt=self.taken.attempt):
                self.ended = "COMPLETED" if event.answer == "ACCEPTED" else "DROPPED"
            case MatchDropped(attempt=self.taken.attempt):
                self.ended = "DROPPED"
            case _:
                pass

    @property
    def result(self) -> Object | None:
        one = self.decided
        if one is None or self.ended == "DROPPED":
            return None
        named = {"outcome": one.status, "winner": one.winner, "points": one.points, "details": one.details}
        return {**named, "verified": None}


class _Head(msgspec.Struct):
    """What a match file says of itself."""

    attempt: int = 0
    referee_id: str | None = None
    last_updated: str = ""


class _RefereesFiles:
    """One file a match. Of a match that another referee took over, that one's file stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._referee_id = ""
        self._matches: dict[str, _Played] = {}

    def apply(self, event: Event) -> Iterable[str]:
        if isinstance(event, Enrolled):
            self._referee_id = event.agent_id
        match_id = getattr(event, "match_id", None)
        if not isinstance(match_id, str):
            return ()
        if isinstance(event, MatchTaken):
            known = self._matches.get(match_id)
            if known is None or known.taken.league_id != event.league_id:
                self._matches[match_id] = _Played(event)
        self._matches[match_id].take(event)
        return (match_id,)

    def file(self, topic: str, transcript: Transcript | None) -> File | None:
        one = self._matches[topic]
        taken = one.taken
        if self._is_superseded(taken):
            return None
        letters = islice(transcript.letters(topic), shared.MOST_LETTERS + 1) if transcript else ()
        missing = [note.body.decode(errors="replace") for note in transcript.remarks()] if transcript else []
        account = MatchAccount(
            league_id=taken.league_id,
            match_id=taken.match_id,
            round_id=taken.round_id,
            game_type=taken.game_type,
            players=taken.players,
            referee_id=self._referee_id,
            attempt=taken.attempt,
            status=one.ended or "RUNNING",
            result=one.result,
            told=[(self._referee_id, event) for event in one.told],
            letters=[(self._referee_id, letter) for letter in letters],
            remarks=(*missing, *((UNVERIFIED,) if one.result else ())),
        )
        return shared.match_file(account)

    def _is_superseded(self, taken: MatchTaken) -> bool:
        """Did another referee write of a later attempt? A file from before ours is of another league."""
        path = self._folder / shared.match_place(taken.league_id, taken.match_id)
        try:
            there = msgspec.json.decode(path.read_bytes(), type=_Head)
        except (OSError, msgspec.MsgspecError):
            return False
        is_anothers = there.referee_id != self._referee_id and there.attempt > taken.attempt
        return is_anothers and there.last_updated >= timestamps.write(taken.at)


# --- a player ---------------------------------------------------------------------------------------------------------


class _PlayersFile:
    """Its history. The table is not in its journal: until the manager tells it, a player counts its own matches."""

    def __init__(self, machine: Callable[[], Machine]) -> None:
        self._machine = machine
        self._memory = Memory()
        self._player_id = self._league_id = ""
        self._ends: dict[str, tuple[int, float]] = {}
        """The round of each match, and when we heard that it is over."""

    def apply(self, event: Event) -> Iterable[str]:
        self._memory.apply(event)
        if isinstance(event, Enrolled):
            self._player_id, self._league_id = event.agent_id, event.league_id
        elif isinstance(event, GameEnded):
            invited = self._memory.matches.of(event.match_id)
            self._ends[event.match_id] = (invited[-1].round_id if invited else 0, event.at)
        return (HISTORY,) if self._player_id else ()

    def file(self, _: str, __: Transcript | None) -> File | None:
        rows = [self._row(one) for one in self._memory.history.rows()]
        return shared.history_file(self._league_id, self._standing(rows), rows)

    def _row(self, one: PastMatch) -> PastRow:
        round_id, at = self._ends[one.match_id]
        return PastRow(
            match_id=one.match_id,
            round_id=round_id,
            opponent_id=one.opponent_id,
            outcome=one.outcome,
            status=one.status,
            choice=one.my_choice,
            opponent_choice=one.opponent_choice,
            points=_POINTS[one.outcome],
            at=at,
        )

    def _standing(self, rows: list[PastRow]) -> dict[str, Any]:
        player = self._machine()
        assert isinstance(player, Competitor)
        # Another thread drives it, but what it was told last is replaced as a whole and never changed.
        told = player.standings
        for row in told.standings if told else ():
            if row.player_id == self._player_id:
                found: dict[str, Any] = msgspec.to_builtins(row)
                return found
        outcomes = [row.outcome for row in rows]
        return {
            "rank": None,
            "player_id": self._player_id,
            "display_name": player.display_name,
            "played": len(rows),
            "wins": outcomes.count("WIN"),
            "draws": outcomes.count("DRAW"),
            "losses": outcomes.count("LOSS"),
            "points": sum(row.points for row in rows),
        }
