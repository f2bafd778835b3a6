"""MATCH_RESULT_REPORT as referees by others write it (spec section 13.3), read as the documents have it: another name
for the winner, or everything flat beside the match. And ours, so that their managers can read it. Pure. What is said
twice must be the same both times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from msgspec import structs

from league.protocol.errors import Stage, Violation
from league.protocol.fields import Ordinal, Text
from league.protocol.messages import MatchResultReport, Request
from league.protocol.parts import Object, Result

KIND = "MATCH_RESULT_REPORT"
_WINNERS = ("winner", "winner_id", "winner_player_id")
_DRAW = "DRAW"
_SIDES = (("player_A", "player_a", "player1"), ("player_B", "player_b", "player2"))
_WON, _LOST = frozenset({"WIN", "WON", "WINNER"}), frozenset({"LOSS", "LOST", "LOSE", "LOSER"})
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
    """The report as the documents have it, and its deviations; E039 among them is a contradiction, which is refused."""
    content, is_mapped = _seated(content)
    result = content.get("result")
    if isinstance(result, dict) and "winner" in result and not is_mapped:
        return content, ()
    source = result if isinstance(result, dict) else content
    winners = list(_winners(source))
    if not winners:
        return content, ()
    winner = winners[0]
    if any(one != winner for one in winners):
        detail = f"two winners of one match: {', '.join(sorted(repr(one) for one in winners))}"
        contradiction = Violation("E039", "result.winner", detail, "REPORT.recomputed", Stage.VERDICT)
        return content, (contradiction,)
    if isinstance(result, dict):
        told: Fields = {"score": {}, **result, "winner": winner}
        deviation = _deviation("result.winner", "the winner is under winner")
    else:
        told = _gathered(content, winner)
        deviation = _deviation("result", "winner, score and details stand in an object of that name")
    return {**content, "message_type": KIND, "result": told}, (deviation,)


def _seated(content: Fields) -> tuple[Fields, bool]:
    """A `players` map, by ids, in the report or in its result: the same by the players' seats, flat beside it."""
    result = content.get("result")
    for source in (content, result if isinstance(result, dict) else {}):
        players = source.get("players")
        if isinstance(players, dict) and len(players) == len(_SIDES) and all(map(_is_object, players.values())):
            seats = zip(_SIDES, players.items(), strict=True)
            told = {f"{side[0]}{name}": one for side, player in seats for name, one in _said_of(*player).items()}
            outer = {name: one for name, one in content.items() if name != "result"}
            inner = result if isinstance(result, dict) else {}
            return {**outer, **inner, **told}, True
    return content, False


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _said_of(player_id: str, player: Fields) -> Fields:
    """What a row of the map says, by the endings of the flat names."""
    told: Fields = {"_id": player_id}
    for ending, names in _COLUMNS:
        found = next((player[name] for name in names if name in player), None)
        if found is not None:
            told[ending] = found
    return told


def _winners(source: Mapping[str, Any]) -> Iterator[str | None]:
    """Whoever won, for each time it is said: null for nobody."""
    for name in _WINNERS:
        said = source.get(name, _MISSING)
        if said is None or isinstance(said, str):
            yield None if said == _DRAW else said
    ids = [_of(source, side, ("_id", "")) for side in _SIDES]
    outcomes = [_of(source, side, ("_result", "_outcome")) for side in _SIDES]
    words = [one.upper() if isinstance(one, str) else "" for one in outcomes]
    if words == [_DRAW, _DRAW]:
        yield None
    for place, (word, other) in enumerate(zip(words, reversed(words), strict=True)):
        if word in _WON and other in _LOST | {""} and isinstance(ids[place], str):
            yield ids[place]


def _of(source: Mapping[str, Any], side: tuple[str, ...], endings: tuple[str, ...]) -> Any:
    names = [f"{start}{ending}" for ending in endings for start in side]
    return next((source[name] for name in names if name in source), None)


def _gathered(content: Fields, winner: str | None) -> Fields:
    """`result` out of fields that lie about."""
    ids = [_of(content, side, ("_id", "")) for side in _SIDES]
    told: Fields = {"winner": winner, "score": content["score"] if isinstance(content.get("score"), dict) else {}}
    given = content.get("details")
    details: Fields = dict(given) if isinstance(given, dict) else {}
    details |= {name: content[name] for name in _DETAILS if name in content}
    if content.get("status") in _STATUSES:
        details.setdefault("status", content["status"])
    choices = [_of(content, side, ("_choice", "_parity")) for side in _SIDES]
    if all(isinstance(one, str) for one in ids) and any(one is not None for one in choices):
        details.setdefault("choices", dict(zip(ids, choices, strict=True)))
    points = [_of(content, side, ("_score", "_points")) for side in _SIDES]
    if all(isinstance(one, str) for one in ids) and all(isinstance(one, int) for one in points):
        told["score"] = dict(zip(ids, points, strict=True))
    return {**told, "details": details} if details else told


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
    """For a manager that is not ours: nobody can see from outside what it counts."""
    result, details = report.result, report.result.details
    choices = (details.choices if details else None) or {}
    rows = {
        player: {"choice": choices.get(player), "score": points, "result": _outcome(report, player)}
        for player, points in result.score.items()
    }
    flat = {
        f"{seat}_{name}": value
        for seat, (player, row) in zip(("player_a", "player_b"), rows.items(), strict=True)
        for name, value in {"id": player, **row}.items()
    }
    told = {**structs.asdict(report), **flat, "winner_id": result.winner, "players": rows}
    told |= {"drawn_number": (details and details.drawn_number) or None, "round_id": round_name or report.round_id}
    del told["match_record"]  # it would mean nothing to it
    return ReportInAllWords(**told)


def _outcome(report: MatchResultReport, player_id: str) -> str:
    """How it ended for one of the two."""
    winner, details = report.result.winner, report.result.details
    if winner == player_id:
        return "WIN"
    if details is not None and details.status == "TECHNICAL_LOSS":
        return "TECHNICAL_LOSS"
    return _DRAW if winner is None else "LOSS"
