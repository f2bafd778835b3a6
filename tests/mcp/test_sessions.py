"""Third-party MCP clients that are connected when the manager is killed go on after its restart."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.mcp_programs import node_program, python_program
from tests.support.processes import Process, Processes

MODERN = "2026-07-28"
IN_PYTHON = (
    *(("fastmcp2", "fastmcp"), ("fastmcp3", "fastmcp"), ("fastmcp4", "fastmcp")),
    *(("fastmcp2", "sdk-1"), ("fastmcp4", "sdk-2 legacy"), ("fastmcp4", f"sdk-2 {MODERN}")),
)
"""Packages, and the client of them."""
IN_JAVASCRIPT = ("legacy", MODERN)


def _clients(url: str, folder: Path) -> dict[str, Process]:
    found = {f"{kind} of {one}": python_program("session.py", one, [kind, url], folder) for one, kind in IN_PYTHON}
    return found | {f"TypeScript, {era}": node_program("session.cjs", [era, url], folder) for era in IN_JAVASCRIPT}


@pytest.mark.requirement("RPC.mcp_sessions")
@pytest.mark.requirement("RPC.mcp_subscriptions")
def test_clients_by_others_go_on_in_their_session_after_a_power_cut_of_the_manager(processes: Processes) -> None:
    manager = processes.manager(players=2)
    with ExitStack() as stack:
        clients = _clients(manager.endpoint, processes.folder)
        for client in clients.values():
            stack.callback(client.kill)
        followers = [client for name, client in clients.items() if MODERN in name]
        _call(clients, 1)
        for client in followers:
            client.said("following: 1")
        manager.kill()
        for client in followers:
            client.said("lost: ")
        manager = processes.manager(players=2, port=manager.port)
        _call(clients, 2)
        _call(clients, 3)
        for client in followers:
            client.said("following: 2")
        processes.players(manager)
        for client in followers:
            client.said("told: league://standings")
    assert manager.stop() == 0
    assert processes.bugs == []


def _call(clients: Mapping[str, Process], number: int) -> None:
    """Have each make its call of that number."""
    for client in clients.values():
        client.said("ready")
        client.signal(signal.SIGUSR2)
    for name, client in clients.items():
        assert client.said(f"called: {number}"), name
        assert "failed: " not in client.output, client.output
