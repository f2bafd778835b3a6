"""Errors in words that are safe to show: those that others tell us of, and those that we answer."""

from __future__ import annotations

from msgspec import Struct

from league.agent.meter import UNKNOWN_TYPE, kind_of
from league.letters import Asked
from league.machine import Content, Ping, Refusal
from league.protocol.errors import NO_CHOICE, PeerError
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import REPLY_TYPES
from league.protocol.message.messages import GameError, LeagueErrorReply, LeagueQueryResponse, Message
from league.protocol.safe_text import printable
from league.protocol.versions import is_of_kit

LONGEST_ERROR = 1000


class ErrorNote(Struct, frozen=True):
    """An error that somebody sent us, as a message or in answer to a call, or that we answered, in words that are safe
    to show."""

    peer: str
    message_type: str
    """The error's own, or that of the call it answers."""
    code: str
    text: str
    match_id: str | None = None
    is_answer: bool = False
    is_ours: bool = False
    """True if it is our answer to this message."""
    is_shown: bool = True
    """False for errors that only help to find out how an agent is spoken to: they are not for the terminal."""

    def __str__(self) -> str:
        subject = "a message" if self.message_type == UNKNOWN_TYPE else self.message_type
        if self.match_id:
            subject += f" about {self.match_id}"
        if self.is_ours:
            return f"refused {subject} from {self.peer}: {self.code} {self.text}"
        if self.is_answer:
            # In the peer's own words, whatever we read them as.
            words = self.text
            if self.code not in words:
                words += f" ({self.code})"
            return f"{self.peer} answers {subject} with {words}"
        if NO_CHOICE in self.text:
            # Whatever the code is called, the network did not fail.
            return f"{self.peer} says {subject}: your player did not choose; what went wrong is above"
        return f"{self.peer} says {subject}: {self.code} {self.text}"


ERRORS_TOLD = frozenset({GameError.type, LeagueErrorReply.type})
"""The requests that tell us of an error."""


def error_told(request: Asked) -> ErrorNote | None:
    """Note the error that a request tells us of."""
    if not isinstance(request.content, Unsealed):
        return None
    message = request.content.message
    if not isinstance(message, GameError | LeagueErrorReply):
        return None
    match_id = None
    if isinstance(message, GameError) and message.match_id:
        match_id = _cut(message.match_id)
    return ErrorNote(
        _cut(message.sender or "somebody"),
        message.type,
        message.error_code,
        _joined(message.error_name, message.error_description, message.error_detail),
        match_id,
    )


def error_given(request: Asked, kind: str, origin: str, error: PeerError) -> ErrorNote:
    """Note an error that we answer a request with."""
    sender = ""
    # A referee tells of refused answers by an event.
    is_shown = kind not in REPLY_TYPES
    if isinstance(request.content, Unsealed):
        sender = _text_in(request.content, "sender")
        # The kit makes mistakes on purpose.
        is_shown = is_shown and not is_of_kit(_text_in(request.content, "conversation_id"))
    peer = f"{sender} at {origin}" if sender else origin
    return ErrorNote(
        _cut(peer),
        _cut(kind),
        error.code,
        _cut(error.detail),
        request.match_id and _cut(request.match_id),
        is_ours=True,
        is_shown=is_shown,
    )


def _text_in(read: Unsealed, name: str) -> str:
    value = read.field(name)
    return value if isinstance(value, str) else ""


def error_answered(peer: str, sent: Message | Ping, content: Content) -> ErrorNote | None:
    """Note the error that a call of ours was answered with."""
    is_shown = True
    if isinstance(content, Refusal):
        code = content.code
        text = _cut(content.words or content.detail)
        # An answer that is posted as well is wanted by few, and has been given already.
        is_shown = content.understood and kind_of(sent) not in REPLY_TYPES
    elif isinstance(content, Unsealed) and isinstance(content.message, LeagueQueryResponse) and content.message.error:
        error = content.message.error
        code = error.error_code
        text = _cut(f"{code} {_joined(error.error_name, error.error_description)}")
    else:
        return None
    match_id = getattr(sent, "match_id", None)
    return ErrorNote(
        _cut(peer),
        kind_of(sent),
        code,
        text,
        match_id,
        is_answer=True,
        is_shown=is_shown,
    )


def _joined(*words: str | None) -> str:
    """Join name and sentence, each once."""
    return _cut(": ".join(dict.fromkeys(filter(None, words))))


def _cut(text: str) -> str:
    """Make what others wrote fit to be shown, and not longer than needed."""
    return printable(text[:LONGEST_ERROR])
