"""Traces two real walks, function by function: which functions of ours run from the moment the first bytes arrive until
the last message leaves the process.

`play` is the walk in a referee, from a player's last choice to GAME_OVER. `score` is the walk in a manager, from a
referee's report to the table. The traced agent, its journal and its HTTP are real. Everybody else is scripted and runs
on threads of its own, which the trace does not see.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

from league.agent.agent import Agent, Setup
from league.games import draw
from league.gateway.book import PeerBook
from league.gateway.giving import GatewayGiving
from league.gateway.guest import GatewayGuest
from league.letters import Speaker
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ScheduledMatch
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.message.parts import RefereeMeta
from league.protocol.signing import tokens
from league.referee.desk import RefereeDesk
from league.settings import HouseRules, LeagueSettings
from league.storage.files.sqlite import SqliteJournal
from league.transport.http import App
from league.transport.http_client import HttpClient
from league.transport.http_server import serve
from tests.support.pages import ROOT
from tests.support.peer import WATCHDOG_S, Peer
from tests.support.scripts import Reaction, on

SOURCE = str(ROOT / "src") + "/"
HERE = "http://127.0.0.1:9/mcp"

ADMITS = on(
    "REFEREE_REGISTER_REQUEST",
    Reaction(fields={"message_type": "REFEREE_REGISTER_RESPONSE", "status": "ACCEPTED", "referee_id": "REF01"}),
)
LISTS_MATCHES = on("ping", Reaction(rpc={"result": {"matches": []}}))
"""Only referees of ours answer a ping so."""


@dataclass(frozen=True)
class Visit:
    """A function of ours that ran."""

    file: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"


REMEMBERED = ("__missing__", "_date_line", "_of_second", "_timestamp", "is_strict", "_exists")
"""What runs once a second only."""
PERIODIC = ("_flush", "_rings", "_sweep")
"""Timers: what they run is not part of the walk, though it may run in the middle of it."""
ANSWER_ARRIVES = Visit("transport/http_call.py", "data_received")
REQUEST_ARRIVES = Visit("transport/http_connection.py", "data_received")
CALL_LEAVES = Visit("transport/http_call.py", "send")
GAME_OVER_COMPOSED = Visit("referee/referee_messages.py", "game_over")
TABLE_COMPOSED = Visit("manager/telling/manager_messages.py", "standings")


class Tracer:
    """Functions of league, in the order in which they are first entered: from `first` until a call leaves after
    `composed`."""

    def __init__(self, first: Visit, composed: Visit) -> None:
        self.first = first
        self.composed = composed
        self.visits: dict[Visit, None] = {}
        self.is_over = False
        self._timer: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self._timer is not None:
            if event == "return" and frame is self._timer:
                self._timer = None
            return
        if event == "call" and code.co_name in PERIODIC and code.co_filename.startswith(SOURCE):
            self._timer = frame
            return
        if event != "call" or self.is_over or not code.co_filename.startswith(SOURCE):
            return
        name = code.co_name
        if name.startswith("<") or name in REMEMBERED:
            return
        visit = Visit(code.co_filename.removeprefix(SOURCE).removeprefix("league/"), name)
        if self.visits or visit == self.first:
            self.visits.setdefault(visit)
        self.is_over = self.composed in self.visits and visit == CALL_LEAVES


async def _traced(agent: Agent, tracer: Tracer, begin: Callable[[], object]) -> list[Visit]:
    """Return what runs in the agent after `begin`."""
    # Nothing of what happened before may still be on its way to the disk.
    agent.journal.wake_writer()
    while agent._position.durable < agent._position.appended:
        await _change(agent)
    sys.setprofile(tracer)
    try:
        begin()
        while not tracer.is_over:
            await _change(agent)
    finally:
        sys.setprofile(None)
    return list(tracer.visits)


async def _change(agent: Agent) -> None:
    agent.changed.clear()
    await agent.changed.wait()


# --- a choice arrives, GAME_OVER leaves -------------------------------------------------------------------------------


def _desk(meta: RefereeMeta, manager: str, secrets: Mapping[str, str]) -> RefereeDesk:
    return RefereeDesk(meta, manager, random.Random(1).randbytes, secrets, open_book=PeerBook, open_guest=GatewayGuest)


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
            tracer = Tracer(ANSWER_ARRIVES, GAME_OVER_COMPOSED)
            return await _traced(agent, tracer, lambda: players[1].release("go"))


# --- a report arrives, the table leaves -------------------------------------------------------------------------------

SIX_PLAYERS = LeagueSettings(league_id="walk", players=6)


def _league(secrets: Mapping[str, str]) -> LeagueManager:
    chance = random.Random(1).randbytes
    return LeagueManager(
        SIX_PLAYERS,
        chance,
        secrets,
        house=HouseRules(standings_interval_s=0.0),
        open_book=PeerBook,
        open_giving=GatewayGiving,
    )


@asynccontextmanager
async def _manager(folder: Path) -> AsyncIterator[tuple[Agent, int]]:
    """A manager, and the port at which it listens."""
    client = HttpClient()
    speaker = Speaker(Role.MANAGER, tokens.MANAGER, Reading(game_type="even_odd"))
    agent = Agent(
        Setup(
            build=_league,
            speaker=lambda _: speaker,
            client=client,
        )
    )
    agent.start(SqliteJournal(folder / "journal.db", agent.notice))
    server = await serve("127.0.0.1", 0, App(agent.respond))
    try:
        yield agent, server.port
    finally:
        await server.close(grace_s=0)
        await agent.stop()
        await client.close()


def _report(referee: Peer, match: ScheduledMatch) -> bytes:
    """The whole HTTP request of a report that is right in every way, as referees of ours send it."""
    seed = b"\xab" * draw.SEED_BYTES
    number = draw.number(seed, "walk", match.match_id, match.attempt)
    even, odd = match.players
    winner = odd if number % 2 else even
    joined = [{"event": "PlayerJoined", "player_id": player, "convention": "SPEC"} for player in match.players]
    message = {
        "protocol": "league.v2",
        "message_type": "MATCH_RESULT_REPORT",
        "sender": f"referee:{referee.agent_id}",
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conversation_id": f"conv-{match.match_id.lower()}-report",
        "auth_token": referee.token,
        "league_id": "walk",
        "round_id": match.round_id,
        "match_id": match.match_id,
        "game_type": "even_odd",
        "result": {
            "winner": winner,
            "score": {player: 3 if player == winner else 0 for player in match.players},
            "details": {
                "drawn_number": number,
                "choices": {even: "even", odd: "odd"},
                "status": "WIN",
                "draw_seed": seed.hex(),
            },
        },
        "attempt": match.attempt,
        "match_record": joined,
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "report_match_result", "params": message}
    body = json.dumps(call, separators=(",", ":")).encode()
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    return head.format(len(body)).encode() + body


def _is_quiet(agent: Agent, manager: LeagueManager) -> bool:
    """True when the next table leaves at once and in the same way on every machine: the last one was some time ago,
    everybody has answered it, and the timer that looks for those who have not has expired."""
    is_early = agent.now() < manager._broadcasts._pace.next_at
    return not (is_early or agent.pump.load_of["calls"] or manager._timers.is_set("unanswered"))


async def _score(folder: Path) -> list[Visit]:
    """The second report of a round with three matches: an ordinary one, after which the round goes on."""
    with ExitStack() as stack:
        referee = stack.enter_context(Peer("Whistle", role="referee", script=LISTS_MATCHES))
        players = [stack.enter_context(Peer(name)) for name in ("Ann", "Ben", "Cid", "Dot", "Eve", "Fay")]
        async with _manager(folder) as (agent, port), asyncio.timeout(WATCHDOG_S):
            manager = agent.machine
            assert isinstance(manager, LeagueManager)
            url = f"http://127.0.0.1:{port}/mcp"
            await asyncio.to_thread(referee.register, url, token_scheme="derived", max_concurrent_matches=3)
            for player in players:
                await asyncio.to_thread(player.register, url)
            await asyncio.to_thread(referee.saw, "ROUND_ANNOUNCEMENT")
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            first, second, _ = manager.ledger.matches_in(1)
            connection.sendall(_report(referee, first))
            for player in players:
                await asyncio.to_thread(player.saw, "LEAGUE_STANDINGS_UPDATE")
            while not _is_quiet(agent, manager):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            tracer = Tracer(REQUEST_ARRIVES, TABLE_COMPOSED)
            return await _traced(agent, tracer, lambda: connection.sendall(_report(referee, second)))


WALKS: dict[str, Callable[[Path], Coroutine[Any, Any, list[Visit]]]] = {"play": _play, "score": _score}


def walked(name: str, folder: Path) -> list[Visit]:
    """A walk, function by function."""
    return asyncio.run(WALKS[name](folder))


def table(visits: list[Visit]) -> str:
    """The walk as the page shows it: a row for each time it enters another file."""
    rows = [
        f"| `{file}` | {', '.join(f'`{visit.function}`' for visit in group)} |"
        for file, group in groupby(visits, key=lambda visit: visit.file)
    ]
    return "\n".join(["| file | functions |", "|---|---|", *rows])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder_name:
        walk = walked(sys.argv[1], Path(folder_name))
    print(table(walk))
    print(f"{len(walk)} functions in {len({visit.file for visit in walk})} files", file=sys.stderr)
