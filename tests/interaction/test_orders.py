"""Orders on their way from a command to the manager: answers that get lost, a disk that is full, pages that are none of
a manager's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from league.agent import sources
from league.agent.agent import Agent, Setup
from league.cli.main import main
from league.cli.operating import operator
from league.events import LeagueSettings
from league.features.dashboard.dashboard_server import open_dashboard
from league.hosting.manager.manager_api import other_pages
from league.hosting.serving import HostedAgent
from league.letters import Speaker
from league.machine import Entry
from league.manager.league_manager import LeagueManager
from league.manager.orders import HANDLERS
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.order_table import ORDERS
from league.protocol.signing import tokens
from league.storage.journal import MemoryJournal
from league.storage.notices import Durable, Notify, WriteFailed
from league.storage.transcripts.transcript import LetterNote
from league.transport.http import App
from league.transport.http_client import HttpClient
from league.transport.http_server import serve
from tests.support.http_wire import (
    ScriptedServer,
    Visit,
    answer,
    exchange,
    on_every_loop,
    parsed_head,
    saying,
    statuses,
)

TOKEN = "tok_admin_of-this-test"
DONE = answer(b'{"order":"pause","target":null,"key":"k"}')


@pytest.fixture(autouse=True)
def _operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_ADMIN_TOKEN", TOKEN)
    monkeypatch.setattr(operator, "PAUSES_S", (0.0, 0.0))


async def ordered(server: ScriptedServer, *order: str) -> int:
    """A command's exit status."""
    return await asyncio.to_thread(main, [*order, "--manager", server.url])


class Keys:
    """The keys of the orders that came in, and whether each showed the token."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def take(self, visit: Visit) -> None:
        document: dict[str, Any] = json.loads(await visit.request())
        assert parsed_head(visit.head)[b"authorization"] == f"Bearer {TOKEN}".encode()
        self.seen.append(document["key"])


@on_every_loop
async def test_an_order_whose_answer_got_lost_is_given_again_under_the_same_key() -> None:
    keys = Keys()

    async def answered(visit: Visit) -> None:
        await keys.take(visit)
        await visit.say(DONE)

    async with ScriptedServer(keys.take, answered) as server:
        assert await ordered(server, "pause") == 0
    assert len(keys.seen) == 2
    assert len(set(keys.seen)) == 1


@on_every_loop
async def test_a_manager_that_cannot_now_is_asked_again_under_the_same_key() -> None:
    keys, said = Keys(), [answer(b"{}", status="503 Service Unavailable")] * 2 + [DONE]

    async def answered(visit: Visit) -> None:
        while True:
            await keys.take(visit)
            await visit.say(said.pop(0))

    async with ScriptedServer(answered) as server:
        assert await ordered(server, "pause") == 0
    assert len(keys.seen) == 3
    assert len(set(keys.seen)) == 1


@pytest.mark.parametrize(
    "page",
    [
        answer(b"<html>", status="404 Not Found"),
        answer(b"[]"),
        answer(b'{"order":"pause"}'),
        answer(b'{"error":"two\\nlines"}', status="409 Conflict"),
        answer(b"{}", status="409 Conflict"),
        answer(b"", status="302 Found"),
        answer(b'{"error":"there is nothing at this path"}', status="404 Not Found"),
    ],
)
@on_every_loop
async def test_a_page_that_is_no_answer_to_an_order_is_told_in_one_sentence(
    page: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    async with ScriptedServer(saying(page)) as server:
        assert await ordered(server, "withdraw", "P01") == 1
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert TOKEN not in err


# --- a manager whose disk may be full ---------------------------------------------------------------------------------


class Disk(MemoryJournal):
    """A journal that cannot be written while the disk is full; then a new epoch begins."""

    is_full = keeps_letters = is_volatile = False
    head = None

    def __init__(self, notify: Notify) -> None:
        super().__init__()
        self._tell = notify
        self._epoch = self._before = 0
        self.is_out = False

    def enqueue(self, entry: Entry) -> None:
        if self.is_out:
            self._tell(WriteFailed(self._epoch, "the disk is full"))
        else:
            self.append(entry)
            self._tell(Durable(self._epoch, self.sync() - self._before))

    def wake_writer(self) -> None: ...

    def note(self, letter: LetterNote) -> None: ...

    def close(self) -> None: ...

    def try_again(self, failed: WriteFailed) -> bool:
        if not self.is_out:
            self._epoch, self._before = self._epoch + 1, self.entries
        return not self.is_out


@asynccontextmanager
async def manager() -> AsyncIterator[tuple[int, Disk]]:
    """A manager's port and its disk."""
    client, host = HttpClient(), HostedAgent()
    settings = LeagueSettings(league_id="cup", start="manual", enrolment="approve")
    speaker = Speaker(Role.MANAGER, tokens.MANAGER, Reading())
    agent = Agent(
        Setup(
            lambda secrets: LeagueManager(settings, sources.chance, secrets, operator=tokens.verifier(TOKEN)),
            lambda _: speaker,
            client,
        )
    )
    disk = Disk(agent.notice)
    agent.start(disk)
    server = await serve("127.0.0.1", 0, App(host.post, rest=other_pages(host, [open_dashboard(host, {})])))
    host.agent = agent
    try:
        yield server.port, disk
    finally:
        await server.close(0)
        await agent.stop()
        await client.close()


