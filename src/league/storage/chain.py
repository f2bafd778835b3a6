"""The chain of digests over the events of a journal: damage that SQLite does not see, and an order that is fixed.

Events are written in groups. The last event of each group holds the digest of the digest before the group and of the
group's rows; the others hold none. So the digest of the last event, the head, stands for the whole journal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec


def digest_after(digest: bytes, rows: Iterable[Sequence[object]]) -> bytes:
    """Compute the digest of all events after one more group: of the digest before it, and of its rows."""
    state = hashlib.sha256(digest)
    for row in rows:
        state.update(msgspec.msgpack.encode(row))
    return state.digest()


class StoredRow(NamedTuple):
    """An event as stored. The digest covers the other fields, and is empty except in the last event of a group."""

    seq: int
    entry: int
    at: float
    kind: str
    body: bytes
    digest: bytes


class ChainHead(NamedTuple):
    """The end of a group: the number of its last event, and the digest of all events up to it."""

    seq: int
    digest: bytes


class Examination(NamedTuple):
    """The last event up to which all can be read and is as it was written, whether that is the last of all, and the
    ends of the groups up to there."""

    sound: int
    is_whole: bool
    heads: Sequence[ChainHead]


def examine(rows: Iterable[StoredRow | None]) -> Examination:
    """Follow the chain through all events of a journal; None stands for an event that cannot be read."""
    heads: list[ChainHead] = []
    group: list[StoredRow] = []
    sound = 0
    digest = b""
    for number, row in enumerate(rows, start=1):
        # Numbers have no gaps: a missing event is damage, even if all others can be read.
        if row is None or row.seq != number:
            return Examination(number - 1, False, heads)
        group.append(row)
        if not row.digest:
            continue
        digest = digest_after(digest, [row[:-1] for row in group])
        if digest != row.digest:
            return Examination(sound, False, heads)
        sound = row.seq
        heads.append(ChainHead(sound, digest))
        group = []
    # Events behind the last digest were added by somebody else.
    return Examination(sound + len(group), not group, heads)
