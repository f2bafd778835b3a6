"""What the parser makes of bytes, however they are cut, and what it rejects."""

from __future__ import annotations

import contextlib

import pytest
from msgspec.structs import asdict, replace

from league.transport.http import HttpRequest, Limits
from league.transport.http_parser import (
    KNOWN_SIZE,
    RequestParser,
    RequestPhase,
    RequestRejectedError,
    StopReading,
)
from tests.support.http_wire import one_by_one

LIMITS = Limits(body=100, head=1000, headers=8)


class Notes:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.heads: list[HttpRequest] = []
        self.requests: list[HttpRequest] = []
        self.wanted = 1000

    def request_begun(self) -> None:
        if len(self.requests) >= self.wanted:
            raise StopReading

    def head_read(self, request: HttpRequest) -> None:
        assert not request.is_complete
        request.is_repeatable = request.path != "/other"
        self.heads.append(request)

    def request_read(self, request: HttpRequest) -> None:
        assert request is self.heads[-1]
        assert request.is_complete
        self.requests.append(request)


def noted(*pieces: bytes, limits: Limits = LIMITS) -> Notes:
    notes = Notes()
    parser = RequestParser(limits, notes)
    for piece in pieces:
        parser.feed(piece)
    return notes


def parse(*pieces: bytes) -> list[tuple[object, ...]]:
    """Everything that can be said of the requests in these bytes."""
    return [
        (
            one.method,
            one.path,
            one.query,
            one.version,
            dict(one.headers),
            one.body,
            one.keep_alive,
            one.expects_continue,
        )
        for one in noted(*pieces).requests
    ]


def request(*lines: bytes, first: bytes = b"POST /mcp HTTP/1.1", body: bytes = b"") -> bytes:
    return b"\r\n".join([first, b"Host: localhost", *lines, b"", body])


COUNTED = request(b"Content-Length: 2", body=b"{}")
CHUNKED = request(b"Transfer-Encoding: chunked", body=b'1;a="b"\r\n{\r\n01\r\n}\r\n0\r\nX: y\r\nHost: z\r\n\r\n')
OFFER = request(b"Connection: Upgrade", b"Upgrade: h2c", b"Content-Length: 2", body=b"{}")
PAGE = request(first=b"GET /healthz?a=b%20c HTTP/1.1")
HEADERS = {b"host": b"localhost"}


@pytest.mark.parametrize(
    ("sent", "method", "path", "query", "headers", "body"),
    [
        pytest.param(COUNTED, "POST", "/mcp", b"", {b"content-length": b"2"}, b"{}", id="counted"),
        pytest.param(CHUNKED, "POST", "/mcp", b"", {b"transfer-encoding": b"chunked"}, b"{}", id="chunked"),
        pytest.param(OFFER, "POST", "/mcp", b"", {b"content-length": b"2"}, b"{}", id="an offer to switch"),
        pytest.param(PAGE, "GET", "/healthz", b"a=b%20c", {}, b"", id="a query"),
        pytest.param(request(first=b"GET /%6dc%70%2f%C3%a9 HTTP/1.1"), "GET", "/mcp/é", b"", {}, b"", id="percent"),
        pytest.param(request(first=b"GET /a%zz%2 HTTP/1.1"), "GET", "/a%zz%2", b"", {}, b"", id="bad percent"),
        pytest.param(request(first=b"GET //mcp HTTP/1.1"), "GET", "//mcp", b"", {}, b"", id="two slashes"),
        pytest.param(request(first=b"OPTIONS * HTTP/1.1"), "OPTIONS", "*", b"", {}, b"", id="asterisk"),
        pytest.param(
            request(first=b"GET http://evil:80/mcp?x HTTP/1.1"),
            "GET",
            "/mcp",
            b"x",
            {b"host": b"evil"},
            b"",
            id="absolute",
        ),
        pytest.param(
            request(first=b"GET http://[::1]:80 HTTP/1.1"),
            "GET",
            "/",
            b"",
            {b"host": b"[::1]"},
            b"",
            id="absolute without path",
        ),
        pytest.param(b"\r\n\r\n" + PAGE, "GET", "/healthz", b"a=b%20c", {}, b"", id="empty lines before"),
        pytest.param(
            request(b"A:  b \t", b"a: c"), "POST", "/mcp", b"", {b"a": b"b, c"}, b"", id="a header in two lines"
        ),
    ],
)
def test_a_request_is_the_same_however_it_is_cut(
    sent: bytes, method: str, path: str, query: bytes, headers: dict[bytes, bytes], body: bytes
) -> None:
    wanted = (method, path, query, "1.1", {**HEADERS, **headers}, body, True, False)
    assert parse(sent) == [wanted]
    assert parse(*one_by_one(sent)) == [wanted]
    assert parse(sent * 3) == [wanted] * 3
    for place in range(1, len(sent)):
        assert parse(sent[:place], sent[place:], sent, sent) == [wanted] * 3


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"keep-alive", True),
        (b"1.1", b"close", False),
        (b"1.1", b"Close", False),
        (b"1.1", b"x, close", False),
        (b"1.0", b"", False),
        (b"1.0", b"keep-alive", False),
    ],
)
def test_a_connection_is_kept_for_who_speaks_1_1_and_does_not_close(
    version: bytes, connection: bytes, keeps: bool
) -> None:
    lines = [b"Connection: " + connection] if connection else []
    for _ in range(2):
        ((*_, kept, _),) = parse(request(*lines, first=b"GET / HTTP/" + version))
        assert kept is keeps


