"""Mailboxes over real sockets: what an owner, its callers and strangers can do, and what they can't."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from league.letters import HttpReply
from league.mailbox import addresses
from league.mailbox.boxes import LETTERS
from league.mailbox.post_office import PostOffice, RelayClient, RelayPolicy, Standing
from league.mailbox.reader import ClosedError, Reader
from league.transport.http import App, Response, plain_refusal
from league.transport.http_client import CallFailed, HttpClient
from league.transport.http_server import Limits, Server, serve
from tests.support.http_wire import until

SECRET = "5" * 64
BODY = b'{"jsonrpc":"2.0","id":1,"method":"x"}'
LONG = 20.0
LIMIT = 2_000_000


class Manager:
    """A server with mailboxes. `standings` says whose they are."""

    def __init__(self, server: Server, office: PostOffice, standings: dict[str, Standing]) -> None:
        self.office = office
        self.root = f"http://127.0.0.1:{server.port}"
        self.standings = standings
        self.key = addresses.key_for(self.root, SECRET)
        self.endpoint = addresses.endpoint_at(self.root, SECRET)
        self.client = HttpClient()
        self.own_client = RelayClient(office, RelayPolicy(own_port=server.port))
        self.admit("member")

    def admit(self, standing: Standing) -> None:
        self.standings[addresses.name_of(self.key)] = standing

    async def ask(self, path: str, content: object, key: str | None = None) -> tuple[int, Any]:
        """The status and the body of a request (Any: JSON)."""
        header = f"Authorization: Bearer {self.key if key is None else key}\r\n".encode()
        reply = await self.client.post(self.root + path, json.dumps(content).encode(), LONG, LIMIT, header)
        return reply.status, json.loads(reply.body)

    async def fetch(self, reader: str = "r", after: int = 0, key: str | None = None) -> tuple[int, Any]:
        return await self.ask(addresses.FETCH, {"reader": reader, "after": after, "wait_s": 5}, key)

    def call(self, body: bytes = BODY) -> asyncio.Task[HttpReply]:
        """A call by somebody else."""
        return asyncio.create_task(self.client.post(self.endpoint, body, LONG, LIMIT))

    def call_as_manager(self, body: bytes = BODY, limit: int = LIMIT) -> asyncio.Task[HttpReply]:
        return asyncio.create_task(self.own_client.post(self.endpoint, body, LONG, limit))


@asynccontextmanager
async def managing() -> AsyncIterator[Manager]:
    standings: dict[str, Standing] = {}
    office = PostOffice(lambda name: standings.get(name, "stranger"))

    app = App(lambda _, __: Response(500, b""), rest=office.answer, unlimited=(addresses.PREFIX,))
    server = await serve("127.0.0.1", 0, app, Limits(linger_s=0.2))
    manager = Manager(server, office, standings)
    try:
        yield manager
    finally:
        office.close()
        await manager.client.close()
        await manager.own_client.close()
        await server.close(0.5)


@asynccontextmanager
async def reading(
    manager: Manager, post: Callable[[bytes, str], Awaitable[Response] | Response]
) -> AsyncIterator[asyncio.Task[None]]:
    client = HttpClient()
    reader = Reader(client, App(post), lambda: [manager.root], lambda _: None, SECRET)
    task = asyncio.create_task(reader.read())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.close()


def running(scenario: Callable[[Manager], Awaitable[None]]) -> None:
    async def run() -> None:
        async with managing() as manager:
            await scenario(manager)

    asyncio.run(run())


def test_calls_and_answers_pass_as_they_are() -> None:
    got: list[tuple[bytes, str]] = []

    def post(body: bytes, address: str) -> Response:
        got.append((body, address))
        return Response(429, body[::-1], headers=(("retry-after", "7"),))

    async def scenario(manager: Manager) -> None:
        async with reading(manager, post):
            for body in (BODY, b'{"no":"UTF-8 \xff"}'):
                for reply in (await manager.call(body), await manager.call_as_manager(body)):
                    assert (reply.status, reply.body, reply.retry_after) == (429, body[::-1], 7.0)
        assert got == [
            (BODY, "127.0.0.1"),
            (BODY, ""),
            *[(b'{"no":"UTF-8 \xff"}', where) for where in ("127.0.0.1", "")],
        ]

    running(scenario)


def test_a_wrong_request_is_refused_by_the_owner_itself() -> None:
    async def scenario(manager: Manager) -> None:
        async with reading(manager, lambda *_: Response(200, b"")):
            encoded = b"Content-Encoding: gzip\r\n"
            # The mailbox passes on what says how to read a message; the rest is the owner's.
            reply = await manager.client.post(manager.endpoint, BODY, LONG, LIMIT, encoded)
            assert reply.status == 415
            assert json.loads(reply.body) == json.loads(
                plain_refusal(415, None, "a message is sent without compression")
            )

    running(scenario)


def test_a_large_answer_comes_in_pieces() -> None:
    answer = bytes(range(256)) * 4096

    async def scenario(manager: Manager) -> None:
        async with reading(manager, lambda *_: Response(200, answer)):
            assert (await manager.call()).body == answer
            with pytest.raises(CallFailed):
                await manager.call_as_manager(limit=1000)

    running(scenario)


def test_one_slow_answer_holds_up_no_other() -> None:
    async def scenario(manager: Manager) -> None:
        go_on = asyncio.Event()

        async def post(body: bytes, _: str) -> Response:
            if body == b"slow":
                await go_on.wait()
            return Response(200, body)

        async with reading(manager, post):
            slow = manager.call(b"slow")
            assert [(await manager.call(b"%d" % number)).body for number in range(5)] == [b"%d" % n for n in range(5)]
            go_on.set()
            assert (await slow).body == b"slow"

    running(scenario)


def test_who_calls_many_mailboxes_waits_for_none_of_them() -> None:
    """A referee calls all its players at the manager's address: one that thinks must not keep the others waiting."""

    async def scenario(manager: Manager) -> None:
        secrets = [f"{number:064}" for number in range(9)]
        names = [addresses.name_of(addresses.key_for(manager.root, secret)) for secret in secrets]
        manager.standings.update(dict.fromkeys(names, "member"))
        endpoints = [addresses.endpoint_at(manager.root, secret) for secret in secrets]
        thinking = [asyncio.create_task(manager.client.post(url, BODY, LONG, LIMIT)) for url in endpoints]
        boxes = [manager.office.boxes.open(name, 0.0) for name in names]
        await until(lambda: all(box is not None and len(box.letters) == 1 for box in boxes))
        async with reading(manager, lambda *_: Response(200, b"quick")):
            assert (await manager.call()).body == b"quick"
        for task in thinking:
            task.cancel()

    running(scenario)


