"""The manager's side of mailboxes: three pages, and the manager's own calls.

| request | from | does |
|---|---|---|
| `POST /mailbox/NAME/mcp` | anybody | puts a letter into the mailbox of a member, and waits for the answer |
| `POST /mailbox/fetch` | its owner | returns the letters after the last one that it knows; waits if there are none |
| `POST /mailbox/answer` | its owner | answers a letter, in one piece or several |

The owner shows its key (`Authorization: Bearer KEY`), whose digest is the name of the mailbox. The manager's own calls
do not leave the process (`RelayClient`). Before an agent is a member, only the manager can write to it: a mailbox is no
way for strangers to talk to each other. A withdrawn player's mailbox is closed.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Collection
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from league.calling.rate_limit import Rate, RateLimiter
from league.letters import HttpReply
from league.machine import Failure
from league.mailbox import addresses
from league.mailbox.boxes import BOXES, BoxedLetter, Boxes
from league.protocol.endpoints import Endpoint, EndpointPolicy, ip_of, is_within, parse
from league.transport.http import Handler, HttpRequest, Response
from league.transport.http_call import CallFailed, PendingCall
from league.transport.http_client import HttpClient
from league.transport.resolving import Resolver

Standing = Literal["member", "stranger", "withdrawn", "unknown"]
"""What the owner of a mailbox is to the league; "unknown" as long as the manager does not serve."""

LONGEST_WAIT_S: Final = 25.0
"""Proxies end requests that take longer than 30 or 60 seconds."""
REQUESTS: Final = Rate(per_s=200, burst=2000)
"""Of the owner of a mailbox, of its callers together, and of strangers at one address."""
STRANGERS: Final = 512
"""The most mailboxes that are open while another stranger comes."""
_BEARER: Final = "bearer "
_SHORTEST_KEY: Final = 32
PASSED_ON: Final = (
    b"accept",
    b"authorization",
    b"content-encoding",
    b"content-type",
    b"mcp-protocol-version",
    b"mcp-session-id",
    b"mcp-method",
)
"""The headers of a call that its receiver gets."""


class PostedAnswer(Struct, forbid_unknown_fields=True):
    """The answer to a letter, or a piece of it."""

    letter: int
    body: str = ""
    base64: bool = False
    status: Annotated[int, Meta(ge=200, le=599)] = 200
    content_type: Annotated[str, Meta(max_length=100, pattern=r"\A[ -~]*\Z")] = "application/json"
    session: Annotated[str, Meta(max_length=200, pattern=r"\A[!-~]*\Z")] = ""
    retry_after: Annotated[float, Meta(ge=0, le=3600)] | None = None
    more: bool = False
    """True if another piece follows."""

    def reply(self) -> HttpReply:
        """Return it as if its sender had been called; ValueError if it cannot be read."""
        body = base64.b64decode(self.body, validate=True) if self.base64 else self.body.encode()
        return HttpReply(self.status, body, self.retry_after, self.content_type, self.session)


class Fetch(Struct, forbid_unknown_fields=True):
    """A request for letters, with answers to earlier ones."""

    reader: Annotated[str, Meta(min_length=1, max_length=64)]
    after: int = 0
    wait_s: Annotated[float, Meta(ge=0)] = 0.0
    answers: list[PostedAnswer] = []


class PostOffice:
    """The mailboxes of a manager. `standing` says whose mailbox has this name."""

    def __init__(self, standing: Callable[[str], Standing]) -> None:
        self.boxes = Boxes()
        self._standing = standing
        self._rates = RateLimiter(REQUESTS)
        self._now = asyncio.get_running_loop().time
        self._is_closed = False

    def beside(self, rest: Handler) -> Handler:
        """Return a handler that answers requests for our pages; `rest` answers the others."""
        return lambda request: (self.answer if request.path.startswith(addresses.PREFIX) else rest)(request)

    def answer(self, request: HttpRequest) -> Awaitable[Response] | Response:
        """Answer a request for a page of ours."""
        if request.method != "POST":
            return _problem(405, "this page takes POST", ("allow", "POST"))
        name = addresses.name_in(request.path)
        if name:
            return self._delivered(name, request)
        if request.path not in (addresses.FETCH, addresses.ANSWER):
            return _problem(404, "there is no such page")
        return self._opened(request)

    def _opened(self, request: HttpRequest) -> Awaitable[Response] | Response:
        """Answer somebody who shows the key of a mailbox."""
        key = request.headers.get(b"authorization", b"").decode("latin-1")
        if not key.lower().startswith(_BEARER) or len(key) < len(_BEARER) + _SHORTEST_KEY:
            return _problem(
                401, f"a mailbox opens for Authorization: Bearer KEY, of {_SHORTEST_KEY} characters or more"
            )
        name = addresses.name_of(key[len(_BEARER) :].strip())
        standing = self._standing(name)
        if standing == "unknown" or self._is_closed:
            return _NOT_NOW
        # Behind a proxy, or one router, everybody has the same address.
        if not self._rates.allows(name if standing == "member" else request.address, self._now()):
            return _TOO_MANY
        if standing == "withdrawn":
            return _problem(403, "its owner was withdrawn: this mailbox is closed")
        try:
            handle = self._answered if request.path == addresses.ANSWER else self._fetched
            return handle(name, request.body, BOXES if standing == "member" else STRANGERS)
        except ValueError as error:  # msgspec's errors are among them
            return _problem(400, str(error))

    def _fetched(self, name: str, body: bytes, limit: int) -> Awaitable[Response] | Response:
        fetch = _FETCHES.decode(body)
        box = self.boxes.open(name, self._now(), limit)
        if box is None:
            return _problem(503, "too many mailboxes are open", ("retry-after", "5"))
        for posted in fetch.answers:
            box.answered(posted.letter, posted.reply(), is_whole=not posted.more)
        fetched: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def ended(letters: list[BoxedLetter] | None) -> None:
            answer = _OUSTED
            if letters is not None:
                answer = Response(200, _ENCODER.encode({"letters": list(map(_written, letters))}))
            _settle(fetched, answer)

        box.fetch(fetch.reader, fetch.after, min(fetch.wait_s, LONGEST_WAIT_S), self._now(), ended)
        return fetched

    def _answered(self, name: str, body: bytes, _: int) -> Response:
        posted = _ANSWERS.decode(body)
        box = self.boxes.find(name)
        if box is None or not box.answered(posted.letter, posted.reply(), is_whole=not posted.more):
            return _problem(404, "nobody waits for the answer to this letter")
        return Response(200, b"{}")

    def _delivered(self, name: str, request: HttpRequest) -> Awaitable[Response] | Response:
        """Put a call into a mailbox. Its caller gets the owner's answer; if the caller leaves, the letter goes, too."""
        standing = self._standing(name)
        if standing == "unknown" or self._is_closed:
            return _NOT_NOW
        if standing != "member":
            return _problem(404, "there is no such mailbox")
        if not self._rates.allows(f"to {name}", self._now()):
            return _TOO_MANY
        headers = {
            name.decode(): value.decode("latin-1") for name, value in request.headers.items() if name in PASSED_ON
        }
        delivered: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        letter = BoxedLetter(request.body, headers, request.address, lambda reply: _settle(delivered, _response(reply)))
        if not self.put(name, letter):
            return _problem(503, "this mailbox is full", ("retry-after", "2"))
        delivered.add_done_callback(lambda _: self.drop(name, letter))
        return delivered

    def put(self, name: str, letter: BoxedLetter) -> bool:
        """Put a letter into a mailbox; False if there is no room."""
        now = self._now()
        box = self.boxes.open(name, now)
        return box is not None and not self._is_closed and box.put(letter, now)

    def drop(self, name: str, letter: BoxedLetter) -> None:
        """Forget a letter whose caller has gone."""
        box = self.boxes.find(name)
        if box is not None:
            box.drop(letter)

    def close(self) -> None:
        """Let everybody go who waits: the manager ends."""
        self._is_closed = True
        self.boxes.close()


