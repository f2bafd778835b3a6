"""MCP servers that know nothing of leagues, or little, and can be asked for a choice: `python minds.py FRAMEWORK STYLE
TRANSPORT`, in the environment of these packages. Over HTTP it says `ready: URL`; over stdio it says nothing."""

import asyncio
import contextlib
import os
import re
import socket
import sys

import uvicorn
from pydantic import BaseModel

# --- how tools are written --------------------------------------------------------------------------------------------


def asks(tool):
    """A chat: a text in, a text out."""

    @tool
    def ask(prompt: str) -> str:
        """Answers a question."""
        return f"That is easy.\nMy choice: {re.search(r'one of: ([^,.]+)', prompt)[1].upper()}"


def moves(tool):
    """A player of games, which wants the options and the board."""

    @tool
    def new_game(name: str) -> str:
        return "ok"

    @tool
    def choose_move(valid_options: list[str], board: list[str] | None = None) -> dict:
        assert board is None or len(board) == 9, board
        return {"move": valid_options[-1], "turn": 1, "confidence": 0.9}

    @tool
    def choose_parity(match_id: str) -> dict:
        return {"parity_choice": "odd", "match_id": match_id}


def unknown_names(tool):
    """Parameters of its own invention."""

    @tool
    def strategist(situation: str, possibilities: list[str], style: str = "bold") -> str:
        assert "The rules" in situation, situation
        return f"**{possibilities[0]}**"

    @tool
    def weather(city: str) -> str:
        return "sun"


class Position(BaseModel):
    match_id: str
    valid_options: list[str] = []


def models(tool):
    """One parameter that is an object."""

    @tool
    def decide(position: Position) -> dict:
        return {"choice": (position.valid_options or ["even"])[0]}


def failing(tool):
    @tool
    def ask(prompt: str) -> str:
        raise ValueError("the engine has no fuel")


def unclear(tool):
    @tool
    def weather(city: str) -> str:
        return "sun"

    @tool
    def traffic(city: str) -> str:
        return "jam"


STYLES = {style.__name__: style for style in (asks, moves, unknown_names, models, failing, unclear)}


# --- servers ----------------------------------------------------------------------------------------------------------


def fastmcp(style):
    from fastmcp import FastMCP

    server = FastMCP("mind")
    style(server.tool)
    return server


def sdk_1(style):
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("mind")
    style(server.tool())
    return server


def sdk_2(style):
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("mind")
    style(server.tool())
    return server


def app_of(server, transport):
    if hasattr(server, "http_app"):
        return server.http_app(path="/mcp", transport="sse" if transport == "sse" else "http")
    if transport == "sse":
        return server.sse_app()
    return server.streamable_http_app()


def guarded(app):
    """Lets nobody in without the token."""
    token = os.environ.get("MIND_TOKEN")

    async def guard(scope, receive, send):
        if scope["type"] != "http" or not token or (b"authorization", f"Bearer {token}".encode()) in scope["headers"]:
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})

    return guard


def main(framework, style, transport):
    server = {"fastmcp": fastmcp, "sdk_1": sdk_1, "sdk_2": sdk_2}[framework](STYLES[style])
    if transport == "stdio":
        server.run(transport="stdio")
        return
    listening = socket.create_server(("127.0.0.1", 0))
    path = "sse" if transport == "sse" and not hasattr(server, "http_app") else "mcp"
    print(f"ready: http://127.0.0.1:{listening.getsockname()[1]}/{path}", flush=True)
    config = uvicorn.Config(guarded(app_of(server, transport)), log_level="warning", lifespan="on")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


main(*sys.argv[1:])
