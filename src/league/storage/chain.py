"""The chain of digests over the events of a journal: damage that SQLite does not see, and an order that is fixed.

Events are written in groups. The last event of each group holds the digest of the digest before the group and of the
group's rows; the others hold none. So the digest of the last event, the head, stands for the whole journal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec


def digest_after(digest: bytes, rows: Iterable[Sequence[object]]) -> bytes:
    """Compute the digest of all events after one more group: of the digest before it, and of its rows."""
    state = hashlib.sha256(digest)
    for row in rows:
        state.update(msgspec.msgpack.encode(row))
    return state.digest()
