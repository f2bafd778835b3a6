"""A bad input, the answer it must get, and who the kit is to the agent that gets it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from league.protocol.errors import ERRORS
from league.protocol.exchanges import EXCHANGES, family_of
from league_kit.conventions import Object
from league_kit.wire import RawRequest

MANAGER, REFEREE, PLAYER = "manager", "referee", "player"
ROLES: Final = (MANAGER, REFEREE, PLAYER)
LEAGUE_WORD: Final = "league_2025_even_odd"
"""What the right messages call the league."""
OTHERS_TOKENS: Final = ("of the manager", "of another referee", "of another match", "of the player itself")
"""What somebody may show a player who is not the referee of its match."""


class Phase(IntEnum):
    """How far the league of the kit must be."""

    OPEN = 0
    """It can still be joined."""
    RUNNING = 1
    """A manager has given the kit's referee a match between the kit's players; a player or referee is a member of the
    kit's league."""
    OVER = 2
    """Its result was accepted."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The exact answer: the HTTP status (None: the connection ends without an answer), and the error, if it is one of
    the catalogue."""

    status: int | None
    code: str = ""
    number: int | None = None

    def __str__(self) -> str:
        if self.status is None:
            return "the end of the connection"
        error = f", {self.code} {ERRORS[self.code].name} ({self.number})" if self.code else ""
        return f"status {self.status}{error}"


def refused(code: str, kind: str | None = None) -> Expected:
    """The error of the catalogue, with its number for this message type and its status."""
    row = ERRORS[code]
    return Expected(row.http_status or 200, code, row.number(family_of(kind)))


@dataclass(frozen=True, slots=True)
class Standing:
    """Who the kit is to the agent: where it is, which ids and tokens are its own, and what the documents' ids stand for
    in its league."""

    url: str
    role: str
    words: Mapping[str, str] = field(default_factory=dict)
    """What to say for an id of the right messages, such as P01."""
    tokens: Mapping[str, str] = field(default_factory=dict)
    """By the id of the member whose token it is, or "league_manager"; or by one of OTHERS_TOKENS."""
    missing: str = ""
    """Why the kit has no standing, where that is so."""

    def live(self, value: object) -> object:
        """The same JSON with the ids of this league."""
        if isinstance(value, str):
            word, colon, name = value.partition(":")
            if colon and word in ("player", "referee") and name in self.words:
                return f"{word}:{self.words[name]}"
            return self.words.get(value, value)
        if isinstance(value, list):
            return [self.live(one) for one in value]
        if isinstance(value, dict):
            return {self.words.get(name, name): self.live(one) for name, one in value.items()}
        return value

    def token_of(self, message: Object) -> str | None:
        """The token of whoever this message is from."""
        sender = str(message.get("sender", ""))
        return self.tokens.get(sender.partition(":")[2] or sender)


Make = Callable[[Standing], RawRequest]


@dataclass(frozen=True, slots=True)
class BadInput:
    """One row of the catalogue: `clause` is the requirement it breaks."""

    id: str
    clause: str
    what: str
    expected: Expected
    make: Make
    phase: Phase = Phase.OPEN
    as_member: bool = False
    """It is said by somebody who has registered."""


def posted(body: bytes) -> Make:
    """These bytes, posted as a message is."""
    return lambda standing: RawRequest(standing.url, body)


def call_of(message: object, method: str, number: object = 1) -> Object:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": message}


def method_of(kind: str) -> str:
    """The verb of a message, or its type where it has none."""
    return EXCHANGES[kind].method if kind in EXCHANGES else kind


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()
