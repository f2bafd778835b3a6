"""A cache of answers: an experiment that is repeated asks nobody again.

The key is the digest of everything that went in: whom we asked, the whole document that was sent, and which choice it
was for. The last one keeps two matches apart that happen to ask the same question: they are two observations, and a
model that draws lots would answer them independently.
"""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Final

import msgspec

from league.features.minds.asked.transports import Answer, Document
from league.terminal import USAGE, CommandError

_TABLE: Final = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"


class AnswerCache:
    """Answers in a file, which several players may share. CommandError if it cannot be used."""

    def __init__(self, file: str | Path) -> None:
        self._file = file
        self._base: sqlite3.Connection | None = None
        # A mistake is found now, and not at the first question.
        self._connected()
        self.close()

    def _connected(self) -> sqlite3.Connection:
        if self._base is None:
            try:
                # Each statement is a transaction of its own. Losing the newest in a power cut costs a request at most.
                self._base = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
                self._base.execute("PRAGMA synchronous=OFF")
                self._base.execute(_TABLE)
            except sqlite3.Error as error:
                self.close()
                raise CommandError(f"{self._file} cannot be used as a cache: {error}", USAGE) from error
        return self._base

    @staticmethod
    def key(address: str, document: Document, place: str) -> str:
        """Return the key of a request; `place` says which choice it is for."""
        whole = msgspec.json.encode([address, document, place], order="deterministic")
        return hashlib.sha256(whole).hexdigest()

    def get(self, key: str) -> Answer | None:
        row = self._connected().execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        return msgspec.json.decode(row[0], type=Answer)

    def put(self, key: str, answer: Answer) -> None:
        self._connected().execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, msgspec.json.encode(answer)))

    def close(self) -> None:
        """Let the file go until the next question."""
        if self._base is not None:
            self._base.close()
            self._base = None
