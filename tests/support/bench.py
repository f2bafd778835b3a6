"""A machine under test, in virtual time: what it sends stays open until the test answers it, lets it fail, or lets its
time run out. Every message is checked for what it must say, every key for being new, every event for holding no token.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, Self, TypeVar

import msgspec

from league import letters
from league.events import AgentRegistered, Event, OrderCarriedOut, RoundFinished
from league.machine import (
    Acknowledged,
    Address,
    Blame,
    Content,
    Failure,
    Information,
    Letter,
    Machine,
    MatchRecord,
    Outgoing,
    Ping,
    Pong,
    Step,
    Undelivered,
)
from league.protocol import timestamps
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Profile, Reading, Unsealed, unseal
from league.protocol.message.messages import LeagueQueryResponse, Message, RegisterResponse
from league.protocol.signing import tokens
from league.storage.journal import decode, encode
from tests.support.said import unsaid

Object = dict[str, Any]
Replied = Message | Pong | Acknowledged | MatchRecord | Information | PeerError
M = TypeVar("M", bound=Machine)
What = TypeVar("What", bound=Message | Ping, covariant=True)
Some = TypeVar("Some", bound=Event)
Said = TypeVar("Said", bound=Message)


def _without_table(event: Event) -> Event:
    """The event without the names in the table of its statement."""
    if not isinstance(event, RoundFinished):
        return event
    return msgspec.structs.replace(event, statement={**event.statement, "table": []})


@dataclass(frozen=True)
class Sent(Generic[What]):
    """One call to one agent; its times count from the start of the bench."""

    at: float
    to: Address
    key: str
    message: What
    deadline: float

    @property
    def kind(self) -> str:
        return "ping" if isinstance(self.message, Ping) else self.message.type


class Bench(Generic[M, What]):
    """Drives one machine. `t` counts from `start`; `sent` is all there ever was, `under_way` what is not answered."""

    start = 0.0
    conversation = "conv-1"

    def __init__(
        self, t: float, profile: Profile, journal: list[Event] | None = None, secrets: dict[str, str] | None = None
    ) -> None:
        self.t = t
        self.profile = profile
        self.journal = [] if journal is None else journal
        self.secrets = {} if secrets is None else secrets
        self.sent: list[Sent[What]] = []
        self.under_way: dict[tuple[str, str], Sent[What]] = {}
        self.cancelled: list[str] = []
        self.replies: dict[int, Replied] = {}
        self.news: list[object] = []
        self._letters = count(1)
        self.machine = self._new()

    def _new(self) -> M:
        raise NotImplementedError

    @property
    def now(self) -> float:
        return self.start + self.t

    @now.setter
    def now(self, value: float) -> None:
        self.t = value - self.start

    # --- its life -----------------------------------------------------------------------------------------------------

    def replayed(self, upto: int | None = None) -> M:
        """A fresh machine that went through the journal, as it is stored."""
        machine = self._new()
        for event in self.journal[:upto]:
            machine.apply(decode(encode(event)))
        return machine

    def reborn(self, upto: int | None = None) -> Step:
        """The process dies, perhaps before its last events were stored; a new one takes up what is open."""
        if upto is not None:
            self.journal = self.journal[:upto]
        self.machine = self.replayed()
        self.under_way.clear()
        return self.take(self.machine.resume(self.now))

    def take(self, step: Step) -> Step:
        for event in step.events:
            # A display name may look like a token, here and in the table of a round's statement.
            assert isinstance(event, AgentRegistered) or b"tok_" not in encode(_without_table(event)), event
        self.journal += step.events
        self.secrets |= step.secrets
        for one in self._calls(step):
            assert (one.key, one.to.agent_id) not in self.under_way, f"{one.key} is used twice"
            self.sent.append(one)
            self.under_way[one.key, one.to.agent_id] = one
        self.news += step.news
        for key in step.cancel:
            self.cancelled.append(key)
            for place in [one for one in self.under_way if one[0] == key]:
                del self.under_way[place]
        for reply in step.replies:
            assert reply.letter_id not in self.replies, "answered twice"
            self.replies[reply.letter_id] = reply.content
        return step

    def _calls(self, step: Step) -> Iterator[Sent[What]]:
        for outgoing in step.outbox:
            message: Any = outgoing.message
            assert isinstance(message, Ping) or (unsaid(message) == [] and getattr(message, "auth_token", None) is None)
            assert outgoing.deadline > self.now
            for to in outgoing.to:
                yield Sent(self.t, to, outgoing.key, message, outgoing.deadline - self.start)

    # --- time ---------------------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> Self:
        return self.until(self.t + seconds)

    def until(self, t: float) -> Self:
        """Time passes: calls reach their limits, alarms ring, each at its moment."""
        while (due := min([self.due - self.start, *(one.deadline for one in self.under_way.values())])) <= t:
            self.t = max(self.t, due)
            self._time_outs()
            self.tick()
        self.t = t
        return self

    @property
    def due(self) -> float:
        return math.inf if self.machine.deadline is None else self.machine.deadline

    def tick(self) -> Step:
        """What is due is done, and nothing that is due is left."""
        if self.due > self.now:
            return Step()
        step = self.take(self.machine.tick(self.now))
        assert self.due > self.now
        return step

    def _time_outs(self) -> None:
        for place, one in list(self.under_way.items()):
            if one.deadline <= self.t and place in self.under_way:
                self.fail(one, Failure.TIMEOUT)

    # --- what others do -----------------------------------------------------------------------------------------------

    def answer(self, sent: Sent[What] | Outgoing, content: Object | bytes | Content | None = None) -> Step:
        """Somebody answers in the result; None: with nothing to say."""
        peer = (sent.to if isinstance(sent, Sent) else sent.to[0]).agent_id
        self.under_way.pop((sent.key, peer), None)
        if isinstance(content, dict):
            content = b'{"jsonrpc":"2.0","id":1,"result":%s}' % json.dumps(content).encode()
        if isinstance(content, bytes):
            assert isinstance(sent.message, Message)
            content = letters.read_answer(content, sent.message, Reading(self.profile))
        usual = Pong() if isinstance(sent.message, Ping) else Acknowledged()
        return self.take(self.machine.handle(Letter(0, content or usual, sent.key, peer), self.now))

    def fail(
        self,
        sent: Sent[What] | Undelivered,
        failure: Failure = Failure.REFUSED,
        blame: Blame = Blame.PEER,
        retry_after: float | None = None,
    ) -> Step:
        """A call gets no answer."""
        if isinstance(sent, Sent):
            failed = Undelivered(sent.key, sent.to.agent_id, failure, blame, retry_after)
        else:
            failed = sent
        self.under_way.pop((failed.key, failed.peer), None)
        return self.take(self.machine.undelivered(failed, self.now))

    def hand(self, content: Object | Content, origin: str = "10.0.0.1") -> tuple[int, Step]:
        """Somebody sends a request: its letter's id, and what was done at once."""
        read = self.read(content) if isinstance(content, dict) else content
        letter = Letter(next(self._letters), read, origin=origin)
        return letter.id, self.take(self.machine.handle(letter, self.now))

    def read(self, content: Object) -> Unsealed:
        """A message as the machine gets it."""
        return unseal(content, Reading(self.profile))

    def envelope(self, kind: str, sender: str = tokens.MANAGER, **more: Any) -> Object:
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": sender,
            "timestamp": timestamps.write(self.now),
            "conversation_id": self.conversation.format(kind=kind.lower()),
            **more,
        }

    # --- looking ------------------------------------------------------------------------------------------------------

    def of(self, kind: type[Some]) -> list[Some]:
        """The events of a kind."""
        return [event for event in self.journal if isinstance(event, kind)]

    def orders(self, order: str) -> list[OrderCarriedOut]:
        """The orders of this name that were carried out."""
        return [event for event in self.of(OrderCarriedOut) if event.order == order]

    def said(self, kind: type[Said], to: str | None = None) -> list[Said]:
        """The messages of a kind that were sent."""
        return [one.message for one in self.sent if isinstance(one.message, kind) and to in (None, one.to.agent_id)]


def plain(message: Message) -> Object:
    """A message as it stands on the wire."""
    fields: Object = msgspec.json.decode(msgspec.json.encode(message))
    return fields


def code_of(answer: object) -> str:
    """The error code of an answer, or "" for none."""
    if isinstance(answer, PeerError):
        return answer.code
    if isinstance(answer, RegisterResponse):
        return answer.error_code or ""
    if isinstance(answer, LeagueQueryResponse):
        return answer.error.error_code if answer.error else ""
    return ""
