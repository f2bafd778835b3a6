"""`league export`: a league as files for other tools, from its journals. The shared files (spec section 8.14), tables
as CSV, or one JSON document."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec
from msgspec import structs

from league.events import Event, ResultAccepted, WalkoverDecided
from league.manager.league import LeagueManager
from league.manager.ledger import ScheduledMatch
from league.protocol import timestamps
from league.reports import views
from league.reports.journals import Journals
from league.reports.models import ModelPlay, models
from league.reports.views import Object
from league.storage.transcript import LetterNote
from league_records import shared_files
from league_records.letters import clean
from league_records.shared_files import File, FinalStanding, MatchAccount, PastRow

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a cell a formula in a spreadsheet, the last four in East Asian ones."""
_BOM: Final = "\ufeff".encode()
"""Without it some spreadsheets take UTF-8 for something else."""

Files = Iterator[File]
Export = Callable[[LeagueManager, Journals], Files]
"""How a league is written in one format."""


def shared(manager: LeagueManager, journals: Journals) -> Files:
    """The shared files."""
    yield shared_files.agents_file(manager, _newest(filter(shared_files.is_about_agents, journals.manager)))
    yield shared_files.standings_file(manager, _newest(journals.manager))
    accounts = _Accounts(journals)
    for one in manager.ledger.matches.values():
        yield shared_files.match_file(_account(manager, one, accounts))
    rows, is_over = views.standings(manager)["standings"], manager.state == "LEAGUE_COMPLETED"
    for row in rows:
        final = FinalStanding(row["rank"], row["points"], rows[0]["player_id"]) if is_over else None
        yield shared_files.history_file(manager.ledger.settings.league_id, row, _past(manager, row["player_id"]), final)


def as_csv(manager: LeagueManager, _: Journals, groups: Mapping[str, str] | None = None) -> Files:
    """Three tables for programs, and the grades for a spreadsheet. `groups`: the class list, who is in which group."""
    rows = views.standings(manager)["standings"]
    columns = ("rank", "player_id", "display_name", "played", "wins", "draws", "losses", "points")
    yield PurePosixPath("standings.csv"), _csv(columns, rows)
    matches = [_match_row(one) for one in manager.ledger.matches.values()]
    yield PurePosixPath("matches.csv"), _csv(_MATCH_COLUMNS, matches)
    agents = [{**one, "game_types": " ".join(one["game_types"])} for one in views.agents(manager)["agents"]]
    columns = ("agent_id", "role", "display_name", "version", "endpoint", "state", "game_types", "technical_losses")
    yield PurePosixPath("agents.csv"), _csv(columns, agents)
    if by_models := models(manager):
        yield PurePosixPath("models.csv"), _csv(_MODEL_COLUMNS, map(_model_row, by_models))
    yield PurePosixPath("grades.csv"), _BOM + _csv(_GRADE_COLUMNS, _grades(manager, groups or {}))


def as_json(manager: LeagueManager, journals: Journals) -> Files:
    """One document with everything the manager knows."""
    ledger = manager.ledger
    document = {
        **shared_files.head(ledger.settings.league_id, _newest(journals.manager)),
        "league": views.league(manager, journals.seq),
        **views.standings(manager),
        **views.schedule(manager),
        **views.agents(manager),
        "matches": [views.match(manager, match_id) for match_id in ledger.matches],
        "models": msgspec.to_builtins(models(manager)),
    }
    yield PurePosixPath("league.json"), shared_files.encoded(document)


def _newest(events: Iterable[Event]) -> float:
    return max((event.at for event in events), default=0.0)


# --- shared files -----------------------------------------------------------------------------------------------------


class _Accounts:
    """Events and letters by match, each with the agent that recorded it."""

    def __init__(self, journals: Journals) -> None:
        self.events: dict[str, list[tuple[str, Event]]] = {}
        self.letters: dict[str, list[tuple[str, LetterNote]]] = {}
        self._remarks = {referee_id: one.remarks for referee_id, one in journals.referees.items()}
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

    def remarks(self, referee_id: str | None) -> tuple[str, ...]:
        return self._remarks.get(referee_id or "", ())