def request(order: str, body: bytes = b"{}", *headers: str, method: str = "POST") -> bytes:
    head = [f"{method} /api/admin/{order} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines = [*head, f"Authorization: Bearer {TOKEN}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def application(port: int) -> None:
    """Somebody applies, so that there is somebody to approve."""
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:new",
        "timestamp": "2026-01-01T00:00:00Z",
        "conversation_id": "c",
        "player_meta": {
            "display_name": "Sam",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": "http://127.0.0.1:9/mcp",
        },
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": message}).encode()
    lines = ("POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", "Connection: close")
    head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", ""))
    assert b"E043" in await exchange(port, head.encode() + body)


@on_every_loop
async def test_an_order_that_cannot_be_stored_is_refused_and_changes_nothing() -> None:
    async with manager() as (port, disk):
        await application(port)
        disk.is_out, order = True, request("approve", b'{"target":"A01","key":"k"}')
        for _ in range(2):
            refused = await exchange(port, order)
            assert statuses(refused) == [503]
            assert b"E041" in refused
            assert b"retry-after" in refused.lower()
        disk.is_out = False
        while statuses(done := await exchange(port, order)) != [200]:
            assert b"E041" in done
            await asyncio.sleep(0.02)  # the disk is tried again after a while; asking more often is a flood
        assert statuses(await exchange(port, order)) == [200]
        assert b"E023" in await exchange(port, request("approve", b'{"target":"A01"}'))


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (request("start", method="GET"), 405),
        (request("start", method="PUT"), 405),
        (request("start", b""), 409),
        (request("start", b"{"), 400),
        (request("start", b'{"key":"a","key":"b"}'), 400),
        (request("start", b"{}", "Content-Type: text/plain"), 400),
        (request("start", b"{}", "Origin: http://evil.example"), 403),
        (request("start").replace(b"Host: 127.0.0.1", b"Host: evil.example"), 421),
        (request("start", b" " * 20_000), 413),
        (request("start").replace(b"Bearer ", b"Basic "), 401),
        (request("start").replace(TOKEN.encode(), TOKEN.encode() + b"x"), 401),
        (request("start").replace(TOKEN.encode(), b"\xff\xfe"), 401),
        (request("start/now"), 404),
    ],
)
@on_every_loop
async def test_callers_are_judged_as_at_mcp_and_by_the_token(raw: bytes, status: int) -> None:
    async with manager() as (port, _):
        assert statuses(await exchange(port, raw)) == [status]


