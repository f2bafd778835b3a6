"""A person at a terminal, as a program: `python typist.py WORD COMMAND ARGUMENT...` runs a command at a terminal of its
own, shows what it says, and types the word whenever it is asked for a choice."""

from __future__ import annotations

import os
import pty
import signal
import sys

ASKED = b"your choice ("


def main(word: str, *command: str) -> int:
    seen = b""

    def read(terminal: int) -> bytes:
        nonlocal seen
        said = os.read(terminal, 4096)
        *lines, seen = (seen + said).split(b"\n")
        for line in lines:
            if line.startswith(ASKED):
                os.write(terminal, f"{word}\n".encode())
        return said.replace(b"\r", b"")

    # The command ends with its terminal, also if the tests were started by a shell that ignores hang-ups.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return os.waitstatus_to_exitcode(pty.spawn(command, read))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
