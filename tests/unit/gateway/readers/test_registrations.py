"""Registering with managers of others: found out how, whatever they answer, and remembered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from league import letters
from league.calling.line import Sign
from league.events import DeviationRecorded, Registered
from league.machine import Address, Blame, Content, Failure, Pong, Refusal
from league.protocol.conventions import WAYS, Convention
from league.protocol.message.messages import LeagueRegisterRequest
from league.protocol.message.parts import RefereeMeta
from league.protocol.wire import jsonrpc
from tests.support.enrolling import ANSWER, MANAGER, META, START, Agent

REST = "http://127.0.0.1:8000/register"
EVERY_WAY = [(MANAGER, one) for one in Convention] + [(REST, Convention.BARE)]
NOT_UNDERSTOOD = Refusal("E036", "no such method", understood=False)


def put(agent: Agent) -> list[tuple[str, Convention]]:
    return [(one.to[0].endpoint, one.to[0].convention) for one in agent.sent]


def result(**content: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": content}).encode()


def kinds(agent: Agent) -> set[str]:
    """What was recorded of the manager."""
    recorded = [one for one in agent.journal if isinstance(one, DeviationRecorded)]
    assert {one.agent_id for one in recorded} <= {"league_manager"}
    assert len({(one.code, one.requirement) for one in recorded}) == len(recorded)
    return {one.requirement for one in recorded}


# --- finding out ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", range(len(EVERY_WAY)))
def test_what_is_not_understood_is_put_otherwise_at_once_until_somebody_understands(nth: int) -> None:
    agent = Agent().started()
    for _ in range(nth):
        agent.answer(NOT_UNDERSTOOD)
    assert put(agent) == EVERY_WAY[: nth + 1]
    assert {one.deadline for one in agent.sent} == {START + 10}
    agent.accept(token_scheme=None)
    (enrolled,) = (one for one in agent.journal if isinstance(one, Registered))
    expected = EVERY_WAY[nth][1] if EVERY_WAY[nth][0] == MANAGER else Convention.SPEC
    assert enrolled.convention == expected.value
    assert agent.membership.manager == Address("league_manager", MANAGER, "tok_P01_first", expected)


def test_when_nothing_was_understood_it_says_so_pauses_and_begins_again() -> None:
    agent = Agent().started()
    for pause in (2, 4, 8):
        for number, _ in enumerate(EVERY_WAY):
            assert agent.deadline is None
            agent.answer(Refusal("E036", f"no {number}", understood=False))
        assert agent.deadline == agent.now + pause
        assert "understands none of the ways" in agent.registration.trouble
        assert "no 0" in agent.registration.trouble
        agent.wait(pause)
    assert put(agent) == EVERY_WAY * 3 + EVERY_WAY[:1]
    agent.accept()
    assert agent.registration.trouble == ""


@pytest.mark.parametrize(
    "content",
    [
        Pong(),
        {"message_type": "LEAGUE_REGISTER_RESPONSE"},
        {**ANSWER, "message_type": "LEAGUE_REGISTER_RESPONSE"},
        {**ANSWER, "message_type": "GAME_OVER_ACK", "status": "ACKNOWLEDGED", "match_id": "R1M1"},
        result(status="ok"),
        result(status="error", message="unknown"),
        b'{"status": "ok"}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":{"error_code":"E003"}}}',
        b"no JSON",
    ],
)
def test_an_answer_that_says_nothing_of_us_is_no_answer(content: Content | dict[str, Any] | bytes) -> None:
    agent = Agent().started()
    agent.answer(content)
    assert agent.journal == []
    assert (agent.registration.rejected, agent.deadline) == (None, None)
    assert put(agent) == EVERY_WAY[:2]


@pytest.mark.parametrize("failure", [Failure.NOT_UNDERSTOOD, Failure.BROKEN])
def test_who_hangs_up_or_answers_with_a_status_alone_may_have_not_understood(failure: Failure) -> None:
    agent = Agent().started()
    agent.fail(failure, detail="answered with HTTP status 404")
    # Whoever answers without JSON-RPC probably speaks without it.
    second = Convention.BARE if failure is Failure.NOT_UNDERSTOOD else Convention.TYPE
    assert put(agent) == [EVERY_WAY[0], (MANAGER, second)]


@pytest.mark.parametrize("failure", [Failure.REFUSED, Failure.TIMEOUT, Failure.BUSY])
def test_silence_is_no_matter_of_words(failure: Failure) -> None:
    agent = Agent().started()
    agent.fail(failure)
    agent.wait(2)
    assert put(agent) == EVERY_WAY[:1] * 2


def test_a_manager_that_is_gone_is_asked_from_the_start_when_it_is_back() -> None:
    agent = Agent().started()
    agent.fail(Failure.BROKEN)
    agent.fail(Failure.REFUSED)
    agent.wait(2)
    assert put(agent) == [*EVERY_WAY[:2], EVERY_WAY[0]]


def test_a_failure_of_our_own_says_nothing_of_the_manager() -> None:
    agent = Agent().started()
    agent.fail(Failure.BROKEN, blame=Blame.LOCAL)
    agent.wait(2)
    assert put(agent) == EVERY_WAY[:1] * 2


def test_a_bug_of_the_managers_may_lie_in_how_it_was_asked() -> None:
    agent = Agent().started()
    agent.answer(Refusal("E099", "KeyError: 'message'"))
    assert "KeyError" in agent.registration.trouble
    agent.wait(2)
    assert put(agent) == EVERY_WAY[:2]


def test_strict_agents_speak_as_the_documents_say() -> None:
    agent = Agent(profile="strict").started()
    agent.answer(NOT_UNDERSTOOD)
    assert agent.deadline == START + 2
    agent.wait(2)
    assert put(agent) == EVERY_WAY[:1] * 2


def test_what_was_found_out_outlives_the_process() -> None:
    agent = Agent().started()
    agent.answer(NOT_UNDERSTOOD)
    agent.accept(token_scheme=None)
    before = agent.membership.snapshot()
    agent.restarted()
    assert agent.sent == []
    assert agent.membership.manager.convention is Convention.TYPE
    assert agent.membership.snapshot() == before


def test_coming_back_begins_with_what_worked() -> None:
    agent = Agent().started()
    agent.answer(NOT_UNDERSTOOD)
    agent.accept(token_scheme=None)
    agent.registration.request_refused("E012", agent.now)
    agent.answer(NOT_UNDERSTOOD)
    assert [convention for _, convention in put(agent)[2:]] == list(WAYS[Convention.TYPE][:2])
    agent.accept(auth_token="tok_P01_second")
    assert agent.membership.manager.convention is Convention.SPEC


def test_a_message_the_manager_must_understand_is_negotiated_and_what_it_understood_is_remembered() -> None:
    agent = Agent(RefereeMeta(**META)).started().accept()
    line, manager = agent.membership.line(), agent.membership.manager
    spoken = [line.routed(manager).convention]
    while line.next_form(Sign.REFUSED, None, False) is not None:
        spoken.append(line.routed(manager).convention)
    assert spoken == list(Convention)
    line.understood(structs.replace(manager, convention=Convention.NESTED), agent.now)
    assert agent.membership.manager.convention is Convention.NESTED
    assert agent.restarted().membership.manager.convention is Convention.NESTED


def test_a_bare_registration_holds_its_meta_twice_for_those_who_know_no_messages() -> None:
    agent = Agent().started()
    message = agent.last
    raw = letters.write_call(1, message, jsonrpc.encode_body(message), Address("x", REST, None, Convention.BARE))
    said = json.loads(raw)
    assert said["message_type"] == "LEAGUE_REGISTER_REQUEST"
    assert said["player_meta"].items() <= said.items()
    assert isinstance(message, LeagueRegisterRequest)
    assert said["contact_endpoint"] == message.player_meta.contact_endpoint


# --- answers ----------------------------------------------------------------------------------------------------------

_RESPONSE = "LEAGUE_REGISTER_RESPONSE"


@pytest.mark.parametrize(
    ("answer", "recorded"),
    [
        (result(message_type=_RESPONSE, status="ACCEPTED", player_id="P07"), set()),
        (
            result(message_type=_RESPONSE, status="ACCEPTED", player_id="P07", sender="manager:LM01"),
            {"ENVELOPE.sender"},
        ),
        (
            result(message_type=_RESPONSE, status="ACCEPTED", player_id="P07", sender="The League: main"),
            {"ENVELOPE.sender"},
        ),
        (
            result(message_type=_RESPONSE, status="ACCEPTED", player_id="P07", sender={"role": "manager"}),
            {"ENVELOPE.sender"},
        ),
        (result(message_type=_RESPONSE, status="REGISTERED", player_id="P07"), {f"{_RESPONSE}.status"}),
        (result(status="REGISTERED", player_id="P07"), {f"{_RESPONSE}.status", "ENVELOPE.message_type"}),
        (result(status="success", player_id="P07"), {f"{_RESPONSE}.status", "ENVELOPE.message_type"}),
        (result(success=True, player_id="P07"), {f"{_RESPONSE}.status", "ENVELOPE.message_type"}),
        (result(player_id="P07"), {f"{_RESPONSE}.status", "ENVELOPE.message_type"}),
        (result(message_type=_RESPONSE, status="ACCEPTED", agent_id="P07"), {f"{_RESPONSE}.player_id"}),
        (result(message_type="REGISTER_OK", status="ACCEPTED", player_id="P07"), {"ENVELOPE.message_type"}),
        (
            result(success=True, data={"player_id": "P07", "auth_token": "tok_x"}),
            {f"{_RESPONSE}.status", f"{_RESPONSE}.player_id", f"{_RESPONSE}.auth_token", "ENVELOPE.message_type"},
        ),
        (
            json.dumps({"status": "ACCEPTED", "player_id": "P07"}).encode(),
            {"ENVELOPE.message_type", "RPC.object"},
        ),
    ],
)
def test_an_acceptance_may_be_said_in_many_ways_and_each_is_recorded(answer: bytes, recorded: set[str]) -> None:
    agent = Agent().started()
    agent.answer(answer)
    assert agent.membership.agent_id == "P07"
    assert (agent.membership.league_id, agent.membership.agreement.derived_tokens) == ("", False)
    assert kinds(agent) == recorded


def test_a_token_may_be_called_token_and_is_kept_like_any_other() -> None:
    agent = Agent().started()
    agent.answer(result(status="ACCEPTED", player_id="P07", token="tok_secret"))
    assert agent.membership.manager.token == "tok_secret"
    assert "tok_secret" not in str(agent.journal)


@pytest.mark.requirement("REGISTER.takes_any_id")
def test_an_id_may_have_any_shape() -> None:
    agent = Agent(RefereeMeta(**META)).started()
    agent.answer(result(status="REGISTERED", referee_id="ref_e56ca731"))
    assert agent.membership.sender == "referee:ref_e56ca731"
    assert "REFEREE_REGISTER_RESPONSE.referee_id" in kinds(agent)


def test_one_type_for_both_roles_will_do() -> None:
    agent = Agent(RefereeMeta(**META)).started()
    agent.answer(result(message_type=_RESPONSE, status="ACCEPTED", referee_id="REF01"))
    assert agent.membership.agent_id == "REF01"


@pytest.mark.parametrize(
    "answer",
    [
        result(message_type=_RESPONSE, status="REJECTED", reason="full", error_code="E020"),
        result(message_type=_RESPONSE, success=False, reason="full", error_code="E020"),
        result(message_type=_RESPONSE, status="denied", reason="full", error_code="E020", player_id="P07"),
        result(message_type="LEAGUE_ERROR", status="ACCEPTED", player_id="P07", error_code="E020", reason="full"),
        result(status="REJECTED", player_id="P07", reason="full", error_code="E020"),
        result(success=False, player_id="P07", error={"error_code": "E020", "reason": "full"}),
    ],
)
def test_an_error_is_an_error_whatever_stands_beside_it(answer: bytes) -> None:
    agent = Agent().started()
    agent.answer(answer)
    assert agent.registration.rejected == Refusal("E020", "full")
    assert not agent.membership.is_registered


def test_what_a_manager_does_oddly_twice_is_recorded_once() -> None:
    agent = Agent().started()
    agent.answer(result(status="OK", player_id="P07"))
    agent.restarted().registration.request_refused("E012", agent.now)
    agent.answer(result(status="OK", player_id="P07"))
    assert [type(one) for one in agent.journal] == [Registered, DeviationRecorded, DeviationRecorded, Registered]
    assert len(kinds(agent)) == 2


def test_in_strict_only_the_documents_answer_counts() -> None:
    agent = Agent(profile="strict").started()
    agent.answer(result(status="REGISTERED", player_id="P07"))
    assert not agent.membership.is_registered
    assert agent.deadline == START + 2
