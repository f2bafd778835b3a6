"""Tables of an MCP server: what arguments they take, what is at an address, and what becomes of a bug in a row."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from league.features.mcp.server import build_server
from league.features.mcp.tables import (
    McpCaller,
    Object,
    ResourceRow,
    ServerTables,
    TemplateRow,
    ToolRow,
    check_arguments,
    structured,
)
from league.protocol.errors import PeerError
from tests.support.mcp_clients import ERAS, call

SCHEMA: Object = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer", "minimum": 1},
        "is_odd": {"type": "boolean"},
        "games": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "E003 MISSING_REQUIRED_FIELD: name is missing"),
        ({"name": 1}, "E007 INVALID_FIELD_TYPE: name is not of the type string"),
        ({"name": "x", "count": True}, "E007 INVALID_FIELD_TYPE: count is not of the type integer"),
        ({"name": "x", "count": 0}, "E008 INVALID_FIELD_VALUE: count is less than 1"),
        ({"name": "x", "is_odd": 1}, "E007 INVALID_FIELD_TYPE: is_odd is not of the type boolean"),
        ({"name": "x", "games": ["a", 2]}, "E007 INVALID_FIELD_TYPE: games is not of the type string"),
        (
            {"name": "x", "game": "a"},
            "E008 INVALID_FIELD_VALUE: there is no argument 'game'; there are: name, count, is_odd, games",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_a_sentence(arguments: Object, sentence: str) -> None:
    with pytest.raises(PeerError) as refused:
        check_arguments(SCHEMA, arguments)
    assert str(refused.value) == sentence


def test_arguments_that_fit_are_taken() -> None:
    check_arguments(SCHEMA, {"name": "x", "count": 2, "is_odd": False, "games": []})


@pytest.mark.parametrize(
    ("uri", "names"),
    [
        ("league://matches/R1M1", {"match_id": "R1M1"}),
        ("league://matches/a%20b", {"match_id": "a b"}),
        ("league://matches/R1M1/more", None),
        ("league://matches/", None),
        ("league://matchesXR1M1", None),
    ],
)
def test_an_address_fits_a_template_or_does_not(uri: str, names: dict[str, str] | None) -> None:
    row = TemplateRow("league://matches/{match_id}", "match", "Match", "", _read_nothing)
    assert row.names_in(uri) == names


async def _read_nothing(_caller: McpCaller, _names: object = None) -> str:
    raise AssertionError("nobody reads it")


# --- the server of the package over them ------------------------------------------------------------------------------


def talk(tables: ServerTables, era: str, work: Callable[[Client], Awaitable[None]]) -> None:
    """To a server in this process."""

    async def run() -> None:
        async with Client(build_server(tables), mode=era) as client:
            await work(client)

    asyncio.run(run())


@pytest.mark.parametrize("era", ERAS)
def test_a_bug_in_a_tool_or_a_resource_is_logged_and_told_as_ours(era: str, caplog: pytest.LogCaptureFixture) -> None:
    async def stumble(*_: object) -> Any:
        raise ZeroDivisionError("secret")

    tables = ServerTables(
        "broken",
        tools=[ToolRow("stumble", "Stumble", "", {"type": "object"}, stumble)],
        resources=[ResourceRow("test://stumble", "stumble", "Stumble", "", stumble)],
    )

    async def work(client: Client) -> None:
        for attempt in (client.call_tool("stumble", {}), client.read_resource("test://stumble")):
            with pytest.raises(MCPError) as told:
                await attempt
            assert (told.value.code, told.value.message) == (-32603, "something went wrong here")

    with caplog.at_level(logging.ERROR, "league.features.mcp"):
        talk(tables, era, work)
    assert [one.message for one in caplog.records if one.name == "league.features.mcp.server"] == [
        "the tool stumble failed",
        "the resource test://stumble failed",
    ]


@pytest.mark.parametrize("era", ERAS)
def test_bytes_are_read_as_such_and_only_the_operator_sees_the_operators_tools(era: str) -> None:
    async def data(_caller: McpCaller) -> bytes:
        return b"\x00\xff"

    async def answer(_caller: McpCaller, arguments: Object) -> dict[str, Any]:
        return structured(arguments)

    tables = ServerTables(
        "plain",
        tools=[
            ToolRow("echo", "Echo", "", SCHEMA, answer),
            ToolRow("order", "Order", "", {"type": "object"}, answer, for_operator=True),
        ],
        resources=[ResourceRow("test://data", "data", "Data", "", data, "application/octet-stream")],
    )

    async def work(client: Client) -> None:
        assert [one.name for one in (await client.list_tools()).tools] == ["echo"]
        assert (await call(client, "echo", name="x")).data == {"name": "x"}
        assert (await call(client, "echo")).is_error
        (content,) = (await client.read_resource("test://data")).contents
        assert content.model_dump()["blob"] == "AP8="

    talk(tables, era, work)
