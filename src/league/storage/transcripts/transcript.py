"""The transcript: every letter received or sent, without tokens; what many are sent is stored once.

It shares the group commit of the events, but nothing waits for it. Letters are lost with a group that cannot be stored,
and when the disk is too slow; a remark then says how many are missing.

Requests of strangers that were refused are no part of it: however many come, they must not push out the letters of the
league. Only the beginning of each is kept, in a ring of its own in the table meta, where a new one replaces the oldest.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from league.protocol.safe_text import mask, without_tokens
from league.storage.journal import LATEST

Mode = Literal["full", "matches", "off"]
DEFAULT_LIMIT = 256 << 20
ROW_COST = 128
"""The bytes a letter takes beside its body, roughly."""
RECENT_BYTES = 1 << 20
"""Bytes of stored bodies kept in memory, to recognise a broadcast in the letters to its receivers."""
TEXTS_KEPT = 1024
HEAD_LIMIT = 200
STRANGERS = 100
"""The size of the ring of strangers' requests."""
STRANGERS_KEY = "strangers"
FIELD_LIMIT = 200
"""A peer chooses its message type and match id: what is longer is cut."""
SIZE = "transcript_bytes"
STOPPED = "transcript_stopped"
"""Keys of the table meta."""
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
    kind: Literal["request", "response", "remark", "stranger"]
    status: str
    body: bytes

    @property
    def is_well_formed(self) -> bool:
        """False for a letter that some other program wrote: a database stores any type anywhere."""
        try:
            msgspec.convert(msgspec.structs.asdict(self), LetterNote)
        except msgspec.ValidationError:
            return False
        return 0 <= self.at <= LATEST


class StrangersRequest(msgspec.Struct, frozen=True):
    """The beginning of a request that was refused because nobody knows its sender."""

    at: float
    address: str
    message_type: str | None
    code: str
    head: str


def strangers_in(stored: str) -> list[StrangersRequest]:
    """Read the ring of strangers' requests; what cannot be read counts as empty."""
    try:
        return msgspec.json.decode(stored or "[]", type=list[StrangersRequest])
    except msgspec.MsgspecError:
        return []


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
    return LetterNote(
        at, direction, peer, message_type=message_type, match_id=match_id, kind=kind, status=status, body=body
    )


def refused(at: float, origin: str, message_type: str | None, code: str, body: bytes) -> LetterNote:
    """Note the beginning of a stranger's request that was refused."""
    return LetterNote(
        at, "in", origin, message_type=message_type, match_id=None, kind="stranger", status=code, body=body[:HEAD_LIMIT]
    )


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

LetterRow = tuple[int, float, str, str | None, str | None, str | None, str, str | None, bytearray, int]
"""A row of the table letters; its columns have this order. Bodies are bytearrays: sqlite3 binds them sooner."""
NO_BODY = bytearray()


class TranscriptEnd(Struct, frozen=True):
    """Where a stored transcript ends: its size, the id of its last letter, and the limit at which it was stopped."""

    size: int
    last_id: int
    stopped_at: int | None
    strangers: str = ""
    """The newest requests of strangers, as the table meta has them."""

    @classmethod
    def of(cls, meta: Mapping[str, str], last_id: int) -> TranscriptEnd:
        """Its size stands in the table meta, so that it is rolled back with a transaction that fails."""
        stopped_at = meta.get(STOPPED)
        return cls(
            size=int(meta.get(SIZE, 0)),
            last_id=last_id,
            stopped_at=None if stopped_at is None else int(stopped_at),
            strangers=meta.get(STRANGERS_KEY, ""),
        )


class TranscriptRows(NamedTuple):
    """What a group adds to the transcript: rows of the table letters, and values of the table meta."""

    letters: list[LetterRow]
    meta: dict[str, str]


NOTHING = TranscriptRows([], {})


