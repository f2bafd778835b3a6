"""The formats of `league export`: the shared files (spec section 13.10), tables as CSV, or one JSON document."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import structs

from league.events import ResultAccepted
from league.features.records.letter_words import clean
from league.features.records.match_facts import points_of, reported_choices
from league.features.records.shared import shared_files
from league.features.records.shared.file_folds import ManagerFiles
from league.features.records.shared.shared_files import File
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ScheduledMatch
from league.protocol import timestamps
from league.reading import views
from league.reading.journals import Journals
from league.reading.models import ModelPlay, models
from league.reading.views import Object

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Characters that make a cell a formula in a spreadsheet, the last four in East Asian ones."""
_BOM: Final = "\ufeff".encode()
"""Without it some spreadsheets do not recognize UTF-8."""
_STANDING_COLUMNS: Final = ("rank", "player_id", "display_name", "played", "wins", "draws", "losses", "points")
_MATCH_COLUMNS: Final = (
    "match_id", "round_id", "player_A_id", "player_B_id", "status", "outcome", "winner", "points_A", "points_B",
    "choice_A", "choice_B", "drawn_number", "referee_id", "attempt", "evidence", "decided_at",
)  # fmt: skip
_AGENT_COLUMNS: Final = (
    "agent_id", "role", "display_name", "version", "endpoint", "state", "game_types", "technical_losses",
)  # fmt: skip
_MODEL_COLUMNS: Final = (
    "player_id", "display_name", "model", "provider", "prompt_sha256", "system", "request", "options_shown",
    "corrections", "temperature",
    "choices", "fallbacks", "provider_errors", "declined", "thinking_s", "waited_s", "tokens", "tokens_estimated",
    "not_rated",
)  # fmt: skip
_GRADE_COLUMNS: Final = (
    "display_name", "group", "rank", "points", "matches", "wins", "draws", "losses", "technical_losses", "player_id",
)  # fmt: skip

Files = Iterator[File]


def shared(manager: LeagueManager, journals: Journals) -> Files:
    """The shared files, by the fold that also writes them while a league is played."""
    return ManagerFiles.replayed(manager, journals.manager).every_file(journals)


def as_csv(manager: LeagueManager, _: Journals, groups: Mapping[str, str] | None = None) -> Files:
    """Tables for programs, and the grades for a spreadsheet. `groups` is the class list: names and their groups."""
    yield table("standings.csv", _STANDING_COLUMNS, views.standings(manager)["standings"])
    yield table("matches.csv", _MATCH_COLUMNS, map(_match_row, manager.ledger.matches.values()))
    yield table("agents.csv", _AGENT_COLUMNS, _agent_rows(manager))
    by_models = models(manager)
    if by_models:
        yield table("models.csv", _MODEL_COLUMNS, map(_model_row, by_models))
    place, grades = table("grades.csv", _GRADE_COLUMNS, _grades(manager, groups or {}))
    yield place, _BOM + grades


def as_json(manager: LeagueManager, journals: Journals) -> Files:
    """One document with everything the manager knows."""
    ledger = manager.ledger
    newest = max((event.at for event in journals.manager), default=0.0)
    document = {
        **shared_files.head(ledger.settings.league_id, newest),
        "league": views.league(manager, journals.seq),
        **views.standings(manager),
        **views.schedule(manager),
        **views.agents(manager),
        "matches": [views.match(manager, match_id) for match_id in ledger.matches],
        "models": msgspec.to_builtins(models(manager)),
    }
    yield PurePosixPath("league.json"), shared_files.encoded(document)


# --- rows of tables ---------------------------------------------------------------------------------------------------


def _match_row(match: ScheduledMatch) -> Object:
    result = match.result
    points = points_of(result, match.players)
    choices = reported_choices(result)
    number = None
    if isinstance(result, ResultAccepted):
        number = result.details.get("drawn_number")
    decided_at = None
    if result is not None:
        decided_at = timestamps.write(result.at)
    return {
        **views.match_row(match),
        "points_A": points.get(match.player_a),
        "points_B": points.get(match.player_b),
        "choice_A": choices.get(match.player_a),
        "choice_B": choices.get(match.player_b),
        "drawn_number": number,
        "decided_at": decided_at,
    }


def _agent_rows(manager: LeagueManager) -> Iterator[Object]:
    for agent in views.agents(manager)["agents"]:
        yield {**agent, "game_types": " ".join(agent["game_types"])}


def _model_row(play: ModelPlay) -> Object:
    row: Object = {}
    # The conditions it stated last: a player may be restarted with another model.
    if play.conditions:
        row |= structs.asdict(play.conditions[-1])
    row |= asdict(play)
    return row


class _Listed(NamedTuple):
    """A line of the class list."""

    name: str
    group: str | None


def _grades(manager: LeagueManager, groups: Mapping[str, str]) -> Iterator[Object]:
    """A row for each player by rank, then one for each name of the class list that did not take part."""
    absent = {_key(name): _Listed(name, group) for name, group in groups.items()}
    document = views.standings(manager)
    for row in document["standings"]:
        listed = absent.pop(_key(row["display_name"]), _Listed("", None))
        technical = document["technical_losses"].get(row["player_id"])
        yield {**row, "group": listed.group, "matches": row["played"], "technical_losses": technical}
    for listed in absent.values():
        yield {"display_name": listed.name, "group": listed.group}


def _key(name: str) -> str:
    """The form of a name that finds it on the class list, however it is spaced and capitalized."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


# --- CSV --------------------------------------------------------------------------------------------------------------


def table(name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> File:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return PurePosixPath(name), text.getvalue().encode()


def _cell(value: object) -> object:
    """The value of a cell. A name that others chose must not become a formula in a spreadsheet."""
    if not isinstance(value, str):
        return value
    text = str(clean(value))
    if text.startswith(_FORMULA):
        return f"'{text}"
    return text
