"""An agent that registers, under test: the machine around an enrolment; the tests answer for the manager."""

from __future__ import annotations

from typing import Any

from league.enrolment import Enrolment
from league.events import DeviationRecorded, Enrolled, Event
from league.machine import Content, Failure, Letter, Outgoing, Undelivered
from league.protocol import tokens
from league.protocol.envelope import Profile, Reading, unseal
from league.protocol.messages import LeagueRegisterRequest, Message
from league.protocol.parts import PlayerMeta, RefereeMeta
from league.transport import letters

START = 1_750_000_000.0
MANAGER = "http://127.0.0.1:8000/mcp"
META: dict[str, Any] = {
    "display_name": "Ada ",
    "version": "1.0.0",
    "game_types": ["even_odd"],
    "contact_endpoint": "http://127.0.0.1:8101/mcp",
}
ANSWER = {
    "protocol": "league.v2",
    "sender": "league_manager",
    "timestamp": "2025-06-15T15:06:40Z",
    "conversation_id": "conv-1",
    "status": "ACCEPTED",
    "reason": None,
}


class Agent:
    """The machine around an enrolment."""

    def __init__(self, meta: PlayerMeta | RefereeMeta | None = None, profile: Profile = "compat") -> None:
        self.meta = meta or PlayerMeta(**META)
        self.profile = profile
        self.now = START
        self.journal: list[Event] = []
        self.secrets: dict[str, str] = {}
        self.sent: list[Outgoing] = []
        self.enrolment = self._new()

    def _new(self) -> Enrolment:
        return Enrolment(
            self.meta,
            MANAGER,
            self.secrets,
            happened=self._happened,
            send=self.sent.append,
            keep_secret=self.secrets.__setitem__,
            profile=self.profile,
        )

    def _happened(self, event: Event) -> None:
        self.journal.append(event)
        assert isinstance(event, Enrolled | DeviationRecorded)
        self.enrolment.apply(event)

    def restarted(self) -> Agent:
        self.enrolment = self._new()
        for event in self.journal:
            assert isinstance(event, Enrolled | DeviationRecorded)
            self.enrolment.apply(event)
        self.sent.clear()
        self.enrolment.resume(self.now)
        return self

    def started(self) -> Agent:
        self.enrolment.resume(self.now)
        return self

    def wait(self, seconds: float) -> Agent:
        self.now += seconds
        self.enrolment.tick(self.now)
        return self

    def answer(self, content: Content | dict[str, Any] | bytes) -> None:
        if isinstance(content, dict):
            content = unseal(content, Reading())
        if isinstance(content, bytes):
            content = letters.read_answer(content, self.last, Reading(self.profile))
        self.enrolment.answered(Letter(0, content, answers=self.sent[-1].key), self.now)

    def accept(self, **changed: Any) -> Agent:
        kind = "LEAGUE_REGISTER_RESPONSE" if isinstance(self.sent[-1].message, LeagueRegisterRequest) else None
        named = {"player_id": "P01"} if kind else {"referee_id": "REF01"}
        answer = {**ANSWER, "message_type": kind or "REFEREE_REGISTER_RESPONSE", **named, "league_id": "spring",
                  "auth_token": "tok_P01_first", "token_scheme": "derived", **changed}  # fmt: skip
        self.answer({name: value for name, value in answer.items() if value is not None})
        return self

    def reject(self, code: str | None, reason: str = "no", **context: Any) -> None:
        more = {"context": context} | ({} if code is None else {"error_code": code})
        self.answer({**ANSWER, "message_type": "LEAGUE_REGISTER_RESPONSE", "player_id": None, **more,
                     "status": "REJECTED", "reason": reason})  # fmt: skip

    def fail(self, failure: Failure = Failure.REFUSED, **more: Any) -> None:
        self.enrolment.failed(Undelivered(self.sent[-1].key, tokens.MANAGER, failure, **more), self.now)

    @property
    def last(self) -> Message:
        message = self.sent[-1].message
        assert isinstance(message, Message)
        return message
