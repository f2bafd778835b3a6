"""Takes answers of players that come as requests of their own (spec section 6.2): whose they are, and if they count.

On a connection of ours the answer is certainly the player's. A request can come from anybody, so its author has to
prove that it is the player, by the conversation of our call or by a token. With `--trust class` an answer that proves
nothing may count for the player at the address it came from (section 9.7); `asking.py` decides if it does.

A refused answer is noted in its match, so that nobody is told later that no answer came. The note blames nobody: its
author is not known. What must never happen: a stranger costs a player anything by what it sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from league.events import AnswerRefused
from league.games.contract import SEATS, Seat
from league.protocol.conventions import Convention
from league.protocol.endpoints import BadAddressError, ip_of, parse
from league.protocol.errors import PeerError, Stage, as_error
from league.protocol.message.envelope import Unsealed
from league.protocol.message.judge import shown
from league.protocol.message.messages import GameJoinAck
from league.protocol.signing import tokens
from league.referee.conduct import Conduct
from league.referee.match import Match
from league.referee.questions.answer_reading import Question, Valid
from league.referee.questions.asking import Asking
from league.referee.referee_context import RefereeContext, quotable
from league.referee.referee_messages import JOIN, awaited_type


class Posted(NamedTuple):
    """An answer that came as a request."""

    read: Unsealed
    origin: str
    """The address it came from."""
    convention: Convention


def take_answer(
    posted: Posted,
    context: RefereeContext,
    open_matches: Mapping[str, Conduct],
    now: float,
) -> None:
    """Hand an answer to the question that waits for it. PeerError if it does not count."""
    try:
        _take(posted, context, open_matches, now)
    except PeerError as error:
        _note(posted, error, context, now)
        raise


def _take(
    posted: Posted,
    context: RefereeContext,
    open_matches: Mapping[str, Conduct],
    now: float,
) -> None:
    read = posted.read
    _check_envelope(read)
    match = _match(read, context)
    seat = _seat(read, match)
    conduct = open_matches.get(match.match_id)
    if conduct is None:
        raise PeerError("E023", f"{match.match_id} awaits no answer")
    question = conduct.question(seat)
    is_proven = _proves_author(read, question)
    if not is_proven:
        _check_address(posted, question, context, open_matches)
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
    take_answer = asking.posted if is_proven else asking.posted_by_address
    error = take_answer(read, posted.convention, now)
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
    seat = _seat_named(read, match)
    if seat is None:
        raise PeerError(
            "E033",
            f"this answer is not from a player of {match.match_id}",
            {"field": "player_id"},
        )
    return seat


def _seat_named(read: Unsealed, match: Match) -> Seat | None:
    # `sender` names a player that leaves out its id, and may not name the opponent.
    sender = read.field("sender")
    sender_id = ""
    if isinstance(sender, str):
        sender_id = sender.partition(":")[2]
    player_id = read.field("player_id")
    seat = match.seat_of(str(player_id or sender_id))
    if match.seat_of(sender_id) not in (None, seat):
        return None
    return seat


# --- whose answer it is -----------------------------------------------------------------------------------------------


def _proves_author(read: Unsealed, question: Question) -> bool:
    """True if the sender received the call, or shows a token of the player. PeerError for the token of another."""
    token = read.field("auth_token")
    if question.was_received(read.field("conversation_id")) or question.has_full_standing(token):
        return True
    if isinstance(token, str) and token:
        raise PeerError(
            "E012",
            f"its auth_token does not belong to {question.player_id}; {_REMEDY}",
            tokens.refused(token),
        )
    return False


_REMEDY = "repeat the conversation_id of the call, or show the token you registered with"
_OR_TRUST = "; only with --trust class does it count as it is"


def _check_address(
    posted: Posted,
    question: Question,
    context: RefereeContext,
    open_matches: Mapping[str, Conduct],
) -> None:
    """Accept an answer that proves nothing only where the league trusts addresses, and only for a player that always
    answers so (section 9.7)."""
    match = question.match
    player_id = question.player_id
    # Usually an address proves nothing: many agents may share it.
    if not match.taken.trusts_addresses:
        raise PeerError("E012", f"it shows neither the conversation_id of the call nor a token; {_REMEDY}{_OR_TRUST}")
    if not _is_from(match.taken.endpoints[question.seat], posted.origin):
        raise PeerError("E012", f"it shows no token, and {posted.origin} is not the address of {player_id}")
    if any(played.has_proven_answer(player_id) for played in context.docket.matches.values()):
        raise PeerError("E012", f"it shows no token, and {player_id} has answered in another way before")
    if len(_questions_to(player_id, open_matches)) > 1:
        raise PeerError("E012", f"it shows no token, and {player_id} is asked in several matches at once")


def _questions_to(player_id: str, open_matches: Mapping[str, Conduct]) -> list[Asking]:
    """Return the open questions to a player."""
    questions = []
    for conduct in open_matches.values():
        for seat in SEATS:
            asking = conduct.asking(seat)
            if asking is not None and conduct.match.taken.players[seat] == player_id:
                questions.append(asking)
    return questions


def _is_from(endpoint: str, origin: str) -> bool:
    """True if an agent at this endpoint calls from this address. A name could be anywhere: nothing is looked up. Nobody
    is known by a public address."""
    caller = ip_of(origin)
    try:
        home = parse(endpoint).ip
    except BadAddressError:
        return False
    if caller is None or home is None or home.is_global:
        return False
    return caller == home or (caller.is_loopback and home.is_loopback)


# --- answers that were taken or refused before ------------------------------------------------------------------------


def _is_repeated(read: Unsealed, question: Question, awaited: str) -> bool:
    """Is it an answer that counted already? Then it is acknowledged again (section 6.7)."""
    match = question.match
    seat = question.seat
    if isinstance(read.message, GameJoinAck):
        return read.message_type == JOIN and read.message.accept and match.seated[seat].joined
    choice = match.course.pending.get(seat)
    return choice is not None and question.read(read, awaited) == Valid(choice)


def _note(posted: Posted, error: PeerError, context: RefereeContext, now: float) -> None:
    """Note a refused answer in the match that it is about, while that is being played."""
    match_id = posted.read.field("match_id")
    if not isinstance(match_id, str):
        return
    match = context.docket.open.get(match_id)
    if match is None or match.decided is not None:
        return
    seat = _seat_named(posted.read, match)
    player_id = ""
    if seat is not None:
        player_id = match.taken.players[seat]
        last = match.seated[seat].last
        # A wrong answer is counted as one: there is nothing to add.
        if last is not None and last.at == now and last.code == error.code:
            return
    detail = quotable(error.detail)
    if match.notes_refused(player_id, detail):
        context.happened(
            AnswerRefused(
                at=now,
                **match.asked(player_id),
                origin=posted.origin,
                code=error.code,
                detail=detail,
            )
        )
