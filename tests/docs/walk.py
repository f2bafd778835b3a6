"""Traces a real walk: which functions of ours run in a referee, from the bytes of a player's last choice until its
GAME_OVER leaves the process. Referee, journal and HTTP are real; players and manager are scripted peers on threads of
their own, which the trace does not see.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

from league.agent.agent import Agent, Setup
from league.gateway.book import PeerBook
from league.gateway.guest import Guest
from league.protocol.envelope import Reading
from league.protocol.exchanges import Role
from league.protocol.parts import RefereeMeta
from league.referee.desk import RefereeDesk
from league.storage.sqlite import SqliteJournal
from league.transport.http_client import HttpClient
from league.transport.letters import Speaker
from tests.support.pages import ROOT
from tests.support.peer import WATCHDOG_S, Peer
from tests.support.scripts import Reaction, on

SOURCE = str(ROOT / "src") + "/"
HERE = "http://127.0.0.1:9/mcp"
FIRST = ("transport/http_call.py", "data_received")
LAST = ("transport/http_call.py", "send")


ADMITS = on(
    "REFEREE_REGISTER_REQUEST",
    Reaction(fields={"message_type": "REFEREE_REGISTER_RESPONSE", "status": "ACCEPTED", "referee_id": "REF01"}),
)


@dataclass(frozen=True)
class Visit:
    """A function of ours that ran."""

    file: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"


REMEMBERED = ("__missing__", "_of_second", "_reply_timestamp", "_timestamp", "is_strict", "_exists")
"""What runs once a second only."""
COMPOSED = Visit("referee/messages.py", "game_over")


class Tracer:
    """Functions of league, in the order in which they are first entered, from FIRST to LAST."""

    def __init__(self) -> None:
        self.visits: dict[Visit, None] = {}
        self.is_over = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or self.is_over or not code.co_filename.startswith(SOURCE):
            return
        name = code.co_name
        if name.startswith("<") or name in REMEMBERED:
            return
        visit = Visit(code.co_filename.removeprefix(SOURCE).removeprefix("league/"), name)
        if self.visits or (visit.file, visit.function) == FIRST:
            self.visits.setdefault(visit)
        self.is_over = COMPOSED in self.visits and (visit.file, visit.function) == LAST


def _desk(meta: RefereeMeta, manager: str, secrets: Mapping[str, str]) -> RefereeDesk:
    return RefereeDesk(meta, manager, random.Random(1).randbytes, secrets, open_book=PeerBook, open_guest=Guest)


@asynccontextmanager
async def _referee(folder: Path, manager: Peer) -> AsyncIterator[Agent]:
    meta = RefereeMeta(display_name="Whistle", version="1.0.0", game_types=["even_odd"], contact_endpoint=HERE)
    client = HttpClient()
    agent = Agent(
        Setup(
            build=lambda secrets: _desk(meta, manager.endpoint, secrets),
            speaker=lambda machine: Speaker(Role.REFEREE, machine.sender, Reading()),  # type: ignore[attr-defined]
            client=client,
        )
    )
    agent.start(SqliteJournal(folder / "journal.db", agent.notice))
    try:
        yield agent
    finally:
        await agent.stop()
        await client.close()


def _announcement(players: list[Peer]) -> bytes:
    match: dict[str, Any] = {"match_id": "R1M1", "game_type": "even_odd", "referee_endpoint": HERE}
    for seat, player in zip("AB", players, strict=True):
        match |= {f"player_{seat}_id": player.agent_id, f"player_{seat}_endpoint": player.endpoint}
        match[f"player_{seat}_standings"] = {"wins": 0, "losses": 0, "draws": 0, "points": 0}
    message = {
        "protocol": "league.v2",
        "message_type": "ROUND_ANNOUNCEMENT",
        "sender": "league_manager",
        "timestamp": "2026-01-15T10:00:00Z",
        "conversation_id": "conv-1",
        "league_id": "walk",
        "round_id": 1,
        "matches": [match],
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "notify_round", "params": message}).encode()


async def _play(folder: Path) -> list[Visit]:
    """One match; the second player's choice waits until the first one's is in the journal."""
    waits = on("CHOOSE_PARITY_CALL", Reaction(until="go"))
    with ExitStack() as stack:
        manager = stack.enter_context(Peer("Manager", role="manager", sender="league_manager", script=ADMITS))
        players = [
            stack.enter_context(Peer("Ann", agent_id="P01", choice="even")),
            stack.enter_context(Peer("Ben", agent_id="P02", choice="odd", script=waits)),
        ]
        async with _referee(folder, manager) as agent, asyncio.timeout(WATCHDOG_S):
            desk = agent.machine
            assert isinstance(desk, RefereeDesk)
            while not desk.agent_id:
                await _change(agent)
            await agent.post(_announcement(players), "127.0.0.1")
            while not any(type(one).__name__ == "MoveMade" for match in desk.matches.values() for one in match.events):
                await _change(agent)
            await asyncio.to_thread(players[1].saw, "CHOOSE_PARITY_CALL")
            # Nothing of what happened before may still be on its way to the disk.
            agent.journal.wake_writer()
            while agent._position.durable < agent._position.appended:
                await _change(agent)
            tracer = Tracer()
            sys.setprofile(tracer)
            try:
                players[1].release("go")
                while not tracer.is_over:
                    await _change(agent)
            finally:
                sys.setprofile(None)
    return list(tracer.visits)


async def _change(agent: Agent) -> None:
    agent.changed.clear()
    await agent.changed.wait()


def walked(folder: Path) -> list[Visit]:
    """The walk, function by function."""
    return asyncio.run(_play(folder))


def table(visits: list[Visit]) -> str:
    """The walk as the page shows it: a row for each time it enters another file."""
    rows = [
        f"| `{file}` | {', '.join(f'`{one.function}`' for one in some)} |"
        for file, some in groupby(visits, key=lambda one: one.file)
    ]
    return "\n".join(["| file | functions |", "|---|---|", *rows])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(table(walked(Path(name))))
