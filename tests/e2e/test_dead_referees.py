"""All referees die together in the middle of a league and come back, with or without their memory: every match is
decided, and nobody loses by it."""

from __future__ import annotations

from contextlib import closing

import pytest

from league.cli.pages import Pages
from league.events import LeagueFinished, MatchParked, ResultAccepted
from tests.support.http_wire import free_port
from tests.support.peer import Peer
from tests.support.processes import Process, Processes, assert_kept
from tests.support.scripts import held

PLAYERS, REFEREES = 6, 4


def _referees(processes: Processes, manager: Process, ports: list[int]) -> list[Process]:
    names = [f"referee-{number}" for number in range(1, REFEREES + 1)]
    return [processes.referee(manager, name, port=port, time_scale=10) for name, port in zip(names, ports, strict=True)]


def _wait_until_dead(manager: Process) -> None:
    with closing(Pages(manager.endpoint)) as pages:
        manager.until(lambda: pages.json("/api/league")["waiting"] == "WAITING_FOR_REFEREE")


@pytest.mark.requirement("REFEREE.lease_unacknowledged")
@pytest.mark.requirement("REFEREE.lease_no_blame")
@pytest.mark.parametrize("remembers", [True, False], ids=["with journals", "without journals"])
def test_all_referees_are_killed_together_and_come_back(processes: Processes, remembers: bool) -> None:
    manager = processes.manager(players=PLAYERS, referees=REFEREES)
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 2)) as sam:
        sam.register(manager.endpoint)
        players = processes.players(manager, count=PLAYERS - 1)
        referees = _referees(processes, manager, [free_port() for _ in range(REFEREES)])
        sam.saw("CHOOSE_PARITY_CALL", 2)
        for one in referees:
            one.kill()
        sam.release("go")
        _wait_until_dead(manager)
        if not remembers:
            for file in processes.folder.glob("referee-*.db*"):
                file.unlink()
        again = _referees(processes, manager, [one.port for one in referees])
        assert (players.wait(), [one.wait() for one in again], manager.stop()) == (0, [0] * REFEREES, 0)
    results = processes.events("manager", ResultAccepted)
    assert len({one.match_id for one in results}) == PLAYERS * (PLAYERS - 1) // 2
    assert [one for one in results if one.status == "TECHNICAL_LOSS"] == []
    assert processes.events("manager", MatchParked) == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    if remembers:
        assert_kept(processes)
    else:  # what the referees forgot is no evidence any more
        assert processes.run("verify", processes.journal("manager")).returncode == 0
