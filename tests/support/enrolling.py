"""An agent that registers, under test: the role around a membership; the tests answer for the manager."""

from __future__ import annotations

from typing import Any

from league import letters
from league.calling.engine import Calls
from league.calling.role import Context
from league.calling.timers import Timers
from league.events import ConventionLearned, DeviationRecorded, Event, Registered
from league.gateway.book import PeerBook
from league.machine import Content, Failure, Letter, Outgoing, Undelivered
from league.membership import Membership
from league.protocol.message.envelope import Profile, Reading, unseal
from league.protocol.message.messages import LeagueRegisterRequest, Message
from league.protocol.message.parts import PlayerMeta, RefereeMeta
from league.protocol.signing import tokens

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
    """The role around a membership."""

    def __init__(
        self, meta: PlayerMeta | RefereeMeta | None = None, profile: Profile = "compat", manager: str = MANAGER
    ) -> None:
        self.meta = meta or PlayerMeta(**META)
        self.manager = manager
        self.profile = profile
        self.keys: dict[str, str] = {}
        """Enrolment keys that it finds, by league."""
        self.now = START
        self.journal: list[Event] = []
        self.secrets: dict[str, str] = {}
        self.sent: list[Outgoing] = []
        self._new()

    def _new(self) -> None:
        self.timers = Timers()
        self.calls = Calls(self.sent.append, lambda _: None, self.timers)
        secrets = self.secrets
        book = PeerBook(self._happened, lambda: self.profile == "strict")
        keep_secret = secrets.__setitem__
        context = Context(self.calls, self.timers, secrets, bytes, self._happened, lambda *_: None, keep_secret, book)
        self.games: set[str] = set()
        self.membership = Membership(
            self.meta, self.manager, context, find_key=self.keys.get, may_play=self.games.__contains__
        )
        self.registration = self.membership.registration

    def _happened(self, event: Event) -> None:
        self.journal.append(event)
        self._apply(event)

    def _apply(self, event: Event) -> None:
        assert isinstance(event, Registered | DeviationRecorded | ConventionLearned)
        self.membership.apply(event)

    def restarted(self) -> Agent:
        self._new()
        for event in self.journal:
            self._apply(event)
        self.sent.clear()
        return self.started()

    def started(self) -> Agent:
        self.registration.resume(self.now)
        return self

    @property
    def deadline(self) -> float | None:
        return self.timers.next

    def wait(self, seconds: float) -> Agent:
        self.now += seconds
        self.timers.run(self.now)
        return self

    def answer(self, content: Content | dict[str, Any] | bytes) -> None:
        if isinstance(content, dict):
            content = unseal(content, Reading())
        if isinstance(content, bytes):
            content = letters.read_answer(content, self.last, Reading(self.profile))
        self.calls.answered(Letter(0, content, answers=self.sent[-1].key, peer=tokens.MANAGER), self.now)

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
        self.calls.failed(Undelivered(self.sent[-1].key, tokens.MANAGER, failure, **more), self.now)

    @property
    def last(self) -> Message:
        message = self.sent[-1].message
        assert isinstance(message, Message)
        return message
