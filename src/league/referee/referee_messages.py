"""Writes a referee's messages in a match: invitations, calls, GAME_ERROR, GAME_OVER and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from league.events import Event
from league.games import draw
from league.games.contract import Seat
from league.games.wire_fields import move_request
from league.protocol import timestamps
from league.protocol.errors import ERRORS
from league.protocol.message.envelope import seal
from league.protocol.message.messages import (
    ChooseParityCall,
    DrawRequest,
    GameError,
    GameInvitation,
    GameMoveCall,
    GameOver,
    MatchResultReport,
)
from league.protocol.message.parts import (
    CallContext,
    GameResult,
    MoveRequest,
    Object,
    Record,
    Result,
    ResultDetails,
    RetryInfo,
)
from league.protocol.versions import PROTOCOL
from league.protocol.wire.jsonrpc import MESSAGE_LIMIT
from league.referee.match import Match

JOIN: Final = "GAME_JOIN_ACK"
LARGEST_REPORT: Final = MESSAGE_LIMIT - 512
"""With its token and the request around it, it is no larger than a manager accepts (R-24)."""
_ROLES: Final[tuple[Literal["PLAYER_A"], Literal["PLAYER_B"]]] = (
    "PLAYER_A",
    "PLAYER_B",
)


def commitment(match: Match) -> str:
    """Return the promise of this attempt's draw, which both invitations and the report carry."""
    assignment = match.taken
    return draw.commitment(
        bytes.fromhex(assignment.seed),
        assignment.league_id,
        assignment.match_id,
        assignment.attempt,
        assignment.share_commitment,
    )


def draw_request(match: Match, sender: str, now: float) -> DrawRequest:
    """Write what the manager must hold before it gives us its share of the draws."""
    assignment = match.taken
    handed_in = match.game.wire.details(match.course.position, assignment.players, False)
    choices = handed_in["choices"]
    moves = handed_in.get("moves")
    assert isinstance(choices, dict)
    return DrawRequest(
        **seal(sender, now, match.conversation_id),
        league_id=assignment.league_id,
        **match.named,
        choices=choices,
        moves=moves if isinstance(moves, list) else None,
        signatures=_signatures(match) or None,
        draw_seed=assignment.seed,
        draw_commitment=commitment(match),
    )


def awaited_type(match: Match) -> str:
    """Return the type of the message that answers the current question."""
    if match.turn:
        return match.game.wire.response_type
    return JOIN


def invitation(match: Match, seat: Seat, sender: str, now: float) -> GameInvitation:
    assignment = match.taken
    return GameInvitation(
        protocol=PROTOCOL,
        sender=sender,
        timestamp=timestamps.write(now),
        conversation_id=match.conversations[seat],
        league_id=assignment.league_id,
        round_id=assignment.round_id,
        match_id=assignment.match_id,
        game_type=assignment.game_type,
        role_in_match=_ROLES[seat],
        opponent_id=assignment.players[1 - seat],
        player_id=assignment.players[seat],
        draw_commitment=commitment(match),
        share_commitment=assignment.share_commitment or None,
        attempt=assignment.attempt,
    )


def call(match: Match, seat: Seat, sender: str, now: float, deadline: float) -> ChooseParityCall | GameMoveCall:
    """Write the call for a choice, as the game has it."""
    assignment = match.taken
    request = move_request(match.game, match.course.position, seat, match.turn, match.course.talk, assignment.players)
    if request is not None:
        return GameMoveCall(
            **seal(sender, now, match.conversations[seat]),
            match_id=assignment.match_id,
            player_id=assignment.players[seat],
            game_type=assignment.game_type,
            deadline=timestamps.write(deadline),
            move_request=msgspec.convert(request, MoveRequest),
            turn=match.turn,
        )
    return ChooseParityCall(
        protocol=PROTOCOL,
        sender=sender,
        timestamp=timestamps.write(now),
        conversation_id=match.conversations[seat],
        match_id=assignment.match_id,
        player_id=assignment.players[seat],
        game_type=assignment.game_type,
        deadline=timestamps.write(deadline),
        context=CallContext(
            opponent_id=assignment.players[1 - seat],
            round_id=assignment.round_id,
            your_standings=Record(**assignment.records[seat]),
        ),
        turn=match.turn,
    )


