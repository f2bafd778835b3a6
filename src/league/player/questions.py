"""The questions a strategy is thinking about: which letters wait for which answer. Lost in a crash, and asked again
when the referee repeats its call."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec
from msgspec import structs

from league.machine import Ask, Letter
from league.player.matches import OwnMatch
from league.protocol import timestamps
from league.protocol.exchanges import EXCHANGES
from league.protocol.fields import Parity, ParityChoice
from league.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameMoveCall,
    GameMoveResponse,
    Message,
)
from league.protocol.parts import MoveData

Call = ChooseParityCall | GameMoveCall

PARITIES: Final = ("even", "odd")
WAITING: Final = 32
"""More letters than this do not wait for one answer; a referee repeats a call seven times at the very most."""
OPEN: Final = 1_000
"""More questions than this are not asked at a time."""
LONGEST_S: Final = 3_600.0


def turn_of(call: Call) -> int:
    """Which choice of the match is asked for: the same number, the same question.

    A referee that does not number its turns shows another view of the game in each: that tells them apart.
    """
    if isinstance(call, ChooseParityCall):
        return 1
    turn = call.move_request.context.get("turn")
    if isinstance(turn, int) and not isinstance(turn, bool):
        return turn
    digest = hashlib.sha256(msgspec.json.encode(call.move_request, order="deterministic")).digest()
    return int.from_bytes(digest[:6], "big")


def options_of(call: Call) -> tuple[str, ...]:
    """The valid choices."""
    return PARITIES if isinstance(call, ChooseParityCall) else tuple(call.move_request.valid_options)


def seconds_of(call: Call) -> float:
    """How long the referee waits, by its own clock alone (R-23)."""
    seconds = timestamps.read(call.deadline) - timestamps.read(call.timestamp)
    return min(seconds, LONGEST_S) if seconds > 0 else EXCHANGES[call.type].limit_s


class ChoiceSaidTwice(ChooseParityResponse, kw_only=True, frozen=True, tag="CHOOSE_PARITY_RESPONSE"):
    """For referees by others: some look for the choice under the name that their own players use (section 13.5)."""

    choice: ParityChoice


def answer(call: Call, choice: str, envelope: dict[str, Any], twice: bool = False) -> Message:
    """Our choice in the words of the call, as it is: a wrong one is never repaired. `twice`: also in the words of
    others."""
    match_id, player_id = call.match_id, call.player_id
    if isinstance(call, ChooseParityCall):
        fields = {**envelope, "match_id": match_id, "player_id": player_id, "parity_choice": choice}
        return ChoiceSaidTwice(**fields, choice=cast("Parity", choice)) if twice else ChooseParityResponse(**fields)
    move = MoveData(move_type=call.move_request.move_type, choice=choice)
    return GameMoveResponse(**envelope, match_id=match_id, player_id=player_id, move_data=move)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A letter that asks, and the token its answer will show."""

    letter: Letter
    call: Call
    token: str | None


@dataclass(slots=True)
class Question:
    """A choice our strategy was asked for."""

    key: str
    match: OwnMatch
    turn: int
    waiting: list[Waiting] = field(default_factory=list)


Place = tuple[str, str]
"""Match and referee: a referee asks one thing at a time."""


class Questions:
    """All that are open."""

    def __init__(self) -> None:
        self._by_key: dict[str, Question] = {}
        self._by_match: dict[Place, Question] = {}
        self._asked = 0

    @property
    def are_too_many(self) -> bool:
        return len(self._by_key) >= OPEN

    def about(self, match: OwnMatch) -> Question | None:
        """What is open in this match."""
        return self._by_match.get((match.match_id, match.referee_id))

    def ask(self, match: OwnMatch, turn: int, call: Call, now: float) -> tuple[Question, Ask]:
        """Open a question; the one that was open in this match must have been closed."""
        self._asked += 1
        key = f"{match.match_id}/{match.attempt}/choose/{turn}/{self._asked}"
        question = Question(key, match, turn)
        self._by_key[key] = self._by_match[match.match_id, match.referee_id] = question
        # Strategies show what they were asked to their authors; tokens are not for showing.
        shown = structs.replace(call, auth_token=None)
        return question, Ask(key, call.game_type, shown, now + seconds_of(call))

    def close(self, key: str) -> Question | None:
        """It was answered, or nobody wants to know any more."""
        question = self._by_key.pop(key, None)
        if question is not None:
            del self._by_match[question.match.match_id, question.match.referee_id]
        return question

    def all(self) -> list[Question]:
        return list(self._by_key.values())
