"""Scenarios with malformed requests: text that is no JSON, JSON that is no request, HTTP that does not fit."""

from __future__ import annotations

import json
import time
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from league_kit.conventions import DOCUMENTED, Convention, Object
from league_kit.kit import HTTP_PROBE_S, Kit
from league_kit.wire import RawRequest, send_request

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
_REPLACED: Final = "what is spoiled"


def _request(kit: Kit, **fields: object) -> Object:
    """A right request that the player understands, as far as that is known: an invitation, or else `ping`."""
    number = kit.next_id()
    if kit.record.convention is None:
        return {"jsonrpc": "2.0", "id": number, "method": "ping", "params": fields}
    return kit.form.wrap(number, {**kit.writer.invitation(INVITED, time.time()), **fields})


async def strict_json(kit: Kit) -> None:
    for label, wrong in STRICT_JSON:
        body = json.dumps(_request(kit, note=_REPLACED)).encode()
        await kit.send_raw(label, body.replace(f'"{_REPLACED}"'.encode(), wrong))
    await kit.send_raw("JSON.utf8: a byte order mark", b"\xef\xbb\xbf" + json.dumps(_request(kit)).encode())


async def requests(kit: Kit) -> None:
    """JSON that is no request, and requests for something else."""
    if kit.form.convention is not Convention.BARE:
        await _wrong_objects(kit)
    over = kit.writer.game_over(1, time.time())
    if kit.form.convention in DOCUMENTED:
        inviting = kit.form.wrap(0, kit.writer.invitation(INVITED, time.time()))["method"]
        label = f"RPC.method_contradicts_type: GAME_OVER by the method {inviting}"
        await kit.send_document(label, kit.form.wrap(kit.next_id(), over, inviting))
    # Errors about messages with tokens: none of them may come back.
    for label, wrong in (
        ("wrong protocol", {**over, "protocol": "league.v9"}),
        ("a message to managers", {**over, "message_type": "MATCH_RESULT_REPORT"}),
    ):
        await kit.send_document(
            label, kit.form.wrap(kit.next_id(), wrong), proper=kit.form.convention is not Convention.BARE
        )


async def _wrong_objects(kit: Kit) -> None:
    without = {name: value for name, value in _request(kit).items() if name != "jsonrpc"}
    await kit.send_document("RPC.object: no jsonrpc", without, proper=False)
    await kit.send_document("RPC.object: jsonrpc 1.0", {**_request(kit), "jsonrpc": "1.0"}, proper=False)
    await kit.send_document("RPC.object: a string", "ping", proper=False)
    await kit.send_document("RPC.batch: two requests", [_request(kit), _request(kit)], proper=False)
    for value in (None, True, 1.5):
        await kit.send_document(f"RPC.bad_id: {json.dumps(value)} as id", {**_request(kit), "id": value}, proper=False)
    coffee = {"jsonrpc": "2.0", "id": kit.next_id(), "method": "make_coffee", "params": {"sugar": 2}}
    await kit.send_document("RPC.unknown_method: make_coffee", coffee)


async def http(kit: Kit) -> None:
    """Requests with wrong HTTP, and pages that may show too much."""
    target = kit.options.target
    body = json.dumps(_request(kit)).encode()
    await kit.send_http("HTTP: GET", RawRequest(target, b"", "GET", content_type=None))
    await kit.send_http("HTTP: text/plain", RawRequest(target, body, content_type="text/plain"))
    await kit.send_http("HTTP: no media type", RawRequest(target, body, content_type=None))
    await kit.send_http("HTTP: Origin", RawRequest(target, body, headers=(("Origin", "http://evil.example"),)))
    await kit.send_http("HTTP: Host", RawRequest(target, body, host="evil.example"))
    parts = urlsplit(target)
    for path in PAGES:
        url = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        kit.record.pages[path] = await send_request(RawRequest(url, method="GET", content_type=None), HTTP_PROBE_S)
