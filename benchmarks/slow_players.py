"""Thirty players that think for a second, with all defaults: the time of the league beside the time of the thinking.

All work of a league happens before and after the thinking, because its matches begin together. So a league cannot be
faster than the thinking and the CPU time of its processes, divided by the processors. The second row says how long that
is.
"""

from __future__ import annotations

import os
import tempfile
import time
from bisect import bisect
from collections.abc import Sequence
from pathlib import Path

from benchmarks import Row
from league.events import Event, LeagueFinished, RoundOpened
from league.storage.reading import open_for_reading
from tests.support.processes import Process, Processes

PLAYERS = 30
REFEREES = ("first", "second")
ROUNDS = 4
THINKING_S = 1.0
GOAL = 1.1
LOOK_EVERY_S = 0.01


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, Processes(Path(folder)) as processes:
        manager = processes.manager(players=PLAYERS, rounds=ROUNDS, referees=len(REFEREES))
        for name in REFEREES:
            processes.referee(manager, name)
        players = processes.players(manager, count=PLAYERS, strategy=processes.slow_strategy(THINKING_S))
        used = CpuTime()
        while players.is_running:
            used.look_at(processes.started)
            time.sleep(LOOK_EVERY_S)
        players.wait()
        with open_for_reading(processes.journal("manager")) as journal:
            began = _first(journal.of_kind(RoundOpened))
            ended = _first(journal.of_kind(LeagueFinished))
    title = f"{PLAYERS} players that think for a second, {ROUNDS} rounds"
    thinking_s = ROUNDS * THINKING_S
    rows = [Row(title, ended - began, thinking_s, "the thinking alone", "s", GOAL)]
    cpu_s = used.until(ended) - used.until(began)
    if cpu_s:
        processors = os.cpu_count() or 1
        floor_s = thinking_s + cpu_s / processors
        detail = f"the thinking, and {cpu_s:.2f} s of CPU that {processors} processors share"
        rows.append(Row("the least it can take here", floor_s, thinking_s, "the thinking alone", "s", detail=detail))
    return rows


class CpuTime:
    """The CPU time that processes have used, as it grows. It stays 0 on systems without /proc."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._seconds: list[float] = []

    def look_at(self, processes: Sequence[Process]) -> None:
        seconds = sum(_cpu_seconds(process.pid) for process in processes)
        # Processes that have ended are not counted any more: then the league is over.
        if not self._seconds or seconds >= self._seconds[-1]:
            self._times.append(time.time())
            self._seconds.append(seconds)

    def until(self, at: float) -> float:
        """The CPU time that was used until then."""
        return self._seconds[bisect(self._times, at) - 1]


def _cpu_seconds(pid: int) -> float:
    nanoseconds = 0
    for account in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            nanoseconds += int(account.read_text().split()[0])
        except OSError:  # the thread has ended
            continue
    return nanoseconds / 1e9


def _first(events: list[tuple[int, Event]]) -> float:
    _, event = events[0]
    return event.at
