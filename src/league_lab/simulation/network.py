"""The network between simulated processes: carries bytes of the real codec, with faults, and records every request.

A call is made in the words that its receiver knows, as over real sockets: the gateway's words say which request comes
next, and which reply counts. Each request travels, is lost and is recorded by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from league.agent.pump import Call
from league.gateway import forms
from league.gateway.words import Exchange, Post
from league.machine import Failure, Ping
from league.protocol import jsonrpc
from league.protocol.errors import PeerError
from league.transport import letters
from league.transport.reply import HttpReply
from league_lab.promises.evidence import CallOutcome, RecordedCall
from league_lab.simulation.faults import Travel
from league_lab.simulation.misbehaviour import MATCH_CALLS

if TYPE_CHECKING:
    from league_lab.simulation.node import Node
    from league_lab.simulation.world import World

STILL_ON_ITS_WAY_S = 120.0
FORGED_CALL = 0
"""The call id of a forged request: no machine waits for its answer."""


@dataclass(slots=True)
class CallRecord:
    """One call under way; a `RecordedCall` when it is over."""

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
        # An answer may still be on its way when the recording ends, but not for ever.
        recent = self.outcome == "open" and now - self.sent_at < STILL_ON_ITS_WAY_S
        missing = max(0, self.delivered - self.answers - self.excused) if recent else 0
        known = {one.name: getattr(self, one.name) for one in fields(RecordedCall)}
        return RecordedCall(**known | {"excused": self.excused + missing})


@dataclass(slots=True)
class _Calling:
    """A call under way, through all its requests."""

    caller: Node
    generation: int
    call_id: int
    message: dict[str, Any]
    begun_at: float
    """All its requests count as sent then: they share one deadline."""
    exchange: Exchange | None = None
    """None for a forged request, which is one and no more."""
    heard: Callable[[dict[str, Any]], None] | None = None
    """Told the answer to a forged request."""

    @property
    def is_current(self) -> bool:
        """Is the process that made the call still alive?"""
        return self.caller.generation == self.generation


@dataclass(slots=True)
class _Delivery:
    """A request that reached a process and waits for its answer."""

    calling: _Calling
    record: CallRecord
    receiver: Node
    first: bool
    open: bool = True


@dataclass(slots=True)
class Network:
    """Carries calls between nodes."""

    world: World
    records: list[CallRecord] = field(default_factory=list)
    _open: dict[str, list[_Delivery]] = field(default_factory=dict)
    _bodies: dict[int, tuple[object, bytes]] = field(default_factory=dict)

    def carry(self, caller: Node, call: Call) -> None:
        """Make one call."""
        body = self._body(call.message)
        exchange = caller.words.begin(call.id, call.message, body, call.to)
        message = {} if isinstance(call.message, Ping) else _message_in(exchange.first.raw)
        if not message and not isinstance(call.message, Ping):
            # The exchange begins with another question; whatever becomes of it is what becomes of the call.
            message = _message_in(letters.write_call(call.id, call.message, body, call.to))
        calling = _Calling(caller, caller.generation, call.id, message, self.world.agenda.now, exchange)
        self._send(calling, exchange.first, call.to.agent_id)

    def _send(self, calling: _Calling, post: Post, agent_id: str) -> None:
        """Send one request of a call."""
        faults, agenda = self.world.faults, self.world.agenda
        receiver = self.world.listening(post.url)
        name = receiver.name if receiver else agent_id
        record = CallRecord(calling.begun_at, calling.caller.name, name, calling.message, faults.travel())
        self.records.append(record)
        if record.travel is not Travel.WELL:
            self.world.link_failed(record)
        if receiver is None:
            agenda.after(faults.latency(), partial(self._fail, calling, record, "refused"))
            return
        if record.travel is Travel.REQUEST_LOST:
            record.outcome = "lost"
            return
        times = 2 if record.travel is Travel.TWICE else 1
        for copy in range(times):
            wait = faults.latency()
            if record.travel is Travel.LATE or copy:
                wait += faults.delay()
            agenda.after(wait, partial(self._arrive, calling, receiver, post, record, copy == 0))

    def inject(
        self,
        sender: Node,
        receiver: Node,
        message: dict[str, Any],
        heard: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Send a request that no machine decided to send: a forged one; its answer goes to no machine."""
        now = self.world.agenda.now
        record = CallRecord(now, sender.name, receiver.name, message, Travel.WELL)
        self.records.append(record)
        raw = jsonrpc.encode_call(1, str(message.get("message_type")), json.dumps(message).encode())
        if receiver.alive:
            record.delivered += 1
            calling = _Calling(sender, sender.generation, FORGED_CALL, message, now, heard=heard)
            delivery = _Delivery(calling, record, receiver, first=True)
            self._open.setdefault(receiver.name, []).append(delivery)
            receiver.receive(raw, sender.host, partial(self._answered, delivery))

    def traffic(self, now: float) -> list[RecordedCall]:
        """Return all requests, in the order in which their calls were made."""
        records = sorted(self.records, key=lambda record: record.sent_at)
        return [record.finished(now) for record in records]

    def acknowledged(self, kind: str) -> list[dict[str, Any]]:
        """The messages of this type that were answered without an error."""
        return [
            one.message
            for one in self.records
            if one.outcome == "answered" and not one.error and one.message.get("message_type") == kind
        ]

    def _body(self, message: object) -> bytes:
        """A broadcast is encoded once for all its receivers."""
        if isinstance(message, Ping):
            return b""
        known = self._bodies.get(id(message))
        if known is None or known[0] is not message:
            self._bodies.clear()
            known = self._bodies[id(message)] = (message, jsonrpc.encode_body(message))  # type: ignore[arg-type]
        return known[1]

    def _arrive(self, calling: _Calling, receiver: Node, post: Post, record: CallRecord, first: bool) -> None:
        if not receiver.alive:
            if first:
                self._fail(calling, record, "refused")
            return
        record.delivered += 1
        delivery = _Delivery(calling, record, receiver, first)
        self._open.setdefault(receiver.name, []).append(delivery)
        reply = receiver.server.answer(post) if receiver.server is not None else None
        if reply is None:
            receiver.receive(post.raw, calling.caller.host, partial(self._answered, delivery))
        else:
            self._served(delivery, reply)

    def _served(self, delivery: _Delivery, reply: HttpReply) -> None:
        """The server itself answered, not the machine behind it."""
        delivery.open = False
        self._open[delivery.receiver.name].remove(delivery)
        delivery.record.answers += 1
        if not delivery.first or delivery.record.travel is Travel.ANSWER_LOST:
            delivery.record.outcome = "lost" if delivery.first else delivery.record.outcome
            return
        self.world.agenda.after(self.world.faults.latency(), partial(self._come_back, delivery, reply, None))

    def _answered(self, delivery: _Delivery, raw: bytes, failure: Failure | None) -> None:
        """The receiver answered: the answer is carried back, changed by a misbehaving receiver, or lost."""
        record, world, caller = delivery.record, self.world, delivery.calling.caller
        delivery.open = False
        self._open[delivery.receiver.name].remove(delivery)
        record.answers += 1
        if not delivery.first or record.travel is Travel.ANSWER_LOST:
            record.outcome = "lost" if delivery.first else record.outcome
            return
        sent = world.misbehave(delivery.receiver, caller, record.message, raw) if raw else (0.0, raw, failure)
        if sent is None:
            record.outcome = "lost"
            return
        seconds, raw, failure = sent[0], sent[1], sent[2] or failure
        if delivery.receiver.posts and not failure and record.message.get("message_type") in MATCH_CALLS:
            raw = self._posted(delivery, raw, seconds)
        server = delivery.receiver.server
        reply = HttpReply(200, raw) if server is None else server.sent(raw)
        carry = partial(self._come_back, delivery, reply, failure)
        world.agenda.after(world.faults.latency() + seconds, carry)

    def _posted(self, delivery: _Delivery, raw: bytes, seconds: float) -> bytes:
        """The answer leaves as a request of its own a while after an empty acknowledgement, which is returned."""
        message, is_error = _parsed(raw)
        if is_error or not message or "message_type" not in message:
            return raw  # a refusal
        wait = seconds + self.world.faults.dice.uniform(0.1, 2.0)
        self.world.agenda.after(wait, partial(self.inject, delivery.receiver, delivery.calling.caller, message))
        return b""

    def _come_back(self, delivery: _Delivery, reply: HttpReply, failure: Failure | None) -> None:
        record, calling = delivery.record, delivery.calling
        if calling.exchange is None:
            self._note_answer(record, reply.body)
            if calling.heard is not None and record.answer is not None and not record.error:
                calling.heard(record.answer)
            return
        if not calling.is_current or not calling.caller.is_waiting_for(calling.call_id):
            record.outcome = "timeout" if calling.is_current else "cancelled"
            return
        if failure is not None:
            record.outcome = "busy" if failure is Failure.BUSY else "broken"
            calling.caller.fail(calling.call_id, failure)
            return
        self._step(delivery, calling.exchange, reply)

    def _step(self, delivery: _Delivery, exchange: Exchange, reply: HttpReply) -> None:
        """A reply came: it counts, or the words of the receiver need another request."""
        record, calling = delivery.record, delivery.calling
        result = exchange.step(reply)
        if isinstance(result, Post):
            self._note_answer(record, reply.body)
            # Nobody took this request, so it was no message: the promises are about the one that follows.
            record.message = {}
            self._send(calling, result, delivery.receiver.name)
            return
        self._note_answer(record, result.body)
        if result.status in (400, 404, 405):
            calling.caller.fail(calling.call_id, Failure.NOT_UNDERSTOOD)
        else:
            calling.caller.answer(calling.call_id, result.body)

    def _note_answer(self, record: CallRecord, raw: bytes) -> None:
        record.outcome = "answered"
        record.answered_at = self.world.agenda.now
        record.answer, record.error = _parsed(raw)

    def _fail(self, calling: _Calling, record: CallRecord, outcome: CallOutcome) -> None:
        record.outcome = outcome
        if calling.is_current:
            calling.caller.fail(calling.call_id, Failure.REFUSED if outcome == "refused" else Failure.BROKEN)

    def reset(self, dead: Node) -> None:
        """A process died: its open connections break."""
        for delivery in self._open.pop(dead.name, []):
            delivery.record.excused += 1
            if delivery.first:
                # What breaks is seen by whoever waits now, not by a process that has been started since.
                calling = replace(delivery.calling, generation=delivery.calling.caller.generation)
                self.world.agenda.after(
                    self.world.faults.latency(), partial(self._fail, calling, delivery.record, "broken")
                )


def _message_in(raw: bytes) -> dict[str, Any]:
    """The message in a request of ours, in whatever convention it is wrapped; empty for what is no message."""
    message = jsonrpc.decode_call(raw, jsonrpc.MANAGER_LIMIT).params
    return message if isinstance(message, dict) and "message_type" in message else {}


def _parsed(raw: bytes) -> tuple[dict[str, Any] | None, bool]:
    """The result, or the data of the error."""
    try:
        answer = forms.answer_in(jsonrpc.parse_answer(raw, jsonrpc.MANAGER_LIMIT))
    except PeerError:
        return None, True
    return (answer.content if isinstance(answer.content, dict) else {}), answer.is_error
