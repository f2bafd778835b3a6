"""Counts the instructions of a match with valgrind, to compare two states of the code. Instructions of the kernel are
not counted.

Two runs of the same code differ by 0.2 % on an idle machine. On a busy one a durable match may cost 9 % more, because
its entries arrive in smaller groups and need more commits. A match in memory differs by 1 % only: on a busy machine,
compare that row.

Each contender plays a short league and a long one in a process of its own. The difference is the cost of the matches
alone, without the start of Python and of the league.
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
from benchmarks.leagues import EVERYTHING, Features, Size, play
from benchmarks.page import BARE_FLOOR
from league.hosting.system import collect_garbage_seldom
from league.transport.http import loop_factory

AT_ONCE = 8
SHORT_ROUNDS = 2
LONG_ROUNDS = 18
LEAGUES = {
    "ours": EVERYTHING,
    "no transcript": Features(transcript="off"),
    "in memory": Features(is_durable=False, transcript="off"),
}
VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNTED = re.compile(rb"I +refs: +([0-9,]+)")


def is_possible() -> bool:
    return shutil.which("valgrind") is not None


def run() -> list[Row]:
    if not is_possible():
        sys.exit("valgrind counts the instructions, but it is not installed here")
    bare = _millions_per_match("bare")
    strict = _millions_per_match("strict")
    millions = {name: _millions_per_match(name) for name in LEAGUES}
    ours = millions["ours"]
    no_transcript = millions["no transcript"]
    in_memory = millions["in memory"]
    return [
        Row("a match, 8 at once", ours, bare, BARE_FLOOR, "million"),
        Row("a match, 8 at once in memory", in_memory, bare, BARE_FLOOR, "million"),
        Row("seven calls, our transport and codec", strict, bare, BARE_FLOOR, "million"),
        Row("a match, durable", no_transcript, in_memory, "in memory", "million"),
        Row("a match, with transcript", ours, no_transcript, "no transcript", "million"),
    ]


def _millions_per_match(contender: str) -> float:
    _output(contender, SHORT_ROUNDS)  # compiles the modules, which would count otherwise
    short = _counted(_output(contender, SHORT_ROUNDS, VALGRIND))
    long = _counted(_output(contender, LONG_ROUNDS, VALGRIND))
    return (long - short) / (AT_ONCE * (LONG_ROUNDS - SHORT_ROUNDS)) / 1e6


def _output(contender: str, rounds: int, under: tuple[str, ...] = ()) -> bytes:
    command = (*under, sys.executable, "-m", "benchmarks.instructions", contender, str(rounds))
    # With a fixed seed, sets are walked through in the same order each time.
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    return subprocess.run(command, check=True, stderr=subprocess.PIPE, env=environment).stderr


def _counted(output: bytes) -> int:
    count = _COUNTED.search(output)
    if count is None:
        raise RuntimeError(f"valgrind counted nothing: {output.decode(errors='replace')}")
    return int(count[1].replace(b",", b""))


async def _play(contender: str, rounds: int) -> None:
    """Play the matches that valgrind counts."""
    if contender == "bare":
        async with bare_floor() as bare:
            await bare.play(AT_ONCE, AT_ONCE * rounds)
    elif contender == "strict":
        async with strict_floor() as strict:
            await strict.play(AT_ONCE, AT_ONCE * rounds)
    else:
        await play(Size(2 * AT_ONCE, rounds), LEAGUES[contender])


if __name__ == "__main__":
    collect_garbage_seldom()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_play(sys.argv[1], int(sys.argv[2])))
