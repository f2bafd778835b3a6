"""What a player knows better than its referee (spec section 8.19).

The player compares GAME_OVER with what it knows for certain: the choices it made, the commitment it was invited with,
and the rules of the game. Choice, seed, share, number and result must follow. If one does not, its author is told, and
its journal keeps the objection with the result; `league verify` reads it there. The match ends all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from league.events import InvitationAnswered
from league.games import draw, registry
from league.games.contract import SEATS, Players, Verdict
from league.games.moves import reported_choices
from league.games.wire_fields import unpacked
from league.player.memory import InvitedMatch

Object = Mapping[str, Any]


def objection(match: InvitedMatch, result: Object, league_id: str) -> str:
    """Say what in a result cannot be true; empty if nothing is wrong with it."""
    game = registry.find(match.invitation.game_type)
    if game is None:
        # Without its rules we cannot tell.
        return ""
    players = (match.player_id, match.invitation.opponent_id)
    if match.invitation.role == "PLAYER_B":
        players = (match.invitation.opponent_id, match.player_id)
    verdict = game.wire.verdict(unpacked(result), players)
    return (
        _wrong_choice(match, result, reported_choices(game.rules, result, players))
        or _wrong_draw(match.invitation, result, league_id, verdict)
        or _wrong_winner(result, players, verdict)
    )


def _wrong_choice(match: InvitedMatch, result: Object, steps: Sequence[Mapping[str, object]]) -> str:
    choices = result.get("choices") or {}
    reported_last = choices.get(match.player_id)
    for turn, answer in match.signed.items():
        # A choice of a turn that a technical loss cut off is among the choices only.
        reported = reported_last
        if turn <= len(steps):
            reported = steps[turn - 1].get(match.player_id)
        if reported != answer.choice:
            return f"we chose {answer.choice} in turn {turn}, and GAME_OVER says {reported}"
    if not match.answers and reported_last is not None:
        return f"nobody asked us for a choice, and GAME_OVER says {reported_last}"
    return ""


def _wrong_draw(invitation: InvitationAnswered, result: Object, league_id: str, verdict: Verdict) -> str:
    """Say which number does not follow from the seed, if the seed opens the commitment of our invitation."""
    if not invitation.draw_commitment:
        return ""
    name = (league_id, invitation.match_id, invitation.stated_attempt)
    seed = draw.opened(
        str(result.get("draw_seed")),
        result.get("draw_share"),
        invitation.share_commitment,
        invitation.draw_commitment,
        *name,
    )
    if seed is None:
        # The manager's share leaves only for a draw: a game may have none, or end before it.
        if invitation.share_commitment and not verdict.draws:
            return ""
        return "seed and share do not open the commitment of our invitation"
    numbers = [(step.number, draw.event(seed, *name, index, step.weights)) for index, step in enumerate(verdict.draws)]
    for reported, right in numbers:
        if reported != right:
            return f"the seed gives the number {right}, and GAME_OVER says {reported}"
    return ""


def _wrong_winner(result: Object, players: Players, verdict: Verdict) -> str:
    winner = result.get("winner_player_id")
    seat = next((seat for seat in SEATS if players[seat] == winner), None)
    if verdict.contradicts(seat):
        return f"the result does not follow: {verdict.note}"
    return ""
