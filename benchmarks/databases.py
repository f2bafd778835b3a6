"""The cost of a match whose journals are in PostgreSQL, beside the same match with journals in files.

Only our own CPU time counts: the server is another process, on another machine in most leagues. Both take turns in one
run, so that a slow moment of the machine hits both.
"""

from __future__ import annotations

import asyncio
from statistics import median

from benchmarks import Row
from benchmarks.leagues import EVERYTHING, Cost, Features, Size, play
from league.transport.http import loop_factory
from tests.support.postgres import postgres_server

ROUNDS = 7
SIZE = Size(64, 4)
"""32 matches at once."""
GOAL = 1.25


def run() -> list[Row]:
    with postgres_server() as server, asyncio.Runner(loop_factory=loop_factory()) as runner:
        in_database = Features(new_journal=server.new_url)
        # The first league of each pays for imports and connections.
        for features in (EVERYTHING, in_database):
            runner.run(play(SIZE, features))
        files: list[Cost] = []
        database: list[Cost] = []
        for _ in range(ROUNDS):
            files.append(runner.run(play(SIZE, EVERYTHING)))
            database.append(runner.run(play(SIZE, in_database)))
    detail = f"PostgreSQL {_storing(database):,.0f} us, files {_storing(files):,.0f} us"
    return [
        Row(
            "a match in PostgreSQL, 32 at once",
            _cpu(database),
            _cpu(files),
            "in files",
            "us",
            GOAL,
            f"of that the threads of the journals: {detail}",
        ),
        Row("a match in PostgreSQL, on the clock", _clock(database), _clock(files), "in files", "us"),
    ]


def _cpu(costs: list[Cost]) -> float:
    return median(cost.cpu for cost in costs) * 1e6


def _clock(costs: list[Cost]) -> float:
    return median(cost.clock for cost in costs) * 1e6


def _storing(costs: list[Cost]) -> float:
    return median(cost.storing for cost in costs) * 1e6
