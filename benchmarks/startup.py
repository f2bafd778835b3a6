"""How long a command takes before it does anything: CPU time of whole processes beside one that does nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

from benchmarks import Row

NAME = "startup"
ROUNDS = 15
LEAGUE = ("-m", "league.cli.main")
COMMANDS = {
    "league --help": ((*LEAGUE, "--help"), 3.0),
    "league --version": ((*LEAGUE, "--version"), 6.0),
    "from league import Player": (("-c", "from league import Player"), 12.0),
}
NOTHING = ("-c", "pass")


def run() -> list[Row]:
    spent: dict[str, list[float]] = {name: [] for name in (*COMMANDS, "nothing")}
    for _ in range(ROUNDS):
        spent["nothing"].append(cpu_seconds(NOTHING))
        for name, (arguments, _) in COMMANDS.items():
            spent[name].append(cpu_seconds(arguments))
    bare = median(spent["nothing"]) * 1e3
    return [
        Row(name, median(spent[name]) * 1e3, bare, "python -c pass", "ms", goal) for name, (_, goal) in COMMANDS.items()
    ]


def cpu_seconds(arguments: tuple[str, ...]) -> float:
    """Of one process, from its beginning to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run((sys.executable, *arguments), check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