def _account(manager: LeagueManager, one: ScheduledMatch, accounts: _Accounts) -> MatchAccount:
    settings = manager.ledger.settings
    shown = views.match(manager, one.match_id) or {}
    result = {name: shown[name] for name in ("outcome", "winner", "points", "details", "verified")}
    return MatchAccount(
        **views.fields(settings, ("league_id", "game_type")),
        **views.fields(one, ("match_id", "round_id", "players", "referee_id", "attempt")),
        status=shown["status"],
        result=result if one.result is not None else None,
        events=accounts.events.get(one.match_id, []),
        letters=accounts.letters.get(one.match_id, []),
        remarks=accounts.remarks(one.referee_id),
    )


def _past(manager: LeagueManager, player_id: str) -> Iterator[PastRow]:
    ledger = manager.ledger
    for one in (ledger.matches[match_id] for match_id in ledger.matches_of[player_id]):
        result, opponent, choices = one.result, one.opponent(player_id), _choices(one)
        if result is None:
            continue
        drawn = isinstance(result, ResultAccepted) and result.status == "DRAW"
        yield PastRow(
            match_id=one.match_id,
            round_id=one.round_id,
            opponent_id=opponent,
            outcome="DRAW" if drawn else "WIN" if result.winner == player_id else "LOSS",
            status="WALKOVER" if isinstance(result, WalkoverDecided) else result.status,
            choice=choices.get(player_id),
            opponent_choice=choices.get(opponent),
            points=_points(one).get(player_id, 0),
            at=result.at,
        )


# --- tables -----------------------------------------------------------------------------------------------------------

_MATCH_COLUMNS: Final = (
    "match_id", "round_id", "player_A_id", "player_B_id", "status", "outcome", "winner", "points_A", "points_B",
    "choice_A", "choice_B", "drawn_number", "referee_id", "attempt", "verified", "decided_at",
)  # fmt: skip


def _match_row(one: ScheduledMatch) -> Object:
    result, points, choices = one.result, _points(one), _choices(one)
    accepted = result if isinstance(result, ResultAccepted) else None
    return {
        **views.match_row(one),
        "points_A": points.get(one.player_a),
        "points_B": points.get(one.player_b),
        "choice_A": choices.get(one.player_a),
        "choice_B": choices.get(one.player_b),
        "drawn_number": accepted.details.get("drawn_number") if accepted else None,
        "decided_at": timestamps.write(result.at) if result else None,
    }


_MODEL_COLUMNS: Final = (
    "player_id", "display_name", "model", "provider", "prompt_sha256", "options_shown", "corrections", "temperature",
    "choices", "fallbacks", "provider_errors", "declined", "thinking_s", "waited_s", "tokens", "not_rated",
)  # fmt: skip


def _model_row(one: ModelPlay) -> Object:
    card = structs.asdict(one.conditions[-1]) if one.conditions else {}
    return {**card, **asdict(one)}


_GRADE_COLUMNS: Final = (
    "display_name", "group", "rank", "points", "matches", "wins", "draws", "losses", "technical_losses", "player_id",
)  # fmt: skip


def _grades(manager: LeagueManager, groups: Mapping[str, str]) -> Iterator[Object]:
    """A row for each player by rank, then one for each name of the class list that did not take part."""
    left = {_key(name): (name, group) for name, group in groups.items()}
    document = views.standings(manager)
    for row in document["standings"]:
        _, group = left.pop(_key(row["display_name"]), ("", None))
        technical = document["technical_losses"].get(row["player_id"])
        yield {**row, "group": group, "matches": row["played"], "technical_losses": technical}
    for name, group in left.values():
        yield {"display_name": name, "group": group}


def _key(name: str) -> str:
    """By what a name on the class list is found again."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _points(one: ScheduledMatch) -> Mapping[str, int]:
    if isinstance(one.result, WalkoverDecided):
        return {player: 3 if player == one.result.winner else 0 for player in one.players}
    return one.result.points if one.result else {}


def _choices(one: ScheduledMatch) -> Mapping[str, object]:
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
