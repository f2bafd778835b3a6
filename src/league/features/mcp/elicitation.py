"""Asks a person through an MCP client (elicitation), in either era of MCP. Imports the official package.

In the older era we ask within the tool call and wait. In the newer one the call returns the question; the client asks
its person and repeats the call with the reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from league.features.mcp import foreign_text
from league.features.mcp.subscriptions import Context
from league.protocol.errors import PeerError

CHOICE = "choice"
"""The name of the question, and of the field in its form."""
_CAN_ASK = types.ClientCapabilities(elicitation=types.ElicitationCapability())


class PersonsReply(NamedTuple):
    """What a client brings back from its person; no choice if the person made none."""

    turn_id: str
    choice: str | None


class PersonAtClient:
    """The person at the client that made a request."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def reply(self) -> PersonsReply | None:
        """Return the reply that a repeated request of the newer era brings; None for any other request."""
        params = self._context.params or {}
        replies = params.get("inputResponses")
        turn_id = params.get("requestState")
        if not isinstance(replies, Mapping) or not isinstance(turn_id, str):
            return None
        return PersonsReply(turn_id, _choice_in(replies.get(CHOICE)))

    async def ask(self, description: Mapping[str, Any], wait_s: float) -> Any:
        """Return the choice, None if the person makes none, or a result of the package that makes the client ask
        (Any)."""
        turn = description["turn"]
        question = types.ElicitRequestFormParams(
            message=_question(description),
            requested_schema=_form(turn["options"]),
        )
        # Most clients cannot ask. Their assistant can ask its person itself, if we tell it how to answer.
        if not self._context.session.check_client_capability(_CAN_ASK):
            raise PeerError(
                "E023",
                "this client cannot ask its person: use next_turn and answer_turn",
            )
        if self._context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # The client returns our state with the reply: so we know the turn, and keep nothing.
            requests: types.InputRequests = {CHOICE: types.ElicitRequest(params=question)}
            return types.InputRequiredResult(input_requests=requests, request_state=turn["turn_id"])
        try:
            async with asyncio.timeout(wait_s):
                return await self._ask_now(question)
        except TimeoutError:
            return None
        except MCPError as error:
            detail = f"this client did not ask its person ({error}): use next_turn and answer_turn"
            raise PeerError("E023", detail) from error

    async def _ask_now(self, question: types.ElicitRequestFormParams) -> str | None:
        reply = await self._context.session.elicit_form(
            question.message,
            question.requested_schema,
            self._context.request_id,
        )
        return _choice_in(reply.model_dump())


def _choice_in(reply: object) -> str | None:
    if not isinstance(reply, Mapping) or reply.get("action") != "accept":
        return None
    content = reply.get("content")
    if not isinstance(content, Mapping):
        return None
    choice = content.get(CHOICE)
    return choice if isinstance(choice, str) else None


def _form(options: list[str]) -> dict[str, Any]:
    """Make a form with one field, for one of the options (Any: JSON Schema)."""
    field = {"type": "string", "title": "Your choice", "enum": options}
    return {"type": "object", "properties": {CHOICE: field}, "required": [CHOICE]}


def _question(description: Mapping[str, Any]) -> str:
    turn = description["turn"]
    match = f"{turn['match_id']} ({turn['game_type']})"
    lines = [f"{match} against {turn['opponent']}: you have {turn['seconds_left']:.0f} seconds."]
    # A person reads this form: whose words they are is plain there.
    texts = description.get(foreign_text.FIELD, {"texts": {}})["texts"]
    for name, value in texts.get("shown", {}).items():
        lines.append(f"{name}: {value}")
    if "last_match" in texts:
        lines.append(f"Last match: {texts['last_match']}")
    return "\n".join(lines)
