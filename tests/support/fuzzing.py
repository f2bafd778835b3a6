"""Messages that nobody wrote: what the vectors hold, spoiled by chance, byte by byte and value by value. The same seed
makes the same messages."""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Final

from league.protocol.message.exchanges import EXCHANGES
from tests.support.vectors import raw_of, vectors

LARGEST: Final = 12_000
"""Somewhat more than a message may have."""
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 1.0, 1e308, "", " ", "P01", "R1M1", "even", "x" * 300),
    *("\u0000", "\ud800", "\u202e", "league.v2", "tools/call", "2025-06-01T10:00:00Z", "http://127.0.0.1:1/mcp"),
    *([], {}, [[]], {"": {}}, ["P01", None], {"message_type": "GAME_OVER"}),
)
PIECES: Final = (
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"-", b"1e999", b"\\u"),
    *(b"\\ud800", b"null", b"[" * 20, b'{"a":' * 20, b"9" * 30, b"//", b"\r\n\r\n", b'"jsonrpc":"2.0",', b'"id":1,'),
)
_ENDPOINT: Final = re.compile(rb"(localhost|127\.0\.0\.1):[0-9]+/")


@cache
def corpus() -> tuple[bytes, ...]:
    """Every vector as it stands, and every message of them in a request."""
    found = [raw_of(one) for folder in ("valid", "invalid", "sources") for one in vectors(folder)]
    for one in vectors("valid"):
        message = one.get("message")
        if isinstance(message, dict) and message["message_type"] in EXCHANGES:
            call = {"jsonrpc": "2.0", "id": 1, "method": EXCHANGES[message["message_type"]].method, "params": message}
            found += [json.dumps(call).encode(), json.dumps({"jsonrpc": "2.0", "id": 1, "result": message}).encode()]
    # Whoever takes a registration calls its endpoint: nobody listens at that port.
    return tuple(_ENDPOINT.sub(rb"\1:9/", raw) for raw in found if len(raw) <= LARGEST)


class Mutator:
    """Makes messages by chance."""

    def __init__(self, seed: int, pool: list[bytes] | None = None) -> None:
        self._chance = random.Random(seed)
        self.pool = list(corpus()) if pool is None else pool
        """What new ones are made from; it may grow."""

    def next(self) -> bytes:
        """One message, wrong in one way or several."""
        raw = self._chance.choice(self.pool)
        for _ in range(self._chance.choice((1, 1, 1, 2, 3, 8))):
            raw = self._chance.choice((self._by_value, self._by_value, self._by_byte))(raw)
        return raw[:LARGEST]

    def _by_byte(self, raw: bytes) -> bytes:
        chance = self._chance
        start, end = sorted((chance.randrange(len(raw) + 1), chance.randrange(len(raw) + 1)))
        match chance.randrange(6):
            case 0:
                return raw[:start] + bytes([chance.randrange(256)]) + raw[start + 1 :]
            case 1:
                return raw[:start] + raw[min(end, start + 8) :]
            case 2:
                return raw[:start] + chance.choice(PIECES) + raw[start:]
            case 3:
                return raw[:start]
            case 4:
                return raw[:end] + raw[start:end] + raw[end:]
            case _:
                other = chance.choice(self.pool)
                return raw[:start] + other[chance.randrange(len(other) + 1) :]

    def _by_value(self, raw: bytes) -> bytes:
        try:
            return self._changed(json.loads(raw))
        except (ValueError, RecursionError):  # no JSON, or deeper than Python's own goes
            return self._by_byte(raw)

    def _changed(self, value: Any) -> bytes:
        """The JSON of a value (Any) with something else in one place."""
        places = list(_places(value))
        if not places:
            return json.dumps(self._chance.choice(VALUES)).encode()
        inside, name = self._chance.choice(places)
        self._change(inside, name, places)
        return json.dumps(value, ensure_ascii=self._chance.random() < 0.8).encode("utf-8", "surrogatepass")

    def _change(self, inside: Any, name: Any, places: list[tuple[Any, Any]]) -> None:
        """Any: a place in a JSON value."""
        chance = self._chance
        match chance.randrange(4):
            case 0:
                del inside[name]
            case 1:
                other, key = chance.choice(places)
                inside[name] = copy.deepcopy(other[key])
            case 2 if isinstance(inside, dict):
                inside[chance.choice(("", "message_type", "params", "error", "id", "\u00e9"))] = inside.pop(name)
            case _:
                inside[name] = copy.deepcopy(chance.choice(VALUES))


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Every object or array in a JSON value (Any), with each name or index in it."""
    if depth > 50 or not isinstance(value, dict | list):
        return
    for name, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, name
        yield from _places(one, depth + 1)


class Coverage:
    """Which steps from line to line the code under this folder takes. It is slow; only the guided hunt uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self.seen: set[tuple[str, int, int]] = set()
        self._new = False

    def finds(self, work: Callable[[], object]) -> bool:
        """Does this take a step that nothing took before?"""
        self._new = False
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            work()
        finally:
            sys.settrace(before)
        return self._new

    def _enter(self, frame: FrameType, _event: str, _: Any) -> Any:
        """Any: as sys.settrace has it."""
        if not frame.f_code.co_filename.startswith(self._folder):
            return None
        last = 0

        def step(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "line":
                taken = (frame.f_code.co_filename, last, frame.f_lineno)
                if taken not in self.seen:
                    self.seen.add(taken)
                    self._new = True
                last = frame.f_lineno
            return step

        return step
