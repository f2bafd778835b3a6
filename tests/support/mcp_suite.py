"""What the official conformance suite of MCP wants a server to offer, on our server factory: `python -m
tests.support.mcp_suite` serves it and says `ready: URL`. The suite's own pages say what each tool is for."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from league.features.mcp.door import McpDoor
from league.features.mcp.tables import (
    McpCaller,
    Object,
    PromptRow,
    ResourceRow,
    ServerTables,
    TemplateRow,
    ToolRow,
    text,
    user_says,
)
from league.protocol.errors import PeerError
from league.transport.http import App, Response, loop_factory
from league.transport.http_server import serve

Call = Callable[[McpCaller, Object], Awaitable[Any]]

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE: Final = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
KEY: Final = b"of this test"
NOTHING: Final[Object] = {"type": "object", "properties": {}}
IMAGE: Final = {"type": "image", "data": PIXEL, "mimeType": "image/png"}


def embedded(uri: str, media_type: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": words}}


CONTENTS: Final[Mapping[str, list[dict[str, Any]]]] = {
    "test_simple_text": [{"type": "text", "text": "This is a simple text response for testing."}],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}
"""What some tools return, whoever calls them."""


HEADER: Final = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
WHOLE_SCHEMA: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""A schema must reach clients as it is."""


async def _returns(content: list[dict[str, Any]], _caller: McpCaller, _arguments: Object) -> dict[str, Any]:
    return {"content": content}


async def _fails(_caller: McpCaller, _arguments: Object) -> None:
    raise PeerError("E042", "This tool intentionally returns an error for testing")


# --- while a tool is called -------------------------------------------------------------------------------------------


async def _logs(caller: McpCaller, _arguments: Object) -> dict[str, Any]:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await caller.context.session.send_log_message("info", said, related_request_id=caller.context.request_id)
    return text("done")


async def _progresses(caller: McpCaller, _arguments: Object) -> dict[str, Any]:
    for progress in (0, 50, 100):
        await caller.context.session.report_progress(progress, 100)
    return text("done")


async def _samples(caller: McpCaller, arguments: Object) -> dict[str, Any]:
    asked = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=arguments["prompt"]))
    session, number = caller.context.session, caller.context.request_id
    answer = await session.create_message([asked], max_tokens=100, related_request_id=number)
    return text(f"LLM response: {answer.content.text}")


