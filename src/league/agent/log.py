"""The log of an agent: one JSON object a line, for programs that collect logs.

Each line has a time (UTC), a level and an event. What else it has depends on the event: ids (`match_id`, `peer`, …) and
the code of an error.

    letter          somebody sent us a message, or we sent one; `outcome` says how it ended
    call_failed     nobody answered a call, and why
    error_received  somebody told us of an error
    lines_dropped   lines could not be written before this one
    CapitalLetters  an event of our journal, by its name there

The log may never stop the agent: lines that cannot be written are dropped and counted, and the operator is told once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from league.agent.error_notes import ErrorNote
from league.agent.meter import ANSWERED
from league.events import Event

FLUSH_LINES = 500
FILE_BYTES = 16 << 20
OLDER_FILES = 4
"""A log that has grown to FILE_BYTES becomes LOG.1, LOG.1 becomes LOG.2, and so on up to this number."""
IDS: Final = ("match_id", "round_id", "agent_id", "player_id", "referee_id", "attempt", "code")
"""The fields of an event that its line has too."""
_ENCODER = msgspec.json.Encoder()

Level = Literal["info", "warning", "error"]
_GOOD_OUTCOMES: Final = frozenset({"ok", ANSWERED})


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    time: datetime
    level: Level
    event: str


class _LetterLine(_Line, frozen=True):
    direction: str
    message_type: str
    peer: str
    outcome: str
    match_id: str | None = None


Line = _Line | Mapping[str, object]


class Log:
    """Buffers lines, and writes them encoded; without a path it keeps none. `complain` is called once when it cannot be
    written, `on_dropped` with the number of lines that were dropped."""

    def __init__(
        self,
        path: Path | None,
        complain: Callable[[str], None] = lambda _: None,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self.on_dropped: Callable[[int], None] = lambda _: None
        self.is_kept = path is not None
        self._path = path
        self._complain = complain
        self._file_bytes = file_bytes
        self._file: _LogFile | None = None
        self._lines: list[Line] = []
        self._dropped = 0
        self._has_complained = False
        if path is not None:
            self._write([])

    def letter(
        self,
        at: float,
        direction: str,
        peer: str,
        message_type: str,
        outcome: str,
        match_id: str | None = None,
    ) -> None:
        if not self.is_kept:
            return
        level: Level = "info" if outcome in _GOOD_OUTCOMES else "warning"
        self._add(
            _LetterLine(
                _time(at),
                level,
                "letter",
                direction=direction,
                message_type=message_type,
                peer=peer,
                outcome=outcome,
                match_id=match_id or None,
            )
        )

    def failed_call(
        self,
        at: float,
        peer: str,
        message_type: str,
        endpoint: str,
        detail: str,
        match_id: str | None = None,
    ) -> None:
        """Why nobody answered, in full: for the operator, never for the peer (spec section 7.5)."""
        if not self.is_kept:
            return
        line: dict[str, object] = {
            "time": _time(at),
            "level": "warning",
            "event": "call_failed",
            "message_type": message_type,
            "peer": peer,
            "endpoint": endpoint,
            "detail": detail,
        }
        if match_id:
            line["match_id"] = match_id
        self._add(line)

    def error(self, at: float, error: ErrorNote) -> None:
        if not self.is_kept:
            return
        line: dict[str, object] = {
            "time": _time(at),
            "level": "error",
            "event": "error_received",
            "code": error.code,
            "text": error.text,
            "message_type": error.message_type,
            "peer": error.peer,
        }
        if error.match_id:
            line["match_id"] = error.match_id
        self._add(line)

    def events(self, events: Iterable[Event]) -> None:
        if not self.is_kept:
            return
        for event in events:
            line: dict[str, object] = {"time": _time(event.at), "level": "info", "event": type(event).__name__}
            for name in IDS:
                value = getattr(event, name, None)
                if value:
                    line[name] = value
            self._add(line)

    def _add(self, line: Line) -> None:
        self._lines.append(line)
        if len(self._lines) >= FLUSH_LINES:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered, or drop it."""
        if self._lines:
            lines = self._lines
            self._lines = []
            self._write(lines)

    def _write(self, lines: list[Line]) -> None:
        assert self._path is not None, "there is a log"
        try:
            if self._file is None or not self._file.is_at(self._path):
                self._close()
                self._file = _LogFile(self._path)
            if self._dropped:
                dropped = {
                    "time": datetime.now(UTC),
                    "level": "error",
                    "event": "lines_dropped",
                    "lines": self._dropped,
                }
                self._file.append(_ENCODER.encode_lines([dropped]))
                self._dropped = 0
            self._file.append(_ENCODER.encode_lines(lines))
            if self._file.size >= self._file_bytes:
                self._close()
                _rotate(self._path)
        except OSError as error:
            self._drop(len(lines), error)

    def _drop(self, lines: int, error: OSError) -> None:
        self._dropped += lines
        self.on_dropped(lines)
        if not self._has_complained:
            self._has_complained = True
            why = error.strerror or error
            self._complain(f"{self._path}: the log cannot be written: {why}; its lines are dropped until it can")

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        self.flush()
        self._close()


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


class _LogFile:
    """The open file. Lines are appended whole or not at all: half a line would spoil the next."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        opened = os.fstat(self._descriptor)
        self._identity = (opened.st_dev, opened.st_ino)
        self._is_regular = stat.S_ISREG(opened.st_mode)
        self._length = opened.st_size

    @property
    def size(self) -> int:
        """Its length; 0 for a device, which never grows too long."""
        return self._length if self._is_regular else 0

    def is_at(self, path: Path) -> bool:
        """False if the file was moved or removed, alone or with its folder."""
        try:
            status = path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def append(self, raw: bytes) -> None:
        rest = memoryview(raw)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            if self._is_regular:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self._length)
            raise
        self._length += len(raw)

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)


def _rotate(path: Path) -> None:
    for number in range(OLDER_FILES, 0, -1):
        newer = path
        if number > 1:
            newer = path.with_name(f"{path.name}.{number - 1}")
        with suppress(FileNotFoundError):
            newer.replace(path.with_name(f"{path.name}.{number}"))
