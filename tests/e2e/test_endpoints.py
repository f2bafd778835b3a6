"""Where agents may be, on real processes: what is refused is told with a way out and is never called."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from league.events import AgentRegistered, RequestRefused
from league.terminal.addresses import seen_by_others
from tests.support.peer import post
from tests.support.processes import Process, Processes, assert_kept

ELSEWHERE = seen_by_others() or "127.0.0.1"
"""This machine's address in its network, which is as good as another machine's; without a network there is none."""
IS_NETWORKED = ELSEWHERE != "127.0.0.1"


class Bystander:
    """A service that is none of the league's business: it counts who connects."""

    def __init__(self, listener: socket.socket, reply: bytes) -> None:
        self.port: int = listener.getsockname()[1]
        self.visits = 0
        self._listener, self._reply = listener, reply

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.visits += 1
                connection.recv(65536)
                connection.sendall(self._reply)


@contextmanager
def bystander(reply: bytes = b"SSH-2.0-bystander\r\n") -> Iterator[Bystander]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = Bystander(listener, reply)
        thread = threading.Thread(target=one.serve)
        thread.start()
        try:
            yield one
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def at(host: str, port: int) -> str:
    return f"http://{host}:{port}/mcp"


def register(manager: Process, endpoint: str, via: str = "127.0.0.1") -> dict[str, Any]:
    """The answer to a registration that comes from there."""
    meta = {
        "display_name": f"at {endpoint}"[:50],
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": endpoint,
    }
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:somebody",
        "timestamp": "2025-06-01T10:00:00Z",
        "conversation_id": "conv-register",
        "player_meta": meta,
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": message}
    _, raw = asyncio.run(post(at(via, manager.port), json.dumps(request).encode()))
    answer = json.loads(raw)
    said: dict[str, Any] = answer["result"] if "result" in answer else answer["error"]["data"]
    return said


@pytest.mark.requirement("ENDPOINT.at_origin")
@pytest.mark.requirement("ENDPOINT.own_port")
@pytest.mark.requirement("ENDPOINT.never")
def test_what_may_not_be_registered_is_refused_with_its_reason_and_never_called(processes: Processes) -> None:
    with bystander() as inside:
        manager = processes.manager(host="0.0.0.0", endpoints="lan", players=4)
        asked = [
            ("127.0.0.1", at("127.0.0.1", manager.port), "E026", "is the manager itself"),
            ("127.0.0.1", at(ELSEWHERE, manager.port), "E026", "is the manager itself"),
            ("127.0.0.1", "http://169.254.169.254/latest", "E026", "metadata service"),
            ("127.0.0.1", "http://203.0.114.9:8101/mcp", "E026", "--endpoints lan"),
            ("127.0.0.1", "http://10.255.255.7:8101/mcp", "E026", "not the address you call from"),
            ("127.0.0.1", f"http://0x7f.1:{inside.port}/mcp", "E008", "0x7f.1 is not a host"),
            ("127.0.0.1", f"http://2130706433:{inside.port}/mcp", "E008", "2130706433 is not a host"),
        ]
        if IS_NETWORKED:
            asked.append((ELSEWHERE, at("127.0.0.1", inside.port), "E026", f"--host {ELSEWHERE}"))
            asked.append((ELSEWHERE, at("localhost", inside.port), "E026", f"--host {ELSEWHERE}"))
        for via, endpoint, code, told in asked:
            answer = register(manager, endpoint, via)
            reason = answer["reason"] if code == "E026" else answer["error_detail"]
            assert (answer["error_code"], told in reason) == (code, True), (endpoint, answer)
        assert register(manager, at(ELSEWHERE, 8101), ELSEWHERE)["status"] == "ACCEPTED"
        assert register(manager, at("127.0.0.1", closed_port()))["status"] == "ACCEPTED"
        assert manager.stop() == 0
        assert inside.visits == 0
    assert len(processes.events("manager", AgentRegistered)) == 2
    assert {one.code for one in processes.events("manager", RequestRefused)} == {"E026", "E008"}
    assert processes.bugs == []


def test_a_player_that_others_could_not_reach_is_told_how_they_could_and_takes_a_mailbox(processes: Processes) -> None:
    manager = processes.manager(host="0.0.0.0", endpoints="lan")
    if not IS_NETWORKED:
        assert register(manager, at("127.0.0.1", closed_port()))["status"] == "ACCEPTED"
        return
    player = processes.begin("player", manager=at(ELSEWHERE, manager.port), host="127.0.0.1")
    (told,) = player.said("nobody can call http://127.0.0.1:")
    assert f"--host {ELSEWHERE}" in told
    player.said("registered as P01 ")


@pytest.mark.requirement("ENDPOINT.policy")
def test_the_operator_may_allow_more(processes: Processes) -> None:
    manager = processes.manager(host="0.0.0.0", endpoints="local,203.0.114.9:8101")
    assert register(manager, "http://203.0.114.9:8101/mcp")["status"] == "ACCEPTED"
    assert register(manager, "http://203.0.114.9:8102/mcp")["error_code"] == "E026"
    assert manager.stop() == 0


@pytest.mark.requirement("ENDPOINT.no_oracle")
def test_what_is_behind_an_endpoint_is_told_to_the_operator_alone(processes: Processes) -> None:
    log = processes.folder / "log.jsonl"
    with bystander() as other:
        manager = processes.manager(profile="strict", log=log)
        ports = {"closed": closed_port(), "no HTTP": other.port}
        answers = {what: register(manager, at("127.0.0.1", port)) for what, port in ports.items()}
        assert manager.stop() == 0
        assert other.visits == 1
    for what, answer in answers.items():
        assert (answer["error_code"], answer["context"]) == ("E025", {}), what
        assert answer["reason"] == f"{at('127.0.0.1', ports[what])} does not answer"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    failures = [line for line in lines if line["event"] == "call_failed" and line["message_type"] == "ping"]
    details = {line["endpoint"]: line["detail"] for line in failures}
    assert details.keys() == {at("127.0.0.1", port) for port in ports.values()}
    assert len(set(details.values())) == 2
    assert processes.bugs == []


def test_nobody_is_sent_elsewhere_by_a_redirect(processes: Processes) -> None:
    with bystander() as inside:
        location = at("127.0.0.1", inside.port)
        redirect = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
        with bystander(redirect) as player:
            manager = processes.manager(profile="strict")
            assert register(manager, at("127.0.0.1", player.port))["status"] == "ACCEPTED", "any HTTP answer will do"
            assert manager.stop() == 0
            assert player.visits > 0
        assert inside.visits == 0


@pytest.mark.requirement("ENDPOINT.members")
def test_a_league_is_played_over_the_network_by_agents_on_several_addresses(processes: Processes) -> None:
    manager = processes.manager(host="0.0.0.0", endpoints="lan", players=3, enrolment="open")
    home = at(ELSEWHERE, manager.port)
    processes.referee(home, host="0.0.0.0")
    abroad = processes.players(home, name="abroad", count=2)
    here = processes.players(at("127.0.0.1", manager.port), name="here")
    assert (abroad.wait(), here.wait()) == (0, 0)
    assert manager.stop() == 0
    endpoints = {one.display_name: one.endpoint for one in processes.events("manager", AgentRegistered)}
    assert ELSEWHERE in endpoints["abroad 1"]
    assert "127.0.0.1" in endpoints["here"]
    assert_kept(processes)
