"""The stdio bridge against a server that says what the test has it say, over real connections."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest

from league.features.mcp.bridge import Bridge, events_in

WATCHDOG_S = 120.0
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


class Seen:
    """A request that came to the server, which waits for what the test answers."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.verb, self.headers = handler.command, {name.lower(): value for name, value in handler.headers.items()}
        raw = handler.rfile.read(int(self.headers.get("content-length", 0)))
        self.body: Any = json.loads(raw) if raw else None
        self._handler = handler
        self.is_done: SimpleQueue[None] = SimpleQueue()

    def begin(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        self._handler.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def event(self, message: object) -> None:
        self._handler.wfile.write(f"event: message\r\ndata: {json.dumps(message)}\r\n\r\n".encode())
        self._handler.wfile.flush()

    def hang_up(self) -> None:
        self.is_done.put(None)

    def answer(self, body: object, status: int = 200, **headers: str) -> None:
        self.begin(status, "application/json", **headers)
        self._handler.wfile.write(b"" if body is None else json.dumps(body, indent=1).encode())
        self.hang_up()

    def result(self, result: object, **headers: str) -> None:
        self.answer({"jsonrpc": "2.0", "id": self.body["id"], "result": result}, 200, **headers)


class Scene:
    """A client that types, the bridge, and a server that is told what to say."""

    def __init__(self, url: str, requests: SimpleQueue[Seen], token: str | None) -> None:
        self._typed: SimpleQueue[bytes | None] = SimpleQueue()
        self._shown: SimpleQueue[bytes] = SimpleQueue()
        self._requests = requests
        self.told: list[str] = []
        self._bridge = Thread(target=Bridge(url, token, self._shown.put, self.told.append).run, args=(self._lines(),))
        self._bridge.start()

    def _lines(self) -> Iterator[bytes]:
        while (line := self._typed.get(timeout=WATCHDOG_S)) is not None:
            yield line

    def types(self, method: str, params: object = None, **more: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {}), **more}
        self.types_raw(json.dumps(message).encode())

    def types_raw(self, line: bytes) -> None:
        self._typed.put(line + b"\n")

    def arrived(self) -> Seen:
        """The next request at the server."""
        return self._requests.get(timeout=WATCHDOG_S)

    def shown(self) -> Any:
        """The next line for the client (Any: JSON)."""
        return json.loads(self._shown.get(timeout=WATCHDOG_S))

    def greet(self, session: str = "s1") -> None:
        """The handshake of the older era."""
        self.types("initialize", {"protocolVersion": "2025-11-25"}, id=0)
        self.arrived().result({"protocolVersion": "2025-11-25"}, Mcp_Session_Id=session)
        assert self.shown()["id"] == 0

    def end(self) -> None:
        self._typed.put(None)
        self._bridge.join(WATCHDOG_S)
        assert not self._bridge.is_alive()


Opened = Callable[..., Scene]


@pytest.fixture
def scene() -> Iterator[Opened]:
    """Makes a scene; in the end whatever still waits is let go."""
    with _server() as (url, requests):
        scenes: list[Scene] = []

        def opened(token: str | None = None) -> Scene:
            scenes.append(Scene(url, requests, token))
            return scenes[-1]

        yield opened


@contextmanager
def _server() -> Iterator[tuple[str, SimpleQueue[Seen]]]:
    requests: SimpleQueue[Seen] = SimpleQueue()
    seen: list[Seen] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            one = Seen(self)
            seen.append(one)
            requests.put(one)
            one.is_done.get(timeout=WATCHDOG_S)

        do_GET = do_DELETE = do_POST  # noqa: N815 - as http.server has it

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp", requests
        for one in seen:
            one.hang_up()
        server.shutdown()


def test_a_request_is_posted_and_its_answer_is_one_line(scene: Opened) -> None:
    one = scene(token="s3cret-s3cret-s3cret")
    one.types("tools/list", id="a")
    asked = one.arrived()
    assert (asked.verb, asked.body["method"]) == ("POST", "tools/list")
    assert asked.headers["authorization"] == "Bearer s3cret-s3cret-s3cret"
    assert asked.headers["accept"] == "application/json, text/event-stream"
    asked.result({"tools": []})
    assert one.shown() == {"jsonrpc": "2.0", "id": "a", "result": {"tools": []}}
    one.end()
    assert not any("s3cret" in line for line in one.told)


def test_headers_are_those_of_the_era_that_the_client_speaks(scene: Opened) -> None:
    one = scene()
    one.types("resources/read", {"uri": "league://standings", **MODERN}, id=1)
    asked = one.arrived()
    named = {name: asked.headers.get(name) for name in ("mcp-protocol-version", "mcp-method", "mcp-name")}
    assert named == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "resources/read",
        "mcp-name": "league://standings",
    }
    asked.result({})
    one.shown()
    one.greet("s7")
    one.types("tools/call", {"name": "get_standings"}, id=2)
    asked = one.arrived()
    assert (asked.headers["mcp-session-id"], asked.headers["mcp-protocol-version"]) == ("s7", "2025-11-25")
    assert "mcp-method" not in asked.headers
    asked.result({})
    one.shown()
    one.types("ping", id=3)
    asked = one.arrived()
    asked.result({})
    one.shown()
    end = Thread(target=one.end)
    end.start()
    last = one.arrived()
    assert (last.verb, last.headers["mcp-session-id"]) == ("DELETE", "s7")
    last.answer(None)
    end.join(WATCHDOG_S)


