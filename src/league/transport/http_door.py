"""The ASGI application in front of everything: which requests go no further, and who answers the others (R-27)."""

from __future__ import annotations

import asyncio
import contextlib

from league.transport.http import (
    ANSWER,
    MCP_PATH,
    App,
    ASGIReceive,
    ASGIScope,
    ASGISend,
    Policy,
    Response,
    is_json,
    refuse,
)


class Door:
    """Judges the head of a request, then lets the app answer it."""

    def __init__(self, app: App, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        headers = dict(scope["headers"])
        path = scope["path"]
        answer = self._check_caller(headers)
        if answer is None:
            if path == MCP_PATH:
                answer = self._check_message(scope["method"], headers) or await self._post(scope, receive)
            elif path in self._app.get:
                answer = await self._get(path, scope["method"])
            elif self._app.rest is None:
                answer = self._refuse(404, "there is nothing at this path")
            else:
                with contextlib.suppress(asyncio.CancelledError):  # see _post
                    await self._app.rest(scope, receive, send)
        if answer is not None:
            await scope["extensions"][ANSWER](answer)

    def _refuse(self, status: int, detail: str, *headers: tuple[str, str]) -> Response:
        return refuse(status, detail, self._app.refusal, *headers)

    def _check_caller(self, headers: dict[bytes, bytes]) -> Response | None:
        host = headers.get(b"host")
        if host is not None and not self._policy.takes_host(host):
            return self._refuse(421, "the Host header names another server")
        origin = headers.get(b"origin")
        if origin is not None and not self._policy.takes_origin(origin):
            return self._refuse(403, "pages from this Origin may not call here")
        return None

    def _check_message(self, method: str, headers: dict[bytes, bytes]) -> Response | None:
        if method != "POST":
            return self._refuse(405, "messages are sent with POST", ("allow", "POST"))
        kind = headers.get(b"content-type")
        if kind is not None and not is_json(kind):
            return self._refuse(415, "the media type of a message is application/json")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            return self._refuse(415, "a message is sent without compression")
        return None

    async def _post(self, scope: ASGIScope, receive: ASGIReceive) -> Response | None:
        body = await read_body(receive)
        if body is None:
            return None
        client = scope["client"]
        try:
            return await self._app.post(body, client[0] if client else "")
        except asyncio.CancelledError:
            # Only the server cancels, when the time to finish is over; the request still gets its one answer.
            return self._refuse(503, "this server is shutting down")

    async def _get(self, path: str, method: str) -> Response:
        if method not in ("GET", "HEAD"):
            return self._refuse(405, "this page is read with GET", ("allow", "GET, HEAD"))
        page = self._app.get[path]()
        return page if isinstance(page, Response) else await page


async def read_body(receive: ASGIReceive) -> bytes | None:
    """The whole body, whose size the connection counts; None if the client went away."""
    message = await receive()
    if message["type"] == "http.request" and not message["more_body"]:
        return bytes(message["body"])
    body = bytearray()
    while message["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            return bytes(body)
        message = await receive()
    return None
