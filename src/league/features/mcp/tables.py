"""Tables of what an MCP server offers: tools, resources, templates of resources, and prompts.

`league.features.mcp` serves them. Nothing here needs the official package, so an agent can be put together without it.

A row reports a failure by raising PeerError. In a tool call that becomes a result with `isError` and a sentence;
anywhere else it becomes an error of the request.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from league.protocol.errors import PeerError

Object = Mapping[str, Any]
"""A JSON object (Any: JSON Schema, arguments, and results as MCP defines them)."""
JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"
UNKNOWN_TOOL: Final = "E036"


@dataclass(frozen=True, slots=True)
class McpCaller:
    """The client that makes a request.

    `context` is the package's request context (Any: only code that needs it knows the package).
    """

    address: str = ""
    authorization: str = ""
    """The header of that name."""
    context: Any = None


# --- schemas of arguments ---------------------------------------------------------------------------------------------


def taking(*required: str, **properties: Object) -> Object:
    """Make the schema of a tool's arguments."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


def string(about: str) -> Object:
    """Describe an argument that is a text."""
    return {"type": "string", "description": about}


NO_ARGUMENTS: Final = taking()
_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def check_arguments(schema: Object, arguments: Object) -> None:
    """Raise PeerError unless the arguments are those that a flat schema declares."""
    properties: Object = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            raise PeerError("E003", f"{name} is missing")
    for name, value in arguments.items():
        if name in properties:
            _check_value(name, value, properties[name])
        elif schema.get("additionalProperties") is not True:
            names = ", ".join(properties) or "none"
            raise PeerError("E008", f"there is no argument {name[:80]!r}; there are: {names}")


def _check_value(name: str, value: Any, declared: Object) -> None:
    """Any: third-party JSON."""
    kind = declared.get("type")
    if kind is not None:
        # To Python a bool is an int as well.
        is_stray_bool = isinstance(value, bool) and kind != "boolean"
        if is_stray_bool or not isinstance(value, _KINDS[kind]):
            raise PeerError("E007", f"{name} is not of the type {kind}")
    if "minimum" in declared and value < declared["minimum"]:
        raise PeerError("E008", f"{name} is less than {declared['minimum']}")
    if "items" in declared:
        for item in value:
            _check_value(name, item, declared["items"])


# --- results ----------------------------------------------------------------------------------------------------------


def structured(data: Object) -> dict[str, Any]:
    """Make a tool's result of data; clients that read only text get the same as text."""
    return {**text(msgspec.json.encode(data).decode()), "structuredContent": data}


def text(words: str) -> dict[str, Any]:
    """Make a tool's result of words."""
    return {"content": [{"type": "text", "text": words}], "isError": False}


def refused(error: PeerError) -> dict[str, Any]:
    """Make the result of a tool that refuses. Its sentence is all that clients show to people and models."""
    data = {
        "error_code": error.code,
        "error_name": error.row.name,
        "error_detail": error.detail,
    }
    return {**text(str(error)), "structuredContent": data, "isError": True}


def user_says(words: str) -> dict[str, Any]:
    """Make a message of a prompt."""
    return {"role": "user", "content": {"type": "text", "text": words}}


# --- rows -------------------------------------------------------------------------------------------------------------

