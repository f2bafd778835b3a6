"""The agent's side of a mailbox: fetches the calls to this agent, has them answered as if they had come to a port, and
posts the answers.

Theory of operation. One task fetches, again and again; each letter is answered by a task of its own, since a choice may
take its time while a ping must not wait. If a manager does not answer, the next one of the league is tried. After each
failure all letters without an answer are fetched again: those being answered are known by their numbers, and the
agent's machine bears a message twice.

What must never happen: that two readers fight over a mailbox (the one that was ousted ends), or that an answer is given
up while its caller may still wait for it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from league.agent.sources import chance
from league.letters import HttpReply
from league.machine import Failure
from league.mailbox import addresses
from league.transport.http import AccessPolicy, App, Headers, HttpRequest, Response
from league.transport.http_call import CallFailed
from league.transport.http_client import HttpClient
from league.transport.http_router import Router

WAIT_S: Final = 20.0
ANSWER_S: Final = 10.0
"""More than a manager needs to answer, beyond the time it was told to wait."""
FETCH_LIMIT: Final = 16 * 1024 * 1024
PIECE: Final = 4000
"""An answer in pieces of so many bytes passes the manager's limit of 10 KB, whatever they are."""
PAUSES_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0)
"""The pauses after failures; the last one is repeated."""
GIVE_UP_S: Final = 60.0
"""An answer that could not be posted for so long has no caller any more."""
FINISH_S: Final = 1.0
COLLECT_S: Final = 0.005
"""How long to wait for answers that can leave with the next request."""
OK: Final = 200
WITHDRAWN: Final = 403
LATER: Final = (429, 500, 502, 503, 504)
CLOSED: Final = (WITHDRAWN, 404, 405, 409)
"""The manager has no mailboxes, or this one is closed, or somebody else reads it."""
_LOG = logging.getLogger(__name__)


class Fetched(Struct):
    """A letter as it was fetched."""

    letter: int
    body: str
    headers: dict[str, str] = {}
    base64: bool = False
    sender: str = msgspec.field(default="", name="from")

    def request(self) -> HttpRequest:
        """Return it as the request that its caller sent; ValueError if it cannot be read."""
        body = base64.b64decode(self.body, validate=True) if self.base64 else self.body.encode()
        headers = {name.lower().encode("latin-1"): value.encode("latin-1") for name, value in self.headers.items()}
        request = HttpRequest("POST", b"/mcp", "/mcp", headers=headers, body=body, address=self.sender)
        request.is_complete = True
        return request


class Letters(Struct):
    """The answer to a request for letters."""

    letters: list[Fetched]


class ClosedError(Exception):
    """This mailbox cannot be read any more; the sentence says why."""

    def __init__(self, sentence: str, *, is_withdrawn: bool = False) -> None:
        super().__init__(sentence)
        self.is_withdrawn = is_withdrawn
        """True if its owner takes no part any more."""


