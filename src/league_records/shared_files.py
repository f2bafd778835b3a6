"""The shared files (spec section 8.14): where each is, what it holds, and how it is written. They are the same whether
written while a league is played, by the role each belongs to (live_files.py), or afterwards from journals (exports.py).

The same journal gives the same bytes: `last_updated` is the time of the newest event a file is made from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from league.events import Event, MatchBegun, MatchDecided, MoveMade, ResultAccepted, ResultVoided, WalkoverDecided
from league.manager.league import LeagueManager
from league.protocol import timestamps
from league.reports import views
from league.reports.views import Object
from league.storage.replacing import replace_file
from league.storage.transcript import LetterNote
from league_records.letters import clean, content_of

SCHEMA_VERSION: Final = "1.0.0"
MOST_LETTERS: Final = 1_000
"""A match file is for reading: an agent that floods a referee with letters must not fill the disk."""
DEEPEST: Final = 100
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
    """What every file begins with."""
    return {"id": name, "schema_version": SCHEMA_VERSION, "last_updated": timestamps.write(newest)}


def encoded(document: Object) -> bytes:
    """A document for people and programs, with no token in it."""
    return msgspec.json.format(msgspec.json.encode(clean(document)), indent=2) + b"\n"


# --- the manager's ----------------------------------------------------------------------------------------------------


def is_about_agents(event: Event) -> bool:
    """May this event change the file of the agents?"""
    return isinstance(event, _RESULTS) or hasattr(event, "agent_id")


def agents_file(manager: LeagueManager, newest: float) -> File:
    """Everybody who registered."""
    agents = views.agents(manager)["agents"]
    document = {
        **head("agents_config", newest),
        "league_id": manager.ledger.settings.league_id,
        "referees": [one for one in agents if one["role"] == "referee"],
        "players": [one for one in agents if one["role"] == "player"],
    }
    return path_of("config", "agents", "agents_config.json"), encoded(document)


def standings_file(manager: LeagueManager, newest: float) -> File:
    """The table and how far the league is."""
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


@dataclass(frozen=True, slots=True)
class MatchAccount:
    """What a match file is made of. `events` and `letters` come with the name of the agent that recorded them."""

    league_id: str
    match_id: str
    round_id: int
    game_type: str
    players: tuple[str, str]
    referee_id: str | None
    attempt: int
    status: str
    result: Object | None
    events: Sequence[tuple[str, Event]]
    letters: Sequence[tuple[str, LetterNote]]
    remarks: tuple[str, ...] = ()
    """What is missing, and why."""

    @property
    def is_over(self) -> bool:
        decided = (event for _, event in self.events if isinstance(event, MatchDecided))
        return self.result is not None or any(event.attempt == self.attempt for event in decided)


def match_file(one: MatchAccount) -> File:
    """A match with its lifecycle, transcript and result."""
    events = sorted(one.events, key=lambda pair: pair[1].at)
    letters = sorted(one.letters, key=lambda pair: pair[1].at)
    document = {
        **head(one.match_id, max((event.at for _, event in events), default=0.0)),
        **views.fields(one, _MATCH),
        "lifecycle": [_event(by, event, one.is_over) for by, event in events],
        "transcript": [_letter(by, letter, one.is_over) for by, letter in letters[:MOST_LETTERS]],
        "result": one.result,
        "remarks": [*_remarks(one), *one.remarks],
    }
    return match_place(one.league_id, one.match_id), encoded(document)


def match_place(league_id: str, match_id: str) -> PurePosixPath:
    return path_of("SHARED", "data", "matches", league_id, f"{match_id}.json")


def _remarks(one: MatchAccount) -> Iterable[str]:
    has_begun = one.is_over or any(isinstance(event, MatchBegun) for _, event in one.events)
    if has_begun and not one.is_over:
        yield STILL_PLAYED
    if has_begun and not one.letters:
        yield NO_LETTERS
    if len(one.letters) > MOST_LETTERS:
        yield TOO_MANY


def _event(by: str, event: Event, is_over: bool) -> Object:
    """While a match is played nobody may read a choice here."""
    fields: Object = msgspec.to_builtins(event)
    left_out = _LEFT_OUT if is_over or not isinstance(event, MoveMade) else _LEFT_OUT | {"choice"}
    shown = {name: value for name, value in fields.items() if name not in left_out}
    return {"at": timestamps.write(event.at), "seconds": event.at, "by": by, "event": type(event).__name__, **shown}


def _letter(by: str, letter: LetterNote, is_over: bool) -> Object:
    content = content_of(letter) if is_over else None
    if content is not None and not _is_shallow(content):
        content = None
    return {
        "at": timestamps.write(letter.at),
        "seconds": letter.at,
        "by": by,
        **views.fields(letter, _LETTER),
        "message": content if content is not None or not is_over else letter.body.decode(errors="replace"),
    }


def _is_shallow(value: object, levels: int = DEEPEST) -> bool:
    """Is this JSON nested no deeper than so many levels? What others nested deeper is shown as text."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(one, levels - 1) for one in inner)


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


def history_file(
    league_id: str, standing: Mapping[str, Any], rows: Iterable[PastRow], final: FinalStanding | None = None
) -> File:
    """A player's row of the table and its matches; once the league is over, where it ended."""
    player_id: str = standing["player_id"]
    past = sorted(rows, key=lambda row: row.round_id)
    document = {
        **head(player_id, max((row.at for row in past), default=0.0)),
        "player_id": player_id,
        "display_name": standing["display_name"],
        "league_id": league_id,
        "standing": dict(standing),
        "final": asdict(final) if final else None,
        "matches": [_past(row) for row in past],
    }
    return path_of("SHARED", "data", "players", player_id, "history.json"), encoded(document)


def _past(row: PastRow) -> Object:
    fields = asdict(row)
    decided_at = timestamps.write(fields.pop("at"))
    return {**fields, "decided_at": decided_at}


# --- writing ----------------------------------------------------------------------------------------------------------


class ExportError(Exception):
    """Why files cannot be written; the text is a sentence for people."""


class UnsafeNameError(ExportError):
    """An id that others chose and that must not become a file's name."""


def path_of(*parts: str) -> PurePosixPath:
    """A path below the folder of the files. Ids come from others: none may lead anywhere else."""
    for part in parts:
        if not _PART.fullmatch(part):
            raise UnsafeNameError(f"no file or folder can be named {part[:LONGEST_SHOWN]!r}")
    return PurePosixPath(*parts)


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
