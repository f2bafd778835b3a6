"""What whole processes cost: a demo of 99 players, commands that read its journal, its manager started again, and how
soon many agents in one process are ready, and how large.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks import Row
from benchmarks.startup import LEAGUE, NOTHING, cpu_seconds

NAME = "processes"
PLAYERS, REFEREES = 99, 10
COMMANDS = {
    "league standings": ("standings", "--journal"),
    "league explain R1M1": ("explain", "R1M1", "--journal"),
    "league verify": ("verify",),
}
ROUNDS = 3
AGENTS = (7, 99)
NOWHERE = "http://127.0.0.1:9/mcp"
"""Where no manager is: the agents serve all the same."""


def run() -> list[Row]:
    # Below the working directory, since the system's folder for such files is often no disk at all.
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".demo-") as folder:
        demo = _demo(Path(folder))
        journal = Path(folder) / "journal.db"
        return [*demo, *_reading(journal), _restarted(journal), *_agents()]


def _demo(folder: Path) -> list[Row]:
    """Its seconds on the clock, and the CPU time of all its processes."""
    size = ("--players", str(PLAYERS), "--referees", str(REFEREES))
    before, began = _children(), time.perf_counter()
    command = (sys.executable, *LEAGUE, "demo", *size, "--journal", str(folder), "--port", "0", "--json")
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    clock, cpu = time.perf_counter() - began, _children() - before
    matches: int = json.loads(done.stdout)["matches"]
    what = f"league demo --players {PLAYERS} --referees {REFEREES}"
    return [
        Row(f"{what}, on the clock", clock, cpu, "its CPU time", "s", None, f"{matches:,} matches"),
        Row("a match in separate processes", cpu / matches * 1e3, clock / matches * 1e3, "on the clock", "ms"),
    ]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reading(journal: Path) -> list[Row]:
    bare = median(cpu_seconds(NOTHING) for _ in range(5)) * 1e3
    rows = []
    for name, arguments in COMMANDS.items():
        spent = median(cpu_seconds((*LEAGUE, *arguments, str(journal))) for _ in range(ROUNDS))
        rows.append(Row(name, spent * 1e3, bare, "python -c pass", "ms"))
    return rows


def _restarted(journal: Path) -> Row:
    """The manager with all its results, from its start until it is ready, on the clock."""
    command = (*LEAGUE, "manager", "--journal", str(journal), "--port", "0")
    took = median(_until_ready(command, 1)[0] for _ in range(ROUNDS))
    return Row(f"a manager of {PLAYERS} players started again, on the clock", took, 1.0, "a second", "s", 1.0)


def _agents() -> list[Row]:
    """How soon players in one process are ready, and how large it is then, beside one player."""
    measured = {}
    for count in (1, *AGENTS):
        command = (*LEAGUE, "player", "--manager", NOWHERE, "--port", "0", "--count", str(count))
        measured[count] = [_until_ready(command, count) for _ in range(ROUNDS)]
    clock = {count: median(one for one, _ in some) * 1e3 for count, some in measured.items()}
    size = {count: median(one for _, one in some) for count, some in measured.items()}
    return [
        *(Row(f"{count} players ready, on the clock", clock[count], clock[1], "one player", "ms") for count in AGENTS),
        *(Row(f"memory of {count} players", size[count], size[1], "one player", "MB") for count in AGENTS),
    ]


def _until_ready(arguments: tuple[str, ...], agents: int) -> tuple[float, float]:
    """Seconds until so many agents are ready, and their memory in megabytes."""
    began = time.perf_counter()
    with subprocess.Popen(
        (sys.executable, *arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        ready = 0
        for line in process.stdout:
            ready += line.startswith("ready:")
            if ready == agents:
                break
        took, status = time.perf_counter() - began, Path(f"/proc/{process.pid}/status")
        resident = re.search(r"VmRSS:\s+([0-9]+)", status.read_text() if status.exists() else "")
        process.terminate()
    if ready < agents or resident is None:
        raise RuntimeError(f"{ready} of {agents} agents were ready: {' '.join(arguments)}")
    return took, int(resident[1]) / 1024
