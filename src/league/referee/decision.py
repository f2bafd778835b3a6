"""How a match ended, in the words of GAME_OVER and of the report: made once, before anybody is told (R-31)."""

from __future__ import annotations

from league.events import MatchDecided, PlayerFaulted, Status
from league.games.contract import LOSS_POINTS, SEATS, Outcome, Seat, opponent, points
from league.protocol.errors import ERRORS
from league.referee.match import DECLINED, Match

_REASONS = {
    ("join", DECLINED): "{} declined the invitation",
    ("join", "E001"): "{} did not join in time",
    ("move", "E001"): "{} did not choose in time",
}


def decide(match: Match, now: float) -> MatchDecided:
    """The result of a match in which nobody is awaited any more."""
    faults = match.faults
    won, reason = _by_fault(match, faults) if faults else _by_rules(match)
    players = match.taken.players
    status: Status = "TECHNICAL_LOSS" if faults else "DRAW" if won is None else "WIN"
    due = (LOSS_POINTS, LOSS_POINTS) if faults and won is None else points(won)
    winner = None if won is None else players[won]
    technical, wire = bool(faults), match.game.wire
    said = {"status": status, "draw_seed": match.taken.seed}
    return MatchDecided(
        at=now,
        **match.named,
        status=status,
        winner=winner,
        points=dict(zip(players, due, strict=True)),
        reason=reason,
        game_result={
            "winner_player_id": winner,
            **wire.game_result(match.position, players, technical, match.pending),
            "reason": reason,
            "attempt": match.attempt,
            **said,
        },
        details={
            **wire.details(match.position, players, technical, match.pending),
            "faults": {one.player_id: _fault(one) for one in faults},
            **said,
        },
    )


def _by_rules(match: Match) -> tuple[Seat | None, str]:
    outcome: Outcome | None = match.game.rules.outcome(match.position)
    assert outcome is not None, "a game in which nobody moves is over"
    return outcome.winner, outcome.told(match.taken.players)


def _by_fault(match: Match, faults: tuple[PlayerFaulted, ...]) -> tuple[Seat | None, str]:
    """The other player wins; nobody if both are at fault (R-09)."""
    reason = "Technical loss: " + ", ".join(map(_reason, faults))
    if len(faults) == len(SEATS):
        return None, reason
    loser = match.seat_of(faults[0].player_id)
    assert loser is not None
    return opponent(loser), reason


def _reason(fault: PlayerFaulted) -> str:
    """For the opponent's eyes too, so nothing of what the player said."""
    told = _REASONS.get((fault.phase, fault.code))
    if told is None:
        told = "{} could not be reached" if fault.code == "E009" else f"{{}} gave no valid answer ({_name(fault.code)})"
    return told.format(fault.player_id)


def _name(code: str) -> str:
    return ERRORS[code].name if code in ERRORS else code


def _fault(fault: PlayerFaulted) -> dict[str, object]:
    return {"code": fault.code, "phase": fault.phase, "turn": fault.turn, "detail": fault.detail}
