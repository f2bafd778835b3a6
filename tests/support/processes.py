"""`league` commands as real processes: started at free ports, waited for, stopped or killed, and never left behind."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from league.events import AgentRegistered, Event, OrderCarriedOut
from league.hosting.settings.options import options_of
from league.hosting.settings.settings_file import ROLES
from league.storage.reading import open_for_reading
from tests.support.fork_server import Forked

WATCHDOG_S = 120.0
"""No test measures time with it."""
COMMAND = (sys.executable, "-m", "league.cli.main")
READY = "ready: "
STAMP = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z ")
"""The time in front of the lines of an agent whose output is not a terminal."""
IN_JOURNALS = ("1", "2", "3", "4", "6", "8", "9", "10", "12")
"""The promises that the journals of a manager and its referees are evidence enough for."""
SIGNS_OF_BUGS = ("incident ", "a bug in league", "never retrieved", "Exception in ", "was never awaited", "Warning")

SLOW_PLAYER = """
import asyncio
from league import Player

class Slow(Player):
    async def choose_parity(self, call):
        await asyncio.sleep({seconds})
        return "even"
"""

E = TypeVar("E", bound=Event)
Found = TypeVar("Found")
Option = str | int | float | bool | Path | tuple[str, ...] | tuple[float, ...] | None


def start(
    command: Sequence[str], arguments: Sequence[str], folder: Path, stdout: IO[bytes], stderr: IO[bytes]
) -> Forked | subprocess.Popen[bytes]:
    """A process that reads nothing; in its own session, so that a Ctrl-C at the terminal of the tests is not for it."""
    if command == COMMAND:
        return Forked(arguments, folder, stdout.fileno(), stderr.fileno())
    return subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def run(command: Sequence[str], arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        status = start(command, arguments, folder, stdout, stderr).wait(WATCHDOG_S)
        said = [(file.seek(0), file.read().decode()) for file in (stdout, stderr)]
    return subprocess.CompletedProcess([*command, *arguments], status, said[0][1], said[1][1])


class Process:
    """A long-running command."""

    def __init__(self, name: str, arguments: list[str], folder: Path, command: Sequence[str] = COMMAND) -> None:
        self.name = name
        self.lines: list[str] = []
        """What it said so far, on stdout and stderr."""
        self._changed = threading.Condition()
        pipes = os.pipe(), os.pipe()
        with os.fdopen(pipes[0][1], "wb") as stdout, os.fdopen(pipes[1][1], "wb") as stderr:
            self._popen = start(command, arguments, folder, stdout, stderr)
        self._readers = [
            threading.Thread(target=self._read, args=(os.fdopen(pipe, encoding="utf-8"),), daemon=True)
            for pipe, _ in pipes
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            with self._changed:
                self.lines.append(STAMP.sub("", line.rstrip("\n")))
                self._changed.notify_all()
        stream.close()
        with self._changed:
            self._changed.notify_all()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def peak_memory_kb(self) -> int:
        """The most memory it ever had, where the system tells."""
        status = Path(f"/proc/{self.pid}/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    def said(self, start: str, count: int = 1) -> list[str]:
        """Wait until so many lines begin so; what follows in them."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._found(start)) >= count or not self._is_talking, WATCHDOG_S)
            found = self._found(start)
        assert len(found) >= count, f"{self.name} said only:\n{self.output}"
        return found

    def _found(self, start: str) -> list[str]:
        return [line.removeprefix(start) for line in self.lines if line.startswith(start)]

    @property
    def _is_talking(self) -> bool:
        return any(one.is_alive() for one in self._readers) and self.is_running

    def until(self, look: Callable[[], Found]) -> Found:
        """What is found at last. It is looked for whenever the page of this manager changes, and not more often: a test
        that looks again at once takes a processor away from the league that it waits for."""
        deadline = time.monotonic() + WATCHDOG_S
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=WATCHDOG_S)) as connection:
            connection.request("GET", "/api/events")
            feed = connection.getresponse()
            while not (found := look()):
                assert time.monotonic() < deadline, self.output
                while (line := feed.readline()) != b"\n":
                    assert line, self.output
        return found

    @property
    def endpoint(self) -> str:
        """Where it serves; of several members in one process, the first."""
        return self.said(READY)[0]

    @property
    def port(self) -> int:
        return int(self.endpoint.rpartition(":")[2].partition("/")[0])

    def signal(self, one: signal.Signals) -> None:
        """Send it a signal; do not wait."""
        self._popen.send_signal(one)

    def terminate(self) -> None:
        """Ask it to end; do not wait."""
        self._popen.send_signal(signal.SIGTERM)

    def stop(self, within_s: float = WATCHDOG_S) -> int:
        """Ask it to end; its exit status."""
        self.terminate()
        return self.wait(within_s)

    def kill(self) -> None:
        """End it on the spot, as a power cut would."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self, within_s: float = WATCHDOG_S) -> int:
        """Wait until it has ended by itself and everything it said was read; its exit status."""
        status = self._popen.wait(within_s)
        for reader in self._readers:
            reader.join(WATCHDOG_S)
        return status


class Processes:
    """All processes of a test, in its folder. Use it with `with`: at the end whatever still runs is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Process] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self.started:
            if one.is_running:
                one.kill()
            else:
                one.wait()
            # pytest shows it if the test failed.
            print(f"--- {one.name}\n{one.output}")

    @property
    def bugs(self) -> list[str]:
        """What processes said that only a bug of ours makes them say."""
        return [line for one in self.started for line in one.lines if any(sign in line for sign in SIGNS_OF_BUGS)]

    def begin(self, command: str, label: str = "", inside: Sequence[str] = (), /, **options: Option) -> Process:
        """Start a command: `move_seconds=3` is `--move-seconds 3`, True a flag alone, a tuple the flag again and
        again; keys that only the file has are written to LABEL.toml. `inside` begins a command on another machine. Do
        not wait."""
        label = label or command
        arguments = [command, *_arguments({"port": 0, **self._in_file(command, label, options)})]
        process = Process(label, arguments, self.folder, (*inside, *COMMAND))
        self.started.append(process)
        return process

    def _in_file(self, command: str, label: str, options: Mapping[str, Option]) -> Mapping[str, Option]:
        """The options, with a file in place of those that only a file has."""
        keys = {row.name for role in ROLES if role.role == command for row in options_of(role) if row.only_in_file}
        lines = [f"{name} = {_toml(options[name])}\n" for name in options if name in keys]
        if not lines:
            return options
        file = self.folder / f"{label}.toml"
        file.write_text("".join(lines), encoding="utf-8")
        return {name: value for name, value in options.items() if name not in keys} | {"config": file}

    def run_on(self, *arguments: str) -> Process:
        """Start a command that serves nothing and has processes of its own, as a shell would. Do not wait."""
        process = Process(arguments[0], list(arguments), self.folder, (sys.executable, "-m", "league"))
        self.started.append(process)
        return process

    def script(self, file: Path, manager: Process | str, **options: Option) -> Process:
        """Start a player that is a script of its own, and wait until it serves."""
        given = self._in_file("player", file.stem, options)
        arguments = _arguments({"manager": _endpoint(manager), "port": 0, **given})
        process = Process(file.stem, arguments, self.folder, (sys.executable, str(file)))
        self.started.append(process)
        process.said(READY)
        return process

    def start(self, command: str, label: str = "", /, **options: Option) -> Process:
        """Start a command, and wait until it serves with all its members."""
        process = self.begin(command, label, **options)
        count = options.get("count", 1)
        assert isinstance(count, int)
        process.said(READY, count)
        return process

    def manager(self, **options: Option) -> Process:
        """A manager that keeps its journal in manager.db."""
        return self.start("manager", "manager", **{"journal": self.journal("manager"), "referees": 1, **options})

    def referee(self, manager: Process | str, name: str = "referee", **options: Option) -> Process:
        """A referee that keeps its journal in NAME.db."""
        return self.start(
            "referee", name, **{"manager": _endpoint(manager), "journal": self.journal(name), "name": name, **options}
        )

    def players(self, manager: Process | str, name: str = "player", **options: Option) -> Process:
        """Good players, `count` of them in one process; its end with status 0 is the end of the league."""
        return self.start("player", name, **{"manager": _endpoint(manager), "name": name, **options})

    def slow_strategy(self, seconds: float) -> str:
        """A strategy for `--strategy` that takes this long to choose. It holds up a league that would be over before a
        test can do something to it."""
        (self.folder / "slow.py").write_text(SLOW_PLAYER.format(seconds=seconds), encoding="utf-8")
        return "slow:Slow"

    def journal(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """A command that ends by itself."""
        return run(COMMAND, [*map(str, arguments)], self.folder)

    def events(self, name: str, kind: type[E]) -> list[E]:
        """The events of one kind in a journal, also while it is written."""
        with open_for_reading(self.journal(name)) as reader:
            return [event for event in reader.events() if isinstance(event, kind)]

    def orders(self, order: str) -> list[OrderCarriedOut]:
        """The orders of this name that the manager carried out."""
        return [event for event in self.events("manager", OrderCarriedOut) if event.order == order]

    def members(self) -> dict[str, str]:
        """The ids of all who registered, by their names."""
        return {one.display_name: one.agent_id for one in self.events("manager", AgentRegistered)}

    def verified(self) -> dict[str, Any]:
        """What `league verify` finds in the journals of this folder (Any: as JSON has it)."""
        done = self.run("verify", "--json", self.folder)
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if found["ok"] else 1), done
        return found


