"""`league prune` on the journals of leagues that real processes played: letters go, and nothing else does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from league.events import ResultAccepted
from league.storage.reading import open_for_reading
from tests.support.postgres import PostgresServer
from tests.support.processes import Processes

KILLED = """
import os, signal, sys
from league.cli.main import main
from league.storage.database import postgres_tables
from league.storage.files import sqlite

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

count = 0
def numbered(query, plain=postgres_tables.numbered):
    global count
    count += query.startswith("DROP TABLE")
    return die() if count == 2 else plain(query)

# Everything is changed, and nothing is committed.
sqlite._FileWriter._check_file = die
postgres_tables.numbered = numbered
main(sys.argv[1:])
"""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []


class League:
    """The journals of a league, in files or in a database."""

    def __init__(self, processes: Processes, manager: str, referee: str, everything: str) -> None:
        self.processes = processes
        self.manager = manager
        self.referee = referee
        self.everything = everything

    def play(self, players: int = 4, **options: Any) -> None:
        manager = self.processes.manager(journal=self.manager, players=players)
        referee = self.processes.referee(manager, journal=self.referee, state=self.processes.folder)
        members = self.processes.players(manager, count=players, **options)
        assert members.wait() == 0
        assert referee.wait() == 0
        assert manager.stop() == 0

    def verify(self) -> dict[str, Any]:
        done = self.processes.run("verify", self.everything, "--json")
        assert done.returncode == 0, done
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def prune(self, *options: str) -> dict[str, Any]:
        done = self.processes.run("prune", self.everything, "--json", *options)
        assert (done.returncode, done.stderr) == (0, ""), done
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def letters(self) -> tuple[int, int]:
        """How many letters the manager and the referee keep."""
        with open_for_reading(self.manager) as manager, open_for_reading(self.referee) as referee:
            return len(list(manager.letters())), len(list(referee.letters()))


@pytest.fixture(params=["file", "postgresql"])
def league(request: pytest.FixtureRequest, processes: Processes) -> League:
    folder = processes.folder
    if request.param == "file":
        journals = folder / "journals"
        return League(processes, str(journals / "journal.db"), str(journals / "referee.db"), str(journals))
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_url()
    return League(processes, url, f"{url}_referee", f"{url}*")


def test_results_are_as_proven_as_before_and_the_rest_says_that_letters_are_gone(league: League) -> None:
    league.play()
    before = league.verify()
    assert before["promises"]["13"] == "kept"
    stored = league.letters()
    would = league.prune("--dry-run")
    assert (would["removed"], league.letters()) == (sum(stored), stored)
    done = league.prune()
    assert {**done, "dry_run": True} == would
    assert league.letters() == (0, 0)
    assert len(done["matches"]) == 6
    after = league.verify()
    for same in ("ok", "chain", "head", "results", "events", "matches", "contradictions"):
        assert after[same] == before[same], same
    assert "kept" not in (after["promises"]["13"], after["promises"]["20"])
    assert "broken" not in after["promises"].values()
    words = league.processes.run("verify", league.everything).stdout
    assert "league prune removed" in words
    explained = league.processes.run("explain", "R1M1", "--journal", league.everything).stdout
    assert "league prune removed" in explained
    # A second time there is nothing to remove, and nothing to say.
    assert league.prune()["removed"] == 0
    assert league.processes.run("replay", league.manager).returncode == 0


def test_a_journal_in_use_is_refused_and_open_matches_keep_their_letters(league: League) -> None:
    processes = league.processes
    manager = processes.manager(journal=league.manager, players=4)
    referee = processes.referee(manager, journal=league.referee, state=processes.folder)
    strategy = processes.slow_strategy(2.0)
    processes.players(manager, count=4, strategy=strategy)
    manager.said("round 1 of 3 is over")
    refused = processes.run("prune", league.everything)
    assert refused.returncode == 1
    assert "in use" in refused.stderr
    assert "nothing was removed" in refused.stderr
    while not open_letters(league):
        time.sleep(0.05)
    manager.kill()
    referee.kill()
    with open_for_reading(league.referee) as journal:
        before = {match_id: list(journal.letters(match_id)) for match_id in open_letters(league)}
    done = league.prune()
    assert set(before) <= set(done["kept_matches"])
    assert {"R1M1", "R1M2"} <= set(done["matches"]) - set(before)
    with open_for_reading(league.referee) as journal:
        for match_id, letters in before.items():
            assert list(journal.letters(match_id)) == letters
        assert list(journal.letters("R1M1")) == []
    manager = processes.manager(journal=league.manager, port=manager.port)
    referee = processes.referee(manager, journal=league.referee, port=referee.port, state=processes.folder)
    assert referee.wait() == 0
    assert league.verify()["matches"] == 6


def open_letters(league: League) -> set[str]:
    """The matches that the referee has letters of, and the manager no result."""
    with open_for_reading(league.manager) as manager:
        decided = {event.match_id for _, event in manager.of_kind(ResultAccepted)}
    with open_for_reading(league.referee) as referee:
        played = {letter.match_id for letter in referee.letters() if letter.match_id}
    return played - decided


def test_a_kill_midway_leaves_everything_as_it_was(league: League) -> None:
    league.play(2)
    stored = league.letters()
    verified = league.verify()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "prune", league.everything],
        cwd=league.processes.folder,
        env=os.environ,
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed
    assert league.letters() == stored
    assert league.verify() == verified
    # The one that was killed holds a journal in a database for a moment.
    done = league.processes.run("prune", league.everything)
    assert done.returncode == 0, done
    assert league.letters() == (0, 0)


@pytest.mark.parametrize("days", ["-1", "nan", "soon"])
def test_days_that_are_none_are_refused(processes: Processes, days: str) -> None:
    done = processes.run("prune", "journal.db", "--older-than", days)
    assert (done.returncode, done.stdout) == (2, "")
    missing = processes.run("prune", "journal.db")
    assert missing.returncode == 1
    assert "there is no journal" in missing.stderr
