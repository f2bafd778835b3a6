"""Reads a broadcast once: agents hosted together get the same request, except for its `id` and its `auth_token`.

Our manager writes these two first and last. A request whose bytes between them are those of an earlier one that was
right is that request, with another id and token.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from league import letters
from league.letters import Asked, Speaker
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.exchanges import EXCHANGES, Role

KEPT: Final = 4
_HEAD: Final = b'{"jsonrpc":"2.0","id":'
_TOKEN: Final = b',"auth_token":"'
_TAIL: Final = re.compile(rb'([!#-\[\]-~]+)"\}\}')
_ID: Final = re.compile(rb"[1-9][0-9]{0,14}")
_BROADCASTS: Final = tuple(
    b',"method":"%b",' % row.method.encode() for row in EXCHANGES.values() if row.senders == (Role.MANAGER,)
)
"""The bytes after their id."""


class _Broadcast(Struct, frozen=True, gc=False):
    """A broadcast that was read: the role and reading of its reader, and the bytes between its id and its token."""

    role: Role
    reading: Reading
    shared: bytes
    request: Asked
    read: Unsealed

    def with_frame(self, request_id: int, token: str) -> Asked:
        """The same request with another id and token."""
        message = replace(self.read.message, auth_token=token)  # type: ignore[type-var]
        return replace(
            self.request,
            id=request_id,
            content=replace(self.read, message=message),
        )


class BroadcastReader:
    """Reads requests, and keeps the last few broadcasts."""

    def __init__(self) -> None:
        self._broadcasts: deque[_Broadcast] = deque(maxlen=KEPT)

    def read_quickly(self, raw: bytes, speaker: Speaker, limit: int) -> Asked | None:
        """Read a request as `letters.read_quickly` does."""
        begin = raw.find(b",", len(_HEAD))
        if not raw.startswith(_BROADCASTS, begin) or len(raw) > limit:
            return letters.read_quickly(raw, speaker, limit)
        for broadcast in self._broadcasts:
            if not raw.startswith(broadcast.shared, begin):
                continue
            # Another role or profile may judge the same bytes differently.
            if broadcast.role is speaker.role and broadcast.reading == speaker.reading:
                request_id = _id_in(raw[:begin])
                token = _token_in(raw[begin + len(broadcast.shared) :])
                if request_id and token:
                    return broadcast.with_frame(request_id, token)
        request = letters.read_quickly(raw, speaker, limit)
        if request is not None:
            self._keep(raw, begin, speaker, request)
        return request

    def _keep(self, raw: bytes, begin: int, speaker: Speaker, request: Asked) -> None:
        read = request.content
        assert isinstance(read, Unsealed)
        end = raw.rfind(_TOKEN) + len(_TOKEN)
        token = _token_in(raw[end:])
        # Only if id and token are where they were taken from: otherwise the next frame would be put in the wrong place.
        if token is not None and read.field("auth_token") == token and request.id == _id_in(raw[:begin]):
            broadcast = _Broadcast(speaker.role, speaker.reading, raw[begin:end], request, read)
            self._broadcasts.appendleft(broadcast)


def _id_in(head: bytes) -> int:
    """Read the id a request begins with; 0 if it is not written as ours are."""
    digits = head.removeprefix(_HEAD)
    return int(digits) if _ID.fullmatch(digits) else 0


def _token_in(tail: bytes) -> str | None:
    """Read the token a request ends with."""
    match = _TAIL.fullmatch(tail)
    return match[1].decode() if match else None
