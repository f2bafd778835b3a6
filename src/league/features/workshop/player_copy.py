"""A copy of a player, for friendly matches while the player itself is in a league.

The copy is a process of its own: code that blocks or ends its process must not take the referee with it. It is started
as its author would start it, with a manager that is not there, so it is registered nowhere. What it prints is passed on
as complaints, except that it belongs to no league.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import IO, Final

from league.hosting.settings.options import HELD_VARIABLE, QUIET_VARIABLE
from league.terminal import CommandError, console

NOBODY: Final = "http://127.0.0.1:9/mcp"
READY: Final = "ready: "
ALONE: Final = ("cannot register yet: ", "this player is not registered")
"""What its player says about having no league."""
END_S: Final = 2.0


def is_code(player: str) -> bool:
    """True if this names a player's code, such as ./first.py:First; False if it is an address."""
    _, colon, name = player.rpartition(":")
    return player.endswith(".py") or bool(colon and name.isidentifier())


@contextmanager
def served_copy(code: str) -> Iterator[str]:
    """Serve a copy of this player, and yield its endpoint; CommandError if it does not start."""
    command = (sys.executable, "-P", "-m", "league", "player", "--strategy", code, "--manager", NOBODY, "--port", "0")
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, QUIET_VARIABLE: "1", HELD_VARIABLE: "1"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        endpoint = _endpoint(process.stdout)
        if not endpoint:
            raise CommandError(f"there is no copy of {code} to spar with")
        reader = Thread(target=_pass_on, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            yield endpoint
        finally:
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            # Code that blocks the loop does not see that its stdin is closed.
            process.kill()
            reader.join(END_S)


def _endpoint(output: IO[str]) -> str:
    """Return where the copy serves, once it does; empty if it has ended."""
    for line in output:
        if line.startswith(READY):
            return line.removeprefix(READY).strip()
        console.complain(line.rstrip())
    return ""


def _pass_on(output: IO[str]) -> None:
    for line in output:
        if not any(words in line for words in ALONE):
            console.complain(line.rstrip())
