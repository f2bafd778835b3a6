"""`league` commands as processes that start at once: a process that has imported all of league forks whenever it is
asked to. What it forks has its own pid, session, folder, environment and streams, and ends as any process does.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT_OUT = ("league.__main__", "league.features.workshop.starters")
"""Programs of their own."""


class Forked:
    """A `league` command that writes to these descriptors; as far as tests need it, a subprocess.Popen."""

    def __init__(self, arguments: Sequence[str], folder: Path, stdout: int, stderr: int) -> None:
        wanted, request = os.pipe()
        self._status, status = os.pipe()
        socket.send_fds(_server(), [b"."], [wanted, stdout, stderr, status])
        for one in (wanted, status):
            os.close(one)
        with os.fdopen(request, "w", encoding="utf-8") as file:
            json.dump([list(arguments), str(folder), dict(os.environ)], file)
        self.pid = self._next()
        self._ended: int | None = None

    def _next(self) -> int:
        """The next number the server says: first the pid, then the status."""
        said = os.read(self._status, 8)
        assert said, "the fork server has gone"
        return array.array("q", said)[0]

    def poll(self, within_s: float = 0.0) -> int | None:
        """Its status, if it has ended; minus the number of the signal that ended it."""
        if self._ended is None and select.select([self._status], [], [], within_s)[0]:
            self._ended = self._next()
            os.close(self._status)
        return self._ended

    def wait(self, timeout: float) -> int:
        status = self.poll(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return status

    def send_signal(self, one: signal.Signals) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it ended in this moment
                os.kill(self.pid, one)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def _server() -> socket.socket:
    """The socket to ask the server of this process of tests, which ends when it is closed."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fork_server", str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    atexit.register(server.wait)
    atexit.register(ours.close)
    return ours


# --- the server -------------------------------------------------------------------------------------------------------


def _serve(asks: socket.socket) -> list[str]:
    """Fork for everyone who asks. It returns only in what was forked, with the arguments of its command."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([asks.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _reap(running)
        if asks.fileno() not in ready:
            continue
        said, descriptors, _, _ = socket.recv_fds(asks, 1, 4)
        if not said:
            sys.exit()
        wanted, *streams, status = descriptors
        with os.fdopen(wanted, encoding="utf-8") as file:
            arguments, folder, environment = json.load(file)
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _become(streams, folder, environment)
            asks.close()
            for one in (woken, wake, status, *streams, *running.values()):
                os.close(one)
            return [str(one) for one in arguments]
        for one in streams:
            os.close(one)
        running[pid] = status
        _say(status, pid)


def _reap(running: dict[int, int]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        said = running.pop(pid)
        _say(said, os.waitstatus_to_exitcode(status))
        os.close(said)


def _say(descriptor: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # whoever asked for it has gone
        os.write(descriptor, array.array("q", [number]).tobytes())


def _become(streams: Sequence[int], folder: str, environment: dict[str, str]) -> None:
    os.setsid()
    for number, one in enumerate(streams, start=1):
        os.dup2(one, number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    os.chdir(folder)
    sys.path[0] = folder
    os.environ.clear()
    os.environ.update(environment)


def _import_all() -> None:

    for one in pkgutil.walk_packages([str(ROOT / "src")]):
        if not one.name.startswith(LEFT_OUT):
            import_module(one.name)
    gc.freeze()


if __name__ == "__main__":
    _import_all()
    _arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.argv[1:] = _arguments
    # New interpreters import the main module of their parent, and find nothing of ours in its folder.
    sys.modules["__main__"].__spec__ = find_spec("league.__main__")
    sys.exit(import_module("league.cli.main").main())
