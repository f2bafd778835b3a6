"""Takes answers of players that come as requests of their own (spec section 6.2): whose they are, and if they count.

On a connection of ours the answer is certainly the player's. A request can come from anybody, so its author has to
prove that it is the player, by the conversation of our call or by a token."""

from __future__ import annotations

from collections.abc import Mapping

from league.games.contract import Seat
from league.protocol import tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Stage, as_error
from league.protocol.judge import shown
from league.protocol.messages import GameJoinAck
from league.referee.answer_reading import Question, Valid
from league.referee.conduct import Conduct
from league.referee.match import Match
from league.referee.referee_context import RefereeContext
from league.referee.referee_messages import JOIN, awaited_type


def take(
    read: Unsealed,
    context: RefereeContext,
    open_matches: Mapping[str, Conduct],
    now: float,
) -> None:
    """Hand an answer to the question that waits for it. PeerError if it does not count."""
    _check_envelope(read)
    match = _match(read, context)
    seat = _seat(read, match)
    conduct = open_matches.get(match.match_id)
    if conduct is None:
        raise PeerError("E023", f"{match.match_id} awaits no answer")
    question = conduct.question(seat)
    _check_author(read, question)
    asking = conduct.asking(seat)
    awaited = awaited_type(match)
    # A player may repeat its answer because our receipt was lost: that is no mistake.
    if asking is None or read.message_type != awaited:
        if _is_repeated(read, question, awaited):
            return
        raise PeerError(
            "E023",
            f"{match.match_id} awaits no {read.message_type} of {question.player_id}",
        )
    error = asking.posted(read, now)
    if error is not None:
        raise error


def _check_envelope(read: Unsealed) -> None:
    violation = read.until(Stage.ENVELOPE)
    if violation is not None:
        raise as_error(violation)


def _match(read: Unsealed, context: RefereeContext) -> Match:
    match_id = read.field("match_id")
    if match_id is None:
        raise PeerError("E003", "match_id is missing or null", {"field": "match_id"})
    match = None
    if isinstance(match_id, str):
        match = context.docket.newest(match_id)
    if match is None:
        raise PeerError("E014", f"there is no match {shown(match_id)[:80]} here")
    return match


def _seat(read: Unsealed, match: Match) -> Seat:
    """Find the player that answers."""
    # `sender` names a player that leaves out its id, and may not name the opponent.
    sender = read.field("sender")
    sender_id = ""
    if isinstance(sender, str):
        sender_id = sender.partition(":")[2]
    player_id = read.field("player_id")
    seat = match.seat_of(str(player_id or sender_id))
    if seat is None or match.seat_of(sender_id) not in (None, seat):
        raise PeerError(
            "E033",
            f"this answer is not from a player of {match.match_id}",
            {"field": "player_id"},
        )
    return seat


def _check_author(read: Unsealed, question: Question) -> None:
    """Accept the answer only from a sender that received the call, or shows a token of the player."""
    # An address proves nothing: many agents may share it.
    token = read.field("auth_token")
    if question.was_received(read.field("conversation_id")) or question.has_full_standing(token):
        return
    context = {}
    if isinstance(token, str) and token:
        context = tokens.refused(token)
    raise PeerError(
        "E012",
        "repeat the conversation_id of the call, or show the token you registered with",
        context,
    )


def _is_repeated(read: Unsealed, question: Question, awaited: str) -> bool:
    """Is it an answer that counted already? Then it is acknowledged again (section 6.7)."""
    match = question.match
    seat = question.seat
    if isinstance(read.message, GameJoinAck):
        return read.message_type == JOIN and read.message.accept and match.seated[seat].joined
    choice = match.pending.get(seat)
    return choice is not None and question.read(read, awaited) == Valid(choice)
