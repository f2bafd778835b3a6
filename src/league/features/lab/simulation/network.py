"""The network between simulated processes: carries bytes of the real codec, with faults, and records every request.

A call is made in the words that its receiver knows, as over real sockets: the gateway's words decide which request
comes next, and which reply counts. Each request travels, is lost and is recorded by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from league import letters
from league.agent.pump import Call
from league.features.audit.promises.grounds.evidence import CallOutcome, RecordedCall
from league.features.lab.simulation.faults import Travel
from league.features.lab.simulation.misconduct.misbehaviour import MATCH_CALLS, Misanswer
from league.gateway import forms
from league.gateway.words import DialectCall, HttpPost
from league.letters import HttpReply
from league.machine import Failure, Ping
from league.protocol.errors import PeerError
from league.protocol.message.exchanges import Role
from league.protocol.wire import jsonrpc

if TYPE_CHECKING:
    from league.features.lab.simulation.node import Node
    from league.features.lab.simulation.world import World

STILL_ON_ITS_WAY_S = 120.0
NOT_UNDERSTOOD_STATUS = (400, 404, 405)
FORGED_CALL = 0
"""The call id of a forged request: no machine waits for its answer."""

Heard = Callable[[dict[str, Any]], None]
"""Gets the answer to a forged request."""


@dataclass(slots=True)
class CallRecord:
    """A call that is under way; it becomes a `RecordedCall` when the recording ends."""

    sent_at: float
    sender_node: str
    receiver_node: str
    message: dict[str, Any]
    travel: Travel
    answer: dict[str, Any] | None = None
    answered_at: float | None = None
    error: bool = False
    delivered: int = 0
    answers: int = 0
    excused: int = 0
    outcome: CallOutcome = "open"

    def finished(self, now: float) -> RecordedCall:
        """Return the record as evidence."""
        values = {column.name: getattr(self, column.name) for column in fields(self)}
        del values["travel"]
        # An answer may still be on its way when the recording ends, but not forever.
        if self.outcome == "open" and now - self.sent_at < STILL_ON_ITS_WAY_S:
            values["excused"] = max(self.excused, self.delivered - self.answers)
        return RecordedCall(**values)

    def answered(self, raw: bytes, now: float) -> None:
        """Note the answer that reached the caller."""
        self.outcome = "answered"
        self.answered_at = now
        self.answer, self.error = _parsed(raw)


@dataclass(slots=True)
class _Calling:
    """A call that is under way, through all its requests."""

    caller: Node
    generation: int
    """The run of the caller that made the call; a later one does not wait for the answer."""
    call_id: int
    message: dict[str, Any]
    begun_at: float
    """All its requests count as sent then: they share one deadline."""
    exchange: DialectCall | None = None
    """None for a forged call, which has one request only."""
    heard: Heard | None = None

    @property
    def is_current(self) -> bool:
        """True while the process that made the call is alive."""
        return self.caller.generation == self.generation


@dataclass(slots=True, eq=False)
class _Delivery:
    """A request that reached a process and waits for its answer."""

    calling: _Calling
    record: CallRecord
    receiver: Node
    first: bool
    """False for the second copy of a request that was delivered twice."""


@dataclass(slots=True)
class Network:
    """Carries calls between nodes."""

    world: World
    records: list[CallRecord] = field(default_factory=list)
    _open: dict[str, list[_Delivery]] = field(default_factory=dict)
    """By the name of the receiver."""
    _newest_message: object = None
    _newest_body: bytes = b""

    def carry(self, caller: Node, call: Call) -> None:
        """Make one call."""
        if self.world.rogues.kinds:
            said: Any = self.world.rogues.says(caller, call.message)
            if said is None:
                # The caller waits for its own time limit.
                return
            call = structs.replace(call, message=said)
        body = self._body(call.message)
        exchange = caller.words.begin(call.id, call.message, body, call.to)
        message = {}
        if not isinstance(call.message, Ping):
            message = _message_in(exchange.first.raw)
            if not message:
                # The exchange begins with another question, and its end is the end of the call.
                message = _message_in(letters.write_call(call.id, call.message, body, call.to))
        calling = _Calling(
            caller,
            caller.generation,
            call.id,
            message,
            self.world.agenda.now,
            exchange,
        )
        self._send(calling, exchange.first, call.to.agent_id)

    def _send(self, calling: _Calling, post: HttpPost, agent_id: str) -> None:
        """Send one request of a call."""
        faults = self.world.faults
        agenda = self.world.agenda
        receiver = self.world.listening(post.url)
        # Nobody may be listening there.
        name = receiver.name if receiver else agent_id
        record = CallRecord(
            calling.begun_at,
            calling.caller.name,
            name,
            calling.message,
            faults.travel(),
        )
        self.records.append(record)
        if record.travel is not Travel.WELL:
            self.world.culprits.link_failed(record)
        if receiver is None:
            agenda.after(faults.latency(), partial(self._fail, calling, record, "refused"))
            return
        if record.travel is Travel.REQUEST_LOST:
            # The caller waits for its own time limit.
            record.outcome = "lost"
            return
        delivery = _Delivery(calling, record, receiver, first=True)
        seconds = faults.latency()
        if record.travel is Travel.LATE:
            seconds += faults.delay()
        agenda.after(seconds, partial(self._arrive, delivery, post))
        if record.travel is Travel.TWICE:
            copy = replace(delivery, first=False)
            seconds = faults.latency() + faults.delay()
            agenda.after(seconds, partial(self._arrive, copy, post))

    def inject(
        self,
        sender: Node,
        receiver: Node,
        message: dict[str, Any],
        heard: Heard | None = None,
    ) -> None:
        """Send a forged request, which no machine decided to send; its answer goes to no machine."""
        now = self.world.agenda.now
        record = CallRecord(now, sender.name, receiver.name, message, Travel.WELL)
        self.records.append(record)
        raw = jsonrpc.encode_call(
            1,
            str(message.get("message_type")),
            json.dumps(message).encode(),
        )
        if receiver.alive:
            calling = _Calling(
                sender,
                sender.generation,
                FORGED_CALL,
                message,
                now,
                heard=heard,
            )
            delivery = _Delivery(calling, record, receiver, first=True)
            self._open_delivery(delivery)
            receiver.receive(raw, sender.host, partial(self._answered, delivery))

    def traffic(self, now: float) -> list[RecordedCall]:
        """Return all requests, in the order in which their calls were made."""
        records = sorted(self.records, key=lambda record: record.sent_at)
        return [record.finished(now) for record in records]

    def acknowledged(self, kind: str) -> list[dict[str, Any]]:
        """Return the messages of this type that were answered without an error."""
        return [
            record.message
            for record in self.records
            if record.outcome == "answered" and not record.error and record.message.get("message_type") == kind
        ]

    def _body(self, message: object) -> bytes:
        if isinstance(message, Ping):
            return b""
        # A broadcast is encoded once for all its receivers.
        if self._newest_message is not message:
            self._newest_message = message
            self._newest_body = jsonrpc.encode_body(message)  # type: ignore[arg-type]
        return self._newest_body

    def _arrive(self, delivery: _Delivery, post: HttpPost) -> None:
        receiver = delivery.receiver
        if not receiver.alive or self.world.culprits.fading.is_dark(receiver, delivery.record.message):
            if delivery.first:
                self._fail(delivery.calling, delivery.record, "refused")
            return
        self._open_delivery(delivery)
        server = receiver.habits.server
        reply = server.answer(post) if server is not None else None
        if reply is None:
            caller = delivery.calling.caller
            raw = post.raw
            if caller.habits.shows_no_token and caller.role is not Role.MANAGER:
                raw = without_tokens(raw)
            receiver.receive(raw, caller.host, partial(self._answered, delivery))
        elif self._close_delivery(delivery):
            # The server itself answered, not the machine behind it.
            come_back = partial(self._come_back, delivery, reply, None)
            self.world.agenda.after(self.world.faults.latency(), come_back)

    def _open_delivery(self, delivery: _Delivery) -> None:
        delivery.record.delivered += 1
        self._open.setdefault(delivery.receiver.name, []).append(delivery)

    def _close_delivery(self, delivery: _Delivery) -> bool:
        """Note that there is an answer. Return False if it does not travel back."""
        record = delivery.record
        self._open[delivery.receiver.name].remove(delivery)
        record.answers += 1
        if delivery.first and record.travel is Travel.ANSWER_LOST:
            record.outcome = "lost"
            return False
        return delivery.first

    def _answered(self, delivery: _Delivery, raw: bytes, failure: Failure | None) -> None:
        """Carry the receiver's answer back, unless it is lost or a misbehaving receiver sends something else."""
        record = delivery.record
        receiver = delivery.receiver
        if not self._close_delivery(delivery):
            return
        # Without bytes there is nothing to falsify.
        answer: Misanswer | None = Misanswer(raw)
        if raw:
            caller = delivery.calling.caller
            if record.message.get("message_type") == "GAME_INVITATION" and caller in self.world.referees:
                self.world.cheats.invited(receiver, record.message)
            answer = self.world.culprits.misbehave(receiver, record.message, raw)
        if answer is None:
            record.outcome = "lost"
            return
        raw = answer.raw
        failure = answer.failure or failure
        is_of_match = record.message.get("message_type") in MATCH_CALLS
        if receiver.habits.posts and not failure and is_of_match:
            raw = self._posted(delivery, raw, answer.seconds)
        elif receiver.habits.shows_no_token and receiver.role is Role.REFEREE:
            raw = without_tokens(raw)
        server = receiver.habits.server
        reply = HttpReply(200, raw) if server is None else server.sent(raw)
        come_back = partial(self._come_back, delivery, reply, failure)
        seconds = self.world.faults.latency() + answer.seconds
        self.world.agenda.after(seconds, come_back)

    def _posted(self, delivery: _Delivery, raw: bytes, seconds: float) -> bytes:
        """Send the answer as a request of its own, and return the empty acknowledgement that goes before it."""
        message, is_error = _parsed(raw)
        if is_error or not message or "message_type" not in message:
            return raw  # a refusal
        if delivery.receiver.habits.shows_no_token:
            message = bare(message)
        wait = seconds + self.world.faults.dice.uniform(0.1, 2.0)
        post = partial(self.inject, delivery.receiver, delivery.calling.caller, message)
        self.world.agenda.after(wait, post)
        return b""

    def _come_back(self, delivery: _Delivery, reply: HttpReply, failure: Failure | None) -> None:
        record = delivery.record
        calling = delivery.calling
        caller = calling.caller
        if calling.exchange is None:
            record.answered(reply.body, self.world.agenda.now)
            if calling.heard is not None and record.answer is not None and not record.error:
                calling.heard(record.answer)
        elif not calling.is_current:
            record.outcome = "cancelled"
        elif not caller.is_waiting_for(calling.call_id):
            record.outcome = "timeout"
        elif failure is not None:
            record.outcome = "busy" if failure is Failure.BUSY else "broken"
            caller.fail(calling.call_id, failure)
        else:
            self._step(delivery, calling.exchange, reply)

    def _step(self, delivery: _Delivery, exchange: DialectCall, reply: HttpReply) -> None:
        """Hand a reply to the caller, or send the next request that the receiver's words need."""
        record = delivery.record
        calling = delivery.calling
        result = exchange.step(reply)
        if isinstance(result, HttpPost):
            record.answered(reply.body, self.world.agenda.now)
            # Nobody took this request, so it was no message: the promises are about the one that follows.
            record.message = {}
            self._send(calling, result, delivery.receiver.name)
            return
        record.answered(result.body, self.world.agenda.now)
        if result.status in NOT_UNDERSTOOD_STATUS:
            calling.caller.fail(calling.call_id, Failure.NOT_UNDERSTOOD)
        else:
            calling.caller.answer(calling.call_id, result.body)

    def _fail(self, calling: _Calling, record: CallRecord, outcome: CallOutcome) -> None:
        record.outcome = outcome
        if calling.is_current:
            failure = Failure.REFUSED if outcome == "refused" else Failure.BROKEN
            calling.caller.fail(calling.call_id, failure)

    def reset(self, dead: Node) -> None:
        """Break the open connections of a process that died."""
        for delivery in self._open.pop(dead.name, []):
            # Nobody can expect an answer from the dead.
            delivery.record.excused += 1
            if delivery.first:
                # The process that runs now sees the break, not one that is started later.
                generation = delivery.calling.caller.generation
                calling = replace(delivery.calling, generation=generation)
                fail = partial(self._fail, calling, delivery.record, "broken")
                self.world.agenda.after(self.world.faults.latency(), fail)


