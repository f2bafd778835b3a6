"""The operator's orders over HTTP: `POST /api/admin/{order}` with the admin token, answered when they are durable."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import msgspec

from league.hosting.order_table import WITH_TARGET
from league.hosting.serving import HostedAgent
from league.machine import Operate
from league.manager.league import LeagueManager
from league.manager.orders import ORDERS
from league.protocol import strict_json
from league.protocol.errors import PeerError
from league.transport.http import RETRY_AFTER_S, HttpRequest, Response, is_json

ADMIN = "/api/admin/"
FIELDS = ("target", "key")
LONGEST_KEY = 128
_JSON = msgspec.json.Encoder()
_STATUS = {"E011": 401, "E012": 401, "E099": 500}
"""Of errors whose status does not follow from the catalogue, nor from who is at fault."""


async def answer_order(host: HostedAgent, request: HttpRequest) -> Response:
    """The answer to any request below /api/admin/."""
    order = request.path.removeprefix(ADMIN)
    if order not in ORDERS:
        return Response(404, _JSON.encode({"error": f"there is no such order; there are {', '.join(ORDERS)}"}))
    if request.method != "POST":
        return Response(405, b'{"error":"orders are given with POST"}', headers=(("allow", "POST"),))
    try:
        return await _carry_out(host, order, request)
    except asyncio.CancelledError:
        # Only the server cancels, when it ends; the same key later tells whether the order was carried out.
        return _error(PeerError("E042", "the manager is shutting down; give the order again"))


async def _carry_out(host: HostedAgent, name: str, request: HttpRequest) -> Response:
    authorization = request.headers.get(b"authorization", b"").decode("latin-1")
    try:
        require_operator(host, authorization)
        order = read_order(name, _document(request.headers, request.body))
    except PeerError as error:
        return _error(error, status=400)
    try:
        return Response(200, _JSON.encode(await carry_out(host, order)))
    except PeerError as error:
        return _error(error, status=409)


def require_operator(host: HostedAgent, authorization: str) -> None:
    """PeerError if there is nobody to take an order, or whoever gives it is not the operator."""
    agent = host.agent
    if agent is None:
        raise PeerError("E042", "the manager is starting")
    if agent.pump.storage_down:
        raise PeerError("E041", "the journal cannot be written at the moment; nothing was changed")
    assert isinstance(agent.machine, LeagueManager)
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise PeerError("E011", "an order needs the admin token: Authorization: Bearer TOKEN")
    if not agent.machine.obeys(token.strip()):
        raise PeerError("E012", "this is not the admin token of this league")


async def carry_out(host: HostedAgent, order: Operate) -> dict[str, str | None]:
    """What was done, once it is durable; PeerError if it cannot be."""
    answering = await host.running.operate(order)
    if isinstance(answering.content, PeerError):
        raise answering.content
    return {"order": order.order, "target": order.target or None, "key": order.key}


def _document(headers: Mapping[bytes, bytes], body: bytes) -> Mapping[str, Any]:
    """The body of an order; none at all will do for one without a target. Any: JSON of others."""
    if not is_json(headers.get(b"content-type", b"application/json")):
        raise PeerError("E035", "the body of an order is JSON: Content-Type: application/json")
    document = strict_json.parse(body) if body.strip() else {}
    if not isinstance(document, dict):
        raise PeerError("E035", "the body of an order is a JSON object")
    return document


def read_order(order: str, document: Mapping[str, Any]) -> Operate:
    """The order with these fields; PeerError if they are not its own. Any: JSON of others."""
    if unknown := next((name for name in document if name not in FIELDS), None):
        raise PeerError("E008", f"an order has no field {unknown[:80]!r}; it has {' and '.join(FIELDS)}")
    target, key = _text(document, "target"), _text(document, "key")
    if order in WITH_TARGET and not target:
        raise PeerError("E003", f"target is missing: {order} needs to know whom or what")
    if order not in WITH_TARGET and target:
        raise PeerError("E008", f"{order} takes no target")
    if len(key) > LONGEST_KEY:
        raise PeerError("E008", f"key has more than {LONGEST_KEY} characters")
    return Operate(order, key or uuid4().hex, target)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str | None):
        raise PeerError("E007", f"{name} is a string")
    return (value or "").strip()


def _error(error: PeerError, status: int = 503) -> Response:
    status = error.row.http_status or _STATUS.get(error.code, status)
    headers: tuple[tuple[str, str], ...] = ()
    if status == 401:
        headers = (("www-authenticate", 'Bearer realm="league"'),)
    elif status == 503:
        headers = (("retry-after", str(RETRY_AFTER_S)),)
    body = {"error": error.detail, "error_code": error.code, "error_name": error.row.name}
    return Response(status, _JSON.encode(body), headers=headers)
