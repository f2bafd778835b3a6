"""The shared files (spec section 8.14): where each is and what it holds. The same whether it is written while a league
is played, by the role it belongs to (live.py), or afterwards from journals (exports.py).

The same journal gives the same bytes: `last_updated` is the time of the newest event a file is made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from league.events import (
    Event,
    MatchBegun,
    MatchDecided,
    MoveMade,
    ResultAccepted,
    ResultVoided,
    WalkoverDecided,
)
from league.manager.league import LeagueManager
from league.protocol import timestamps
from league.reports import views
from league.reports.files import placed
from league.reports.letters import clean, content_of
from league.storage.transcript import LetterNote

SCHEMA_VERSION: Final = "1.0.0"
MOST_LETTERS: Final = 1_000
"""A match file is for reading: whoever floods a referee with letters must not fill the disk with it."""
DEEPEST: Final = 100
NO_LETTERS: Final = "there are no letters here: only a referee with a journal and a transcript keeps them"
TOO_MANY: Final = f"only the first {MOST_LETTERS} letters are here; the referee's journal has all"
STILL_PLAYED: Final = "what the letters say, and what was chosen, is shown when the match is over"
_UNSAID: Final = frozenset({"seed", "key", "at", "event"})
"""Of an event: the seed shows in the result, when it is over; keys of the operator's orders are nobody's business."""
_RESULTS: Final = (ResultAccepted, ResultVoided, WalkoverDecided)

Object = dict[str, Any]
"""What becomes a JSON object (Any: its values are whatever JSON holds)."""
File = tuple[PurePosixPath, bytes]


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
    return placed("config", "agents", "agents_config.json"), encoded(document)


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
    return placed("SHARED", "data", "leagues", league_id, "standings.json"), encoded(document)


# --- a referee's ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MatchAccount:
    """All there is to say about a match. `told` and `letters` come with the name of whoever wrote them down."""

    league_id: str
    match_id: str
    round_id: int
    game_type: str
    players: tuple[str, str]
    referee_id: str | None
    attempt: int
    status: str
    result: Object | None
    told: Sequence[tuple[str, Event]]
    letters: Sequence[tuple[str, LetterNote]]
    remarks: tuple[str, ...] = ()
    """What is missing, and why."""

    @property
    def is_over(self) -> bool:
        decided = (event for _, event in self.told if isinstance(event, MatchDecided))
        return self.result is not None or any(event.attempt == self.attempt for event in decided)


def match_file(one: MatchAccount) -> File:
    """A match with its lifecycle, transcript and result."""
    told = sorted(one.told, key=lambda pair: pair[1].at)
    letters = sorted(one.letters, key=lambda pair: pair[1].at)
    document = {
        **head(one.match_id, max((event.at for _, event in told), default=0.0)),
        "league_id": one.league_id,
        "match_id": one.match_id,
        "round_id": one.round_id,
        "game_type": one.game_type,
        "players": list(one.players),
        "referee_id": one.referee_id,
        "attempt": one.attempt,
        "status": one.status,
        "lifecycle": [_event(by, event, one.is_over) for by, event in told],
        "transcript": [_letter(by, letter, one.is_over) for by, letter in letters[:MOST_LETTERS]],
        "result": one.result,
        "remarks": [*_remarks(one), *one.remarks],
    }
    return match_place(one.league_id, one.match_id), encoded(document)


def match_place(league_id: str, match_id: str) -> PurePosixPath:
    return placed("SHARED", "data", "matches", league_id, f"{match_id}.json")


def _remarks(one: MatchAccount) -> Iterable[str]:
    has_begun = one.is_over or any(isinstance(event, MatchBegun) for _, event in one.told)
    if has_begun and not one.is_over:
        yield STILL_PLAYED
    if has_begun and not one.letters:
        yield NO_LETTERS
    if len(one.letters) > MOST_LETTERS:
        yield TOO_MANY


def _event(by: str, event: Event, is_over: bool) -> Object:
    """While a match is played nobody may read a choice here."""
    fields: Object = msgspec.to_builtins(event)
    unsaid = _UNSAID if is_over or not isinstance(event, MoveMade) else _UNSAID | {"choice"}
    shown = {name: value for name, value in fields.items() if name not in unsaid}
    return {"at": timestamps.write(event.at), "seconds": event.at, "by": by, "event": type(event).__name__, **shown}


def _letter(by: str, letter: LetterNote, is_over: bool) -> Object:
    content = content_of(letter) if is_over else None
    if content is not None and not _is_flat(content):
        content = None
    return {
        "at": timestamps.write(letter.at),
        "seconds": letter.at,
        "by": by,
        "direction": letter.direction,
        "peer": letter.peer,
        "message_type": letter.message_type,
        "kind": letter.kind,
        "status": letter.status,
        "message": content if content is not None or not is_over else letter.body.decode(errors="replace"),
    }


def _is_flat(value: object, levels: int = DEEPEST) -> bool:
    """Can this be walked through? Others may nest JSON deeper than a program can follow; it is shown as text then."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(one, levels - 1) for one in inner)


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


def history_file(league_id: str, standing: Mapping[str, Any], rows: Iterable[PastRow]) -> File:
    """A player's row of the table and its matches."""
    player_id: str = standing["player_id"]
    past = sorted(rows, key=lambda row: row.round_id)
    document = {
        **head(player_id, max((row.at for row in past), default=0.0)),
        "player_id": player_id,
        "display_name": standing["display_name"],
        "league_id": league_id,
        "standing": dict(standing),
        "matches": [_past(row) for row in past],
    }
    return placed("SHARED", "data", "players", player_id, "history.json"), encoded(document)


def _past(row: PastRow) -> Object:
    return {
        "match_id": row.match_id,
        "round_id": row.round_id,
        "opponent_id": row.opponent_id,
        "outcome": row.outcome,
        "status": row.status,
        "choice": row.choice,
        "opponent_choice": row.opponent_choice,
        "points": row.points,
        "decided_at": timestamps.write(row.at),
    }
