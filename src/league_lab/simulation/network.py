"""The network between simulated processes: carries bytes of the real codec, with faults, and records every call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
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
from league_lab.simulation.misbehaviour import MATCH_CALLS, Misanswer

if TYPE_CHECKING:
    from league_lab.simulation.node import Node
    from league_lab.simulation.world import World

STILL_ON_ITS_WAY_S = 120.0
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
        values = {column.name: getattr(self, column.name) for column in fields(RecordedCall)}
        # An answer may still be on its way when the recording ends, but not forever.
        if self.outcome == "open" and now - self.sent_at < STILL_ON_ITS_WAY_S:
            values["excused"] = max(self.excused, self.delivered - self.answers)
        return RecordedCall(**values)

    def answered(self, raw: bytes, now: float) -> None:
        """Note the answer that reached the caller."""
        self.outcome = "answered"
        self.answered_at = now
        self.answer, self.error = _parsed(raw)


@dataclass(slots=True, eq=False)
class _Delivery:
    """A request that reached a process and waits for its answer."""

    record: CallRecord
    receiver: Node
    caller: Node
    generation: int
    """The run of the caller that made the call; a later one does not wait for the answer."""
    call_id: int
    first: bool
    """False for the second copy of a request that was delivered twice."""
    heard: Heard | None = None


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
        """Send one call."""
        faults = self.world.faults
        agenda = self.world.agenda
        receiver = self.world.listening(call.to.endpoint)
        raw = letters.write_call(call.id, call.message, self._body(call.message), call.to)
        message = {} if isinstance(call.message, Ping) else _message_in(raw)
        # Nobody may be listening there.
        name = receiver.name if receiver else call.to.agent_id
        record = CallRecord(agenda.now, caller.name, name, message, faults.travel())
        self.records.append(record)
        if record.travel is not Travel.WELL:
            self.world.culprits.link_failed(record)
        if receiver is None:
            fail = partial(
                self._fail,
                caller,
                caller.generation,
                call.id,
                record,
                "refused",
            )
            agenda.after(faults.latency(), fail)
            return
        if record.travel is Travel.REQUEST_LOST:
            # The caller waits for its own time limit.
            record.outcome = "lost"
            return
        delivery = _Delivery(
            record,
            receiver,
            caller,
            caller.generation,
            call.id,
            first=True,
        )
        seconds = faults.latency()
        if record.travel is Travel.LATE:
            seconds += faults.delay()
        agenda.after(seconds, partial(self._arrive, delivery, raw))
        if record.travel is Travel.TWICE:
            copy = replace(delivery, first=False)
            seconds = faults.latency() + faults.delay()
            agenda.after(seconds, partial(self._arrive, copy, raw))

    def inject(
        self,
        sender: Node,
        receiver: Node,
        message: dict[str, Any],
        heard: Heard | None = None,
    ) -> None:
        """Send a forged request, which no machine decided to send; its answer goes to no machine."""
        record = CallRecord(
            self.world.agenda.now,
            sender.name,
            receiver.name,
            message,
            Travel.WELL,
        )
        self.records.append(record)
        raw = jsonrpc.encode_call(
            1,
            str(message.get("message_type")),
            json.dumps(message).encode(),
        )
        if receiver.alive:
            delivery = _Delivery(
                record,
                receiver,
                sender,
                sender.generation,
                FORGED_CALL,
                first=True,
                heard=heard,
            )
            self._deliver(delivery, raw)

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

    def _arrive(self, delivery: _Delivery, raw: bytes) -> None:
        if delivery.receiver.alive:
            self._deliver(delivery, raw)
        elif delivery.first:
            self._fail(
                delivery.caller,
                delivery.generation,
                delivery.call_id,
                delivery.record,
                "refused",
            )

    def _deliver(self, delivery: _Delivery, raw: bytes) -> None:
        delivery.record.delivered += 1
        self._open.setdefault(delivery.receiver.name, []).append(delivery)
        delivery.receiver.receive(raw, delivery.caller.host, partial(self._answered, delivery))

    def _answered(self, delivery: _Delivery, raw: bytes, failure: Failure | None) -> None:
        """Carry the receiver's answer back, unless it is lost or a misbehaving receiver sends something else."""
        record = delivery.record
        world = self.world
        self._open[delivery.receiver.name].remove(delivery)
        record.answers += 1
        if not delivery.first:
            return
        if record.travel is Travel.ANSWER_LOST:
            record.outcome = "lost"
            return
        # Without bytes there is nothing to falsify.
        answer: Misanswer | None = Misanswer(raw)
        if raw:
            answer = world.misbehave(delivery.receiver, delivery.caller, record.message, raw)
        if answer is None:
            record.outcome = "lost"
            return
        raw = answer.raw
        failure = answer.failure or failure
        is_of_match = record.message.get("message_type") in MATCH_CALLS
        if delivery.receiver.habits.posts and not failure and is_of_match:
            raw = self._posted(delivery, raw, answer.seconds)
        come_back = partial(self._come_back, delivery, raw, failure)
        world.agenda.after(world.faults.latency() + answer.seconds, come_back)

    def _posted(self, delivery: _Delivery, raw: bytes, seconds: float) -> bytes:
        """Send the answer as a request of its own, and return the empty acknowledgement that goes before it."""
        message, is_error = _parsed(raw)
        if is_error or not message or "message_type" not in message:
            return raw  # a refusal
        wait = seconds + self.world.faults.dice.uniform(0.1, 2.0)
        post = partial(self.inject, delivery.receiver, delivery.caller, message)
        self.world.agenda.after(wait, post)
        return b""

    def _come_back(self, delivery: _Delivery, raw: bytes, failure: Failure | None) -> None:
        record = delivery.record
        caller = delivery.caller
        now = self.world.agenda.now
        if delivery.call_id == FORGED_CALL:
            record.answered(raw, now)
            if delivery.heard is not None and record.answer is not None and not record.error:
                delivery.heard(record.answer)
        elif caller.generation != delivery.generation:
            record.outcome = "cancelled"
        elif not caller.is_waiting_for(delivery.call_id):
            record.outcome = "timeout"
        elif failure is not None:
            record.outcome = "busy" if failure is Failure.BUSY else "broken"
            caller.fail(delivery.call_id, failure)
        else:
            record.answered(raw, now)
            caller.answer(delivery.call_id, raw)

    def _fail(
        self,
        caller: Node,
        generation: int,
        call_id: int,
        record: CallRecord,
        outcome: CallOutcome,
    ) -> None:
        record.outcome = outcome
        if caller.generation == generation:
            failure = Failure.REFUSED if outcome == "refused" else Failure.BROKEN
            caller.fail(call_id, failure)

    def reset(self, dead: Node) -> None:
        """Break the open connections of a process that died."""
        for delivery in self._open.pop(dead.name, []):
            # Nobody can expect an answer from the dead.
            delivery.record.excused += 1
            if delivery.first:
                caller = delivery.caller
                fail = partial(
                    self._fail,
                    caller,
                    caller.generation,
                    delivery.call_id,
                    delivery.record,
                    "broken",
                )
                self.world.agenda.after(self.world.faults.latency(), fail)


def _message_in(raw: bytes) -> dict[str, Any]:
    """Return the message in a request of ours, in whatever convention it is wrapped."""
    message: dict[str, Any] = jsonrpc.decode_call(raw, jsonrpc.MANAGER_LIMIT).params  # type: ignore[assignment]
    return message


def _parsed(raw: bytes) -> tuple[dict[str, Any] | None, bool]:
    """Return the result, or the data of the error; and whether it is an error."""
    try:
        answer = forms.answer_in(jsonrpc.parse_answer(raw, jsonrpc.MANAGER_LIMIT))
    except PeerError:
        return None, True
    content = answer.content if isinstance(answer.content, dict) else {}
    return content, answer.is_error
