"""MATCH_RESULT_REPORT as referees by others write it (spec section 13.3), read as the documents have it: another name
for the winner, or everything flat beside the match. And ours, so that their managers can read it. Pure. What is said
twice must be the same both times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeGuard

from msgspec import structs

from league.protocol.errors import Stage, Violation
from league.protocol.fields import Ordinal, Text
from league.protocol.messages import MatchResultReport, Request
from league.protocol.parts import Object, Result

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
    flat = _seated(content)
    is_mapped = flat is not None
    content = content if flat is None else flat
    result = content.get("result")
    if isinstance(result, dict) and "winner" in result and not is_mapped:
        return content, ()
    winners = list(_winners(result if isinstance(result, dict) else content))
    if not winners:
        return content, ()
    winner = winners[0]
    if any(other != winner for other in winners):
        return content, (_contradiction(winners),)
    if isinstance(result, dict):
        whole: Fields = {"score": {}, **result, "winner": winner}
        deviation = _deviation("result.winner", "the winner is under winner")
    else:
        whole = _gathered(content, winner)
        deviation = _deviation(
            "result",
            "winner, score and details stand in an object of that name",
        )
    return {**content, "message_type": KIND, "result": whole}, (deviation,)


def _contradiction(winners: list[str | None]) -> Violation:
    names = ", ".join(sorted(repr(winner) for winner in winners))
    detail = f"two winners of one match: {names}"
    return Violation("E039", "result.winner", detail, "REPORT.recomputed", Stage.VERDICT)


def _seated(content: Fields) -> Fields | None:
    """Return a report with a `players` map by ids, in it or in its result, as one that says the same by the players'
    seats, flat; None for any other."""
    result = content.get("result")
    inner = result if isinstance(result, dict) else {}
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
        if winner is None or isinstance(winner, str):
            yield None if winner == _DRAW else winner
    ids = [_of_side(source, side, ("_id", "")) for side in _SIDES]
    outcomes = [_of_side(source, side, ("_result", "_outcome")) for side in _SIDES]
    words = [outcome.upper() if isinstance(outcome, str) else "" for outcome in outcomes]
    if words == [_DRAW, _DRAW]:
        yield None
    for seat, (word, opponents_word) in enumerate(zip(words, reversed(words), strict=True)):
        if word in _WON and opponents_word in _LOST | {""} and isinstance(ids[seat], str):
            yield ids[seat]


def _of_side(source: Mapping[str, Any], side: tuple[str, ...], endings: tuple[str, ...]) -> Any:
    """Return what is said of the player on one side, by whatever name (Any: JSON of others)."""
    for ending in endings:
        for start in side:
            if f"{start}{ending}" in source:
                return source[f"{start}{ending}"]
    return None


def _gathered(content: Fields, winner: str | None) -> Fields:
    """Build `result` out of fields that lie about."""
    score = content.get("score")
    result: Fields = {
        "winner": winner,
        "score": score if isinstance(score, dict) else {},
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
    details = content.get("details")
    details = dict(details) if isinstance(details, dict) else {}
    details |= {name: content[name] for name in _DETAILS if name in content}
    if content.get("status") in _STATUSES:
        details.setdefault("status", content["status"])
    return details


def _deviation(path: str, detail: str) -> Violation:
    return Violation("E003", path, detail, f"{KIND}.{path}", lenient=True)


# --- ours, for managers by others -------------------------------------------------------------------------------------


class ReportInAllWords(Request, kw_only=True, frozen=True, tag=KIND):
    """A report of ours as the documents have it, and the same once more in the words that managers by others look for:
    flat beside the match, and in a map of the players. The round is called what its manager calls it."""

    type: ClassVar[str] = KIND
    league_id: Text
    round_id: Any  # a number, or whatever name its manager gave it
    match_id: Text
    game_type: Text
    result: Result
    attempt: Ordinal | None
    winner_id: Text | None
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


def in_all_words(report: MatchResultReport, round_name: str = "") -> ReportInAllWords:
    """Write a report for a manager that is not ours: nobody can see from outside what it counts."""
    result = report.result
    details = result.details
    choices = (details.choices if details else None) or {}
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
    fields["players"] = rows
    fields["drawn_number"] = (details and details.drawn_number) or None
    fields["round_id"] = round_name or report.round_id
    del fields["match_record"]  # it would mean nothing to it
    return ReportInAllWords(**fields)


def _outcome(report: MatchResultReport, player_id: str) -> str:
    """Return how the match ended for one of the two."""
    winner = report.result.winner
    details = report.result.details
    if winner == player_id:
        return "WIN"
    if details is not None and details.status == "TECHNICAL_LOSS":
        return "TECHNICAL_LOSS"
    return _DRAW if winner is None else "LOSS"
