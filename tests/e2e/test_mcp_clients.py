"""MCP clients of the official package look at a league, join it, follow it and run it, in both eras of MCP."""

from __future__ import annotations

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from league.events import AgentRegistered
from tests.support.mcp_clients import ERAS, call, read, talk
from tests.support.processes import Processes

FLAT = {"register_player", "standings", "schedule", "match", "explain_match", "statistics"}


@pytest.mark.requirement("RPC.mcp_eras")
@pytest.mark.requirement("RPC.mcp_tools")
@pytest.mark.parametrize("era", ERAS)
def test_a_client_of_either_era_looks_at_a_league_and_enters_a_player(processes: Processes, era: str) -> None:
    manager = processes.manager(players=3)

    async def work(client: Client) -> None:
        listed = {one.name: one for one in (await client.list_tools()).tools}
        assert listed.keys() > FLAT
        assert not any(name.startswith("operator_") for name in listed)
        hints = listed["standings"].annotations
        assert hints is not None
        assert hints.read_only_hint
        entered = await call(client, "register_player", display_name="Ann", contact_endpoint="http://127.0.0.1:9/mcp")
        assert (entered.is_error, entered.data["player_id"]) == (False, "P01")
        again = await call(client, "register_player", display_name="Ann", contact_endpoint="http://127.0.0.1:19/mcp")
        assert (again.is_error, again.text[:4]) == (True, "E022")
        missing = await call(client, "match")
        assert (missing.is_error, missing.text) == (True, "E003 MISSING_REQUIRED_FIELD: match_id is missing")
        table = (await call(client, "standings")).data
        assert [one["display_name"] for one in table["standings"]] == ["Ann"]
        assert await read(client, "league://standings") == table
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})
        assert unknown.value.code == -32602

    talk(manager.endpoint, era, work)
    assert [one.display_name for one in processes.events("manager", AgentRegistered)] == ["Ann"]
    assert manager.stop() == 0
    assert processes.bugs == []
