"""A whole league as processes of this machine: started, watched, and stopped together.

Theory of operation. Each process is `python -m league manager|referee|player …` and serves until its stdin is closed.
Its stdin is a pipe that we hold: when we end in any way, even by SIGKILL, the process shuts down. A process writes one
line for each of its agents when that agent is ready. Then it should run until we stop it: if it ends before,
`LeagueProcesses.failed` is done, and the league cannot go on. No process may be left behind.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from league.hosting.settings.options import HELD_VARIABLE, QUIET_VARIABLE
from league.terminal import CommandError

READY = "ready: "
START_S = 60.0
"""A process that is not ready by then never will be. This is only a watchdog."""
STOP_S = 5.0
"""How long a process may take to shut down before it is killed."""
LINES_KEPT = 20
LONGEST_LINE = 1 << 20


@dataclass(slots=True, eq=False)
class ChildProcess:
    """One process: its name, where its agents listen, and the last lines it wrote to stderr."""

    name: str
    process: asyncio.subprocess.Process
    ready: asyncio.Future[list[str]]
    agents: int
    endpoints: list[str] = field(default_factory=list)
    last_errors: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))
    readers: list[asyncio.Task[None]] = field(default_factory=list)

    async def read_stdout(self, stdout: asyncio.StreamReader) -> None:
        """Read its output. The process is ready when all its agents are."""
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
        """Say how a process ended that should not have ended, with its last lines."""
        status = self.process.returncode
        manner = f"ended with status {status}"
        if status is not None and status < 0:
            manner = f"was ended by signal {-status}"
        report = f"the {self.name} (process {self.process.pid}) {manner}"
        if not self.last_errors:
            return report
        return "\n  ".join((f"{report}; its last lines:", *self.last_errors))


class LeagueProcesses:
    """All processes of a league. `failed` is done as soon as one of them ends that should not."""

    def __init__(self) -> None:
        self.children: list[ChildProcess] = []
        self._watching: dict[asyncio.Task[int], ChildProcess] = {}
        self.failed: asyncio.Future[ChildProcess] = asyncio.get_running_loop().create_future()
        self._is_over = False

    async def start(
        self,
        name: str,
        arguments: Sequence[str],
        agents: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> ChildProcess:
        """Start a process with this number of agents. `environment` is added to ours."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # a folder called `league` in the working directory is not our package
                *("-m", "league", *arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is for us: we stop the processes ourselves. The flag does the same on Windows.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                limit=LONGEST_LINE,
                env={**os.environ, QUIET_VARIABLE: "1", HELD_VARIABLE: "1", **(environment or {})},
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
        # From now on somebody notices if it ends.
        task = asyncio.create_task(process.wait())
        self._watching[task] = child
        task.add_done_callback(self._ended)
        return child

    def _ended(self, task: asyncio.Task[int]) -> None:
        if not self._is_over and not self.failed.done():
            self.failed.set_result(self._watching[task])

    async def ready(self, child: ChildProcess) -> list[str]:
        """Wait until the agents of this process listen, and return their addresses."""
        done, _ = await asyncio.wait(
            (child.ready, self.failed),
            timeout=START_S,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if self.failed in done:
            raise CommandError(await self.reason())
        if not done:
            raise CommandError(f"the {child.name} (process {child.process.pid}) was not ready within {START_S:g} s")
        return child.ready.result()

    async def reason(self) -> str:
        """Say why the league cannot go on: which process ended, with its last lines."""
        child = self.failed.result()
        # Its last lines may still be in the pipe.
        await asyncio.wait(child.readers, timeout=1.0)
        return child.exit_report

    async def stop(self, keep: ChildProcess | None = None) -> None:
        """Stop all processes, except one that is kept: ask them first, and kill the late ones."""
        self._is_over = True
        leaving = [child for child in self.children if child is not keep]
        for child in leaving:
            if child.process.stdin is not None:
                child.process.stdin.close()
        await self._wait_or_kill([task for task, child in self._watching.items() if child is not keep])
        for child in leaving:
            for reader in child.readers:
                reader.cancel()
            await asyncio.gather(*child.readers, return_exceptions=True)
        self.children = [child for child in self.children if child is keep]
        self._watching = {task: child for task, child in self._watching.items() if child is keep}

    async def _wait_or_kill(self, endings: Sequence[asyncio.Task[int]]) -> None:
        if not endings:
            return
        _, late = await asyncio.wait(endings, timeout=STOP_S)
        for task in late:
            self._watching[task].process.kill()
        if late:
            await asyncio.wait(late)
