"""Contradictions within a MATCH_RESULT_REPORT, by the rules of its game (R-10)."""

from collections.abc import Iterator
from typing import Final

import msgspec

from league.games import registry
from league.games.contract import (
    SEATS,
    Game,
    Players,
    Seat,
    Verdict,
)
from league.games.wire_fields import unpacked
from league.protocol.errors import Stage, Violation
from league.protocol.message.messages import MatchResultReport

DRAW: Final = "DRAW"
"""What some referees write when there is no winner."""


def contradictions(report: MatchResultReport) -> tuple[Violation, ...]:
    """Where winner, choices, number and score contradict each other; nothing if only the league could tell."""
    game = registry.find(report.game_type)
    players = _players(report)
    if game is None or players is None:
        return ()
    # A report does not say who was PLAYER_A, so a contradiction must hold in both seatings.
    as_listed = tuple(_violations(report, game, players))
    swapped = tuple(_violations(report, game, players[::-1]))
    return min(as_listed, swapped, key=len)


def _players(report: MatchResultReport) -> Players | None:
    details = report.result.details
    choices = details.choices if details else None
    for names in (choices or {}, report.result.score):
        if len(names) == len(SEATS):
            first, second = names
            return first, second
    return None


def _violations(report: MatchResultReport, game: Game, players: Players) -> Iterator[Violation]:
    result = report.result
    if result.winner not in (None, DRAW, *players):
        yield _violation("winner", f"{result.winner!r} is neither {players[0]} nor {players[1]}")
        return
    winner = next((seat for seat in SEATS if players[seat] == result.winner), None)
    verdict = game.wire.verdict(unpacked(msgspec.to_builtins(result.details or {})), players)
    if verdict.contradicts(winner):
        place = "details" if verdict.kind == "impossible" else "winner"
        # The score follows from the winner, so there is nothing more to check.
        yield _violation(place, f"cannot be true: {verdict.note}")
        return
    if result.winner == DRAW:
        yield _violation("winner", "a draw has no winner: null", lenient=True)
    if verdict.kind == "insufficient":
        place = "details.drawn_number" if verdict.implied else "details"
        yield _violation(place, f"does not decide the match: {verdict.note}", lenient=True)
    expected_points = _points(game, verdict, winner)
    if expected_points is not None and result.score != dict(zip(players, expected_points, strict=True)):
        correct_score = f"{players[0]} {expected_points[0]}, {players[1]} {expected_points[1]}"
        yield _violation("score", f"the points of this result are {correct_score}", lenient=True)


def _points(game: Game, verdict: Verdict, winner: Seat | None) -> tuple[int, int] | None:
    """What the score must be; None where no winner may mean a draw or a technical loss of both."""
    if winner is None and verdict.kind == "insufficient" and not verdict.implied:
        return None
    return game.scoring.points(winner, verdict.kind == "technical", verdict.returns)


def _violation(place: str, detail: str, lenient: bool = False) -> Violation:
    clause = "REPORT.wrong_score" if place == "score" else "REPORT.recomputed"
    return Violation(
        "E039",
        f"result.{place}",
        detail,
        clause,
        Stage.VERDICT,
        lenient,
    )
