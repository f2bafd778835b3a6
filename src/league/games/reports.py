"""What a MATCH_RESULT_REPORT says against itself, judged by the rules of its game (R-10)."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from league.games import registry
from league.games.contract import SEATS, Game, Players, Seat, Verdict, points
from league.protocol.errors import Stage, Violation
from league.protocol.messages import MatchResultReport

DRAW: Final = "DRAW"
"""Read as no winner."""


def contradictions(report: MatchResultReport) -> tuple[Violation, ...]:
    """Where winner, choices, number and score contradict each other; nothing if only the league could tell."""
    game, players = registry.find(report.game_type), _players(report)
    if game is None or players is None:
        return ()
    # A report does not say who was PLAYER_A: what either seating explains is no contradiction.
    return min((tuple(_found(report, game, seating)) for seating in (players, players[::-1])), key=len)


def _players(report: MatchResultReport) -> Players | None:
    details = report.result.details
    for names in ((details.choices if details else None) or {}, report.result.score):
        if len(names) == len(SEATS):
            first, second = names
            return first, second
    return None


def _found(report: MatchResultReport, game: Game, players: Players) -> Iterator[Violation]:
    result = report.result
    verdict = game.wire.verdict(_details(report), players)
    if result.winner not in (None, DRAW, *players):
        yield _violation("winner", f"{result.winner!r} is neither {players[0]} nor {players[1]}")
        return
    won = next((seat for seat in SEATS if players[seat] == result.winner), None)
    if verdict.contradicts(won):
        place = "details" if verdict.kind == "impossible" else "winner"
        yield _violation(place, f"cannot be: {verdict.note}")
        return
    if verdict.implied:
        yield _violation("details.drawn_number", f"cannot be: {verdict.note}", lenient=True)
    expected = _points(verdict, won)
    if expected is not None and dict(result.score) != dict(zip(players, expected, strict=True)):
        due = f"{players[0]} {expected[0]}, {players[1]} {expected[1]}"
        yield _violation("score", f"the points of this result are {due}", lenient=True)


def _details(report: MatchResultReport) -> Mapping[str, object]:
    details: dict[str, object] = msgspec.to_builtins(report.result.details or {})
    return details


def _points(verdict: Verdict, won: Seat | None) -> tuple[int, int] | None:
    """What the score must be; None where no winner may mean a draw or a technical loss of both."""
    if won is None and verdict.kind == "technical":
        return 0, 0
    if won is None and verdict.kind == "insufficient" and not verdict.implied:
        return None
    return points(won)


def _violation(place: str, detail: str, lenient: bool = False) -> Violation:
    path = f"result.{place}"
    return Violation("E039", path, detail, f"MATCH_RESULT_REPORT.{path}", Stage.VERDICT, lenient)
