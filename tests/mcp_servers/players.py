"""Players that are MCP servers and nothing else, written with the packages people write them with.

A program of its own: `python players.py PACKAGES`, in the environment of these packages (the Makefile makes it).
It serves all its players, each at a port of its own, and says `ready: NAME URL` for each.
"""

import asyncio
import json
import socket
import sys

import uvicorn
from pydantic import BaseModel

# --- how tools are written --------------------------------------------------------------------------------------------


def with_fields(tool):
    """One parameter for each field that the author cares about."""

    @tool
    def handle_game_invitation(match_id: str, game_type: str, role_in_match: str, opponent_id: str) -> dict:
        return {"accept": True, "match_id": match_id}

    @tool
    def choose_parity(match_id: str, deadline: str) -> dict:
        return {"parity_choice": "even"}

    @tool
    def notify_match_result(game_result: dict) -> dict:
        return {"winner": game_result["winner_player_id"]}

    @tool
    def update_standings(standings: list[dict], round_id: str) -> str:
        return f"{len(standings)} rows"


def with_bare_results(tool):
    """Each tool returns a lone value."""

    @tool
    def accept_invitation(match_id: str, opponent_id: str) -> bool:
        return True

    @tool
    def choose_parity() -> str:
        return "even"

    @tool
    def choose_move(valid_options: list[str]) -> str:
        return valid_options[0]


def with_coroutines(tool):
    @tool
    async def receive_game_invitation(match_id: str, conversation_id: str) -> dict:
        await asyncio.sleep(0)
        return {"message_type": "GAME_JOIN_ACK", "accept": True, "match_id": match_id}

    @tool
    async def receive_choose_parity_call(match_id: str, player_id: str) -> dict:
        await asyncio.sleep(0)
        return {"message_type": "CHOOSE_PARITY_RESPONSE", "player_id": player_id, "parity_choice": "odd"}


def with_one_message(tool):
    """One tool for everything, which takes the whole message."""

    @tool
    def handle_message(message: dict) -> dict:
        """Takes GAME_INVITATION, CHOOSE_PARITY_CALL and all the rest."""
        return answer_to(message)


def with_text(tool):
    @tool
    def handle_message(message: str) -> str:
        return json.dumps(answer_to(json.loads(message)))


def answer_to(message: dict) -> dict:
    known = {name: message[name] for name in ("match_id", "conversation_id") if name in message}
    if message["message_type"] == "GAME_INVITATION":
        return {"message_type": "GAME_JOIN_ACK", "accept": True, **known}
    if message["message_type"] == "CHOOSE_PARITY_CALL":
        return {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "odd", **known}
    return {"status": "ok"}


class Invitation(BaseModel, extra="forbid"):
    match_id: str
    opponent_id: str
    round_id: int


class Call(BaseModel, extra="forbid"):
    match_id: str
    deadline: str


class Choice(BaseModel):
    parity_choice: str


def with_models(tool):
    @tool
    def handle_game_invitation(invitation: Invitation) -> dict:
        return {"accept": True, "match_id": invitation.match_id}

    @tool
    def choose_parity(params: Call) -> Choice:
        return Choice(parity_choice="even")


# --- servers ----------------------------------------------------------------------------------------------------------


def fastmcp(tools):
    from fastmcp import FastMCP

    server = FastMCP("player")
    tools(server.tool)
    return server.http_app(path="/mcp")


def sdk_1(tools):
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("player")
    tools(server.tool())
    return server.streamable_http_app()


def sdk_2(tools):
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("player")
    tools(server.tool())
    return server.streamable_http_app()


PLAYERS = {
    "fastmcp2": {
        "FastMCP 2": (fastmcp, with_fields),
        "SDK 1, one message": (sdk_1, with_one_message),
        "SDK 1, text": (sdk_1, with_text),
    },
    "fastmcp3": {"FastMCP 3": (fastmcp, with_fields)},
    "fastmcp4": {
        "FastMCP 4, bare results": (fastmcp, with_bare_results),
        "SDK 2, coroutines": (sdk_2, with_coroutines),
        "SDK 2, models": (sdk_2, with_models),
    },
}


async def serve(name, app):
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"ready: {name} http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on")).serve(sockets=[listening])


async def main(packages):
    await asyncio.gather(*(serve(name, kind(tools)) for name, (kind, tools) in PLAYERS[packages].items()))


asyncio.run(main(sys.argv[1]))
