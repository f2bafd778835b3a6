"""A disk that is full, at every point where something is written: a clear sentence, nothing lost, and on it goes when
there is room again."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest

from league.cli.pages import Pages
from league.events import LeagueFinished, ResultAccepted
from tests.support.peer import Peer
from tests.support.processes import WATCHDOG_S, Option, Process, Processes, assert_kept
from tests.support.scripts import held

PLAYERS = 4
MATCHES = len(list(combinations(range(PLAYERS), 2)))
UNLIMITED = resource.RLIM_INFINITY


def _fill(process: Process, limit: int) -> None:
    """No file of this process may grow beyond this size: to it, its disk is full."""
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard if limit == UNLIMITED else limit, hard))


def _dropped(process: Process) -> bool:
    with closing(Pages(process.endpoint)) as pages:
        return "league_log_lines_dropped_total" in pages.text("/metrics")


# --- agents at work ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KEEPING.storage_unavailable")
@pytest.mark.parametrize("full", ["manager", "referee", "player"])
def test_an_agent_whose_disk_is_full_for_a_while_loses_nothing(processes: Processes, full: str) -> None:
    """Its journal, the write-ahead log, the transcript, its log, its shared files (a player's history is one)."""
    kept: dict[str, Option] = {"log": processes.folder / f"{full}.log", "shared": processes.folder / "shared"}
    options: dict[str, dict[str, Option]] = {
        one: kept if one == full else {} for one in ("manager", "referee", "player")
    }
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 2)) as sam:
        manager = processes.manager(players=PLAYERS, **options["manager"])
        sam.register(manager.endpoint)
        players = processes.players(
            manager, "player", count=PLAYERS - 1, journal=processes.folder / "players.db", **options["player"]
        )
        referee = processes.referee(manager, "referee", time_scale=10, **options["referee"])
        sam.saw("CHOOSE_PARITY_CALL", 2)
        process = {"manager": manager, "referee": referee, "player": players}[full]
        _fill(process, 0)
        sam.release("go")
        process.said("the journal cannot be written: ")
        _fill(process, UNLIMITED)
        assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    results = {one.match_id: one for one in processes.events("manager", ResultAccepted)}
    assert len(results) == MATCHES
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert [one for one in results.values() if one.status == "TECHNICAL_LOSS" and full != "player"] == []
    assert_kept(processes)
    for line in (processes.folder / f"{full}.log").read_text().splitlines():
        json.loads(line)


def test_nobody_is_called_registered_before_that_is_stored(processes: Processes) -> None:
    manager = processes.manager(players=3)
    _fill(manager, 0)
    player = processes.players(manager, "Ada")
    manager.said("the journal cannot be written: ")
    assert "registered, at" not in manager.output
    _fill(manager, UNLIMITED)
    player.said("registered as P01")
    manager.said('player P01 "Ada" registered, at')
    assert manager.output.count("registered, at") == 1


def test_a_log_whose_disk_is_full_stops_nobody(processes: Processes) -> None:
    manager = processes.manager(players=2, log="/dev/full")
    players = processes.players(manager, count=2, log="/dev/full")
    referee = processes.referee(manager, time_scale=10, log="/dev/full")
    while not _dropped(manager):
        assert manager.is_running, manager.output
    assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    for one in processes.started:
        logs = 2 if one is players else 1
        assert len([line for line in one.lines if "the log cannot be written" in line]) <= logs
    assert_kept(processes)


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a league that was played."""
    folder = tmp_path_factory.mktemp("played")
    with Processes(folder) as processes:
        done = processes.run("demo", "--players", "2", "--referees", "1", "--port", "0", "--journal", "data", "--json")
    assert done.returncode == 0, done.stderr
    return folder


def _limited(folder: Path, limit: int, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=WATCHDOG_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


LEAGUE = "import sys; from league.cli.main import main; sys.exit(main(sys.argv[1:]))"
SECRET = """
import sys
from pathlib import Path
from league.terminal import CommandError
from league.hosting.manager.kept_secrets import ADMIN_TOKEN, ENROLMENT_KEY
try:
    {secret}.of_manager(Path(sys.argv[1]))
except CommandError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize(
    ("arguments", "limit", "sentence"),
    [
        (("backup", "data/journal.db", "out/copy.db"), 1000, "out/copy.db cannot be written"),
        (("export", "data", "--to", "out", "--format", "shared"), 10, "cannot be written"),
        (("export", "data", "--to", "out", "--format", "csv"), 10, "cannot be written"),
        (("export", "data", "--to", "out", "--format", "json"), 10, "cannot be written"),
        (("manager", "--port", "0", "--journal", "out/journal.db"), 1000, "out/journal.db cannot be opened"),
    ],
)
def test_a_command_that_finds_no_room_says_so_and_leaves_nothing_half(
    played: Path, arguments: tuple[str, ...], limit: int, sentence: str
) -> None:
    (played / "out").mkdir(exist_ok=True)
    done = _limited(played, limit, LEAGUE, *arguments)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "bug" not in done.stderr
    assert [
        one for one in (played / "out").rglob("*") if one.is_file() and one.name not in ("admin-token", "enrolment-key")
    ] == []


@pytest.mark.parametrize(("secret", "name"), [("ADMIN_TOKEN", "admin token"), ("ENROLMENT_KEY", "enrolment key")])
def test_a_secret_for_which_there_is_no_room_is_told_and_not_kept_half(tmp_path: Path, secret: str, name: str) -> None:
    done = _limited(tmp_path, 10, SECRET.format(secret=secret), str(tmp_path / "state"))
    assert f"the {name} cannot be kept in" in done.stderr
    assert [*(tmp_path / "state").iterdir()] == []
