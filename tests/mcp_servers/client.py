"""A third-party MCP client: `python client.py URL`, in the environment of any of these packages. It says as JSON what
it was told by a league manager."""

import asyncio
import json
import sys

from fastmcp import Client


async def main(url):
    async with Client(url) as client:
        tools = {tool.name: tool.inputSchema for tool in await client.list_tools()}
        table = await client.call_tool("get_standings", {})
        unfinished = {"message_type": "LEAGUE_REGISTER_REQUEST"}
        refused = await client.call_tool("register_player", unfinished, raise_on_error=False)
        told = {
            "roots": {name: sorted(schema) for name, schema in tools.items()},
            "standings": table.structured_content,
            "refusal": [refused.is_error, refused.content[0].text],
            "alive": await alive(client),
        }
    print(f"told: {json.dumps(told)}", flush=True)


async def alive(client):
    """Does it answer `ping`? Or what does it say to that?"""
    try:
        return await client.ping()
    except Exception as error:  # noqa: BLE001 - whatever the package raises
        return str(error)


asyncio.run(main(sys.argv[1]))
