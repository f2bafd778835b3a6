"""HTTP and JSON-RPC (spec sections 2.1 to 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from league.protocol.conventions import Convention
from league.protocol.exchanges import message_type_of
from league.protocol.judge import shown
from league_kit.checks.common import (
    NOT_SENT,
    if_joined,
    if_reached,
    is_empty_ack,
    not_busy,
    refused,
)
from league_kit.kit_conventions import DOCUMENTED
from league_kit.kit_wire import Trouble
from league_kit.outcome import (
    Check,
    CheckOutcome,
    broken,
    first_of,
    kept,
    untestable,
    warning,
)
from league_kit.record import NO_ENDPOINT, AnswerPlace, Arrival, Probe, RunRecord

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


def post_mcp(record: RunRecord) -> CheckOutcome:
    probes = [probe for probe in record.probes if probe.proper or probe.kind]
    if not probes:
        return untestable("the kit sent nothing")
    first = probes[0]
    advice = "Listen at exactly this address and accept POST requests with Content-Type: application/json."
    if all(probe.trouble is Trouble.REFUSED for probe in probes):
        return broken(f"nobody can be reached: {first.response.detail}", advice, first)
    statuses = {probe.response.status for probe in probes if probe.trouble is None}
    if statuses and statuses <= set(NO_ENDPOINT):
        return broken(f"every POST is answered with status {first.response.status}", advice, first)
    if not statuses and any(probe.trouble is Trouble.BROKEN for probe in probes):
        return broken(f"no POST gets an HTTP answer: {first.response.detail}", advice, first)
    if not statuses:
        return untestable("no POST was answered in time")
    return kept("POST is answered", probes)


@if_reached
def status_200(record: RunRecord) -> CheckOutcome:
    answered = [probe for probe in record.proper() if probe.trouble is None]
    if not answered:
        return untestable("nothing was answered")
    for probe in answered:
        status = probe.response.status
        # A message that is too large for the player is judged by its own clause.
        if status not in (200, 413):
            advice = "Answer every JSON-RPC request with 200, even with an error: callers ignore other answers."
            return broken(f"a JSON-RPC request was answered with status {status}", advice, probe)
    return kept(f"{len(answered)} requests were answered with 200")


class _ExpectedStatus(NamedTuple):
    probe: Probe
    status: int


@if_reached
def other_statuses(record: RunRecord) -> CheckOutcome:
    expected: list[_ExpectedStatus] = []
    for probe in not_busy(record.probes):
        if probe.label in STATUSES:
            expected.append(_ExpectedStatus(probe, STATUSES[probe.label]))
        elif probe.label.startswith(REFUSE_400) and not probe.proper and _is_refusal(probe):
            expected.append(_ExpectedStatus(probe, 400))
    return _judge_statuses(expected)


def _is_refusal(probe: Probe) -> bool:
    """Was it refused? A wrong request that was accepted is judged by the clause that it breaks."""
    return probe.trouble is None and (probe.parsed.error is not None or probe.response.status >= 300)


@if_reached
def origin_and_host(record: RunRecord) -> CheckOutcome:
    probes = [probe for probe in not_busy(record.probes) if probe.label in ACCESS_STATUSES]
    return _judge_statuses([_ExpectedStatus(probe, ACCESS_STATUSES[probe.label]) for probe in probes])


def _judge_statuses(expected: list[_ExpectedStatus]) -> CheckOutcome:
    if not expected:
        return untestable("no request of this kind was refused")
    wrong = [row for row in expected if row.probe.response.status != row.status]
    if not wrong:
        return kept("as the table says", [row.probe for row in expected])
    details = [f"{row.probe.label}: {row.probe.response.status or 'no answer'}, not {row.status}" for row in wrong]
    return broken(
        first_of(details, MOST_NAMED, "; "),
        "Use the statuses of the table in 2.4.",
        *(row.probe for row in wrong),
    )


# --- answers ----------------------------------------------------------------------------------------------------------


@if_reached
def echoes_id(record: RunRecord) -> CheckOutcome:
    answered = [probe for probe in record.proper() if probe.trouble is None and probe.parsed.rpc is not None]
    if not any(probe.plain for probe in answered):
        return untestable("no answer to a message is a JSON-RPC object [RPC.one_answer]")
    wrong = [probe for probe in answered if _other_id(probe)]
    if not wrong:
        return kept(f"{len(answered)} answers carry the id of their request")
    return _worst(
        wrong,
        _other_id,
        "Copy jsonrpc and id of the request into the answer: a number stays a number.",
    )


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


@if_reached
def one_answer(record: RunRecord) -> CheckOutcome:
    if record.convention is Convention.BARE:
        return untestable("this player does not use JSON-RPC")
    probes = [probe for probe in record.proper() if _has_answer(probe)]
    if not probes:
        return untestable("nothing was answered")
    wrong = [probe for probe in probes if _not_one_answer(probe)]
    if wrong:
        advice = "Answer each request with one JSON-RPC object that holds either `result` or `error`."
        return _worst(wrong, _not_one_answer, advice)
    with_null = [probe for probe in probes if {"result", "error"} <= (probe.parsed.rpc or {}).keys()]
    if with_null:
        advice = "Leave `error` out of an answer that has a `result`: JSON-RPC 2.0 allows only one of them."
        return warning('the answer holds "error": null beside the result', advice, *with_null)
    return kept(f"{len(probes)} requests got one answer each")


def _has_answer(probe: Probe) -> bool:
    """Is there an answer that this clause judges, and no other clause does?"""
    if probe.trouble is Trouble.TIMEOUT or is_empty_ack(probe):
        return False
    return probe.response.status not in (*NO_ENDPOINT, 413)


def _not_one_answer(probe: Probe) -> str:
    parsed = probe.parsed
    if parsed.trouble:
        return parsed.trouble
    if probe.response.rest:
        return "a second answer followed the first"
    if parsed.place is AnswerPlace.BODY and probe.response.status >= 400:
        return f"the answer is not JSON-RPC: {parsed.error or parsed.content}"
    if parsed.place in (AnswerPlace.PARAMS, AnswerPlace.BODY):
        return f"the answer is in {parsed.place.value}; a JSON-RPC answer has it in `result`"
    return ""


# --- methods ----------------------------------------------------------------------------------------------------------


@if_joined
def understands_calls(record: RunRecord) -> CheckOutcome:
    convention = record.convention
    assert convention is not None
    invitations = record.of("invitation")
    if convention is Convention.TOOLS:
        advice = "Also accept the verb or the message type as the method (2.3): not every league calls tools."
        return warning(f"a deviation: {SPEAKS[convention]}", advice, *invitations)
    if convention not in DOCUMENTED:
        advice = "Accept the verb or the message type as the method (2.3), and the message itself as params."
        detail = f"neither the verb nor the message type is understood as a method; {SPEAKS[convention]}"
        refusals = [probe for probe in record.tried if probe.kind == "GAME_INVITATION"]
        return broken(detail, advice, *refusals[:2], *invitations)
    packed = [probe for probe in record.probes if probe.plain and probe.parsed.place is AnswerPlace.CONTENT]
    if packed:
        advice = "Put the message itself into `result`; MCP content is for tools/call."
        return broken(f"{packed[0].kind}: the answer is in {AnswerPlace.CONTENT.value}", advice, *packed)
    if convention is Convention.SPEC:
        return kept("called by the verb", invitations)
    return kept("called by the message type", invitations)


@if_joined
def methods(record: RunRecord) -> CheckOutcome:
    if record.convention not in DOCUMENTED:
        return untestable("this player understands no method of the table [PLAYER.understands_calls]")
    answered = [probe for probe in record.probes if probe.is_answered and not probe.label.startswith("method")]
    kinds = {probe.kind for probe in answered}
    probes = [probe for probe in not_busy(record.of("method")) if probe.kind in kinds]
    if not probes:
        return untestable("the kit did not ask")
    for probe in probes:
        if not probe.is_answered:
            name = probe.label.partition(": ")[2]
            advice = "Go by params.message_type, and accept the verb or the message type in any case as the method."
            return broken(f"the method {name!r} is not understood: {probe.why_not()}", advice, probe)
    return kept("verbs and message types are understood", probes)


@if_joined
def tools_call(record: RunRecord) -> CheckOutcome:
    if record.convention is Convention.TOOLS:
        return kept("this is how the player is called", record.of("invitation"))
    tried = [probe for probe in record.tried if probe.method == "tools/call"]
    probes = not_busy([*record.of("tools/call"), *tried])
    if not probes:
        return untestable("the kit did not ask")
    advice = "Understand tools/call: its params.name is the method, its params.arguments the message."
    if probes[0] in record.tried and probes[0].is_answered:
        return broken("tools/call is acknowledged, but not understood", advice, probes[0])
    if probes[0].is_answered:
        return kept("understood", probes)
    return broken(f"tools/call is not understood: {probes[0].why_not()}", advice, probes[0])


@if_reached
def ping(record: RunRecord) -> CheckOutcome:
    probes = not_busy(record.of("ping", "ping afterwards"))
    if not probes:
        return untestable(NOT_SENT)
    answered = [probe for probe in probes if probe.is_answered]
    if answered:
        return kept("answered", answered)
    advice = "Answer the method `ping` with a result; {} will do. Managers use it to see whether you are there."
    return broken(f"ping: {probes[0].why_not()}", advice, probes[0])


# --- the player's own requests ----------------------------------------------------------------------------------------


_NO_REQUEST: Final = "the player sent the kit no request of its own"


def _rpc_requests(record: RunRecord) -> list[Arrival]:
    return [request for request in _answered_requests(record) if "jsonrpc" in request.fields]


def _answered_requests(record: RunRecord) -> list[Arrival]:
    """Return the requests that got an answer; one without may be a trial of another convention."""
    return [request for request in record.requests() if request.answer is not None]


def integer_ids(record: RunRecord) -> CheckOutcome:
    requests = _rpc_requests(record)
    if not requests:
        return untestable(_NO_REQUEST)
    for request in requests:
        request_id = request.fields.get("id")
        if isinstance(request_id, str):
            advice = "Number your requests: 1, 2, 3; some agents accept nothing else."
            return broken(f"the id {request_id!r} is a string", advice, request)
    return kept("whole numbers", requests)


def own_id(record: RunRecord) -> CheckOutcome:
    requests = _rpc_requests(record)
    if not requests:
        return untestable(_NO_REQUEST)
    for request in requests:
        request_id = request.fields.get("id")
        is_id = isinstance(request_id, int | str) and not isinstance(request_id, bool)
        if request.kind and not is_id:
            advice = "Give every request an id, a whole number, so that its answer can be told apart."
            return broken(f"a request of the player has the id {shown(request_id)}", advice, request)
    return kept("every request has one", requests)


def own_method(record: RunRecord) -> CheckOutcome:
    requests = [request for request in _answered_requests(record) if request.kind]
    if not requests:
        return untestable("the player sent the kit no message of its own")
    for request in requests:
        if "jsonrpc" not in request.fields:
            advice = 'Wrap your requests: {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": MESSAGE}.'
            return broken(f"{request.kind} came without JSON-RPC", advice, request)
        method = _called_method(request.fields)
        if not isinstance(method, str) or message_type_of(method) != request.kind:
            advice = "Use the verb of the table in 6.1, such as register_player."
            return broken(f"{request.kind} came with the method {method!r}", advice, request)
    return kept("the method fits the message", requests)


def _called_method(document: Mapping[str, Any]) -> object:
    """Return the method of a request, or the tool that it calls (Any: JSON)."""
    method = document.get("method")
    params = document.get("params")
    if method == "tools/call" and isinstance(params, dict):
        return params.get("name")
    return method


class _Refusal(NamedTuple):
    """The code with which a request is refused, and what to change if it is not."""

    code: str
    advice: str


REFUSED: Final[Mapping[str, _Refusal]] = {
    "RPC.object": _Refusal("E035", 'Refuse a request without "jsonrpc": "2.0".'),
    "RPC.batch": _Refusal("E035", "Refuse an array with one error, and carry out none of its requests."),
    "RPC.bad_id": _Refusal("E035", "Refuse an id that is neither a string nor a whole number."),
    "RPC.unknown_method": _Refusal("E036", "Answer methods you do not have with the error -32601."),
    "RPC.method_contradicts_type": _Refusal(
        "E038",
        "Compare the method with params.message_type; if both are known and differ, refuse the request.",
    ),
}
"""Requests that are wrong as JSON-RPC."""
_ALL: Final = ("ping", "dialect", "match", "notifications", "requests")
_OWN: Final = ("registration", "dialect", "match")

CHECKS: Mapping[str, Check] = {
    "HTTP.post_mcp": Check(post_mcp, ("ping", "dialect")),
    "HTTP.status_200": Check(status_200, (*_ALL, "readings", "methods")),
    "HTTP.other_statuses": Check(other_statuses, ("strict_json", "requests", "http")),
    "HTTP.origin_and_host": Check(origin_and_host, ("http",)),
    "RPC.echoes_id": Check(echoes_id, _ALL),
    "RPC.one_answer": Check(one_answer, _ALL),
    "RPC.methods": Check(methods, ("dialect", "methods")),
    "PLAYER.understands_calls": Check(understands_calls, ("dialect", "match")),
    "RPC.tools_call": Check(tools_call, ("dialect", "methods")),
    "RPC.ping": Check(ping, ("ping", "afterwards")),
    "RPC.integer_ids": Check(integer_ids, _OWN),
    "RPC.id": Check(own_id, _OWN),
    "RPC.method": Check(own_method, _OWN),
    **{
        name: Check(
            partial(refused, label=name, code=refusal.code, advice=refusal.advice),
            ("requests",),
        )
        for name, refusal in REFUSED.items()
    },
}