ENVELOPE = ("protocol", "sender", "timestamp", "conversation_id", "auth_token")


def bare(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without envelope and token, as document 0 prints it."""
    return {name: value for name, value in message.items() if name not in ENVELOPE}


def without_tokens(raw: bytes) -> bytes:
    """Return what an agent says that shows nobody a token: its reports are bare, and it promises no signature."""
    try:
        document = json.loads(raw)
    except ValueError:
        return raw
    if not isinstance(document, dict):
        return raw
    for name in ("params", "result"):
        message = document.get(name)
        if not isinstance(message, dict):
            continue
        if message.get("message_type") == "MATCH_RESULT_REPORT":
            document[name] = bare(message)
        elif message.get("message_type") not in MATCH_CALLS:
            message.pop("auth_token", None)
            # What a referee declares would oblige it to questions, which need a token.
            for declared in ("token_scheme", "trouble", "draw_scheme"):
                message.get("referee_meta", {}).pop(declared, None)
            message.get("player_meta", {}).pop("public_key", None)
    return json.dumps(document).encode()


def _message_in(raw: bytes) -> dict[str, Any]:
    """Return the message in a request of ours, in whatever convention it is wrapped; empty if it is not a message."""
    message = jsonrpc.decode_call(raw, jsonrpc.MANAGER_LIMIT).params
    if isinstance(message, dict) and "message_type" in message:
        return message
    return {}


def _parsed(raw: bytes) -> tuple[dict[str, Any] | None, bool]:
    """Return the result, or the data of the error; and whether it is an error."""
    try:
        answer = forms.answer_in(jsonrpc.parse_answer(raw, jsonrpc.MANAGER_LIMIT))
    except PeerError:
        return None, True
    content = answer.content if isinstance(answer.content, dict) else {}
    return content, answer.is_error
