"""How a player's answer is read (spec sections 6.2, 6.3, 6.6): a join, a choice, a refusal, a wrong answer, or nothing
but a sign of life."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from league.games.contract import Seat
from league.machine import Acknowledged, Content, Refusal
from league.protocol import tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import ERRORS, Stage, Violation
from league.protocol.experiment import Provenance, said
from league.protocol.judge import json_name
from league.protocol.messages import (
    Acknowledgement,
    ChooseParityResponse,
    GameError,
    GameJoinAck,
    GameMoveResponse,
    LeagueError,
    MatchResultAck,
    Message,
)
from league.referee.context import quotable
from league.referee.match import Match

LONGEST_QUOTE = 100
ABOUT_REQUESTS = frozenset({"E034", "E035", "E036"})
"""What is said of a request that was not understood as one."""


class Valid(Struct, frozen=True):
    """A join, or a legal choice."""

    choice: str | None = None
    provenance: Provenance | None = None


class Declined(Struct, frozen=True):
    """`accept: false`."""


class Wrong(Struct, frozen=True):
    """Read, and wrong (R-39 c). `given` is the choice as it stands there."""

    code: str
    detail: str
    path: str = ""
    given: object = None
    requirement: str = ""


class Refused(Struct, frozen=True):
    """An error, never an acknowledgement; `detail` quotes it. Not `understood`: perhaps another convention helps; but
    it `tells_more` if it is about more than the form of the call. `is_unknown`: it says that there is no such method,
    so nothing happened."""

    detail: str
    code: str
    understood: bool = True
    tells_more: bool = True
    is_unknown: bool = False


class MereAcknowledgement(Struct, frozen=True):
    """The answer may still come as a request of its own, and does if it `is_promise`."""

    is_promise: bool = False


Answer = Valid | Declined | Wrong | Refused | MereAcknowledgement
_JOINED: Final = Valid()


class Question(Struct, frozen=True):
    """The player that is asked in a match, and what its answers are held to; `awaited` is the message type of the next
    answer. Without `digests` no token can be checked."""

    match: Match
    seat: Seat
    player_id: str
    is_strict: bool
    digests: tuple[str, ...]
    players: Collection[str]
    """Everybody known here (R-43)."""
    replies: tuple[str, ...] = ()
    """Digests of tokens that are right only in the reply to a call: the player got them by name and address alone."""

    @property
    def _alias(self) -> str:
        """The id it asked for, which is another player's: on a connection of ours that is no doubt about it."""
        return self.match.taken.known_as[self.seat]

    def has_full_standing(self, token: object) -> bool:
        """May this token speak for the player by itself (S-25)?"""
        return isinstance(token, str) and tokens.fits(token, self.digests)

    def was_received(self, conversation_id: object) -> bool:
        """Did whoever shows this receive the call?"""
        return isinstance(conversation_id, str) and tokens.same(conversation_id, self.match.conversations[self.seat])

    def read(self, content: Content, awaited: str) -> Answer:
        """What this answer says."""
        if not isinstance(content, Unsealed):
            return _without_message(content)
        message = content.message
        if message is not None and message.type != awaited:
            if isinstance(message, LeagueError | GameError):
                return Refused(
                    f'"{message.error_code} {message.error_description or ""}"',
                    message.error_code,
                )
            if isinstance(message, Acknowledgement | MatchResultAck):
                return MereAcknowledgement()
        problem = self._problem(content, awaited)
        if problem is None and message is not None:
            answer = self._found(message)
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
        """What `compat` lets pass in an answer, but records (R-43, R-44, section 9.4)."""
        if isinstance(content, Acknowledged):
            return list(content.deviations)
        if not isinstance(content, Unsealed) or self.is_strict:
            return []
        deviations = list(content.deviations)
        message = content.message
        if message is None or message.type != awaited:
            return deviations
        player_id = getattr(message, "player_id", None)
        conversation_id = getattr(message, "conversation_id", None)
        if player_id is not None and player_id != self.player_id:
            deviations.append(
                _violation(
                    "E033",
                    "player_id",
                    f"{self.player_id} is asked",
                    "MATCH.wrong_ids",
                )
            )
        if conversation_id is not None and conversation_id != self.match.conversations[self.seat]:
            detail = "a reply repeats the conversation_id of its request"
            deviations.append(_violation("E008", "conversation_id", detail, "CONVERSATION.echoed"))
        token = getattr(message, "auth_token", None)
        if self.digests and not tokens.fits(token, (*self.digests, *self.replies)):
            detail = "the token of its registration belongs here"
            code = "E012" if token else "E011"
            deviations.append(_violation(code, "auth_token", detail, "TOKEN.wrong_in_answer"))
        return deviations

    def _problem(self, read: Unsealed, awaited: str) -> Violation | None:
        """The decisive thing that is wrong with it, in the order of section 10.3; None if only the choice is left."""
        if read.violations or (self.is_strict and self.digests):
            problem = read.until(Stage.ENVELOPE) or self._wrong_token(read) or next(iter(read.violations), None)
            if problem is not None:
                return problem
        message = read.message
        assert message is not None, "it was read without a violation"
        if message.type != awaited:
            detail = f"expected {awaited}, not {message.type}"
            return _violation("E038", "message_type", detail, "ENVELOPE.message_type")
        match_id = getattr(message, "match_id", None)
        player_id = getattr(message, "player_id", None)
        if match_id in (None, self.match.taken.match_id) and player_id in (
            None,
            self.player_id,
        ):
            return None
        return self._wrong_ids(match_id, player_id)

    def _wrong_token(self, read: Unsealed) -> Violation | None:
        """`strict` only; where it matters more, an answer as its own request, it is checked there."""
        if not self.is_strict or not self.digests:
            return None
        token = read.field("auth_token")
        if not token:
            return _violation(
                "E011",
                "auth_token",
                "auth_token is missing",
                "TOKEN.wrong_in_answer",
            )
        if not (isinstance(token, str) and tokens.fits(token, (*self.digests, *self.replies))):
            return _violation(
                "E012",
                "auth_token",
                "this auth_token is not valid here",
                "TOKEN.wrong_in_answer",
            )
        return None

    def _wrong_ids(self, match_id: str | None, player_id: str | None) -> Violation | None:
        if match_id not in (None, self.match.taken.match_id):
            return _violation(
                "E015",
                "match_id",
                f"this is about {self.match.taken.match_id}",
                "MATCH.wrong_ids",
            )
        if player_id in (None, self.player_id) or (player_id == self._alias and not self.is_strict):
            return None
        if player_id in self.players or self.is_strict:
            return _violation(
                "E033",
                "player_id",
                f"{self.player_id} is asked",
                "MATCH.wrong_ids",
            )
        return None

    def _found(self, message: Message) -> Answer | Violation:
        if isinstance(message, GameJoinAck):
            return _JOINED if message.accept else Declined()
        wire = self.match.game.wire
        if isinstance(message, GameMoveResponse) and message.move_data.move_type != wire.move_type:
            place = "move_data.move_type"
            return _violation(
                "E008",
                place,
                f'must be "{wire.move_type}"',
                f"GAME_MOVE_RESPONSE.{place}",
            )
        choice = _choice_of(message)
        legal = self.match.game.rules.legal_moves(self.match.position, self.seat)
        if choice is None or choice not in legal:
            path = "parity_choice" if isinstance(message, ChooseParityResponse) else "move_data.choice"
            quoted = "null" if choice is None else repr(_quoted(choice))
            detail = f"{quoted} is none of {', '.join(legal)}"
            return _violation(wire.illegal_move, path, detail, "MOVE.valid_option")
        provenance = getattr(message, "provenance", None)
        if provenance is None:
            return Valid(choice)
        return Valid(choice, said(Provenance, provenance))


