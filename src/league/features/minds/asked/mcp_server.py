"""An MCP server as the mind of a player: one of its tools answers every question.

The official package speaks to it, in either era of MCP, over Streamable HTTP, over the older HTTP with events (SSE), or
through the pipes of a process that it starts. A connection belongs to one task, which opens and closes it: the package
demands that. When a connection breaks, the next question opens another one.

Which tool is asked, and what it gets, follows from what the server declares. A tool for messages of the league gets the
referee's call, as it would from a referee. Any other tool gets the prompt as its text, and the options as its list.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from league.features.minds.asked.program import title_of, words_of
from league.features.minds.asked.transports import Answer, Document, MindQuestion, NoAnswer
from league.gateway.readers.tools import Tool, arguments, pick
from league.protocol.wire.jsonrpc import NESTED_METHODS
from league.terminal import CommandError

if TYPE_CHECKING:
    from mcp import Client

TOKEN_VARIABLE: Final = "LEAGUE_MCP_TOKEN"
NEEDS_PACKAGE: Final = "asking an MCP server needs the extra mcp: pip install 'agent-league[mcp]'"
CONNECT_S: Final = 15.0
"""For one way to connect."""
READ_S: Final = 3_600.0
"""For a stream that waits for an answer: the turn ends it."""
LONGEST_DETAIL: Final = 300
UNAUTHORIZED: Final = 401
PAGES: Final = 16
_PROMPTS: Final = re.compile(r"prompt|question|query|text|input|message|content|instructions?|task|request|ask|q")
_OPTIONS: Final = re.compile(r"((valid|legal|possible|available|allowed)_)?(options|choices|moves|actions)")
"""The names of parameters that take the prompt, and of those that take the options."""
_WORDS: Final = (
    "ask",
    "prompt",
    "answer",
    "choose",
    "decide",
    "play",
    "move",
    "chat",
    "complete",
    "generate",
    "respond",
)
"""Words in the name of a tool that may answer questions, the surest first."""


class Way(NamedTuple):
    """A way to connect to a server."""

    open: Callable[[], Any]
    """Returns what the package's client connects to (Any: a class of the package)."""
    mode: str = "auto"


