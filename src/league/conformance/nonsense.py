"""Acts that send what no agent should: text that is no JSON, requests that are none, HTTP that does not fit."""

from __future__ import annotations

import json
import time
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from league.conformance.kit import Kit
from league.conformance.wire import Request, exchange

PAGES: Final = ("/", "/healthz", "/metrics")

# A `ping` with something in its params: nothing else is wrong with it.
_PING: Final = b'{"jsonrpc": "2.0", "id": %d, "method": "ping", "params": %b}'
STRICT_JSON: Final = (
    ("JSON.utf8: a byte that is not UTF-8", b'{"name": "\xff"}'),
    ("JSON.syntax: a trailing comma", b'{"n": 1,}'),
    ("JSON.syntax: NaN", b'{"n": NaN}'),
    ("JSON.syntax: cut off", b'{"n": [1, 2'),
    ("JSON.duplicate_keys: a key twice", b'{"n": 1, "n": 2}'),
    ("JSON.duplicate_keys: deeper down", b'{"n": {"m": 1, "m": 1}}'),
    ("JSON.nul: as an escape", rb'{"name": "a\u0000b"}'),
    ("JSON.surrogates: half a pair", rb'{"name": "\ud800"}'),
    ("JSON.depth: 20 levels", b'{"n": ' + b"[" * 18 + b"]" * 18 + b"}"),
    ("JSON.large_numbers: beyond 64 bits", b'{"n": 9223372036854775808}'),
    ("JSON.large_numbers: beyond a double", b'{"n": 1e400}'),
)


async def strict_json(kit: Kit) -> None:
    for label, params in STRICT_JSON:
        await kit.send_raw(label, _PING % (kit.next_id(), params))
    mark = b"\xef\xbb\xbf"
    await kit.send_raw("JSON.utf8: a byte order mark", mark + _PING % (kit.next_id(), b"{}"))


async def requests(kit: Kit) -> None:
    """JSON, but no request; or a request for something else."""
    speaker, now = kit.speaker, time.time()
    number = kit.next_id()
    await kit.send("RPC.object: no jsonrpc", {"id": number, "method": "ping"}, proper=False)
    await kit.send("RPC.object: jsonrpc 1.0", {"jsonrpc": "1.0", "id": number, "method": "ping"}, proper=False)
    await kit.send("RPC.object: a string", "ping", proper=False)
    batch = [{"jsonrpc": "2.0", "id": kit.next_id(), "method": "ping"} for _ in range(2)]
    await kit.send("RPC.batch: two pings", batch, proper=False)
    for value in (None, True, 1.5):
        document = {"jsonrpc": "2.0", "id": value, "method": "ping"}
        await kit.send(f"RPC.bad_id: {json.dumps(value)} as id", document, proper=False)
    await kit.send("RPC.unknown_method: make_coffee", _call(kit, "make_coffee", {"sugar": 2}))
    over = speaker.game_over(1, now)
    await kit.send(
        "RPC.method_contradicts_type: GAME_OVER by the verb of an invitation",
        _call(kit, "handle_game_invitation", over),
    )
    # Errors about messages with tokens: none of them may come back.
    await kit.send("wrong protocol", _call(kit, "notify_match_result", {**over, "protocol": "league.v9"}))
    await kit.send(
        "a message to managers", _call(kit, "report_match_result", {**over, "message_type": "MATCH_RESULT_REPORT"})
    )


def _call(kit: Kit, method: str, params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": kit.next_id(), "method": method, "params": params}


async def http(kit: Kit) -> None:
    """Requests that are wrong before anybody reads their body, and pages that may show too much."""
    target = kit.options.target
    body = _PING % (kit.next_id(), b"{}")
    await kit.knock("HTTP: GET", Request(target, b"", "GET", content_type=None))
    await kit.knock("HTTP: text/plain", Request(target, body, content_type="text/plain"))
    await kit.knock("HTTP: Origin", Request(target, body, headers=(("Origin", "http://evil.example"),)))
    await kit.knock("HTTP: Host", Request(target, body, host="evil.example"))
    parts = urlsplit(target)
    for path in PAGES:
        url = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        kit.record.pages[path] = await exchange(Request(url, method="GET", content_type=None), kit.limit_s(""))