Complete = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the values that begin with a text."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool.

    `call` returns a result as MCP defines it: a dict (`structured` and `text` make one) or the package's own class.
    """

    name: str
    title: str
    about: str
    schema: Object
    """Of the arguments: an object of plain properties, without combinators at its root."""
    call: Callable[[McpCaller, Object], Awaitable[Any]]
    read_only: bool = False
    destructive: bool = False
    for_operator: bool = False
    """Listed for the operator alone. `call` must still check who calls: clients can guess names."""
    returns: Object | None = None
    """The schema of the structured result, if clients are told one."""
    is_judged: bool = True
    """False where `call` judges the arguments itself; otherwise they are held against the schema first."""

    def listed(self) -> dict[str, Any]:
        """Describe the tool as `tools/list` does."""
        hints = {
            "title": self.title,
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "openWorldHint": False,
        }
        tool = {
            "name": self.name,
            "title": self.title,
            "description": self.about,
            "inputSchema": self.schema,
            "annotations": hints,
        }
        return tool if self.returns is None else {**tool, "outputSchema": self.returns}

    async def result(self, caller: McpCaller, arguments: Object) -> Any:
        """Call the tool. A refusal is a result too, unless it says that there is no such tool: that is raised."""
        try:
            if self.is_judged:
                check_arguments(self.schema, arguments)
            return await self.call(caller, arguments)
        except PeerError as error:
            # To MCP that is an error of the request, not a result.
            if error.code == UNKNOWN_TOOL:
                raise
            return refused(error)


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """Something to read at a fixed address."""

    uri: str
    name: str
    title: str
    about: str
    read: Callable[[McpCaller], Awaitable[str | bytes]]
    media_type: str = JSON


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """Things to read at addresses of one shape, such as `league://matches/{match_id}`."""

    template: str
    name: str
    title: str
    about: str
    read: Callable[[McpCaller, Mapping[str, str]], Awaitable[str | bytes]]
    media_type: str = JSON
    complete: Mapping[str, Complete] = field(default_factory=dict)
    """By the names in braces."""

    def names_in(self, uri: str) -> Mapping[str, str] | None:
        """Return the values of the names in braces; None for an address of another shape."""
        # A value may not contain a slash, so that longer addresses can have templates of their own.
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.template))
        match = re.fullmatch(pattern, uri)
        if match is None:
            return None
        return {name: unquote(value) for name, value in match.groupdict().items()}


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt for a model. `messages` returns messages as MCP defines them; `user_says` makes one."""

    name: str
    title: str
    about: str
    messages: Callable[[McpCaller, Mapping[str, str]], Awaitable[Sequence[Any]]]
    arguments: Mapping[str, str] = field(default_factory=dict)
    """A description of each argument; all are required."""
    complete: Mapping[str, Complete] = field(default_factory=dict)


# --- servers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemberTools:
    """Tools that a referee or player offers beside its messages."""

    rows: Sequence[ToolRow]
    instructions: str
    is_owner: Callable[[McpCaller], bool] = lambda _: False
    """True for callers that may use the operator's tools among them."""


async def _never(_position: int) -> int:
    raise NotImplementedError("nothing here changes")


@dataclass(frozen=True, slots=True)
class ServerTables:
    """A server: its name, and all that it offers."""

    name: str
    title: str = ""
    version: str = "1"
    instructions: str = ""
    tools: Sequence[ToolRow] = ()
    messages: Sequence[ToolRow] = ()
    """Tools that stand for messages of the protocol."""
    messages_hidden: bool = False
    """Clients that see other tools do not see those: they play, and are no referees."""
    resources: Sequence[ResourceRow] = ()
    templates: Sequence[TemplateRow] = ()
    prompts: Sequence[PromptRow] = ()
    unlisted: Callable[[str, Object], ToolRow | None] = lambda *_: None
    """Returns the tool for a name that is not listed, if the server accepts the call all the same."""
    is_operator: Callable[[McpCaller], bool] = lambda _: False
    """True for callers that see the operator's tools."""
    changed: Callable[[int], Awaitable[int]] = _never
    """Waits until resources may differ from what they were at a position (-1 at first); returns the new position."""

    def tools_for(self, caller: McpCaller) -> list[ToolRow]:
        """Return the tools that this caller sees."""
        is_operator = self.is_operator(caller)
        tools = [row for row in self.tools if is_operator or not row.for_operator]
        if tools and self.messages_hidden:
            return tools
        return [*tools, *self.messages]

    async def read(self, uri: str, caller: McpCaller) -> tuple[str | bytes, str]:
        """Read what is at an address: its content and media type. PeerError if nothing is there."""
        # A fixed address comes before a template that fits it, too.
        for resource in self.resources:
            if resource.uri == uri:
                return await resource.read(caller), resource.media_type
        for template in self.templates:
            names = template.names_in(uri)
            if names is not None:
                return await template.read(caller, names), template.media_type
        raise PeerError("E008", f"there is no resource {uri[:200]}")
