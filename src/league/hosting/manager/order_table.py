"""The operator's orders in words, for the command line, the HTTP API and MCP clients alike.

`manager/orders.py` carries them out.
"""

from __future__ import annotations

from typing import NamedTuple


class OrderRow(NamedTuple):
    """An order. `about` completes "This order will …"."""

    name: str
    about: str
    target: str = ""
    """What its target is, if it has one."""
    placeholder: str = ""
    """What stands for the target in help texts."""
    is_destructive: bool = False
    with_secret: bool = False
    """True if the order carries a secret: it is not offered to language models."""


ORDER_TABLE = (
    OrderRow("start", "start the league with the agents that are registered"),
    OrderRow("pause", "let running matches finish, but start no new ones"),
    OrderRow("resume", "continue a paused league"),
    OrderRow("approve", "let an applicant in", "its applicant id (A01), name or endpoint", "AGENT"),
    OrderRow("reject", "turn an applicant away", "its applicant id (A01), name or endpoint", "AGENT", True),
    OrderRow(
        "readmit",
        "let a player or referee come back from a new address, with its id and points; its old tokens stop working",
        "its id, such as P02, or its name",
        "AGENT",
    ),
    OrderRow(
        "withdraw",
        "take a player out of the league; its opponents win its open matches",
        "the player's id, such as P02",
        "PLAYER_ID",
        True,
    ),
    OrderRow(
        "replay-match",
        "void the result of a match and play it again, or give a parked match three more attempts",
        "the match's id, such as R1M1",
        "MATCH_ID",
        True,
    ),
    OrderRow("close", "close a finished league for good: no match can be replayed", is_destructive=True),
    OrderRow(
        "rotate-token",
        "replace the admin token or the enrolment key; the old one is refused from then on",
        "`admin` or `enrolment`",
        "SECRET",
        is_destructive=True,
        with_secret=True,
    ),
)
WITH_TARGET = frozenset(row.name for row in ORDER_TABLE if row.target)
WITH_SECRET = frozenset(row.name for row in ORDER_TABLE if row.with_secret)
