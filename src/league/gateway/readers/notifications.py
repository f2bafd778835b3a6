"""What third-party referees and managers tell a player (spec section 13.5), in the words of the documents.

Read are a GAME_OVER whose choices have another name or whose loser reads LOSS, a table whose rows lack what their order
or another field says, a call whose context is a form that nobody filled in, an invitation to a seat of another name,
and a time without a zone. None of it puts the player's own choice at risk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from league.gateway.readers.foreign_json import deviation_from
from league.protocol import timestamps
from league.protocol.errors import Violation
from league.protocol.versions import UNSAID

GAME_OVER: Final = "GAME_OVER"
STANDINGS: Final = "LEAGUE_STANDINGS_UPDATE"
CALL: Final = "CHOOSE_PARITY_CALL"
ROUND_COMPLETED: Final = "ROUND_COMPLETED"
_UNFILLED: Final = {"opponent_id": "", "round_id": 0}
_SEATS: Final = ("PLAYER_A", "PLAYER_B")
GOES_WITHOUT_SAYING: Final = ("league_id", "game_type")
_TIMES: Final = ("timestamp", "deadline")
_PLAYED: Final = ("matches_played", "games_played", "matches")

Normalised = tuple[dict[str, Any], tuple[Violation, ...]]
"""A message as the documents have it, and its deviations. Any: JSON of others."""


def normalise(content: dict[str, Any], kind: str) -> Normalised:
    """Read a message of one of these KINDS."""
    content, zones = _with_zones(content, kind)
    content, deviations = KINDS[kind](content)
    return content, (*zones, *deviations)


def _with_zones(content: dict[str, Any], kind: str) -> Normalised:
    """Read a time without a zone as UTC."""
    times = {}
    deviations = []
    for name in _TIMES:
        text = content.get(name)
        if isinstance(text, str) and not timestamps.is_compat(text) and timestamps.is_compat(text + "Z"):
            times[name] = text + "Z"
            place = "ENVELOPE" if name == "timestamp" else kind
            deviations.append(deviation_from(place, name, f"{text!r} names no zone; read as UTC", "E021"))
    if not times:
        return content, ()
    return {**content, **times}, tuple(deviations)


def _as_it_is(content: dict[str, Any]) -> Normalised:
    return content, ()


def _invitation(content: dict[str, Any]) -> Normalised:
    """Read an invitation without its league or its game, which the player knows from elsewhere, and a seat of another
    name: which of the two it is changes nothing for a player."""
    content, deviations = _unsaid(content, "GAME_INVITATION", GOES_WITHOUT_SAYING)
    content, about_seat = _seat(content)
    return content, (*deviations, *about_seat)


def _unsaid(content: dict[str, Any], kind: str, names: tuple[str, ...]) -> Normalised:
    """Mark the fields that are missing, and that the player knows from elsewhere."""
    missing = [name for name in names if content.get(name) is None]
    deviations = tuple(deviation_from(kind, name, f"{name} is missing") for name in missing)
    return {**content, **dict.fromkeys(missing, UNSAID)}, deviations


def _seat(content: dict[str, Any]) -> Normalised:
    role = content.get("role_in_match")
    if role in _SEATS:
        return content, ()
    seat = _SEATS[0]
    if isinstance(role, str) and role.lower().rstrip(" ")[-1:] in ("b", "2"):
        seat = _SEATS[1]
    code = "E008"
    detail = f"{role!r:.80} is not a seat"
    if role is None:
        code = "E003"
        detail = "role_in_match is missing"
    deviation = deviation_from("GAME_INVITATION", "role_in_match", detail, code)
    return {**content, "role_in_match": seat}, (deviation,)


def _call(content: dict[str, Any]) -> Normalised:
    """Leave out the fields of the context that nobody filled in. The invitation said who plays what."""
    content, unsaid = _unsaid(content, CALL, ("player_id", "game_type"))
    context = content.get("context")
    if not isinstance(context, dict):
        return content, unsaid
    # In JSON false is not 0, but Python thinks they are equal.
    empty = [name for name, nothing in _UNFILLED.items() if repr(context.get(name)) == repr(nothing)]
    if not empty:
        return content, unsaid
    filled = {name: value for name, value in context.items() if name not in empty}
    deviations = [deviation_from(CALL, f"context.{name}", f"{name} says nothing", "E008") for name in empty]
    return {**content, "context": filled}, (*unsaid, *deviations)


def _game_over(content: dict[str, Any]) -> Normalised:
    result = content.get("game_result")
    if not isinstance(result, dict):
        return content, ()
    changes: dict[str, Any] = {}
    deviations = []
    if not isinstance(result.get("choices"), dict):
        choices = result.get("player_choices")
        detail = "the choices are under choices"
        if not isinstance(choices, dict):
            choices = {}
            detail = "the choices are missing"
        changes["choices"] = choices
        deviations.append(deviation_from(GAME_OVER, "game_result.choices", detail))
    if result.get("status") == "LOSS" and isinstance(result.get("winner_player_id"), str):
        # The sender writes the result as its receiver sees it, but somebody won the match.
        changes["status"] = "WIN"
        detail = "a match that somebody won is a WIN, also to the loser"
        deviations.append(deviation_from(GAME_OVER, "game_result.status", detail, "E008"))
    if not deviations:
        return content, ()
    return {**content, "game_result": {**result, **changes}}, tuple(deviations)


def _standings(content: dict[str, Any]) -> Normalised:
    rows = content.get("standings")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return content, ()
    missing: set[str] = set()
    whole_rows = []
    for rank, row in enumerate(rows, start=1):
        whole = _row(row, rank)
        missing |= whole.keys() - row.keys()
        whole_rows.append(whole)
    if not missing:
        return content, ()
    deviations = [deviation_from(STANDINGS, f"standings[].{name}", f"{name} is missing") for name in sorted(missing)]
    return {**content, "standings": whole_rows}, tuple(deviations)


def _row(row: dict[str, Any], rank: int) -> dict[str, Any]:
    """Complete a row. The table is sorted, so the place in it is the rank; a player without a name goes by its id."""
    whole: dict[str, Any] = {"rank": rank}
    if row.get("player_id") is not None:
        whole["display_name"] = row["player_id"]
    for name in _PLAYED:
        if name in row:
            if row[name] is not None:
                whole["played"] = row[name]
            break
    return {**whole, **row}


def _round_completed(content: dict[str, Any]) -> Normalised:
    """Read a round that names no next one, not even null, as the last that is known."""
    if "next_round_id" in content:
        return content, ()
    content, deviations = _unsaid(content, ROUND_COMPLETED, ("next_round_id",))
    return {**content, "next_round_id": None}, deviations


KINDS: Final[Mapping[str, Callable[[dict[str, Any]], Normalised]]] = {
    GAME_OVER: _game_over,
    STANDINGS: _standings,
    CALL: _call,
    "GAME_INVITATION": _invitation,
    "GAME_MOVE_CALL": _as_it_is,
    "GAME_ERROR": _as_it_is,
    "ROUND_ANNOUNCEMENT": _as_it_is,
    ROUND_COMPLETED: _round_completed,
    "LEAGUE_COMPLETED": _as_it_is,
}
