"""The shared files of one agent while it works: a fold over its journal that says which files changed.

A manager's files are made from a second manager, replayed event by event: they show what `league export` would, and no
thread looks into a machine that another one drives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import msgspec

from league import events as e
from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS
from league.machine import Machine
from league.manager.league import LeagueManager
from league.player.competitor import Competitor
from league.player.history import PastMatch
from league.player.memory import PlayerMemory
from league.protocol import timestamps
from league.referee.desk import RefereeDesk
from league.reports.journals import blank_manager
from league.reports.views import Object, fields
from league.storage.transcript import LetterNote
from league_records import shared_files
from league_records.shared_files import File, FinalStanding, MatchAccount, PastRow

AGENTS, STANDINGS, HISTORY = "agents", "standings", "history"
UNVERIFIED: Final = "this is the referee's account: the manager verifies results"
_POINTS: Final = {"WIN": WIN_POINTS, "DRAW": DRAW_POINTS, "LOSS": LOSS_POINTS}


class TranscriptReader(Protocol):
    """Where the letters of a match are read from, if they are kept."""

    def letters(self, match_id: str | None = None) -> Iterator[LetterNote]: ...

    def remarks(self) -> Iterator[LetterNote]: ...


class FileFold(Protocol):
    """Makes the files of one role. A topic stands for one file."""

    def apply(self, event: e.Event) -> Iterable[str]:
        """Take in the next event; the topics it changes."""
        ...

    def file(self, topic: str, transcript: TranscriptReader | None) -> File | None:
        """A topic's file as it is now; None if it is not ours to write, or not yet."""
        ...


def fold_for(machine: Callable[[], Machine], folder: Path) -> FileFold:
    """The fold for an agent's machine, which is asked for each time: a failure of the disk replaces it."""
    kind = machine()
    if isinstance(kind, LeagueManager):
        return _ManagerFiles()
    if isinstance(kind, RefereeDesk):
        return _RefereeFiles(folder)
    return _PlayerFile(machine)


# --- the manager ------------------------------------------------------------------------------------------------------


class _ManagerFiles:
    """Agents and standings."""

    def __init__(self) -> None:
        self._manager: LeagueManager | None = None
        self._newest = self._newest_about_agents = 0.0

    def apply(self, event: e.Event) -> Iterable[str]:
        if isinstance(event, e.LeagueCreated):
            self._manager = blank_manager(event)
        if self._manager is None:
            return ()
        self._manager.apply(event)
        if isinstance(event, e.MatchRecordKept):
            return ()
        self._newest = max(self._newest, event.at)
        if not shared_files.is_about_agents(event):
            return (STANDINGS,)
        self._newest_about_agents = max(self._newest_about_agents, event.at)
        return (AGENTS, STANDINGS)

    def file(self, topic: str, _: TranscriptReader | None) -> File | None:
        assert self._manager is not None, "a topic comes after the league's creation"
        if topic == AGENTS:
            return shared_files.agents_file(self._manager, self._newest_about_agents)
        return shared_files.standings_file(self._manager, self._newest)


# --- a referee --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Played:
    """A match as its referee knows it: the newest attempt, and the events of all attempts."""

    taken: e.MatchTaken
    events: list[e.Event] = field(default_factory=list)
    decided: e.MatchDecided | None = None
    ended: str = ""
    """COMPLETED, or DROPPED if the attempt does not count."""

    def apply(self, event: e.Event) -> None:
        self.events.append(event)
        match event:
            case e.MatchTaken():
                self.taken, self.decided, self.ended = event, None, ""
            case e.MatchDecided(attempt=self.taken.attempt):
                self.decided = event
            case e.ReportSettled(attempt=self.taken.attempt):
                self.ended = "COMPLETED" if event.answer == "ACCEPTED" else "DROPPED"
            case e.MatchDropped(attempt=self.taken.attempt):
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


class _FileHead(msgspec.Struct):
    """The fields of a match file that say which attempt it is about."""

    attempt: int = 0
    referee_id: str | None = None
    last_updated: str = ""


