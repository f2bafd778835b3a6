"""The calls of an agent: each leaves over HTTP, is counted and noted, and its answer, or its failure with a name and a
blame, is handed to the pump.

The usual call takes no task: it is written, and its connection reports the end. A task is started only for a
conversation, that is where an endpoint must be spoken to in other words.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

import msgspec

from league import letters
from league.agent.caller import Caller
from league.agent.error_notes import ErrorNote, error_answered
from league.agent.log import Log
from league.agent.meter import ANSWERED, Meter, kind_of
from league.agent.pump import Actions, Call, Pump
from league.agent.sources import Clock
from league.calling.delivery import EXACT
from league.gateway.words import is_final
from league.letters import HttpReply
from league.machine import Blame, Content, Failure, Ping, RecordRequest, Refusal
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import (
    MESSAGES,
    LeagueStandingsUpdate,
    Message,
)
from league.protocol.safe_text import excerpt
from league.protocol.signing.tokens import MANAGER
from league.protocol.wire import jsonrpc, quick_read
from league.storage.transcripts.transcript import LetterNote, exchanged
from league.transport.http_call import CallFailed


def _cannot_refuse(message_type: str) -> bool:
    """True if its replies have no field for an error: then a reply that is right in every way is final."""
    replies = EXCHANGES[message_type].replies
    return all({"error_code", "error"}.isdisjoint(MESSAGES[reply].__struct_fields__) for reply in replies)


WITHOUT_REFUSAL = frozenset(filter(_cannot_refuse, EXCHANGES))
"""The messages whose expected replies cannot say no."""
_JSON = frozenset({"", "application/json"})


class _Sendable(msgspec.Struct, frozen=True):
    """A message in the form that all its receivers get. A broadcast is encoded once: its calls leave one after the
    other."""

    message: Message | Ping
    body: bytes
    """Empty if it is a ping, which is not noted."""
    kind: str
    """The name under which it is counted, noted and logged."""
    match_id: str | None
    conversation_id: str
    limit: int
    """The largest answer that is read from anybody but a manager."""

    @classmethod
    def of(cls, message: Message | Ping) -> _Sendable:
        match_id = getattr(message, "match_id", None)
        limit = jsonrpc.MESSAGE_LIMIT
        if isinstance(message, Ping):
            if isinstance(message, RecordRequest):
                limit = letters.RECORD_LIMIT  # besides a manager, only a match record may be long
            return cls(message, b"", kind_of(message), match_id, "", limit)
        conversation_id = getattr(message, "conversation_id", "")
        return cls(
            message,
            jsonrpc.encode_body(message),
            message.type,
            match_id,
            conversation_id,
            limit,
        )


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
    """True if a task of its own holds it: then its result is final."""


@dataclass(slots=True)
class Outbound:
    """Sends the calls of one agent. `hand_in` gives answers and failures to `pump`; `note` keeps a letter in the
    transcript."""

    caller: Caller
    clock: Clock
    meter: Meter
    log: Log
    answer_limit: int
    """The largest answer that is read, from a manager."""
    hand_in: Callable[..., None]
    """Gives an input to the pump: takes the function that does so, and its arguments."""
    note_error: Callable[[ErrorNote], None]
    pump: Pump = field(init=False)
    reading: Reading = field(default_factory=Reading)
    """How answers are read."""
    note: Callable[[LetterNote], None] | None = None
    _sent: dict[int, _Sent] = field(default_factory=dict)
    _last: _Sendable = _NOTHING
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def start(self, call: Call) -> None:
        """Have a call leave in the next turn of the loop: the answer to the request that caused it goes first."""
        sent = _Sent(call)
        self._sent[call.id] = sent
        sent.under_way = self._loop.call_soon(self._leave, sent)

    def cancel(self, call_id: int) -> None:
        """It is too late for an answer, or nobody wants one any more."""
        sent = self._sent.pop(call_id, None)
        if sent is None or sent.under_way is None:
            return
        sent.under_way.cancel()
        sent.under_way = None
        # A call that has not left yet is neither noted nor counted.
        if sent.at < math.inf:
            now = self.clock.now()
            outcome = "timeout" if now >= sent.call.deadline else "cancelled"
            self._note(sent, now, "in", outcome)
            self._count(sent, now, outcome)

    def cancel_all(self) -> list[asyncio.Task[None]]:
        """Call everything off; the tasks are to be waited for."""
        tasks = [sent.under_way for sent in self._sent.values() if isinstance(sent.under_way, asyncio.Task)]
        for call_id in list(self._sent):
            self.cancel(call_id)
        return tasks

    def _leave(self, sent: _Sent) -> None:
        call = sent.call
        now = self.clock.now()
        # The calls of a broadcast leave one after the other and share one message: it is encoded for the first of them.
        if self._last.message is not call.message:
            self._last = _Sendable.of(call.message)
        sendable = self._last
        sent.sendable = sendable
        sent.at = now
        sent.limit = self.answer_limit if call.to.agent_id == MANAGER else sendable.limit
        if self.note is not None:
            self._note(sent, now, "out", "", sendable.body)
        wait = (call.deadline - now) / self.clock.scale
        on_end = partial(self.hand_in, self._ended, sent)
        try:
            pending = self.caller.send(
                call.id,
                call.message,
                sendable.body,
                to=call.to,
                wait=wait,
                limit=sent.limit,
                on_end=on_end,
            )
        except CallFailed as failed:
            self.hand_in(self._ended, sent, failed)
            return
        if pending is None:
            self._converse(sent, now)
        else:
            sent.under_way = pending

    def _converse(self, sent: _Sent, now: float, first: HttpReply | None = None) -> None:
        """Start the task of a call that takes more than one answer."""
        self._sent[sent.call.id] = sent
        sent.is_conversation = True
        sent.under_way = self._loop.create_task(self._conversation(sent, now, first))

    async def _conversation(self, sent: _Sent, now: float, first: HttpReply | None) -> None:
        call = sent.call
        wait = (call.deadline - now) / self.clock.scale
        result: HttpReply | CallFailed
        try:
            result = await self.caller.call(
                call.id,
                call.message,
                sent.sendable.body,
                to=call.to,
                wait=wait,
                limit=sent.limit,
                first=first,
            )
        except CallFailed as failed:
            result = failed
        self.hand_in(self._ended, sent, result)

    # --- answers and failures -----------------------------------------------------------------------------------------

    def _ended(self, sent: _Sent, result: HttpReply | CallFailed) -> Actions:
        """A call ended, with the expected reply or anything else."""
        if self._sent.pop(sent.call.id, None) is None:
            return Actions()  # it was cancelled in this moment
        sent.under_way = None  # or they would keep each other until a collection
        now = self.clock.now()
        kind = sent.sendable.kind
        if isinstance(result, CallFailed):
            return self._failed_to_answer(sent, result, now)
        # Nearly all answers take this short way. Any other may be a refusal, or need another word.
        content = None
        if kind in WITHOUT_REFUSAL and result.status == 200 and result.content_type in _JSON:
            content = quick_read.read_answer(result.body, kind, self.reading)
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
        if reply.status < 300:
            return self._read(sent, reply, now)
        return self._refused(sent, reply, now)

    def _refused(self, sent: _Sent, reply: HttpReply, now: float) -> Actions:
        """HTTP says no, unless the body says more."""
        if reply.status in (429, 503):
            return self._failed(
                sent,
                Failure.BUSY,
                now,
                retry_after=reply.retry_after,
                seconds=now - sent.at,
            )
        if letters.says_something(reply.body):
            return self._read(sent, reply, now)
        failure = Failure.NOT_UNDERSTOOD if reply.status < 500 else Failure.SERVER_ERROR
        detail = f"answered with HTTP status {reply.status}"
        quote = excerpt(reply.body)
        if quote:
            detail += f' "{quote}"'
        return self._failed(sent, failure, now, detail=detail, seconds=now - sent.at)

    def _read(self, sent: _Sent, reply: HttpReply, now: float) -> Actions:
        call = sent.call
        content = letters.read_answer(reply.body, call.message, self.reading, sent.limit, reply.status)
        outcome = "error" if isinstance(content, Refusal) else ANSWERED
        self._count(sent, now, outcome, content, now - sent.at)
        error = error_answered(call.to.agent_id, call.message, content)
        if error is not None:
            self.note_error(error)
        return self.pump.answer(call.id, content, now)

    def _failed_to_answer(self, sent: _Sent, failed: CallFailed, now: float) -> Actions:
        to = sent.call.to
        sendable = sent.sendable
        self._note(sent, now, "in", failed.failure.value, failed.detail.encode())
        self.log.failed_call(
            now,
            to.agent_id,
            sendable.kind,
            to.endpoint,
            failed.detail,
            sendable.match_id,
        )
        blame = Blame.PEER
        if failed.gave_way:
            blame = Blame.NOBODY
        elif failed.local:
            blame = Blame.LOCAL
        detail = failed.detail if failed.detail in EXACT else ""
        if failed.failure is Failure.UNUSABLE:
            detail = failed.unreadable
        return self._failed(sent, failed.failure, now, blame, detail=detail)

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
        self,
        sent: _Sent,
        now: float,
        outcome: str,
        read: Content | None = None,
        seconds: float | None = None,
    ) -> None:
        sendable = sent.sendable
        agent_id = sent.call.to.agent_id
        about = (agent_id, sendable.kind, sendable.conversation_id)
        self.meter.call_ended(sendable.kind, about, outcome, sendable.match_id, read, seconds)
        if type(sendable.message) is LeagueStandingsUpdate:
            self.meter.tables.told(agent_id, sendable.message.version or 0, outcome == ANSWERED, now)
        if self.log.is_kept:
            self.log.letter(now, "out", agent_id, sendable.kind, outcome, sendable.match_id)

    def _note(
        self,
        sent: _Sent,
        now: float,
        direction: Literal["in", "out"],
        status: str,
        body: bytes = b"",
    ) -> None:
        """Note a call, or (with a status) its end. The JSON-RPC frame and the token are left out: so a broadcast is one
        and the same for all its receivers."""
        sendable = sent.sendable
        if self.note is None or not sendable.body:
            return
        peer = sent.call.to.agent_id
        self.note(
            exchanged(
                now,
                direction,
                peer,
                message_type=sendable.kind,
                match_id=sendable.match_id,
                status=status,
                body=body,
            )
        )
