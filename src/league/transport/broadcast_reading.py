"""A broadcast is read once: agents hosted together get the same request, but for its `id` and its `auth_token`.

Our manager writes these two first and last. A request that has between them what another one had that was right is that
one, with another id and token.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from league.protocol.envelope import Reading, Unsealed
from league.protocol.exchanges import EXCHANGES, Role
from league.transport import letters
from league.transport.letters import Asked, Speaker

KEPT: Final = 4
_HEAD: Final = b'{"jsonrpc":"2.0","id":'
_TOKEN: Final = b',"auth_token":"'
_TAIL: Final = re.compile(rb'([!#-\[\]-~]+)"\}\}')
_ID: Final = re.compile(rb"[1-9][0-9]{0,14}")
_BROADCASTS: Final = tuple(
    b',"method":"%b",' % row.method.encode() for row in EXCHANGES.values() if row.senders == (Role.MANAGER,)
)
"""How they go on behind their id."""


class _Known(Struct, frozen=True, gc=False):
    """A request that was read, by whom, and what stood between its id and its token."""

    role: Role
    reading: Reading
    shared: bytes
    asked: Asked
    read: Unsealed

    def with_frame(self, request_id: int, token: str) -> Asked:
        """The same request with another id and token."""
        message = replace(self.read.message, auth_token=token)  # type: ignore[type-var]
        return replace(self.asked, id=request_id, content=replace(self.read, message=message))


class BroadcastReader:
    """Reads requests, and keeps the last few broadcasts."""

    def __init__(self) -> None:
        self._known: deque[_Known] = deque(maxlen=KEPT)

    def read_quickly(self, raw: bytes, speaker: Speaker, limit: int) -> Asked | None:
        """As `letters.read_quickly`."""
        begin = raw.find(b",", len(_HEAD))
        if not raw.startswith(_BROADCASTS, begin) or len(raw) > limit:
            return letters.read_quickly(raw, speaker, limit)
        for one in self._known:
            if raw.startswith(one.shared, begin) and one.role is speaker.role and one.reading == speaker.reading:
                request_id, token = _id_in(raw[:begin]), _token_in(raw[begin + len(one.shared) :])
                if request_id and token:
                    return one.with_frame(request_id, token)
        asked = letters.read_quickly(raw, speaker, limit)
        if asked is not None:
            self._keep(raw, begin, speaker, asked)
        return asked

    def _keep(self, raw: bytes, begin: int, speaker: Speaker, asked: Asked) -> None:
        read, end = asked.content, raw.rfind(_TOKEN) + len(_TOKEN)
        assert isinstance(read, Unsealed)
        token = _token_in(raw[end:])
        if token is not None and read.field("auth_token") == token and asked.id == _id_in(raw[:begin]):
            self._known.appendleft(_Known(speaker.role, speaker.reading, raw[begin:end], asked, read))


def _id_in(head: bytes) -> int:
    """0 if it is not written as ours are."""
    digits = head.removeprefix(_HEAD)
    return int(digits) if _ID.fullmatch(digits) else 0


def _token_in(tail: bytes) -> str | None:
    """The token a request ends with."""
    found = _TAIL.fullmatch(tail)
    return found[1].decode() if found else None