class AskedServer:
    """Asks a tool of an MCP server."""

    def __init__(self, title: str, provider: str, identity: str, ways: Iterable[Way], tool: str = "") -> None:
        self.provider = provider
        self.identity = f"{identity} {tool}"
        self.model = tool or title
        self._ways = tuple(ways)
        self._named_tool = tool
        self.status = 0
        """Of the last answer over HTTP."""
        self._tools: tuple[Tool, ...] = ()
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._drop()

    async def greet(self) -> NoAnswer | None:
        """Connect, and look for the tool."""
        try:
            async with asyncio.timeout(CONNECT_S * len(self._ways)):
                await self._connected()
        except Exception as error:  # noqa: BLE001 - the package, and third-party servers, raise whatever they like
            return self._trouble("the MCP server cannot be reached", error)
        try:
            for is_parity in (True, False):
                self._tool_for(is_parity)
        except LookupError as error:
            return NoAnswer(str(error.args[0]), advice="name one of them with --tool")
        return None

    def request(self, question: MindQuestion) -> Document:
        # Before the first connection nobody knows the tools, so the question itself stands for the request.
        tool = Tool(self._named_tool)
        with suppress(LookupError):
            tool = self._tool_for(question.is_parity)
        return {"tool": tool.name, "arguments": arguments_for(tool, question)}

    async def ask(self, document: Document, seconds: float) -> Answer | NoAnswer:
        try:
            async with asyncio.timeout(seconds):
                client = await self._connected()
                if not document["tool"]:
                    return NoAnswer("the tools of the MCP server were not known yet", retry_after=0.0)
                result = await client.call_tool(document["tool"], dict(document["arguments"]))
        except TimeoutError:
            return NoAnswer("the MCP server has not answered in time", is_late=True)
        except Exception as error:  # noqa: BLE001 - as above
            # The next question gets a new connection: whatever is wrong with this one, it goes with it.
            await self._drop()
            return self._trouble("the MCP server cannot be asked", error)
        # Kept as it was sent, so that an audit can read it again.
        raw = result.model_dump_json(by_alias=True, exclude_none=True)
        text = text_in_result(msgspec.json.decode(raw))
        if result.is_error:
            return NoAnswer(f"the tool {document['tool']} failed: {text[:LONGEST_DETAIL]}", raw)
        return Answer(text, raw)

    def _trouble(self, what: str, error: BaseException) -> NoAnswer:
        # The package does not pass the status on.
        if self.status == UNAUTHORIZED:
            detail = f"{what}: it wants another token (status {UNAUTHORIZED})"
            return NoAnswer(detail, is_final=True, advice=f"put its bearer token into {TOKEN_VARIABLE}")
        return NoAnswer(f"{what}: {_words_of(error)}")

    def _tool_for(self, is_parity: bool) -> Tool:
        """Return the tool that answers a question. LookupError if it cannot be told from the others."""
        names = ", ".join(tool.name for tool in self._tools) or "none"
        if self._named_tool:
            named = [tool for tool in self._tools if tool.name == self._named_tool]
            if not named:
                raise LookupError(f"the MCP server has no tool {self._named_tool!r}; its tools: {names}")
            return named[0]
        # A server with one tool leaves no doubt, whatever the tool is called.
        if len(self._tools) == 1:
            return self._tools[0]
        message_type = "CHOOSE_PARITY_CALL" if is_parity else "GAME_MOVE_CALL"
        tool = pick(message_type, self._tools) or _tool_by_word(self._tools)
        if tool is None:
            raise LookupError(f"it is not clear which tool of the MCP server answers questions; its tools: {names}")
        return tool

    # --- the connection -----------------------------------------------------------------------------------------------

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._connection is None or self._connection.is_closed:
                self._connection = await self._connect()
            return self._connection.client

    async def _connect(self) -> _Connection:
        failures: list[Exception] = []
        for way in self._ways:
            connection = _Connection(way)
            try:
                async with asyncio.timeout(CONNECT_S):
                    await connection.opened()
                    self._tools = tuple(await _list_tools(connection.client))
            except Exception as error:  # noqa: BLE001 - as above; the next way may do
                failures.append(error)
                await connection.close()
            else:
                return connection
        # The first way is the usual one, so what it says is worth most.
        raise failures[0]

    async def _drop(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is not None:
            await connection.close()


class _Connection:
    """A client of the package, in a task of its own."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    @property
    def is_closed(self) -> bool:
        return self._task.done()

    @property
    def client(self) -> Client:
        return self._client.result()

    async def _run(self) -> None:
        # This takes half a second, and most players never need it.
        from mcp import Client

        try:
            async with Client(self._way.open(), mode=self._way.mode) as client:
                self._client.set_result(client)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - the connection is over; who waits for it learns why
            if not self._client.done():
                self._client.set_exception(error)

    async def opened(self) -> None:
        await asyncio.shield(self._client)

    async def close(self) -> None:
        self._closing.set()
        if not self._client.done():
            self._task.cancel()
        with suppress(asyncio.CancelledError, TimeoutError):
            async with asyncio.timeout(CONNECT_S):
                await self._task
        if self._client.done() and not self._client.cancelled():
            self._client.exception()  # it was looked at


def _tool_by_word(tools: Iterable[Tool]) -> Tool | None:
    by_name = {tool.name.lower(): tool for tool in tools}
    for word in _WORDS:
        for name, tool in by_name.items():
            if word in name:
                return tool
    # A name may say nothing, but hardly any other tool takes a list.
    taking_lists = [tool for tool in by_name.values() if _takes_list(tool)]
    return taking_lists[0] if len(taking_lists) == 1 else None


def _takes_list(tool: Tool) -> bool:
    properties = tool.schema.get("properties")
    return isinstance(properties, dict) and any("array" in _kinds_at(place) for place in properties.values())


async def _list_tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += [Tool(tool.name, tool.description or "", tool.input_schema) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def text_in_result(result: Document) -> str:
    """Return the words of a tool's result, as it was sent."""
    texts = [str(part.get("text", "")) for part in result.get("content", ()) if part.get("type") == "text"]
    if texts or result.get("structuredContent") is None:
        return "\n".join(texts)
    return msgspec.json.encode(result["structuredContent"]).decode()


def _words_of(error: BaseException) -> str:
    """Say what went wrong. A group of exceptions means the first of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    words = " ".join(str(error).split()) or type(error).__name__
    token = os.environ.get(TOKEN_VARIABLE)
    if token:
        words = words.replace(token, "***")
    return words[:LONGEST_DETAIL]


# --- arguments --------------------------------------------------------------------------------------------------------


def arguments_for(tool: Tool, question: MindQuestion) -> Document:
    """Return the arguments of a tool: the prompt, the options and fields of the referee's call, where it declares
    them."""
    fields = dict(question.fields)
    properties = tool.schema.get("properties")
    if isinstance(properties, dict) and tool.name.lower() not in NESTED_METHODS:
        required = tool.schema.get("required") or ()
        for name, place in properties.items():
            kinds = set(_kinds_at(place))
            # A parameter of an unknown name that must be there gets what fits its type.
            is_unknown = name in required and name not in fields
            if "array" in kinds and (is_unknown or _OPTIONS.fullmatch(name)):
                fields[name] = list(question.options)
            elif "string" in kinds and (is_unknown or _PROMPTS.fullmatch(name)):
                fields[name] = question.prompt
            elif _OPTIONS.fullmatch(name):
                fields[name] = list(question.options)
    return arguments(tool, fields)


def _kinds_at(place: Any) -> Iterator[str]:
    """The types that a parameter declares (Any: a third-party schema)."""
    if not isinstance(place, dict):
        return
    kind = place.get("type")
    if isinstance(kind, str):
        yield kind
    elif isinstance(kind, list):
        yield from (str(each) for each in kind)
    for name in ("anyOf", "oneOf"):
        alternatives = place.get(name)
        if isinstance(alternatives, list):
            for alternative in alternatives:
                yield from _kinds_at(alternative)


# --- where servers are ------------------------------------------------------------------------------------------------


def server_at(url: str, tool: str = "") -> AskedServer:
    """Return the server at an address: Streamable HTTP, or the older HTTP with events."""
    _require_package()
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandError(f"{url!r} is not the address of an MCP server, such as mcp+http://127.0.0.1:9000/mcp")
    token = os.environ.get(TOKEN_VARIABLE, "")
    headers = {}
    if token:
        headers["Authorization"] = f"Bearer {token}"

    async def note(response: Any) -> None:
        server.status = response.status_code

    @asynccontextmanager
    async def streamable() -> AsyncIterator[Any]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with (
            httpx2.AsyncClient(
                headers=headers, timeout=httpx2.Timeout(CONNECT_S, read=READ_S), event_hooks={"response": [note]}
            ) as http_client,
            streamable_http_client(url, http_client=http_client) as streams,
        ):
            yield streams

    def with_events() -> Any:
        from mcp.client.sse import sse_client

        return sse_client(url, headers=headers)

    ways = (Way(streamable), Way(with_events, "legacy"))
    server = AskedServer("MCP server", parts.hostname, f"mcp:{url}", ways, tool)
    return server


def server_started_by(command: str, tool: str = "") -> AskedServer:
    """Return a server that is a process of ours, and speaks through its pipes."""
    _require_package()
    words = words_of(command)

    def process() -> Any:
        from mcp.client.stdio import StdioServerParameters

        # It is the author's own program, so it gets the author's environment.
        return StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))

    # The handshake comes first: older servers fill the terminal with complaints about anything else.
    ways = (Way(process, "legacy"), Way(process))
    return AskedServer(title_of(words), "this machine", f"mcp:{command}", ways, tool)


def _require_package() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise CommandError(NEEDS_PACKAGE)
