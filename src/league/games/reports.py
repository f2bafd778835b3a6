"""Contradictions within a MATCH_RESULT_REPORT, by the rules of its game (R-10)."""

from collections.abc import Iterator
from typing import Final

import msgspec

from league.games import registry
from league.games.contract import SEATS, Game, Players, Seat, Verdict, points
from league.protocol.errors import Stage, Violation
from league.protocol.messages import MatchResultReport

DRAW: Final = "DRAW"
"""What some referees write for no winner."""


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
    if result.winner not in (None, DRAW, *players):
        yield _violation("winner", f"{result.winner!r} is neither {players[0]} nor {players[1]}")
        return
    won = next((seat for seat in SEATS if players[seat] == result.winner), None)
    verdict = game.wire.verdict(msgspec.to_builtins(result.details or {}), players)
    if verdict.contradicts(won):
        yield _violation("details" if verdict.kind == "impossible" else "winner", f"cannot be: {verdict.note}")
        return
    if result.winner == DRAW:
        yield _violation("winner", "a draw has no winner: null", lenient=True)
    if verdict.kind == "insufficient":
        place = "details.drawn_number" if verdict.implied else "details"
        yield _violation(place, f"proves nothing: {verdict.note}", lenient=True)
    yield from _wrong_score(report, players, _points(verdict, won))


def _points(verdict: Verdict, won: Seat | None) -> tuple[int, int] | None:
    """What the score must be; None where no winner may mean a draw or a technical loss of both."""
    if won is None and verdict.kind == "technical":
        return 0, 0
    if won is None and verdict.kind == "insufficient" and not verdict.implied:
        return None
    return points(won)


def _wrong_score(report: MatchResultReport, players: Players, due: tuple[int, int] | None) -> Iterator[Violation]:
    if due is not None and report.result.score != dict(zip(players, due, strict=True)):
        told = f"{players[0]} {due[0]}, {players[1]} {due[1]}"
        yield _violation("score", f"the points of this result are {told}", lenient=True)


def _violation(place: str, detail: str, lenient: bool = False) -> Violation:
    clause = "REPORT.wrong_score" if place == "score" else "REPORT.recomputed"
    return Violation("E039", f"result.{place}", detail, clause, Stage.VERDICT, lenient)
