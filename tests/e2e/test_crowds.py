"""Whoever floods an agent, or keeps it waiting, from the same address as everybody else: the league goes on, and nobody
honest is blamed."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from league.events import ResultAccepted
from tests.support.certificates import make_certificates
from tests.support.http_servers import HOST, message
from tests.support.processes import COMMAND, READY, Process, Processes, assert_kept

CROWD = 280
"""More than an address may have connections."""
HALVES = (b"", b"POST /mcp HTTP/1.1\r\n" + HOST, message(b"{}" * 100)[:-1])
STRANGERS = message(b'{"jsonrpc":"2.0","id":1,"method":"league_query","params":{}}')


@contextmanager
def crowd_at(*endpoints: str) -> Iterator[None]:
    """Keep so many slow connections to each of these agents: whoever is cut off comes back at once."""
    stop = threading.Event()
    crowds = [threading.Thread(target=_crowd, args=(urlsplit(one).port, stop)) for one in endpoints]
    for one in crowds:
        one.start()
    try:
        yield
    finally:
        stop.set()
        for one in crowds:
            one.join()


def _crowd(port: int, stop: threading.Event) -> None:
    with selectors.DefaultSelector() as selector:
        try:
            while not stop.is_set():
                for place in range(CROWD - len(selector.get_map())):
                    _come(selector, port, HALVES[place % len(HALVES)])
                for key, _ in selector.select(timeout=0.02):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
        finally:
            for key in list(selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]


def _come(selector: selectors.BaseSelector, port: int, half: bytes) -> None:
    with contextlib.suppress(OSError):
        client = socket.create_connection(("127.0.0.1", port), timeout=5)
        selector.register(client, selectors.EVENT_READ)
        client.sendall(half)


@pytest.mark.requirement("HTTP.eviction")
def test_hundreds_of_slow_connections_from_a_players_own_address_cost_nobody_a_match(processes: Processes) -> None:
    manager, referee, players = _almost_full(processes)
    with crowd_at(manager.endpoint, referee.endpoint, players.endpoint):
        last = processes.players(manager, "last")
        assert (players.wait(), last.wait(), referee.wait()) == (0, 0, 0)
    assert manager.stop() == 0
    _assert_played(processes, 6)


def _almost_full(processes: Processes) -> tuple[Process, Process, Process]:
    """A manager, a referee and three players; the league begins with the fourth."""
    manager = processes.manager(players=4)
    referee = processes.referee(manager, max_concurrent_matches=2)
    return manager, referee, processes.players(manager, "players", count=3)


def _assert_played(processes: Processes, matches: int) -> None:
    results = processes.events("manager", ResultAccepted)
    assert len(results) == matches
    assert {one.status for one in results} <= {"WIN", "DRAW"}
    assert processes.bugs == []
    assert_kept(processes)


@pytest.mark.requirement("HTTP.rate_limit")
def test_a_flood_of_strangers_requests_costs_nobody_a_match(processes: Processes) -> None:
    manager, referee, players = _almost_full(processes)
    stop = threading.Event()
    floods = [
        threading.Thread(target=_flood, args=(urlsplit(one).port, stop))
        for one in (manager.endpoint, referee.endpoint, players.endpoint)
    ]
    for one in floods:
        one.start()
    try:
        last = processes.players(manager, "last")
        assert (players.wait(), last.wait(), referee.wait()) == (0, 0, 0)
    finally:
        stop.set()
        for one in floods:
            one.join()
    assert manager.stop() == 0
    _assert_played(processes, 6)


def _flood(port: int, stop: threading.Event) -> None:
    while not stop.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            while not stop.is_set():
                client.sendall(STRANGERS * 10)
                client.recv(65536)


@pytest.mark.requirement("HTTP.quiet_end")
def test_half_sent_requests_do_not_disturb_the_end(processes: Processes) -> None:
    manager = processes.manager(players=2)
    agents = [manager, processes.referee(manager), processes.players(manager)]
    with contextlib.ExitStack() as clients:
        for one in agents:
            for half in HALVES:
                client = clients.enter_context(socket.create_connection(("127.0.0.1", one.port), timeout=60))
                client.sendall(half)
            asked = clients.enter_context(socket.create_connection(("127.0.0.1", one.port), timeout=60))
            asked.sendall(message(b"{}") + message(b"{}" * 100)[:-1])
            assert asked.recv(9) == b"HTTP/1.1 "  # by now it has read the others too
        for one in agents:
            one.signal(signal.SIGTERM)
        assert [one.wait() for one in agents] == [0, 0, 0]
    assert processes.bugs == []
    assert "Traceback" not in "".join(one.output for one in agents)
    assert "destroyed" not in "".join(one.output for one in agents)


# --- https ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HTTP.tls")
def test_a_league_is_played_over_https(processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = make_certificates(tmp_path)
    tls: dict[str, Any] = {"tls_cert": files.certificate, "tls_key": files.key}
    monkeypatch.setenv("SSL_CERT_FILE", str(files.authority))
    manager = processes.manager(players=3, **tls)
    assert manager.endpoint.startswith("https://127.0.0.1:")
    shown = _asked(manager, "agents")
    assert shown.returncode == 0, shown.stderr
    refused = _asked(manager, "agents", SSL_CERT_FILE="")
    assert refused.returncode == 1
    assert "certificate" in refused.stderr
    referee = processes.referee(manager, **tls)
    players = processes.players(manager, count=3, **tls)
    assert referee.endpoint.startswith("https://")
    with crowd_at(manager.endpoint):
        assert (players.wait(), referee.wait()) == (0, 0)
    assert manager.stop() == 0
    _assert_played(processes, 3)


def _asked(manager: Process, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    arguments = [*COMMAND, *command, "--manager", manager.endpoint]
    return subprocess.run(
        arguments, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.requirement("HTTP.tls")
def test_an_agent_that_does_not_trust_its_manager_says_so(processes: Processes, tmp_path: Path) -> None:
    files = make_certificates(tmp_path)
    manager = processes.manager(players=2, tls_cert=files.certificate, tls_key=files.key)
    player = processes.begin("player", manager=manager.endpoint)
    assert "cannot register yet" in player.said(player.endpoint)[0]
    assert player.stop() == 0
    assert manager.stop() == 0
    assert processes.bugs == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tls_cert": "none.pem"}, "none.pem: no certificate with its key"),
        ({"tls_key": "none.pem"}, "--tls-key needs --tls-cert"),
    ],
)
@pytest.mark.parametrize("role", ["manager", "referee", "player"])
def test_a_wrong_file_or_name_is_told_before_anything_is_served(
    role: str, options: dict[str, str], told: str, processes: Processes
) -> None:
    agent = processes.begin(role, **options)
    assert agent.wait() == 2
    assert told in agent.output
    assert not any(line.startswith(READY) for line in agent.lines)
