"""The seven calls of a match (two invitations, two choices, two results, one report) made by others: what a league is
compared with. Each listens at one port for the manager and at four for players, all on the running loop.

The bare floor moves bytes through httptools and msgspec and has no rules, no limits and no deadlines. The strict floor
makes the calls with our transport and our strict codec, and does nothing else. FastAPI with httpx is what is typical.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from benchmarks.bare_http import BareClient, BareServer
from league.machine import Address, Answering
from league.protocol import jsonrpc
from league.protocol.envelope import Reading, Unsealed
from league.protocol.exchanges import EXCHANGES, Role
from league.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameOver,
    GameOverAck,
    MatchResultAck,
    MatchResultReport,
    Message,
)
from league.protocol.parts import CallContext, GameResult, Record, Result, ResultDetails
from league.protocol.tokens import MANAGER
from league.transport import letters
from league.transport.http import App, Response
from league.transport.http_client import HttpClient
from league.transport.http_server import serve
from league.transport.letters import Speaker

CALLS = 7
CALL_S = 30.0
PLAYERS = 4
STRICT = Reading("strict")
CONVERSATION = "conv-league_bench-R1M1-1"
Call = Callable[[str, Message], Awaitable[None]]
"""Send this to that server, and read its answer."""


@dataclass(frozen=True, slots=True)
class Floor:
    """Who makes the calls, and where: the manager's server and those of the players."""

    call: Call
    manager: str
    players: list[str]

    async def play(self, at_once: int, matches: int) -> None:
        """So many matches, so many of them at a time."""

        async def some(first: int) -> None:
            for number in range(first, matches, at_once):
                await self._match(number)

        await asyncio.gather(*(some(first) for first in range(at_once)))

    async def _match(self, number: int) -> None:
        pair = [self.players[(2 * number + side) % PLAYERS] for side in range(2)]
        for messages in (INVITATIONS, CHOICES, RESULTS):
            await asyncio.gather(*(self.call(url, message) for url, message in zip(pair, messages, strict=True)))
        await self.call(self.manager, REPORT)


def _envelope(sender: str, token: str = "") -> dict[str, Any]:
    fields = {
        "protocol": "league.v2",
        "sender": sender,
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": CONVERSATION,
    }
    return {**fields, "auth_token": token + "x" * 43} if token else fields


SEED = "5a" * 32
SIDES: tuple[tuple[Any, str, str], ...] = (("PLAYER_A", "P01", "P02"), ("PLAYER_B", "P02", "P01"))
FROM_REFEREE = _envelope("referee:REF01", "tok_REF01_")
INVITATIONS = [
    GameInvitation(
        **FROM_REFEREE,
        league_id="league_bench",
        round_id=1,
        match_id="R1M1",
        game_type="even_odd",
        role_in_match=role,
        opponent_id=opponent,
        player_id=player,
        draw_commitment="9f" * 32,
        attempt=1,
    )
    for role, player, opponent in SIDES
]
CHOICES = [
    ChooseParityCall(
        **FROM_REFEREE,
        match_id="R1M1",
        player_id=player,
        game_type="even_odd",
        context=CallContext(
            opponent_id=opponent, round_id=1, your_standings=Record(wins=1, losses=1, draws=0, points=3)
        ),
        deadline="2025-01-15T10:30:30Z",
    )
    for _, player, opponent in SIDES
]
RESULTS = [
    GameOver(
        **FROM_REFEREE,
        match_id="R1M1",
        game_type="even_odd",
        game_result=GameResult(
            status="WIN",
            winner_player_id="P01",
            drawn_number=8,
            number_parity="even",
            choices={"P01": "even", "P02": "odd"},
            reason="P01 chose even, and 8 is even",
            draw_seed=SEED,
            attempt=1,
        ),
        reason="completed",
    )
] * 2
REPORT = MatchResultReport(
    **FROM_REFEREE,
    league_id="league_bench",
    round_id=1,
    match_id="R1M1",
    game_type="even_odd",
    result=Result(
        winner="P01",
        score={"P01": 3, "P02": 0},
        details=ResultDetails(
            drawn_number=8,
            choices={"P01": "even", "P02": "odd"},
            status="WIN",
            number_parity="even",
            draw_seed=SEED,
        ),
    ),
    attempt=1,
)
FROM_PLAYER = _envelope("player:P01")
ANSWERS: dict[str, Message] = {
    "GAME_INVITATION": GameJoinAck(
        **FROM_PLAYER, match_id="R1M1", player_id="P01", arrival_timestamp="2025-01-15T10:30:00Z", accept=True
    ),
    "CHOOSE_PARITY_CALL": ChooseParityResponse(**FROM_PLAYER, match_id="R1M1", player_id="P01", parity_choice="even"),
    "GAME_OVER": GameOverAck(**FROM_PLAYER, status="ACKNOWLEDGED", match_id="R1M1", player_id="P01"),
    "MATCH_RESULT_REPORT": MatchResultAck(**_envelope(MANAGER), status="ACCEPTED", match_id="R1M1", round_id=1),
}
ALL = (*INVITATIONS, *CHOICES, *RESULTS, REPORT)
SAID = {id(one): msgspec.to_builtins(one) for one in ALL}
ANSWERED = {kind: msgspec.to_builtins(one) for kind, one in ANSWERS.items()}


