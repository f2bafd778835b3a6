"""The shared files (spec section 13.10) as folds: each role's files are made from its journal, event by event.

Theory of operation. A fold takes in the events of one journal and says which files, or *topics*, an event changes.
Asked for a topic, it makes the file as it is now. There is a fold for each role, and both ways to write the files use
them:

- while a league is played (`sharing.py`), each role writes its own files: the manager the agents and the standings, a
  referee the matches it was given, a player its history;
- an export (`features/records/exports.py`) has the manager's journal, and perhaps those of referees, but none of
  players. It takes all files from the manager's fold, which also knows every result, with the referees' accounts of
  each match.

A fold never looks into a machine that another thread drives. The manager's fold has a second manager, replayed event
by event; a player's fold reads one value of its player that is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from league import events as e
from league.features.records.match_facts import points_of, reported_choices
from league.features.records.shared import shared_files
from league.features.records.shared.shared_files import (
    AgentEvent,
    File,
    FinalStanding,
    MatchAccount,
    PastRow,
    RecordedLetter,
)
from league.games import registry
from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS
from league.machine import Machine
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ResultInForce, ScheduledMatch
from league.player.competitor import Competitor
from league.player.history import PastMatch
from league.player.memory import PlayerMemory
from league.protocol import timestamps
from league.protocol.versions import UNSAID
from league.reading import views
from league.reading.journals import Journals, blank_manager
from league.reading.views import Object, fields
from league.referee.desk import RefereeDesk
from league.storage.transcripts.transcript import LetterNote

AGENTS: Final = "agents"
STANDINGS: Final = "standings"
HISTORY: Final = "history"
MANAGER: Final = "league_manager"
UNVERIFIED: Final = "this is the referee's account: the manager verifies results"
_POINTS: Final = {"WIN": WIN_POINTS, "DRAW": DRAW_POINTS, "LOSS": LOSS_POINTS}
_MATCH: Final = ("match_id", "round_id", "players", "referee_id", "attempt")
_RESULT: Final = ("outcome", "winner", "points", "details", "evidence")
_TAKEN: Final = ("league_id", "match_id", "round_id", "game_type", "players", "attempt")


class TranscriptReader(Protocol):
    """Where the letters of a match are read from, if they are kept."""

    def letters(self, match_id: str | None = None) -> Iterator[LetterNote]: ...

    def remarks(self) -> Iterator[LetterNote]: ...


class FileFold(Protocol):
    """Makes the files of one role. A topic stands for one file."""

    def apply(self, event: e.Event) -> Iterable[str]:
        """Take in the next event; return the topics it changes."""
        ...

    def file(self, topic: str, transcript: TranscriptReader | None) -> File | None:
        """The file of a topic as it is now; None if it is not ours to write, or not yet."""
        ...


def fold_for(machine: Callable[[], Machine], folder: Path) -> FileFold:
    """The fold for an agent's machine, which is asked for each time: a failure of the disk replaces it."""
    kind = machine()
    if isinstance(kind, LeagueManager):
        return ManagerFiles()
    if isinstance(kind, RefereeDesk):
        return _RefereeFiles(folder)
    return _PlayerFile(machine)


# --- the manager ------------------------------------------------------------------------------------------------------


class ManagerFiles:
    """Agents and standings; for an export, every file of the league."""

    def __init__(self) -> None:
        self._manager: LeagueManager | None = None
        self._newest = 0.0
        self._newest_about_agents = 0.0

    @classmethod
    def replayed(cls, manager: LeagueManager, events: Iterable[e.Event]) -> ManagerFiles:
        """The fold after these events, which the manager has replayed already."""
        fold = cls()
        fold._manager = manager
        for event in events:
            fold._note(event)
        return fold

    def apply(self, event: e.Event) -> Iterable[str]:
        if isinstance(event, e.LeagueCreated):
            self._manager = blank_manager(event)
        if self._manager is None:
            return ()
        self._manager.apply(event)
        return self._note(event)

    def _note(self, event: e.Event) -> Iterable[str]:
        """Remember when the files changed."""
        # A match record changes no table, and exports know it as its referee's account.
        if isinstance(event, e.MatchRecordKept):
            return ()
        self._newest = max(self._newest, event.at)
        if not shared_files.is_about_agents(event):
            return (STANDINGS,)
        self._newest_about_agents = max(self._newest_about_agents, event.at)
        return (AGENTS, STANDINGS)

    def file(self, topic: str, _: TranscriptReader | None = None) -> File:
        if topic == AGENTS:
            return shared_files.agents_file(self._league, self._newest_about_agents)
        return shared_files.standings_file(self._league, self._newest)

    @property
    def _league(self) -> LeagueManager:
        assert self._manager is not None, "a topic comes after the league's creation"
        return self._manager

    # --- what only an export takes from here --------------------------------------------------------------------------

    def every_file(self, journals: Journals) -> Iterator[File]:
        """All files of the league, with what these journals hold about its matches."""
        yield self.file(AGENTS)
        yield self.file(STANDINGS)
        accounts = _Accounts(journals)
        for match in self._league.ledger.matches.values():
            yield shared_files.match_file(self._account(match, accounts))
        table = views.standings(self._league)["standings"]
        for row in table:
            final = None
            # Until the end a rank is only how things stand.
            if self._league.ledger.is_finished:
                final = FinalStanding(row["rank"], row["points"], table[0]["player_id"], len(table))
            yield self._history(row, final)

    def _account(self, match: ScheduledMatch, accounts: _Accounts) -> MatchAccount:
        settings = self._league.ledger.settings
        document = views.match(self._league, match.match_id)
        assert document is not None, "the ledger has it"
        result = None
        if match.result is not None:
            result = {name: document[name] for name in _RESULT}
        return MatchAccount(
            league_id=settings.league_id,
            game_type=settings.game_type,
            **fields(match, _MATCH),
            status=document["status"],
            result=result,
            events=accounts.events.get(match.match_id, []),
            letters=accounts.letters.get(match.match_id, []),
            remarks=accounts.remarks_of(match.referee_id),
        )

    def _history(self, row: Object, final: FinalStanding | None) -> File:
        ledger = self._league.ledger
        player_id = row["player_id"]
        past = []
        for match_id in ledger.matches_of[player_id]:
            match = ledger.matches[match_id]
            if match.result is not None:
                past.append(_past_row(match, match.result, player_id))
        return shared_files.history_file(ledger.settings.league_id, row, past, self._newest, final)


