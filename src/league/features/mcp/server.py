"""Tables as a server of the official package: `build_server(tables)`.

The package frames, negotiates and reports. It does not judge arguments, so the rows do that.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from league.features.mcp.subscriptions import Context, Subscriptions
from league.features.mcp.tables import (
    McpCaller,
    PromptRow,
    ResourceRow,
    ServerTables,
    TemplateRow,
)
from league.protocol.errors import PeerError

Page = types.PaginatedRequestParams | None
"""The part of a list that a client asks for: ours have one page."""
_LOG = logging.getLogger(__name__)
_MOST_COMPLETIONS: Final = 100
"""MCP's own limit."""
_RESOURCE_NOT_FOUND: Final = -32002
"""MCP's number for it before 2026-07-28."""


def build_server(tables: ServerTables, subscriptions: Subscriptions | None = None) -> Server[Any]:
    """Make the server that offers what the tables say; with subscriptions, its clients may follow resources."""
    offer = _Offer(tables)
    # A server declares what it has handlers for, so it gets no others.
    handlers: dict[str, Any] = {}
    if tables.resources or tables.templates:
        handlers["on_list_resources"] = offer.list_resources
        handlers["on_list_resource_templates"] = offer.list_templates
        handlers["on_read_resource"] = offer.read_resource
        handlers["on_completion"] = offer.complete
        if subscriptions is not None:
            handlers["on_subscribe_resource"] = subscriptions.subscribe
            handlers["on_unsubscribe_resource"] = subscriptions.unsubscribe
            handlers["on_subscriptions_listen"] = subscriptions.listen
    if tables.prompts:
        handlers["on_list_prompts"] = offer.list_prompts
        handlers["on_get_prompt"] = offer.get_prompt
        handlers["on_completion"] = offer.complete
    server: Server[Any] = Server(
        tables.name,
        version=tables.version,
        title=tables.title or None,
        instructions=tables.instructions or None,
        get_tool_input_schema=offer.schema_of,
        on_list_tools=offer.list_tools,
        on_call_tool=offer.call_tool,
        **handlers,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    return server


async def _set_level(_context: Context, _: types.SetLevelRequestParams) -> types.EmptyResult:
    """Accept any level of logging."""
    # Clients of the older era set one. Our tools say all they have to say in their results.
    return types.EmptyResult()


def caller_of(context: Context) -> McpCaller:
    """Return the caller of a request."""
    request = context.request
    if request is None:
        return McpCaller(context=context)
    address = request.client.host if request.client else ""
    return McpCaller(address, request.headers.get("authorization", ""), context)


class _Offer:
    """The handlers of a server."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables
        self._tools = {row.name: row for row in (*tables.tools, *tables.messages)}
        self._prompts = {row.name: row for row in tables.prompts}
        self._completions = {
            **{row.name: row.complete for row in tables.prompts},
            **{row.template: row.complete for row in tables.templates},
        }

    # --- tools --------------------------------------------------------------------------------------------------------

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """Any: JSON Schema."""
        if name in self._tools:
            return self._tools[name].schema
        return None

    async def list_tools(self, context: Context, _: Page) -> types.ListToolsResult:
        rows = self._tables.tools_for(caller_of(context))
        return types.ListToolsResult.model_validate({"tools": [row.listed() for row in rows]})

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = params.arguments or {}
        # Tools are called whether or not this caller sees them listed: they check for themselves who calls.
        row = self._tools.get(params.name) or self._tables.unlisted(params.name, arguments)
        if row is None:
            raise _unknown("tool", params.name)
        try:
            result = await _shielded(row.result(caller_of(context), arguments), f"the tool {row.name}")
        except PeerError as error:
            # A row raises only that there is no such tool: a message under an unknown name.
            raise _unknown("tool", params.name) from error
        if isinstance(result, dict):
            return types.CallToolResult.model_validate(result)
        assert isinstance(result, types.CallToolResult | types.InputRequiredResult)
        return result

    # --- resources ----------------------------------------------------------------------------------------------------

    async def list_resources(self, _context: Context, _: Page) -> types.ListResourcesResult:
        rows = [types.Resource(uri=row.uri, **_described(row)) for row in self._tables.resources]
        return types.ListResourcesResult(resources=rows)

    async def list_templates(self, _context: Context, _: Page) -> types.ListResourceTemplatesResult:
        rows = [types.ResourceTemplate(uri_template=row.template, **_described(row)) for row in self._tables.templates]
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        reading = self._tables.read(uri, caller_of(context))
        try:
            body, media_type = await _shielded(reading, f"the resource {uri}")
        except PeerError as error:
            raise _not_found(error, context, uri) from error
        content = {"uri": uri, "mimeType": media_type}
        if isinstance(body, str):
            content["text"] = body
        else:
            content["blob"] = base64.b64encode(body).decode()
        return types.ReadResourceResult.model_validate({"contents": [content]})

    # --- prompts and completion ---------------------------------------------------------------------------------------

    async def list_prompts(self, _context: Context, _: Page) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_listed_prompt(row) for row in self._tables.prompts])

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise _unknown("prompt", params.name)
        arguments = params.arguments or {}
        for name in prompt.arguments:
            if name not in arguments:
                raise MCPError(types.INVALID_PARAMS, f"{name} is missing")
        try:
            messages = await _shielded(
                prompt.messages(caller_of(context), arguments),
                f"the prompt {prompt.name}",
            )
        except PeerError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        if isinstance(messages, types.InputRequiredResult):
            return messages
        return types.GetPromptResult.model_validate({"description": prompt.about, "messages": list(messages)})

    async def complete(self, _context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        # A prompt's name is never the address of a template, so one table serves both.
        reference = params.ref
        key = reference.name if isinstance(reference, types.PromptReference) else reference.uri
        complete = self._completions.get(key, {}).get(params.argument.name)
        values: Sequence[str] = ()
        if complete is not None:
            values = await complete(params.argument.value)
        completion = types.Completion(
            values=list(values[:_MOST_COMPLETIONS]),
            total=len(values),
            has_more=len(values) > _MOST_COMPLETIONS,
        )
        return types.CompleteResult(completion=completion)


def _described(row: ResourceRow | TemplateRow) -> dict[str, Any]:
    """Describe a resource for a list (Any: arguments of the package's classes)."""
    return {
        "name": row.name,
        "title": row.title,
        "description": row.about,
        "mime_type": row.media_type,
    }


def _listed_prompt(row: PromptRow) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=name, description=about, required=True) for name, about in row.arguments.items()
    ]
    return types.Prompt(name=row.name, title=row.title, description=row.about, arguments=arguments)


def _unknown(kind: str, name: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Unknown {kind}: {name[:200]}")


def _not_found(error: PeerError, context: Context, uri: str) -> MCPError:
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = types.INVALID_PARAMS if is_modern else _RESOURCE_NOT_FOUND
    return MCPError(code, error.detail, {"uri": uri})


async def _shielded(work: Awaitable[Any], name: str) -> Any:
    """Wait for what a row does. A bug of ours in it is logged, and reported as such (Any: what the row returns)."""
    try:
        return await work
    except (PeerError, MCPError):
        raise
    except Exception:  # noqa: BLE001 - one of the doors where our own bugs end: logged, and answered as one
        _LOG.exception("%s failed", name)
        raise MCPError(types.INTERNAL_ERROR, "something went wrong here") from None
