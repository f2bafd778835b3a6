"""Tables of third-party managers, whatever they look like: rows, or objects by the players' ids. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from league.gateway.readers.foreign_json import Fields, first_text

_DEEPEST: Final = 8
_IDS: Final = ("player_id", "id", "agent_id")
_PLAYED: Final = ("played", "matches_played", "games_played", "matches", "games")
_ENDINGS: Final = ("wins", "draws", "losses")


class ForeignTableRow(Struct, frozen=True):
    """What a table says of a player; None is what it does not say."""

    played: int | None = None
    wins: int | None = None
    draws: int | None = None
    losses: int | None = None


def tallies_in(answer: object) -> dict[str, ForeignTableRow]:
    """Return what a table says, by player."""
    tallies: dict[str, ForeignTableRow] = {}
    _collect(answer, "", 0, tallies)
    return tallies


def played_in(table: Mapping[str, ForeignTableRow], player: str) -> int:
    """Return how many matches a player has played by this table."""
    tally = table.get(player)
    return tally.played or 0 if tally else 0


def _collect(value: object, named: str, depth: int, tallies: dict[str, ForeignTableRow]) -> None:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for element in value:
            _collect(element, named, depth + 1, tallies)
    elif isinstance(value, dict):
        said = first_text(value, _IDS)
        tally = _tally(value)
        if tally is not None:
            tallies.setdefault(said or named, tally)
            return
        for key, element in value.items():
            _collect(element, said or key, depth + 1, tallies)


def _tally(row: Fields) -> ForeignTableRow | None:
    endings = {name: _count(row, (name,)) for name in _ENDINGS}
    played = _count(row, _PLAYED)
    if played is None and endings["wins"] is not None:
        played = sum(count or 0 for count in endings.values())
    if played is None:
        return None
    return ForeignTableRow(played, **endings)


def _count(row: Fields, names: tuple[str, ...]) -> Any:
    """Return the first count of such a name (Any: an int or None)."""
    for name in names:
        count = row.get(name)
        if type(count) is int:
            return count
    return None