class _Accounts:
    """The events and letters about each match in all journals, with the agents that recorded them."""

    def __init__(self, journals: Journals) -> None:
        self.events: dict[str, list[AgentEvent]] = {}
        self.letters: dict[str, list[RecordedLetter]] = {}
        self._referees = journals.referees
        self._add(MANAGER, journals.manager)
        for referee_id, journal in journals.referees.items():
            self._add(referee_id, journal.events)
            for match_id, letters in journal.letters.items():
                recorded = self.letters.setdefault(match_id, [])
                recorded.extend(RecordedLetter(referee_id, letter) for letter in letters)

    def _add(self, by: str, events: Iterable[e.Event]) -> None:
        for event in events:
            match_id = getattr(event, "match_id", None)
            if isinstance(match_id, str):
                self.events.setdefault(match_id, []).append(AgentEvent(by, event))

    def remarks_of(self, referee_id: str | None) -> tuple[str, ...]:
        """What the transcript of a referee says about itself."""
        if referee_id is None or referee_id not in self._referees:
            return ()
        return self._referees[referee_id].remarks


def _past_row(match: ScheduledMatch, result: ResultInForce, player_id: str) -> PastRow:
    """A decided match, for one of its players."""
    opponent = match.opponent(player_id)
    choices = reported_choices(result)
    # A walkover has no status of its own: nobody played.
    status = "WALKOVER" if isinstance(result, e.WalkoverDecided) else result.status
    if status == "DRAW":
        outcome = "DRAW"
    elif result.winner == player_id:
        outcome = "WIN"
    else:
        outcome = "LOSS"
    return PastRow(
        match_id=match.match_id,
        round_id=match.round_id,
        opponent_id=opponent,
        outcome=outcome,
        status=status,
        choice=choices.get(player_id),
        opponent_choice=choices.get(opponent),
        points=points_of(result, match.players).get(player_id, LOSS_POINTS),
        at=result.at,
    )


def _points(match: PastMatch) -> int:
    """The points that a player got for a match, as far as GAME_OVER tells."""
    game = registry.find(match.game_type)
    if game is None or not game.scoring.by_margin:
        return _POINTS[match.outcome]
    returns = match.game_result.get("returns")
    own: tuple[float, ...] = ()
    if isinstance(returns, dict):
        own = tuple(value for player, value in returns.items() if player != match.opponent_id)
    if len(own) != 1 or not isinstance(own[0], int | float):
        return game.scoring.most if match.outcome == "WIN" else LOSS_POINTS
    return game.scoring.points(None, technical=False, returns=(own[0], own[0]))[0]


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
                self.taken = event
                self.decided = None
                self.ended = ""
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
        decided = self.decided
        if decided is None or self.ended == "DROPPED":
            return None
        return {
            "outcome": decided.status,
            "winner": decided.winner,
            "points": decided.points,
            "details": decided.details,
            "evidence": None,
        }


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
            # Match ids come again in the next league of the same referee.
            played = self._matches.get(match_id)
            if played is None or played.taken.league_id != event.league_id:
                self._matches[match_id] = _Played(event)
        self._matches[match_id].apply(event)
        return (match_id,)

    def file(self, topic: str, transcript: TranscriptReader | None) -> File | None:
        played = self._matches[topic]
        # Of two referees that share a folder, the one with the later attempt writes the file.
        if self._is_superseded(played.taken):
            return None
        letters: list[RecordedLetter] = []
        remarks: list[str] = []
        if transcript is not None:
            notes = islice(transcript.letters(topic), shared_files.MOST_LETTERS + 1)
            letters = [RecordedLetter(self._referee_id, letter) for letter in notes]
            remarks = [note.body.decode(errors="replace") for note in transcript.remarks()]
        if played.result:
            remarks.append(UNVERIFIED)
        account = MatchAccount(
            **fields(played.taken, _TAKEN),
            referee_id=self._referee_id,
            status=played.ended or "RUNNING",
            result=played.result,
            events=[AgentEvent(self._referee_id, event) for event in played.events],
            letters=letters,
            remarks=tuple(remarks),
        )
        return shared_files.match_file(account)

    def _is_superseded(self, taken: e.MatchTaken) -> bool:
        """Did another referee write about a later attempt? A file older than ours belongs to an earlier league."""
        path = self._folder / shared_files.match_place(taken.league_id, taken.match_id)
        try:
            head = msgspec.json.decode(path.read_bytes(), type=_FileHead)
        except (OSError, msgspec.MsgspecError):
            return False
        is_another = head.referee_id != self._referee_id and head.attempt > taken.attempt
        return is_another and head.last_updated >= timestamps.write(taken.at)


