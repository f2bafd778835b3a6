"""Two managers on two machines, one journal in PostgreSQL on a third: whatever happens to the machine that serves, the
other one takes over, nothing is lost, and the old manager does no harm.

Every trouble hits the manager that serves, or its standby; a manager that ended is started again, as by a supervisor.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from league.events import LeagueFinished, PlayerFaulted, ResultAccepted
from league.storage.database.postgres import LEASE_S
from league.storage.reading import open_for_reading
from tests.support import machines as network
from tests.support.machines import Machine
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.processes import WATCHDOG_S, Process, Processes

PLAYERS = 6
ROUNDS = 10
PORT = 8000
CHOICE_S = 2.0
"""Long enough for the league to outlast everything that happens to it."""
TAKEOVER_S = 5.0
"""A promise to people, not a watchdog."""
REPLACED = "is written by process"


def _wait(is_true: Callable[[], bool]) -> float:
    began = time.monotonic()
    while not is_true():
        assert time.monotonic() - began < WATCHDOG_S
        time.sleep(0.05)
    return time.monotonic() - began


class League:
    """Two managers, and a third machine with a referee and the players, which know both."""

    def __init__(self, processes: Processes, server: PostgresServer, machines: list[Machine]) -> None:
        self.processes = processes
        self.database, *self.machines, self._hall = machines
        self.journal = server.new_url()
        self._addresses = tuple(f"http://{machine.address}:{PORT}/mcp" for machine in self.machines)
        self.managers = [self._manager(0)]
        self.managers[0].said("ready: ")
        self.managers.append(self._manager(1))
        self.managers[1].said("standing by at ")
        self.serving = 0
        managers = ",".join(self._addresses)
        state = processes.folder
        self.members = [
            processes.begin(
                "referee",
                "referee",
                self._hall.inside,
                host=self._hall.address,
                manager=managers,
                journal=self._from_afar("_referee"),
                state=state,
            ),
            processes.begin(
                "player",
                "players",
                self._hall.inside,
                host=self._hall.address,
                manager=managers,
                count=PLAYERS,
                strategy=processes.slow_strategy(CHOICE_S),
                journal=self._from_afar("_player"),
            ),
        ]

    def _from_afar(self, more: str = "") -> str:
        """The URL of a journal for processes on other machines: only we share the server's files."""
        schema = self.journal.partition("schema=")[2]
        return f"postgresql://league@{self.database.address}/postgres?schema={schema}{more}"

    def _manager(self, number: int) -> Process:
        machine = self.machines[number]
        return self.processes.begin(
            "manager",
            f"manager {number}",
            machine.inside,
            host=machine.address,
            port=PORT,
            endpoints="lan",
            players=PLAYERS,
            referees=1,
            rounds=ROUNDS,
            double=True,
            journal=self._from_afar(),
            state=self.processes.folder,
            managers=self._addresses,
            standby=True,
        )

    def results(self) -> list[str]:
        with open_for_reading(self.journal) as journal:
            return [event.match_id for _, event in journal.of_kind(ResultAccepted)]

    def goes_on(self) -> None:
        """Wait until another match has been decided."""
        before = len(self.results())
        _wait(lambda: len(self.results()) > before)

    def taken_over(self) -> float:
        """Wait until the other manager serves; how long that took."""
        self.serving = 1 - self.serving
        began = time.monotonic()
        self.managers[self.serving].said("ready: ")
        return time.monotonic() - began

    def restart_other(self) -> None:
        """Start the manager that has ended, as the other one's standby."""
        number = 1 - self.serving
        self.managers[number] = self._manager(number)
        self.managers[number].said("standing by at ")

    # --- trouble ------------------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """The manager is killed."""
        self.managers[self.serving].kill()
        assert self.taken_over() < TAKEOVER_S
        self.restart_other()

    def suspend(self) -> None:
        """The manager stands still until another one has decided matches, then goes on."""
        old = self.managers[self.serving]
        old.signal(signal.SIGSTOP)
        assert self.taken_over() < TAKEOVER_S
        self.goes_on()
        old.signal(signal.SIGCONT)
        self._learns_that_it_was_replaced(old)

    def cut_off(self) -> None:
        """The manager's machine loses its network, and gets it back when another one has decided matches."""
        machine = self.machines[self.serving]
        old = self.managers[self.serving]
        machine.cut_off()
        assert self.taken_over() < TAKEOVER_S
        self.goes_on()
        assert old.is_running
        machine.connect()
        self._learns_that_it_was_replaced(old)

    def _learns_that_it_was_replaced(self, manager: Process) -> None:
        assert manager.wait() == 1
        assert REPLACED in manager.output
        self.restart_other()

    def cut_standby_off(self) -> None:
        """The standby's machine loses its network for a while: it must neither take over nor forget to stand by."""
        standby = 1 - self.serving
        self.machines[standby].cut_off()
        time.sleep(2 * LEASE_S)  # the time that passes is the trouble
        self.machines[standby].connect()
        self.goes_on()
        assert self.managers[standby].is_running
        assert self.managers[self.serving].is_running
        self.managers[self.serving].kill()
        self.taken_over()
        self.restart_other()

    def cut_database_off(self) -> None:
        """The database's machine loses its network for longer than a lease: one of the two managers goes on."""
        self.database.cut_off()
        time.sleep(2 * LEASE_S)
        self.database.connect()
        self.goes_on()
        ended = [number for number, manager in enumerate(self.managers) if not manager.is_running]
        assert len(ended) <= 1
        if ended:
            self.serving = 1 - ended[0]
            self._learns_that_it_was_replaced(self.managers[ended[0]])

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def assert_kept(self) -> None:
        """Every member hears of the end, every match has one result, nobody lost by it, and no promise is broken."""
        for member in self.members:
            assert member.wait() == 0
        results = self.results()
        assert len(results) == len(set(results)) == PLAYERS // 2 * ROUNDS
        with open_for_reading(self.journal) as journal:
            assert len(journal.of_kind(LeagueFinished)) == 1
            assert journal.of_kind(PlayerFaulted) == []
        done = self.processes.run("verify", f"{self.journal}*", "--json")
        verdict = json.loads(done.stdout)
        assert verdict["first_broken"] is None, verdict
        assert done.returncode == 0, verdict
        assert self.processes.bugs == []


TROUBLES = (League.kill, League.suspend, League.cut_off, League.cut_standby_off, League.cut_database_off)


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    if not network.are_possible():
        pytest.skip(network.ADVICE)
    with network.machines(4) as made:
        yield made


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("trouble", TROUBLES, ids=[trouble.__name__ for trouble in TROUBLES])
def test_another_machine_takes_over_and_nothing_is_lost(
    trouble: Callable[[League], None], processes: Processes, machines: list[Machine]
) -> None:
    database = machines[0]
    with postgres_server(f"listen_addresses={database.address}", inside=database.inside) as server:
        league = League(processes, server, machines)
        # Twice: the second time the other machine serves.
        for _ in range(2):
            league.goes_on()
            trouble(league)
        league.assert_kept()