@pytest.mark.parametrize(("version", "expects"), [(b"1.1", True), (b"1.0", False)])
def test_only_http_1_1_can_expect_a_100(version: bytes, expects: bool) -> None:
    first = b"POST /mcp HTTP/" + version
    ((*_, kept, expected),) = parse(request(b"Expect: 100-Continue", b"Content-Length: 1", first=first, body=b"x"))
    assert expected is expects
    assert not kept


@pytest.mark.parametrize(
    ("status", "pieces"),
    [
        pytest.param(400, [request(b"A: b", b" c")], id="a folded line"),
        pytest.param(400, [COUNTED.replace(b"\r\n", b"\n")], id="bare LF"),
        pytest.param(400, [request(b"A: b\rC: d")], id="bare CR"),
        pytest.param(400, [request(b"Content-Type: a/b", b"Content-Type: a/b")], id="a second media type"),
        pytest.param(400, [request(first=b"GET http:// HTTP/1.1")], id="no address"),
        pytest.param(400, [request(first=b"CONNECT localhost:80 HTTP/1.1")], id="a tunnel"),
        pytest.param(400, [b"GET / HTTP/1.1\r\n\r\n"], id="no host"),
        pytest.param(400, [request(b"Content-Length: 2", b"Transfer-Encoding: chunked")], id="length and chunks"),
        pytest.param(413, [request(b"Content-Length: 101")], id="a large length"),
        pytest.param(413, [request(b"Transfer-Encoding: chunked"), b"65\r\n" + b"x" * 101], id="a large chunk"),
        pytest.param(413, [request(b"Transfer-Encoding: chunked"), *[b"1\r\nx\r\n"] * 101], id="many chunks"),
        pytest.param(
            413, [request(b"Transfer-Encoding: chunked"), b"1;", *[b"a" * 99] * 40], id="an endless extension"
        ),
        pytest.param(413, [CHUNKED[:-2] + b"A: ", *[b"a" * 99] * 40], id="an endless trailer"),
        pytest.param(431, [request(b"A: " + b"b" * 1000)], id="a large header"),
        pytest.param(431, [COUNTED + request(b"A: " + b"b" * 950)[:900], b"b" * 200 + b"\r\n\r\n"], id="a large rest"),
        pytest.param(431, [b"GET / HTTP/1.1\r\nA: ", *[b"b" * 99] * 12], id="an endless header"),
        pytest.param(431, [request(*[b"A: b"] * 8)], id="many lines"),
        pytest.param(431, [b"GET /" + b"a" * 1000], id="an endless address"),
        pytest.param(505, [request(first=b"GET / HTTP/2.0")], id="HTTP/2"),
    ],
)
def test_what_is_too_large_or_can_be_read_in_two_ways_is_rejected(status: int, pieces: list[bytes]) -> None:
    for before in ([], [COUNTED], [PAGE, COUNTED]):
        with pytest.raises(RequestRejectedError) as caught:
            parse(*before, *pieces)
        assert caught.value.status == status


def test_a_large_piece_of_small_requests_does_not_count_against_the_next_head() -> None:
    assert len(parse(COUNTED * 50 + PAGE[:20], PAGE[20:])) == 51


@pytest.mark.parametrize("before", [b"\r", b"\n", b"\r\n", b"\r\r\n\n\r"])
def test_the_ends_of_lines_before_a_request_leave_no_trace(before: bytes) -> None:
    one = parse(COUNTED)
    assert parse(before + COUNTED) == one
    assert parse(COUNTED, before, COUNTED, before, PAGE, before + COUNTED, COUNTED) == [
        *one * 2,
        *parse(PAGE),
        *one * 2,
    ]


def test_a_head_is_not_a_request_until_its_body_is_here() -> None:
    notes = Notes()
    parser = RequestParser(LIMITS, notes)
    for piece, phase, heads, requests in (
        (COUNTED[:10], RequestPhase.HEAD, 0, 0),
        (COUNTED[10:-2], RequestPhase.BODY, 1, 0),
        (b"{", RequestPhase.BODY, 1, 0),
        (b"}", RequestPhase.IDLE, 1, 1),
    ):
        parser.feed(piece)
        assert (parser.phase, len(notes.heads), len(notes.requests)) == (phase, heads, requests)


@pytest.mark.parametrize("again", [COUNTED, PAGE, CHUNKED])
def test_a_listener_that_wants_no_more_is_told_of_no_more(again: bytes) -> None:
    for first, last in (([], COUNTED * 2 + again), ([COUNTED, COUNTED], again)):
        notes = Notes()
        notes.wanted = 2
        parser = RequestParser(LIMITS, notes)
        for piece in first:
            parser.feed(piece)
        with pytest.raises(StopReading):
            parser.feed(last)
        assert [one.body for one in notes.requests] == [b"{}"] * 2