# --- a player ---------------------------------------------------------------------------------------------------------


class _End(NamedTuple):
    """When a match ended, and its round."""

    round_id: int
    at: float


_FINAL: Final = ("rank", "points", "played", "wins", "draws", "losses")
"""What the final table may say of a player."""


class _PlayerFile:
    """Its history. Standings are not in its journal: until the manager sends them, a player counts its own matches."""

    def __init__(self, machine: Callable[[], Machine]) -> None:
        self._machine = machine
        self._memory = PlayerMemory()
        self._player_id = ""
        self._league_id = ""
        self._ends: dict[str, _End] = {}
        self._newest_at = 0.0

    def apply(self, event: e.Event) -> Iterable[str]:
        self._memory.apply(event)
        self._newest_at = event.at
        if isinstance(event, e.Registered):
            self._player_id = event.agent_id
            self._league_id = event.league_id
        elif isinstance(event, e.InvitationAnswered) and event.league_id != UNSAID:
            # Some third-party managers name the league only after the registration.
            self._league_id = self._league_id or event.league_id
        elif isinstance(event, e.GameEnded):
            invited = self._memory.matches.of(event.match_id)
            round_id = 0
            if invited:
                round_id = invited[-1].invitation.round_id
            self._ends[event.match_id] = _End(round_id, event.at)
        # Without an id there is no file yet.
        if not self._player_id:
            return ()
        return (HISTORY,)

    def file(self, _: str, __: TranscriptReader | None) -> File | None:
        rows = [self._row(match) for match in self._memory.history.rows()]
        standing = self._standing(rows)
        return shared_files.history_file(self._league_id, standing, rows, self._newest_at, self._final())

    def _final(self) -> FinalStanding | None:
        """Where it ended; None while the league goes on."""
        if self._memory.champion is None:
            return None
        end = self._memory.end
        if end is None:
            return FinalStanding(None, None, self._memory.champion)
        return FinalStanding(end.rank, end.points, self._memory.champion, end.players)

    def _row(self, match: PastMatch) -> PastRow:
        end = self._ends[match.match_id]
        return PastRow(
            match_id=match.match_id,
            round_id=end.round_id,
            opponent_id=match.opponent_id,
            outcome=match.outcome,
            status=match.status,
            choice=match.my_choice,
            opponent_choice=match.opponent_choice,
            points=_points(match),
            at=end.at,
        )

    def _standing(self, rows: Sequence[PastRow]) -> Object:
        """Its row of the newest table; the final one has the last word."""
        counted = self._counted(rows)
        row = self._newest_row() or counted
        end = self._memory.end
        if end is None or end.rank is None:
            return row
        if row["points"] != end.points:
            # An older table: its counts do not belong to the final points. Our own may.
            row = counted
        final = {name: getattr(end, name) for name in _FINAL}
        row |= {name: value for name, value in final.items() if value is not None}
        return row

    def _newest_row(self) -> Object | None:
        """Its row of the table that the manager sent last."""
        # Another thread drives the player, but its newest standings are replaced as a whole and never changed.
        newest = self._player.standings
        if newest is None:
            return None
        for row in newest.standings:
            if row.player_id == self._player_id:
                document: Object = msgspec.to_builtins(row)
                return document
        return None

    def _counted(self, rows: Sequence[PastRow]) -> Object:
        outcomes = [row.outcome for row in rows]
        return {
            "rank": None,
            "player_id": self._player_id,
            "display_name": self._player.display_name,
            "played": len(rows),
            "wins": outcomes.count("WIN"),
            "draws": outcomes.count("DRAW"),
            "losses": outcomes.count("LOSS"),
            "points": sum(row.points for row in rows),
        }

    @property
    def _player(self) -> Competitor:
        player = self._machine()
        assert isinstance(player, Competitor)
        return player
