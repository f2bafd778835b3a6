"""The transcript: every letter received or sent, without tokens; what many are sent is stored once.

It shares the group commit of the events, but nothing waits for it. Letters are lost with a group that cannot be stored,
and when the disk is too slow; a remark then says how many are missing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import Literal

import msgspec

from league.protocol.safe_text import mask, without_tokens
from league.storage import journal_files

Mode = Literal["full", "matches", "off"]
DEFAULT_LIMIT = 256 << 20
ROW_COST = 128
"""The bytes a letter takes beside its body, roughly."""
RECENT_BYTES = 1 << 20
"""Bytes of stored bodies kept in memory, to recognise a broadcast in the letters to its receivers."""
TEXTS_KEPT = 1024
FIELD_LIMIT = 200
"""A peer chooses its message type and match id: what is longer is cut."""
_RECORD = b',"match_record":['
_ANY_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_AFTER_RECORD = re.compile(rb'(,"auth_token":"[^"\\]*")?\}{1,2}')


class LetterNote(msgspec.Struct, frozen=True):
    """One letter. `status` says how it went: an HTTP status, or why there was none."""

    at: float
    direction: Literal["in", "out"]
    peer: str
    message_type: str | None
    match_id: str | None
    kind: Literal["request", "response", "remark"]
    status: str
    body: bytes


def exchanged(
    at: float,
    direction: Literal["in", "out"],
    peer: str,
    message_type: str | None,
    match_id: str | None,
    status: str,
    body: bytes,
) -> LetterNote:
    """Note a request, or (with a status) the answer to one."""
    kind: Literal["request", "response"] = "response" if status else "request"
    if message_type == "MATCH_RESULT_REPORT":
        body = without_record(body)
    return LetterNote(at, direction, peer, message_type, match_id, kind, status, body)


def without_record(body: bytes) -> bytes:
    """Empty the record of the match in a report: our referees write it last, and the journals have it already."""
    begin = body.find(_RECORD) + len(_RECORD)
    end = body.rfind(b"]")
    if begin < len(_RECORD) or _AFTER_RECORD.fullmatch(body, end + 1) is None:
        return body
    try:
        _ANY_LIST.decode(body[begin - 1 : end + 1])
    except msgspec.MsgspecError:
        return body  # the bracket is not the end of the record
    return body[:begin] + body[end:]


# --- writing ----------------------------------------------------------------------------------------------------------


class TranscriptWriter:
    """Writes notes within the journal's transactions. Its size stands in the database too, so that it is rolled back
    with them: after a transaction that failed, `find_end` reads it again."""

    def __init__(self, connection: sqlite3.Connection, limit: int) -> None:
        self._connection = connection
        self._limit = limit
        self._texts = _Texts()
        self._recent: dict[bytes, int] = {}
        """Bodies stored shortly before, as they came, and the letters that have them."""
        self._recent_bytes = 0
        self.find_end()

    def find_end(self) -> None:
        """Read how large it is, and whether it ended there. With a larger limit it is continued."""
        self._size = self._number("transcript_bytes") or 0
        stopped_at = self._number("transcript_stopped")
        self.is_stopped = stopped_at is not None and self._limit <= stopped_at
        self._last_id: int = self._connection.execute("SELECT coalesce(max(id), 0) FROM letters").fetchone()[0]
        # Letters that were rolled back must not be referred to.
        self._recent.clear()
        self._recent_bytes = 0

    def write(self, notes: Sequence[LetterNote], missing: int) -> None:
        """Store these notes, after a remark if others are missing before them."""
        if not notes or self.is_stopped:
            return
        rows: list[tuple[object, ...]] = []
        if missing:
            remark = _remark(
                notes[0].at,
                f"{missing} letters are missing here: they could not be stored",
            )
            rows.append(self._row(remark))
        for note in notes:
            if self._size + ROW_COST + len(note.body) > self._limit:
                remark = _remark(
                    note.at,
                    f"the transcript ends here: it reached its limit of {self._limit} bytes",
                )
                rows.append(self._row(remark))
                self._set("transcript_stopped", self._limit)
                self.is_stopped = True
                break
            rows.append(self._row(note))
        journal_files.insert(self._connection, "letters", rows)
        self._set("transcript_bytes", self._size)

    def _row(self, note: LetterNote) -> tuple[object, ...]:
        """Make a note into a row: with its body, or with the letter before it that had the same."""
        self._last_id += 1
        self._size += ROW_COST
        texts = self._texts
        same_as = self._recent.get(note.body, 0)
        body = journal_files.NO_BLOB
        if not same_as:
            body = journal_files.blob(self._new_body(note.body))
        return (
            self._last_id,
            note.at,
            note.direction,
            texts[note.peer],
            texts[note.message_type],
            texts[note.match_id or ""],
            note.kind,
            texts[note.status],
            body,
            same_as,
        )

    def _new_body(self, original: bytes) -> bytes:
        """Remember the body of the newest letter, and return it without its tokens."""
        # All are forgotten at once: a broadcast leaves within moments, so that hardly any is stored twice.
        if self._recent_bytes > RECENT_BYTES:
            self._recent.clear()
            self._recent_bytes = 0
        self._recent[original] = self._last_id
        self._recent_bytes += len(original)
        body = mask(original)
        self._size += len(body)
        return body

    def _number(self, key: str) -> int | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else None

    def _set(self, key: str, value: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))


def _remark(at: float, text: str) -> LetterNote:
    return LetterNote(at, "in", "", None, None, "remark", "", text.encode())


class _Texts(dict[str | None, str | None]):
    """Names and types as they are stored; every letter repeats them."""

    def __missing__(self, field: str | None) -> str | None:
        if len(self) >= TEXTS_KEPT:
            self.clear()
        stored = field
        if field is not None:
            stored = without_tokens(field[:FIELD_LIMIT])
        self[field] = stored
        return stored


# --- reading ----------------------------------------------------------------------------------------------------------

_LETTERS = """SELECT id, at, direction, peer, message_type, nullif(match_id, ''), kind, status,
        CASE same_as WHEN 0 THEN body ELSE (SELECT body FROM letters AS first WHERE first.id = letters.same_as) END
    FROM letters WHERE id > :after AND {} ORDER BY id LIMIT :limit"""
_CHOICES = {
    "all": _LETTERS.format("kind != 'remark'"),
    "match": _LETTERS.format("match_id = :match_id AND match_id <> '' AND kind != 'remark'"),
    "remarks": _LETTERS.format("kind = 'remark'"),
}
Choice = Literal["all", "match", "remarks"]


def read(
    connection: sqlite3.Connection,
    choice: Choice,
    match_id: str | None,
    after: int,
    limit: int,
) -> list[tuple[int, LetterNote]]:
    """The next letters after that number, with their numbers."""
    values = {"after": after, "limit": limit, "match_id": match_id}
    rows = connection.execute(_CHOICES[choice], values).fetchall()
    return [(row[0], LetterNote(*row[1:])) for row in rows]
