"""Players that want to harm a league, a row each: what they answer (scripts.py), and what they do beside it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from tests.support.peer import Peer, Received, exchange
from tests.support.scripts import (
    ABSENT,
    BANANA,
    BUSY,
    CRASH,
    DECLINE,
    HANG,
    HTML,
    LATE,
    MATCH_CALLS,
    NEVER,
    NO_HTTP,
    RESET,
    Object,
    Reaction,
    Script,
    always,
    on,
    redirect,
)

ESCAPES: Final = "\x1b[2J\x1b]0;owned\x07\u202e<script>alert(1)</script>"
MEGABYTE: Final = 1 << 20
HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CONNECTIONS = 60
FLOOD = 400
AGAIN = 10


@dataclass
class HostilePlayer(Peer):
    """A scripted player that, once the league runs, does its deed too."""

    deed: Deed | None = None
    again: bool = False
    """Every answer is sent twice."""
    reads_slowly: bool = False
    """It takes our requests a byte at a time."""
    victims: Victims = field(default_factory=lambda: Victims("", [], []))

    async def _act(self, request: Received) -> None:
        if request.kind == "ROUND_ANNOUNCEMENT" and self.deed is not None:
            deed, self.deed = self.deed, None
            self.begin(self._harm(deed))

    async def _harm(self, deed: Deed) -> None:
        # Whoever is refused, or cut off, was not let do harm.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, KeyError):
            await deed(self)

    def announced(self) -> list[Object]:
        """The matches of the round that it was told of."""
        return list(self.requests("ROUND_ANNOUNCEMENT")[-1].message["matches"])

    def _answer(self, request: Received, reaction: Reaction) -> bytes:
        return super()._answer(request, reaction) * (2 if self.again else 1)

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        if not self.reads_slowly:
            return await super()._read(reader)
        slow = asyncio.StreamReader()
        slow.feed_data(await reader.readexactly(1))
        while True:  # until whoever sends it gives up
            await asyncio.sleep(1.0)
            slow.feed_data(await reader.readexactly(1))


Deed = Callable[[HostilePlayer], Awaitable[object]]


@dataclass(frozen=True)
class Victims:
    """Who can be harmed: known to everybody in a league."""

    manager: str
    players: list[str]
    referees: list[str]
    names: Mapping[str, str] = field(default_factory=dict)
    """Of all of them, by where they are."""


# --- deeds ------------------------------------------------------------------------------------------------------------


async def register_often(self: HostilePlayer) -> None:
    """A thousand newcomers, each with a name of its own."""
    for number in range(1000):
        meta = {"display_name": f"{self.name} {number}", "version": "1.0.0", "game_types": ["even_odd"]}
        message = {
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "player_meta": {**meta, "contact_endpoint": self.endpoint},
        }
        await self._call(self.victims.manager, {**message, "auth_token": None})


async def ask_without_end(self: HostilePlayer) -> None:
    for _ in range(FLOOD):
        query = {"message_type": "LEAGUE_QUERY", "league_id": "x", "query_type": "GET_SCHEDULE", "query_params": {}}
        await self._call(self.victims.manager, query)


async def hold_connections(self: HostilePlayer) -> None:
    """Connections that say nothing, to everybody."""
    async with contextlib.AsyncExitStack() as held:
        for url in (self.victims.manager, *self.victims.referees, *self.victims.players):
            parts = urlsplit(url)
            for _ in range(CONNECTIONS):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
                held.callback(writer.close)
        await self._event(NEVER).wait()


async def speak_slowly(self: HostilePlayer) -> None:
    """A request that comes a byte at a time and never ends."""
    parts = urlsplit(self.victims.manager)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        for byte in b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " + b"x" * 100_000:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.5)
    finally:
        writer.close()


async def send_garbage(self: HostilePlayer) -> None:
    for number in range(FLOOD):
        url = [self.victims.manager, *self.victims.referees, *self.victims.players][number % 3]
        await exchange(url, bytes([number % 256]) * number)


async def send_large_bodies(self: HostilePlayer) -> None:
    for url in (self.victims.manager, *self.victims.referees, *self.victims.players):
        for _ in range(3):
            with contextlib.suppress(OSError):
                await exchange(url, b" " * 8 * MEGABYTE)


async def answer_for_others(self: HostilePlayer) -> None:
    """Choices of both parities for everybody in every match of the round."""
    for one in self.announced():
        for player in (one["player_A_id"], one["player_B_id"]):
            for kind, own in (
                ("GAME_JOIN_ACK", {"accept": False}),
                ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "odd"}),
            ):
                message = {"message_type": kind, "match_id": one["match_id"], "player_id": player, **own}
                await self._call(one["referee_endpoint"], {**message, "sender": f"player:{player}"})


async def report_results(self: HostilePlayer) -> None:
    """It won every match of the round, it says."""
    for one in self.announced():
        result: Object = {"winner": self.agent_id, "score": {}, "details": {"drawn_number": 4, "choices": {}}}
        about = {"league_id": "x", "round_id": 1, "match_id": one["match_id"], "game_type": "even_odd"}
        message = {"message_type": "MATCH_RESULT_REPORT", "sender": "referee:REF01", **about, "result": result}
        await self._call(self.victims.manager, message)


async def end_the_league(self: HostilePlayer) -> None:
    """Tells players and referees that all is over, and players that they lost."""
    table: list[Object] = []
    over = {"message_type": "LEAGUE_COMPLETED", "sender": "league_manager", "league_id": "x", "total_rounds": 1}
    champion = {"player_id": self.agent_id, "display_name": self.name, "points": 99}
    completed = {**over, "total_matches": 1, "champion": champion, "final_standings": table}
    for url in (*self.victims.players, *self.victims.referees):
        await self._call(url, completed)


async def assign_matches(self: HostilePlayer) -> None:
    """Tells referees to play matches of its own invention."""
    names = {"player_A_id": self.agent_id, "player_B_id": "P01", "game_type": "even_odd"}
    match = {**names, "match_id": "R9M9", "referee_endpoint": self.endpoint, "player_A_endpoint": self.endpoint}
    message = {"message_type": "ROUND_ANNOUNCEMENT", "sender": "league_manager", "league_id": "x", "round_id": 9}
    for url in self.victims.referees:
        await self._call(url, {**message, "matches": [{**match, "player_B_endpoint": self.endpoint}]})


async def peek(self: HostilePlayer) -> None:
    """Asks others for their choices, as if it were their referee."""
    for one in self.announced():
        for url in self.victims.players:
            about = {"match_id": one["match_id"], "player_id": "P01", "game_type": "even_odd"}
            call = {"message_type": "CHOOSE_PARITY_CALL", "sender": "referee:REF01", **about, "context": {}}
            await self._call(url, {**call, "deadline": self._now()})


async def register_as_players(self: HostilePlayer) -> None:
    """Registers under the names and addresses of others, and answers for them with what it gets."""
    for url in self.victims.players * AGAIN:
        given = await _registered_as(self, url, "player")
        for one in self.announced():
            if given.get("player_id") in (one["player_A_id"], one["player_B_id"]):
                about = {"match_id": one["match_id"], "player_id": given["player_id"]}
                said = {"sender": f"player:{given['player_id']}", "auth_token": given["auth_token"], **about}
                for kind, own in (
                    ("GAME_JOIN_ACK", {"accept": False, "arrival_timestamp": self._now()}),
                    ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "neither"}),
                ):
                    await self._call(one["referee_endpoint"], {"message_type": kind, **said, **own})


async def register_as_referees(self: HostilePlayer) -> None:
    """The same with referees: whoever were taken for one would be given matches, and their results believed."""
    for url in self.victims.referees * AGAIN:
        await _registered_as(self, url, "referee")
        await _registered_as(self, self.endpoint, "referee", f"{self.victims.names[url]} two")


async def _registered_as(self: HostilePlayer, url: str, role: str, name: str = "") -> Object:
    """The answer to a registration as whoever is there."""
    kind = "LEAGUE_REGISTER_REQUEST" if role == "player" else "REFEREE_REGISTER_REQUEST"
    meta = {"display_name": name or self.victims.names[url], "version": "1.0.0", "game_types": ["even_odd"]}
    message = {"message_type": kind, "sender": f"{role}:x", f"{role}_meta": {**meta, "contact_endpoint": url}}
    sent = await self._call(self.victims.manager, {**message, "auth_token": None})
    return dict(sent.json.get("result") or {})


# --- the table --------------------------------------------------------------------------------------------------------


def _deep(levels: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * levels + b"]" * levels + b"}"


def _says(**fields: object) -> Script:
    return on(MATCH_CALLS, Reaction(fields=fields))


def _raw(data: bytes) -> Script:
    return on(MATCH_CALLS, Reaction(raw=data, ending="close"))


def _body(body: bytes, **how: object) -> Script:
    return on(MATCH_CALLS, Reaction(body=body, **how))  # type: ignore[arg-type]  # the fields of a Reaction


SCRIPTS: Final[dict[str, Script]] = {
    "never answers": always(HANG),
    "joins, then is silent": on("CHOOSE_PARITY_CALL", HANG),
    "a byte a second": on(MATCH_CALLS, Reaction(drip=(1, 1.0))),
    "ten megabytes": on(MATCH_CALLS, Reaction(padding=10 * MEGABYTE)),
    "a bomb of zeros": on(MATCH_CALLS, Reaction(padding=10 * MEGABYTE, gzip=True)),
    "headers without end": _raw(HEAD + b"X-Again: and again\r\n" * 100_000),
    "one header without end": _raw(HEAD + b"X-Long: " + b"x" * 2 * MEGABYTE),
    "chunks of no size": _raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "chunks without end": _raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 200_000),
    "two lengths": _raw(HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}"),
    "go on, go on": _raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000),
    "another protocol": _raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chess\r\nConnection: upgrade\r\n\r\n"),
    "a status of 999": _raw(b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"),
    "no HTTP": always(NO_HTTP),
    "a page": always(HTML),
    "no content": on(MATCH_CALLS, Reaction(status=204, reason="No Content", body=b"")),
    "crashes": on(MATCH_CALLS, CRASH),
    "resets": always(RESET),
    "hangs up": on(MATCH_CALLS, Reaction(cut=0, ending="close")),
    "stops in its first line": on(MATCH_CALLS, Reaction(cut=10, ending="close")),
    "stops in its head": on(MATCH_CALLS, Reaction(cut=40, ending="close")),
    "stops in its body": on(MATCH_CALLS, Reaction(cut=150, ending="close")),
    "leaves when invited": on("GAME_INVITATION", Reaction(cut=0, ending="exit")),
    "busy for ever": on(MATCH_CALLS, BUSY),
    "busy for years": on(MATCH_CALLS, Reaction(status=503, headers=(("Retry-After", "9" * 12),), body=b"{}")),
    "busy since yesterday": on(MATCH_CALLS, Reaction(status=429, headers=(("Retry-After", "-86400"),), body=b"{}")),
    "banana": always(BANANA),
    "not a number": _body(b'{"jsonrpc":"2.0","id":1,"result":NaN}'),
    "a key twice": _body(b'{"jsonrpc":"2.0","id":1,"result":{},"result":{"accept":true}}'),
    "a thousand levels": _body(_deep(1000)),
    "sixteen bits": _body('{"jsonrpc":"2.0","id":1,"result":{}}'.encode("utf-16")),
    "half a character": _body(rb'{"jsonrpc":"2.0","id":1,"result":{"accept":true,"note":"\ud800"}}'),
    "a number of 5000 digits": _body(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % (b"9" * 5000)),
    "a batch": on(MATCH_CALLS, Reaction(batch=True)),
    "an empty object": _body(b"{}"),
    "result and error": on(MATCH_CALLS, Reaction(rpc={"error": {"code": -32000, "message": ESCAPES}})),
    "the name of another": _says(player_id="P01", sender="player:P01"),
    "the match of another": _says(match_id="R9M9"),
    "the voice of the manager": _says(sender="league_manager", auth_token="tok_league_manager_x"),
    "no token and no name": _says(auth_token=ABSENT, sender=ABSENT, player_id=ABSENT, match_id=ABSENT),
    "both parities": _says(parity_choice=["even", "odd"]),
    "a long choice": _says(parity_choice="even" * 2000),
    "a choice with escapes": _says(parity_choice=ESCAPES, reason=ESCAPES, display_name=ESCAPES),
    "accepts with a word": _says(accept="yes", parity_choice=0),
    "another message": _says(message_type="GAME_OVER"),
    "declines": on(MATCH_CALLS, DECLINE),
    "too late": on(MATCH_CALLS, LATE),
    "posts too late": on(MATCH_CALLS, Reaction(posted=True, posted_after_s=10.0)),
}
"""Those who only answer badly."""

DEEDS: Final[dict[str, Deed]] = {
    "registers a thousand times": register_often,
    "asks without end": ask_without_end,
    "holds connections": hold_connections,
    "speaks slowly": speak_slowly,
    "sends garbage": send_garbage,
    "sends large bodies": send_large_bodies,
    "answers for others": answer_for_others,
    "reports results": report_results,
    "ends the league": end_the_league,
    "assigns matches": assign_matches,
    "peeks": peek,
    "registers as players": register_as_players,
    "registers as referees": register_as_referees,
}
"""Those who answer as they should, and harm others beside it."""


def hostile_players(manager: str, neighbour: str) -> Iterable[HostilePlayer]:
    """One of each kind."""
    yield HostilePlayer("sends us to the manager", on(MATCH_CALLS, redirect(manager)))
    yield HostilePlayer("sends us to a neighbour", on(MATCH_CALLS, redirect(neighbour)))
    yield from (HostilePlayer(name, script) for name, script in SCRIPTS.items())
    yield from (HostilePlayer(name, deed=deed) for name, deed in DEEDS.items())
    yield HostilePlayer("everything twice", again=True)
    yield HostilePlayer("reads slowly", reads_slowly=True)
    yield HostilePlayer('" onmouseover="alert(1)')
    yield HostilePlayer("; DROP TABLE events; --")
