"""One writer for each journal: a lock that the system releases when the process ends, however it ends."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

from league.storage.files.journal_files import OWNER_ONLY, code_of, journal_errors
from league.storage.notices import JournalInUseError

try:
    import fcntl  # Windows has none

    HAS_FLOCK = sys.platform == "linux"  # elsewhere it would keep SQLite out of the database too
except ImportError:
    HAS_FLOCK = False


class FileLock:
    """On Linux an flock on the database itself, so that it holds by whatever name the journal is called. Elsewhere
    SQLite locks a file beside it: it knows how on every system it runs on."""

    def __init__(self, path: Path) -> None:
        self._held = ExitStack()
        with journal_errors(path, "locked"):
            try:
                if HAS_FLOCK:
                    self._flock(path)
                else:
                    self._lock_beside(path)
            except BaseException:
                self.release()
                raise

    def _flock(self, path: Path) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        self._held.callback(os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise JournalInUseError(f"{path} is in use by {_holder(file)}") from error

    def _lock_beside(self, path: Path) -> None:
        beside = sqlite3.connect(
            f"{path}.lock",
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
        )
        self._held.callback(beside.close)
        try:
            beside.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY:
                raise
            raise JournalInUseError(f"{path} is in use by another process") from error

    def release(self) -> None:
        """Let another process write. Close the database first: SQLite would lose its own locks by this."""
        self._held.close()


def _holder(file: int) -> str:
    """Name the process that holds the lock, as far as the system tells."""
    inode = str(os.fstat(file).st_ino)
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            # 1: FLOCK ADVISORY WRITE 4711 08:01:1234 0 EOF
            words = line.split()
            if words[1:2] == ["FLOCK"] and words[5].rpartition(":")[2] == inode:
                return f"process {words[4]}"
    return "another process"
