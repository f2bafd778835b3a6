"""What it costs to speak with everybody: the usual call through the line that knows other words beside a plain one,
the other conventions beside the usual, and how many calls a league spends on finding out.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks import Row, median_cpu_seconds
from league.agent.caller import Caller
from league.events import ResultAccepted
from league.machine import Address, Answering
from league.protocol import jsonrpc
from league.protocol.conventions import Convention
from league.protocol.envelope import Reading, seal
from league.protocol.exchanges import Role
from league.protocol.messages import GameInvitation, GameJoinAck
from league.transport import letters
from league.transport.http import App, Response, loop_factory
from league.transport.http_client import HttpClient
from league.transport.http_server import serve
from league.transport.letters import Speaker
from tests.support.dialects import CONVENTIONS
from tests.support.peer import Peer
from tests.support.processes import Processes

NAME = "dialects"
LIMIT = 10_240
CALLS, ROUNDS = 960, 15
COMPAT = Reading("compat")
PLAYER = Speaker(Role.PLAYER, "player:P01", COMPAT)
INVITATION = GameInvitation(
    **seal("referee:REF01", 1.7e9, "conv-r1m1-1"),
    league_id="league_2025_even_odd",
    round_id=1,
    match_id="R1M1",
    game_type="even_odd",
    role_in_match="PLAYER_A",
    opponent_id="P02",
    player_id="P01",
)
JOIN = GameJoinAck(
    **seal("player:P01", 1.7e9, "conv-r1m1-1"),
    match_id="R1M1",
    player_id="P01",
    arrival_timestamp="2025-01-15T10:30:00Z",
    accept=True,
)
BODY = jsonrpc.encode_body(INVITATION)
SPEAKERS = ("SPEC", "TYPE", "TYPE in small letters", "TOOLS", "TOOLS in a session", "NESTED", "BARE", "BARE or 400")
MOST_EXTRA_CALLS = 2
ABOUT_MATCHES = (
    *(b'"message_type":"%s"' % kind for kind in (b"GAME_INVITATION", b"CHOOSE_PARITY_CALL", b"GAME_OVER")),
    b'"tools/list"',
    b'"initialize"',
)


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        line, plain = runner.run(_line())
    rows = [Row("a call of the usual kind", line * 1e6, plain * 1e6, "without other words", "us", 1.15)]
    return [*rows, *_frames(), _finding_out()]


async def _acknowledge(_raw: bytes, _origin: str) -> Response:
    return Response(200, b'{"jsonrpc":"2.0","id":1,"result":{}}')


async def _line() -> tuple[float, float]:
    """CPU seconds of one call through the line, and of the same bytes through the client alone."""

    server = await serve("127.0.0.1", 0, App(_acknowledge))
    client = HttpClient()
    line, to = Caller(client), Address("P01", f"http://127.0.0.1:{server.port}/mcp")

    async def plain() -> None:
        await client.post(to.endpoint, letters.write_call(1, INVITATION, BODY, to), 10.0, LIMIT)

    async def through_the_line() -> None:
        await line.call(1, INVITATION, BODY, to, 10.0, LIMIT)

    spent: tuple[list[float], list[float]] = ([], [])
    try:
        for _ in range(ROUNDS):
            for some, call in zip(spent, (through_the_line, plain), strict=True):
                some.append(await _timed(call))
    finally:
        await client.close()
        await server.close()
    return median(spent[0]), median(spent[1])


async def _timed(call: Callable[[], Awaitable[None]]) -> float:
    start = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - start) / CALLS


def _frames() -> list[Row]:
    """A call and its answer, written and read on both sides."""
    others = [one for one in Convention if one is not Convention.SPEC]
    usual, *times = median_cpu_seconds([_exchange(one) for one in (Convention.SPEC, *others)])
    return [
        Row(f"an invitation as {one.name}", spent * 1e6, usual * 1e6, "as SPEC", "us", 2.5)
        for one, spent in zip(others, times, strict=True)
    ]


def _exchange(convention: Convention) -> Callable[[], object]:
    to = Address("P01", "http://x", None, convention)

    def once() -> object:
        asked = letters.read_request(letters.write_call(1, INVITATION, BODY, to), PLAYER)
        return letters.read_answer(letters.write_answer(asked, Answering(1, JOIN), PLAYER, 1.7e9), INVITATION, COMPAT)

    return once


def _finding_out() -> Row:
    """All calls about matches to players of eight conventions, beside those that a league cannot do without."""
    with tempfile.TemporaryDirectory() as folder, Processes(Path(folder)) as processes, ExitStack() as stack:
        manager = processes.manager(players=len(SPEAKERS))
        peers = [stack.enter_context(Peer(name, convention=CONVENTIONS[name])) for name in SPEAKERS]
        for peer in peers:
            peer.register(manager.endpoint)
        referee = processes.referee(manager, max_concurrent_matches=8)
        referee.wait()
        manager.stop()
        matches = len(processes.events("manager", ResultAccepted))
    made = sum(_is_about_a_match(one.body) for peer in peers for one in peer.received)
    needed = matches * 2 * 3
    goal = (needed + MOST_EXTRA_CALLS * len(SPEAKERS)) / needed
    what = f"calls to {len(SPEAKERS)} players of {len(SPEAKERS)} conventions in {matches} matches"
    return Row(what, made, needed, "three a match and player", "calls", goal)


def _is_about_a_match(body: bytes) -> bool:
    return any(one in body for one in ABOUT_MATCHES)
