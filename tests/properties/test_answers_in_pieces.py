"""An answer is read alike whether it comes whole or in two pieces."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.letters import HttpReply
from league.protocol.endpoints import parse
from league.transport.http_call import CallFailed, ClientConnection, PendingCall, Target

LIMIT = 20
TARGET = Target("", parse("http://127.0.0.1/"), "", b"")
PLAIN = "HTTP/1.1 200 OK"
FIRST = st.sampled_from([*[PLAIN] * 6, "HTTP/1.0 200 OK", "HTTP/1.1 201 OK", "HTTP/1.1 204 OK", "HTTP/1.1 100 OK"])
DATE = st.sampled_from(["date: Sun, 06 Nov 1994 08:49:37 GMT", "Date: x", "date: ", "date: \x01", "date: é"]) | st.text(
    st.characters(max_codepoint=255), max_size=9
).map("date: {}".format)
TYPE = st.sampled_from(
    ["content-type: application/json", "Content-Type: application/json", "content-type: text/plain", "content-type:"]
)
OTHER = st.sampled_from(
    [
        *("connection: close", "transfer-encoding: chunked", "retry-after: 3", "content-encoding: gzip"),
        *("mcp-session-id: a", "upgrade: h2c", "x: y", "content-length: 2", "x"),
    ]
)
LENGTH = st.sampled_from(["content-length: %d", "Content-Length: %d", "content-length: 0%d", "content-length:%d", "%d"])


class Wire(asyncio.Transport):
    """Takes what is sent, and the connection back."""

    def __init__(self) -> None:
        super().__init__()
        self.end = ""

    def write(self, data: object) -> None: ...

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.end = "closed"

    def connection_freed(self, connection: ClientConnection) -> None:
        self.end = "kept"

    def connection_closed(self, connection: ClientConnection) -> None: ...

    def connection_was_stale(self, call: PendingCall) -> None: ...


async def read(*pieces: bytes) -> tuple[object, str]:
    """What a call comes to that is answered so, and what becomes of its connection."""
    wire = Wire()
    connection = ClientConnection(wire, "")
    connection.connection_made(wire)
    ends: list[HttpReply | CallFailed] = []
    connection.send(PendingCall(TARGET, b"", 0.0, LIMIT, 0.0, ends.append), 0.0, ())
    for piece in pieces:
        connection.data_received(piece)
    assert len(ends) <= 1
    end = ends[0] if ends else None
    return end.detail if isinstance(end, CallFailed) else end, wire.end


@st.composite
def answers(draw: Any) -> bytes:
    body = draw(st.binary(max_size=LIMIT + 2))
    lines = [draw(FIRST), draw(DATE), draw(TYPE), draw(LENGTH) % (len(body) + draw(st.sampled_from([0, 0, 0, 1, -1])))]
    if draw(st.booleans()):
        lines.insert(draw(st.integers(1, 4)), draw(OTHER))
    dropped = draw(st.sampled_from([None, None, 1, 2, 3]))
    kept: list[str] = [line for place, line in enumerate(lines) if place != dropped]
    head = "\r\n".join([*kept, "", ""]).encode("latin-1")
    return b"".join([head, body, draw(st.sampled_from([b"", b"", b"", b"x"]))])


@given(answers())
def test_a_whole_answer_is_read_as_one_in_two_pieces(said: bytes) -> None:
    assert asyncio.run(read(said)) == asyncio.run(read(said[:1], said[1:]))


@pytest.mark.parametrize("date", ["", "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"])
@pytest.mark.parametrize(("line", "kind"), [("", ""), ("content-type: application/json\r\n", "application/json")])
def test_the_usual_answer_keeps_its_connection(date: str, line: str, kind: str) -> None:
    said = f"{PLAIN}\r\n{date}{line}content-length: 2\r\n\r\n{{}}".encode()
    wanted = HttpReply(200, b"{}", None, kind)
    assert asyncio.run(read(said)) == asyncio.run(read(said[:1], said[1:])) == (wanted, "kept")
