"""What agents print. Nobody waits for it: a terminal that is held, or a pipe that nobody reads, stops no league.

Every line passes here, so nothing that an agent prints shows a token or moves a cursor.
"""

from __future__ import annotations

import sys
import time
from queue import SimpleQueue
from threading import Event, Thread
from typing import Final, Literal

from league.storage.transcript import mask

MOST_WAITING: Final = 1_000
"""More lines than this do not wait for a slow reader."""
LAST_LINES_S: Final = 1.0
"""How long the last lines may take when the process ends."""


def printable(text: str) -> str:
    """Text that others had a part in, as a terminal may be given it: without tokens and control characters."""
    shown = mask(text.encode(errors="backslashreplace")).decode(errors="replace")
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in shown)


class Outlet:
    """Lines on their way to stdout or stderr, written by a thread of its own. Lines that find no room are counted."""

    def __init__(self, name: Literal["stdout", "stderr"]) -> None:
        self._name = name
        self._lines: SimpleQueue[str | Event] = SimpleQueue()
        self._dropped = 0
        self._writer: Thread | None = None

    def put(self, text: str) -> None:
        """Print this as soon as somebody reads it."""
        if self._lines.qsize() >= MOST_WAITING:
            self._dropped += 1
            return
        if self._writer is None:
            self._writer = Thread(target=self._write, name=f"{self._name} writer", daemon=True)
            self._writer.start()
        if self._dropped:
            text, self._dropped = f"({self._dropped} lines were not shown: nobody read them)\n{text}", 0
        self._lines.put(printable(text))

    def flush(self, until: float) -> None:
        """Wait until everything is written, but not beyond this moment (time.monotonic)."""
        if self._writer is not None:
            written = Event()
            self._lines.put(written)
            written.wait(max(0.0, until - time.monotonic()))

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            if isinstance(line, Event):
                line.set()
                continue
            try:
                print(line, file=getattr(sys, self._name), flush=True)
            except (OSError, ValueError):  # whoever read it has gone
                continue


_STDOUT, _STDERR = Outlet("stdout"), Outlet("stderr")


def say(text: str) -> None:
    """Tell whoever started us what happens."""
    _STDOUT.put(text)


def complain(text: str) -> None:
    """Tell whoever started us what is wrong, or what is not the output of the command."""
    _STDERR.put(text)


def flush() -> None:
    """The process is about to end: give the last lines a moment."""
    until = time.monotonic() + LAST_LINES_S
    _STDOUT.flush(until)
    _STDERR.flush(until)
