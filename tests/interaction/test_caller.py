"""Calls over real HTTP to agents that want other words: found by asking, remembered, asked for anew when needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from league import letters
from league.agent.caller import Caller
from league.machine import Address
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.messages import Message
from league.protocol.wire import jsonrpc
from league.transport.http_client import HttpClient
from tests.support import dialects as d
from tests.support.peer import Peer, Received
from tests.support.questions import CALL, INVITATION
from tests.support.scripts import Reaction


def answers(peer: Peer, convention: Convention, *messages: Message, path: str = "/mcp") -> list[str | None]:
    """What kinds of answers a player gives to these calls, one after the other."""

    async def ask() -> list[str | None]:
        client = HttpClient()
        line, to = Caller(client), Address("P01", f"http://127.0.0.1:{peer.port}{path}", None, convention)
        found = []
        for message in messages:
            reply = await line.call(1, message, jsonrpc.encode_body(message), to, 30.0, 10_240)
            read = letters.read_answer(reply.body, message, Reading())
            found.append(read.message_type if isinstance(read, Unsealed) else None)
        await client.close()
        return found

    return asyncio.run(ask())


def methods(peer: Peer) -> list[str]:
    return [one.method for one in peer.received]


BOTH = ["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"]


def test_a_verb_of_another_spelling_is_tried_after_no_such_method_and_remembered() -> None:
    with Peer("Ann", convention=d.CHOOSE_PARITY) as peer:
        assert answers(peer, Convention.SPEC, CALL, CALL, CALL) == ["CHOOSE_PARITY_RESPONSE"] * 3
        assert methods(peer) == ["parity_choose", "choose_parity", "choose_parity", "choose_parity"]


@pytest.mark.requirement("DIALECT.tool_list")
def test_names_of_tools_are_asked_for_once_on_whatever_page_they_are() -> None:
    with Peer("Ann", convention=d.TOOLS_LISTED) as peer:
        assert answers(peer, Convention.TOOLS, INVITATION, CALL) == BOTH
        assert methods(peer) == [*["tools/list"] * 8, "tools/call", "tools/call"]


def test_who_wants_to_be_greeted_is_greeted_once() -> None:
    with Peer("Ann", convention=d.MCP_EVENTS) as peer:
        assert answers(peer, Convention.TOOLS, INVITATION, CALL) == BOTH
        greeting = ["tools/list", "initialize", "notifications/initialized", "tools/list"]
        assert methods(peer) == [*greeting, "tools/call", "tools/call"]


def test_a_session_that_is_over_is_opened_anew() -> None:
    def forgetful(request: Received, before: Sequence[Received]) -> Reaction | None:
        done = [one.method for one in before]
        if request.method == "tools/call" and "tools/call" in done and done.count("initialize") == 1:
            return Reaction(status=404, reason="Not Found", body=b"{}")
        return d.MCP_SESSION.aside(request, before)

    with Peer("Ann", convention=replace(d.MCP_SESSION, aside=forgetful)) as peer:
        assert answers(peer, Convention.TOOLS, INVITATION, CALL) == BOTH
        assert methods(peer).count("initialize") == 2


def test_the_usual_call_is_one_call() -> None:
    with Peer("Ann") as peer:
        assert answers(peer, Convention.SPEC, INVITATION, CALL) == BOTH
        assert methods(peer) == ["handle_game_invitation", "parity_choose"]


@pytest.mark.requirement("DIALECT.paths")
def test_an_endpoint_without_a_path_is_called_at_the_usual_one_if_it_has_nothing_there() -> None:
    with Peer("pathless", convention=d.only_at(b"/mcp", d.VERBS_ONLY)) as peer:
        assert answers(peer, Convention.SPEC, INVITATION, CALL, path="") == BOTH
        assert [one.head.split()[1] for one in peer.received] == [b"/", b"/mcp", b"/mcp"]


@pytest.mark.requirement("DIALECT.other_names")
def test_a_call_goes_by_the_type_that_its_player_knows() -> None:
    with Peer("asked", convention=d.CONVENTIONS["CHOOSE_PARITY_REQUEST"]) as peer:
        assert answers(peer, Convention.TYPE, INVITATION, CALL, CALL) == [*BOTH, BOTH[1]]
        kinds = [one.call["params"]["message_type"] for one in peer.received]
        assert kinds[1:] == ["CHOOSE_PARITY_CALL", "CHOOSE_PARITY_REQUEST", "CHOOSE_PARITY_REQUEST"]