def test_the_table_of_orders_has_what_the_manager_obeys() -> None:
    assert list(ORDERS) == list(HANDLERS)


# --- a new admin token ------------------------------------------------------------------------------------------------

NEW = "tok_admin_that-is-new"


def rotation(secret: str = NEW, key: str = "k", target: str = "admin", token: str = TOKEN) -> bytes:
    body = json.dumps({"target": target, "key": key, "secret": secret}).encode()
    return request("rotate-token", body).replace(f"Bearer {TOKEN}".encode(), f"Bearer {token}".encode())


@on_every_loop
async def test_a_replaced_token_is_refused_and_the_same_order_may_be_repeated_with_the_new_one() -> None:
    async with manager() as (port, disk):
        disk.is_out = True
        assert b"E041" in await exchange(port, rotation())
        disk.is_out = False
        while statuses(done := await exchange(port, rotation())) != [200]:
            assert b"E041" in done
            await asyncio.sleep(0.02)
        refused = await exchange(port, rotation())
        assert statuses(refused) == [401]
        assert b"replaced" in refused
        assert statuses(await exchange(port, rotation(token=NEW))) == [200]
        # The key of one order does not vouch for another secret, and nobody goes back to an old one.
        other = await exchange(port, rotation("tok_admin_of-somebody-else", token=NEW))
        assert (statuses(other), b"E023" in other) == ([409], True)
        for used in (TOKEN, NEW):
            again = await exchange(port, rotation(used, key="another", token=NEW))
            assert (statuses(again), b"used before" in again) == ([409], True)
        assert disk.secrets()["admin_token"] == NEW
        assert not any(NEW.encode() in line for line in disk.lines())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"target":"admin"}', 400),
        (b'{"target":"admin","secret":"short"}', 400),
        (b'{"target":"admin","secret":"with a blank in it"}', 400),
        (b'{"target":"admin","secret":7}', 400),
        (b'{"secret":"tok_admin_that-is-new"}', 400),
        (b'{"target":"match","secret":"tok_admin_that-is-new"}', 409),
    ],
)
@on_every_loop
async def test_a_secret_that_cannot_be_one_is_refused_and_changes_nothing(body: bytes, status: int) -> None:
    async with manager() as (port, disk):
        before = dict(disk.secrets())
        assert statuses(await exchange(port, request("rotate-token", body))) == [status]
        assert dict(disk.secrets()) == before
        assert b"E008" in await exchange(port, request("start", b'{"secret":"tok_admin_that-is-new"}'))


@on_every_loop
async def test_a_command_whose_answer_got_lost_finds_out_that_the_token_was_replaced(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tokens_shown: list[str] = []
    documents: list[dict[str, str]] = []
    refusal = answer(b'{"error":"replaced","error_code":"E012"}', status="401 Unauthorized")
    done = answer(b'{"order":"rotate-token","target":"admin","key":"k"}')
    pages = [answer(b'{"league_id":"cup"}'), b"", refusal, done]

    async def visited(visit: Visit) -> None:
        while True:
            if len(pages) == 4:
                await visit.bare_request()
            else:
                documents.append(json.loads(await visit.request()))
                tokens_shown.append(parsed_head(visit.head)[b"authorization"].decode().removeprefix("Bearer "))
            page = pages.pop(0)
            if not page:
                return
            await visit.say(page)

    (tmp_path / "admin-token").write_text(TOKEN)
    async with ScriptedServer(visited, visited) as server:
        assert await ordered(server, "rotate-token", "--state", str(tmp_path)) == 0
    new = documents[0]["secret"]
    assert tokens_shown == [TOKEN, TOKEN, new]
    assert len({(document["key"], document["secret"]) for document in documents}) == 1
    assert (tmp_path / "admin-token").read_text().strip() == new
    out, err = capfd.readouterr()
    assert new not in out + err
