"""A call ends in the same way whether it is written at once or held as a conversation in a task: whatever the server
does, the pump, the transcript and the counters are told the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from league.agent.caller import Caller
from league.agent.log import Log
from league.agent.meter import ANSWERED, Meter
from league.agent.outbound import Outbound
from league.agent.pump import Actions, Call
from league.agent.sources import Clock
from league.machine import Address, Blame, Content, Failure, Refusal
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.messages import ChooseParityResponse, GameOver, GameOverAck, Message
from league.protocol.message.parts import GameResult
from league.protocol.wire import jsonrpc
from league.storage.transcripts.transcript import LetterNote
from league.transport.http_call import PendingCall
from league.transport.http_client import DEFAULT_LIMITS, HttpClient, PoolLimits
from tests.support.http_wire import ScriptedServer, Visit, answer, on_every_loop, refusing_port, until
from tests.support.questions import CALL

LONG, SHORT = 60.0, 0.2
OVER = GameOver(
    **seal("referee:REF01", 0.0, "conv-1"),
    match_id="R1M1",
    game_type="even_odd",
    game_result=GameResult(status="DRAW", choices={"P01": "even", "P02": "even"}),
)
ACK = GameOverAck(**seal("player:P01", 0.0, "conv-1"), match_id="R1M1", status="ACKNOWLEDGED")
CHOICE = ChooseParityResponse(
    **seal("player:P01", 0.0, "conv-1"), match_id="R1M1", player_id="P01", parity_choice="even"
)
NO_SUCH = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
NO = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no","data":{"error_code":"E004"}}}'
ACKNOWLEDGED, CHOSEN = jsonrpc.encode_result(1, ACK), jsonrpc.encode_result(1, CHOICE)
EVENT = answer(b"event: message\ndata: %b\n\n" % ACKNOWLEDGED, "Content-Type: text/event-stream")
CLOSES, HANGS = b"", None


class OnlyConversations(Caller):
    """No call is written at once."""

    def send(self, *_: object, **__: object) -> PendingCall | None:
        return None


Way = type[Caller]


@dataclass
class Told:
    """What an outbound call tells of its end; it stands where the pump does."""

    pump: list[object] = field(default_factory=list)
    notes: list[tuple[str, str, str, bytes]] = field(default_factory=list)
    counted: dict[tuple[str, str], int] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)

    def answer(self, _: int, content: Content, now: float) -> Actions:
        said = content.message_type if isinstance(content, Unsealed) else content
        self.pump.append(said.code if isinstance(said, Refusal) else said)
        return Actions()

    def failed(self, *what: object) -> Actions:
        _, failure, _, blame, retry_after, _ = what
        self.pump.append((failure, blame, retry_after))
        return Actions()

    def note(self, one: LetterNote) -> None:
        self.notes.append((one.direction, one.kind, one.status, one.body))


def scripted(told: Told, steps: Iterable[bytes | None]) -> ScriptedServer:
    """Each request is answered by the next step, over whatever connection it comes."""
    left = iter(steps)

    async def script(visit: Visit) -> None:
        while True:
            told.requests.append(await visit.request())
            said = next(left)
            if said is None:
                await visit.gone()
            if not said:
                return
            await visit.say(said)

    return ScriptedServer(script)


@asynccontextmanager
async def outbound(
    told: Told, way: Way, limits: PoolLimits = DEFAULT_LIMITS
) -> AsyncIterator[tuple[Outbound, HttpClient]]:
    client = HttpClient(limits=limits)
    calls = Outbound(
        way(client), Clock(), Meter(), Log(None), jsonrpc.MESSAGE_LIMIT, lambda give, *given: give(*given), print
    )
    calls.pump, calls.note = told, told.note  # type: ignore[assignment]
    try:
        yield calls, client
    finally:
        assert calls.cancel_all() == []
        told.counted = dict(calls.meter.sent)
        await client.close()


def start(calls: Outbound, number: int, url: str, message: Message = OVER, seconds: float = LONG) -> None:
    calls.start(Call(number, "", Address("P01", url), message, calls.clock.now() + seconds))


async def call(
    way: Way, steps: Iterable[bytes | None], message: Message, *, is_idle: bool, seconds: float, path: str = "/mcp"
) -> Told:
    """One call, and all that it told; `is_idle`: over a connection that was used before."""
    told = Told()
    warm = [answer(ACKNOWLEDGED)] if is_idle else []
    async with scripted(told, [*warm, *steps]) as server, outbound(told, way) as (calls, _):
        url = f"http://127.0.0.1:{server.port}{path}"
        if is_idle:
            start(calls, 1, url)
            await until(lambda: len(told.pump) == 1)
        start(calls, 2, url, message, seconds)
        await until(lambda: len(told.notes) == 2 + 2 * is_idle)
    return told


BUSY = answer(b"", "Retry-After: 7", status="503 Later")


@pytest.mark.parametrize("is_idle", [False, True], ids=["a new connection", "a kept connection"])
@pytest.mark.parametrize(
    ("steps", "message", "end"),
    [
        pytest.param([answer(ACKNOWLEDGED)], OVER, "GAME_OVER_ACK", id="the reply"),
        pytest.param([answer(ACKNOWLEDGED, status="202 Accepted")], OVER, "GAME_OVER_ACK", id="another status"),
        pytest.param([answer(NO)], OVER, "E004", id="an error"),
        pytest.param([answer(NO, status="400 Bad")], OVER, "E004", id="an error with its status"),
        pytest.param([answer(NO_SUCH)], OVER, "E036", id="no such method"),
        pytest.param([answer(NO_SUCH), answer(CHOSEN)], CALL, "CHOOSE_PARITY_RESPONSE", id="another name"),
        pytest.param([answer(NO_SUCH), CLOSES, answer(CHOSEN)], CALL, "CHOOSE_PARITY_RESPONSE", id="stale then"),
        pytest.param([EVENT], OVER, "GAME_OVER_ACK", id="an event"),
        pytest.param([BUSY], OVER, (Failure.BUSY, Blame.PEER, 7.0), id="busy"),
        pytest.param(
            [answer(b"", status="500 Oops")], OVER, (Failure.SERVER_ERROR, Blame.PEER, None), id="a status alone"
        ),
        pytest.param(
            [answer(b"", status="404 Not Found")], OVER, (Failure.NOT_UNDERSTOOD, Blame.PEER, None), id="not there"
        ),
        pytest.param([b"nonsense\r\n\r\n"], OVER, (Failure.BROKEN, Blame.PEER, None), id="nonsense"),
        pytest.param([answer(b"x" * 20_000)], OVER, (Failure.UNUSABLE, Blame.PEER, None), id="too large"),
    ],
)
@on_every_loop
async def test_an_answer_is_told_alike(steps: list[bytes | None], message: Message, end: object, is_idle: bool) -> None:
    told = [await call(way, steps, message, is_idle=is_idle, seconds=LONG) for way in (Caller, OnlyConversations)]
    assert told[0] == told[1]
    assert told[0].pump[is_idle:] == [end]
    assert len(told[0].requests) == is_idle + len(steps)


@pytest.mark.parametrize(
    ("steps", "is_idle", "end"),
    [
        pytest.param([CLOSES], False, (Failure.BROKEN, Blame.PEER, None), id="closed"),
        pytest.param([CLOSES, answer(ACKNOWLEDGED)], True, "GAME_OVER_ACK", id="stale"),
        pytest.param([CLOSES, CLOSES], True, (Failure.BROKEN, Blame.PEER, None), id="stale, then closed"),
    ],
)
@on_every_loop
async def test_a_connection_that_closes_is_told_alike(steps: list[bytes | None], is_idle: bool, end: object) -> None:
    told = [await call(way, steps, OVER, is_idle=is_idle, seconds=LONG) for way in (Caller, OnlyConversations)]
    assert told[0] == told[1]
    assert told[0].pump[is_idle:] == [end]
    assert len(told[0].requests) == is_idle + len(steps)


@on_every_loop
async def test_a_timeout_is_noted_alike_and_left_to_the_pump() -> None:
    told = [await call(way, [HANGS], OVER, is_idle=True, seconds=SHORT) for way in (Caller, OnlyConversations)]
    for one in told:
        one.requests.clear()  # on a slow machine the last one may be late
    assert told[0] == told[1]
    assert told[0].notes[-1][2] == "timeout"
    assert len(told[0].pump) == 1


@on_every_loop
async def test_the_path_that_was_meant_is_found_alike() -> None:
    steps = [answer(b"", status="404 Not Found"), answer(ACKNOWLEDGED)]
    told = [await call(way, steps, OVER, is_idle=False, seconds=LONG, path="") for way in (Caller, OnlyConversations)]
    assert told[0] == told[1]
    assert told[0].pump == ["GAME_OVER_ACK"]


async def nobody_there(way: Way) -> Told:
    told = Told()
    with refusing_port() as port:
        async with outbound(told, way) as (calls, client):
            start(calls, 1, f"http://127.0.0.1:{port}/mcp")
            start(calls, 2, "gopher://127.0.0.1/mcp")
            await until(lambda: len(told.pump) == 2)
            await client.close()
            start(calls, 3, f"http://127.0.0.1:{port}/mcp")
            await until(lambda: len(told.pump) == 3)
    told.pump[:2] = sorted(told.pump[:2], key=str)
    told.notes = [(*one[:3], b"") for one in told.notes]  # they name the port
    told.notes[:4] = sorted(told.notes[:4])
    return told


@on_every_loop
async def test_whom_nobody_reaches_is_told_alike() -> None:
    told = [await nobody_there(way) for way in (Caller, OnlyConversations)]
    assert told[0] == told[1]
    expected = [(Failure.FORBIDDEN, Blame.PEER), (Failure.REFUSED, Blame.PEER), (Failure.REFUSED, Blame.LOCAL)]
    assert told[0].pump == [(*one, None) for one in expected]


async def cancelled(way: Way) -> Told:
    told = Told()
    async with scripted(told, [answer(ACKNOWLEDGED), HANGS, HANGS]) as server, outbound(told, way) as (calls, client):
        start(calls, 1, server.url)
        await until(lambda: len(told.pump) == 1)
        start(calls, 2, server.url)
        calls.cancel(2)  # before it left
        for number in (3, 4):  # over the kept connection, and over a new one
            start(calls, number, server.url)
            await until(lambda: len(told.requests) == number - 1)  # noqa: B023 (it is awaited here)
            calls.cancel(number)
        await until(lambda: client.load["connections"] == 0)
    return told


@on_every_loop
async def test_a_call_that_is_cancelled_is_told_alike() -> None:
    told = [await cancelled(way) for way in (Caller, OnlyConversations)]
    assert told[0] == told[1]
    assert told[0].counted == {("GAME_OVER", ANSWERED): 1, ("GAME_OVER", "cancelled"): 2}
    assert len(told[0].notes) == 6


async def gave_way(way: Way) -> Told:
    told, one = Told(), PoolLimits(per_endpoint=1, gives_way_s=0.05)
    steps = [answer(ACKNOWLEDGED), HANGS, answer(CHOSEN)]
    async with scripted(told, steps) as server, outbound(told, way, one) as (calls, _):
        start(calls, 1, server.url)
        await until(lambda: len(told.pump) == 1)
        start(calls, 2, server.url)
        await until(lambda: len(told.requests) == 2)
        start(calls, 3, server.url, CALL)
        await until(lambda: len(told.pump) == 3)
    return told


@on_every_loop
async def test_a_notification_that_gives_way_is_told_alike() -> None:
    told = [await gave_way(way) for way in (Caller, OnlyConversations)]
    assert told[0] == told[1]
    assert told[0].pump[1:] == [(Failure.TIMEOUT, Blame.NOBODY, None), "CHOOSE_PARITY_RESPONSE"]


@on_every_loop
async def test_a_usual_call_takes_no_task() -> None:
    """A call that finds a connection is written and answered by callbacks alone."""
    told = Told()
    async with scripted(told, [answer(ACKNOWLEDGED)] * 2) as server, outbound(told, Caller) as (calls, _):
        start(calls, 1, server.url)
        await until(lambda: len(told.pump) == 1)
        await until(lambda: len(asyncio.all_tasks()) == 2)  # this one, and the server's
        start(calls, 2, server.url)
        most = 0
        while len(told.pump) < 2:
            most = max(most, len(asyncio.all_tasks()))
            await asyncio.sleep(0)
    assert most == 2