_ENCODER: Final = msgspec.json.Encoder()
_FETCHES: Final = msgspec.json.Decoder(Fetch)
_ANSWERS: Final = msgspec.json.Decoder(PostedAnswer)


def _problem(status: int, sentence: str, *headers: tuple[str, str]) -> Response:
    return Response(status, _ENCODER.encode({"error": sentence}), headers=headers)


def _written(letter: BoxedLetter) -> dict[str, Any]:
    """Write a letter as it is fetched (Any: JSON)."""
    written: dict[str, Any] = {"letter": letter.number, "from": letter.sender, "headers": letter.headers}
    try:
        written["body"] = letter.body.decode()
    except UnicodeDecodeError:
        written["body"] = base64.b64encode(letter.body).decode()
        written["base64"] = True
    return written


_NOT_NOW: Final = _problem(503, "this manager does not serve at the moment", ("retry-after", "1"))
_OUSTED: Final = _problem(409, "another reader has this mailbox now")
_TOO_MANY: Final = _problem(429, "too many requests at once; come again later", ("retry-after", "2"))


def _settle(waiting: asyncio.Future[Response], answer: Response) -> None:
    if not waiting.done():  # else its client has left, or the server ends
        waiting.set_result(answer)


def _response(reply: HttpReply | None) -> Response:
    """Return what the caller of a mailbox gets."""
    if reply is None:
        return _problem(503, "the owner of this mailbox did not answer", ("retry-after", "2"))
    headers = []
    if reply.session:
        headers.append(("mcp-session-id", reply.session))
    if reply.retry_after is not None:
        headers.append(("retry-after", f"{reply.retry_after:.0f}"))
    return Response(reply.status, reply.body, reply.content_type, tuple(headers))


