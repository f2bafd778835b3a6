"""`league view`: the dashboard of a journal, served until somebody ends it."""

from __future__ import annotations

import threading
import time
from http.client import HTTPConnection

from tests.support.managed import Managed
from tests.support.processes import READY, WATCHDOG_S, Processes
from tests.support.stories import on_disk


def test_a_journal_is_viewed_until_the_command_is_ended(processes: Processes) -> None:
    league = Managed(players=3, referees=1).fill()
    league.play("A")
    on_disk(processes.folder / "journal.db", league.events)
    view = processes.run_on("view", str(processes.folder), "--port", "0")
    (address,) = view.said(READY)
    connection = HTTPConnection(address.removeprefix("http://").rstrip("/"))

    def status(path: str) -> tuple[int, str]:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    found, page = status("/")
    assert found == 200
    assert f"Champion: {league.manager.standings[0].display_name}" in page
    assert "What the results tell" in page
    assert "data-position" not in page  # it does not change: there is nothing to follow
    until = time.monotonic() + WATCHDOG_S
    while "data-pending" in page:
        assert time.monotonic() < until, "the statistics are never worked out"
        threading.Event().wait(0.2)  # no faster than a viewer may ask
        page = status("/")[1]
    assert page.count('id="measure-P') == 3
    found, page = status("/?round=1")
    assert found == 200
    assert "As it was after event" in page
    assert "Champion" not in page
    assert status("/?at=1000000")[0] == 404
    assert status("/match/R1M1")[0] == status("/player/P01")[0] == status("/assets/dashboard.js")[0] == 200
    assert status("/match/R9M9")[0] == status("/api/events")[0] == 404
    connection.close()
    assert view.stop() == 0


def test_what_cannot_be_viewed_is_one_sentence(processes: Processes) -> None:
    done = processes.run("view", processes.folder / "nowhere.db")
    assert done.returncode == 1
    assert "there is no journal at" in done.stderr
    assert "Traceback" not in done.stderr
    assert processes.run("view", "x.db", "--port", "70000").returncode == 2
