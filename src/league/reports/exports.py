"""A league as files for other tools: the shared files (spec section 8.14), tables as CSV, or one JSON document.

The same journal gives the same bytes: `last_updated` is the time of the newest event a file is made from.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from league.events import Event, MatchDecided, MoveMade, ResultAccepted, WalkoverDecided
from league.manager.league import LeagueManager
from league.manager.ledger import Match
from league.protocol import timestamps
from league.reports import views
from league.reports.journals import Journals
from league.reports.letters import clean, content_of
from league.storage.transcript import LetterNote

SCHEMA_VERSION: Final = "1.0.0"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_UNSAID: Final = frozenset({"seed", "key", "at", "event"})
"""Of an event: the seed shows in the result, when it is over; keys of the operator's orders are nobody's business."""

Object = dict[str, Any]
"""What becomes a JSON object (Any: its values are whatever JSON holds)."""
Files = Iterator[tuple[PurePosixPath, bytes]]


def shared(manager: LeagueManager, journals: Journals) -> Files:
    """The files that the documents of the protocol name."""
    league_id = manager.ledger.settings.league_id
    yield PurePosixPath("config/agents/agents_config.json"), _json(_agents(manager, journals.manager))
    data = PurePosixPath("SHARED/data")
    yield data / "leagues" / league_id / "standings.json", _json(_standings(manager, journals.manager))
    accounts = _Accounts(journals)
    for one in manager.ledger.matches.values():
        yield data / "matches" / league_id / f"{one.match_id}.json", _json(_match(manager, one, accounts))
    for row in views.standings(manager)["standings"]:
        yield data / "players" / row["player_id"] / "history.json", _json(_history(manager, row))


def as_csv(manager: LeagueManager, _: Journals) -> Files:
    """Three tables."""
    rows = views.standings(manager)["standings"]
    columns = ("rank", "player_id", "display_name", "played", "wins", "draws", "losses", "points")
    yield PurePosixPath("standings.csv"), _csv(columns, rows)
    matches = [_match_row(one) for one in manager.ledger.matches.values()]
    yield PurePosixPath("matches.csv"), _csv(_MATCH_COLUMNS, matches)
    agents = [{**one, "game_types": " ".join(one["game_types"])} for one in views.agents(manager)["agents"]]
    columns = ("agent_id", "role", "display_name", "version", "endpoint", "state", "game_types", "technical_losses")
    yield PurePosixPath("agents.csv"), _csv(columns, agents)


def as_json(manager: LeagueManager, journals: Journals) -> Files:
    """One document with everything the manager knows."""
    ledger = manager.ledger
    document = {
        **_head(ledger.settings.league_id, journals.manager),
        "league": views.league(manager, len(journals.manager)),
        **views.standings(manager),
        **views.schedule(manager),
        **views.agents(manager),
        "matches": [views.match(manager, match_id) for match_id in ledger.matches],
    }
    yield PurePosixPath("league.json"), _json(document)


def _head(name: str, events: Iterable[Event]) -> Object:
    newest = max((event.at for event in events), default=0.0)
    return {"id": name, "schema_version": SCHEMA_VERSION, "last_updated": timestamps.write(newest)}


def _json(document: Object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(clean(document)), indent=2) + b"\n"


# --- shared files -----------------------------------------------------------------------------------------------------


def _agents(manager: LeagueManager, events: Sequence[Event]) -> Object:
    agents = views.agents(manager)["agents"]
    about = [event for event in events if hasattr(event, "agent_id")]
    return {
        **_head("agents_config", about),
        "league_id": manager.ledger.settings.league_id,
        "referees": [one for one in agents if one["role"] == "referee"],
        "players": [one for one in agents if one["role"] == "player"],
    }


def _standings(manager: LeagueManager, events: Sequence[Event]) -> Object:
    ledger = manager.ledger
    return {
        **_head(ledger.settings.league_id, events),
        "league_id": ledger.settings.league_id,
        "game_type": ledger.settings.game_type,
        "state": ledger.state,
        "rounds_completed": ledger.finished_rounds,
        "total_rounds": len(ledger.rounds),
        "champion": ledger.champion,
        **views.standings(manager),
    }


class _Accounts:
    """Who wrote what about which match."""

    def __init__(self, journals: Journals) -> None:
        self.events: dict[str, list[tuple[str, Event]]] = {}
        self.letters: dict[str, list[tuple[str, LetterNote]]] = {}
        self._add("league_manager", journals.manager)
        for referee_id, one in journals.referees.items():
            self._add(referee_id, one.events)
            for match_id, letters in one.letters.items():
                self.letters.setdefault(match_id, []).extend((referee_id, letter) for letter in letters)

    def _add(self, by: str, events: Iterable[Event]) -> None:
        for event in events:
            match_id = getattr(event, "match_id", None)
            if isinstance(match_id, str):
                self.events.setdefault(match_id, []).append((by, event))


def _match(manager: LeagueManager, one: Match, accounts: _Accounts) -> Object:
    told = sorted(accounts.events.get(one.match_id, []), key=lambda pair: pair[1].at)
    letters = sorted(accounts.letters.get(one.match_id, []), key=lambda pair: pair[1].at)
    decided = {event.attempt for _, event in told if isinstance(event, MatchDecided)}
    is_over = one.result is not None or one.attempt in decided
    shown = views.match(manager, one.match_id) or {}
    result = {name: shown[name] for name in ("outcome", "winner", "points", "details", "verified")}
    settings = manager.ledger.settings
    return {
        **_head(one.match_id, (event for _, event in told)),
        "league_id": settings.league_id,
        "match_id": one.match_id,
        "round_id": one.round_id,
        "game_type": settings.game_type,
        "players": list(one.players),
        "referee_id": one.referee_id,
        "attempt": one.attempt,
        "status": shown["status"],
        "lifecycle": [_event(by, event, is_over) for by, event in told],
        "transcript": [_letter(by, letter, is_over) for by, letter in letters],
        "result": result if one.result is not None else None,
    }


def _event(by: str, event: Event, is_over: bool) -> Object:
    """While a match is played nobody may read a choice here."""
    fields: Object = msgspec.to_builtins(event)
    unsaid = _UNSAID if is_over or not isinstance(event, MoveMade) else _UNSAID | {"choice"}
    shown = {name: value for name, value in fields.items() if name not in unsaid}
    return {"at": timestamps.write(event.at), "seconds": event.at, "by": by, "event": type(event).__name__, **shown}


def _letter(by: str, letter: LetterNote, is_over: bool) -> Object:
    content = content_of(letter) if is_over else None
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


def _history(manager: LeagueManager, row: Object) -> Object:
    ledger, player_id = manager.ledger, row["player_id"]
    decided = [ledger.matches[name] for name in ledger.matches_of[player_id] if ledger.matches[name].result]
    return {
        **_head(player_id, (one.result for one in decided if one.result is not None)),
        "player_id": player_id,
        "display_name": row["display_name"],
        "league_id": ledger.settings.league_id,
        "standing": row,
        "matches": [_past(one, player_id) for one in decided],
    }


def _past(one: Match, player_id: str) -> Object:
    opponent, result = one.opponent(player_id), one.result
    assert result is not None
    choices = _choices(one)
    drawn = isinstance(result, ResultAccepted) and result.status == "DRAW"
    return {
        "match_id": one.match_id,
        "round_id": one.round_id,
        "opponent_id": opponent,
        "outcome": "DRAW" if drawn else "WIN" if result.winner == player_id else "LOSS",
        "status": "WALKOVER" if isinstance(result, WalkoverDecided) else result.status,
        "choice": choices.get(player_id),
        "opponent_choice": choices.get(opponent),
        "points": _points(one).get(player_id, 0),
        "decided_at": timestamps.write(result.at),
    }


# --- tables -----------------------------------------------------------------------------------------------------------

_MATCH_COLUMNS: Final = (
    "match_id", "round_id", "player_A_id", "player_B_id", "status", "outcome", "winner", "points_A", "points_B",
    "choice_A", "choice_B", "drawn_number", "referee_id", "attempt", "verified", "decided_at",
)  # fmt: skip


def _match_row(one: Match) -> Object:
    result, points, choices = one.result, _points(one), _choices(one)
    accepted = result if isinstance(result, ResultAccepted) else None
    return {
        **views.match_row(one),
        "points_A": points.get(one.player_a),
        "points_B": points.get(one.player_b),
        "choice_A": choices.get(one.player_a),
        "choice_B": choices.get(one.player_b),
        "drawn_number": accepted.details.get("drawn_number") if accepted else None,
        "verified": accepted.verified if accepted else None,
        "decided_at": timestamps.write(result.at) if result else None,
    }


def _points(one: Match) -> Mapping[str, int]:
    if isinstance(one.result, WalkoverDecided):
        return {player: 3 if player == one.result.winner else 0 for player in one.players}
    return one.result.points if one.result else {}


def _choices(one: Match) -> Mapping[str, object]:
    found = one.result.details.get("choices") if isinstance(one.result, ResultAccepted) else None
    return found if isinstance(found, dict) else {}


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue().encode()


def _cell(value: object) -> object:
    """A name that others chose must not become a formula in a spreadsheet."""
    if not isinstance(value, str):
        return value
    text = str(clean(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
