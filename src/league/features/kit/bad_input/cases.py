"""A bad input, the answer it must get, and the kit's standing with the agent that gets it."""

# Theory of operation
#
# The catalogue is data: a BadInput says what is sent, which clause it breaks, and the exact answer it must get. Bytes
# are made only when the case is sent, by `make(standing)`, because most bad inputs are right messages with one thing
# wrong: everything else in them (ids, tokens, addresses) must be true in the agent's own league, or the agent would
# refuse them for another reason.
#
# A Standing holds these truths. The right messages come from the specification with ids such as P01; `words` maps them
# to the ids of the live league, `tokens` has the token of each member. joining.py gets the standing, and moves the
# league forward from phase to phase; within a phase the agent's state must not change, whatever is sent.

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from league.features.kit.driver.conventions import Object
from league.features.kit.driver.templates import table
from league.features.kit.driver.wire import RawRequest
from league.protocol.errors import ERRORS
from league.protocol.message.exchanges import EXCHANGES, family_of

MANAGER: Final = "manager"
REFEREE: Final = "referee"
PLAYER: Final = "player"
ROLES: Final = (MANAGER, REFEREE, PLAYER)
LEAGUE_WORD: Final = "league_2025_even_odd"
"""The name of the league in the right messages."""


class LeaguePhase(IntEnum):
    """How far the league of the kit must be."""

    OPEN = 0
    """It can still be joined."""
    RUNNING = 1
    """A manager has given the kit's referee a match between the kit's players; a player or referee is a member of the
    kit's league."""
    OVER = 2
    """Its result was accepted."""


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """The exact answer: the HTTP status (None: the connection ends without an answer), and the error of the catalogue,
    if it is one."""

    status: int | None
    code: str = ""
    number: int | None = None

    def __str__(self) -> str:
        if self.status is None:
            return "the end of the connection"
        if not self.code:
            return f"status {self.status}"
        return f"status {self.status}, {self.code} {ERRORS[self.code].name} ({self.number})"


def refused(code: str, kind: str | None = None) -> ExpectedAnswer:
    """Return the error of the catalogue, with its number for this message type and its status."""
    row = ERRORS[code]
    return ExpectedAnswer(row.http_status or 200, code, row.number(family_of(kind)))


@dataclass(frozen=True, slots=True)
class Standing:
    """The kit's standing with the agent: where it is, which ids and tokens are the kit's, and what the documents' ids
    stand for in its league."""

    url: str
    role: str
    words: Mapping[str, str] = field(default_factory=dict)
    """The live word for an id of the right messages, such as P01."""
    tokens: Mapping[str, str] = field(default_factory=dict)
    """By the id of the token's owner, or "league_manager"; those that somebody may show a player who is not its
    referee, by a name such as "of another match"."""
    missing: str = ""
    """Why the kit has no standing, if it has none."""

    def token_of(self, message: Object) -> str | None:
        """Return the token of the sender of this message."""
        sender = str(message.get("sender", ""))
        return self.tokens.get(sender.partition(":")[2] or sender)


Make = Callable[[Standing], RawRequest]
Fields = dict[str, Any]
"""A row, or a message (Any: any JSON)."""


@dataclass(frozen=True, slots=True)
class BadInput:
    """One row of the catalogue: `clause` is the requirement it breaks."""

    id: str
    clause: str
    what: str
    expected: ExpectedAnswer
    make: Make
    phase: LeaguePhase = LeaguePhase.OPEN
    as_member: bool = False
    """The sender has registered."""
    profile: str = ""
    """The profile in which it is bad input, or gets this answer; empty: in all of them."""


def posted(body: bytes) -> Make:
    """Post these bytes as a message is posted."""
    return lambda standing: RawRequest(standing.url, body)


def call_of(message: object, method: str, number: object = 1) -> Object:
    """Return a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": message}


def method_of(kind: str) -> str:
    """Return the verb of a message, or its type if it has none."""
    return EXCHANGES[kind].method if kind in EXCHANGES else kind


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


def rows_of(name: str) -> Iterator[Fields]:
    """Return every row of a table, with the fields of its group, and its name as `row`."""
    for group in table("bad_input", name)["group"]:
        for row, value in group["rows"].items():
            fields = value if isinstance(value, dict) else {"set": {group["varies"]: value}}
            changes = {**group.get("set", {}), **fields.get("set", {})}
            yield {**group, **fields, "row": row, "set": changes}