class _RefereeFiles:
    """One file for each match. If another referee took a match over, its file is left alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._referee_id = ""
        self._matches: dict[str, _Played] = {}

    def apply(self, event: e.Event) -> Iterable[str]:
        if isinstance(event, e.Registered):
            self._referee_id = event.agent_id
        match_id = getattr(event, "match_id", None)
        if not isinstance(match_id, str):
            return ()
        if isinstance(event, e.MatchTaken):
            known = self._matches.get(match_id)
            if known is None or known.taken.league_id != event.league_id:
                self._matches[match_id] = _Played(event)
        self._matches[match_id].apply(event)
        return (match_id,)

    def file(self, topic: str, transcript: TranscriptReader | None) -> File | None:
        one = self._matches[topic]
        taken = one.taken
        if self._is_superseded(taken):
            return None
        letters = islice(transcript.letters(topic), shared_files.MOST_LETTERS + 1) if transcript else ()
        missing = [note.body.decode(errors="replace") for note in transcript.remarks()] if transcript else []
        account = MatchAccount(
            **fields(taken, ("league_id", "match_id", "round_id", "game_type", "players", "attempt")),
            referee_id=self._referee_id,
            status=one.ended or "RUNNING",
            result=one.result,
            events=[(self._referee_id, event) for event in one.events],
            letters=[(self._referee_id, letter) for letter in letters],
            remarks=(*missing, *((UNVERIFIED,) if one.result else ())),
        )
        return shared_files.match_file(account)

    def _is_superseded(self, taken: e.MatchTaken) -> bool:
        """Did another referee write about a later attempt? A file older than ours belongs to an earlier league."""
        path = self._folder / shared_files.match_place(taken.league_id, taken.match_id)
        try:
            there = msgspec.json.decode(path.read_bytes(), type=_FileHead)
        except (OSError, msgspec.MsgspecError):
            return False
        is_anothers = there.referee_id != self._referee_id and there.attempt > taken.attempt
        return is_anothers and there.last_updated >= timestamps.write(taken.at)


# --- a player ---------------------------------------------------------------------------------------------------------


class _PlayerFile:
    """Its history. Standings are not in its journal: until the manager sends them, a player counts its own matches."""

    def __init__(self, machine: Callable[[], Machine]) -> None:
        self._machine = machine
        self._memory = PlayerMemory()
        self._player_id = self._league_id = ""
        self._ends: dict[str, tuple[int, float]] = {}
        """The round of each match, and when it ended."""

    def apply(self, event: e.Event) -> Iterable[str]:
        self._memory.apply(event)
        if isinstance(event, e.Registered):
            self._player_id, self._league_id = event.agent_id, event.league_id
        elif isinstance(event, e.GameEnded):
            invited = self._memory.matches.of(event.match_id)
            self._ends[event.match_id] = (invited[-1].invitation.round_id if invited else 0, event.at)
        return (HISTORY,) if self._player_id else ()

    def file(self, _: str, __: TranscriptReader | None) -> File | None:
        rows = [self._row(one) for one in self._memory.history.rows()]
        return shared_files.history_file(self._league_id, self._standing(rows), rows, self._final())

    def _final(self) -> FinalStanding | None:
        """None while the league goes on."""
        memory = self._memory
        return None if memory.champion is None else FinalStanding(*memory.final, memory.champion)

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

    def _standing(self, rows: list[PastRow]) -> Object:
        """Our row of the newest table; the final one has the last word."""
        known = self._newest_row(rows)
        rank, points = self._memory.final
        return known if rank is None else {**known, "rank": rank, "points": points}

    def _newest_row(self, rows: list[PastRow]) -> Object:
        player = self._machine()
        assert isinstance(player, Competitor)
        # Another thread drives it, but its newest standings are replaced as a whole and never changed.
        newest = player.standings
        for row in newest.standings if newest else ():
            if row.player_id == self._player_id:
                found: Object = msgspec.to_builtins(row)
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
