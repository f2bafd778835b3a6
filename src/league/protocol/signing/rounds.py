"""The statement that a manager signs when a round is over (spec section 9.8).

It says what became of every match since the statement before, in the order in which that was decided, which orders the
operator gave, and the table. Each statement names the one before by its digest, so that the newest stands for all. A
result that changes later, because its match was played again or somebody was withdrawn, is in the next statement.

Statements are kept and sent as they were signed, as plain JSON: whoever checks one writes its bytes again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, json

from league.protocol.message.parts import StandingsRow
from league.protocol.signing.keys import Statement, statement_bytes

TYPE: Final = "league.v2 round"
_SORTED: Final = json.Encoder(order="sorted")


class StatedResult(Struct, frozen=True, kw_only=True):
    """The result of a match. One that was voided, and was not played again yet, has no status."""

    match_id: str
    players: list[str]
    attempt: int
    referee_id: str | None
    status: str | None
    winner: str | None
    points: dict[str, int]
    basis: Mapping[str, Any] | None
    """What it rests on: `evidence`, `unsigned` and `doubt`."""
    details: str | None
    """The digest of `result.details`: choices, moves, draws and signatures."""


class RoundStatement(Struct, frozen=True, kw_only=True):
    """What became of a round, and of earlier matches since."""

    type: str = TYPE
    manager_key: str
    league_id: str
    round_id: int
    results: list[StatedResult]
    orders: list[str]
    """The operator's orders since the statement before, as in "withdraw P03"."""
    table: list[StandingsRow]
    previous: str | None
    """The digest of the statement before."""


def digest_of(statement: Statement) -> str:
    """Return the digest by which the next statement names this one."""
    return hashlib.sha256(statement_bytes(statement)).hexdigest()


def details_digest(details: Mapping[str, Any]) -> str:
    """Return SHA-256 of `result.details`, written with sorted names and without blanks."""
    return hashlib.sha256(_SORTED.encode(details)).hexdigest()