class TranscriptWriter:
    """Makes notes into rows. After a transaction that failed, `go_on_from` must get the end that is stored."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._texts = _Texts()
        self._recent: dict[bytes, int] = {}
        """Bodies stored shortly before, as they came, and the letters that have them."""
        self._recent_bytes = 0
        self._strangers: deque[StrangersRequest] = deque(maxlen=STRANGERS)
        self.is_stopped = False

    def go_on_from(self, end: TranscriptEnd) -> None:
        """Go on behind this letter. With a larger limit, a transcript that was stopped is continued."""
        self._size = end.size
        self._last_id = end.last_id
        self.is_stopped = end.stopped_at is not None and self._limit <= end.stopped_at
        self._strangers.clear()
        self._strangers.extend(strangers_in(end.strangers))
        # Letters that were rolled back must not be referred to.
        self._recent.clear()
        self._recent_bytes = 0

    def rows(self, notes: Sequence[LetterNote], missing: int) -> TranscriptRows:
        """The rows of these notes, after a remark if others are missing before them."""
        if not notes or self.is_stopped:
            return NOTHING
        meta = {}
        letters = []
        if missing:
            remark = _remark(
                notes[0].at,
                f"{missing} letters are missing here: they could not be stored",
            )
            letters.append(self._row(remark))
        strangers = [note for note in notes if note.kind == "stranger"]
        if strangers:
            self._strangers.extend(map(self._request_of, strangers))
            meta[STRANGERS_KEY] = msgspec.json.encode(list(self._strangers)).decode()
        for note in notes:
            if note.kind == "stranger":
                continue
            if self._size + ROW_COST + len(note.body) > self._limit:
                remark = _remark(
                    note.at,
                    f"the transcript ends here: it reached its limit of {self._limit} bytes",
                )
                letters.append(self._row(remark))
                meta[STOPPED] = str(self._limit)
                self.is_stopped = True
                break
            letters.append(self._row(note))
        meta[SIZE] = str(self._size)
        return TranscriptRows(letters, meta)

    def _row(self, note: LetterNote) -> LetterRow:
        """Make a note into a row: with its body, or with the letter before it that had the same."""
        self._last_id += 1
        self._size += ROW_COST
        texts = self._texts
        same_as = self._recent.get(note.body, 0)
        body = NO_BODY
        if not same_as:
            body = bytearray(self._new_body(note.body))
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

    def _request_of(self, note: LetterNote) -> StrangersRequest:
        return StrangersRequest(
            note.at,
            self._texts[note.peer] or "",
            self._texts[note.message_type],
            note.status,
            mask(note.body).decode(errors="replace"),
        )


def _remark(at: float, text: str) -> LetterNote:
    return LetterNote(at, "in", "", message_type=None, match_id=None, kind="remark", status="", body=text.encode())


class _Texts(dict[str | None, str | None]):
    """Names and types as they are stored; every letter repeats them."""

    def __missing__(self, field: str | None) -> str | None:
        if len(self) >= TEXTS_KEPT:
            self.clear()
        stored = field
        if field is not None:
            # A database may have no text with a NUL in it.
            stored = without_tokens(field[:FIELD_LIMIT].replace("\0", "\N{REPLACEMENT CHARACTER}"))
        self[field] = stored
        return stored


# --- reading ----------------------------------------------------------------------------------------------------------

_LETTERS = """SELECT id, at, direction, peer, message_type, nullif(match_id, ''), kind, status,
        CASE same_as WHEN 0 THEN body ELSE (SELECT body FROM letters AS first WHERE first.id = letters.same_as) END
    FROM letters WHERE id > ? AND {} ORDER BY id LIMIT ?"""
CHOICES = {
    "all": _LETTERS.format("kind != 'remark'"),
    "match": _LETTERS.format("match_id = ? AND match_id <> '' AND kind != 'remark'"),
    "remarks": _LETTERS.format("kind = 'remark'"),
}
"""The queries for letters after a number: a row is the number of a letter, and the fields of its note."""
Choice = Literal["all", "match", "remarks"]
