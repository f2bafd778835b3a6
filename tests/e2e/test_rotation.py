"""`league rotate-token` on real processes: the new secret counts at once and after a kill, the old one never again."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from league.events import AgentApplied, OrderCarriedOut
from league.storage.reading import open_for_reading
from tests.e2e.test_operator import post
from tests.support.postgres import PostgresServer
from tests.support.processes import Process, Processes

KEEP: dict[str, Any] = {"players": 2, "start": "manual"}


def rotate(processes: Processes, manager: Process, *arguments: str) -> dict[str, str]:
    done = processes.run(
        "rotate-token", *arguments, "--manager", manager.endpoint, "--state", processes.folder, "--json"
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def secret_in(folder: Path, name: str = "admin-token") -> str:
    file = folder / name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file.read_text().strip()


def error_about(manager: Process, token: str) -> tuple[int, str, str]:
    """What an order that could not be carried out is answered: it tells a refused token from a refused order."""
    status, answer = post(manager, "close", token)
    return status, answer["error_code"], answer["error"]


@pytest.fixture(params=["file", "postgresql"])
def journal(request: pytest.FixtureRequest, processes: Processes) -> str:
    if request.param == "file":
        return str(processes.journal("manager"))
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_url()


def test_a_new_admin_token_counts_at_once_and_after_a_kill(processes: Processes, journal: str) -> None:
    manager = processes.manager(journal=journal, state=processes.folder, **KEEP)
    old = secret_in(processes.folder)
    answer = rotate(processes, manager)
    # Right after the answer: whatever was not durable is lost now.
    manager.kill()
    new = secret_in(processes.folder)
    assert (answer["target"], answer["file"], new != old) == ("admin", str(processes.folder / "admin-token"), True)
    (processes.folder / "admin-token").unlink()  # on another machine there would be no file
    manager = processes.manager(journal=journal, state=processes.folder, **KEEP)
    assert secret_in(processes.folder) == new
    assert error_about(manager, new)[:2] == (409, "E023")
    status, code, sentence = error_about(manager, old)
    assert (status, code) == (401, "E012")
    assert "replaced" in sentence
    refused = processes.run("close", "--manager", manager.endpoint, "--state", processes.folder)
    assert "E023" in refused.stderr, "the command uses the new token"
    with open_for_reading(journal) as reader:
        assert [(event.order, event.target) for _, event in reader.of_kind(OrderCarriedOut)] == [
            ("rotate-token", "admin")
        ]
        stored = b"".join(row.body for row in reader.stored_rows() if row is not None)
    assert new.encode() not in stored
    assert new not in "\n".join(line for process in processes.started for line in process.lines)


def test_a_replaced_token_in_the_environment_is_ignored(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    old = "tok_admin_that-was-set-in-the-environment"
    monkeypatch.setenv("LEAGUE_ADMIN_TOKEN", old)
    manager = processes.manager(**KEEP)
    done = processes.run("rotate-token", "--manager", manager.endpoint, "--json")
    assert done.returncode == 0, done
    file = Path(processes.folder, json.loads(done.stdout)["file"])
    new = file.read_text().strip()
    manager.kill()
    manager = processes.manager(**KEEP)
    manager.said("LEAGUE_ADMIN_TOKEN is ignored: ")
    assert error_about(manager, old)[1] == "E012"
    assert error_about(manager, new)[1] == "E023"
    assert secret_in(processes.folder) == new


def test_a_journal_without_a_manager_gets_a_new_token(processes: Processes, journal: str) -> None:
    manager = processes.manager(journal=journal, state=processes.folder, **KEEP)
    old = secret_in(processes.folder)
    arguments = ("rotate-token", "--journal", journal, "--state", processes.folder)
    refused = processes.run(*arguments)
    assert refused.returncode == 1
    assert "in use" in refused.stderr
    assert "--manager" in refused.stderr
    assert secret_in(processes.folder) == old
    assert error_about(manager, old)[1] == "E023"
    assert manager.stop() == 0
    done = processes.run(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    new = secret_in(processes.folder)
    assert new not in done.stdout
    manager = processes.manager(journal=journal, state=processes.folder, **KEEP)
    assert error_about(manager, new)[1] == "E023"
    assert error_about(manager, old)[1] == "E012"
    # A manager with another journal has nothing to do with it.
    missing = processes.run("rotate-token", "--journal", processes.folder / "nobody.db")
    assert missing.returncode == 1
    assert not (processes.folder / "nobody.db").exists()


def test_referees_need_the_new_enrolment_key(processes: Processes) -> None:
    manager = processes.manager(enrolment="key", state=processes.folder / "state", **KEEP)
    old = secret_in(processes.folder / "state", "enrolment-key")
    member = processes.referee(manager, "member", state=processes.folder / "state")
    member.said("registered as REF01")
    done = processes.run(
        "rotate-token", "enrolment", "--manager", manager.endpoint, "--state", processes.folder / "state"
    )
    assert done.returncode == 0, done
    new = secret_in(processes.folder / "state", "enrolment-key")
    assert new not in done.stdout + done.stderr
    late = processes.begin("referee", "late", manager=manager.endpoint, enrolment_key=old, name="late")
    assert late.wait() == 1
    assert "E043" in late.output
    assert "replaced" in late.output
    # One that finds the manager's file takes the new key from there.
    processes.referee(manager, "local", enrolment_key=old, state=processes.folder / "state").said("registered as REF02")
    # A member goes on with its own token, also after a restart.
    member.kill()
    member = processes.referee(manager, "member", enrolment_key=old)
    member.said("registered again as REF01")
    assert set(processes.members()) == {"member", "local"}
    assert processes.events("manager", AgentApplied) == []
