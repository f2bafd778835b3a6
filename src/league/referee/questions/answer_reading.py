"""Reads a player's answer (spec sections 6.2, 6.3, 6.6) as a join, a choice, a refusal, a wrong answer, or a mere sign
of life.

A `Question` holds the facts of the match that an answer must agree with. Reading changes nothing and costs the player
nothing: `asking.py` draws the consequences.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from league.games.contract import Seat
from league.games.wire_fields import talk_in
from league.machine import Acknowledged, Content, Refusal
from league.protocol.errors import Stage, Violation
from league.protocol.message.envelope import Unsealed
from league.protocol.message.experiment import Provenance, said
from league.protocol.message.judge import json_name
from league.protocol.message.messages import (
    Acknowledgement,
    ChooseParityResponse,
    GameError,
    GameJoinAck,
    GameMoveResponse,
    LeagueErrorReply,
    MatchResultAck,
    Message,
)
from league.protocol.signing import tokens
from league.protocol.signing.choices import LENGTH
from league.referee.match import Match
from league.referee.referee_context import quotable

LONGEST_QUOTE = 100
ABOUT_REQUESTS = frozenset({"E034", "E035", "E036"})
"""Errors about a request that was not understood as one."""


class Valid(Struct, frozen=True):
    """A join, or a legal choice."""

    choice: str | None = None
    provenance: Provenance | None = None
    signature: str | None = None
    talk: str = ""


class Declined(Struct, frozen=True):
    """`accept: false`."""


class Wrong(Struct, frozen=True):
    """An answer that was read, and is wrong (R-39 c). `choice` is the choice in it, however wrong."""

    code: str
    detail: str
    path: str = ""
    choice: object = None
    requirement: str = ""


class Refused(Struct, frozen=True):
    """An error, never an acknowledgement; `detail` quotes it. If the call was not `understood`, another convention may
    help. `tells_more`: it is about more than the form of the call. `is_unknown`: it says that there is no such method,
    so nothing happened."""

    detail: str
    code: str
    understood: bool = True
    tells_more: bool = True
    is_unknown: bool = False


class MereAcknowledgement(Struct, frozen=True):
    """Only a receipt: the answer may still come as a request of its own, and will if it `is_promise`."""

    is_promise: bool = False


Answer = Valid | Declined | Wrong | Refused | MereAcknowledgement
_JOINED: Final = Valid()


class Question(Struct, frozen=True):
    """The player that is asked in a match, and the facts that its answers are held to; `awaited` is the message type of
    the next answer. Without `digests` no token can be checked."""

    match: Match
    seat: Seat
    player_id: str
    is_strict: bool
    digests: tuple[str, ...]
    players: Collection[str]
    """All players that ever played here (R-43)."""
    must_show_token: bool = False
    """In `strict` everybody must, otherwise only players that declared a key: their tokens are nobody else's."""
    replies: tuple[str, ...] = ()
    """Digests of tokens that are right only in the reply to a call: the player got them by name and address alone."""

    @property
    def _alias(self) -> str:
        """The id it asked for, which is another player's: on a connection of ours it means this player."""
        return self.match.taken.known_as[self.seat]

    def has_full_standing(self, token: object) -> bool:
        """May this token speak for the player by itself (S-25)?"""
        return isinstance(token, str) and tokens.fits(token, self.digests)

    def was_received(self, conversation_id: object) -> bool:
        """Did the sender of this conversation_id receive the call?"""
        if not isinstance(conversation_id, str):
            return False
        return tokens.same(conversation_id, self.match.conversations[self.seat])

    def read(self, content: Content, awaited: str) -> Answer:
        """Read an answer; errors and acknowledgements are told from the message that is awaited."""
        if not isinstance(content, Unsealed):
            return _without_message(content)
        message = content.message
        if message is not None and message.type != awaited:
            if isinstance(message, LeagueErrorReply | GameError):
                quote = f'"{message.error_code} {message.error_description or ""}"'
                return Refused(quote, message.error_code)
            if isinstance(message, Acknowledgement | MatchResultAck):
                return MereAcknowledgement()
        problem = self._problem(content, awaited)
        if problem is None and message is not None:
            answer = self._answer_in(message)
            if not isinstance(answer, Violation):
                return answer
            problem = answer
        assert problem is not None
        choice = _quoted(_choice_in(content))
        return Wrong(
            problem.code,
            quotable(problem.detail),
            problem.path,
            choice,
            problem.requirement,
        )

    def deviations(self, content: Content, awaited: str) -> list[Violation]:
        """Return the deviations that `compat` accepts in an answer, but records (R-43, R-44, section 9.4)."""
        if isinstance(content, Acknowledged):
            return list(content.deviations)
        if not isinstance(content, Unsealed) or self.is_strict:
            return []
        deviations = list(content.deviations)
        message = content.message
        # Any other message is wrong or a refusal: it does not deviate as well.
        if message is None or message.type != awaited:
            return deviations
        player_id = getattr(message, "player_id", None)
        conversation_id = getattr(message, "conversation_id", None)
        if player_id is not None and player_id != self.player_id:
            deviations.append(
                Violation(
                    "E033",
                    "player_id",
                    f"{self.player_id} is asked",
                    "MATCH.wrong_ids",
                )
            )
        if conversation_id is not None and conversation_id != self.match.conversations[self.seat]:
            detail = "a reply repeats the conversation_id of its request"
            deviations.append(Violation("E008", "conversation_id", detail, "CONVERSATION.echoed"))
        token = getattr(message, "auth_token", None)
        if self.digests and not tokens.fits(token, (*self.digests, *self.replies)):
            detail = "the token of its registration belongs here"
            code = "E011"
            if token:
                code = "E012"
            deviations.append(Violation(code, "auth_token", detail, "TOKEN.wrong_in_answer"))
        return deviations

    def _problem(self, read: Unsealed, awaited: str) -> Violation | None:
        """Return the decisive problem, in the order of section 10.3; None if only the choice remains to be judged."""
        # Nearly all answers have no violation, and need no closer look.
        if read.violations or (self.must_show_token and self.digests):
            problem = read.until(Stage.ENVELOPE) or self._wrong_token(read)
            if problem is not None:
                return problem
            for violation in read.violations:
                return violation
        message = read.message
        assert message is not None, "it was read without a violation"
        if message.type != awaited:
            detail = f"expected {awaited}, not {message.type}"
            return Violation("E038", "message_type", detail, "ENVELOPE.message_type")
        match_id = getattr(message, "match_id", None)
        player_id = getattr(message, "player_id", None)
        if match_id in (None, self.match.taken.match_id) and player_id in (
            None,
            self.player_id,
        ):
            return None
        return self._wrong_ids(match_id, player_id)

    def _wrong_token(self, read: Unsealed) -> Violation | None:
        """Return what is wrong with the token of a player that must show one."""
        # Where a token matters more, in an answer that comes as a request, `posted_answers` checks it.
        if not self.must_show_token or not self.digests:
            return None
        token = read.field("auth_token")
        if not token:
            return Violation(
                "E011",
                "auth_token",
                "auth_token is missing",
                "TOKEN.wrong_in_answer",
            )
        if not (isinstance(token, str) and tokens.fits(token, (*self.digests, *self.replies))):
            return Violation(
                "E012",
                "auth_token",
                "this auth_token is not valid here",
                "TOKEN.wrong_in_answer",
            )
        return None

    def _wrong_ids(self, match_id: str | None, player_id: str | None) -> Violation | None:
        if match_id not in (None, self.match.taken.match_id):
            return Violation(
                "E015",
                "match_id",
                f"this is about {self.match.taken.match_id}",
                "MATCH.wrong_ids",
            )
        if player_id in (None, self.player_id) or (player_id == self._alias and not self.is_strict):
            return None
        # An id that nobody has can only be a mistake. Somebody else's may be an answer for somebody else.
        if player_id in self.players or self.is_strict:
            return Violation(
                "E033",
                "player_id",
                f"{self.player_id} is asked",
                "MATCH.wrong_ids",
            )
        return None

    def _answer_in(self, message: Message) -> Answer | Violation:
        """Return the join or the legal choice in a message, or what is wrong with the choice."""
        if isinstance(message, GameJoinAck):
            if message.accept:
                return _JOINED
            return Declined()
        game = self.match.game
        wire = game.wire
        if isinstance(message, GameMoveResponse) and message.move_data.move_type != wire.move_type:
            place = "move_data.move_type"
            return Violation(
                "E008",
                place,
                f'must be "{wire.move_type}"',
                f"GAME_MOVE_RESPONSE.{place}",
            )
        choice = _choice_of(message)
        legal = game.rules.legal_moves(self.match.course.position, self.seat)
        if choice is None or not game.permits(self.match.course.position, self.seat, choice, legal):
            path = "move_data.choice"
            if isinstance(message, ChooseParityResponse):
                path = "parity_choice"
            quoted = "null" if choice is None else repr(_quoted(choice))
            detail = f"{quoted} is not one of {', '.join(legal)}"
            if game.move_format:
                detail = f"{detail}, nor {game.move_format}"
            return Violation(wire.illegal_move, path, detail, "MOVE.valid_option")
        return self._valid(message, choice)

    def _valid(self, message: Message, choice: str) -> Valid:
        """Return a legal choice with what came with it."""
        signature = _bounded(getattr(message, "signature", None))
        provenance = getattr(message, "provenance", None)
        talk = ""
        if self.match.game.talk and isinstance(message, GameMoveResponse):
            talk = talk_in(message.move_data.talk, self.match.game)
        if provenance is not None:
            provenance = said(Provenance, provenance)
        return Valid(choice, provenance, signature, talk)


