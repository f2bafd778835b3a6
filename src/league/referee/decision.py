"""What a match comes to: the winner, the points and the reason, in the words of GAME_OVER and of the report.

A match in which somebody is at fault is decided by the faults alone, any other by the rules of its game.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from league.events import MatchDecided, PlayerFaulted, Status
from league.games.contract import SEATS, Outcome, Seat, opponent
from league.games.wire_fields import packed
from league.protocol.errors import ERRORS
from league.referee.match import DECLINED, Match
from league.referee.questions.charges import UNAVAILABLE
from league.referee.questions.trouble import MAY_WAIT

LARGEST_TALK: Final = 2_000
"""Bytes of talk in a report."""
_REASONS: Final = {
    ("join", DECLINED): "{} declined the invitation",
    ("join", "E001"): "{} did not join in time",
    ("move", "E001"): "{} did not choose in time",
    ("move", UNAVAILABLE): "{} declined to choose",
}


class _Verdict(NamedTuple):
    """The winner of a match, None if nobody won, and the reason."""

    winner: Seat | None
    reason: str
    returns: tuple[float, ...] = ()


def decided(match: Match, now: float) -> MatchDecided:
    """Decide a match in which nobody is awaited any more, once, before anybody is told (R-31)."""
    faults = match.faults
    is_technical = bool(faults)
    verdict = _by_fault(match, faults) if is_technical else _by_rules(match)
    assignment = match.taken
    players = assignment.players
    scoring = match.game.scoring
    score = scoring.points(verdict.winner, is_technical, verdict.returns)
    status: Status = "DRAW"
    winner = None
    if verdict.winner is not None:
        status = "WIN"
        winner = players[verdict.winner]
    if is_technical:
        status = "TECHNICAL_LOSS"
    wire = match.game.wire
    reason = verdict.reason
    proof: dict[str, object] = {"status": status, "draw_seed": assignment.seed}
    if assignment.share_commitment:
        proof["share_commitment"] = assignment.share_commitment
    if match.draws.share is not None:
        proof["draw_share"] = match.draws.share
    if scoring.by_margin and not is_technical:
        proof["returns"] = dict(zip(players, verdict.returns, strict=True))
    return MatchDecided(
        at=now,
        **match.named,
        status=status,
        winner=winner,
        points=dict(zip(players, score, strict=True)),
        reason=reason,
        game_result={
            "winner_player_id": winner,
            **packed(wire.game_result(match.course.position, players, is_technical, match.course.pending)),
            "reason": reason,
            "attempt": assignment.attempt,
            **proof,
        },
        details={
            **packed(wire.details(match.course.position, players, is_technical, match.course.pending)),
            "faults": {fault.player_id: _fault(fault) for fault in faults},
            **_provenance(match),
            **_talk(match),
            **proof,
        },
    )


def _provenance(match: Match) -> dict[str, object]:
    """Return how the choices came about, as far as the players say so."""
    first, second = match.seated
    if first.provenance is None and second.provenance is None:
        return {}
    provenances = {}
    for player_id, seated in zip(match.taken.players, match.seated, strict=True):
        if seated.provenance is not None:
            provenances[player_id] = seated.provenance
    return {"provenance": msgspec.to_builtins(provenances)}


def _talk(match: Match) -> dict[str, object]:
    """Return what was said, which the questions to the players showed: without it nobody could check them."""
    if not match.course.talk:
        return {}
    players = match.taken.players
    lines = [{"turn": line.turn, "by": players[line.seat], "text": line.text} for line in match.course.talk]
    # A report has a largest size. The record of the match has what does not fit.
    if len(msgspec.json.encode(lines)) > LARGEST_TALK:
        return {}
    return {"talk": lines}


def _by_rules(match: Match) -> _Verdict:
    outcome: Outcome | None = match.game.rules.outcome(match.course.position)
    assert outcome is not None, "a game in which nobody moves is over"
    return _Verdict(outcome.winner, outcome.explanation(match.taken.players), outcome.returns)


def _by_fault(match: Match, faults: list[PlayerFaulted]) -> _Verdict:
    """The other player wins; nobody if both are at fault (R-09)."""
    reasons = ", ".join(map(_reason, faults))
    reason = f"Technical loss: {reasons}"
    if len(faults) == len(SEATS):
        return _Verdict(None, reason)
    loser = match.seat_of(faults[0].player_id)
    assert loser is not None
    return _Verdict(opponent(loser), reason)


def _reason(fault: PlayerFaulted) -> str:
    """Say why a player lost. The opponent reads it too, so it quotes nothing that the player said."""
    if fault.code == "E009":
        if fault.reached:
            return f"{fault.player_id} answered with an error"
        return f"{fault.player_id} could not be reached"
    reason = _REASONS.get((fault.phase, fault.code))
    if reason is None:
        return f"{fault.player_id} gave no valid answer ({_name(fault.code)})"
    return reason.format(fault.player_id)


def _name(code: str) -> str:
    if code in ERRORS:
        return ERRORS[code].name
    return code


def _fault(fault: PlayerFaulted) -> dict[str, object]:
    written: dict[str, object] = {
        "code": fault.code,
        "phase": fault.phase,
        "turn": fault.turn,
        "detail": fault.detail,
    }
    # Of a player that gave a wrong answer, everybody knows that it can be reached.
    if fault.reached and fault.code in MAY_WAIT:
        written["reached"] = True
    return written