def _fields(**properties: Object) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT: Final = {"type": "string"}
CONTACT: Final = _fields(username=TEXT, email=TEXT)
DEFAULTS: Final = {
    "type": "object",
    "properties": {
        "name": {**TEXT, "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {**TEXT, "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
_TITLED: Final = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
_PLAIN: Final = {**TEXT, "enum": ["option1", "option2", "option3"]}
ENUMS: Final = _fields(
    untitledSingle=_PLAIN,
    titledSingle={**TEXT, "oneOf": _TITLED},
    legacyEnum={**TEXT, "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
    untitledMulti={"type": "array", "items": _PLAIN},
    titledMulti={"type": "array", "items": {"anyOf": _TITLED}},
)


async def _asks(schema: dict[str, Any], caller: McpCaller, arguments: Object) -> dict[str, Any]:
    said = arguments.get("message", "Please fill this in")
    answer = await caller.context.session.elicit_form(said, schema, related_request_id=caller.context.request_id)
    return text(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")


# --- with answers that come with the next call ------------------------------------------------------------------------


def _form(message: str, **properties: Object) -> dict[str, Any]:
    params = {"message": message, "requestedSchema": _fields(**properties)}
    return {"method": "elicitation/create", "params": params}


def _sampling(question: str) -> dict[str, Any]:
    asked = [{"role": "user", "content": {"type": "text", "text": question}}]
    return {"method": "sampling/createMessage", "params": {"messages": asked, "maxTokens": 100}}


NAME: Final = _form("What is your name?", name=TEXT)
ROOTS: Final = {"method": "roots/list", "params": {}}
CONFIRM: Final = _form("Please confirm", ok={"type": "boolean"})
QUESTIONS: Final[Mapping[str, tuple[Mapping[str, Object], ...]]] = {
    "test_input_required_result_elicitation": ({"user_name": NAME},),
    "test_input_required_result_sampling": ({"capital_question": _sampling("What is the capital of France?")},),
    "test_input_required_result_list_roots": ({"client_roots": ROOTS},),
    "test_input_required_result_request_state": ({"confirm": CONFIRM},),
    "test_input_required_result_tampered_state": ({"confirm": CONFIRM},),
    "test_input_required_result_multiple_inputs": (
        {"user_name": NAME, "greeting": _sampling("Generate a greeting"), "client_roots": ROOTS},
    ),
    "test_input_required_result_multi_round": (
        {"step1": _form("Step 1: What is your name?", name=TEXT)},
        {"step2": _form("Step 2: What is your favorite color?", color=TEXT)},
    ),
    "test_streaming_elicitation": ({"user_name": NAME},),
}
"""What some tools ask for, round by round."""


def _seal(round_number: int) -> str:
    return f"{round_number}.{hmac.digest(KEY, str(round_number).encode(), hashlib.sha256).hex()}"


def _round(state: str | None) -> int:
    """The round that a state was made for: nobody else can make one."""
    number = int(state.partition(".")[0]) if state and state.partition(".")[0].isdecimal() else 0
    if state and not hmac.compare_digest(state, _seal(number)):
        raise MCPError(types.INVALID_PARAMS, "this requestState is not ours")
    return number


def _answered(caller: McpCaller, asked: Mapping[str, Object]) -> dict[str, Any] | None:
    """The answers to these questions, if all are there and are what was asked for."""
    given = (caller.context.params or {}).get("inputResponses") or {}
    wanted = {"elicitation/create": "action", "sampling/createMessage": "content", "roots/list": "roots"}
    is_whole = all(wanted[one["method"]] in given.get(name, {}) for name, one in asked.items())
    return {name: given[name] for name in asked} if is_whole else None


async def _asks_in_rounds(rounds: tuple[Mapping[str, Object], ...], caller: McpCaller, _arguments: Object) -> Any:
    """Any: a result, or the package's own class for questions."""
    now = _round((caller.context.params or {}).get("requestState"))
    answers = _answered(caller, rounds[now])
    if answers is None:
        return _needs(rounds[now], _seal(now))
    if now + 1 < len(rounds):
        return _needs(rounds[now + 1], _seal(now + 1))
    return text(f"state-ok {json.dumps(answers)}")


def _needs(asked: Mapping[str, Object], state: str) -> types.InputRequiredResult:
    return types.InputRequiredResult.model_validate(
        {"resultType": "input_required", "inputRequests": asked, "requestState": state}
    )


async def _asks_what_the_client_can(caller: McpCaller, _arguments: Object) -> types.InputRequiredResult:
    can = caller.context.session.client_capabilities
    sampling = {"sample": _sampling("Say hello")} if can and can.sampling else {}
    return _needs({**sampling, **({"ask": NAME} if can and can.elicitation else {})}, _seal(0))


async def _needs_sampling(caller: McpCaller, _arguments: Object) -> dict[str, Any]:
    can = caller.context.session.client_capabilities
    if not (can and can.sampling):
        needed: Object = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client cannot sample", needed)
    return text("it can sample")


async def _prompt_of_an_answer(caller: McpCaller, _arguments: Object) -> Any:
    """Any: messages, or the package's own class for questions."""
    asked = {"user_context": _form("What context should the prompt use?", context=TEXT)}
    answers = _answered(caller, asked)
    return _needs(asked, _seal(0)) if answers is None else [user_says(f"Use the following context: {answers}")]


# --- all of it --------------------------------------------------------------------------------------------------------


def _tools() -> list[ToolRow]:
    calls: dict[str, tuple[Call, Object]] = {
        **{name: (partial(_returns, content), NOTHING) for name, content in CONTENTS.items()},
        **{name: (partial(_asks_in_rounds, rounds), NOTHING) for name, rounds in QUESTIONS.items()},
        "test_error_handling": (_fails, NOTHING),
        "test_tool_with_logging": (_logs, NOTHING),
        "test_logging_tool": (_logs, NOTHING),
        "test_tool_with_progress": (_progresses, NOTHING),
        "test_sampling": (_samples, _fields(prompt=TEXT)),
        "test_elicitation": (partial(_asks, CONTACT), _fields(message=TEXT)),
        "test_elicitation_sep1034_defaults": (partial(_asks, DEFAULTS), NOTHING),
        "test_elicitation_sep1330_enums": (partial(_asks, ENUMS), NOTHING),
        "test_input_required_result_capabilities": (_asks_what_the_client_can, NOTHING),
        "test_missing_capability": (_needs_sampling, NOTHING),
        "test_x_mcp_header": (partial(_returns, CONTENTS["test_simple_text"]), HEADER),
        "json_schema_2020_12_tool": (partial(_returns, CONTENTS["test_simple_text"]), WHOLE_SCHEMA),
    }
    return [ToolRow(name, name, "Of the suite.", schema, call) for name, (call, schema) in calls.items()]


def _prompts() -> list[PromptRow]:
    async def simple(_caller: McpCaller, _given: Mapping[str, str]) -> list[Any]:
        return [user_says("This is a simple prompt for testing.")]

    async def with_arguments(_caller: McpCaller, given: Mapping[str, str]) -> list[Any]:
        return [user_says(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]

    async def with_resource(_caller: McpCaller, given: Mapping[str, str]) -> list[Any]:
        content = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
        return [{"role": "user", "content": content}, user_says("Please process the embedded resource above.")]

    async def with_image(_caller: McpCaller, _given: Mapping[str, str]) -> list[Any]:
        return [{"role": "user", "content": IMAGE}, user_says("Please analyze the image above.")]

    row = partial(PromptRow, title="A prompt", about="Of the suite.")
    arguments = {"arg1": "the first", "arg2": "the second"}
    return [
        row("test_simple_prompt", messages=simple),
        row("test_prompt_with_arguments", messages=with_arguments, arguments=arguments),
        row("test_prompt_with_embedded_resource", messages=with_resource, arguments={"resourceUri": "which"}),
        row("test_prompt_with_image", messages=with_image),
        row("test_input_required_result_prompt", messages=_prompt_of_an_answer),
    ]


def suite_tables() -> ServerTables:
    """All that the suite asks for."""

    async def static(_caller: McpCaller) -> str:
        return "This is the content of the static text resource."

    async def binary(_caller: McpCaller) -> bytes:
        return b"\x89PNG"

    async def template(_caller: McpCaller, names: Mapping[str, str]) -> str:
        return json.dumps({"id": names["id"], "templateTest": True, "data": f"Data for ID: {names['id']}"})

    row = partial(ResourceRow, title="A resource", about="Of the suite.")
    resources = (
        row("test://static-text", "text", read=static, media_type="text/plain"),
        row("test://static-binary", "binary", read=binary, media_type="image/png"),
        row("test://watched-resource", "watched", read=static, media_type="text/plain"),
    )
    templates = (TemplateRow("test://template/{id}/data", "template", "A template", "Of the suite.", template),)
    return ServerTables(
        "suite", tools=_tools(), resources=resources, templates=templates, prompts=_prompts(), changed=_nothing_changes
    )


async def _nothing_changes(_seen: int) -> int:
    return await asyncio.Future()


async def main() -> None:
    logging.basicConfig(level=logging.WARNING)

    async def no_message(_raw: bytes, _origin: str, _authorization: str = "", *, is_mcp: bool = False) -> Response:
        return Response(404, b"{}")

    door = McpDoor(suite_tables, no_message)
    door.is_open = True
    server = await serve("127.0.0.1", 0, App(no_message, mcp=door))
    print(f"ready: http://127.0.0.1:{server.port}/mcp", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())
