"""Decides which requests go no further, and which handler answers the others (R-27)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from league.calling.rate_limit import Rate, RateLimiter
from league.transport import mcp_door
from league.transport.http import (
    AccessPolicy,
    Answer,
    App,
    HttpRequest,
    Response,
    is_json,
    refuse,
)

PAGES: Final = Rate(per_s=200, burst=2000)
"""For one address; messages are limited by the agent that takes them."""
_INITIALIZE, _DISCOVER = mcp_door.GREETINGS
_AUTHORIZATION: Final = b"authorization"
"""No message of the protocol has it; tools of a member may need it."""


class Router:
    """Judges the head of a request; when the body is there, finds the handler."""

    def __init__(self, app: App, policy: AccessPolicy) -> None:
        self._app = app
        self._policy = policy
        self._pages = RateLimiter(PAGES)

    def refuse(self, status: int, detail: str, *headers: tuple[str, str]) -> Response:
        """Answer a request that goes no further."""
        return refuse(status, detail, self._app.refusal, *headers)

    def check(self, request: HttpRequest, local_address: Callable[[], str]) -> Response | None:
        """Refuse a request as far as its head shows; None if it may go on. `local_address` is the address at which the
        client found us."""
        headers = request.headers
        host = headers.get(b"host")
        if host is not None and not self._policy.takes_host(host, local_address):
            return self.refuse(
                421,
                "the Host header names another server; --managers URL allows it",
            )
        origin = headers.get(b"origin")
        if origin is not None and not self._policy.takes_origin(origin, host or b""):
            return self.refuse(403, "pages from this Origin may not call here")
        if self._app.takes_messages(request.method, request.path):
            refusal = self._check_message(request.method, headers)
            request.is_message = refusal is None and (self._app.mcp is None or not _names_mcp(headers))
            request.is_repeatable = request.is_message
            return refusal
        return self._check_page(request)

    def _check_page(self, request: HttpRequest) -> Response | None:
        is_limited = not request.path.startswith(self._app.unlimited)
        request.is_repeatable = not is_limited and request.method == "POST"
        if is_limited and not self._pages.allows(request.address, time.monotonic()):
            return self.refuse(429, "too many pages at once for this address")
        if request.path in self._app.get:
            if request.method not in ("GET", "HEAD"):
                return self.refuse(405, "this page is read with GET", ("allow", "GET, HEAD"))
        elif self._app.rest is None:
            return self.refuse(404, "there is nothing at this path")
        return None

    def _check_message(self, method: str, headers: Mapping[bytes, bytes]) -> Response | None:
        if method != "POST":
            mcp = self._app.mcp
            if mcp is not None and mcp.takes_streams and mcp_door.has_header(headers):
                return None
            return self.refuse(405, "messages are sent with POST", ("allow", "POST"))
        if not is_json(headers.get(b"content-type", b"")):
            return self.refuse(415, "the media type of a message is application/json")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            return self.refuse(415, "a message is sent without compression")
        return None

    def dispatch(self, request: HttpRequest) -> Awaitable[Answer] | Answer:
        """Answer a request that passed the check."""
        if request.is_message and not self._is_greeting(request.body):
            return self._app.post(request.body, request.address)
        if self._app.takes_messages(request.method, request.path):
            assert self._app.mcp is not None
            return self._app.mcp(request)
        page = self._app.get.get(request.path)
        if page is not None:
            return _read(page)
        assert self._app.rest is not None
        return self._app.rest(request)

    def _is_greeting(self, body: bytes) -> bool:
        """True if this is the greeting of a caller that speaks MCP, which is answered elsewhere."""
        # Every message passes here: `find` is twice as fast as `in`.
        return self._app.mcp is not None and (body.find(_INITIALIZE) >= 0 or body.find(_DISCOVER) >= 0)


def _names_mcp(headers: Mapping[bytes, bytes]) -> bool:
    """True if there are headers that only callers who speak MCP send."""
    return _AUTHORIZATION in headers or mcp_door.has_header(headers)


async def _read(page: Callable[[], Awaitable[Response] | Response]) -> Response:
    answer = page()
    if isinstance(answer, Response):
        return answer
    return await answer
