"""Leagues of thirty players in which whatever can be killed is: the manager, its standby, the database and whole hosts.

Every league has a database server of its own, two managers on one journal, and three hosts, each with a referee and ten
players whose journals are in the database too. Whatever was killed is started again, as a supervisor would. The manager
is also suspended until long after another one took its place, and a third manager is started on the same journal.
KILL_SEED repeats the order of it all.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable

import pytest

from league.events import LeagueFinished, ResultAccepted
from league.storage.database.postgres import LEASE_S, RESTART_S
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from tests.e2e.test_standby import _status
from tests.support.http_wire import free_port
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.processes import Process, Processes

LEAGUES = 10
HOSTS = 3
PLAYERS_PER_HOST = 10
ROUNDS = 29
CHOICE_S = 1.0
"""Long enough for the league to outlast everything that happens to it."""
PATIENCE_S = 180.0
SUSPENDED_S = LEASE_S + RESTART_S
"""A suspended manager goes on after this time: no lease lasts as long."""
SEED = int(os.environ.get("KILL_SEED") or random.SystemRandom().randrange(10**6))


class Host:
    """A machine with a referee and players: all of its processes die together."""

    def __init__(self, league: SoakedLeague, number: int) -> None:
        self._league = league
        self._number = number
        # A machine keeps its address.
        self._ports = (free_port(), *(free_port() for _ in range(PLAYERS_PER_HOST)))
        self.processes: list[Process] = []
        self.start()

    def start(self) -> None:
        league = self._league
        state = league.processes.folder
        self.processes = [
            league.processes.begin(
                "referee",
                f"referee {self._number}",
                manager=league.managers,
                name=f"referee-{self._number}",
                port=self._ports[0],
                journal=f"{league.journal}_referee_{self._number}",
                state=state,
            ),
            league.processes.begin(
                "player",
                f"players {self._number}",
                manager=league.managers,
                name=f"host-{self._number}",
                count=PLAYERS_PER_HOST,
                port=0,
                strategy=league.strategy,
                journal=f"{league.journal}_player_{self._number}",
            ),
        ]

    def kill(self) -> None:
        for process in self.processes:
            process.kill()


class SoakedLeague:
    """A league, and everything that can happen to it."""

    def __init__(self, processes: Processes, server: PostgresServer, dice: random.Random) -> None:
        self.processes = processes
        self._dice = dice
        self._server = server
        self.journal = server.new_url()
        self.strategy = processes.slow_strategy(CHOICE_S)
        self._ports = (free_port(), free_port())
        self._addresses = tuple(f"http://127.0.0.1:{port}/mcp" for port in self._ports)
        self.managers = ",".join(self._addresses)
        self._pair = [self._manager(0), self._manager(1)]
        self.wait(lambda: self.serving() is not None)
        self.hosts = [Host(self, number) for number in range(1, HOSTS + 1)]

    def _manager(self, number: int) -> Process:
        return self._begin_manager(f"manager {number}", self._ports[number], is_standby=True)

    def _begin_manager(self, label: str, port: int, *, is_standby: bool) -> Process:
        return self.processes.begin(
            "manager",
            label,
            port=port,
            players=HOSTS * PLAYERS_PER_HOST,
            referees=HOSTS,
            rounds=ROUNDS,
            journal=self.journal,
            state=self.processes.folder,
            managers=self._addresses,
            standby=is_standby,
        )

    def serving(self) -> int | None:
        """The number of the manager that holds the journal."""
        return next((number for number, port in enumerate(self._ports) if _status(port) == 200), None)

    @staticmethod
    def wait(is_true: object) -> None:
        assert callable(is_true)
        began = time.monotonic()
        while not is_true():
            assert time.monotonic() - began < PATIENCE_S
            time.sleep(0.05)

    def results(self) -> int:
        try:
            with open_for_reading(self.journal) as journal:
                return len(journal.of_kind(ResultAccepted))
        except JournalError:
            return 0  # the server is starting

    # --- trouble ------------------------------------------------------------------------------------------------------

    def _primary(self) -> int:
        self.wait(lambda: self.serving() is not None)
        return self.serving() or 0

    def kill_primary(self) -> None:
        self._kill_manager(self._primary())

    def kill_standby(self) -> None:
        self._kill_manager(1 - self._primary())

    def _kill_manager(self, number: int) -> None:
        self._pair[number].kill()
        self._pair[number] = self._manager(number)

    def kill_database(self) -> None:
        self._server.kill()
        self._server.start()

    def kill_host(self) -> None:
        host = self._dice.choice(self.hosts)
        host.kill()
        host.start()

    def suspend_primary(self) -> None:
        """Stop the manager and continue it when the other one has decided matches: it learns that it was replaced."""
        number = self._primary()
        manager = self._pair[number]
        manager.signal(signal.SIGSTOP)
        stopped_at = time.monotonic()
        before = self.results()
        self.wait(lambda: self.is_over() or self.results() > before + 5)
        self.wait(lambda: time.monotonic() > stopped_at + SUSPENDED_S)
        manager.signal(signal.SIGCONT)
        assert manager.wait(PATIENCE_S) == 1
        assert "is written by process" in manager.output

    def start_third_manager(self) -> None:
        """Start one more manager on the journal, which does not stand by: it is refused."""
        self._primary()
        manager = self._begin_manager("third manager", 0, is_standby=False)
        assert manager.wait(PATIENCE_S) != 0
        assert "is in use by process" in manager.output

    def troubles(self) -> list[Callable[[], None]]:
        """Everything that can happen, in a random order."""
        troubles = [
            self.kill_primary,
            self.kill_standby,
            self.kill_database,
            self.kill_host,
            self.suspend_primary,
            self.start_third_manager,
        ]
        self._dice.shuffle(troubles)
        return troubles

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def revive(self) -> None:
        """Start managers again that ended because they were replaced."""
        for number, manager in enumerate(self._pair):
            if not manager.is_running:
                self._pair[number] = self._manager(number)

    def stop_members(self) -> None:
        """Let every member hear of the end, and end by itself."""
        for host in self.hosts:
            for process in host.processes:
                assert process.wait(PATIENCE_S) == 0

    def is_over(self) -> bool:
        self.revive()
        try:
            with open_for_reading(self.journal) as journal:
                return bool(journal.of_kind(LeagueFinished))
        except JournalError:
            return False

    def assert_kept(self) -> None:
        """No promise is broken, and every match has one result."""
        done = self.processes.run("verify", f"{self.journal}*", "--json")
        assert done.stdout, done.stderr
        verdict = json.loads(done.stdout)
        assert verdict["first_broken"] is None, verdict
        assert done.returncode == 0, verdict


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", range(LEAGUES))
def test_whatever_is_killed_or_suspended_every_match_is_played_once(number: int, processes: Processes) -> None:
    dice = random.Random(SEED + number)
    print(f"KILL_SEED={SEED}, league {number}")
    with postgres_server() as server:
        league = SoakedLeague(processes, server, dice)
        league.wait(lambda: league.results() > 0)
        for trouble in league.troubles():
            before = league.results()
            print(f"{trouble.__name__}, after {before} results")
            assert not league.is_over(), "the league is too short for this test"
            trouble()
            league.wait(lambda before=before: league.is_over() or league.results() > before + 5)
        league.wait(league.is_over)
        # Only now: while a league is played its journals are read one after the other, and the later ones know more.
        league.stop_members()
        league.assert_kept()
        assert league.results() == HOSTS * PLAYERS_PER_HOST // 2 * ROUNDS
