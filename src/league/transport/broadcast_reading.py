"""A broadcast is read once: agents hosted together get the same request, but for its `id` and its `auth_token`.

Our manager writes these two first and last. Where a large request has between them what another one had that was right,
it is that one, with another id and token.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from league.protocol.envelope import Reading, Unsealed
from league.protocol.exchanges import Role
from league.transport import letters
from league.transport.letters import Asked, Speaker

LARGE: Final = 2048
"""Anything smaller is read as fast."""
KEPT: Final = 4
_HEAD: Final = re.compile(rb'\{"jsonrpc":"2\.0","id":(0|[1-9][0-9]{0,14}),')
_TOKEN: Final = b',"auth_token":"'
_TAIL: Final = re.compile(_TOKEN + rb'([!#-\[\]-~]+)"\}\}')


class _Frame(Struct, frozen=True, gc=False):
    """The id and the token of a request, and where what stands between them begins and ends."""

    id: int
    begin: int
    end: int
    token: str


class _Known(Struct, frozen=True, gc=False):
    """A request that was read, by whom, and what stood between its id and its token."""

    role: Role
    reading: Reading
    shared: bytes
    asked: Asked
    read: Unsealed

    def is_like(self, raw: bytes, frame: _Frame, speaker: Speaker) -> bool:
        is_same = len(self.shared) == frame.end - frame.begin and raw.startswith(self.shared, frame.begin)
        return is_same and self.role is speaker.role and self.reading == speaker.reading

    def with_frame(self, frame: _Frame) -> Asked:
        message = replace(self.read.message, auth_token=frame.token)  # type: ignore[type-var]
        return replace(self.asked, id=frame.id, content=replace(self.read, message=message))


class BroadcastReader:
    """Reads requests, and keeps the last few large ones."""

    def __init__(self) -> None:
        self._known: deque[_Known] = deque(maxlen=KEPT)

    def read_quickly(self, raw: bytes, speaker: Speaker, limit: int) -> Asked | None:
        """As `letters.read_quickly`."""
        frame = _frame_of(raw) if LARGE <= len(raw) <= limit else None
        if frame is None:
            return letters.read_quickly(raw, speaker, limit)
        for one in self._known:
            if one.is_like(raw, frame, speaker):
                return one.with_frame(frame)
        asked = letters.read_quickly(raw, speaker, limit)
        if asked is not None:
            self._keep(raw, frame, speaker, asked)
        return asked

    def _keep(self, raw: bytes, frame: _Frame, speaker: Speaker, asked: Asked) -> None:
        read = asked.content
        assert isinstance(read, Unsealed)
        if asked.id == frame.id and getattr(read.message, "auth_token", None) == frame.token:
            self._known.appendleft(_Known(speaker.role, speaker.reading, raw[frame.begin : frame.end], asked, read))


def _frame_of(raw: bytes) -> _Frame | None:
    head, end = _HEAD.match(raw), raw.rfind(_TOKEN)
    tail = _TAIL.fullmatch(raw, end) if head is not None and end >= 0 else None
    if head is None or tail is None or end < head.end():
        return None
    return _Frame(int(head[1]), head.end(), end, tail[1].decode())
