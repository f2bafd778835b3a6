"""An A2A agent as the mind of a player: every question is a message to it, and its answer a message or a finished task.

The official package finds the agent by its card, also by one of version 0.3, and speaks to it in the version and over
the binding that the card names. An agent that works on a task for longer is asked for it until it is done.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from league.features.minds.asked.transports import Answer, Document, MindQuestion, NoAnswer
from league.terminal import CommandError

if TYPE_CHECKING:
    import httpx
    from a2a.client import Client
    from a2a.types import Task

TOKEN_VARIABLE: Final = "LEAGUE_A2A_TOKEN"
BINDINGS: Final = ("JSONRPC", "HTTP+JSON")
CONNECT_S: Final = 15.0
READ_S: Final = 3_600.0
"""The turn ends sooner."""
POLL_S: Final = 0.25
LONGEST_DETAIL: Final = 300
UNAUTHORIZED: Final = (401, 403)


class AskedAgent:
    """Asks the agent at an address. CommandError if this is no address, or if the package is not installed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CommandError(f"{url!r} is not the address of an A2A agent, such as a2a+http://127.0.0.1:9999")
        if find_spec("a2a") is None:
            raise CommandError("asking an A2A agent needs the extra a2a: pip install 'agent-league[a2a]'")
        self.model = "A2A agent"
        self.provider = parts.hostname
        self.identity = f"a2a:{url}"
        self._url = url
        self._http: httpx.AsyncClient | None = None
        self._client: Client | None = None
        self._status = 0
        """Of the last answer over HTTP."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        import httpx

        async def note(response: httpx.Response) -> None:
            self._status = response.status_code

        token = os.environ.get(TOKEN_VARIABLE)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        timeout = httpx.Timeout(CONNECT_S, read=READ_S)
        async with httpx.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [note]}) as self._http:
            yield
        self._client = None

    async def greet(self) -> NoAnswer | None:
        """Fetch the card of the agent."""
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._connected()
        except Exception as error:  # noqa: BLE001 - the package, and third-party agents, raise whatever they like
            return self._trouble("has no card that can be read", error)
        return None

    def request(self, question: MindQuestion) -> Document:
        return {"a2a": question.prompt}

    async def ask(self, document: Document, seconds: float) -> Answer | NoAnswer:
        try:
            async with asyncio.timeout(seconds):
                return await self._asked(document["a2a"])
        except TimeoutError:
            return NoAnswer("the A2A agent has not answered in time", is_late=True)
        except Exception as error:  # noqa: BLE001 - as above
            return self._trouble("cannot be asked", error)

    async def _asked(self, prompt: str) -> Answer | NoAnswer:
        from a2a.helpers.proto_helpers import get_message_text, new_text_message
        from a2a.types import GetTaskRequest, Role, SendMessageRequest, TaskState

        client = await self._connected()
        message = new_text_message(prompt, role=Role.ROLE_USER)
        async for response in client.send_message(SendMessageRequest(message=message)):
            if response.HasField("message"):
                text = get_message_text(response.message)
                return Answer(text, text)
            task = response.task
            while task.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING):
                await asyncio.sleep(POLL_S)
                task = await client.get_task(GetTaskRequest(id=task.id))
            text = _text_of(task)
            if task.status.state in (TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED):
                return Answer(text, text)
            state = TaskState.Name(task.status.state)
            return NoAnswer(f"the A2A agent ended its task with {state}: {text[:LONGEST_DETAIL]}", text)
        return NoAnswer("the A2A agent sent nothing")

    async def _connected(self) -> Client:
        from a2a.client import ClientConfig, create_client

        if self._client is None:
            config = ClientConfig(streaming=False, httpx_client=self._http, supported_protocol_bindings=list(BINDINGS))
            self._client = await create_client(self._url, config)
        return self._client

    def _trouble(self, what: str, error: Exception) -> NoAnswer:
        detail = f"the A2A agent at {self._url} {what}: {' '.join(str(error).split())[:LONGEST_DETAIL]}"
        if self._status in UNAUTHORIZED:
            return NoAnswer(detail, is_final=True, advice=f"put its bearer token into {TOKEN_VARIABLE}")
        return NoAnswer(detail)


def _text_of(task: Task) -> str:
    """Return the words of a task: those of its artifacts, or else those of its last state."""
    from a2a.helpers.proto_helpers import get_artifact_text, get_message_text

    texts: list[Any] = [get_artifact_text(artifact) for artifact in task.artifacts]
    return "\n".join(filter(None, texts)) or get_message_text(task.status.message)