def test_the_answer_of_a_lost_fetch_is_given_again() -> None:
    async def scenario(manager: Manager) -> None:
        call = manager.call()
        _, first = await manager.fetch()
        assert (await manager.fetch())[1] == first
        number = first["letters"][0]["letter"]
        assert await manager.ask(addresses.ANSWER, {"letter": number, "body": "x"}) == (200, {})
        assert (await call).body == b"x"
        assert (await manager.ask(addresses.ANSWER, {"letter": number, "body": "y"}))[0] == 404

    running(scenario)


def test_answers_that_are_ready_leave_with_the_next_fetch() -> None:
    async def scenario(manager: Manager) -> None:
        calls = [manager.call_as_manager(b"1"), manager.call_as_manager(b"2")]
        letters: list[dict[str, Any]] = []
        while len(letters) < 2:
            letters = (await manager.fetch())[1]["letters"]
        answers = [{"letter": letter["letter"], "body": letter["body"]} for letter in letters]
        unknown = {"letter": 1, "body": "?"}
        fetch = {"reader": "r", "after": letters[-1]["letter"], "answers": [unknown, *answers]}
        assert await manager.ask(addresses.FETCH, fetch) == (200, {"letters": []})
        assert sorted([(await call).body for call in calls]) == [b"1", b"2"]

    running(scenario)


def test_nobody_reads_or_answers_in_the_mailbox_of_another() -> None:
    async def scenario(manager: Manager) -> None:
        call = manager.call()
        _, mine = await manager.fetch()
        number = mine["letters"][0]["letter"]
        name = addresses.name_of(manager.key)
        for key in ("", "short", name * 2, addresses.key_for(manager.root, "6" * 64)):
            status, answer = await manager.ask(addresses.FETCH, {"reader": "thief"}, key)
            assert status == 401 or answer == {"letters": []}
            status, _ = await manager.ask(addresses.ANSWER, {"letter": number, "body": "forged"}, key)
            assert status in (401, 404)
        assert not call.done()
        await manager.ask(addresses.ANSWER, {"letter": number, "body": "mine"})
        assert (await call).body == b"mine"

    running(scenario)


