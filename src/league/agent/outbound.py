"""The calls of an agent: each leaves as a task over HTTP, is counted and noted, and what comes back, an answer or a
failure with a name and a blame, is handed to the pump."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from league.agent.log import Log
from league.agent.pump import Actions, Call, Pump
from league.agent.sources import Clock
from league.agent.watch import ANSWERED, ErrorNote, Meter, error_answered, kind_of
from league.machine import Blame, Content, Failure, Ping, RecordRequest, Refusal
from league.protocol import jsonrpc
from league.protocol.envelope import Reading
from league.protocol.messages import LeagueQueryResponse, LeagueStandingsUpdate, MatchResultReport
from league.protocol.tokens import MANAGER
from league.storage.transcript import LetterNote, without_record
from league.transport import letters
from league.transport.caller import Caller
from league.transport.http_call import CallFailed, HttpReply


class _Sent(msgspec.Struct, frozen=True):
    """A call under way: as what it is counted, noted and logged, the largest answer that is read, and since when."""

    call: Call
    kind: str
    match_id: str | None
    limit: int
    at: float


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
    tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _body: tuple[object, bytes] = (None, b"")

    def start(self, call: Call) -> None:
        self.tasks[call.id] = asyncio.get_running_loop().create_task(self._call(call))

    def cancel(self, call_id: int) -> None:
        """Too late for an answer, or nobody wants one any more."""
        task = self.tasks.pop(call_id, None)
        if task is not None:
            task.cancel()

    async def _call(self, call: Call) -> None:
        message, now = call.message, self.clock.now()
        sent, body = self._prepared(call, now)
        if self.note is not None:
            self._note(sent, now, "out", "", body)
        try:
            wait = self.clock.seconds_until(call.deadline, now)
            reply = await self.caller.call(call.id, message, body, call.to, wait, sent.limit)
        except CallFailed as failed:
            self._failed_to_answer(sent, failed)
            return
        except asyncio.CancelledError:
            now = self.clock.now()
            outcome = "timeout" if now >= call.deadline else "cancelled"
            self._note(sent, now, "in", outcome)
            self._count(sent, now, outcome)
            raise
        finally:
            self.tasks.pop(call.id, None)
        now = self.clock.now()
        if self.note is not None:
            self._note(sent, now, "in", str(reply.status), reply.body)
        if reply.status < 300:
            self.hand_in(self._read, sent, reply, now)
        else:
            self._refused(sent, reply, now)

    def _prepared(self, call: Call, now: float) -> tuple[_Sent, bytes]:
        """A broadcast is encoded once: its calls leave one after the other. Only the manager may answer at length, and
        whoever is asked for a match record (R-24)."""
        message = call.message
        limit = self.answer_limit if call.to.agent_id == MANAGER else jsonrpc.MESSAGE_LIMIT
        if isinstance(message, Ping):
            limit = letters.RECORD_LIMIT if isinstance(message, RecordRequest) else limit
            return _Sent(call, kind_of(message), getattr(message, "match_id", None), limit, now), b""
        if self._body[0] is not message:
            self._body = (message, jsonrpc.encode_body(message))
        return _Sent(call, message.type, getattr(message, "match_id", None), limit, now), self._body[1]

    # --- what came back -----------------------------------------------------------------------------------------------

    def _refused(self, sent: _Sent, reply: HttpReply, now: float) -> None:
        """What HTTP says no to, unless the body says more."""
        if reply.status in (429, 503):
            self._failed(sent, Failure.BUSY, now, retry_after=reply.retry_after, seconds=now - sent.at)
        elif letters.says_something(reply.body):
            self.hand_in(self._read, sent, reply, now)
        else:
            failure = Failure.NOT_UNDERSTOOD if reply.status < 500 else Failure.BROKEN
            detail = f"answered with HTTP status {reply.status}"
            self._failed(sent, failure, now, detail=detail, seconds=now - sent.at)

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

    def _failed_to_answer(self, sent: _Sent, failed: CallFailed) -> None:
        now, to = self.clock.now(), sent.call.to
        self._note(sent, now, "in", failed.failure.value, failed.detail.encode())
        self.log.failed_call(now, to.agent_id, sent.kind, to.endpoint, failed.detail, sent.match_id)
        blame = Blame.NOBODY if failed.gave_way else Blame.LOCAL if failed.local else Blame.PEER
        self._failed(sent, failed.failure, now, blame)

    def _failed(
        self,
        sent: _Sent,
        failure: Failure,
        now: float,
        blame: Blame = Blame.PEER,
        retry_after: float | None = None,
        detail: str = "",
        seconds: float | None = None,
    ) -> None:
        self._count(sent, now, failure.value, seconds=seconds)
        # A timeout is the pump's to notice: it knows whether the peer was late or we were.
        if failure is not Failure.TIMEOUT or blame is Blame.NOBODY:
            self.hand_in(self.pump.failed, sent.call.id, failure, now, blame, retry_after, detail)

    def _count(
        self, sent: _Sent, now: float, outcome: str, read: Content | None = None, seconds: float | None = None
    ) -> None:
        message, agent_id = sent.call.message, sent.call.to.agent_id
        about = (agent_id, sent.kind, getattr(message, "conversation_id", ""))
        self.meter.call_ended(sent.kind, about, outcome, sent.match_id, read, seconds)
        if isinstance(message, LeagueStandingsUpdate):
            self.meter.tables.told(agent_id, message.version or 0, outcome == ANSWERED, now)
        if self.log.is_kept:
            self.log.letter(now, "out", agent_id, sent.kind, outcome, sent.match_id)

    def _note(self, sent: _Sent, now: float, direction: Literal["in", "out"], status: str, body: bytes = b"") -> None:
        """A call, without its JSON-RPC frame and token: a broadcast is one and the same for all its receivers; or (with
        a status) what came of it."""
        message = sent.call.message
        if self.note is None or isinstance(message, Ping):
            return
        kind: Literal["request", "response"] = "response" if status else "request"
        body = without_record(body) if type(message) is MatchResultReport else body
        self.note(LetterNote(now, direction, sent.call.to.agent_id, sent.kind, sent.match_id, kind, status, body))
