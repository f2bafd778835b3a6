"""MATCH_RESULT_REPORT as third-party referees write it (spec section 13.3), read as the documents have it: another name
for the winner, or everything flat beside the match. And ours, so that their managers can read it. Pure. What is said
twice must be the same both times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeGuard

from msgspec import structs

from league.gateway.readers.foreign_json import as_object, deviation_from
from league.protocol.errors import Stage, Violation
from league.protocol.message.fields import Ordinal, Text
from league.protocol.message.messages import MatchResultReport, Request
from league.protocol.message.parts import Object, Result

KIND = "MATCH_RESULT_REPORT"
_WINNERS = ("winner", "winner_id", "winner_player_id")
_DRAW = "DRAW"
_SIDES = (
    ("player_A", "player_a", "player1"),
    ("player_B", "player_b", "player2"),
)
_WON = frozenset({"WIN", "WON", "WINNER"})
_LOST = frozenset({"LOSS", "LOST", "LOSE", "LOSER"})
_DETAILS = ("drawn_number", "choices", "number_parity", "draw_seed")
_STATUSES = ("WIN", _DRAW, "TECHNICAL_LOSS")
_COLUMNS = (
    ("_choice", ("choice", "parity_choice", "parity")),
    ("_score", ("score", "points")),
    ("_result", ("result", "outcome", "status")),
)
"""In a row of a `players` map."""
_MISSING = object()

Fields = dict[str, Any]
"""JSON of others (Any: whatever they wrote)."""


def normalise(content: Fields) -> tuple[Fields, tuple[Violation, ...]]:
    """Return the report as the documents have it, and its deviations; E039 among them is a contradiction, which is
    refused."""
    told = content.get("game_result")
    if "result" not in content and isinstance(told, dict):
        # D2 names the report and prints no field of it: a referee by D2 reports what it told the players.
        content = {**told, **content}
    flat = _seated(content)
    if flat is not None:
        content = flat
    result = content.get("result")
    if isinstance(result, dict):
        # The report of the documents, or one with another name for the winner.
        if "winner" in result and flat is None:
            return content, ()
        winners = list(_winners(result))
    else:
        winners = list(_winners(content))
    if not winners:
        return content, ()
    winner = winners[0]
    # What is said twice must be the same both times.
    if any(another != winner for another in winners):
        return content, (_contradiction(winners),)
    if isinstance(result, dict):
        whole: Fields = {"score": {}, **result, "winner": winner}
        deviation = deviation_from(KIND, "result.winner", "the winner is under winner")
    else:
        whole = _gathered(content, winner)
        deviation = deviation_from(KIND, "result", "winner, score and details stand in an object of that name")
    return {**content, "message_type": KIND, "result": whole}, (deviation,)


def _contradiction(winners: list[str | None]) -> Violation:
    names = ", ".join(sorted(repr(winner) for winner in winners))
    detail = f"two winners of one match: {names}"
    return Violation("E039", "result.winner", detail, "REPORT.recomputed", Stage.VERDICT)


def _seated(content: Fields) -> Fields | None:
    """Return a report that has a `players` map by id, in it or in its result, as one with flat fields for each seat;
    None for any other report."""
    inner = as_object(content.get("result"))
    for source in (content, inner):
        players = source.get("players")
        if _is_map_of_players(players):
            outer = {name: value for name, value in content.items() if name != "result"}
            return {**outer, **inner, **_by_seats(players)}
    return None


def _is_map_of_players(players: object) -> TypeGuard[Fields]:
    if not isinstance(players, dict) or len(players) != len(_SIDES):
        return False
    return all(isinstance(player, dict) for player in players.values())


def _by_seats(players: Fields) -> Fields:
    fields: Fields = {}
    for side, (player_id, player) in zip(_SIDES, players.items(), strict=True):
        seat = side[0]
        fields[f"{seat}_id"] = player_id
        for ending, names in _COLUMNS:
            value = next((player[name] for name in names if name in player), None)
            if value is not None:
                fields[f"{seat}{ending}"] = value
    return fields


def _winners(source: Mapping[str, Any]) -> Iterator[str | None]:
    """Yield the winner each time it is said: None for a draw."""
    for name in _WINNERS:
        winner = source.get(name, _MISSING)
        if winner == _DRAW:
            yield None
        elif winner is None or isinstance(winner, str):
            yield winner
    ids = [_of_side(source, side, ("_id", "")) for side in _SIDES]
    outcomes = [_of_side(source, side, ("_result", "_outcome")) for side in _SIDES]
    words = []
    for outcome in outcomes:
        is_word = isinstance(outcome, str)
        words.append(outcome.upper() if is_word else "")
    if words == [_DRAW, _DRAW]:
        yield None
    for seat, word in enumerate(words):
        has_opponent_lost = words[1 - seat] in _LOST or not words[1 - seat]
        if word in _WON and has_opponent_lost and isinstance(ids[seat], str):
            yield ids[seat]


def _of_side(source: Mapping[str, Any], side: tuple[str, ...], endings: tuple[str, ...]) -> Any:
    """Return what the report says of the player on one side, under any name (Any: JSON of others)."""
    for ending in endings:
        for start in side:
            name = f"{start}{ending}"
            if name in source:
                return source[name]
    return None


def _gathered(content: Fields, winner: str | None) -> Fields:
    """Build `result` out of the fields that stand flat in the report."""
    result: Fields = {
        "winner": winner,
        "score": as_object(content.get("score")),
    }
    details = _details(content)
    ids = [_of_side(content, side, ("_id", "")) for side in _SIDES]
    if all(isinstance(player_id, str) for player_id in ids):
        choices = [_of_side(content, side, ("_choice", "_parity")) for side in _SIDES]
        if any(choice is not None for choice in choices):
            details.setdefault("choices", dict(zip(ids, choices, strict=True)))
        points = [_of_side(content, side, ("_score", "_points")) for side in _SIDES]
        if all(isinstance(number, int) for number in points):
            result["score"] = dict(zip(ids, points, strict=True))
    if details:
        result["details"] = details
    return result


def _details(content: Fields) -> Fields:
    details = dict(as_object(content.get("details")))
    details |= {name: content[name] for name in _DETAILS if name in content}
    if content.get("status") in _STATUSES:
        details.setdefault("status", content["status"])
    return details


# --- ours, for third-party managers -----------------------------------------------------------------------------------


class ReportInAllWords(Request, kw_only=True, frozen=True, tag=KIND):
    """A report of ours as the documents have it, and once more in the words that third-party managers look for: flat
    beside the match, and in a map of the players. The round is called what its manager calls it."""

    type: ClassVar[str] = KIND
    league_id: Text
    round_id: Any  # a number, or whatever name its manager gave it
    match_id: Text
    game_type: Text
    result: Result
    attempt: Ordinal | None
    winner_id: str | None
    drawn_number: int | None
    players: dict[str, Object]
    player_a_id: Text
    player_a_choice: Any  # whatever the game calls a choice
    player_a_score: int
    player_a_result: str
    player_b_id: Text
    player_b_choice: Any  # whatever the game calls a choice
    player_b_score: int
    player_b_result: str


def in_all_words(
    report: MatchResultReport,
    round_name: str = "",
    draw_word: str | None = None,
) -> ReportInAllWords:
    """Write a report for a manager that is not ours: nobody can see from outside what it counts. `draw_word`: the
    winner of a draw."""
    result = report.result
    details = result.details
    choices: Mapping[str, Any] = {}
    drawn_number = None
    if details is not None:
        choices = details.choices or {}
        drawn_number = details.drawn_number or None
    rows: dict[str, Object] = {}
    fields = structs.asdict(report)
    for seat, (player, points) in zip(("player_a", "player_b"), result.score.items(), strict=True):
        row: Object = {
            "choice": choices.get(player),
            "score": points,
            "result": _outcome(report, player),
        }
        rows[player] = row
        fields[f"{seat}_id"] = player
        fields |= {f"{seat}_{name}": value for name, value in row.items()}
    fields["winner_id"] = result.winner
    if is_draw(report):
        fields["winner_id"] = draw_word
        fields["result"] = structs.replace(result, winner=draw_word)
    fields["players"] = rows
    fields["drawn_number"] = drawn_number
    fields["round_id"] = round_name or report.round_id
    # A third-party manager could do nothing with it.
    del fields["match_record"]
    return ReportInAllWords(**fields)


def is_draw(report: MatchResultReport) -> bool:
    details = report.result.details
    is_technical = details is not None and details.status == "TECHNICAL_LOSS"
    return report.result.winner is None and not is_technical


def _outcome(report: MatchResultReport, player_id: str) -> str:
    """Return how the match ended for one of the two."""
    winner = report.result.winner
    details = report.result.details
    if winner == player_id:
        return "WIN"
    if details is not None and details.status == "TECHNICAL_LOSS":
        return "TECHNICAL_LOSS"
    if winner is None:
        return _DRAW
    return "LOSS"
