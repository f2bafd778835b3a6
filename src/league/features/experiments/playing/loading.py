"""Code of strategies is loaded in a process of its own first: a file that cannot be loaded must not end a tournament.

Theory of operation. Each file or module that a tournament names, and that this process has not imported yet, is loaded
by a new interpreter in a process group of its own. There it is also asked whether it plays the game. The group gets
some time, and then is killed as a whole, with whatever the code has started. A strategy that cannot be loaded takes no
part.

This protects a tournament from mistakes, not from malice: a strategy that loads is played with the rights of whoever
runs the tournament. `league grade` is for code that nobody vouches for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final, NamedTuple

from league.features.experiments.contenders import Contender, is_agent
from league.player import strategies
from league.protocol.safe_text import printable
from league.terminal import CommandError
from league.workers import end_group

LOAD_SECONDS: Final = 60.0
"""Packages with large libraries take their time on a busy machine."""
MOST_OUTPUT: Final = 100_000


class NotLoaded(NamedTuple):
    """A strategy that cannot take part."""

    name: str
    sentence: str
    status: int = 1


def is_unloaded(contender: Contender) -> bool:
    """True if this names code that this process has not imported."""
    if not isinstance(contender, str) or is_agent(contender) or strategies.find(contender) is not None:
        return False
    module = contender.rpartition(":")[0]
    return bool(module) and module not in sys.modules


def unloadable(contenders: Sequence[Contender], game: str) -> list[NotLoaded]:
    """Load what was not loaded yet, elsewhere, and return what cannot be."""
    names = dict.fromkeys(
        contender for contender in contenders if isinstance(contender, str) and is_unloaded(contender)
    )
    if not names:
        return []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda name: _load_elsewhere(name, game), names)
        return [result for result in results if result is not None]


def _load_elsewhere(name: str, game: str) -> NotLoaded | None:
    with TemporaryDirectory(prefix="league-loading-") as folder:
        verdict = Path(folder, "verdict")
        output = Path(folder, "output")
        command = [sys.executable, "-m", __name__, name, game, str(verdict), json.dumps(sys.path)]
        with output.open("wb") as file:
            status = _status(command, file)
        text = output.read_bytes()[-MOST_OUTPUT:].decode(errors="replace")
        # In a notebook, what a process prints itself is seen by nobody.
        print(printable(text, keep="\n\t"), end="", file=sys.stderr)
        if verdict.exists():
            said = json.loads(verdict.read_text(encoding="utf-8"))
            return NotLoaded(name, *said) if said else None
    if status is None:
        return NotLoaded(name, f"cannot load {name}: it took more than {LOAD_SECONDS:g} s")
    return NotLoaded(name, f"cannot load {name}: it ended its process with status {status}")


def _status(command: list[str], output: BinaryIO) -> int | None:
    """Run a command in a group of its own, and return its exit status; None if it took too long."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    ) as process:
        try:
            return process.wait(LOAD_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_group(process.pid)
            process.kill()


def main(name: str, game: str, verdict: str, path: str) -> None:
    """Load a strategy in this process, and write what came of it to a file."""
    from league.hosting.member import players

    sys.path[:] = json.loads(path)
    said: list[object] = []
    try:
        entrant = players.load(name)
        players.check_code(entrant)
        players.refuse_unplayable(entrant, game)
    except CommandError as error:
        said = [str(error), error.status]
    Path(verdict).write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