def assert_kept(processes: Processes) -> None:
    """`league verify` finds no broken promise, and could look at those that journals show."""
    found = processes.verified()
    assert found["first_broken"] is None, found
    assert {found["promises"][promise] for promise in IN_JOURNALS} == {"kept"}, found


def _endpoint(manager: Process | str) -> str:
    return manager if isinstance(manager, str) else manager.endpoint


def _toml(value: Option) -> str:
    return json.dumps(value if isinstance(value, bool | int | float | tuple) else str(value))


def _arguments(options: Mapping[str, Option]) -> list[str]:
    arguments: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, tuple):
            arguments += [word for one in value for word in (flag, str(one))]
        elif value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            arguments += [flag, str(value)]
    return arguments


# --- the processes of a process ---------------------------------------------------------------------------------------


def children_of(pid: int) -> dict[int, str]:
    """The processes it has started, with their command lines."""
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return {int(row[0]): row[2] for row in rows if len(row) == 3 and int(row[1]) == pid}


def wait_until_gone(pids: list[int]) -> None:
    """Wait until none of these processes runs any more."""
    until = time.monotonic() + WATCHDOG_S
    for pid in pids:
        _wait(pid, until)


def _wait(pid: int, until: float) -> None:
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            ended, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
        finally:
            os.close(handle)
        assert ended, f"process {pid} is still there"
        return
    while _is_there(pid):  # where the system has no event for it
        assert time.monotonic() < until, f"process {pid} is still there"
        threading.Event().wait(0.05)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
