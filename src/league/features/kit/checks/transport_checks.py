"""HTTP and JSON-RPC (spec sections 2.1 to 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from league.features.kit.checks.outcome import (
    Check,
    CheckOutcome,
    broken,
    each,
    first_of,
    is_empty_ack,
    is_unanswered,
    kept,
    not_busy,
    untestable,
    warning,
)
from league.features.kit.driver.conventions import DOCUMENTED
from league.features.kit.driver.record import NO_ENDPOINT, AnswerPlace, Arrival, Probe, RunRecord
from league.machine import Failure
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import message_type_of
from league.protocol.message.judge import shown

SPEAKS: Final[Mapping[Convention, str]] = {
    Convention.TOOLS: "this player takes only MCP's tools/call",
    Convention.NESTED: "this player needs the message within params.message",
    Convention.BARE: "this player needs the message without JSON-RPC",
}
REFUSE_400: Final = ("JSON.", "RPC.object", "RPC.batch", "RPC.bad_id")
STATUSES: Final = {
    "HTTP: GET": 405,
    "HTTP: text/plain": 415,
    "HTTP: no media type": 415,
}
ACCESS_STATUSES: Final = {"HTTP: Origin": 403, "HTTP: Host": 421}
MOST_NAMED: Final = 3


def post_mcp(record: RunRecord, check: Check) -> CheckOutcome:
    probes = [probe for probe in record.probes if probe.proper or probe.kind]
    if not probes:
        return untestable("the kit sent nothing")
    first = probes[0]
    if all(probe.trouble is Failure.REFUSED for probe in probes):
        return broken(f"nobody can be reached: {first.response.detail}", check.advice, first)
    statuses = {probe.response.status for probe in probes if probe.trouble is None}
    if statuses and statuses <= set(NO_ENDPOINT):
        return broken(f"every POST is answered with status {first.response.status}", check.advice, first)
    if not statuses and any(probe.trouble is Failure.BROKEN for probe in probes):
        return broken(f"no POST gets an HTTP answer: {first.response.detail}", check.advice, first)
    if not statuses:
        return untestable("no POST was answered in time")
    return kept("POST is answered", probes)


def status_200(record: RunRecord, check: Check) -> CheckOutcome:
    answered = [probe for probe in record.proper() if probe.trouble is None]
    return each(
        check,
        answered,
        lambda probe: f"a JSON-RPC request was answered with status {probe.response.status}",
        f"{len(answered)} requests were answered with 200",
        # A message that is too large for the player is judged by its own clause.
        lambda probe: probe.response.status not in (200, 413),
    )


def other_statuses(record: RunRecord, check: Check) -> CheckOutcome:
    refused = {
        probe.label: 400
        for probe in record.probes
        if probe.label.startswith(REFUSE_400) and not probe.proper and _is_refusal(probe)
    }
    return _judge_statuses(record, check, {**refused, **STATUSES})


def _is_refusal(probe: Probe) -> bool:
    """Was it refused? A wrong request that was accepted is judged by the clause that it breaks."""
    return probe.trouble is None and (probe.parsed.error is not None or probe.response.status >= 300)


def origin_and_host(record: RunRecord, check: Check) -> CheckOutcome:
    return _judge_statuses(record, check, ACCESS_STATUSES)


def _judge_statuses(record: RunRecord, check: Check, statuses: Mapping[str, int]) -> CheckOutcome:
    """Compare the statuses of the requests with these labels."""
    probes = [probe for probe in not_busy(record.probes) if probe.label in statuses]
    wrong = [probe for probe in probes if probe.response.status != statuses[probe.label]]
    if not probes:
        return untestable("no request of this kind was refused")
    if not wrong:
        return kept("as the table says", probes)
    details = [f"{probe.label}: {probe.response.status or 'no answer'}, not {statuses[probe.label]}" for probe in wrong]
    return broken(first_of(details, MOST_NAMED, "; "), check.advice, *wrong)


# --- answers ----------------------------------------------------------------------------------------------------------


def echoes_id(record: RunRecord, check: Check) -> CheckOutcome:
    answered = [probe for probe in record.proper() if probe.trouble is None and probe.parsed.rpc is not None]
    if not any(probe.plain for probe in answered):
        return untestable(check.nothing)
    wrong = [probe for probe in answered if _other_id(probe)]
    if not wrong:
        return kept(f"{len(answered)} answers carry the id of their request")
    return _worst(wrong, _other_id, check.advice)


def _other_id(probe: Probe) -> str:
    rpc = probe.parsed.rpc or {}
    if rpc.get("jsonrpc") != "2.0":
        return f"the answer says jsonrpc {shown(rpc.get('jsonrpc'))}, not '2.0'"
    answer_id = rpc.get("id")
    if type(answer_id) is not type(probe.request_id) or answer_id != probe.request_id:
        return f"the request had id {probe.request_id!r}, the answer {shown(answer_id)}"
    return ""


def _worst(wrong: list[Probe], describe: Callable[[Probe], str], advice: str) -> CheckOutcome:
    """Return a failure for a message of the documents; for any other request, a warning."""
    plain = [probe for probe in wrong if probe.plain]
    if plain:
        return broken(f"{plain[0].kind}: {describe(plain[0])}", advice, *plain)
    return warning(f"{wrong[0].label}: {describe(wrong[0])}", advice, *wrong)


def one_answer(record: RunRecord, check: Check) -> CheckOutcome:
    if record.convention is Convention.BARE:
        return untestable("this player does not use JSON-RPC")
    probes = [probe for probe in record.proper() if _has_answer(probe)]
    if not probes:
        return untestable(check.nothing)
    wrong = [probe for probe in probes if _not_one_answer(probe)]
    if wrong:
        return _worst(wrong, _not_one_answer, check.advice)
    with_null = [probe for probe in probes if {"result", "error"} <= (probe.parsed.rpc or {}).keys()]
    if with_null:
        advice = "Leave `error` out of an answer that has a `result`: JSON-RPC 2.0 allows only one of them."
        return warning('the answer holds "error": null beside the result', advice, *with_null)
    return kept(f"{len(probes)} requests got one answer each")


def _has_answer(probe: Probe) -> bool:
    """Is there an answer that this clause judges, and no other clause does?"""
    if probe.trouble is Failure.TIMEOUT or is_empty_ack(probe):
        return False
    return probe.response.status not in (*NO_ENDPOINT, 413)


def _not_one_answer(probe: Probe) -> str:
    parsed = probe.parsed
    if parsed.trouble:
        return parsed.trouble
    if probe.response.has_second:
        return "a second answer followed the first"
    if parsed.place is AnswerPlace.BODY and probe.response.status >= 400:
        return f"the answer is not JSON-RPC: {parsed.error or parsed.content}"
    if parsed.place in (AnswerPlace.PARAMS, AnswerPlace.BODY):
        return f"the answer is in {parsed.place.value}; a JSON-RPC answer has it in `result`"
    return ""


# --- methods ----------------------------------------------------------------------------------------------------------


def understands_calls(record: RunRecord, check: Check) -> CheckOutcome:
    convention = record.convention
    assert convention is not None
    invitations = record.of("invitation")
    if convention is Convention.TOOLS:
        advice = "Also accept the verb or the message type as the method (2.3): not every league calls tools."
        return warning(f"a deviation: {SPEAKS[convention]}", advice, *invitations)
    if convention not in DOCUMENTED:
        detail = f"neither the verb nor the message type is understood as a method; {SPEAKS[convention]}"
        refusals = [probe for probe in record.tried if probe.kind == "GAME_INVITATION"]
        return broken(detail, check.advice, *refusals[:2], *invitations)
    packed = [probe for probe in record.probes if probe.plain and probe.parsed.place is AnswerPlace.CONTENT]
    if packed:
        advice = "Put the message itself into `result`; MCP content is for tools/call."
        return broken(f"{packed[0].kind}: the answer is in {AnswerPlace.CONTENT.value}", advice, *packed)
    if convention is Convention.SPEC:
        return kept("called by the verb", invitations)
    return kept("called by the message type", invitations)


def methods(record: RunRecord, check: Check) -> CheckOutcome:
    if record.convention not in DOCUMENTED:
        return untestable("this player understands no method of the table [PLAYER.understands_calls]")
    answered = [probe for probe in record.probes if probe.is_answered and not probe.label.startswith("method")]
    kinds = {probe.kind for probe in answered}
    probes = [probe for probe in not_busy(record.of("method")) if probe.kind in kinds]
    return each(
        check,
        probes,
        lambda probe: f"{probe.label} is not understood: {probe.why_not()}",
        "verbs and message types are understood",
        is_unanswered,
    )


def tools_call(record: RunRecord, check: Check) -> CheckOutcome:
    if record.convention is Convention.TOOLS:
        return kept("this is how the player is called", record.of("invitation"))
    tried = [probe for probe in record.tried if probe.method == "tools/call"]
    probes = not_busy([*record.of("tools/call"), *tried])[:1]

    def problem(probe: Probe) -> str:
        if not probe.is_answered:
            return f"tools/call is not understood: {probe.why_not()}"
        if probe in record.tried:
            return "tools/call is acknowledged, but not understood"
        return ""

    return each(check, probes, problem, "understood")


def ping(record: RunRecord, check: Check) -> CheckOutcome:
    probes = not_busy(record.of(*check.labels))
    answered = [probe for probe in probes if probe.is_answered]
    return each(check, answered or probes, lambda probe: f"ping: {probe.why_not()}", "answered", is_unanswered)


# --- the player's own requests ----------------------------------------------------------------------------------------


def _rpc_requests(record: RunRecord) -> list[Arrival]:
    return [request for request in _answered_requests(record) if "jsonrpc" in request.fields]


def _answered_requests(record: RunRecord) -> list[Arrival]:
    """Return the requests that got an answer; one without may be a trial of another convention."""
    return [request for request in record.requests() if request.answer is not None]


def integer_ids(record: RunRecord, check: Check) -> CheckOutcome:
    return each(
        check,
        _rpc_requests(record),
        lambda request: f"the id {request.fields['id']!r} is a string",
        "whole numbers",
        lambda request: isinstance(request.fields.get("id"), str),
    )


def own_request_ids(record: RunRecord, check: Check) -> CheckOutcome:
    def has_no_id(request: Arrival) -> bool:
        request_id = request.fields.get("id")
        return bool(request.kind) and (not isinstance(request_id, int | str) or isinstance(request_id, bool))

    return each(
        check,
        _rpc_requests(record),
        lambda request: f"a request of the player has the id {shown(request.fields.get('id'))}",
        "every request has one",
        has_no_id,
    )


def own_method(record: RunRecord, check: Check) -> CheckOutcome:
    requests = [request for request in _answered_requests(record) if request.kind]
    bare = [request for request in requests if "jsonrpc" not in request.fields]
    if bare:
        advice = 'Wrap your requests: {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": MESSAGE}.'
        return broken(f"{bare[0].kind} came without JSON-RPC", advice, bare[0])
    return each(
        check,
        requests,
        lambda request: f"{request.kind} came with the method {_called_method(request.fields)!r}",
        "the method fits the message",
        lambda request: message_type_of(str(_called_method(request.fields))) != request.kind,
    )


def _called_method(document: Mapping[str, Any]) -> object:
    """Return the method of a request, or the tool that it calls (Any: JSON)."""
    method = document.get("method")
    params = document.get("params")
    if method == "tools/call" and isinstance(params, dict):
        return params.get("name")
    return method
