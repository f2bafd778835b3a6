"""The output of agents. No agent waits for it: a stopped terminal or a pipe that nobody reads does not stop a league.

Theory of operation. Agents put lines into a queue, and one thread writes them, so that lines keep their order. If the
reader is slow and the queue is full, further lines are dropped and counted, and the count is printed later. Every line
passes here, so nothing that an agent prints shows a token or moves a cursor.

An agent whose output is not read at a terminal puts the time in front of its lines (`stamp_lines`). It leaves that to
systemd's journal, which stamps lines itself, and it stamps no line of `PLAIN`, which programs wait for.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from typing import Final, Literal

from league.terminal import display

Stream = Literal["stdout", "stderr"]

MOST_WAITING: Final = 1_000
"""The most lines that wait for a slow reader."""
PLAIN: Final = "ready: "
STAMP: Final = "%Y-%m-%dT%H:%M:%SZ"
LAST_LINES_S: Final = 1.0
"""How long the last lines may take when the process ends."""


class Console:
    """The queue of lines for stdout and stderr, and the thread that writes them."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[tuple[Stream, str] | Event] = SimpleQueue()
        self._dropped = 0
        self.is_stamping = False
        self._writer: Thread | None = None

    def put(self, stream: Stream, text: str) -> None:
        """Print text as soon as the stream takes it."""
        if self._lines.qsize() >= MOST_WAITING:
            self._dropped += 1
            return
        if self._writer is None:
            self._writer = Thread(target=self._write, name="console", daemon=True)
            self._writer.start()
        if self._dropped:
            self._lines.put((stream, f"({self._dropped} lines were not shown: nobody read them)"))
            self._dropped = 0
        text = display.harmless(text, keep="\n\t")
        if self.is_stamping and not text.startswith(PLAIN) and not getattr(sys, stream).isatty():
            text = f"{time.strftime(STAMP, time.gmtime())} {text}"
        self._lines.put((stream, text))

    def flush(self, seconds: float = LAST_LINES_S) -> None:
        """Wait until everything is written, but not longer than this."""
        if self._writer is not None:
            written = Event()
            self._lines.put(written)
            written.wait(seconds)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            if isinstance(line, Event):
                line.set()
                continue
            stream, text = line
            with suppress(OSError, ValueError):  # the reader has gone
                display.show(text, getattr(sys, stream))


_CONSOLE = Console()
flush = _CONSOLE.flush


def stamp_lines() -> None:
    """Put the time in front of lines that go to a file or a program, unless systemd's journal does it."""
    _CONSOLE.is_stamping = "JOURNAL_STREAM" not in os.environ


def say(text: str) -> None:
    """Print what happens, to stdout."""
    _CONSOLE.put("stdout", text)


def complain(text: str) -> None:
    """Print a problem or a notice, to stderr: it is not part of the command's output."""
    _CONSOLE.put("stderr", text)