# --- the manager's own calls ------------------------------------------------------------------------------------------


class RelayPolicy(EndpointPolicy, frozen=True):
    """The policy of a manager with mailboxes: they may be registered, too. `names` are the hosts and ports by which
    others know this manager, besides the port at its own addresses."""

    names: Collection[tuple[str, int]] = ()

    def is_mailbox(self, endpoint: Endpoint) -> bool:
        """True if this is a mailbox at this manager."""
        if not addresses.name_in(endpoint.target):
            return False
        if (endpoint.host, endpoint.port) in self.names:
            return True
        is_here = endpoint.ip is not None and self.is_here(endpoint.ip)
        return endpoint.port == self.own_port and (is_here or any(endpoint.host == host for host, _ in self.names))

    def objection(self, endpoint: Endpoint, origin: str) -> str:
        if not self.is_mailbox(endpoint):
            return EndpointPolicy.objection(self, endpoint, origin)
        # The mailbox is here; how far away its owner may be is a rule of the league all the same.
        owner = ip_of(origin)
        if (
            owner is None
            or is_within(owner, self.reach)
            or any(place.covers(endpoint, owner) for place in self.allowed)
        ):
            return ""
        return f"{owner} is outside the networks of this league (--endpoints {self.reach})"

    def must_look_up(self, endpoint: Endpoint) -> bool:
        return not self.is_mailbox(endpoint) and EndpointPolicy.must_look_up(self, endpoint)


class _Relayed(PendingCall):
    """A call of the manager to a mailbox."""

    letter: BoxedLetter | None = None
    timer: asyncio.TimerHandle | None = None
    forget: Callable[[], None] = lambda: None

    def cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.forget()


class RelayClient(HttpClient):
    """Makes the manager's calls: those to its own mailboxes without a connection."""

    def __init__(self, office: PostOffice, policy: RelayPolicy) -> None:
        super().__init__(resolver=Resolver(policy))
        self._office = office
        self._policy = policy
        self._name_of = lru_cache(maxsize=4096)(self._find_name)

    def _find_name(self, url: str) -> str:
        """Return the name of the mailbox at this address; "" if it is none of ours."""
        endpoint = parse(url)
        return addresses.name_in(endpoint.target) if self._policy.is_mailbox(endpoint) else ""

    def send(
        self,
        url: str,
        body: bytes,
        timeout_s: float,
        limit: int,
        on_end: Callable[[HttpReply | CallFailed], None],
        headers: bytes = b"",
        origin: str = "",
        gives_way: bool = False,
        is_once: bool = False,
    ) -> PendingCall:
        # Nearly all endpoints are no mailboxes: to search them is cheaper than to parse them.
        if addresses.PREFIX not in url or not (name := self._name_of(url)):
            return super().send(
                url,
                body,
                timeout_s,
                limit=limit,
                on_end=on_end,
                headers=headers,
                origin=origin,
                gives_way=gives_way,
                is_once=is_once,
            )
        target = self._targets.get((url, origin)) or self._target_of(url, origin)
        call = _Relayed(target, b"", self._loop.time() + timeout_s, limit, timeout_s, on_end)

        def ended(reply: HttpReply | None) -> None:
            call.cancel()
            if reply is None:
                on_end(CallFailed(Failure.TIMEOUT, "no answer in time"))
            elif len(reply.body) > limit:
                on_end(CallFailed(Failure.UNUSABLE, "the answer is too large"))
            else:
                on_end(reply)

        letter = BoxedLetter(body, _read_headers(headers), "", ended)
        call.forget = lambda: self._office.drop(name, letter)
        if self._office.put(name, letter):
            call.timer = self._loop.call_later(timeout_s, ended, None)
        else:
            call.timer = self._loop.call_soon(on_end, HttpReply(503, b"", 2.0))  # type: ignore[assignment]
        return call


@lru_cache(maxsize=256)
def _read_headers(lines: bytes) -> dict[str, str]:
    """Read whole lines of headers; what every call has is added."""
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    for line in lines.decode("latin-1").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip()
    return headers


def known_as(managers: Collection[str], names: Collection[str], port: int) -> frozenset[tuple[str, int]]:
    """Return the hosts and ports of a manager that has these names and is known by these addresses."""
    places = [parse(address) for address in managers]
    return frozenset([(place.host, place.port) for place in places] + [(name.lower(), port) for name in names])
