"""`league simulate` leaves no process behind, however it ends."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tests.support.processes import Processes, children_of, wait_until_gone


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_simulation_that_is_ended_leaves_no_workers(processes: Processes, ending: signal.Signals) -> None:
    command = ["simulate", "--leagues", "100000", "--players", "4", "--jobs", "3"]
    simulation = processes.run_on(*command)
    while len(workers := children_of(simulation.pid)) < 3:
        assert simulation.is_running, simulation.output
        threading.Event().wait(0.05)  # the system has no event for it
    simulation.signal(ending)
    assert simulation.wait() != 0
    wait_until_gone(list(workers))


def test_a_worker_that_is_killed_ends_the_simulation_with_a_sentence(processes: Processes) -> None:
    simulation = processes.run_on("simulate", "--leagues", "100000", "--players", "4", "--jobs", "2")
    while len(workers := children_of(simulation.pid)) < 2:
        assert simulation.is_running, simulation.output
        threading.Event().wait(0.05)  # the system has no event for it
    os.kill(next(iter(workers)), signal.SIGKILL)
    assert simulation.wait() == 1
    assert "A process that plays leagues was killed after" in simulation.output
    assert "--jobs 1." in simulation.output
    assert "Traceback" not in simulation.output
    wait_until_gone(list(workers))
