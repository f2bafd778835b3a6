"""The calls of an agent: each leaves over HTTP, is counted and noted, and what comes back, an answer or a failure with
a name and a blame, is handed to the pump.

The usual call takes no task: it is written, and its connection tells the end. Only where an endpoint must be spoken to
in other words does a task hold the conversation.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

import msgspec

from league.agent.caller import Caller
from league.agent.log import Log
from league.agent.pump import Actions, Call, Pump
from league.agent.sources import Clock
from league.agent.watch import ANSWERED, ErrorNote, Meter, error_answered, kind_of
from league.gateway.words import is_final
from league.machine import Blame, Content, Failure, Ping, RecordRequest, Refusal
from league.protocol import jsonrpc, quick_read
from league.protocol.envelope import Reading
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import MESSAGES, LeagueQueryResponse, LeagueStandingsUpdate, Message
from league.protocol.tokens import MANAGER
from league.storage.transcript import LetterNote, exchanged
from league.transport import letters
from league.transport.http_call import CallFailed
from league.transport.reply import HttpReply


def _cannot_refuse(message_type: str) -> bool:
    """Have its replies no field for an error? Then one that is right in every way is final."""
    names = {name for reply in EXCHANGES[message_type].replies for name in MESSAGES[reply].__struct_fields__}
    return names.isdisjoint({"error_code", "error"})


WITHOUT_REFUSAL = frozenset(filter(_cannot_refuse, EXCHANGES))
"""The messages whose expected replies cannot say no."""
_JSON = frozenset({"", "application/json"})


class _Sendable(msgspec.Struct, frozen=True):
    """A message as all its receivers get it: a broadcast is encoded once, for its calls leave one after the other."""

    message: Message | Ping
    body: bytes
    """Empty if it is a ping, which is not noted."""
    kind: str
    """As what it is counted, noted and logged."""
    match_id: str | None
    conversation_id: str
    limit: int
    """The largest answer that is read of anybody but a manager."""

    @classmethod
    def of(cls, message: Message | Ping) -> _Sendable:
        """Only a manager may answer at length, and whoever is asked for a match record (R-24)."""
        body = b"" if isinstance(message, Ping) else jsonrpc.encode_body(message)
        limit = letters.RECORD_LIMIT if isinstance(message, RecordRequest) else jsonrpc.MESSAGE_LIMIT
        about: tuple[str | None, str] = getattr(message, "match_id", None), getattr(message, "conversation_id", "")
        return cls(message, body, kind_of(message), *about, limit)


_NOTHING = _Sendable.of(Ping())


class _Cancellable(Protocol):
    def cancel(self) -> object: ...


class _Sent(msgspec.Struct, eq=False):
    """A call from its start to its end."""

    call: Call
    sendable: _Sendable = _NOTHING
    limit: int = 0
    at: float = math.inf
    """When it left."""
    under_way: _Cancellable | None = None
    is_conversation: bool = False
    """Is it a task of its own? Then what it comes to is final."""


@dataclass(slots=True)
class Outbound:
    """`pump` is given what came back, by `hand_in`; `note` keeps a letter in the transcript."""

    caller: Caller
    clock: Clock
    meter: Meter
    log: Log
    answer_limit: int
    """The largest answer that is read, from a manager."""
    hand_in: Callable[..., None]
    """Has an input given to the pump: takes the function that does so, and its arguments."""
    note_error: Callable[[ErrorNote], None]
    pump: Pump = field(init=False)
    reading: Reading = field(default_factory=Reading)
    """How answers are read."""
    note: Callable[[LetterNote], None] | None = None
    _sent: dict[int, _Sent] = field(default_factory=dict)
    _last: _Sendable = _NOTHING
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def start(self, call: Call) -> None:
        """It leaves in the next turn of the loop: the answer to what caused it goes first."""
        sent = self._sent[call.id] = _Sent(call)
        sent.under_way = self._loop.call_soon(self._leave, sent)

    def cancel(self, call_id: int) -> None:
        """Too late for an answer, or nobody wants one any more."""
        sent = self._sent.pop(call_id, None)
        if sent is None or sent.under_way is None:
            return
        sent.under_way.cancel()
        sent.under_way = None
        if sent.at < math.inf:
            now = self.clock.now()
            outcome = "timeout" if now >= sent.call.deadline else "cancelled"
            self._note(sent, now, "in", outcome)
            self._count(sent, now, outcome)

    def cancel_all(self) -> list[asyncio.Task[None]]:
        """Call everything off; the tasks are to be waited for."""
        tasks = [one.under_way for one in self._sent.values() if isinstance(one.under_way, asyncio.Task)]
        for call_id in list(self._sent):
            self.cancel(call_id)
        return tasks

    def _leave(self, sent: _Sent) -> None:
        call, now = sent.call, self.clock.now()
        message, to = call.message, call.to
        if self._last.message is not message:
            self._last = _Sendable.of(message)
        sent.sendable = sendable = self._last
        sent.at = now
        sent.limit = self.answer_limit if to.agent_id == MANAGER else sendable.limit
        if self.note is not None:
            self._note(sent, now, "out", "", sendable.body)
        wait, on_end = (call.deadline - now) / self.clock.scale, partial(self.hand_in, self._ended, sent)
        try:
            pending = self.caller.send(call.id, message, sendable.body, to, wait, sent.limit, on_end)
        except CallFailed as failed:
            self.hand_in(self._ended, sent, failed)
            return
        if pending is None:
            self._converse(sent, now)
        else:
            sent.under_way = pending

    def _converse(self, sent: _Sent, now: float, first: HttpReply | None = None) -> None:
        """What takes more than one answer is a task."""
        self._sent[sent.call.id] = sent
        sent.is_conversation = True
        sent.under_way = self._loop.create_task(self._conversation(sent, now, first))

    async def _conversation(self, sent: _Sent, now: float, first: HttpReply | None) -> None:
        call, wait = sent.call, (sent.call.deadline - now) / self.clock.scale
        result: HttpReply | CallFailed
        try:
            result = await self.caller.call(call.id, call.message, sent.sendable.body, call.to, wait, sent.limit, first)
        except CallFailed as failed:
            result = failed
        self.hand_in(self._ended, sent, result)

    # --- what came back -----------------------------------------------------------------------------------------------

    def _ended(self, sent: _Sent, result: HttpReply | CallFailed) -> Actions:
        """With the expected reply, or anything else."""
        if self._sent.pop(sent.call.id, None) is None:
            return Actions()  # it was cancelled in this moment
        sent.under_way = None  # or they would keep each other until a collection
        now, sendable = self.clock.now(), sent.sendable
        if isinstance(result, CallFailed):
            return self._failed_to_answer(sent, result, now)
        is_quick = sendable.kind in WITHOUT_REFUSAL and result.status == 200 and result.content_type in _JSON
        content = quick_read.read_answer(result.body, sendable.kind, self.reading) if is_quick else None
        if content is None:
            return self._replied(sent, result, now)
        if self.note is not None:
            self._note(sent, now, "in", "200", result.body)
        self._count(sent, now, ANSWERED, content, now - sent.at)
        return self.pump.answer(sent.call.id, content, now)

    def _replied(self, sent: _Sent, reply: HttpReply, now: float) -> Actions:
        if not sent.is_conversation and not is_final(reply):
            self._converse(sent, now, reply)
            return Actions()
        self._note(sent, now, "in", str(reply.status), reply.body)
        return self._read(sent, reply, now) if reply.status < 300 else self._refused(sent, reply, now)

    def _refused(self, sent: _Sent, reply: HttpReply, now: float) -> Actions:
        """What HTTP says no to, unless the body says more."""
        if reply.status in (429, 503):
            return self._failed(sent, Failure.BUSY, now, retry_after=reply.retry_after, seconds=now - sent.at)
        if letters.says_something(reply.body):
            return self._read(sent, reply, now)
        failure = Failure.NOT_UNDERSTOOD if reply.status < 500 else Failure.BROKEN
        detail = f"answered with HTTP status {reply.status}"
        return self._failed(sent, failure, now, detail=detail, seconds=now - sent.at)

    def _read(self, sent: _Sent, reply: HttpReply, now: float) -> Actions:
        call = sent.call
        content = letters.read_answer(reply.body, call.message, self.reading, sent.limit, reply.status)
        is_refusal = isinstance(content, Refusal)
        self._count(sent, now, "error" if is_refusal else ANSWERED, content, now - sent.at)
        if is_refusal or isinstance(getattr(content, "message", None), LeagueQueryResponse):
            error = error_answered(call.to.agent_id, call.message, content)
            if error is not None:
                self.note_error(error)
        return self.pump.answer(call.id, content, now)

    def _failed_to_answer(self, sent: _Sent, failed: CallFailed, now: float) -> Actions:
        to, sendable = sent.call.to, sent.sendable
        self._note(sent, now, "in", failed.failure.value, failed.detail.encode())
        self.log.failed_call(now, to.agent_id, sendable.kind, to.endpoint, failed.detail, sendable.match_id)
        blame = Blame.NOBODY if failed.gave_way else Blame.LOCAL if failed.local else Blame.PEER
        return self._failed(sent, failed.failure, now, blame)

    def _failed(
        self,
        sent: _Sent,
        failure: Failure,
        now: float,
        blame: Blame = Blame.PEER,
        retry_after: float | None = None,
        detail: str = "",
        seconds: float | None = None,
    ) -> Actions:
        self._count(sent, now, failure.value, seconds=seconds)
        if failure is Failure.TIMEOUT and blame is not Blame.NOBODY:
            return Actions()  # the pump's to notice: it knows whether the peer was late or we were
        return self.pump.failed(sent.call.id, failure, now, blame, retry_after, detail)

    def _count(
        self, sent: _Sent, now: float, outcome: str, read: Content | None = None, seconds: float | None = None
    ) -> None:
        sendable, agent_id = sent.sendable, sent.call.to.agent_id
        about = (agent_id, sendable.kind, sendable.conversation_id)
        self.meter.call_ended(sendable.kind, about, outcome, sendable.match_id, read, seconds)
        if type(sendable.message) is LeagueStandingsUpdate:
            self.meter.tables.told(agent_id, sendable.message.version or 0, outcome == ANSWERED, now)
        if self.log.is_kept:
            self.log.letter(now, "out", agent_id, sendable.kind, outcome, sendable.match_id)

    def _note(self, sent: _Sent, now: float, direction: Literal["in", "out"], status: str, body: bytes = b"") -> None:
        """A call, without its JSON-RPC frame and token: a broadcast is one and the same for all its receivers; or (with
        a status) what came of it."""
        sendable = sent.sendable
        if self.note is None or not sendable.body:
            return
        peer = sent.call.to.agent_id
        self.note(exchanged(now, direction, peer, sendable.kind, sendable.match_id, status, body))
