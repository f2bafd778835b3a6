"""Scenarios with malformed requests: text that is not JSON, JSON that is not a request, and wrong HTTP."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from league.protocol.conventions import Convention
from league_kit.kit import HTTP_PROBE_S, Kit
from league_kit.kit_conventions import DOCUMENTED, Object
from league_kit.kit_wire import RawRequest, send_request

PAGES: Final = ("/", "/healthz", "/metrics")
INVITED: Final = 7
"""The number of the match that malformed requests are about; it is never announced."""

# Each is put into a field of an otherwise right request.
STRICT_JSON: Final = (
    ("JSON.utf8: a byte that is not UTF-8", b'{"name": "\xff"}'),
    ("JSON.syntax: a trailing comma", b'{"n": 1,}'),
    ("JSON.syntax: NaN", b'{"n": NaN}'),
    ("JSON.syntax: no end", b'{"n": [1, 2'),
    ("JSON.duplicate_keys: a key twice", b'{"n": 1, "n": 2}'),
    ("JSON.duplicate_keys: deeper down", b'{"n": {"m": 1, "m": 1}}'),
    ("JSON.nul: as an escape", rb'{"name": "a\u0000b"}'),
    ("JSON.surrogates: half a pair", rb'{"name": "\ud800"}'),
    ("JSON.depth: 20 levels", b'{"n": ' + b"[" * 18 + b"]" * 18 + b"}"),
    ("JSON.large_numbers: beyond 64 bits", b'{"n": 9223372036854775808}'),
    ("JSON.large_numbers: beyond a double", b'{"n": 1e400}'),
)
_PLACEHOLDER: Final = "to be replaced"


def _request(kit: Kit, **fields: object) -> Object:
    """Return a right request that the player understands, as far as we know: an invitation, or else `ping`."""
    number = kit.next_id()
    if kit.record.convention is None:
        return {"jsonrpc": "2.0", "id": number, "method": "ping", "params": fields}
    invitation = kit.writer.invitation(INVITED)
    return kit.form.wrap(number, {**invitation, **fields})


async def strict_json(kit: Kit) -> None:
    """Send text that a strict parser refuses."""
    for label, wrong in STRICT_JSON:
        body = json.dumps(_request(kit, note=_PLACEHOLDER)).encode()
        await kit.send_raw(label, body.replace(f'"{_PLACEHOLDER}"'.encode(), wrong))
    body = json.dumps(_request(kit)).encode()
    await kit.send_raw("JSON.utf8: a byte order mark", b"\xef\xbb\xbf" + body)


async def requests(kit: Kit) -> None:
    """Send JSON that is not a request, and requests for something else."""
    is_rpc = kit.form.convention is not Convention.BARE
    if is_rpc:
        await _wrong_objects(kit)
    over = kit.writer.game_over(1)
    if kit.form.convention in DOCUMENTED:
        invitation = kit.writer.invitation(INVITED)
        method = kit.form.wrap(0, invitation)["method"]
        label = f"RPC.method_contradicts_type: GAME_OVER by the method {method}"
        await kit.send_document(label, kit.form.wrap(kit.next_id(), over, method))
    # Errors about messages with tokens: none of them may come back.
    for label, wrong in (
        ("wrong protocol", {**over, "protocol": "league.v9"}),
        ("a message to managers", {**over, "message_type": "MATCH_RESULT_REPORT"}),
    ):
        await kit.send_document(label, kit.form.wrap(kit.next_id(), wrong), proper=is_rpc)


async def _wrong_objects(kit: Kit) -> None:
    async def send(label: str, document: object) -> None:
        # None of these is a proper JSON-RPC request, so its answer need not have status 200.
        await kit.send_document(label, document, proper=False)

    versionless = _request(kit)
    del versionless["jsonrpc"]
    await send("RPC.object: no jsonrpc", versionless)
    await send("RPC.object: jsonrpc 1.0", {**_request(kit), "jsonrpc": "1.0"})
    await send("RPC.object: a string", "ping")
    await send("RPC.batch: two requests", [_request(kit), _request(kit)])
    for value in (None, True, 1.5):
        await send(f"RPC.bad_id: {json.dumps(value)} as id", {**_request(kit), "id": value})
    coffee = {
        "jsonrpc": "2.0",
        "id": kit.next_id(),
        "method": "make_coffee",
        "params": {"sugar": 2},
    }
    await kit.send_document("RPC.unknown_method: make_coffee", coffee)


async def http(kit: Kit) -> None:
    """Send requests with wrong HTTP, and fetch pages that may show too much."""

    async def send(label: str, request: RawRequest) -> None:
        await kit.send_bad(label, request, HTTP_PROBE_S)

    target = kit.options.target
    body = json.dumps(_request(kit)).encode()
    # Each is right but for one thing, which its label names; HTTP.other_statuses says which status it must get.
    await send("HTTP: GET", RawRequest(target, b"", "GET", content_type=None))
    await send("HTTP: text/plain", RawRequest(target, body, content_type="text/plain"))
    await send("HTTP: no media type", RawRequest(target, body, content_type=None))
    origin = ("Origin", "http://evil.example")
    await send("HTTP: Origin", RawRequest(target, body, headers=(origin,)))
    await send("HTTP: Host", RawRequest(target, body, host="evil.example"))
    parts = urlsplit(target)
    for path in PAGES:
        url = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        request = RawRequest(url, method="GET", content_type=None)
        kit.record.pages[path] = await send_request(request, HTTP_PROBE_S)
