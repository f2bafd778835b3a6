"""What an MCP server offers, as tables. Nothing here needs the package: an agent can be put together without it.

What fails is raised as PeerError: in a tool call it becomes a result with `isError` and the sentence, elsewhere an
error of the request.
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
"""A JSON object (Any: JSON Schema, arguments, results as MCP has them)."""
JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"


@dataclass(frozen=True, slots=True)
class McpCaller:
    """Who asks. `context` is the package's request context (Any: only who needs it knows the package)."""

    address: str = ""
    authorization: str = ""
    """The header of that name."""
    context: Any = None


def taking(*required: str, **properties: Object) -> Object:
    """The schema of a tool's arguments."""
    schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def string(about: str) -> Object:
    """An argument that is a text."""
    return {"type": "string", "description": about}


NO_ARGUMENTS: Final = taking()

Complete = Callable[[str], Awaitable[Sequence[str]]]
"""The values that begin so."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool. `call` gets arguments that fit `schema` and returns a result as MCP has it: a dict (`structured` and
    `text` make one) or the package's own class. Whether the operator asks for an operator's tool, `call` finds out."""

    name: str
    title: str
    about: str
    schema: Object
    """Of the arguments: an object of plain properties, no combinators at its root."""
    call: Callable[[McpCaller, Object], Awaitable[Any]]
    read_only: bool = False
    destructive: bool = False
    for_operator: bool = False
    """Is it listed for the operator alone?"""
    is_judged: bool = True
    """Are the arguments held against the schema before the call? Not where whoever is called judges them anyway."""


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
        """What stands for the names in braces; None for an address of another shape."""
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.template))
        found = re.fullmatch(pattern, uri)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else None


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt: what a model is asked. `messages` returns prompt messages as MCP has them; `user_says` makes one."""

    name: str
    title: str
    about: str
    messages: Callable[[McpCaller, Mapping[str, str]], Awaitable[Sequence[Any]]]
    arguments: Mapping[str, str] = field(default_factory=dict)
    """What each argument is; all are required."""
    complete: Mapping[str, Complete] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemberTools:
    """What a referee or player offers MCP clients beside its messages."""

    rows: Sequence[ToolRow]
    instructions: str
    is_owner: Callable[[McpCaller], bool] = lambda _: False
    """Who may use those of them that are for operators."""


async def _never(_seen: int) -> int:
    raise NotImplementedError("nothing here changes")


@dataclass(frozen=True, slots=True)
class ServerTables:
    """A server: who it is, and what it offers."""

    name: str
    title: str = ""
    version: str = "1"
    instructions: str = ""
    tools: Sequence[ToolRow] = ()
    resources: Sequence[ResourceRow] = ()
    templates: Sequence[TemplateRow] = ()
    prompts: Sequence[PromptRow] = ()
    unlisted: Callable[[str, Object], ToolRow | None] = lambda *_: None
    """The tool that takes such a call all the same, under a name that is not listed."""
    is_operator: Callable[[McpCaller], bool] = lambda _: False
    """Are the operator's tools listed for this caller?"""
    changed: Callable[[int], Awaitable[int]] = _never
    """Returns when resources may differ from what they were at that position (at first -1), and the new position."""

    async def read(self, uri: str, caller: McpCaller) -> tuple[str | bytes, str]:
        """What is at an address, and its media type; PeerError if there is nothing."""
        for one in self.resources:
            if one.uri == uri:
                return await one.read(caller), one.media_type
        for template in self.templates:
            names = template.names_in(uri)
            if names is not None:
                return await template.read(caller, names), template.media_type
        raise PeerError("E008", f"there is no resource {uri[:200]}")


def structured(data: Object) -> dict[str, Any]:
    """The result of a tool: data, and the same as text for clients that read nothing else."""
    content = [{"type": "text", "text": msgspec.json.encode(data).decode()}]
    return {"content": content, "structuredContent": data, "isError": False}


def text(words: str) -> dict[str, Any]:
    """The result of a tool: words."""
    return {"content": [{"type": "text", "text": words}], "isError": False}


def refused(error: PeerError) -> dict[str, Any]:
    """The result of a tool that could not do it: the sentence is all that clients show to people and models."""
    data = {"error_code": error.code, "error_name": error.row.name, "error_detail": error.detail}
    return {"content": [{"type": "text", "text": str(error)}], "structuredContent": data, "isError": True}


def user_says(words: str) -> dict[str, Any]:
    """A message of a prompt."""
    return {"role": "user", "content": {"type": "text", "text": words}}


_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def check_arguments(schema: Object, arguments: Object) -> None:
    """PeerError unless the arguments are those that a flat schema declares."""
    properties: Object = schema.get("properties", {})
    missing = next((name for name in schema.get("required", ()) if name not in arguments), None)
    if missing is not None:
        raise PeerError("E003", f"{missing} is missing")
    unknown = next((name for name in arguments if name not in properties), None)
    if unknown is not None and schema.get("additionalProperties") is not True:
        known = ", ".join(properties) or "none"
        raise PeerError("E008", f"there is no argument {unknown[:80]!r}; there are: {known}")
    for name, value in arguments.items():
        _check_value(name, value, properties.get(name, {}))


def _check_value(name: str, value: Any, declared: Object) -> None:
    """Any: JSON of others."""
    kind = declared.get("type")
    if kind is not None and (not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean")):
        raise PeerError("E007", f"{name} is not of the type {kind}")
    if "minimum" in declared and value < declared["minimum"]:
        raise PeerError("E008", f"{name} is less than {declared['minimum']}")
    if "items" in declared:
        for one in value:
            _check_value(name, one, declared["items"])
