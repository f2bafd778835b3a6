"""Answers of players that come as requests of their own (spec section 6.2): whose they are, and whether they count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from league.games.contract import Seat
from league.machine import Letter
from league.protocol import tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Stage, as_error
from league.protocol.judge import shown
from league.protocol.messages import GameJoinAck
from league.referee.answers import Question, Valid
from league.referee.conduct import Conduct
from league.referee.context import RefereeContext
from league.referee.match import Match
from league.referee.messages import JOIN, awaited_type

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def take(
    letter: Letter, read: Unsealed, context: RefereeContext, open_matches: Mapping[str, Conduct], now: float
) -> None:
    """Hand it to whoever waits for it. PeerError for what does not count."""
    _check_envelope(read)
    match = _match(read, context)
    seat = _seat(read, match)
    conduct = open_matches.get(match.match_id)
    if conduct is None:
        raise PeerError("E023", f"{match.match_id} awaits no answer")
    question = conduct.question(seat)
    is_authentic = _check_author(letter, read, question)
    asking = conduct.asking(seat)
    if asking is None or read.message_type != awaited_type(match):
        if _is_repeated(read, question):
            return
        raise PeerError("E023", f"{match.match_id} awaits no {read.message_type} of {question.player_id}")
    error = asking.posted(read, is_authentic, now)
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
    match = context.docket.newest(match_id) if isinstance(match_id, str) else None
    if match is None:
        raise PeerError("E014", f"there is no match {shown(match_id)[:80]} here")
    return match


def _seat(read: Unsealed, match: Match) -> Seat:
    """Whose answer it is. `sender` speaks for a player that leaves out its id, and may not name the opponent."""
    sender = read.field("sender")
    named = sender.partition(":")[2] if isinstance(sender, str) else ""
    player_id = read.field("player_id")
    seat = match.seat_of(str(player_id or named))
    if seat is None or match.seat_of(named) not in (None, seat):
        raise PeerError("E033", f"this is no answer of a player of {match.match_id}", {"field": "player_id"})
    return seat


def _check_author(letter: Letter, read: Unsealed, question: Question) -> bool:
    """By its token, or else by its address. True if nobody but the player can have sent it."""
    token = read.field("auth_token")
    if question.is_right(token):
        return True
    endpoint = question.match.taken.endpoints[question.seat]
    if letter.origin and same_host(letter.origin, endpoint):
        return not question.digests
    if not token:
        raise PeerError("E011", "auth_token is missing: show the one you registered with")
    raise PeerError("E012", "this auth_token is not the player's", tokens.refused(str(token)))


def _is_repeated(read: Unsealed, question: Question) -> bool:
    """What counted already may arrive again; it is acknowledged again (section 6.7)."""
    match, seat = question.match, question.seat
    if isinstance(read.message, GameJoinAck):
        return read.message_type == JOIN and read.message.accept and match.seated[seat].joined
    made = match.pending.get(seat)
    return made is not None and question.read(read) == Valid(made)


def same_host(origin: str, endpoint: str) -> bool:
    """Is this the host of that endpoint? All names of this machine for itself are one."""
    host = _host(endpoint.partition("://")[2])
    caller = origin.lower() if origin.count(":") > 1 and "]" not in origin else _host(origin)
    return host == caller or {host, caller} <= _LOOPBACK


def _host(text: str) -> str:
    """The host in "host:port/path" or "[host]:port/path"."""
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    for end in ":/?":
        text = text.partition(end)[0]
    return text.lower().rstrip(".")
