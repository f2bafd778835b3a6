"""Tools of MCP servers: the right one is found, and given what it declares and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import letters
from league.gateway import forms
from league.gateway.readers import tools
from league.gateway.readers.tools import NO_SESSION, WITHOUT_HANDSHAKE, Session, Tool, ToolList
from league.machine import Refusal
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.messages import ChooseParityResponse, GameJoinAck, GameMoveResponse, Message
from league.protocol.wire import jsonrpc
from tests.support.questions import CALL, INVITATION, MOVE

MESSAGE: dict[str, Any] = json.loads(jsonrpc.encode_body(INVITATION))
OVER: dict[str, Any] = {
    "message_type": "GAME_OVER",
    "match_id": "R1M1",
    "game_result": {"status": "WIN", "drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}},
    "reason": None,
}
TEXT, OBJECT = {"type": "string"}, {"type": "object"}


def given(schema: object, message: dict[str, Any] = MESSAGE) -> dict[str, Any]:
    """The arguments a tool with this schema is given."""
    listing = ToolList()
    listing.add({"tools": [{"name": "t", "inputSchema": schema}, {"name": 7}, "x"]})
    (tool,) = listing.tools
    return dict(tools.arguments(tool, message))


def test_a_tool_for_registrations_gets_the_name_and_the_address_by_the_names_it_declares() -> None:
    meta = {"display_name": "Ann", "version": "1.0.0", "contact_endpoint": "http://127.0.0.1:8001/mcp"}
    message = {"message_type": "REFEREE_REGISTER_REQUEST", "referee_meta": meta}
    declared = {"properties": {"referee_id": TEXT, "endpoint": TEXT, "version": TEXT}, "required": ["referee_id"]}
    assert given(declared, message) == {
        "referee_id": "Ann",
        "endpoint": "http://127.0.0.1:8001/mcp",
        "version": "1.0.0",
    }
    assert given({"properties": {"referee_meta": OBJECT}}, message) == {"referee_meta": meta}
    assert given({"properties": {"body": OBJECT}}, message) == {"body": message}


@pytest.mark.parametrize(
    ("names", "message_type", "found"),
    [
        (["handle_game_invitation", "parity_choose"], "CHOOSE_PARITY_CALL", "parity_choose"),
        (["choose_parity"], "CHOOSE_PARITY_CALL", "choose_parity"),
        (["receive_game_invitation", "receive_game_over"], "GAME_OVER", "receive_game_over"),
        (["notify_standings"], "LEAGUE_STANDINGS_UPDATE", "notify_standings"),
        (["on_invited_to_game", "pick_a_parity"], "GAME_INVITATION", "on_invited_to_game"),
        (["handle_message"], "GAME_OVER", "handle_message"),
        (["weather"], "GAME_OVER", None),
    ],
)
def test_the_tool_for_a_message_is_found_by_its_name(names: list[str], message_type: str, found: str | None) -> None:
    picked = tools.pick(message_type, map(Tool, names))
    assert (picked.name if picked else None) == found


def test_a_tool_that_names_the_message_in_its_description_is_the_one_for_it() -> None:
    offered = [Tool("finish", "Takes GAME_OVER."), Tool("result_page", "Shows GAME_OVERVIEW.")]
    assert tools.pick("GAME_OVER", offered) == offered[0]


def listing(*pages: object) -> tuple[str, list[object]]:
    """The tools that these pages come to, and what was asked for."""
    found = ToolList()
    asked: list[object] = []
    for page in pages:
        assert found.params is not None
        asked.append(dict(found.params))
        found.add(page)
    assert found.params is None
    return "".join(tool.name for tool in found.tools), asked


@pytest.mark.requirement("DIALECT.tool_list")
def test_a_list_of_tools_is_read_to_its_last_page() -> None:
    pages = ({"tools": [{"name": name}], "nextCursor": cursor} for name, cursor in ("ab", "bc"))
    assert listing(*pages, {"tools": [{"name": "c"}]}) == ("abc", [{}, {"cursor": "b"}, {"cursor": "c"}])


@pytest.mark.parametrize("last", [None, {}, {"tools": 7}, {"nextCursor": None}, {"nextCursor": 7}, {"nextCursor": "b"}])
def test_a_page_that_leads_nowhere_ends_the_list_and_spoils_nothing(last: object) -> None:
    first = {"tools": [{"name": "a"}], "nextCursor": "b"}
    assert listing(first, last) == ("a", [{}, {"cursor": "b"}])


def test_a_list_without_end_is_given_up() -> None:
    pages = [{"tools": [{"name": "a"}], "nextCursor": str(number)} for number in range(tools.PAGES)]
    names, asked = listing(*pages)
    assert (names, len(asked)) == ("a" * tools.PAGES, tools.PAGES)
    assert listing({"nextCursor": "x" * (tools.LONGEST_CURSOR + 1)}) == ("", [{}])


@pytest.mark.requirement("DIALECT.tool_arguments")
@pytest.mark.parametrize("strictness", [{}, {"additionalProperties": False}])
def test_a_tool_is_given_the_fields_it_declares_and_nothing_else(strictness: dict[str, Any]) -> None:
    schema = {"properties": {"match_id": TEXT, "round_id": {"type": "integer"}, "mood": TEXT}, **strictness}
    assert given(schema) == {"match_id": "R1M1", "round_id": 1}
    assert given({"properties": {}, **strictness}) == {}


@pytest.mark.parametrize("schema", [{"type": "object"}, {}, None, 7, {"properties": []}])
def test_who_declares_nothing_gets_the_message_as_it_is(schema: object) -> None:
    assert given(schema) == MESSAGE


def test_who_declares_that_anything_goes_gets_everything() -> None:
    assert given({"properties": {"match_id": TEXT}, "additionalProperties": True}) == MESSAGE


@pytest.mark.requirement("DIALECT.tool_arguments")
@pytest.mark.parametrize(
    "parameter",
    [
        OBJECT,
        {},
        {"type": "object", "additionalProperties": True},
        {"anyOf": [OBJECT, {"type": "null"}]},
        {"type": ["object", "null"]},
        {"$ref": "#/$defs/Anything"},
    ],
)
def test_a_parameter_that_is_no_field_takes_the_whole_message(parameter: object) -> None:
    schema = {"properties": {"message": parameter, "debug": {"type": "boolean"}}, "$defs": {"Anything": OBJECT}}
    assert given(schema) == {"message": MESSAGE}


@pytest.mark.requirement("DIALECT.tool_arguments")
def test_a_tool_that_moves_may_declare_what_the_move_is_asked_by() -> None:
    message = json.loads(jsonrpc.encode_body(MOVE))
    rows = {"type": "array", "items": TEXT}
    assert given({"properties": {"valid_options": rows, "context": OBJECT}, "required": ["context"]}, message) == {
        "valid_options": ["0", "4"],
        "context": {"turn": 1},
    }
    assert given({"properties": {"move_request": OBJECT}}, message) == {"move_request": message["move_request"]}
    assert given({"properties": {"call": OBJECT}}, message) == {"call": message}


def test_a_field_is_never_taken_for_a_wrapper() -> None:
    assert given({"properties": {"game_result": OBJECT}}, OVER) == {"game_result": OVER["game_result"]}
    assert given({"properties": {"draw_commitment": TEXT}}) == {}


def test_an_object_that_is_needed_beside_fields_is_the_message_and_one_that_is_not_stays_away() -> None:
    properties = {"match_id": TEXT, "message": OBJECT, "options": OBJECT}
    found = given({"properties": properties, "required": ["match_id", "message"]})
    assert found == {"match_id": "R1M1", "message": MESSAGE}


def test_a_parameter_of_text_takes_the_message_as_json() -> None:
    found = given({"properties": {"message": TEXT}, "required": ["message"]})
    assert json.loads(found["message"]) == MESSAGE


@pytest.mark.requirement("DIALECT.tool_arguments")
def test_a_model_within_the_schema_is_given_the_fields_it_declares() -> None:
    model = {"type": "object", "properties": {"match_id": TEXT, "opponent_id": TEXT}, "additionalProperties": False}
    schema = {"properties": {"params": {"$ref": "#/$defs/Invitation"}}, "$defs": {"Invitation": model}}
    assert given(schema) == {"params": {"match_id": "R1M1", "opponent_id": "P02"}}


def test_values_are_given_as_they_are_declared() -> None:
    result = {"type": "object", "properties": {"status": TEXT}, "additionalProperties": False}
    assert given({"properties": {"game_result": result}}, OVER) == {"game_result": {"status": "WIN"}}
    as_text = given({"properties": {"game_result": TEXT}}, OVER)
    assert json.loads(as_text["game_result"]) == OVER["game_result"]
    assert given({"properties": {"round_id": TEXT}}) == {"round_id": "1"}
    assert given({"properties": {"round_id": {"type": "number"}}}) == {"round_id": 1}
    assert given({"properties": {"reason": TEXT}}, OVER) == {}
    assert given({"properties": {"reason": {"anyOf": [TEXT, {"type": "null"}]}}}, OVER) == {"reason": None}
    rows = {"type": "array", "items": result}
    table = {"message_type": "X", "rows": [{"status": "WIN", "more": 1}]}
    assert given({"properties": {"rows": rows}}, table) == {"rows": [{"status": "WIN"}]}


def test_a_schema_that_refers_to_itself_ends() -> None:
    loop = {"$ref": "#/$defs/A"}
    assert given({"properties": {"message": loop}, "$defs": {"A": loop}}) == {"message": MESSAGE}
    nested = {"type": "object", "properties": {"inner": {"$ref": "#/$defs/A"}}}
    found: Any = given({"properties": {"inner": {"$ref": "#/$defs/A"}}, "$defs": {"A": nested}})
    for _ in range(tools.DEEPEST):
        found = found["inner"]
    assert found == MESSAGE


# --- what a tool returns ----------------------------------------------------------------------------------------------


def read(result: object, sent: Message = CALL) -> object:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    return letters.read_answer(raw, sent, Reading())


def text(said: str, **more: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


@pytest.mark.requirement("DIALECT.tool_results")
@pytest.mark.parametrize(
    "result",
    [
        text("even"),
        text('"even"'),
        text("even", structuredContent={"result": "even"}, isError=False),
        text('{"parity_choice": "even"}'),
        text("", structuredContent={"parity_choice": "even"}),
        text('{\n  "choice": "even"\n}'),
    ],
)
def test_a_bare_choice_that_a_tool_returns_is_an_answer(result: object) -> None:
    answer = read(result)
    assert isinstance(answer, Unsealed)
    assert isinstance(answer.message, ChooseParityResponse)
    assert answer.message.parity_choice == "even"
    assert answer.deviations


def test_a_bare_choice_is_judged_as_it_stands() -> None:
    answer = read(text("Even"))
    assert isinstance(answer, Unsealed)
    assert [one.requirement for one in answer.violations] == ["CHOOSE_PARITY_RESPONSE.parity_choice"]


@pytest.mark.requirement("DIALECT.tool_results")
@pytest.mark.parametrize(
    "result",
    [
        text("4"),
        text('"4"'),
        text("4", structuredContent={"result": "4"}),
        text("4", structuredContent={"result": 4}),
        text('{"choice": "4"}'),
        text("", structuredContent={"move_data": {"move_type": "mark_cell", "choice": "4"}}),
    ],
)
def test_a_bare_move_that_a_tool_returns_is_an_answer_in_any_game(result: object) -> None:
    answer = read(result, MOVE)
    assert isinstance(answer, Unsealed)
    assert isinstance(answer.message, GameMoveResponse)
    assert (answer.message.move_data.move_type, answer.message.move_data.choice) == ("mark_cell", "4")
    assert answer.deviations


@pytest.mark.parametrize("said", ["5", "true", "even", "I take 45", ""])
def test_what_is_no_option_is_no_move(said: str) -> None:
    assert not isinstance(read(text(said), MOVE), Unsealed)


@pytest.mark.parametrize("said", ["I would rather think", "Done.", "uneven", "7", ""])
def test_other_text_is_no_choice(said: str) -> None:
    assert not isinstance(read(text(said)), Unsealed)


@pytest.mark.parametrize("said", ["My choice: ODD", "I would rather take even today"])
def test_a_sentence_that_names_an_option_is_a_wrong_answer_at_once(said: str) -> None:
    answer = read(text(said))
    assert isinstance(answer, Unsealed)
    assert [violation.code for violation in answer.violations if violation.path == "parity_choice"] == ["E004"]
    moved = read(text(f"{said}, so 4"), MOVE)
    assert isinstance(moved, Unsealed)
    assert isinstance(moved.message, GameMoveResponse)
    assert moved.message.move_data.choice == f"{said}, so 4"


@pytest.mark.requirement("DIALECT.tool_results")
@pytest.mark.parametrize(
    ("result", "accept"),
    [
        (text("true", structuredContent={"result": True}), True),
        (text("false"), False),
        (text("accepted"), True),
        (text('{"accept": true}'), True),
    ],
)
def test_a_bare_word_that_a_tool_returns_joins_or_declines(result: object, accept: bool) -> None:
    answer = read(result, INVITATION)
    assert isinstance(answer, Unsealed)
    assert isinstance(answer.message, GameJoinAck)
    assert answer.message.accept is accept


@pytest.mark.requirement("DIALECT.tool_results")
@pytest.mark.parametrize(
    "said",
    [
        "Error executing tool choose_parity: match R1M1 is not known",
        "Error calling tool 'choose_parity': strategy not found",
        "1 validation error for call[choose_parity]\nmatch_id\n  Missing required argument",
    ],
)
def test_a_tool_that_failed_was_understood_and_is_quoted(said: str) -> None:
    answer = read(text(said, isError=True))
    assert isinstance(answer, Refusal)
    assert answer.understood
    assert answer.words == " ".join(said.split())


@pytest.mark.parametrize("said", ["Unknown tool: choose_parity", "Tool choose_parity not found"])
def test_a_tool_that_is_not_there_was_not_understood(said: str) -> None:
    answer = read(text(said, isError=True))
    assert isinstance(answer, Refusal)
    assert (answer.understood, answer.code) == (False, "E036")


# --- eras -------------------------------------------------------------------------------------------------------------


def test_a_session_says_what_the_handshake_came_to() -> None:
    opened = tools.greeted({"protocolVersion": "2025-11-25"}, "s1")
    assert opened.headers("tools/call", "t") == (("Mcp-Session-Id", "s1"), ("MCP-Protocol-Version", "2025-11-25"))
    assert opened.params({"name": "t"}) == {"name": "t"}
    assert NO_SESSION.headers("tools/call", "t") == ()


@pytest.mark.parametrize("version", [None, 7, "1\r\nX: y", "soon"])
def test_a_version_that_is_none_never_becomes_a_header(version: object) -> None:
    assert tools.greeted({"protocolVersion": version}, "") == Session(tools.HANDSHAKE)


@pytest.mark.requirement("DIALECT.mcp_eras")
def test_a_request_without_a_session_says_all_about_itself() -> None:
    headers = dict(WITHOUT_HANDSHAKE.headers("tools/call", "choose_parity"))
    assert headers == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "choose_parity",
    }
    raw = forms.frame(Convention.TOOLS, 1, Tool("choose_parity"), jsonrpc.encode_body(CALL), WITHOUT_HANDSHAKE)
    meta = json.loads(raw)["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


@pytest.mark.parametrize("name", ["wähle", "a b", "x\r\nAuthorization: no", "\ud800"])
def test_the_name_of_a_tool_cannot_break_a_header(name: str) -> None:
    value = dict(WITHOUT_HANDSHAKE.headers("tools/call", name))["Mcp-Name"]
    assert value.startswith("=?base64?")
    assert value.isascii()
    assert value.isprintable()
