"""What whole processes cost: a league with one process per agent, a demo of 99 players, commands that read its journal,
a restart of its manager, and the start and size of many players in one process.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import Row
from benchmarks.leagues import Size, play
from benchmarks.page import SEPARATE
from benchmarks.startup import LEAGUE, NOTHING, cpu_seconds
from league.transport.http import loop_factory

SHORT = Size(64, 3, 4)
LONG = Size(64, 63, 4)
"""Two leagues of the same processes; the long one is the whole schedule of 64 players."""
PLAYERS = 99
REFEREES = 10
COMMANDS = {
    "league standings": ("standings", "--journal"),
    "league explain R1M1": ("explain", "R1M1", "--journal"),
    "league verify": ("verify",),
}
ROUNDS = 3
MANY = (7, 99)
NO_MANAGER = "http://127.0.0.1:9/mcp"
"""No manager listens here; players serve all the same."""
WATCHDOG_S = 600.0


def run() -> list[Row]:
    # Below the working directory, since the system's folder for temporary files is often in memory.
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".processes-") as name:
        folder = Path(name)
        separate = _separate_processes(folder)
        demo = _demo(folder / "demo")
        journal = folder / "demo" / "journal.db"
        return [separate, *demo, *_reading(journal), _restarted(journal), *_starting()]


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# --- one process per agent --------------------------------------------------------------------------------------------


def _separate_processes(folder: Path) -> Row:
    """Compare a match between separate processes with a match of the same league in one process.

    The short and the long league start and stop the same processes, so the difference is the cost of the matches.
    """
    short = _league_cpu(SHORT, folder / "short")
    long = _league_cpu(LONG, folder / "long")
    ours = (long - short) / (LONG.matches - SHORT.matches)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        together = median(runner.run(play(SHORT)).cpu for _ in range(ROUNDS))
    agents = f"a manager, {LONG.referees} referees and {LONG.players} players"
    detail = f"{agents}, with the same journals, transcripts and logs as in one process"
    return Row(SEPARATE, ours * 1e6, together * 1e6, "the same league in one process", "us", None, detail)


def _league_cpu(size: Size, folder: Path) -> float:
    """Play a league of separate processes; return the CPU seconds of all of them from start to end."""
    # Children count when they have ended, so this must be read after the last one was waited for.
    before = _children_cpu()
    folder.mkdir()
    with ExitStack() as stack:
        members: list[subprocess.Popen[str]] = []
        sizes = ("--players", str(size.players), "--referees", str(size.referees), "--rounds", str(size.rounds))
        manager = _start(stack, "manager", *sizes, "--shared", "", *_files(folder, "manager"))
        assert manager.stdout is not None
        endpoint = manager.stdout.readline().strip().removeprefix("ready: ")
        # Together the referees have room for a whole round at once.
        at_once = str(max(size.at_once // size.referees, 2))
        for number in range(size.referees):
            files = _files(folder, f"referee{number}")
            limit = ("--max-concurrent-matches", at_once, "--state", str(folder))
            members.append(_start(stack, "referee", "--manager", endpoint, *limit, *files))
        members += [_start(stack, "player", "--manager", endpoint) for _ in range(size.players)]
        # A member ends by itself when it hears that the league is over.
        for member in members:
            if member.wait(WATCHDOG_S) != 0:
                raise RuntimeError(f"a process ended with status {member.returncode}: {member.args!r}")
        manager.terminate()
        manager.wait(WATCHDOG_S)
    return _children_cpu() - before


def _files(folder: Path, name: str) -> Sequence[str]:
    return ("--journal", str(folder / f"{name}.db"), "--log", str(folder / f"{name}.log"))


def _start(stack: ExitStack, role: str, *arguments: str) -> subprocess.Popen[str]:
    """Start an agent, which is killed if the benchmark fails."""
    command = (sys.executable, *LEAGUE, role, "--port", "0", *arguments)
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "LEAGUE_QUIET": "1"},
    )
    stack.enter_context(process)
    stack.callback(process.kill)  # before the stack waits for it
    return process


# --- the demo and its journal -----------------------------------------------------------------------------------------


def _demo(folder: Path) -> list[Row]:
    """Measure a demo from its start to its end: on the clock, and the CPU time of all its processes."""
    cpu_before = _children_cpu()
    began = time.perf_counter()
    size = ("--players", str(PLAYERS), "--referees", str(REFEREES))
    command = (sys.executable, *LEAGUE, "demo", *size, "--journal", str(folder), "--port", "0", "--json")
    completed = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    clock = time.perf_counter() - began
    cpu = _children_cpu() - cpu_before
    matches: int = json.loads(completed.stdout)["matches"]
    title = f"league demo --players {PLAYERS} --referees {REFEREES}, on the clock"
    return [
        Row(title, clock, cpu, "its CPU time", "s", None, f"{matches:,} matches"),
        Row("a match of this demo", cpu / matches * 1e3, clock / matches * 1e3, "on the clock", "ms"),
    ]


def _reading(journal: Path) -> list[Row]:
    nothing = median(cpu_seconds(NOTHING) for _ in range(5)) * 1e3
    rows = []
    for name, arguments in COMMANDS.items():
        seconds = median(cpu_seconds((*LEAGUE, *arguments, str(journal))) for _ in range(ROUNDS))
        rows.append(Row(name, seconds * 1e3, nothing, "python -c pass", "ms"))
    return rows


def _restarted(journal: Path) -> Row:
    """Measure the restart of a manager with all its results, until it is ready."""
    command = (*LEAGUE, "manager", "--journal", str(journal), "--port", "0")
    seconds = median(_until_ready(command, 1).seconds for _ in range(ROUNDS))
    return Row(f"restart of a manager with {PLAYERS} players, on the clock", seconds, 1.0, "a second", "s", 1.0)


# --- many players in one process --------------------------------------------------------------------------------------


class _Start(NamedTuple):
    seconds: float
    megabytes: float


def _starting() -> list[Row]:
    """Compare many players in one process with a single one: time until they are ready, and memory then."""
    single = _median_start(1)
    starts = {count: _median_start(count) for count in MANY}
    clock_rows = [
        Row(f"{count} players ready, on the clock", start.seconds * 1e3, single.seconds * 1e3, "one player", "ms")
        for count, start in starts.items()
    ]
    memory_rows = [
        Row(f"memory of {count} players", start.megabytes, single.megabytes, "one player", "MB")
        for count, start in starts.items()
    ]
    return [*clock_rows, *memory_rows]


def _median_start(players: int) -> _Start:
    command = (*LEAGUE, "player", "--manager", NO_MANAGER, "--port", "0", "--count", str(players))
    starts = [_until_ready(command, players) for _ in range(ROUNDS)]
    return _Start(median(start.seconds for start in starts), median(start.megabytes for start in starts))


def _until_ready(arguments: tuple[str, ...], agents: int) -> _Start:
    """Start a process, and stop it as soon as all its agents are ready."""
    began = time.perf_counter()
    command = (sys.executable, *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        ready = 0
        for line in process.stdout:
            ready += line.startswith("ready:")
            if ready == agents:
                break
        seconds = time.perf_counter() - began
        megabytes = _resident_megabytes(process.pid)
        process.terminate()
    if ready < agents or megabytes is None:
        raise RuntimeError(f"{ready} of {agents} agents were ready: {' '.join(arguments)}")
    return _Start(seconds, megabytes)


def _resident_megabytes(pid: int) -> float | None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    resident = re.search(r"VmRSS:\s+([0-9]+)", status.read_text())
    if resident is None:
        return None
    return int(resident[1]) / 1024
