"""Bad HTTP (spec sections 2.1, 2.4): wrong methods, paths, media types and hosts; lengths and chunks that contradict
each other; heads that are too large or not HTTP at all. The rows are in bad_http.toml."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from league.features.kit.bad_input.cases import (
    MANAGER,
    BadInput,
    ExpectedAnswer,
    Fields,
    Standing,
    call_of,
    encoded,
    refused,
    rows_of,
)
from league.features.kit.driver.templates import filled
from league.features.kit.driver.wire import RawRequest
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, MESSAGE_LIMIT

PING: Final = encoded(call_of({}, "ping")).decode()
USUAL: Final[Fields] = {
    "id": "{row}",
    "clause": "HTTP.framing",
    "first": "POST {path} HTTP/1.1",
    "host": "{host}",
    "headers": ["Content-Type: application/json", "Content-Length: {size}"],
    "body": "{ping}",
}
"""The fields of a row that does not have them: a right request."""


def framing(role: str) -> Iterator[BadInput]:
    """Return every case for an agent of this role."""
    limit = MANAGER_LIMIT
    clause = "SIZE.from_the_manager"
    if role == MANAGER:
        limit = MESSAGE_LIMIT
        clause = "SIZE.requests"
    for row in rows_of("bad_http.toml"):
        fields = {**USUAL, **row, **row["set"]}
        if fields["clause"] == "SIZE":
            fields["clause"] = clause
        name = filled(fields["id"], fields.get)
        yield BadInput(
            id=f"{fields['clause']}/{name}",
            clause=fields["clause"],
            what=name.replace("-", " "),
            expected=refused(fields["code"]) if "code" in fields else ExpectedAnswer(fields["status"] or None),
            make=partial(_request, fields, limit),
        )


def _request(fields: Fields, limit: int, standing: Standing) -> RawRequest:
    parts = urlsplit(standing.url)
    text = fields.get("whole")
    if text is None:
        host = [f"Host: {fields['host']}"] if fields["host"] else []
        lines = [fields["first"], *host, *fields["headers"], "Connection: close", "", ""]
        text = "\r\n".join(lines) + fields["body"]
    # The texts of a row may name its own fields, and those the words of the request.
    words = {"path": parts.path or "/", "host": parts.netloc, **_words(limit)}
    text = filled(filled(text, fields.get), words.get)
    return RawRequest(standing.url, verbatim=text.encode("latin-1"), ends=fields.get("ends", False))


def _words(limit: int) -> dict[str, str]:
    size = len(PING)
    large = PING.ljust(limit + 1)
    return {
        "ping": PING,
        "half": PING[: size // 2],
        "size": f"{size}",
        "size+1": f"{size + 1}",
        "size+5": f"{size + 5}",
        "size-5": f"{size - 5}",
        "hex": f"{size:x}",
        "hex-3": f"{size - 3:x}",
        "chunk": _in_one_chunk(PING),
        "large": large,
        "large size": f"{len(large)}",
        "large chunk": _in_one_chunk(large),
    }


def _in_one_chunk(body: str) -> str:
    return f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"
