"""The cost of a command before it does anything: CPU time of whole processes beside one that does nothing.

Run it where Python keeps compiled files (without PYTHONDONTWRITEBYTECODE): otherwise it measures the compiler.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median
from typing import NamedTuple

from benchmarks import Row

ROUNDS = 15
LEAGUE = ("-m", "league.cli.main")
NOTHING = ("-c", "pass")


class _Command(NamedTuple):
    title: str
    arguments: tuple[str, ...]
    goal: float


COMMANDS = (
    _Command("league --help", (*LEAGUE, "--help"), 3.0),
    _Command("league --version", (*LEAGUE, "--version"), 6.0),
    _Command("from league import Player", ("-c", "from league import Player"), 12.0),
)


PLAYER = _Command(
    "a player, until it is ready",
    (*LEAGUE, "player", "--manager", "http://127.0.0.1:9", "--port", "0"),
    14.5,
)


def run() -> list[Row]:
    nothing: list[float] = []
    samples: dict[str, list[float]] = {command.title: [] for command in (*COMMANDS, PLAYER)}
    for _ in range(ROUNDS):
        nothing.append(cpu_seconds(NOTHING))
        for command in COMMANDS:
            samples[command.title].append(cpu_seconds(command.arguments))
        samples[PLAYER.title].append(cpu_seconds(PLAYER.arguments, until="ready: "))
    yardstick = median(nothing) * 1e3
    return [
        Row(command.title, median(samples[command.title]) * 1e3, yardstick, "python -c pass", "ms", command.goal)
        for command in (*COMMANDS, PLAYER)
    ]


def cpu_seconds(arguments: tuple[str, ...], until: str = "") -> float:
    """Measure the CPU seconds of one process of Python, from its start to its end, or until it says something."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = (sys.executable, *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if until and line.startswith(until):
                process.kill()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