def _bounded(signature: str | None) -> str | None:
    """Return a signature, or None for a text that cannot be one: the report passes it on."""
    return signature if signature is not None and len(signature) == LENGTH else None


def _without_message(content: Content) -> Refused | MereAcknowledgement:
    """Read an answer that is no message of the protocol."""
    if not isinstance(content, Refusal):
        return MereAcknowledgement(isinstance(content, Acknowledged) and content.is_promise)
    code = content.code
    is_unknown = code == "E036" and not content.understood
    words = content.words or content.detail
    detail = f'"{words}"'
    # Our name for a code stands beside codes of ours only (T-17).
    if code not in words:
        detail += f", which we read as {code}"
    return Refused(
        detail,
        code,
        content.understood,
        code not in ABOUT_REQUESTS,
        is_unknown,
    )


def _choice_of(message: Message) -> str | None:
    if isinstance(message, ChooseParityResponse):
        return message.parity_choice
    if isinstance(message, GameMoveResponse):
        return message.move_data.choice
    return None


def _choice_in(read: Unsealed) -> object:
    """Return the choice in an answer, however wrong."""
    if read.message is not None:
        return _choice_of(read.message)
    move_data = read.content.get("move_data")
    if isinstance(move_data, dict):
        return move_data.get("choice")
    return read.content.get("parity_choice")


def _quoted(value: object) -> object:
    """Return a value as it may be repeated to its author: never more than a few words."""
    if isinstance(value, str):
        return value[:LONGEST_QUOTE]
    if value is None or isinstance(value, bool | int | float):
        return value
    return json_name(value)
