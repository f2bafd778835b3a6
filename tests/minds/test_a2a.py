"""A2A agents as players: by the cards and messages of versions 1.0 and 0.3, in tournaments, and when they fail."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import uvicorn
from a2a.helpers.proto_helpers import new_text_artifact, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task, TaskState, TaskStatus
from starlette.applications import Starlette

import league
from league.terminal import CommandError, console

OPTIONS = re.compile(r"one of: ([^,.]+)")


class Executor(AgentExecutor):
    """Answers with the first option: in a message, or as a task that takes its time."""

    def __init__(self, manner: str) -> None:
        self.manner = manner

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        found = OPTIONS.search(context.get_user_input())
        answer = f"I have thought.\nFinal answer: {found[1] if found else ''}"
        if self.manner == "message":
            await event_queue.enqueue_event(new_text_message(answer))
            return
        assert context.task_id is not None
        assert context.context_id is not None
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        await event_queue.enqueue_event(Task(id=context.task_id, context_id=context.context_id, status=status))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        if self.manner == "failing":
            await updater.failed(new_text_message("the engine has no fuel"))
            return
        await updater.add_artifact(list(new_text_artifact("answer", answer).parts))
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


@contextmanager
def agent(manner: str) -> Iterator[str]:
    """An agent of the official package; yields what to write behind --ask."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    card = AgentCard(
        name="mind",
        description="plays",
        version="1",
        supported_interfaces=[AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="play", name="play", description="plays", tags=["games"])],
    )
    handler = DefaultRequestHandler(Executor(manner), InMemoryTaskStore(), card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"a2a+{url}"
    server.should_exit = True
    thread.join()
    listener.close()


class OldAgent(BaseHTTPRequestHandler):
    """An agent of version 0.3, in plain JSON. With a token, it answers nobody else."""

    token = ""

    def do_GET(self) -> None:
        url = f"http://{self.headers['Host']}/"
        self.reply(
            {
                "protocolVersion": "0.3.0",
                "name": "old mind",
                "description": "plays",
                "version": "1",
                "url": url,
                "preferredTransport": "JSONRPC",
                "capabilities": {},
                "defaultInputModes": ["text/plain"],
                "defaultOutputModes": ["text/plain"],
                "skills": [],
            }
        )

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert call["method"] == "message/send", call
        prompt = "".join(part.get("text", "") for part in call["params"]["message"]["parts"])
        found = OPTIONS.search(prompt)
        assert found is not None
        part = {"kind": "text", "text": found[1].upper()}
        message = {"kind": "message", "messageId": "1", "role": "agent", "parts": [part]}
        self.reply({"jsonrpc": "2.0", "id": call["id"], "result": message})

    def reply(self, document: Any) -> None:
        body = json.dumps(document).encode()
        is_known = not self.token or self.headers["Authorization"] == f"Bearer {self.token}"
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class GuardedAgent(OldAgent):
    token = "tok-of-the-agent"


@contextmanager
def old_agent(handler: type[OldAgent] = OldAgent) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"a2a+http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def played(spec: str) -> dict[str, Any]:
    result = league.tournament([league.Ask(spec, name="mind"), "random"], game="tic_tac_toe", meetings=2, seed=1)
    assert result.document["failures"] == []
    (mind,) = result.document["minds"]
    return dict(mind)


@pytest.mark.parametrize("manner", ["message", "task"])
def test_an_agent_plays_without_a_fallback(manner: str) -> None:
    with agent(manner) as spec:
        mind = played(spec)
    assert mind["choices"] >= 6
    assert (mind["fallbacks"], mind["provider_errors"]) == (0, 0)
    assert (mind["conditions"]["model"], mind["conditions"]["provider"]) == ("A2A agent", "127.0.0.1")


def test_an_agent_with_a_card_of_version_0_3_plays() -> None:
    with old_agent() as spec:
        assert played(spec)["fallbacks"] == 0


def test_an_agent_that_fails_is_an_outage_and_ends_a_study() -> None:
    with agent("failing") as spec, pytest.raises(league.LeagueError, match="FAILED: the engine has no fuel"):
        league.tournament([league.Ask(spec), "random"], meetings=1, seed=1, move_seconds=0.6)


def test_an_agent_that_wants_a_token_gets_it_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with old_agent(GuardedAgent) as spec:
        with pytest.raises(league.LeagueError, match="put its bearer token into LEAGUE_A2A_TOKEN"):
            played(spec)
        monkeypatch.setenv("LEAGUE_A2A_TOKEN", GuardedAgent.token)
        assert played(spec)["fallbacks"] == 0


def test_nobody_there_and_no_address_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    monkeypatch.setattr(console, "complain", complaints.append)
    with pytest.raises(league.LeagueError, match="cannot play on"):
        league.tournament([league.Ask("a2a+http://127.0.0.1:1"), "random"], meetings=1, move_seconds=0.6)
    assert "has no card that can be read" in complaints[0]
    with pytest.raises(CommandError, match="is not the address of an A2A agent"):
        league.Ask("a2a+http://")
    monkeypatch.setattr("league.features.minds.asked.a2a_agent.find_spec", lambda _: None)
    with pytest.raises(CommandError, match=r"needs the extra a2a: pip install 'agent-league\[a2a\]'"):
        league.Ask("a2a+http://127.0.0.1:1")
