"""The shared files (spec section 13.10): where each is, what it holds, and how it is written.

`file_folds.py` decides which files there are and collects what goes into them; here is their form. The same journal
gives the same bytes: `last_updated` is the time of the newest event a file is made from.

Two things must never happen: a file that shows a choice or a seed before its match is over, and a path that leads out
of the folder, whatever ids others chose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec

from league.events import Event, MatchBegun, MatchDecided, MoveMade, ResultAccepted, ResultVoided, WalkoverDecided
from league.features.records.letter_words import clean, content_of
from league.manager.league_manager import LeagueManager
from league.protocol import timestamps
from league.reading import views
from league.reading.views import Object
from league.storage.files.replacing import replace_file
from league.storage.transcripts.transcript import LetterNote

SCHEMA_VERSION: Final = "1.0.0"
MOST_LETTERS: Final = 1_000
"""A match file is for reading: an agent that floods a referee with letters must not fill the disk."""
DEEPEST: Final = 100
"""JSON of others that is nested deeper is shown as text."""
NO_LETTERS: Final = "there are no letters here: only a referee with a journal and a transcript keeps them"
TOO_MANY: Final = f"only the first {MOST_LETTERS} letters are here; the referee's journal has all"
STILL_PLAYED: Final = "what the letters say, and what was chosen, is shown when the match is over"
_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
LONGEST_SHOWN: Final = 80
_LEFT_OUT: Final = frozenset({"seed", "key", "at", "event"})
"""Fields of events that are not shown: the seed is in the result when the match is over, keys of orders are private."""
_MATCH: Final = ("league_id", "match_id", "round_id", "game_type", "players", "referee_id", "attempt", "status")
_LETTER: Final = ("direction", "peer", "message_type", "kind", "status")
_RESULTS: Final = (ResultAccepted, ResultVoided, WalkoverDecided)

File = tuple[PurePosixPath, bytes]
"""A place below the folder of the files, and the content."""


def head(name: str, newest: float) -> Object:
    """The fields that every file begins with."""
    return {"id": name, "schema_version": SCHEMA_VERSION, "last_updated": timestamps.write(newest)}


def encoded(document: Object) -> bytes:
    """A document for people and programs, with no token in it."""
    return msgspec.json.format(msgspec.json.encode(clean(document)), indent=2) + b"\n"


# --- the manager's ----------------------------------------------------------------------------------------------------


def is_about_agents(event: Event) -> bool:
    """May this event change the file of the agents?"""
    return isinstance(event, _RESULTS) or hasattr(event, "agent_id")


def _as_documented(agent: Object) -> Object:
    """Add the names that the documents have for an agent's id and address."""
    return {f"{agent['role']}_id": agent["agent_id"], "contact_endpoint": agent["endpoint"], **agent}


def agents_file(manager: LeagueManager, newest: float) -> File:
    """Every agent that has registered."""
    agents = [_as_documented(agent) for agent in views.agents(manager)["agents"]]
    document = {
        **head("agents_config", newest),
        "league_id": manager.ledger.settings.league_id,
        "referees": [agent for agent in agents if agent["role"] == "referee"],
        "players": [agent for agent in agents if agent["role"] == "player"],
    }
    return path_of("config", "agents", "agents_config.json"), encoded(document)


def standings_file(manager: LeagueManager, newest: float) -> File:
    """The table, and how far the league is."""
    ledger = manager.ledger
    league_id = ledger.settings.league_id
    document = {
        **head(league_id, newest),
        "league_id": league_id,
        "game_type": ledger.settings.game_type,
        "state": ledger.state,
        "rounds_completed": ledger.finished_rounds,
        "total_rounds": len(ledger.rounds),
        "champion": ledger.champion,
        **views.standings(manager),
    }
    return path_of("SHARED", "data", "leagues", league_id, "standings.json"), encoded(document)


# --- a referee's ------------------------------------------------------------------------------------------------------


class AgentEvent(NamedTuple):
    """An event and the agent that recorded it."""

    by: str
    event: Event


class RecordedLetter(NamedTuple):
    """A letter and the agent that recorded it."""

    by: str
    letter: LetterNote


@dataclass(frozen=True, slots=True)
class MatchAccount:
    """The content of a match file."""

    league_id: str
    match_id: str
    round_id: int
    game_type: str
    players: tuple[str, str]
    referee_id: str | None
    attempt: int
    status: str
    result: Object | None
    events: Sequence[AgentEvent]
    letters: Sequence[RecordedLetter]
    remarks: tuple[str, ...] = ()
    """What is missing, and why."""

    @property
    def is_over(self) -> bool:
        if self.result is not None:
            return True
        decisions = (event for _, event in self.events if isinstance(event, MatchDecided))
        return any(decision.attempt == self.attempt for decision in decisions)


def match_file(account: MatchAccount) -> File:
    """A match with its lifecycle, transcript and result."""
    is_over = account.is_over
    events = sorted(account.events, key=lambda recorded: recorded.event.at)
    letters = sorted(account.letters, key=lambda recorded: recorded.letter.at)
    newest = max((recorded.event.at for recorded in events), default=0.0)
    document = {
        **head(account.match_id, newest),
        **views.fields(account, _MATCH),
        "lifecycle": [_event(recorded, is_over) for recorded in events],
        "transcript": [_letter(recorded, is_over) for recorded in letters[:MOST_LETTERS]],
        "result": account.result,
        "remarks": [*_remarks(account), *account.remarks],
    }
    return match_place(account.league_id, account.match_id), encoded(document)


