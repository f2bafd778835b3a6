"""`league simulate` leaves no process behind, however it ends."""

from __future__ import annotations

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
