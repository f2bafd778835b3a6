"""The calls of an agent: each leaves as a task over HTTP, is counted and noted, and what comes back, an answer or a
failure with a name and a blame, is handed to the pump."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from league.agent.log import Log
from league.agent.pump import Actions, Call, Pump
from league.agent.sources import Clock
from league.agent.watch import ANSWERED, Counts, ErrorNote, Meter, error_answered, kind_of
from league.machine import Blame, Failure, Ping, RecordRequest, Refusal
from league.protocol import jsonrpc
from league.protocol.envelope import Reading
from league.protocol.messages import LeagueStandingsUpdate, MatchResultReport
from league.protocol.tokens import MANAGER
from league.storage.transcript import LetterNote, without_record
from league.transport import letters
from league.transport.caller import Caller
from league.transport.http_call import CallFailed, HttpReply


@dataclass(slots=True)
class Outbound:
    """`pump` is given what came back through `hand_in`; `note` keeps a letter in the transcript."""

    caller: Caller
    clock: Clock
    meter: Meter
    log: Log
    answer_limit: int
    """The largest answer that is read, from a manager."""
    pump: Callable[[], Pump]
    hand_in: Callable[[Callable[[], Actions]], None]
    note_error: Callable[[ErrorNote], None]
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
        kind = kind_of(call.message)
        body = self._encoded(call.message)
        started = self.clock.now()
        self._note(call, kind, "", body)
        try:
            wait = self.clock.seconds_until(call.deadline)
            reply = await self.caller.call(call.id, call.message, body, call.to, wait, self._limit(call))
        except CallFailed as failed:
            self._note(call, kind, failed.failure.value, failed.detail.encode())
            match_id = getattr(call.message, "match_id", None)
            self.log.failed_call(self.clock.now(), call.to.agent_id, kind, call.to.endpoint, failed.detail, match_id)
            blame = Blame.NOBODY if failed.gave_way else Blame.LOCAL if failed.local else Blame.PEER
            self._failed(call, kind, failed.failure, blame)
            return
        except asyncio.CancelledError:
            outcome = "timeout" if self.clock.now() >= call.deadline else "cancelled"
            self._note(call, kind, outcome)
            self._count(call, kind, outcome)
            raise
        finally:
            self.tasks.pop(call.id, None)
        self._counts(call).round_trip.add(self.clock.now() - started)
        self._note(call, kind, str(reply.status), reply.body)
        self._came_back(call, kind, reply)

    def _limit(self, call: Call) -> int:
        """Only the manager may answer at length (R-24)."""
        if isinstance(call.message, RecordRequest):
            return letters.RECORD_LIMIT
        return self.answer_limit if call.to.agent_id == MANAGER else jsonrpc.MESSAGE_LIMIT

    def _encoded(self, message: object) -> bytes:
        """A broadcast is encoded once: its calls leave one after the other."""
        if isinstance(message, Ping):
            return b""
        if self._body[0] is not message:
            self._body = (message, jsonrpc.encode_body(message))  # type: ignore[arg-type]
        return self._body[1]

    # --- what came back -----------------------------------------------------------------------------------------------

    def _came_back(self, call: Call, kind: str, reply: HttpReply) -> None:
        if reply.status in (429, 503):
            self._failed(call, kind, Failure.BUSY, retry_after=reply.retry_after)
        elif reply.status >= 300 and not letters.says_something(reply.body):
            failure = Failure.NOT_UNDERSTOOD if reply.status < 500 else Failure.BROKEN
            self._failed(call, kind, failure, detail=f"answered with HTTP status {reply.status}")
        else:
            self.hand_in(lambda: self._read(call, kind, reply))

    def _read(self, call: Call, kind: str, reply: HttpReply) -> Actions:
        content = letters.read_answer(reply.body, call.message, self.reading, self._limit(call), reply.status)
        self._counts(call).judged(content)
        self._count(call, kind, "error" if isinstance(content, Refusal) else ANSWERED)
        error = error_answered(call.to.agent_id, call.message, content)
        if error is not None:
            self.note_error(error)
        return self.pump().answer(call.id, content, self.clock.now())

    def _failed(
        self,
        call: Call,
        kind: str,
        failure: Failure,
        blame: Blame = Blame.PEER,
        retry_after: float | None = None,
        detail: str = "",
    ) -> None:
        self._count(call, kind, failure.value)
        # A timeout is the pump's to notice: it knows whether the peer was late or we were.
        if failure is not Failure.TIMEOUT or blame is Blame.NOBODY:
            now = self.clock.now
            self.hand_in(lambda: self.pump().failed(call.id, failure, now(), blame, retry_after, detail))

    def _counts(self, call: Call) -> Counts:
        """Where its fate is counted: that of a call in a match with the match."""
        return self.meter.about(getattr(call.message, "match_id", None))

    def _count(self, call: Call, kind: str, outcome: str) -> None:
        conversation = getattr(call.message, "conversation_id", "")
        self._counts(call).call_ended(kind, (call.to.agent_id, kind, conversation), outcome)
        if isinstance(call.message, LeagueStandingsUpdate):
            version = call.message.version or 0
            self.meter.tables.told(call.to.agent_id, version, outcome == ANSWERED, self.clock.now())
        match_id = getattr(call.message, "match_id", None)
        self.log.letter(self.clock.now(), "out", call.to.agent_id, kind, outcome, match_id)

    def _note(self, call: Call, kind: str, status: str, body: bytes = b"") -> None:
        """A call, without its JSON-RPC frame and token: a broadcast is one and the same for all its receivers; or (with
        a status) what came of it."""
        if self.note is None or isinstance(call.message, Ping):
            return
        named = (call.to.agent_id, kind, getattr(call.message, "match_id", None))
        if status:
            self.note(LetterNote(self.clock.now(), "in", *named, "response", status, body))
        else:
            body = without_record(body) if isinstance(call.message, MatchResultReport) else body
            self.note(LetterNote(self.clock.now(), "out", *named, "request", status, body))