def match_place(league_id: str, match_id: str) -> PurePosixPath:
    """Where the file of a match is."""
    return path_of("SHARED", "data", "matches", league_id, f"{match_id}.json")


def _remarks(account: MatchAccount) -> Iterable[str]:
    # A match that has not begun has no letters, and nothing is missing.
    has_begun = account.is_over or any(isinstance(event, MatchBegun) for _, event in account.events)
    if has_begun and not account.is_over:
        yield STILL_PLAYED
    if has_begun and not account.letters:
        yield NO_LETTERS
    if len(account.letters) > MOST_LETTERS:
        yield TOO_MANY


def _event(recorded: AgentEvent, is_over: bool) -> Object:
    event = recorded.event
    left_out = _LEFT_OUT
    # While a match is played nobody may read a choice here.
    if isinstance(event, MoveMade) and not is_over:
        left_out |= {"choice"}
    fields = {name: value for name, value in msgspec.to_builtins(event).items() if name not in left_out}
    return {
        "at": timestamps.write(event.at),
        "seconds": event.at,
        "by": recorded.by,
        "event": type(event).__name__,
        **fields,
    }


def _letter(recorded: RecordedLetter, is_over: bool) -> Object:
    letter = recorded.letter
    # What was said is told when the match is over, since it may hold a choice.
    message = None
    if is_over:
        message = _message(letter)
    return {
        "at": timestamps.write(letter.at),
        "seconds": letter.at,
        "by": recorded.by,
        **views.fields(letter, _LETTER),
        "message": message,
    }


def _message(letter: LetterNote) -> object:
    """The message in a letter; its text, if that is not JSON that can be shown."""
    content = content_of(letter)
    if content is None or not _is_shallow(content):
        return letter.body.decode(errors="replace")
    return content


def _is_shallow(value: object, levels: int = DEEPEST) -> bool:
    """Is this JSON nested no deeper than that many levels?"""
    if levels == 0:
        return False
    if isinstance(value, dict):
        return all(_is_shallow(inner, levels - 1) for inner in value.values())
    if isinstance(value, list):
        return all(_is_shallow(inner, levels - 1) for inner in value)
    return True


# --- a player's -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PastRow:
    """A match that is over, for one of its players."""

    match_id: str
    round_id: int
    opponent_id: str
    outcome: str
    status: str
    choice: object
    opponent_choice: object
    points: int
    at: float


@dataclass(frozen=True, slots=True)
class FinalStanding:
    """Where a player stands at the end of its league."""

    rank: int | None
    points: int | None
    champion_id: str
    players: int | None = None
    """How many players the final table has, if it is known."""


def history_file(
    league_id: str,
    standing: Mapping[str, Any],
    rows: Iterable[PastRow],
    seen_at: float,
    final: FinalStanding | None = None,
) -> File:
    """A player's row of the table and its matches; once the league is over, where it ended. `seen_at`: the date of the
    file while there is no match."""
    player_id: str = standing["player_id"]
    past = sorted(rows, key=lambda row: row.round_id)
    newest = max((row.at for row in past), default=seen_at)
    document = {
        **head(player_id, newest),
        "player_id": player_id,
        "display_name": standing["display_name"],
        "league_id": league_id,
        "standing": dict(standing),
        "final": None if final is None else asdict(final),
        "matches": [_past(row) for row in past],
    }
    return path_of("SHARED", "data", "players", player_id, "history.json"), encoded(document)


def _past(row: PastRow) -> Object:
    document = asdict(row)
    document["decided_at"] = timestamps.write(document.pop("at"))
    return document


# --- writing ----------------------------------------------------------------------------------------------------------


class ExportError(Exception):
    """Files cannot be written; the text is a sentence for people."""


class UnsafeNameError(ExportError):
    """An id that others chose and that must not become a file's name."""


def path_of(*parts: str) -> PurePosixPath:
    """A path below the folder of the files. Ids come from others: none may lead anywhere else."""
    for part in parts:
        if not _PART.fullmatch(part):
            raise UnsafeNameError(f"no file or folder can be named {part[:LONGEST_SHOWN]!r}")
    return PurePosixPath(*parts)


def write_file(path: Path, files: Iterable[File]) -> list[str]:
    """Write the only one of these files to this path, in place of an older one; return its name."""
    if path.is_dir():
        raise ExportError(f"{path} is a folder; name a file")
    ((_, data),) = files
    try:
        replace_file(path, data)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror or error}") from error
    return [path.name]


def write_files(folder: Path, files: Iterable[File]) -> list[str]:
    """Write these files below the folder, in place of older ones; return their names."""
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; name a folder")
    written = []
    for name, data in files:
        path = folder / path_of(*name.parts)
        try:
            replace_file(path, data)
        except OSError as error:
            raise ExportError(f"{path} cannot be written: {error.strerror or error}") from error
        written.append(str(name))
    return written
