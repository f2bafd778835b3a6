"""Acts that send what no agent should: text that is no JSON, requests that are none, HTTP that does not fit."""

from __future__ import annotations

import json
import time
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from league.conformance.conventions import DOCUMENTED, Convention, Object
from league.conformance.kit import KNOCK_S, Kit
from league.conformance.wire import Request, exchange

PAGES: Final = ("/", "/healthz", "/metrics")
INVITED: Final = 7
"""The number of the match that wrong requests are about; nobody announces it."""

# Each stands in a field of a request that nothing else is wrong with.
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
_SPOILED: Final = "what is spoiled"


def _request(kit: Kit, **fields: object) -> Object:
    """A good one that the player understands, as far as that is known: an invitation, else `ping`."""
    number = kit.next_id()
    if kit.record.convention is None:
        return {"jsonrpc": "2.0", "id": number, "method": "ping", "params": fields}
    return kit.way.wrap(number, {**kit.speaker.invitation(INVITED, time.time()), **fields})


async def strict_json(kit: Kit) -> None:
    for label, spoiled in STRICT_JSON:
        body = json.dumps(_request(kit, note=_SPOILED)).encode()
        await kit.send_raw(label, body.replace(f'"{_SPOILED}"'.encode(), spoiled))
    await kit.send_raw("JSON.utf8: a byte order mark", b"\xef\xbb\xbf" + json.dumps(_request(kit)).encode())


async def requests(kit: Kit) -> None:
    """JSON, but no request; or a request for something else."""
    if kit.way.convention is not Convention.BARE:
        await _no_requests(kit)
    over = kit.speaker.game_over(1, time.time())
    if kit.way.convention in DOCUMENTED:
        inviting = kit.way.wrap(0, kit.speaker.invitation(INVITED, time.time()))["method"]
        label = f"RPC.method_contradicts_type: GAME_OVER by the method {inviting}"
        await kit.send(label, kit.way.wrap(kit.next_id(), over, inviting))
    # Errors about messages with tokens: none of them may come back.
    for label, wrong in (
        ("wrong protocol", {**over, "protocol": "league.v9"}),
        ("a message to managers", {**over, "message_type": "MATCH_RESULT_REPORT"}),
    ):
        await kit.send(label, kit.way.wrap(kit.next_id(), wrong), proper=kit.way.convention is not Convention.BARE)


async def _no_requests(kit: Kit) -> None:
    without = {name: value for name, value in _request(kit).items() if name != "jsonrpc"}
    await kit.send("RPC.object: no jsonrpc", without, proper=False)
    await kit.send("RPC.object: jsonrpc 1.0", {**_request(kit), "jsonrpc": "1.0"}, proper=False)
    await kit.send("RPC.object: a string", "ping", proper=False)
    await kit.send("RPC.batch: two requests", [_request(kit), _request(kit)], proper=False)
    for value in (None, True, 1.5):
        await kit.send(f"RPC.bad_id: {json.dumps(value)} as id", {**_request(kit), "id": value}, proper=False)
    coffee = {"jsonrpc": "2.0", "id": kit.next_id(), "method": "make_coffee", "params": {"sugar": 2}}
    await kit.send("RPC.unknown_method: make_coffee", coffee)


async def http(kit: Kit) -> None:
    """Requests that are wrong before anybody reads their body, and pages that may show too much."""
    target = kit.options.target
    body = json.dumps(_request(kit)).encode()
    await kit.knock("HTTP: GET", Request(target, b"", "GET", content_type=None))
    await kit.knock("HTTP: text/plain", Request(target, body, content_type="text/plain"))
    await kit.knock("HTTP: Origin", Request(target, body, headers=(("Origin", "http://evil.example"),)))
    await kit.knock("HTTP: Host", Request(target, body, host="evil.example"))
    parts = urlsplit(target)
    for path in PAGES:
        url = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        kit.record.pages[path] = await exchange(Request(url, method="GET", content_type=None), KNOCK_S)