class Reader:
    """Reads the mailbox that belongs to a secret. `managers` returns the managers of the league as far as they are
    known; `on_moved` is told where the mailbox is, whenever that changes; `app` answers the letters."""

    def __init__(
        self,
        client: HttpClient,
        app: App,
        managers: Callable[[], Sequence[str]],
        on_moved: Callable[[str], None],
        secret: str,
    ) -> None:
        self.endpoint = addresses.endpoint_at(managers()[0], secret)
        self._client = client
        self._router = Router(app, AccessPolicy())
        self._managers = managers
        self._on_moved = on_moved
        self._secret = secret
        self._id = chance(8).hex()
        self._manager = managers()[0]
        self._after = 0
        self._wait_s = 0.0
        """How long a fetch waits for letters: not at all while it is open whether the manager answers."""
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._ready: list[dict[str, Any]] = []
        """Answers that leave with the next request for letters."""
        self._is_collecting = False

    async def read(self) -> None:
        """Fetch and answer letters for ever; ClosedError if that can't go on."""
        failures = 0
        try:
            while True:
                try:
                    await self._fetch()
                    failures = 0
                except CallFailed:
                    self._wait_s = 0.0
                    self._after = 0
                    self._turn_to_next()
                    await asyncio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
                    failures += 1
        finally:
            await self._finish()

    async def _finish(self) -> None:
        """Let answers leave that are ready, such as the one to the message that the league is over."""
        if self._answering:
            await asyncio.wait(self._answering.values(), timeout=FINISH_S)
        for task in self._answering.values():
            task.cancel()
        with suppress(CallFailed):
            for content in self._ready:
                await self._post(addresses.ANSWER, content, FINISH_S)

    async def _fetch(self) -> None:
        sent = len(self._ready)
        wanted = {"reader": self._id, "after": self._after, "wait_s": self._wait_s, "answers": self._ready}
        reply = await self._post(addresses.FETCH, wanted, self._wait_s + ANSWER_S)
        if reply.status != OK:
            sentence = _sentence_in(reply)
            if reply.status in CLOSED:
                raise ClosedError(sentence, is_withdrawn=reply.status == WITHDRAWN)
            raise CallFailed(Failure.BUSY, sentence)
        try:
            letters = msgspec.json.decode(reply.body, type=Letters).letters
        except msgspec.DecodeError:
            # Third-party managers answer anything at any path.
            raise ClosedError("it has no mailboxes") from None
        self._wait_s = WAIT_S
        del self._ready[:sent]
        endpoint = addresses.endpoint_at(self._manager, self._secret)
        if endpoint != self.endpoint:
            self.endpoint = endpoint
            self._on_moved(endpoint)
        for letter in letters:
            self._after = max(self._after, letter.letter)
            if letter.letter not in self._answering:
                self._answering[letter.letter] = asyncio.create_task(self._answer(letter))
        await self._collect()

    async def _collect(self) -> None:
        """Wait a moment for answers: most are ready at once, and cost no request of their own."""
        self._is_collecting = True
        if self._answering:
            await asyncio.wait(self._answering.values(), timeout=COLLECT_S)
        self._is_collecting = False

    async def _post(self, path: str, content: object, timeout_s: float) -> HttpReply:
        url = addresses.root_of(self._manager) + path
        key = addresses.key_for(self._manager, self._secret)
        headers = f"Authorization: Bearer {key}\r\n".encode()
        return await self._client.post(url, msgspec.json.encode(content), timeout_s, FETCH_LIMIT, headers)

    def _turn_to_next(self) -> None:
        managers = self._managers()
        place = managers.index(self._manager) + 1 if self._manager in managers else 0
        self._manager = managers[place % len(managers)]

    # --- answers ------------------------------------------------------------------------------------------------------

    async def _answer(self, letter: Fetched) -> None:
        try:
            response = await self._response_to(letter.request())
        except Exception:  # noqa: BLE001 (one of the top doors: a bug is logged, and the caller gets an answer)
            _LOG.exception("letter %d could not be answered", letter.letter)
            response = self._router.refuse(500, "something went wrong here")
        try:
            contents = list(_written(letter.letter, response))
            size = sum(len(ready["body"]) for ready in (*self._ready, *contents))
            if self._is_collecting and size <= PIECE:
                self._ready += contents
                return
            for content in contents:
                if not await self._is_posted(content):
                    return
        finally:
            del self._answering[letter.letter]

    async def _response_to(self, request: HttpRequest) -> Response:
        refusal = self._router.check(request, lambda: "")
        if refusal is not None:
            return refusal
        begun = self._router.dispatch(request)
        answer = await begun if isinstance(begun, Awaitable) else begun
        if isinstance(answer, Response):
            return answer
        collected = _Collected()
        await answer.send_to(collected)
        return collected.response()

    async def _is_posted(self, content: dict[str, Any]) -> bool:
        """Post an answer until it has arrived; False if nobody waits for it."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + GIVE_UP_S
        failures = 0
        while loop.time() < give_up_at:
            try:
                status = (await self._post(addresses.ANSWER, content, ANSWER_S)).status
            except CallFailed:
                status = 0
            if status == OK:
                return True
            if status and status not in LATER:
                return False
            await asyncio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
            failures += 1
        return False


class _Collected:
    """Takes an answer that is made in pieces, such as an event stream with one event, as a whole."""

    on_disconnect: Callable[[], object] = staticmethod(lambda: None)
    wants_body = True
    may_be_broken_off = False

    def __init__(self) -> None:
        self._head = Response(200, b"")
        self._body = bytearray()

    def send(self, answer: Response) -> None:
        self._head = answer
        self._body += answer.body

    def start(self, status: int, content_type: str, headers: Headers) -> None:
        self._head = Response(status, b"", content_type, headers)

    async def write(self, piece: bytes) -> None:
        self._body += piece

    def response(self) -> Response:
        """Return what was collected."""
        return Response(self._head.status, bytes(self._body), self._head.content_type, self._head.headers)


def _written(number: int, response: Response) -> Iterator[dict[str, Any]]:
    """Write an answer as it is posted, in pieces if it is large."""
    head: dict[str, Any] = {"letter": number, "status": response.status, "content_type": response.content_type}
    headers = dict(response.headers)
    if "mcp-session-id" in headers:
        head["session"] = headers["mcp-session-id"]
    if "retry-after" in headers:
        head["retry_after"] = float(headers["retry-after"])
    if len(response.body) <= PIECE:
        with suppress(UnicodeDecodeError):
            yield {**head, "body": response.body.decode()}
            return
    for start in range(0, max(len(response.body), 1), PIECE):
        piece = base64.b64encode(response.body[start : start + PIECE]).decode()
        more = start + PIECE < len(response.body)
        yield {**head, "body": piece, "base64": True, "more": more}


def _sentence_in(reply: HttpReply) -> str:
    try:
        found = msgspec.json.decode(reply.body, type=dict[str, str]).get("error", "")
    except (msgspec.DecodeError, ValueError):
        found = ""
    return found or f"it answers HTTP {reply.status}"
