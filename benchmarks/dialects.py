"""The cost of talking to third-party agents: a usual call through the caller that knows other conventions beside a
plain call, each convention beside the usual one, and the calls a league spends on finding out which one a player uses.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path

from benchmarks import Row, median_cpu_seconds, median_cpu_seconds_async
from league import letters
from league.agent.caller import Caller
from league.events import ResultAccepted
from league.letters import Speaker
from league.machine import Address, Answering
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Reading, seal
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import GameInvitation, GameJoinAck
from league.protocol.wire import jsonrpc
from league.transport.http import App, Response, loop_factory
from league.transport.http_client import HttpClient
from league.transport.http_server import serve
from tests.support.dialects import CONVENTIONS
from tests.support.peer import Peer
from tests.support.processes import Processes

LIMIT = 10_240
CALLS = 960
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
MAX_EXTRA_CALLS = 2
"""Accepted for each player."""
# An attempt to find out shows as an invitation in another form, or as a question about tools.
ABOUT_MATCHES = (
    *(b'"message_type":"%s"' % kind for kind in (b"GAME_INVITATION", b"CHOOSE_PARITY_CALL", b"GAME_OVER")),
    b'"tools/list"',
    b'"initialize"',
)


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        through_caller, plain = runner.run(_measure_caller())
    usual = Row("a usual call", through_caller * 1e6, plain * 1e6, "without other conventions", "us", 1.15)
    return [usual, *_conventions(), _finding_out()]


async def _acknowledge(_raw: bytes, _origin: str) -> Response:
    return Response(200, b'{"jsonrpc":"2.0","id":1,"result":{}}')


async def _measure_caller() -> list[float]:
    """Measure the CPU seconds of one call through the caller, and of the same bytes through the client alone."""
    server = await serve("127.0.0.1", 0, App(_acknowledge))
    client = HttpClient()
    caller = Caller(client)
    player = Address("P01", f"http://127.0.0.1:{server.port}/mcp")

    async def plain() -> None:
        await client.post(player.endpoint, letters.write_call(1, INVITATION, BODY, player), 10.0, LIMIT)

    async def through_the_caller() -> None:
        await caller.call(1, INVITATION, BODY, player, 10.0, LIMIT)

    try:
        return await median_cpu_seconds_async((through_the_caller, plain), repeats=CALLS)
    finally:
        await client.close()
        await server.close()


def _conventions() -> list[Row]:
    """Compare a call and its answer, written and read on both sides, in each convention."""
    foreign = [convention for convention in Convention if convention is not Convention.SPEC]
    usual, *seconds = median_cpu_seconds([_exchange(convention) for convention in (Convention.SPEC, *foreign)])
    return [
        Row(f"an invitation as {convention.name}", cost * 1e6, usual * 1e6, "as SPEC", "us", 2.5)
        for convention, cost in zip(foreign, seconds, strict=True)
    ]


def _exchange(convention: Convention) -> Callable[[], object]:
    player = Address("P01", "http://x", None, convention)

    def exchange() -> object:
        request = letters.read_request(letters.write_call(1, INVITATION, BODY, player), PLAYER)
        answer = letters.write_answer(request, Answering(1, JOIN), PLAYER, 1.7e9)
        return letters.read_answer(answer, INVITATION, COMPAT)

    return exchange


def _finding_out() -> Row:
    """Count the calls about matches to players of eight conventions, beside those that a league cannot do without."""
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(StringIO()))  # the processes of tests print all they said at their end
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        processes = stack.enter_context(Processes(Path(folder)))
        manager = processes.manager(players=len(SPEAKERS))
        peers = [stack.enter_context(Peer(name, convention=CONVENTIONS[name])) for name in SPEAKERS]
        for peer in peers:
            peer.register(manager.endpoint)
        referee = processes.referee(manager, max_concurrent_matches=8)
        referee.wait()
        manager.stop()
        matches = len(processes.events("manager", ResultAccepted))
    calls = sum(_is_about_a_match(call.body) for peer in peers for call in peer.received)
    needed = matches * 2 * 3
    goal = round((needed + MAX_EXTRA_CALLS * len(SPEAKERS)) / needed, 2)
    title = f"calls to {len(SPEAKERS)} players of {len(SPEAKERS)} conventions in {matches} matches"
    return Row(title, calls, needed, "three per match and player", "calls", goal)


def _is_about_a_match(body: bytes) -> bool:
    return any(sign in body for sign in ABOUT_MATCHES)
