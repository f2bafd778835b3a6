"""HTTP and JSON-RPC (spec sections 2.1 to 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from league.protocol.exchanges import message_type_of
from league.protocol.judge import shown
from league_kit.checks.common import if_joined, if_reached, is_empty_ack, not_busy, refused
from league_kit.conventions import DOCUMENTED, Convention
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable, warning
from league_kit.record import NO_ENDPOINT, AnswerPlace, Arrival, Probe, RunRecord
from league_kit.wire import Trouble

SPEAKS: Final[Mapping[Convention, str]] = {
    Convention.TOOLS: "this player takes MCP's tools/call only",
    Convention.NESTED: "this player wants the message within params.message",
    Convention.BARE: "this player wants the message without JSON-RPC",
}
REFUSE_400 = ("JSON.", "RPC.object", "RPC.batch", "RPC.bad_id")


def post_mcp(record: RunRecord) -> CheckOutcome:
    asked = [one for one in record.probes if one.proper or one.kind]
    if not asked:
        return untestable("nothing was sent")
    first = asked[0]
    advice = "Listen at exactly this address and take POST requests with Content-Type: application/json."
    if all(one.trouble is Trouble.REFUSED for one in asked):
        return broken(f"nobody can be reached: {first.response.detail}", advice, first)
    statuses = {one.response.status for one in asked if one.trouble is None}
    if statuses and statuses <= set(NO_ENDPOINT):
        return broken(f"every POST is answered with status {first.response.status}", advice, first)
    if not statuses and any(one.trouble is Trouble.BROKEN for one in asked):
        return broken(f"no POST gets an HTTP answer: {first.response.detail}", advice, first)
    if not statuses:
        return untestable("no POST was answered in time")
    return kept("POST is answered", asked)


@if_reached
def status_200(record: RunRecord) -> CheckOutcome:
    asked = [one for one in record.proper() if one.trouble is None]
    if not asked:
        return untestable("nothing was answered")
    for one in asked:
        # One that is too large for the player is judged by its own clause.
        if one.response.status not in (200, 413):
            advice = "Answer every JSON-RPC request with 200, also when the answer is an error: callers drop the rest."
            return broken(f"a JSON-RPC request was answered with status {one.response.status}", advice, one)
    return kept(f"{len(asked)} requests were answered with 200")


@if_reached
def other_statuses(record: RunRecord) -> CheckOutcome:
    wanted: list[tuple[Probe, int]] = []
    for one in not_busy(record.probes):
        if one.label.startswith(REFUSE_400) and not one.proper and one.trouble is None:
            if one.parsed.error is not None or one.response.status >= 300:
                wanted.append((one, 400))
        elif one.label in ("HTTP: GET", "HTTP: text/plain", "HTTP: no media type"):
            wanted.append((one, 405 if one.label == "HTTP: GET" else 415))
    return _statuses(wanted)


@if_reached
def origin_and_host(record: RunRecord) -> CheckOutcome:
    wanted = {"HTTP: Origin": 403, "HTTP: Host": 421}
    return _statuses([(one, wanted[one.label]) for one in not_busy(record.probes) if one.label in wanted])


def _statuses(wanted: list[tuple[Probe, int]]) -> CheckOutcome:
    if not wanted:
        return untestable("nothing of the kind was refused")
    wrong = [(one, status) for one, status in wanted if one.response.status != status]
    if wrong:
        some = [f"{one.label}: {one.response.status or 'no answer'}, not {status}" for one, status in wrong]
        more = f" and {len(some) - 3} more" if len(some) > 3 else ""
        return broken("; ".join(some[:3]) + more, "Use the statuses of the table in 2.4.", *(one for one, _ in wrong))
    return kept("as the table says", [one for one, _ in wanted])


# --- answers ----------------------------------------------------------------------------------------------------------


@if_reached
def echoes_id(record: RunRecord) -> CheckOutcome:
    asked = [one for one in record.proper() if one.trouble is None and one.parsed.rpc is not None]
    if not any(one.plain for one in asked):
        return untestable("no answer to a message is a JSON-RPC object [RPC.one_answer]")
    wrong = [one for one in asked if _other_id(one)]
    if not wrong:
        return kept(f"{len(asked)} answers carry the id of their request")
    return _worst(wrong, _other_id, "Copy jsonrpc and id of the request into the answer: a number stays a number.")


def _other_id(one: Probe) -> str:
    rpc = one.parsed.rpc or {}
    if rpc.get("jsonrpc") != "2.0":
        return f"the answer says jsonrpc {shown(rpc.get('jsonrpc'))}, not '2.0'"
    given = rpc.get("id")
    if type(given) is not type(one.request_id) or given != one.request_id:
        return f"the request had id {one.request_id!r}, the answer {shown(given)}"
    return ""


def _worst(wrong: list[Probe], why: Callable[[Probe], str], advice: str) -> CheckOutcome:
    """A failure for a message of the documents; for any other request, a warning."""
    plain = [one for one in wrong if one.plain]
    if plain:
        return broken(f"{plain[0].kind}: {why(plain[0])}", advice, *plain)
    return warning(f"{wrong[0].label}: {why(wrong[0])}", advice, *wrong)


@if_reached
def one_answer(record: RunRecord) -> CheckOutcome:
    if record.convention is Convention.BARE:
        return untestable("this player speaks no JSON-RPC")
    asked = [one for one in record.proper() if one.trouble is not Trouble.TIMEOUT]
    asked = [one for one in asked if one.response.status not in (*NO_ENDPOINT, 413) and not is_empty_ack(one)]
    if not asked:
        return untestable("nothing was answered")
    wrong = [one for one in asked if _not_one_answer(one)]
    beside = [one for one in asked if {"result", "error"} <= (one.parsed.rpc or {}).keys()]
    if not wrong and beside:
        advice = "Leave `error` out of an answer that has a `result`: JSON-RPC 2.0 allows one of them only."
        return warning('"error": null stands beside the result', advice, *beside)
    if not wrong:
        return kept(f"{len(asked)} requests got one answer each")
    advice = "Answer each request with one JSON-RPC object that holds either `result` or `error`."
    return _worst(wrong, _not_one_answer, advice)


def _not_one_answer(one: Probe) -> str:
    if one.parsed.trouble:
        return one.parsed.trouble
    if one.response.rest:
        return "something came behind the answer: a second one"
    if one.parsed.place is AnswerPlace.BODY and one.response.status >= 400:
        return f"the answer is no JSON-RPC: {one.parsed.error or one.parsed.content}"
    if one.parsed.place in (AnswerPlace.PARAMS, AnswerPlace.BODY):
        return f"the answer lies in {one.parsed.place.value}; a JSON-RPC answer has it in `result`"
    return ""


# --- methods ----------------------------------------------------------------------------------------------------------


@if_joined
def understands_calls(record: RunRecord) -> CheckOutcome:
    assert record.convention is not None
    first = record.of("invitation")
    if record.convention is Convention.TOOLS:
        advice = "Take the verb or the message type as the method too (2.3): not every league calls tools."
        return warning(f"a deviation: {SPEAKS[record.convention]}", advice, *first)
    if record.convention not in DOCUMENTED:
        advice = "Take the verb or the message type as the method (2.3), and the message itself as params."
        detail = f"neither the verb nor the message type is understood as a method; {SPEAKS[record.convention]}"
        refused = [one for one in record.tried if one.kind == "GAME_INVITATION"]
        return broken(detail, advice, *refused[:2], *first)
    packed = [one for one in record.probes if one.plain and one.parsed.place is AnswerPlace.CONTENT]
    if packed:
        advice = "Put the message itself into `result`; MCP content is for tools/call."
        return broken(f"{packed[0].kind}: the answer lies in {AnswerPlace.CONTENT.value}", advice, *packed)
    words = "the verb" if record.convention is Convention.SPEC else "the message type"
    return kept(f"called by {words}", first)


@if_joined
def methods(record: RunRecord) -> CheckOutcome:
    if record.convention not in DOCUMENTED:
        return untestable("this player goes by no method of the table [PLAYER.understands_calls]")
    plain = {one.kind for one in record.probes if one.is_answered and not one.label.startswith("method")}
    asked = [one for one in not_busy(record.of("method")) if one.kind in plain]
    for one in asked:
        if not one.is_answered:
            name = one.label.partition(": ")[2]
            advice = "Go by params.message_type, and take the verb or the message type in any case as the method."
            return broken(f"the method {name!r} is not understood: {one.why_not()}", advice, one)
    return kept("verbs and message types are understood", asked) if asked else untestable("it was not asked")


@if_joined
def tools_call(record: RunRecord) -> CheckOutcome:
    if record.convention is Convention.TOOLS:
        return kept("it is how this player is called", record.of("invitation"))
    asked = not_busy([*record.of("tools/call"), *(one for one in record.tried if one.method == "tools/call")])
    if not asked:
        return untestable("it was not asked")
    if asked[0].is_answered:
        return kept("understood", asked)
    advice = "Read tools/call: its params.name is the method, its params.arguments the message."
    return broken(f"tools/call is not understood: {asked[0].why_not()}", advice, asked[0])


@if_reached
def ping(record: RunRecord) -> CheckOutcome:
    asked = not_busy(record.of("ping", "ping afterwards"))
    if not asked:
        return untestable("the player put it off (429, 503)")
    if any(one.is_answered for one in asked):
        return kept("answered", [one for one in asked if one.is_answered])
    advice = "Answer the method `ping` with a result; {} will do. Managers ask it to see whether you are there."
    return broken(f"ping: {asked[0].why_not()}", advice, asked[0])


# --- the player's own requests ----------------------------------------------------------------------------------------


_NO_REQUEST: Final = "the player sent the kit no request of its own"


def _own(record: RunRecord) -> list[Arrival]:
    return [one for one in _answered(record) if "jsonrpc" in _document(one)]


def _answered(record: RunRecord) -> list[Arrival]:
    """Requests that got an answer; one without may be a trial of another convention."""
    return [one for one in record.requests() if one.answer is not None]


def integer_ids(record: RunRecord) -> CheckOutcome:
    own = _own(record)
    if not own:
        return untestable(_NO_REQUEST)
    for one in own:
        given = _document(one).get("id")
        if isinstance(given, str):
            return broken(f"the id {given!r} is a string", "Count your requests: 1, 2, 3; some take nothing else.", one)
    return kept("whole numbers", own)


def own_id(record: RunRecord) -> CheckOutcome:
    own = _own(record)
    if not own:
        return untestable(_NO_REQUEST)
    for one in own:
        given = _document(one).get("id")
        if one.kind and (isinstance(given, bool) or not isinstance(given, int | str)):
            advice = "Give every request an id, a whole number, so that its answer can be told apart."
            return broken(f"a request of the player has the id {shown(given)}", advice, one)
    return kept("every request has one", own)


def own_method(record: RunRecord) -> CheckOutcome:
    own = [one for one in _answered(record) if one.kind]
    if not own:
        return untestable("the player sent the kit no message of its own")
    for one in own:
        if "jsonrpc" not in _document(one):
            advice = 'Wrap your requests: {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": MESSAGE}.'
            return broken(f"{one.kind} came without JSON-RPC", advice, one)
        document = _document(one)
        method = document.get("method")
        params = document.get("params")
        if method == "tools/call" and isinstance(params, dict):
            method = params.get("name")
        if not isinstance(method, str) or message_type_of(method) != one.kind:
            advice = "Use the verb of the table in 6.1, such as register_player."
            return broken(f"{one.kind} came with the method {method!r}", advice, one)
    return kept("the method fits the message", own)


def _document(one: Arrival) -> dict[str, object]:
    return one.document if isinstance(one.document, dict) else {}


REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "RPC.object": ("E035", 'A request without "jsonrpc": "2.0" is none: refuse it.'),
    "RPC.batch": ("E035", "Refuse an array with one error, and do nothing of it."),
    "RPC.bad_id": ("E035", "An id is a string or a whole number; refuse others."),
    "RPC.unknown_method": ("E036", "Answer methods you do not have with the error -32601."),
    "RPC.method_contradicts_type": (
        "E038",
        "Compare the method with params.message_type; if both are known and differ, refuse the request.",
    ),
}
"""Requests that are wrong as JSON-RPC: the code each is refused with, and what to change."""
_ALL = ("ping", "dialect", "match", "notifications", "requests")
_OWN = ("registration", "dialect", "match")

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
        name: Check(partial(refused, label=name, code=code, advice=advice), ("requests",))
        for name, (code, advice) in REFUSED.items()
    },
}
