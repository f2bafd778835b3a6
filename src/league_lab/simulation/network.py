"""The network between simulated processes: carries bytes of the real codec, with faults, and records every call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from league.agent.pump import Call
from league.dialects import forms
from league.machine import Failure, Ping
from league.protocol import jsonrpc
from league.protocol.errors import PeerError
from league.transport import letters
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
class _Delivery:
    """A request that reached a process and waits for its answer."""

    record: CallRecord
    receiver: Node
    caller: Node
    call_id: int
    first: bool
    open: bool = True
    heard: Callable[[dict[str, Any]], None] | None = None
    """Who is told the answer to a forged request."""


@dataclass(slots=True)
class Network:
    """Carries calls between nodes."""

    world: World
    records: list[CallRecord] = field(default_factory=list)
    _open: dict[str, list[_Delivery]] = field(default_factory=dict)
    _bodies: dict[int, tuple[object, bytes]] = field(default_factory=dict)

    def carry(self, caller: Node, call: Call) -> None:
        """Send one call."""
        faults, agenda = self.world.faults, self.world.agenda
        receiver = self.world.listening(call.to.endpoint)
        raw = letters.write_call(call.id, call.message, self._body(call.message), call.to)
        message = {} if isinstance(call.message, Ping) else _message_in(raw)
        name = receiver.name if receiver else call.to.agent_id
        record = CallRecord(agenda.now, caller.name, name, message, faults.travel())
        self.records.append(record)
        if record.travel is not Travel.WELL:
            self.world.link_failed(record)
        if receiver is None:
            agenda.after(faults.latency(), partial(self._fail, caller, caller.generation, call.id, record, "refused"))
            return
        if record.travel is Travel.REQUEST_LOST:
            record.outcome = "lost"
            return
        times = 2 if record.travel is Travel.TWICE else 1
        for one in range(times):
            wait = faults.latency() + (faults.delay() if record.travel is Travel.LATE or one else 0.0)
            arrive = partial(self._arrive, caller, caller.generation, receiver, call.id, raw, record, one == 0)
            agenda.after(wait, arrive)

    def inject(
        self,
        sender: Node,
        receiver: Node,
        message: dict[str, Any],
        heard: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Send a request that no machine decided to send: a forged one; its answer goes to no machine."""
        record = CallRecord(self.world.agenda.now, sender.name, receiver.name, message, Travel.WELL)
        self.records.append(record)
        raw = jsonrpc.encode_call(1, str(message.get("message_type")), json.dumps(message).encode())
        if receiver.alive:
            record.delivered += 1
            delivery = _Delivery(record, receiver, sender, FORGED_CALL, first=True, heard=heard)
            self._open.setdefault(receiver.name, []).append(delivery)
            receiver.receive(raw, sender.host, partial(self._answered, delivery, sender.generation))

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

    def _arrive(
        self, caller: Node, generation: int, receiver: Node, call_id: int, raw: bytes, record: CallRecord, first: bool
    ) -> None:
        if not receiver.alive:
            if first:
                self._fail(caller, generation, call_id, record, "refused")
            return
        record.delivered += 1
        delivery = _Delivery(record, receiver, caller, call_id, first)
        self._open.setdefault(receiver.name, []).append(delivery)
        receiver.receive(raw, caller.host, partial(self._answered, delivery, generation))

    def _answered(self, delivery: _Delivery, generation: int, raw: bytes, failure: Failure | None) -> None:
        """The receiver answered: the answer is carried back, changed by a misbehaving receiver, or lost."""
        record, world = delivery.record, self.world
        delivery.open = False
        self._open[delivery.receiver.name].remove(delivery)
        record.answers += 1
        if not delivery.first or record.travel is Travel.ANSWER_LOST:
            record.outcome = "lost" if delivery.first else record.outcome
            return
        sent = world.misbehave(delivery.receiver, delivery.caller, record.message, raw) if raw else (0.0, raw, failure)
        if sent is None:
            record.outcome = "lost"
            return
        seconds, raw, failure = sent[0], sent[1], sent[2] or failure
        if delivery.receiver.posts and not failure and record.message.get("message_type") in MATCH_CALLS:
            raw = self._posted(delivery, raw, seconds)
        carry = partial(self._come_back, delivery, generation, raw, failure)
        world.agenda.after(world.faults.latency() + seconds, carry)

    def _posted(self, delivery: _Delivery, raw: bytes, seconds: float) -> bytes:
        """The answer leaves as a request of its own a while after an empty acknowledgement, which is returned."""
        message, is_error = _parsed(raw)
        if is_error or not message or "message_type" not in message:
            return raw  # a refusal
        wait = seconds + self.world.faults.dice.uniform(0.1, 2.0)
        self.world.agenda.after(wait, partial(self.inject, delivery.receiver, delivery.caller, message))
        return b""

    def _come_back(self, delivery: _Delivery, generation: int, raw: bytes, failure: Failure | None) -> None:
        record, caller = delivery.record, delivery.caller
        if delivery.call_id == FORGED_CALL:
            record.outcome, record.answered_at = "answered", self.world.agenda.now
            record.answer, record.error = _parsed(raw)
            if delivery.heard is not None and record.answer is not None and not record.error:
                delivery.heard(record.answer)
            return
        if caller.generation != generation or not caller.is_waiting_for(delivery.call_id):
            record.outcome = "cancelled" if caller.generation != generation else "timeout"
            return
        if failure is not None:
            record.outcome = "busy" if failure is Failure.BUSY else "broken"
            caller.fail(delivery.call_id, failure)
            return
        record.outcome, record.answered_at = "answered", self.world.agenda.now
        record.answer, record.error = _parsed(raw)
        caller.answer(delivery.call_id, raw)

    def _fail(self, caller: Node, generation: int, call_id: int, record: CallRecord, outcome: CallOutcome) -> None:
        record.outcome = outcome
        if caller.generation == generation:
            caller.fail(call_id, Failure.REFUSED if outcome == "refused" else Failure.BROKEN)

    def reset(self, dead: Node) -> None:
        """A process died: its open connections break."""
        for delivery in self._open.pop(dead.name, []):
            delivery.record.excused += 1
            if delivery.first:
                fail = partial(
                    self._fail, delivery.caller, delivery.caller.generation, delivery.call_id, delivery.record, "broken"
                )
                self.world.agenda.after(self.world.faults.latency(), fail)


def _message_in(raw: bytes) -> dict[str, Any]:
    """The message in a request of ours, in whatever convention it is wrapped."""
    message: dict[str, Any] = jsonrpc.decode_call(raw, jsonrpc.MANAGER_LIMIT).params  # type: ignore[assignment]
    return message


def _parsed(raw: bytes) -> tuple[dict[str, Any] | None, bool]:
    """The result, or the data of the error."""
    try:
        answer = forms.answer_in(jsonrpc.parse_answer(raw, jsonrpc.MANAGER_LIMIT))
    except PeerError:
        return None, True
    return (answer.content if isinstance(answer.content, dict) else {}), answer.is_error
