"""A player signs a choice, or says why it does not (spec section 9.6).

A signature stands for everything that the player chose and saw in an attempt. So it signs only what it knows for
certain: the manager announced this attempt and its promise, the referee's token is right, and every earlier choice of
the attempt is signed as well. Otherwise the choice leaves unsigned, and the author is told.
"""

from __future__ import annotations

import msgspec

from league.player.memory import InvitedMatch
from league.player.player_context import PlayerContext
from league.protocol.message.messages import ChooseParityCall, GameMoveCall
from league.protocol.signing.choices import ChoicesStatement, chained
from league.protocol.signing.keys import sign
from league.protocol.wire.canonical_json import NotCanonicalError


class _UnsignedError(Exception):
    """A choice cannot be signed; the text says why."""


def signed_choice(
    context: PlayerContext,
    match: InvitedMatch,
    call: ChooseParityCall | GameMoveCall,
    choice: str,
    is_proven: bool,
) -> dict[str, str]:
    """Return the signature under a final choice, as ChoiceGiven has it: with the chain of views, or the reason why
    there is none. Nothing if nobody could check it."""
    if context.signing_key is None or not context.membership.manager_key:
        return {}
    try:
        if not is_proven or not match.signs:
            raise _UnsignedError(
                "its referee did not show the token for this attempt, or an earlier choice is not signed"
            )
        statement = _statement(context, match, call, choice)
    except _UnsignedError as reason:
        return {"unsigned": str(reason)}
    return {"signature": sign(context.signing_key, statement), "views": statement.views or ""}


def _statement(
    context: PlayerContext,
    match: InvitedMatch,
    call: ChooseParityCall | GameMoveCall,
    choice: str,
) -> ChoicesStatement:
    invitation = match.invitation
    announced = context.memory.referees.get(match.match_id)
    promise = (match.stated_attempt, invitation.share_commitment)
    if announced is None or (announced.attempt, announced.share_commitment) != promise or not promise[1]:
        raise _UnsignedError("the manager did not announce this attempt with the promise that the referee names")
    signed = list(match.signed.values())
    views = signed[-1].views or None if signed else None
    if isinstance(call, GameMoveCall):
        if call.turn is None:
            raise _UnsignedError("the referee does not number its turns")
        try:
            views = chained(views, msgspec.to_builtins(call.move_request))
        except NotCanonicalError as error:
            raise _UnsignedError(f"what we were shown has no digest ({error})") from error
    statement = ChoicesStatement(
        manager_key=context.membership.manager_key,
        league_id=context.membership.league_id,
        match_id=match.match_id,
        attempt=match.stated_attempt,
        game_type=invitation.game_type,
        player_id=invitation.player_id,
        opponent_id=invitation.opponent_id,
        draw_commitment=invitation.draw_commitment or None,
        share_commitment=invitation.share_commitment,
        choices=(*(answer.choice for answer in signed), choice),
        views=views,
    )
    if not statement.is_well_formed:
        raise _UnsignedError("the invitation is not well-formed")
    return statement