def test_a_stream_is_passed_on_event_by_event_and_answers_of_the_client_go_back(scene: Opened) -> None:
    one = scene()
    one.types("tools/call", {"name": "next_turn"}, id=1)
    asked = one.arrived()
    asked.begin()
    asked.event({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": {}})
    assert one.shown()["id"] == "e1"
    one.types_raw(b'{"jsonrpc":"2.0","id":"e1","result":{"action":"accept"}}')
    answered = one.arrived()
    assert answered.body["result"] == {"action": "accept"}
    answered.answer(None, 202)
    asked.event({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})
    assert one.shown()["id"] == 1
    asked.hang_up()
    one.end()


def test_what_the_server_says_unasked_is_passed_on(scene: Opened) -> None:
    one = scene()
    one.greet()
    one.types("notifications/initialized")
    one.arrived().answer(None, 202)
    stream = one.arrived()
    assert (stream.verb, stream.headers["mcp-session-id"]) == ("GET", "s1")
    stream.begin()
    stream.event({"jsonrpc": "2.0", "method": "notifications/resources/updated"})
    assert one.shown()["method"] == "notifications/resources/updated"
    stream.hang_up()
    again = one.arrived()
    assert again.verb == "GET"
    again.answer(None, 405)
    Thread(target=one.end).start()
    one.arrived().answer(None)


def test_a_session_that_the_server_forgot_is_opened_again_with_its_subscriptions(scene: Opened) -> None:
    one = scene()
    one.greet("old")
    one.types("notifications/initialized")
    one.arrived().answer(None, 202)
    one.arrived().answer(None, 405)
    for number, method in enumerate(("resources/subscribe", "resources/subscribe", "resources/unsubscribe"), 1):
        one.types(method, {"uri": "league://schedule" if number == 1 else "league://standings"}, id=number)
        one.arrived().result({})
        one.shown()
    one.types("tools/list", id=9)
    lost = one.arrived()
    assert lost.headers["mcp-session-id"] == "old"
    lost.answer({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}, 404)
    hello = one.arrived()
    assert (hello.body["method"], hello.headers.get("mcp-session-id")) == ("initialize", None)
    hello.result({"protocolVersion": "2025-11-25"}, Mcp_Session_Id="new")
    for method in ("notifications/initialized", "resources/subscribe"):
        said = one.arrived()
        assert (said.body["method"], said.headers["mcp-session-id"]) == (method, "new")
        assert said.body.get("params") in (None, {"uri": "league://schedule"})
        said.answer({"jsonrpc": "2.0", "id": said.body.get("id"), "result": {}})
    again = one.arrived()
    assert (again.body["method"], again.headers["mcp-session-id"]) == ("tools/list", "new")
    again.result({"tools": []})
    assert one.shown() == {"jsonrpc": "2.0", "id": 9, "result": {"tools": []}}
    Thread(target=one.end).start()
    one.arrived().answer(None)


def test_a_subscription_that_broke_is_opened_again_until_it_is_called_off(scene: Opened) -> None:
    one = scene()
    one.types("subscriptions/listen", {"notifications": {}, **MODERN}, id="listen-1")
    for _ in range(2):
        asked = one.arrived()
        assert asked.body["id"] == "listen-1"
        asked.begin()
        asked.event({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"})
        assert one.shown()["method"] == "notifications/subscriptions/acknowledged"
        asked.hang_up()
    last = one.arrived()
    last.begin()
    last.event({"jsonrpc": "2.0", "method": "notifications/resources/updated"})
    assert one.shown()["method"] == "notifications/resources/updated"
    one.types("notifications/cancelled", {"requestId": "listen-1"})
    one.types("ping", MODERN, id=2)
    after = one.arrived()
    assert after.body["method"] == "ping"
    after.result({})
    assert one.shown()["id"] == 2
    last.hang_up()
    one.end()


def test_a_server_that_only_begins_to_serve_is_tried_again(scene: Opened) -> None:
    one = scene()
    one.types("ping", id=1)
    one.arrived().answer({}, 503)
    one.arrived().result({})
    assert one.shown() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    one.end()


def test_whatever_goes_wrong_the_client_is_told_which_request_it_was(scene: Opened) -> None:
    one = scene()
    one.types_raw(b"{nonsense")
    assert one.shown()["error"]["code"] == -32700
    one.types("ping", id=1)
    one.arrived().hang_up()
    assert (said := one.shown())["id"] == 1
    assert "hung up" in said["error"]["message"]
    one.types("ping", id=2)
    one.arrived().answer(None, 202)
    assert (said := one.shown())["id"] == 2
    assert "status 202" in said["error"]["message"]
    one.types("ping", id=3)
    one.arrived().answer({"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "no"}}, 400)
    assert one.shown() == {"jsonrpc": "2.0", "id": 3, "error": {"code": -32022, "message": "no"}}
    one.types("tools/call", id=4)
    asked = one.arrived()
    asked.begin()
    asked.event({"jsonrpc": "2.0", "method": "notifications/progress"})
    asked.hang_up()
    assert one.shown()["method"] == "notifications/progress"
    assert (said := one.shown())["id"] == 4
    assert "error" in said
    one.end()


def test_nobody_there_is_an_error_and_no_silence(scene: Opened) -> None:
    with _server() as (url, _):
        pass
    nowhere = Scene(url, SimpleQueue(), None)
    nowhere.types("initialize", {}, id=1)
    said = nowhere.shown()
    assert (said["id"], said["error"]["code"]) == (1, -32000)
    assert f"nobody answers at {url}" in said["error"]["message"]
    nowhere.end()


def test_events_are_put_together_from_their_lines() -> None:
    stream = [b": ping\r\n", b"id: 1\n", b"data: {\n", b'data: "a": 1}\n', b"\n", b"data:x\r\n", b"\r\n", b"data: cut"]
    assert list(events_in(stream)) == [b'{\n"a": 1}', b"x"]
