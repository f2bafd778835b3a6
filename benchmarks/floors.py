"""The yardsticks of a league: programs that make the seven calls of a match (two invitations, two choices, two results,
one report) and nothing else. Each listens at one port for the manager and at four for players, all on the running loop.

- The bare floor is the cheapest honest one: a thin layer on httptools moves the bytes, and msgspec writes every message
  and reads every field of it into its type. It has no rules, no limits and no deadlines. Reading into dictionaries
  would cost more. An echo of the bytes would cost less, but it would not read a message (see `transport.py`).
- The strict floor makes the calls with our transport and our strict codec.
- FastAPI with httpx is a typical choice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from benchmarks.bare_http import BareClient, BareServer
from league import letters
from league.letters import Speaker
from league.machine import Address, Answering
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.messages import (
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
from league.protocol.message.parts import CallContext, GameResult, Record, Result, ResultDetails
from league.protocol.signing.tokens import MANAGER
from league.protocol.wire import jsonrpc
from league.transport.http import App, Response
from league.transport.http_client import HttpClient
from league.transport.http_server import serve

CALLS = 7
CALL_S = 30.0
PLAYERS = 4
STRICT = Reading("strict")
CONVERSATION = "conv-league_bench-R1M1-1"
Server = TypeVar("Server", int, str)
"""The address of a server: a port of a bare one, else a URL."""
Call = Callable[[Server, Message], Awaitable[None]]
"""Send a message to a server at once; awaiting the result reads the answer. Two calls made before the first is awaited
run at the same time."""


@dataclass(frozen=True, slots=True)
class Floor(Generic[Server]):
    """A way to make calls, and the servers to call."""

    call: Call[Server]
    manager: Server
    players: list[Server]

    async def play(self, at_once: int, matches: int) -> None:
        """Play matches, with a fixed number of them at the same time."""

        async def play_every_nth(first: int) -> None:
            for number in range(first, matches, at_once):
                await self._match(number)

        await asyncio.gather(*(play_every_nth(first) for first in range(at_once)))

    async def _match(self, number: int) -> None:
        player_a = self.players[2 * number % PLAYERS]
        player_b = self.players[(2 * number + 1) % PLAYERS]
        for message_a, message_b in (INVITATIONS, CHOICES, RESULTS):
            # Both calls are on their way before the first answer is awaited, as in a match.
            answer_a = self.call(player_a, message_a)
            answer_b = self.call(player_b, message_b)
            await answer_a
            await answer_b
        await self.call(self.manager, REPORT)


def _envelope(sender: str, token: str = "") -> dict[str, Any]:
    fields = {
        "protocol": "league.v2",
        "sender": sender,
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": CONVERSATION,
    }
    if token:
        fields["auth_token"] = token + "x" * 43
    return fields


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
REQUESTS = (*INVITATIONS, *CHOICES, *RESULTS, REPORT)
ANSWERS: dict[type[Message], Message] = {
    GameInvitation: GameJoinAck(
        **FROM_PLAYER, match_id="R1M1", player_id="P01", arrival_timestamp="2025-01-15T10:30:00Z", accept=True
    ),
    ChooseParityCall: ChooseParityResponse(**FROM_PLAYER, match_id="R1M1", player_id="P01", parity_choice="even"),
    GameOver: GameOverAck(**FROM_PLAYER, status="ACKNOWLEDGED", match_id="R1M1", player_id="P01"),
    MatchResultReport: MatchResultAck(**_envelope(MANAGER), status="ACCEPTED", match_id="R1M1", round_id=1),
}


# --- the bare floor ---------------------------------------------------------------------------------------------------


class _BareRequest(msgspec.Struct):
    jsonrpc: str
    id: int
    method: str
    params: GameInvitation | ChooseParityCall | GameOver | MatchResultReport


class _BareReply(msgspec.Struct):
    jsonrpc: str
    id: int
    result: GameJoinAck | ChooseParityResponse | GameOverAck | MatchResultAck


@asynccontextmanager
async def bare_floor() -> AsyncIterator[Floor[int]]:
    """Make the calls with the bare layer on httptools and with msgspec."""
    encode = msgspec.json.Encoder().encode
    read_request = msgspec.json.Decoder(_BareRequest).decode
    read_reply = msgspec.json.Decoder(_BareReply).decode
    methods = {type(message): EXCHANGES[message.type].method for message in REQUESTS}
    answers: dict[type[Message], Any] = ANSWERS  # Any: the type checker cannot know that only four types come

    # Everything that does not depend on the message was looked up before: the floor must not pay for it.
    def answer(raw: bytes) -> bytes:
        request = read_request(raw)
        return encode(_BareReply("2.0", request.id, answers[type(request.params)]))

    async def read_answer(answer: Awaitable[bytes], request: Message) -> None:
        reply = read_reply(await answer)
        assert type(reply.result) is type(answers[type(request)])

    def call(port: int, message: Any) -> Awaitable[None]:
        raw = encode(_BareRequest("2.0", 1, methods[type(message)], message))
        return read_answer(client.post(port, raw), message)

    servers = [await BareServer.start(answer) for _ in range(1 + PLAYERS)]
    client = BareClient()
    try:
        yield Floor(call, servers[0].port, [server.port for server in servers[1:]])
    finally:
        client.close()
        for server in servers:
            server.close()


# --- the strict floor -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def strict_floor() -> AsyncIterator[Floor[str]]:
    """Make the calls with our transport and our strict codec."""
    client = HttpClient()
    speakers = [Speaker(Role.MANAGER, MANAGER, STRICT)]
    speakers += [Speaker(Role.PLAYER, f"player:P{number:02}", STRICT) for number in range(PLAYERS)]
    servers = [await serve("127.0.0.1", 0, App(partial(_answer, speaker))) for speaker in speakers]
    urls = [f"http://127.0.0.1:{server.port}/mcp" for server in servers]

    async def exchange(url: str, message: Message) -> None:
        raw = letters.write_call(1, message, jsonrpc.encode_body(message), Address("P01", "http://x"))
        reply = await client.post(url, raw, CALL_S, jsonrpc.MESSAGE_LIMIT)
        answer = letters.read_answer(reply.body, message, STRICT)
        assert isinstance(answer, Unsealed)
        answer.open()

    def call(url: str, message: Message) -> Awaitable[None]:
        return asyncio.create_task(exchange(url, message))

    try:
        yield Floor(call, urls[0], urls[1:])
    finally:
        await client.close()
        for server in servers:
            await server.close(0.0)


async def _answer(speaker: Speaker, raw: bytes, _address: str) -> Response:
    request = letters.read_request(raw, speaker)
    assert isinstance(request.content, Unsealed)
    answering = Answering(0, ANSWERS[type(request.content.open())])
    return Response(200, letters.write_answer(request, answering, speaker, 0.0))


# --- FastAPI and httpx ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def fastapi_httpx() -> AsyncIterator[Floor[str]]:
    """Make the calls with plain dictionaries, so that FastAPI does not pay for validation."""
    import httpx

    # The frames are made once: only the calls are compared.
    frames = {id(message): _frame(message) for message in REQUESTS}
    listeners = [await _fastapi_server() for _ in range(1 + PLAYERS)]
    urls = [f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp" for listener in listeners]
    async with httpx.AsyncClient(timeout=CALL_S, trust_env=False) as client:

        async def exchange(url: str, message: Message) -> None:
            reply = await client.post(url, json=frames[id(message)])
            reply.raise_for_status()
            assert reply.json()["result"]["message_type"] in EXCHANGES[message.type].replies

        def call(url: str, message: Message) -> Awaitable[None]:
            return asyncio.create_task(exchange(url, message))

        yield Floor(call, urls[0], urls[1:])
    for listener in listeners:
        listener.close()


def _frame(message: Message) -> dict[str, Any]:
    method = EXCHANGES[message.type].method
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": msgspec.to_builtins(message)}


async def _fastapi_server() -> asyncio.Server:
    """Serve an application with uvicorn's own connections, as `uvicorn.run` does, but on this loop."""
    import fastapi
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.server import ServerState

    app = fastapi.FastAPI()
    results = {request.type: msgspec.to_builtins(ANSWERS[type(request)]) for request in REQUESTS}

    @app.post("/mcp")
    async def mcp(body: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": body["id"], "result": results[body["params"]["message_type"]]}

    config = Config(app, lifespan="off", ws="none", log_config=None, access_log=False, timeout_keep_alive=600)
    config.load()
    state = ServerState()
    connection = partial(HttpToolsProtocol, config=config, server_state=state, app_state={})
    return await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
