"""What a scripted peer does, as data. A Script says which reaction a request gets; a Reaction changes the honest
answer: what it says, how HTTP carries it, when it leaves, and what becomes of the connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Object = dict[str, Any]
"""A JSON object (Any: peers say whatever they like)."""


class Absent:
    """Stands for a field that is left out."""


ABSENT: Final = Absent()
NEVER: Final = "never"
"""No test releases this."""

MATCH_CALLS: Final = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
BROADCASTS: Final = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One way to answer. Everything left at its default is as a good player does it."""

    # --- what is said
    fields: Mapping[str, object] = field(default_factory=dict)
    """Fields of the message that are changed, added, or (ABSENT) left out; a function is given the message asked."""
    alone: bool = False
    """Those fields are the whole message."""
    rpc: Mapping[str, object] = field(default_factory=dict)
    """The same for the JSON-RPC object around it: `{"result": ABSENT, "error": {…}}`, `{"id": 99}`; a function is given
    the call."""
    batch: bool = False
    """The answer as the only element of an array."""
    body: bytes | None = None
    """These bytes instead of any answer."""
    padding: int = 0
    """So many blanks behind the body."""
    posted: bool = False
    """The message goes to the referee as a request of our own; the result, or the `body`, is a mere acknowledgement."""
    posted_after_s: float = 0.0
    registers: bool = False
    """Beside the answer it registers again."""

    # --- how HTTP carries it
    status: int = 200
    reason: str = "OK"
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    version: Literal["HTTP/1.1", "HTTP/1.0"] = "HTTP/1.1"
    framing: Literal["length", "chunked", "close"] = "length"
    """How the end of the body is told; "close": by the end of the connection."""
    gzip: bool = False
    raw: bytes | None = None
    """These bytes instead of any HTTP."""

    # --- when it leaves
    until: str = ""
    """Not before the test calls `release` with this name."""
    after: str = ""
    """Not before another request of this kind has come in: after GAME_ERROR it is too late for sure."""
    drip: tuple[int, float] | None = None
    """So many bytes at a time, so many seconds apart."""

    # --- what becomes of the connection
    cut: int | None = None
    """So many bytes leave, no more."""
    ending: Literal["keep", "close", "reset", "exit"] = "keep"
    """ "exit": the whole agent is gone after this answer."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Requests of these kinds (message types or methods; none: all) get these reactions, the last for ever."""

    kinds: frozenset[str]
    reactions: Sequence[Reaction]
    cycles: bool = False
    """After the last comes the first again."""

    def fits(self, *names: str) -> bool:
        return not self.kinds or not self.kinds.isdisjoint(names)

    def reaction(self, nth: int) -> Reaction:
        """What the nth such request gets, from 0."""
        last = len(self.reactions) - 1
        return self.reactions[nth % (last + 1) if self.cycles else min(nth, last)]


Script = tuple[Rule, ...]
"""The first rule that fits decides."""


def on(kinds: str | Sequence[str], *reactions: Reaction) -> Script:
    """A script for requests of one or some kinds."""
    return (Rule(frozenset((kinds,) if isinstance(kinds, str) else kinds), reactions),)


def always(*reactions: Reaction) -> Script:
    """A script for every request, `ping` included."""
    return (Rule(frozenset(), reactions),)


def in_turn(*reactions: Reaction) -> Script:
    """A script for every request, over and over."""
    return (Rule(frozenset(), reactions, cycles=True),)


# --- common reactions -------------------------------------------------------------------------------------------------

HONEST: Final = Reaction()
HANG: Final = Reaction(until=NEVER)
RESET: Final = Reaction(cut=0, ending="reset")
DECLINE: Final = Reaction(fields={"accept": False})
LATE: Final = Reaction(after="GAME_ERROR")
POSTED: Final = Reaction(posted=True)
POSTED_LATER: Final = Reaction(posted=True, posted_after_s=0.1, body=b"", status=202, reason="Accepted")
BANANA: Final = Reaction(body=b"banana")
HTML: Final = Reaction(body=b"<!doctype html><title>It works!</title>", content_type="text/html")
NO_HTTP: Final = Reaction(raw=b"\x16\x03\x01 I am no web server\n", ending="close")
CRASH: Final = Reaction(status=500, reason="Internal Server Error", body=b"Traceback (most recent call last):")
BUSY: Final = Reaction(status=429, reason="Too Many Requests", headers=(("Retry-After", "5"),), body=b"{}")
GZIP: Final = Reaction(gzip=True)
HUGE: Final = Reaction(padding=1 << 20)
SLOW: Final = Reaction(drip=(1, 0.05))


def redirect(to: str) -> Reaction:
    """Go and ask somebody else."""
    return Reaction(status=307, reason="Temporary Redirect", headers=(("Location", to),), body=b"")


def refusal(code: int, message: str = "no") -> Reaction:
    """A JSON-RPC error."""
    return Reaction(rpc={"result": ABSENT, "error": {"code": code, "message": message}})


# --- what a peer saw and sent -----------------------------------------------------------------------------------------

NOT_UNDERSTOOD: Final = "(not understood)"
"""The kind of a request that is no message in the convention of who got it."""


@dataclass(slots=True)
class Received:
    """A request that came in, and what was answered so far."""

    at: float
    kind: str
    """The message type, or the method of what is no message; NOT_UNDERSTOOD if the convention sets it aside."""
    method: str
    message: Object
    call: Object
    head: bytes
    body: bytes
    aside: Reaction | None = None
    """What the convention makes of it; None: it was understood as a message."""
    answer: bytes = b""
    answered_at: float | None = None

    def header(self, name: bytes) -> str:
        return header(self.head, name)

    @property
    def reply(self) -> Object:
        """The JSON of the answer; {} if it is none."""
        return json_object(self.answer.partition(b"\r\n\r\n")[2])


@dataclass(frozen=True, slots=True)
class Sent:
    """A request of our own, and what came back."""

    at: float
    url: str
    body: bytes
    status: int
    answer: bytes

    @property
    def json(self) -> Object:
        """What came back; {} if it is no JSON object."""
        return json_object(self.answer)


def json_object(body: bytes) -> Object:
    """The JSON object in these bytes; {} if there is none."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def header(head: bytes, name: bytes) -> str:
    """The value of this header (its name in small letters); "" if there is none."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return next((value.strip().decode() for given, _, value in lines if given.lower() == name), "")


def held(kind: str, nth: int) -> Script:
    """Everything is answered at once but the nth request of this kind, which waits until the test says "go"."""
    return on(kind, *[HONEST] * (nth - 1), Reaction(until="go"), HONEST)