def _without_message(content: Content) -> Refused | MereAcknowledgement:
    if not isinstance(content, Refusal):
        return MereAcknowledgement(isinstance(content, Acknowledged) and content.is_promise)
    code = content.code
    is_unknown = code == "E036" and not content.understood
    detail = f'"{content.words or content.detail}" ({code} {ERRORS[code].name})'
    return Refused(
        detail,
        code,
        content.understood,
        code not in ABOUT_REQUESTS,
        is_unknown,
    )


def _violation(code: str, path: str, detail: str, requirement: str) -> Violation:
    return Violation(code, path, detail, requirement)


def _choice_of(message: Message) -> str | None:
    if isinstance(message, ChooseParityResponse):
        return message.parity_choice
    return message.move_data.choice if isinstance(message, GameMoveResponse) else None


def _choice_in(read: Unsealed) -> object:
    """The choice as it was given, however wrong."""
    if read.message is not None:
        return _choice_of(read.message)
    moved = read.content.get("move_data")
    return moved.get("choice") if isinstance(moved, dict) else read.content.get("parity_choice")


def _quoted(value: object) -> object:
    """What may be repeated to its author: never more than a few words."""
    if isinstance(value, str):
        return value[:LONGEST_QUOTE]
    return value if value is None or isinstance(value, bool | int | float) else json_name(value)
