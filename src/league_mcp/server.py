"""Tables as a server of the official package: `build_server(tables)`.

The package frames, negotiates and reports; it does not judge arguments, so that is done here.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Awaitable, Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from league.mcp_tables import (
    Complete,
    McpCaller,
    ResourceRow,
    ServerTables,
    TemplateRow,
    ToolRow,
    check_arguments,
    refused,
)
from league.protocol.errors import PeerError
from league_mcp.subscriptions import Context, Subscriptions

Page = types.PaginatedRequestParams | None
"""Which part of a list is asked for: ours have one page."""
_LOG = logging.getLogger(__name__)
_MOST_COMPLETIONS: Final = 100
"""MCP's own limit."""
_RESOURCE_NOT_FOUND: Final = -32002
"""MCP's number for it before 2026-07-28."""


def build_server(tables: ServerTables, subscriptions: Subscriptions | None = None) -> Server[Any]:
    """The server that offers what the tables say; with subscriptions, its clients may follow resources."""
    offer = _Offer(tables)
    has_resources, has_prompts = bool(tables.resources or tables.templates), bool(tables.prompts)
    followed = subscriptions if has_resources else None
    server: Server[Any] = Server(
        tables.name,
        version=tables.version,
        title=tables.title or None,
        instructions=tables.instructions or None,
        get_tool_input_schema=offer.schema_of,
        on_list_tools=offer.list_tools,
        on_call_tool=offer.call_tool,
        on_list_resources=offer.list_resources if has_resources else None,
        on_list_resource_templates=offer.list_templates if has_resources else None,
        on_read_resource=offer.read_resource if has_resources else None,
        on_subscribe_resource=followed.subscribe if followed else None,
        on_unsubscribe_resource=followed.unsubscribe if followed else None,
        on_subscriptions_listen=followed.listen if followed else None,
        on_list_prompts=offer.list_prompts if has_prompts else None,
        on_get_prompt=offer.get_prompt if has_prompts else None,
        on_completion=offer.complete if has_resources or has_prompts else None,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    return server


async def _set_level(_context: Context, _: types.SetLevelRequestParams) -> types.EmptyResult:
    """Clients of the handshake's versions ask for it. What a tool has to say is in its result, so any level is kept."""
    return types.EmptyResult()


def caller_of(context: Context) -> McpCaller:
    """Who makes a request."""
    request = context.request
    if request is None:
        return McpCaller(context=context)
    client = request.client
    return McpCaller(client.host if client else "", request.headers.get("authorization", ""), context)


class _Offer:
    """The handlers of a server."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables
        self._tools = {one.name: one for one in tables.tools}
        self._prompts = {one.name: one for one in tables.prompts}

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        return self._tools[name].schema if name in self._tools else None

    # --- tools --------------------------------------------------------------------------------------------------------

    async def list_tools(self, context: Context, _: Page) -> types.ListToolsResult:
        is_operator = self._tables.is_operator(caller_of(context))
        shown = [one for one in self._tables.tools if is_operator or not one.for_operator]
        return types.ListToolsResult(tools=[_listed(one) for one in shown])

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = params.arguments or {}
        tool = self._tools.get(params.name) or self._tables.unlisted(params.name, arguments)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:200]}")
        try:
            if tool.is_judged:
                check_arguments(tool.schema, arguments)
            result = await _shielded(tool.call(caller_of(context), arguments), f"the tool {tool.name}")
        except PeerError as error:
            if error.code == "E036":
                raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:200]}") from error
            result = refused(error)
        return types.CallToolResult.model_validate(result) if isinstance(result, dict) else result

    # --- resources ----------------------------------------------------------------------------------------------------

    async def list_resources(self, _context: Context, _: Page) -> types.ListResourcesResult:
        rows = [types.Resource(uri=one.uri, **_told(one)) for one in self._tables.resources]
        return types.ListResourcesResult(resources=rows)

    async def list_templates(self, _context: Context, _: Page) -> types.ListResourceTemplatesResult:
        rows = [types.ResourceTemplate(uri_template=one.template, **_told(one)) for one in self._tables.templates]
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            found, media_type = await _shielded(self._tables.read(uri, caller_of(context)), f"the resource {uri}")
        except PeerError as error:
            raise _not_there(error, context, uri) from error
        body = {"text": found} if isinstance(found, str) else {"blob": base64.b64encode(found).decode()}
        return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, "mimeType": media_type, **body}]})

    # --- prompts and completion ---------------------------------------------------------------------------------------

    async def list_prompts(self, _context: Context, _: Page) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=one.name,
                    title=one.title,
                    description=one.about,
                    arguments=[
                        types.PromptArgument(name=name, description=about, required=True)
                        for name, about in one.arguments.items()
                    ],
                )
                for one in self._tables.prompts
            ]
        )

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name[:200]}")
        given = params.arguments or {}
        missing = next((name for name in prompt.arguments if name not in given), None)
        if missing is not None:
            raise MCPError(types.INVALID_PARAMS, f"{missing} is missing")
        try:
            said = await _shielded(prompt.messages(caller_of(context), given), f"the prompt {prompt.name}")
        except PeerError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        if isinstance(said, types.InputRequiredResult):
            return said
        return types.GetPromptResult.model_validate({"description": prompt.about, "messages": list(said)})

    async def complete(self, _context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        known = self._completions(params.ref)
        complete = known.get(params.argument.name)
        found = list(await complete(params.argument.value)) if complete else []
        shown = found[:_MOST_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(values=shown, total=len(found), has_more=len(shown) < len(found))
        )

    def _completions(self, of: types.PromptReference | types.ResourceTemplateReference) -> Mapping[str, Complete]:
        if isinstance(of, types.PromptReference):
            return self._prompts[of.name].complete if of.name in self._prompts else {}
        return next((one.complete for one in self._tables.templates if one.template == of.uri), {})


def _told(one: ResourceRow | TemplateRow) -> dict[str, Any]:
    """What a list says of a resource (Any: arguments of the package's classes)."""
    return {"name": one.name, "title": one.title, "description": one.about, "mime_type": one.media_type}


def _listed(one: ToolRow) -> types.Tool:
    return types.Tool(
        name=one.name,
        title=one.title,
        description=one.about,
        input_schema=dict(one.schema),
        annotations=types.ToolAnnotations(
            title=one.title, read_only_hint=one.read_only, destructive_hint=one.destructive, open_world_hint=False
        ),
    )


def _not_there(error: PeerError, context: Context, uri: str) -> MCPError:
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = types.INVALID_PARAMS if is_modern else _RESOURCE_NOT_FOUND
    return MCPError(code, error.detail, {"uri": uri})


async def _shielded(work: Awaitable[Any], what: str) -> Any:
    """What a row does; a bug of ours in it is logged, and told as such. Any: whatever the row returns."""
    try:
        return await work
    except (PeerError, MCPError):
        raise
    except Exception:  # noqa: BLE001 - one of the doors where our own bugs end: logged, and answered as one
        _LOG.exception("%s failed", what)
        raise MCPError(types.INTERNAL_ERROR, "something went wrong here") from None