def _frame(message: Message) -> dict[str, Any]:
    method = EXCHANGES[message.type].method
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": SAID[id(message)]}


# --- the bare floor ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def bare_floor() -> AsyncIterator[Floor]:
    """A small layer on httptools, msgspec without any check, and nothing else."""
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode

    def answer(raw: bytes) -> bytes:
        asked = decode(raw)
        result = ANSWERED[asked["params"]["message_type"]]
        return encode({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    servers = [await BareServer.start(answer) for _ in range(1 + PLAYERS)]
    client = BareClient()

    async def call(url: str, message: Message) -> None:
        reply = decode(await client.post(int(url), encode(_frame(message))))
        assert reply["result"]["message_type"] in EXCHANGES[message.type].replies

    try:
        yield Floor(call, str(servers[0].port), [str(one.port) for one in servers[1:]])
    finally:
        client.close()
        for server in servers:
            server.close()


# --- the strict floor -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def strict_floor() -> AsyncIterator[Floor]:
    """Our transport and our strict codec."""
    client = HttpClient()
    roles = [(Role.MANAGER, MANAGER)] + [(Role.PLAYER, f"player:P{number:02}") for number in range(PLAYERS)]
    servers = [
        await serve("127.0.0.1", 0, App(partial(_answer, Speaker(role, sender, STRICT)))) for role, sender in roles
    ]
    urls = [f"http://127.0.0.1:{server.port}/mcp" for server in servers]

    async def call(url: str, message: Message) -> None:
        raw = letters.write_call(1, message, jsonrpc.encode_body(message), Address("P01", "http://x"))
        reply = await client.post(url, raw, CALL_S, jsonrpc.MESSAGE_LIMIT)
        read = letters.read_answer(reply.body, message, STRICT)
        assert isinstance(read, Unsealed)
        read.open()

    try:
        yield Floor(call, urls[0], urls[1:])
    finally:
        await client.close()
        for server in servers:
            await server.close(0.0)


async def _answer(speaker: Speaker, raw: bytes, _address: str) -> Response:
    asked = letters.read_request(raw, speaker)
    assert isinstance(asked.content, Unsealed)
    answering = Answering(0, ANSWERS[asked.content.open().type])
    return Response(200, letters.write_answer(asked, answering, speaker, 0.0))


# --- FastAPI and httpx ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def fastapi_httpx() -> AsyncIterator[Floor]:
    """Plain dictionaries: it is spared the validation."""
    import httpx

    listeners = [await _fastapi_server() for _ in range(1 + PLAYERS)]
    urls = [f"http://127.0.0.1:{one.sockets[0].getsockname()[1]}/mcp" for one in listeners]
    async with httpx.AsyncClient(timeout=CALL_S, trust_env=False) as client:

        async def call(url: str, message: Message) -> None:
            reply = await client.post(url, json=_frame(message))
            reply.raise_for_status()
            assert reply.json()["result"]["message_type"] in EXCHANGES[message.type].replies

        yield Floor(call, urls[0], urls[1:])
    for listener in listeners:
        listener.close()


async def _fastapi_server() -> asyncio.Server:
    """An application behind uvicorn's own connections, as `uvicorn.run` serves it, but on this loop."""
    import fastapi
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.server import ServerState

    app = fastapi.FastAPI()

    @app.post("/mcp")
    async def mcp(body: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": body["id"], "result": ANSWERED[body["params"]["message_type"]]}

    config = Config(app, lifespan="off", ws="none", log_config=None, access_log=False, timeout_keep_alive=600)
    config.load()
    state = ServerState()
    connection = partial(HttpToolsProtocol, config=config, server_state=state, app_state={})
    return await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
