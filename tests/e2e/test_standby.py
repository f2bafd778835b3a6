"""A manager and its standby on one journal in PostgreSQL: whoever is killed, stopped or cut off, every match is played
once, and nobody but the holder of the lock decides anything."""

from __future__ import annotations

import http.client
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from league.events import AgentMoved, LeagueFinished, PlayerFaulted, Registered, ResultAccepted
from league.storage.reading import open_for_reading
from tests.support.http_wire import free_port
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.processes import WATCHDOG_S, Process, Processes

PLAYERS = 4
TAKEOVER_S = 5.0
"""A promise to people, not a watchdog."""


def _status(port: int, path: str = "/readyz") -> int:
    """The status of a page; 0 if nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def _wait(is_true: Callable[[], bool]) -> float:
    """Wait until something is true; how long it took."""
    began = time.monotonic()
    while not is_true():
        assert time.monotonic() - began < WATCHDOG_S
        time.sleep(0.02)
    return time.monotonic() - began


class Pair:
    """Two managers on one journal, a referee that knows both, and slow players that know the first."""

    def __init__(self, processes: Processes, server: PostgresServer) -> None:
        self.journal = server.new_url()
        self.ports = (free_port(), free_port())
        self.processes = processes
        self._addresses = tuple(f"http://127.0.0.1:{port}/mcp" for port in self.ports)
        self.first = self.manager(0)
        self.first.said("ready: ")
        self.second = self.manager(1)
        self.second.said("standing by at ")
        assert _status(self.ports[1]) == 503
        assert _status(self.ports[1], "/healthz") == 200
        strategy = processes.slow_strategy(0.2)
        self.players = processes.players(self._addresses[0], count=PLAYERS, strategy=strategy)
        # With the enrolment key: a referee whose server fails while it registers has lost its token.
        journal = server.new_url()
        self.referee = processes.referee(",".join(self._addresses), journal=journal, state=processes.folder)

    def manager(self, number: int) -> Process:
        return self.processes.begin(
            "manager",
            f"manager {number}",
            port=self.ports[number],
            players=PLAYERS,
            referees=1,
            double=True,
            journal=self.journal,
            state=self.processes.folder,
            managers=self._addresses,
            standby=True,
        )

    def results(self) -> int:
        with open_for_reading(self.journal) as journal:
            return len(journal.of_kind(ResultAccepted))

    def assert_played(self) -> None:
        """The league is over, every match has one result, and nobody lost by what happened."""
        assert self.players.wait() == 0
        assert self.referee.wait() == 0
        with open_for_reading(self.journal) as journal:
            results = [event.match_id for _, event in journal.of_kind(ResultAccepted)]
            assert len(results) == len(set(results)) == PLAYERS * (PLAYERS - 1)
            assert len(journal.of_kind(LeagueFinished)) == 1
            assert journal.of_kind(PlayerFaulted) == []
        assert self.processes.run("replay", self.journal).returncode == 0


def test_a_standby_takes_over_when_the_manager_is_killed(processes: Processes, postgres: PostgresServer) -> None:
    pair = Pair(processes, postgres)
    _wait(lambda: pair.results() >= 2)
    token = (processes.folder / "admin-token").read_text()
    pair.first.kill()
    assert _wait(lambda: _status(pair.ports[1]) == 200) < TAKEOVER_S
    assert (processes.folder / "admin-token").read_text() == token, "it goes with the journal"
    # The one that was killed comes back, and stands by for the other.
    first = pair.manager(0)
    first.said("standing by at ")
    pair.assert_played()
    assert pair.second.stop() == 0
    first.said("ready: ")


def test_a_manager_that_stood_still_beyond_its_lease_does_no_harm(
    processes: Processes, postgres: PostgresServer
) -> None:
    pair = Pair(processes, postgres)
    _wait(lambda: pair.results() >= 2)
    pair.first.signal(signal.SIGSTOP)
    assert _wait(lambda: _status(pair.ports[1]) == 200) < TAKEOVER_S
    results = pair.results()
    pair.first.signal(signal.SIGCONT)
    assert pair.first.wait() == 1
    assert "is written by process" in pair.first.output
    assert _status(pair.ports[0]) == 0
    assert pair.results() >= results
    pair.assert_played()


def test_a_server_that_restarts_in_the_middle_of_a_round_costs_nothing(processes: Processes) -> None:
    with postgres_server() as server:
        pair = Pair(processes, server)
        for end in (server.stop, server.kill):
            before = pair.results()
            end()
            _wait(lambda: _status(pair.ports[0]) == 503)
            server.start()
            _wait(lambda: _status(pair.ports[0]) == 200)
            assert pair.results() >= before
        assert _status(pair.ports[1]) == 503, "the manager was faster than its standby"
        pair.assert_played()


def test_a_standby_of_a_referee_goes_on_with_its_matches(processes: Processes, postgres: PostgresServer) -> None:
    manager = processes.manager(players=PLAYERS, double=True)
    journal = postgres.new_url()
    referee = processes.referee(manager, journal=journal, standby=True)
    other = processes.begin(
        "referee", "standby", manager=manager.endpoint, journal=journal, name="referee", standby=True
    )
    other.said("standing by at ")
    players = processes.players(manager, count=PLAYERS, strategy=processes.slow_strategy(0.2))
    _wait(lambda: len(processes.events("manager", ResultAccepted)) >= 2)
    referee.kill()
    assert players.wait() == 0
    assert other.wait() == 0
    with open_for_reading(journal) as reader:
        assert len(reader.of_kind(Registered)) == 2
    assert len(processes.events("manager", AgentMoved)) == 1
    results = [event.match_id for event in processes.events("manager", ResultAccepted)]
    assert len(results) == len(set(results)) == PLAYERS * (PLAYERS - 1)


def test_a_standby_of_a_journal_in_a_file_waits_for_its_lock(processes: Processes) -> None:
    first = processes.manager(standby=True)
    second = processes.begin("manager", "standby", journal=processes.journal("manager"), referees=1, standby=True)
    second.said("standing by at ")
    first.kill()
    assert _status(second.port) == 200


def test_a_standby_that_is_stopped_ends_at_once(processes: Processes) -> None:
    processes.manager()
    standby = processes.begin("manager", "standby", journal=processes.journal("manager"), referees=1, standby=True)
    standby.said("standing by at ")
    assert standby.stop() == 0
    referee = processes.run("referee", "--standby", "--port", "0")
    assert referee.returncode == 2
    assert "--standby needs --journal" in referee.stderr


@pytest.mark.parametrize("kind", ["file", "database"])
def test_admin_token_and_enrolment_key_move_with_the_journal(
    processes: Processes, postgres: PostgresServer, kind: str, tmp_path: Path
) -> None:
    processes.manager(state=tmp_path / "here").stop()
    target = postgres.new_url() if kind == "database" else str(tmp_path / "moved.db")
    assert processes.run("backup", processes.journal("manager"), target).returncode == 0
    manager = processes.manager(journal=target, state=tmp_path / "there")
    for name in ("admin-token", "enrolment-key"):
        assert (tmp_path / "here" / name).read_text() == (tmp_path / "there" / name).read_text()
    done = processes.run("close", "--manager", manager.endpoint, "--state", tmp_path / "here")
    assert "not the admin token" not in done.stderr
