"""The starters of `league new player`, as they are written: their own tests, the kit, and a league against ours."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from league.events import LeagueFinished, PlayerFaulted, ResultAccepted
from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.driver.kit import Options
from league.features.kit.runner import CheckReport
from tests.support.http_wire import free_port
from tests.support.kit_runs import check_player
from tests.support.mcp_programs import node
from tests.support.processes import READY, WATCHDOG_S, Option, Process, Processes, assert_kept
from tests.support.vectors import message


@dataclass(frozen=True)
class Starter:
    """How one is asked for, started and tested, and the statement to break in its strategy."""

    options: tuple[str, ...]
    start: tuple[str, ...]
    test: tuple[str, ...]
    choice: str
    failing: str
    ends_with_the_league: bool = False


STARTERS: Mapping[str, Starter] = {
    "python": Starter(
        (),
        (sys.executable, "-I", "-S", "player.py"),  # -S: without site-packages, so it really needs none
        (sys.executable, "-W", "error", "-m", "unittest"),
        'return random.choice(["even", "odd"])',
        'raise RuntimeError("my bug")',
    ),
    "sdk": Starter(
        ("--sdk",),
        (sys.executable, "player.py"),
        (sys.executable, "-W", "error", "-m", "unittest"),
        "drawn = [",
        'raise RuntimeError("my bug")\n        drawn = [',
        ends_with_the_league=True,
    ),
    "javascript": Starter(
        ("--language", "javascript"),
        (node(), "player.mjs"),
        (node(), "--test"),
        "return Math.random()",
        'throw new Error("my bug");\n  return Math.random()',
    ),
}
each_starter = pytest.mark.parametrize("name", STARTERS)


def written(processes: Processes, name: str) -> Path:
    done = processes.run("new", "player", name, *STARTERS[name].options)
    assert (done.returncode, done.stderr) == (0, "")
    return processes.folder / name


def begun(processes: Processes, name: str, **options: Option) -> Process:
    """A starter of that folder, under way."""
    arguments = [text for option, value in options.items() for text in (f"--{option}", str(value))]
    process = Process(name, arguments, processes.folder / name, STARTERS[name].start)
    processes.started.append(process)
    return process


def asked(process: Process, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """What a player answers."""
    connection = http.client.HTTPConnection(urlsplit(process.endpoint).netloc, timeout=WATCHDOG_S)
    try:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        connection.request("POST", "/mcp", body, {"Content-Type": "application/json"})
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()


@each_starter
def test_a_starter_passes_its_own_test(processes: Processes, name: str) -> None:
    folder = written(processes, name)
    done = subprocess.run(
        STARTERS[name].test, cwd=folder, text=True, capture_output=True, timeout=WATCHDOG_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ran 5 tests" in done.stderr or "# pass 5" in done.stdout


@each_starter
def test_the_own_test_of_a_starter_finds_a_strategy_that_fails(processes: Processes, name: str) -> None:
    spoil(written(processes, name), STARTERS[name])
    done = subprocess.run(
        STARTERS[name].test, cwd=processes.folder / name, capture_output=True, timeout=WATCHDOG_S, check=False
    )
    assert done.returncode == 1


def spoil(folder: Path, starter: Starter) -> None:
    """Put a mistake into its strategy."""
    (file,) = (folder / one for one in starter.start if one.startswith("player."))
    code = file.read_text(encoding="utf-8")
    assert code.count(starter.choice) == 1
    file.write_text(code.replace(starter.choice, starter.failing), encoding="utf-8")


def checked(processes: Processes, name: str, *only: str, time_scale: float = 1.0) -> CheckReport:
    """What the kit says of a starter that registers with it."""
    written(processes, name)
    port = free_port()

    def listening(line: str) -> None:
        begun(processes, name, manager=line.removeprefix(READY), port=port)

    target = f"http://127.0.0.1:{port}/mcp"
    return check_player(Options(target, listen=0, only=only, time_scale=time_scale), listening)


@each_starter
def test_a_starter_keeps_every_clause_the_kit_can_test(processes: Processes, name: str) -> None:
    report = checked(processes, name)
    wrong = [one for one in report.results if one.verdict in (CheckVerdict.FAIL, CheckVerdict.WARN)]
    assert {one.clause.id: one.outcome.detail for one in wrong} == {}
    assert report.dialect == "SPEC"
    passed = {one.clause.id for one in report.of(CheckVerdict.PASS)}
    assert passed >= {"REGISTER.takes_any_id", "TOKEN.in_answers", "WRITING.sender", "PLAYER.corrects"}


@each_starter
def test_a_starter_that_gets_no_answer_registers_again(processes: Processes, name: str) -> None:
    report = checked(processes, name, "REGISTER.retries")
    assert [one.verdict for one in report.results] == [CheckVerdict.PASS]


@each_starter
def test_a_starter_that_is_refused_says_why_and_ends(processes: Processes, name: str) -> None:
    report = checked(processes, name, "REGISTER.stops_when_rejected", time_scale=5)
    assert [one.verdict for one in report.results] == [CheckVerdict.PASS]
    (process,) = processes.started
    assert process.wait() == 1
    assert "the league is full" in process.output


@each_starter
@pytest.mark.requirement("REGISTER.waits_for_approval")
def test_a_starter_waits_for_the_operators_approval(processes: Processes, name: str) -> None:
    report = checked(processes, name, "REGISTER.waits_for_approval")
    assert [one.verdict for one in report.results] == [CheckVerdict.PASS], [
        one.outcome.detail for one in report.results
    ]
    (process,) = processes.started
    assert "approval" in process.output


@each_starter
def test_a_mistake_in_the_strategy_is_shown_to_its_author_alone(processes: Processes, name: str) -> None:
    spoil(written(processes, name), STARTERS[name])
    process = begun(processes, name, manager=f"http://127.0.0.1:{free_port()}/mcp", port=0)
    invitation, call = message("game_invitation.full"), message("choose_parity_call.full")
    call["match_id"] = invitation["match_id"]
    assert asked(process, "handle_game_invitation", invitation)["result"]["accept"] is True
    answer = asked(process, "parity_choose", call)
    assert "error" in answer, answer
    assert "my bug" not in json.dumps(answer)
    assert asked(process, "ping", {})["result"] is not None
    assert process.stop() == 0
    assert "my bug" in process.output


def test_starters_play_a_strict_league_against_ours_without_a_technical_loss(processes: Processes) -> None:
    manager = processes.manager(players=4, profile="strict")
    starters = []
    for name in STARTERS:
        written(processes, name)
        starters.append(begun(processes, name, manager=manager.endpoint, port=0))
    ours = processes.players(manager, "ours", profile="strict")
    referee = processes.referee(manager, profile="strict", max_concurrent_matches=2)
    assert (ours.wait(), referee.wait()) == (0, 0)
    for one in starters:
        ends = STARTERS[one.name].ends_with_the_league
        assert (one.wait() if ends else one.stop(within_s=5)) == 0
    assert manager.stop() == 0
    results = processes.events("manager", ResultAccepted)
    assert (len(results), {one.status for one in results} - {"WIN", "DRAW"}) == (6, set())
    assert processes.events("referee", PlayerFaulted) == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert set(processes.members()) == {"python", "sdk", "javascript", "ours", "referee"}
    assert_kept(processes)


@pytest.mark.parametrize("name", ["sdk", "javascript"])
def test_a_starter_plays_through_a_mailbox_and_finds_it_again(processes: Processes, name: str) -> None:
    manager = processes.manager(players=2)
    written(processes, name)
    first = begun_outbound(processes, name, manager)
    first.said("registered as P01")
    assert first.stop() == 0
    again = begun_outbound(processes, name, manager)
    again.said("registered as P01")
    assert again.endpoint == first.endpoint
    ours = processes.players(manager, "ours")
    referee = processes.referee(manager)
    assert (ours.wait(), referee.wait()) == (0, 0)
    assert {one.status for one in processes.events("manager", ResultAccepted)} <= {"WIN", "DRAW"}
    assert processes.events("referee", PlayerFaulted) == []


def begun_outbound(processes: Processes, name: str, manager: Process) -> Process:
    arguments = ["--manager", manager.endpoint, "--outbound", "--name", "Nomad"]
    process = Process(name, arguments, processes.folder / name, STARTERS[name].start)
    processes.started.append(process)
    return process
