"""An MCP client that starts a local server, as assistants do, with the official package, version 2:
`python local_client.py MODE COMMAND ARGUMENT...`. It says as JSON what it was told, and goes on calling until what is
behind the local server was gone and is back."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main(mode, command, *arguments):
    server = StdioServerParameters(command=command, args=list(arguments))
    async with Client(server, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        table = await client.call_tool("get_standings", {})
        say("told", {"tools": tools, "standings": table.structured_content})
        while True:
            try:
                await client.call_tool("get_standings", {})
            except MCPError as error:
                say("refused", str(error))
                break
        while True:
            try:
                table = await client.call_tool("get_standings", {})
            except MCPError:
                continue
            say("again", table.structured_content)
            break


def say(what, value):
    print(f"{what}: {json.dumps(value)}", flush=True)


asyncio.run(main(*sys.argv[1:]))
