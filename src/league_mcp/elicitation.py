"""A person asked through their MCP client (elicitation), in either era of MCP. Imports the official package."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from league.protocol.errors import PeerError
from league_mcp.subscriptions import Context

CHOICE = "choice"
"""What the question, and the field of its form, is called."""


class PersonAtClient:
    """Whoever sits at the client that made this request."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def said(self) -> tuple[str | None, str | None]:
        """In the newer era the client repeats its request with the answer: the turn and the choice; (None, None) if
        this is no such request."""
        params = self._context.params or {}
        answers, turn_id = params.get("inputResponses"), params.get("requestState")
        if not isinstance(answers, Mapping) or not isinstance(turn_id, str):
            return None, None
        return turn_id, _choice_in(answers.get(CHOICE))

    async def ask(self, told: Mapping[str, Any], wait_s: float) -> Any:
        """The choice, None if the person makes none, or what makes the client ask and come again (Any: a result of the
        package)."""
        turn = told["turn"]
        question = types.ElicitRequestFormParams(message=_question(told), requested_schema=_form(turn["options"]))
        capability = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        if not self._context.session.check_client_capability(capability):
            raise PeerError("E023", "this client cannot ask its person: use next_turn and answer_turn")
        if self._context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            asked: types.InputRequests = {CHOICE: types.ElicitRequest(params=question)}
            return types.InputRequiredResult(input_requests=asked, request_state=turn["turn_id"])
        try:
            async with asyncio.timeout(wait_s):
                answer = await self._context.session.elicit_form(
                    question.message, question.requested_schema, self._context.request_id
                )
        except TimeoutError:
            return None
        except MCPError as error:
            raise PeerError(
                "E023", f"this client did not ask its person ({error}): use next_turn, answer_turn"
            ) from error
        return _choice_in(answer.model_dump())


def _choice_in(answer: object) -> str | None:
    if not isinstance(answer, Mapping) or answer.get("action") != "accept":
        return None
    content = answer.get("content")
    choice = content.get(CHOICE) if isinstance(content, Mapping) else None
    return choice if isinstance(choice, str) else None


def _form(options: list[str]) -> dict[str, Any]:
    """One field with the options to choose from (Any: JSON Schema)."""
    field = {"type": "string", "title": "Your choice", "enum": options}
    return {"type": "object", "properties": {CHOICE: field}, "required": [CHOICE]}


def _question(told: Mapping[str, Any]) -> str:
    turn = told["turn"]
    lines = [
        f"{turn['match_id']} ({turn['game_type']}) against {turn['opponent']}: {turn['seconds_left']:.0f} seconds."
    ]
    lines += [f"{name}: {value}" for name, value in turn["shown"].items()]
    lines += [f"Last match: {told['last_match']}"] if told["last_match"] else []
    return "\n".join(lines)
