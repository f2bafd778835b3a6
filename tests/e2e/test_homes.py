"""Thirty players behind a router and ten ordinary ones, while managers are killed and the line breaks for a minute:
nobody loses anything by being behind a router."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from league.events import AgentMoved, AgentRegistered, LeagueFinished, PlayerFaulted, ResultAccepted
from tests.support import machines as network
from tests.support.machines import Home, Machine
from tests.support.processes import WATCHDOG_S, Process, Processes, assert_kept

AT_HOME = 30
ORDINARY = 10
PLAYERS = AT_HOME + ORDINARY
ROUNDS = 10
PORTS = (8000, 8001)
CHOICE_S = 1.0
AWAY_S = 60.0


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    if not network.have_routers():
        pytest.skip(network.ADVICE)
    with network.machines(3) as made:
        yield made


class League:
    """Two managers on one machine, referees and ordinary players on another, and everybody else at home."""

    def __init__(self, processes: Processes, machines: list[Machine], home: Home) -> None:
        self.processes = processes
        self.hall, school, _ = machines
        self.addresses = tuple(f"http://{self.hall.address}:{port}/mcp" for port in PORTS)
        self.serving = self._manager(0)
        self.serving.said("ready: ")
        self.standby = self._manager(1)
        self.standby.said("standing by at ")
        common = {"manager": ",".join(self.addresses)}
        slow = processes.slow_strategy(CHOICE_S)
        self.members = [
            processes.begin("player", "at home", home.inside, **common, outbound=True, count=AT_HOME, strategy=slow),
            processes.begin(
                "player", "ordinary", school.inside, **common, host=school.address, count=ORDINARY, strategy=slow
            ),
            processes.begin(
                "referee",
                "referee",
                school.inside,
                **common,
                host=school.address,
                count=3,
                state=processes.folder,
                journal=processes.journal("referee"),
            ),
        ]

    def _manager(self, number: int) -> Process:
        return self.processes.begin(
            "manager",
            f"manager {number}",
            self.hall.inside,
            host=self.hall.address,
            port=PORTS[number],
            endpoints="lan",
            players=PLAYERS,
            referees=3,
            rounds=ROUNDS,
            journal=self.processes.journal("manager"),
            state=self.processes.folder,
            managers=self.addresses,
            standby=True,
        )

    def results(self) -> int:
        return len(self.processes.events("manager", ResultAccepted))

    def goes_on(self, matches: int = 10) -> None:
        """Wait until so many more matches have been decided."""
        wanted = self.results() + matches
        began = time.monotonic()
        while self.results() < wanted:
            assert time.monotonic() - began < 3 * WATCHDOG_S
            time.sleep(0.2)

    def kill(self) -> None:
        """Kill the manager: the standby takes over, and the other one comes back as its standby."""
        self.serving.kill()
        self.standby.said("ready: ", 1)
        number = 0 if self.serving.name.endswith("0") else 1
        self.serving, self.standby = self.standby, self._manager(number)
        self.standby.said("standing by at ")


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_nobody_loses_by_being_behind_a_router(processes: Processes, machines: list[Machine]) -> None:
    home = Home(machines[2])
    try:
        league = League(processes, machines, home)
        league.goes_on()
        league.kill()
        league.goes_on()
        home.cut_off()
        time.sleep(AWAY_S)  # the time that passes is the trouble
        home.connect()
        league.goes_on()
        league.kill()
        assert [member.wait(600) for member in league.members] == [0, 0, 0]
        assert len(processes.events("manager", AgentRegistered)) == PLAYERS + 3
        assert len(processes.events("manager", LeagueFinished)) == 1
        results = [one.match_id for one in processes.events("manager", ResultAccepted)]
        assert len(results) == len(set(results)) == ROUNDS * PLAYERS // 2
        assert processes.events("manager", PlayerFaulted) == []
        assert len({one.agent_id for one in processes.events("manager", AgentMoved)}) == AT_HOME
        assert_kept(processes)
    finally:
        home.end()
