"""The operator's orders over HTTP: `POST /api/admin/{order}` with the admin token.

An order is answered when it is durable. It has a key: if the answer is lost, the same order with the same key can be
sent again, and is carried out only once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import msgspec

from league.hosting.manager.kept_secrets import LONGEST, ROTATABLE, SHORTEST, is_well_formed
from league.hosting.serving import HostedAgent
from league.machine import Operate
from league.manager.league_manager import LeagueManager
from league.protocol.errors import PeerError
from league.protocol.order_table import ORDERS
from league.protocol.wire import strict_json
from league.terminal import CommandError, console
from league.transport.http import RETRY_AFTER_S, HttpRequest, Response, is_json

ADMIN = "/api/admin/"
FIELDS: tuple[str, ...] = ("target", "key")
SECRET = "secret"
LONGEST_KEY = 128
_JSON = msgspec.json.Encoder()
_STATUS = {"E011": 401, "E012": 401, "E099": 500}
"""The status of errors for which neither the catalogue nor the place of the error decides."""


async def answer_order(host: HostedAgent, request: HttpRequest) -> Response:
    """Answer a request below /api/admin/."""
    order = request.path.removeprefix(ADMIN)
    if order not in ORDERS:
        sentence = f"there is no such order; the orders are {', '.join(ORDERS)}"
        return Response(404, _JSON.encode({"error": sentence}))
    if request.method != "POST":
        return Response(
            405,
            b'{"error":"orders are given with POST"}',
            headers=(("allow", "POST"),),
        )
    try:
        return await _carry_out(host, order, request)
    except asyncio.CancelledError:
        # Only the server cancels, when it ends. Sending the same key again tells whether the order was carried out.
        return _error(PeerError("E042", "the manager is shutting down; give the order again"))


async def _carry_out(host: HostedAgent, name: str, request: HttpRequest) -> Response:
    authorization = request.headers.get(b"authorization", b"").decode("latin-1")
    # Mistakes in the request are 400; an order that does not fit the state of the league is 409.
    try:
        require_operator(host, authorization)
        order = read_order(name, _document(request.headers, request.body))
    except PeerError as error:
        return _error(error, status=400)
    try:
        answer = await carry_out(host, order)
    except PeerError as error:
        return _error(error, status=409)
    return Response(200, _JSON.encode(answer))


def require_operator(host: HostedAgent, authorization: str) -> None:
    """Raise PeerError if the manager cannot take orders now, or if the order is not the operator's."""
    agent = host.agent
    if agent is None:
        raise PeerError("E042", "the manager is starting")
    if agent.pump.storage_down:
        raise PeerError("E041", "the journal cannot be written at the moment; nothing was changed")
    assert isinstance(agent.machine, LeagueManager)
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise PeerError("E011", "an order needs the admin token: Authorization: Bearer TOKEN")
    if agent.machine.obeyed(token.strip()):
        raise PeerError("E012", "this admin token was replaced by league rotate-token; use the new one")
    if not agent.machine.obeys(token.strip()):
        raise PeerError("E012", "this is not the admin token of this league")


async def carry_out(host: HostedAgent, order: Operate) -> dict[str, str | None]:
    """Carry out an order and return it once it is durable; PeerError if it cannot be carried out."""
    answering = await host.running.operate(order)
    if isinstance(answering.content, PeerError):
        raise answering.content
    if ORDERS[order.order].with_secret:
        await asyncio.to_thread(_keep_file, host, order.target)
    return {
        "order": order.order,
        "target": order.target or None,
        "key": order.key,
    }


def _keep_file(host: HostedAgent, target: str) -> None:
    """Write the file of a secret that was replaced. The journal has it already, so a failure loses nothing."""
    assert isinstance(host.running.machine, LeagueManager)
    secret = ROTATABLE[target]
    try:
        if host.state is not None:
            secret.keep(host.state, host.running.machine.secret(secret.key))
    except CommandError as error:
        console.complain(f"{error}; the journal has it")


def _document(headers: Mapping[bytes, bytes], body: bytes) -> Mapping[str, Any]:
    """The body of an order. An order without a target needs none. Any: third-party JSON."""
    if not is_json(headers.get(b"content-type", b"application/json")):
        raise PeerError("E035", "the body of an order must be JSON: Content-Type: application/json")
    if not body.strip():
        return {}
    document = strict_json.parse(body)
    if not isinstance(document, dict):
        raise PeerError("E035", "the body of an order must be a JSON object")
    return document


def read_order(order: str, document: Mapping[str, Any]) -> Operate:
    """Read the fields of an order; PeerError if they do not fit it. Any: third-party JSON."""
    row = ORDERS[order]
    fields = FIELDS
    if row.with_secret:
        fields = (*FIELDS, SECRET)
    for name in document:
        if name not in fields:
            raise PeerError("E008", f"this order has no field {name[:80]!r}; it has {' and '.join(fields)}")
    target = _text(document, "target")
    key = _text(document, "key")
    if row.target and not target:
        raise PeerError("E003", f"target is missing: {order} needs one")
    if target and not row.target:
        raise PeerError("E008", f"{order} takes no target")
    secret = _text(document, SECRET)
    if row.with_secret and not is_well_formed(secret):
        raise PeerError("E008", f"secret must have {SHORTEST} to {LONGEST} visible ASCII characters")
    if len(key) > LONGEST_KEY:
        raise PeerError("E008", f"key has more than {LONGEST_KEY} characters")
    # Without a key of its own, an order that is sent twice is carried out twice.
    return Operate(order, key or uuid4().hex, target, secret)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str | None):
        raise PeerError("E007", f"{name} must be a string")
    return (value or "").strip()


def _error(error: PeerError, status: int = 503) -> Response:
    # The catalogue decides first, then this module, then the place where the error was noticed.
    status = error.row.http_status or _STATUS.get(error.code, status)
    headers: tuple[tuple[str, str], ...] = ()
    if status == 401:
        headers = (("www-authenticate", 'Bearer realm="league"'),)
    elif status == 503:
        headers = (("retry-after", str(RETRY_AFTER_S)),)
    body = {
        "error": error.detail,
        "error_code": error.code,
        "error_name": error.row.name,
    }
    return Response(status, _JSON.encode(body), headers=headers)