def test_the_key_for_one_manager_opens_no_mailbox_at_another() -> None:
    assert addresses.key_for("http://a:1/mcp", SECRET) != addresses.key_for("http://b:1/mcp", SECRET)
    assert addresses.key_for("http://a:1/mcp", SECRET) == addresses.key_for("http://a:1", SECRET)


@pytest.mark.parametrize(
    ("standing", "fetched", "called"), [("stranger", 200, 404), ("withdrawn", 403, 404), ("unknown", 503, 503)]
)
def test_who_is_no_member_gets_no_letters(standing: Standing, fetched: int, called: int) -> None:
    async def scenario(manager: Manager) -> None:
        manager.admit(standing)
        assert (await manager.ask(addresses.FETCH, {"reader": "r"}))[0] == fetched
        assert (await manager.call()).status == called

    running(scenario)


def test_the_manager_calls_who_is_no_member_yet() -> None:
    async def scenario(manager: Manager) -> None:
        manager.admit("stranger")
        async with reading(manager, lambda *_: Response(200, b"here")):
            assert (await manager.call_as_manager()).body == b"here"

    running(scenario)


def test_an_earlier_reader_ends() -> None:
    async def scenario(manager: Manager) -> None:
        async with reading(manager, lambda *_: Response(200, b"1")) as first:
            assert (await manager.call()).body == b"1"
            async with reading(manager, lambda *_: Response(200, b"2")) as second:
                with pytest.raises(ClosedError):
                    await first
                assert (await manager.call()).body == b"2"
                assert not second.done()

    running(scenario)


def test_a_flood_of_letters_is_refused_and_does_no_harm() -> None:
    async def scenario(manager: Manager) -> None:
        crowd = [manager.call_as_manager() for _ in range(LETTERS + 5)]
        refused, _ = await asyncio.wait(crowd, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result().status for task in refused} == {503}
        assert (await manager.call()).status == 503
        async with reading(manager, lambda *_: Response(200, b"x")):
            statuses = [reply.status for reply in await asyncio.gather(*crowd)]
            assert (statuses.count(200), statuses.count(503)) == (LETTERS, 5)
            assert (await manager.call()).status == 200

    running(scenario)


def test_a_caller_that_leaves_takes_its_letter_along() -> None:
    async def scenario(manager: Manager) -> None:
        call = manager.call(b"gone")
        await manager.fetch()
        call.cancel()
        box = manager.office.boxes.find(addresses.name_of(manager.key))
        assert box is not None
        await until(lambda: not box.letters)
        stays = manager.call(b"here")
        _, answer = await manager.fetch()
        assert [letter["body"] for letter in answer["letters"]] == ["here"]
        stays.cancel()

    running(scenario)


WRONG = (
    b"",
    b"[]",
    b"{}",
    b'{"letter":"1"}',
    b'{"letter":1,"status":99}',
    b'{"letter":1,"session":"a\\r\\nb: c"}',
    b'{"letter":1,"content_type":"a\\r\\nb: c"}',
    b'{"letter":1,"body":"\\ud800"}',
)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_is_refused(wrong: bytes) -> None:
    async def scenario(manager: Manager) -> None:
        header = f"Authorization: Bearer {manager.key}\r\n".encode()
        reply = await manager.client.post(manager.root + addresses.ANSWER, wrong, LONG, LIMIT, header)
        assert reply.status == 400

    running(scenario)


def test_letters_wait_for_a_reader_that_is_away() -> None:
    async def scenario(manager: Manager) -> None:
        async with reading(manager, lambda *_: Response(200, b"before")):
            assert (await manager.call()).body == b"before"
        calls = [manager.call(), manager.call_as_manager()]
        async with reading(manager, lambda *_: Response(200, b"after")):
            assert [(await call).body for call in calls] == [b"after", b"after"]

    running(scenario)


@pytest.mark.parametrize("body", [b"{}", b'{"error": "E003"}', b"ok", b""])
def test_a_third_party_manager_that_answers_everything_has_no_mailboxes(body: bytes) -> None:
    async def read() -> None:
        app = App(lambda _, __: Response(500, b""), rest=lambda _: Response(200, body))
        server = await serve("127.0.0.1", 0, app, Limits(linger_s=0.2))
        client = HttpClient()
        manager = f"http://127.0.0.1:{server.port}/mcp"
        try:
            with pytest.raises(ClosedError, match="no mailboxes"):
                await Reader(client, app, lambda: [manager], lambda _: None, SECRET).read()
        finally:
            await client.close()
            await server.close(0.5)

    asyncio.run(asyncio.wait_for(read(), LONG))