@dataclass(frozen=True, slots=True)
class Fault:
    """The subject of a GAME_ERROR. `retry` is the retry or correction about to be made, None after the last."""

    code: str
    detail: str
    max_retries: int
    retry: int | None
    retry_at: float | None = None
    time_remaining: float | None = None
    context: Object | None = field(default=None)
    consequence: str = ""


def game_error(match: Match, seat: Seat, fault: Fault, sender: str, now: float) -> GameError:
    """Write the error for the player at fault, with the retry data where any document looks for it (R-14)."""
    name = ERRORS[fault.code].name
    player_id = match.taken.players[seat]
    count = fault.retry
    if count is None:
        # There is no other retry: all of them were made.
        count = fault.max_retries
    next_retry_at = None
    if fault.retry_at is not None:
        next_retry_at = timestamps.write(fault.retry_at)
    return GameError(
        **seal(sender, now, match.conversations[seat]),
        match_id=match.taken.match_id,
        error_code=fault.code,
        error_description=name,
        error_name=name,
        error_detail=fault.detail,
        affected_player=player_id,
        player_id=player_id,
        action_required=awaited_type(match),
        game_state=match.game_state,
        retryable=fault.retry is not None,
        retry_count=count,
        max_retries=fault.max_retries,
        time_remaining=fault.time_remaining,
        retry_info=RetryInfo(
            retry_count=count,
            max_retries=fault.max_retries,
            next_retry_at=next_retry_at,
            time_remaining=fault.time_remaining,
        ),
        context=fault.context,
        consequence=fault.consequence or _consequence(fault),
    )


def _consequence(fault: Fault) -> str:
    if fault.retry is None:
        return "technical loss"
    if fault.time_remaining is not None:
        return "technical loss without a valid answer before the deadline"
    return f"technical loss after retry {fault.max_retries}"


def game_over(match: Match, sender: str) -> tuple[GameOver, GameOver]:
    """Write GAME_OVER for both players: the same but for the conversation, and the same after a restart."""
    decided = match.decided
    assert decided is not None
    result = msgspec.convert(decided.game_result, GameResult)
    first, second = match.conversations
    over = GameOver(
        protocol=PROTOCOL,
        sender=sender,
        timestamp=timestamps.write(decided.at),
        conversation_id=first,
        match_id=match.taken.match_id,
        game_type=match.taken.game_type,
        reason=decided.reason,
        game_result=result,
    )
    return over, msgspec.structs.replace(over, conversation_id=second)


def report(match: Match, sender: str) -> MatchResultReport:
    """Write the report, with the record of the match if the manager accepts it so."""
    if match.taken.record_wanted:
        # A record that is too large stays here, and the manager asks for it.
        whole = _report(match, sender, list(match.events))
        if len(msgspec.json.encode(whole)) <= LARGEST_REPORT:
            return whole
    return _report(match, sender, None)


def _report(match: Match, sender: str, record: list[Event] | None) -> MatchResultReport:
    decided = match.decided
    assignment = match.taken
    assert decided is not None
    # Commitment and signatures follow from the events of the match: the record does not need them twice.
    details = msgspec.convert(
        {**decided.details, "draw_commitment": commitment(match), "signatures": _signatures(match) or None},
        ResultDetails,
    )
    return MatchResultReport(
        protocol=PROTOCOL,
        sender=sender,
        timestamp=timestamps.write(decided.at),
        conversation_id=match.conversation_id,
        league_id=assignment.league_id,
        round_id=assignment.round_id,
        match_id=assignment.match_id,
        game_type=assignment.game_type,
        result=Result(winner=decided.winner, score=decided.points, details=details),
        attempt=assignment.attempt,
        match_record=record,
    )


def _signatures(match: Match) -> dict[str, str]:
    """Return the last signature of each player that signs."""
    return {
        player_id: seated.signature
        for player_id, seated in zip(match.taken.players, match.seated, strict=True)
        if seated.signature is not None
    }


def valid_choices(match: Match, seat: Seat) -> list[str]:
    return list(match.game.rules.legal_moves(match.course.position, seat))
