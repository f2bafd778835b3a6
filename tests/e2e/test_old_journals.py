"""A league that an earlier version began is finished by this one, and migrating survives being killed."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest

from league.events import AgentRegistered, Event, ResultAccepted
from league.reading.journals import read_events, replay
from league.storage.formats import FORMAT
from tests.support.old_journals import OLD_FORMATS, unpack
from tests.support.processes import Processes

E = TypeVar("E", bound=Event)
PLAYERS = ("player-1", "player-2", "player-3", "player-4")


@pytest.mark.parametrize("number", OLD_FORMATS)
def test_an_unfinished_league_is_resumed_and_finished(processes: Processes, number: int) -> None:
    folder = unpack(number, "unfinished", processes.folder / "old")
    results = {event.match_id: event for event in _events(folder, ResultAccepted)}
    assert len(results) == 2
    manager = processes.start("manager", journal=folder / "journal.db")
    backup = folder / f"journal.db.format-{number}"
    assert f"was in format {number} of an older version, and is in format {FORMAT} now; {backup} is" in manager.output
    # Without a name a referee is called by its port, which is another one here.
    referee = next(event for event in _events(folder, AgentRegistered) if event.role == "referee")
    agents = [
        processes.begin("referee", manager=manager.endpoint, name=referee.display_name, journal=folder / "referee.db")
    ]
    for name in PLAYERS:
        journal = folder / f"{name}.db"
        agents.append(processes.begin("player", name, manager=manager.endpoint, name=name, journal=journal))
    for agent in agents:
        assert agent.wait() == 0
    assert manager.stop() == 0
    league = replay(str(folder)).manager
    assert league.is_finished
    assert league.ledger.champion is not None
    assert len(league.completed) == 6
    # What was decided before stays as it was.
    after = {event.match_id: event for event in _events(folder, ResultAccepted)}
    assert {match_id: after[match_id] for match_id in results} == results
    assert processes.run("verify", str(folder)).returncode == 0


def _events(folder: Path, kind: type[E]) -> list[E]:
    return [event for event in read_events(folder / "journal.db") if isinstance(event, kind)]
