"""The operator's orders as a table: the HTTP interface, the MCP tools, the commands and the dashboard are made of it.

`manager/orders.py` says when an order can be carried out, `manager/state/ledger.py` what it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Order = Literal["start", "pause", "resume", "close", "approve", "reject", "readmit", "withdraw", "rotate-token"]
"""The orders that are an `OrderCarriedOut` in the journal. `replay-match` has events of its own."""


class OrderRow(Struct, frozen=True, kw_only=True):
    """An order. `about` completes "This order will …"."""

    about: str
    target: str = ""
    """What its target is, if it has one."""
    placeholder: str = ""
    """What stands for the target in help texts."""
    is_destructive: bool = False
    with_secret: bool = False
    """True if the order carries a secret: it has a command of its own, and is not offered to language models."""
    done: str = ""
    """What its command prints when it was carried out; `{}` is the target."""
    narrated: str = ""
    """What the manager's terminal says of it; `{}` is the target. Empty if other events say it."""
    examples: tuple[str, ...]
    note: str = ""
    """What else its help says."""


RUNNING = "--manager http://127.0.0.1:8000 --state league-data/my_league"
APPLICANT = "its applicant id (A01), name or endpoint"
ORDERS: Mapping[str, OrderRow] = {
    "start": OrderRow(
        about="start the league with the agents that are registered",
        done="The league starts.",
        examples=("league start", "league start --anyway", f"league start {RUNNING}"),
        note="All agents are probed every 5 seconds until then. If one does not answer, waits for approval, or has\n"
        "not registered since its approval, the command says which and why; --anyway starts the league all the same.\n",
    ),
    "pause": OrderRow(
        about="let running matches finish, but start no new ones",
        done="The league is paused: running matches finish, but no new ones start.",
        narrated="the league is paused",
        examples=("league pause", "LEAGUE_ADMIN_TOKEN=... league pause --manager http://127.0.0.1:8000"),
    ),
    "resume": OrderRow(
        about="continue a paused league",
        done="The league goes on.",
        narrated="the league goes on: by the operator's order",
        examples=("league resume", f"league resume {RUNNING}"),
    ),
    "approve": OrderRow(
        about="let an applicant in",
        target=APPLICANT,
        placeholder="AGENT",
        done="{} is approved: its next registration is accepted.",
        narrated="{} is approved",
        examples=(
            "league approve A01 A02",
            'league approve "Ann\'s player" --state league-data/my_league',
            "league approve --all",
        ),
        note="`league agents` shows which agents wait. An approved agent becomes a member when it registers again.\n",
    ),
    "reject": OrderRow(
        about="turn an applicant away",
        target=APPLICANT,
        placeholder="AGENT",
        is_destructive=True,
        done="{} is rejected: its next registration is refused.",
        narrated="{} is rejected",
        examples=("league reject A01 A02", "league reject --all"),
        note="`league agents` shows rejected agents; `league approve` lets one in after all.\n",
    ),
    "readmit": OrderRow(
        about="let a player or referee come back from a new address, with its id and points; its old tokens stop "
        "working",
        target="its id, such as P02, or its name",
        placeholder="AGENT",
        done="{} may come back from any address: start it with the name it had.",
        narrated="{} may come back from any address; it is started with the name it had",
        examples=("league readmit P07", 'league readmit "Ann\'s player" --state league-data/my_league'),
        note="The next registration with this name counts as this agent, so tell its owner to start it now.\n"
        "It keeps its id, points and matches; the tokens of its old registration stop working.\n",
    ),
    "withdraw": OrderRow(
        about="take a player out of the league; its opponents win its open matches",
        target="the player's id, such as P02",
        placeholder="PLAYER_ID",
        is_destructive=True,
        done="{} is withdrawn: its open matches are won by its opponents.",
        narrated="{} is withdrawn",
        examples=("league withdraw P02", f"league withdraw P02 {RUNNING}"),
        note="Its results stand; the matches it has not finished are won by its opponents.\n",
    ),
    "replay-match": OrderRow(
        about="void the result of a match and play it again, or give a parked match three more attempts",
        target="the match's id, such as R1M1",
        placeholder="MATCH_ID",
        is_destructive=True,
        done="{} is played again.",
        examples=("league replay-match R1M1", f"league replay-match R1M1 {RUNNING}"),
        note="Nothing is erased: the void result stays in the journal. A parked match gets three more attempts.\n"
        "This also works after the end, until the league is closed. Agents that have stopped must be started again,\n"
        "without the journal of the finished league, and a referee with the enrolment key (--state DIR).\n",
    ),
    "close": OrderRow(
        about="close a finished league for good: no match can be replayed",
        is_destructive=True,
        done="The league is closed: its table is final.",
        narrated="the league is closed",
        examples=("league close", f"league close {RUNNING}"),
    ),
    "rotate-token": OrderRow(
        about="replace the admin token or the enrolment key; the old one is refused from then on",
        target="`admin` or `enrolment`",
        placeholder="SECRET",
        is_destructive=True,
        with_secret=True,
        narrated="the operator replaced a secret ({}): the old one is refused",
        examples=(
            "league rotate-token --state league-data/my_league",
            "league rotate-token enrolment",
            "league rotate-token --journal league-data/my_league/journal.db",
        ),
        note="The old secret is refused as soon as the command has ended. Agents that are registered stay\n"
        "members, with their own tokens. The new secret is in the journal, and in a file that only you can read:\n"
        "in --state DIR, or in the folder with the league's name. Referees on the manager's machine find a new\n"
        "enrolment key by themselves; give it to others that have yet to register.\n",
    ),
}
PLAIN_ORDERS = {name: order for name, order in ORDERS.items() if not order.with_secret}
"""The orders that anybody with the admin token can give in any way."""