# --- heads that are known ---------------------------------------------------------------------------------------------


def recognised(*pieces: bytes, limits: Limits = LIMITS) -> list[bytes]:
    """The bodies of the requests in these bytes that were not parsed; the last may be one that is rejected. A parser
    that knew nothing would have read the same."""
    bodies, parser = [], RequestParser(limits, Notes())
    for piece in pieces:
        body = parser.known_body(piece)
        if body is None:
            with contextlib.suppress(RequestRejectedError):
                parser.feed(piece)
        else:
            assert parser.known is not None
            [read] = noted(piece, limits=limits).requests
            headers = {name: value for name, value in read.headers.items() if name != b"content-length"}
            known = replace(parser.known.request, body=body, is_complete=True)
            assert asdict(known) == asdict(replace(read, headers=headers))
            bodies.append(body)
    return bodies


def test_a_known_head_is_recognised_with_whatever_body_follows() -> None:
    assert recognised(COUNTED, COUNTED, COUNTED[:-2] + b"[]") == [b"{}", b"[]"]


@pytest.mark.parametrize("name", [b"Content-Length", b"content-length"])
@pytest.mark.parametrize("more", [(), (b"A: b",)])
@pytest.mark.parametrize("body", [b"[1]", b"", b"x" * 9, b"x" * 10, b"x" * 99, b"x" * 100])
def test_a_known_head_is_recognised_with_another_length(name: bytes, more: tuple[bytes, ...], body: bytes) -> None:
    first, other = (request(b"%b: %d" % (name, len(one)), *more, body=one) for one in (b"{}", body))
    assert recognised(first, other, first) == [body, b"{}"]


def test_any_number_of_sizes_is_recognised() -> None:
    bodies = [b"x" * length for length in (*range(101), *range(101))]
    assert recognised(COUNTED, *(request(b"Content-Length: %d" % len(body), body=body) for body in bodies)) == bodies


def test_only_heads_that_may_come_again_are_remembered() -> None:
    other = request(b"Content-Length: 2", first=b"POST /other HTTP/1.1", body=b"{}")
    assert not recognised(other, other)
    assert not recognised(COUNTED, other, COUNTED)


def test_in_the_middle_of_a_request_nothing_is_recognised() -> None:
    begun = request(b"Content-Length: 2", b"A: b")
    assert not recognised(COUNTED, begun, COUNTED)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(request(b"Content-Length: 3", body=b"{}"), id="too short"),
        pytest.param(request(b"Content-Length: 1", body=b"{}"), id="too long"),
        pytest.param(request(b"Content-Length: +2", body=b"{}"), id="no number"),
        pytest.param(request(b"Content-Length: ", body=b"{}"), id="nothing"),
        pytest.param(request(b"Content-Length: ", body=b"x" * 11), id="nothing, and no length would do"),
        pytest.param(request(b"Content-Length: 2 ", body=b"{}"), id="a space"),
        pytest.param(request(b"Content-Length: 02", body=b"{}"), id="a zero before it"),
        pytest.param(request(b"Content-Length: -2", body=b""), id="less than nothing"),
        pytest.param(request(b"Content-Length:  2", body=b"{}"), id="written otherwise"),
        pytest.param(request(b"Content-Length: 0000000002", body=b"{}"), id="many digits"),
        pytest.param(request(b"Content-Length: 2", b"Content-Length: 2", body=b"{}"), id="said twice"),
        pytest.param(request(b"Content-Length: 2", b"A: b", body=b"{}"), id="one more header"),
    ],
)
def test_a_head_of_another_form_is_left_to_the_parser(sent: bytes) -> None:
    assert not recognised(COUNTED, sent)


def test_a_body_that_is_too_large_is_refused_though_its_head_is_known() -> None:
    large, limits = request(b"Content-Length: 7", body=b"x" * 7), Limits(body=6)
    assert not recognised(COUNTED, large, limits=limits)
    with pytest.raises(RequestRejectedError) as refused:
        noted(COUNTED, large, limits=limits)
    assert refused.value.status == 413


@pytest.mark.parametrize("sent", [COUNTED[:-1], COUNTED * 2, COUNTED[:-2], COUNTED + b"P", b"\r\n\r\n", PAGE])
def test_anything_but_one_whole_request_is_parsed(sent: bytes) -> None:
    assert not recognised(COUNTED, sent)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(request(b"Connection: close", b"Content-Length: 0"), id="the last of its connection"),
        pytest.param(request(b"Expect: 100-continue", b"Content-Length: 1", body=b"x"), id="a question first"),
        pytest.param(PAGE, id="no body"),
        pytest.param(CHUNKED, id="chunks"),
        pytest.param(OFFER, id="an offer to switch"),
        pytest.param(COUNTED * 2, id="two at once"),
        pytest.param(request(b"A: " + b"b" * KNOWN_SIZE, b"Content-Length: 0"), id="a large head"),
    ],
)
def test_what_is_not_plain_is_not_remembered(sent: bytes) -> None:
    assert not recognised(sent, sent, limits=Limits())
