"""What a match costs in instructions, counted by valgrind, to compare two states of the code with: two runs of the same
code differ by some 0.2 % on an idle machine, by a few per cent on a busy one. What the kernel does is not in it.

Each contender plays a short league and a long one in a process of its own; their difference is what matches cost,
without the start of Python and of the league.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys

from benchmarks import Row
from benchmarks.floors import bare_floor, strict_floor
from benchmarks.leagues import EVERYTHING, Size, Way, play
from league.hosting.system import collect_garbage_seldom
from league.transport.http import loop_factory

NAME = "instructions"
AT_ONCE = 8
SHORT, LONG = 2, 18
"""Rounds."""
FLOORS = {"bare": bare_floor, "strict": strict_floor}
WAYS = {
    "ours": EVERYTHING,
    "no transcript": Way(transcript="off"),
    "not durable": Way(is_durable=False, transcript="off"),
}
VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNTED = re.compile(rb"I +refs: +([0-9,]+)")


def is_possible() -> bool:
    return shutil.which("valgrind") is not None


def run() -> list[Row]:
    if not is_possible():
        sys.exit("instructions are counted by valgrind, which is not installed here")
    cost = {name: _millions_a_match(name) for name in (*FLOORS, *WAYS)}
    ours, bare, plain = cost["ours"], cost["bare"], cost["no transcript"]
    return [
        Row("a match, 8 at once", ours, bare, "seven bare calls", "million"),
        Row("seven calls, our transport and codec", cost["strict"], bare, "seven bare calls", "million"),
        Row("a match, durable", plain, cost["not durable"], "in memory", "million"),
        Row("a match, with transcript", ours, plain, "without", "million"),
    ]


def _millions_a_match(name: str) -> float:
    _output(name, SHORT)  # modules are compiled, once
    short, long = (_counted(_output(name, rounds, VALGRIND)) for rounds in (SHORT, LONG))
    return (long - short) / (AT_ONCE * (LONG - SHORT)) / 1e6


def _output(name: str, rounds: int, under: tuple[str, ...] = ()) -> bytes:
    command = (*under, sys.executable, "-m", "benchmarks.instructions", name, str(rounds))
    # Sets are walked through in the same order each time.
    return subprocess.run(command, check=True, stderr=subprocess.PIPE, env=os.environ | {"PYTHONHASHSEED": "0"}).stderr


def _counted(output: bytes) -> int:
    found = _COUNTED.search(output)
    if found is None:
        raise RuntimeError(f"valgrind counted nothing: {output.decode(errors='replace')}")
    return int(found[1].replace(b",", b""))


async def _play(name: str, rounds: int) -> None:
    """What is counted."""
    if name in WAYS:
        await play(Size(2 * AT_ONCE, rounds), WAYS[name])
        return
    async with FLOORS[name]() as floor:
        await floor.play(AT_ONCE, AT_ONCE * rounds)


if __name__ == "__main__":
    collect_garbage_seldom()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_play(sys.argv[1], int(sys.argv[2])))
