"""A whole league as processes of this machine: started, watched, and taken down together.

Each process is `python -m league manager|referee|player … --quiet --until-stdin-closes`, and its stdin is a pipe we
hold: when we end, however we end (SIGKILL included), the pipe closes and the process shuts down.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from league.terminal import CommandError

READY = "ready: "
START_S = 60.0
"""A process that does not serve by then never will; only a watchdog."""
STOP_S = 5.0
"""How long a process may take to shut down before it is killed."""
LINES_KEPT = 20
LONGEST_LINE = 1 << 20


@dataclass(slots=True, eq=False)
class ChildProcess:
    """One process: what it is called, where its agents listen, and the last lines it wrote to stderr."""

    name: str
    process: asyncio.subprocess.Process
    ready: asyncio.Future[list[str]]
    agents: int
    endpoints: list[str] = field(default_factory=list)
    last_errors: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))
    readers: list[asyncio.Task[None]] = field(default_factory=list)

    async def read_stdout(self, stdout: asyncio.StreamReader) -> None:
        """Read what it says; it is ready when all its agents are."""
        while line := await stdout.readline():
            text = line.decode(errors="replace").rstrip()
            if text.startswith(READY):
                self.endpoints.append(text.removeprefix(READY))
                if len(self.endpoints) == self.agents and not self.ready.done():
                    self.ready.set_result(self.endpoints)

    async def read_stderr(self, stderr: asyncio.StreamReader) -> None:
        while line := await stderr.readline():
            self.last_errors.append(line.decode(errors="replace").rstrip())

    @property
    def exit_report(self) -> str:
        """How a process ended that should not have, and what it last said."""
        status = self.process.returncode
        how = f"was ended by signal {-status}" if status is not None and status < 0 else f"ended with status {status}"
        last = "".join(f"\n  {line}" for line in self.last_errors)
        return f"the {self.name} (process {self.process.pid}) {how}" + (f"; it last said:{last}" if last else "")


class LeagueProcesses:
    """All processes of a league. `failed` is done as soon as one of them ends that should not."""

    def __init__(self) -> None:
        self.children: list[ChildProcess] = []
        self._watching: dict[asyncio.Task[int], ChildProcess] = {}
        self.failed: asyncio.Future[ChildProcess] = asyncio.get_running_loop().create_future()
        self._is_over = False

    async def start(self, name: str, arguments: Sequence[str], agents: int = 1) -> ChildProcess:
        """Start a process that says so many times that it is ready."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "league", *arguments, "--quiet", "--until-stdin-closes"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for us; we tell them
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
                limit=LONGEST_LINE,
            )
        except OSError as error:
            raise CommandError(f"the {name} cannot be started: {error.strerror or error}") from error
        child = ChildProcess(name, process, asyncio.get_running_loop().create_future(), agents)
        self.children.append(child)
        assert process.stdout is not None
        assert process.stderr is not None
        child.readers = [
            asyncio.create_task(child.read_stdout(process.stdout)),
            asyncio.create_task(child.read_stderr(process.stderr)),
        ]
        task = asyncio.create_task(process.wait())
        self._watching[task] = child
        task.add_done_callback(self._ended)
        return child

    def _ended(self, task: asyncio.Task[int]) -> None:
        if not self._is_over and not self.failed.done():
            self.failed.set_result(self._watching[task])

    async def ready(self, child: ChildProcess) -> list[str]:
        """Where the agents of this process listen, once they do."""
        done, _ = await asyncio.wait((child.ready, self.failed), timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        if self.failed in done:
            raise CommandError(await self.reason())
        if not done:
            raise CommandError(f"the {child.name} (process {child.process.pid}) was not ready within {START_S:g} s")
        return child.ready.result()

    async def reason(self) -> str:
        """Why the league cannot go on: the process that ended, with all it had to say."""
        child = self.failed.result()
        await asyncio.wait(child.readers, timeout=1.0)
        return child.exit_report

    async def stop(self, keep: ChildProcess | None = None) -> None:
        """Take everything down (but one, if it is to stay): ask, and after a while insist."""
        self._is_over = True
        leaving = [child for child in self.children if child is not keep]
        for child in leaving:
            if child.process.stdin is not None:
                child.process.stdin.close()
        waits = [task for task, child in self._watching.items() if child is not keep]
        _, late = await asyncio.wait(waits, timeout=STOP_S) if waits else ((), ())
        for task in late:
            self._watching[task].process.kill()
        if late:
            await asyncio.wait(late)
        for child in leaving:
            for reader in child.readers:
                reader.cancel()
            await asyncio.gather(*child.readers, return_exceptions=True)
        self.children = [child for child in self.children if child is keep]
        self._watching = {task: child for task, child in self._watching.items() if child is keep}
