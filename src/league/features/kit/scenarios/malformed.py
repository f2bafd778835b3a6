"""Scenarios with malformed requests: text that is not JSON, JSON that is not a request, and wrong HTTP. Most of them
are rows of variants.toml."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import urlsplit

from league.features.kit.driver.conventions import DOCUMENTED, Object
from league.features.kit.driver.kit import HTTP_PROBE_S, Kit
from league.features.kit.driver.templates import table, with_words
from league.features.kit.driver.wire import RawRequest, send_request
from league.protocol.conventions import Convention

PAGES: Final = ("/", "/healthz", "/metrics")
INVITED: Final = 7
"""The number of the match that malformed requests are about; it is never announced."""
_PLACEHOLDER: Final = "to be replaced"


def variants(scenario: str) -> Object:
    """Return the rows of a scenario, by their labels."""
    rows: Object = table("scenarios", "variants.toml")[scenario]
    return rows


def _invitation(kit: Kit) -> Object:
    return kit.writer.write("GAME_INVITATION", INVITED)


def _request(kit: Kit, **fields: object) -> Object:
    """Return a right request that the player understands, as far as we know: an invitation, or else `ping`."""
    number = kit.next_id()
    if kit.record.convention is None:
        return {"jsonrpc": "2.0", "id": number, "method": "ping", "params": fields}
    return kit.form.wrap(number, {**_invitation(kit), **fields})


async def strict_json(kit: Kit) -> None:
    """Send text that a strict parser refuses."""
    body = json.dumps(_request(kit, note=_PLACEHOLDER)).encode()
    bodies = {
        label: body.replace(f'"{_PLACEHOLDER}"'.encode(), text.encode("latin-1"))
        for label, text in variants("strict_json").items()
    }
    bodies["JSON.utf8: a byte order mark"] = b"\xef\xbb\xbf" + body
    for label, wrong in bodies.items():
        await kit.send_bad(label, RawRequest(kit.options.target, wrong, headers=kit.form.headers("", "")))


async def requests(kit: Kit) -> None:
    """Send JSON that is not a request, and requests for something else."""
    is_rpc = kit.form.convention is not Convention.BARE
    if is_rpc:
        wrong: Object = {"RPC.object: a string": "ping", "RPC.batch: two requests": [_request(kit), _request(kit)]}
        for label, change in variants("requests").items():
            right = _request(kit)
            del right["jsonrpc"]
            wrong[label] = {**right, **with_words(change, lambda _: None)}
        for label, document in wrong.items():
            await kit.send_document(label, document, proper=False)
        coffee = {"jsonrpc": "2.0", "id": kit.next_id(), "method": "make_coffee", "params": {"sugar": 2}}
        await kit.send_document("RPC.unknown_method: make_coffee", coffee)
    over = kit.writer.game_over(1)
    if kit.form.convention in DOCUMENTED:
        method = kit.form.wrap(0, _invitation(kit))["method"]
        label = f"RPC.method_contradicts_type: GAME_OVER by the method {method}"
        await kit.send_document(label, kit.form.wrap(kit.next_id(), over, method))
    # Errors about messages with tokens: none of them may come back.
    for label, change in (
        ("wrong protocol", {"protocol": "league.v9"}),
        ("a message to managers", {"message_type": "MATCH_RESULT_REPORT"}),
    ):
        await kit.send_document(label, kit.form.wrap(kit.next_id(), {**over, **change}), proper=is_rpc)


async def http(kit: Kit) -> None:
    """Send requests with wrong HTTP, and fetch pages that may show too much."""
    target = kit.options.target
    body = json.dumps(_request(kit)).encode()
    for label, change in variants("http").items():
        if "body" in change:
            change = {**change, "body": b""}
        await kit.send_bad(label, RawRequest(target, **{"body": body, **change}), HTTP_PROBE_S)
    for path in PAGES:
        url = urlsplit(target)._replace(path=path, query="").geturl()
        kit.record.pages[path] = await send_request(RawRequest(url, method="GET", content_type=""), HTTP_PROBE_S)
