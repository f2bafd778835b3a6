"""What referees and managers by others tell a player (spec section 13.5), in the words of the documents: a GAME_OVER
whose choices have another name or whose loser reads LOSS, a table whose rows lack what their order or another field
says, and a call whose context is a form that nobody filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from league.protocol.errors import Violation

GAME_OVER: Final = "GAME_OVER"
STANDINGS: Final = "LEAGUE_STANDINGS_UPDATE"
CALL: Final = "CHOOSE_PARITY_CALL"
_UNFILLED: Final = {"opponent_id": "", "round_id": 0}
_PLAYED: Final = ("matches_played", "games_played", "matches")

Normalised = tuple[dict[str, Any], tuple[Violation, ...]]
"""A message as the documents have it, and its deviations. Any: JSON of others."""


def normalise(content: dict[str, Any], kind: str) -> Normalised:
    """A message of one of these KINDS."""
    return KINDS[kind](content)


def _call(content: dict[str, Any]) -> Normalised:
    context = content.get("context")
    if not isinstance(context, dict):
        return content, ()
    empty = [name for name, nothing in _UNFILLED.items() if _is_same(context.get(name), nothing)]
    told = {name: value for name, value in context.items() if name not in empty}
    deviations = (
        Violation("E008", f"context.{name}", f"{name} says nothing", f"{CALL}.context.{name}", lenient=True)
        for name in empty
    )
    return ({**content, "context": told}, tuple(deviations)) if empty else (content, ())


def _is_same(value: object, nothing: object) -> bool:
    """false is not 0."""
    return type(value) is type(nothing) and value == nothing


def _game_over(content: dict[str, Any]) -> Normalised:
    result = content.get("game_result")
    if not isinstance(result, dict):
        return content, ()
    told: dict[str, Any] = {}
    deviations = []
    if "choices" not in result and isinstance(result.get("player_choices"), dict):
        told["choices"] = result["player_choices"]
        deviations.append(_result_deviation("E003", "choices", "the choices are under choices"))
    if result.get("status") == "LOSS" and isinstance(result.get("winner_player_id"), str):
        # As its receiver sees it; the match itself was won by somebody.
        told["status"] = "WIN"
        deviations.append(_result_deviation("E008", "status", "a match that somebody won is a WIN, also to the loser"))
    return ({**content, "game_result": {**result, **told}}, tuple(deviations)) if deviations else (content, ())


def _result_deviation(code: str, name: str, detail: str) -> Violation:
    place = f"game_result.{name}"
    return Violation(code, place, detail, f"{GAME_OVER}.{place}", lenient=True)


def _standings(content: dict[str, Any]) -> Normalised:
    rows = content.get("standings")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return content, ()
    whole = [_row(row, rank) for rank, row in enumerate(rows, start=1)]
    lacking = sorted({name for row, full in zip(rows, whole, strict=True) for name in full.keys() - row.keys()})
    deviations = (
        Violation("E003", f"standings[].{name}", f"{name} is missing", f"{STANDINGS}.standings[].{name}", lenient=True)
        for name in lacking
    )
    return ({**content, "standings": whole}, tuple(deviations)) if lacking else (content, ())


def _row(row: dict[str, Any], rank: int) -> dict[str, Any]:
    """The table is sorted, so the place in it is the rank; a player without a name goes by its id."""
    played = next((row[name] for name in _PLAYED if name in row), None)
    told = {"rank": rank, "display_name": row.get("player_id"), "played": played}
    return {**{name: value for name, value in told.items() if value is not None}, **row}


KINDS: Final[Mapping[str, Callable[[dict[str, Any]], Normalised]]] = {
    GAME_OVER: _game_over,
    STANDINGS: _standings,
    CALL: _call,
}
