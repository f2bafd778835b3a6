"""One tournament, whoever plays it: one process, several, shards, executors of others, and clusters that lose nodes."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from league.features.experiments.outcome.merging import merge
from league.features.experiments.playing import sources
from league.features.experiments.playing.executors import LocalWork, shipped_work
from league.features.experiments.playing.plan import TournamentPlan
from league.features.experiments.tournament import tournament
from league.terminal import CommandError
from tests.experiments.test_folders import same_bytes
from tests.support.executors import SETTINGS, STRATEGIES
from tests.support.pages import ROOT

pytestmark = pytest.mark.slow

MINE = """
from helper import pick

class Mine:
    def choose(self, turn):
        return pick(turn)

class Other:
    async def choose(self, turn):
        from late import first
        return first(turn)
"""
FILES = {
    "mine.py": MINE,
    "helper.py": "def pick(turn):\n    return turn.random.choice(turn.options)\n",
    "late.py": "def first(turn):\n    return turn.options[turn.chance[0] % 2 - 1]\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with strategies, and with `one`, the tournament as one process plays it."""
    folder = tmp_path_factory.mktemp("executors")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        tournament(STRATEGIES, jobs=1, to=folder / "one", **SETTINGS)
    finally:
        os.chdir(before)
    return folder


def test_two_processes_and_seven_shards_give_the_same_bytes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    tournament(STRATEGIES, jobs=2, to="two", **SETTINGS)
    assert same_bytes(place / "one", place / "two")
    for number in range(1, 8):
        tournament(STRATEGIES, jobs=1, to=f"shard-{number}", shard=f"{number}/7", **SETTINGS)
    merge([f"shard-{number}" for number in (5, 2, 7, 1, 3, 6, 4)], "seven")
    assert same_bytes(place / "one", place / "seven")


@pytest.fixture
def the_only_cluster() -> Iterator[None]:
    """Ray looks for a cluster among all processes of this machine, so a test that starts one and tests that expect none
    take turns."""
    with (Path(tempfile.gettempdir()) / "league-tests-ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.usefixtures("the_only_cluster")
@pytest.mark.parametrize("kind", ["threads", "processes", "dask", "ray"])
def test_executors_give_the_same_bytes_also_if_a_part_of_them_dies(place: Path, tmp_path: Path, kind: str) -> None:
    # Short, because Ray puts sockets there, whose names may not be long.
    scratch = Path("/tmp") / f"league-{os.getpid()}-{kind}"
    scratch.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(scratch),
        "RAY_TMPDIR": str(scratch),
        "RAY_USAGE_STATS_ENABLED": "0",
        # Nodes of one machine, on loopback alone.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.executors", kind, kind],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout.splitlines()[-1])
        assert len(report["disasters"]) == (0 if kind == "threads" else 1)
        assert same_bytes(place / "one", place / kind)
        assert _processes_in(scratch) == []
    finally:
        shutil.rmtree(scratch)


def _processes_in(folder: Path) -> list[str]:
    """Return the processes that still run with this temporary folder."""
    needle = f"TMPDIR={folder}".encode()
    running = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if needle in environment.read_bytes():
                running.append((environment.parent / "cmdline").read_text())
        except OSError:
            continue
    return running


# --- losses -----------------------------------------------------------------------------------------------------------

KILLS = """
import os, pathlib

class Kills:
    '''Ends its process in the middle of a series, as often as there are files called `kill-…`.'''

    def choose(self, turn):
        if turn.match_id == "M3":
            for file in pathlib.Path(__file__).parent.glob("kill-*"):
                file.unlink()
                os._exit(1)
        return turn.random.choice(turn.options)
"""


@pytest.mark.parametrize("kills", [1, 2])
def test_a_process_that_dies_costs_only_its_series(tmp_path: Path, kills: int) -> None:
    file = tmp_path / "mine.py"
    file.write_text(KILLS, "utf-8")
    spec = f"{file}:Kills"
    settings: dict[str, Any] = {"meetings": 3_000, "seed": 1}
    expected = tournament([spec, "random"], jobs=1, **settings)
    for number in range(kills):
        (tmp_path / f"kill-{number}").touch()
    result = tournament([spec, "random"], jobs=2, **settings)
    assert not list(tmp_path.glob("kill-*"))
    assert list(result.match_rows()) == list(expected.match_rows())


def test_a_strategy_that_always_kills_its_process_ends_the_tournament(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import os\nclass Mine:\n    def choose(self, turn):\n        os._exit(3)\n", "utf-8")
    with pytest.raises(CommandError, match=r"a series was lost 5 times by the executor, .*BrokenProcessPool"):
        tournament([f"{file}:Mine", "random"], executor=lambda: ProcessPoolExecutor(1))
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(CommandError, match=r"the executor is broken \(BrokenProcessPool: .*pass a function that makes"),
    ):
        tournament([f"{file}:Mine", "random"], executor=executor)


class Unreliable(ThreadPoolExecutor):
    """Loses every third task."""

    submitted = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        if self.submitted % 3:
            return super().submit(fn, *args, **kwargs)
        future: Future[Any] = Future()
        future.set_exception(ConnectionError("the node is gone"))
        return future


def test_an_executor_may_lose_tasks() -> None:
    settings: dict[str, Any] = {"meetings": 6_000, "seed": 1}
    with Unreliable(2) as executor:
        result = tournament(["random", "mirror"], executor=executor, **settings)
        assert executor.submitted == 8
    assert list(result.match_rows()) == list(tournament(["random", "mirror"], jobs=1, **settings).match_rows())


class Hopeless(Executor):
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(ConnectionError("no route"))
        return future


@pytest.mark.parametrize(
    ("executor", "sentence"),
    [
        (Hopeless(), "a series was lost 5 times by the executor, the last time because of ConnectionError: no route"),
        (3, "3 is not an executor: pass a concurrent.futures.Executor"),
        ("slurm", "'slurm' is not an executor"),
    ],
)
def test_what_cannot_play_is_told(executor: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=sentence):
        tournament(["random", "mirror"], executor=executor, to=tmp_path / "results")


@pytest.mark.usefixtures("the_only_cluster")
@pytest.mark.parametrize("address", [["--address", "127.0.0.1:9"], ["--address", "ray://127.0.0.1:9"], []])
def test_no_cluster_is_told(address: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "league", "tournament", "--strategy", "random,mirror", "--executor", "ray"]
    environment = {**os.environ, "RAY_TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [*command, *address], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    place = address[-1] if address else "this machine"
    assert f"there is no Ray cluster at {place}: start one with `ray start --head`" in done.stderr


def test_a_mistake_in_a_strategy_is_not_a_loss(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "class Mine:\n"
        "    made = 0\n"
        "    def __init__(self):\n"
        "        Mine.made += 1\n"
        "        if Mine.made > 2:\n"
        "            raise ValueError('only twice')\n"
        "    def choose(self, turn):\n"
        "        return turn.options[0]\n"
    )
    with pytest.raises(CommandError, match=r"cannot load .*mine.py:Mine: ValueError: only twice"):
        tournament([f"{file}:Mine", "random"], meetings=5_000, executor=lambda: ProcessPoolExecutor(1))


# --- shipping ---------------------------------------------------------------------------------------------------------

WORKER = """
import pickle, sys
with open(sys.argv[1], "rb") as stream:
    work, task = pickle.load(stream)
sys.stdout.buffer.write(work(task))
"""


def elsewhere(plan: TournamentPlan, folder: Path, remove: Path) -> bytes:
    """Play the first series of a plan in a process that cannot find its files."""
    package = folder / "package"
    package.write_bytes(pickle.dumps((shipped_work(plan), plan.facts.tasks()[0])))
    shutil.rmtree(remove)
    command = [sys.executable, "-c", WORKER, str(package)]
    done = subprocess.run(command, cwd="/", capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def here(plan: TournamentPlan) -> bytes:
    return LocalWork(plan.facts, plan.contenders)(plan.facts.tasks()[0])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "club" / "deep").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "club" / "__init__.py").write_text("")
    (folder / "club" / "data.txt").write_text("1")
    (folder / "club" / "deep" / "__init__.py").write_text(
        "from pathlib import Path\n"
        "from helper import pick\n"
        "class Member:\n"
        "    def choose(self, turn):\n"
        "        from ..deep import Path\n"
        "        assert (Path(__file__).parents[1] / 'data.txt').read_text() == '1'\n"
        "        return pick(turn)\n"
    )
    return folder


def test_files_travel_with_what_they_import(files: Path, tmp_path: Path) -> None:
    plan = TournamentPlan((f"{files}/mine.py:Mine", f"{files}/mine.py:Other"), meetings=50, seed=1)
    expected = here(plan)
    assert b'"failures"' not in expected
    assert elsewhere(plan, tmp_path, files) == expected


def test_modules_and_classes_travel_as_source(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(files))
    import importlib

    module = importlib.import_module("mine")
    try:
        plan = TournamentPlan(("club.deep:Member", module.Mine), meetings=50, seed=1)
        expected = here(plan)
        assert b'"failures"' not in expected
        assert elsewhere(plan, tmp_path, files) == expected
    finally:
        for name in ("mine", "helper", "late", "club", "club.deep"):
            sys.modules.pop(name, None)


def test_classes_without_a_file_travel_by_value(tmp_path: Path) -> None:
    class Local:
        def choose(self, turn: Any) -> str:
            return str(turn.options[-1])

    plan = TournamentPlan((Local, "random"), meetings=50, seed=1)
    expected = here(plan)
    (tmp_path / "nothing").mkdir()
    assert elsewhere(plan, tmp_path, tmp_path / "nothing") == expected


def test_a_game_of_another_package_travels_with_the_job(tmp_path: Path) -> None:
    """In processes of their own: games are looked up once for each process."""
    package = tmp_path / "installed"
    shutil.copytree(ROOT / "examples" / "games" / "nim", package)
    about = package / "league_game_nim.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: league-game-nim\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[league.games]\nnim = league_nim:GAME\n")
    script = (
        "import pickle, sys\n"
        "from league.features.experiments.playing.executors import LocalWork, shipped_work\n"
        "from league.features.experiments.playing.plan import TournamentPlan\n"
        "plan = TournamentPlan(('random', 'always_odd'), game='nim', meetings=50, seed=1)\n"
        "task = plan.facts.tasks()[0]\n"
        "open('package', 'wb').write(pickle.dumps((shipped_work(plan), task)))\n"
        "sys.stdout.buffer.write(LocalWork(plan.facts, plan.contenders)(task))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    shutil.rmtree(package)
    command = [sys.executable, "-c", WORKER, str(tmp_path / "package")]
    again = subprocess.run(command, cwd="/", capture_output=True, timeout=120, check=False)
    assert again.returncode == 0, again.stderr.decode()
    assert again.stdout == done.stdout


def test_a_worker_with_another_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = TournamentPlan(("random", "mirror"), meetings=5, seed=1)
    work = shipped_work(plan)
    monkeypatch.setattr("league.features.experiments.playing.executors.version", lambda _: "9.9")
    with pytest.raises(CommandError, match=r"a worker has agent-league 9.9: install version .* there"):
        work(plan.facts.tasks()[0])


def test_folders_of_killed_workers_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("league.features.experiments.playing.sources.gettempdir", lambda: str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    dead = tmp_path / f"{sources.FOLDER}{process.pid}-abc"
    alive = tmp_path / f"{sources.FOLDER}{os.getpid()}-abc"
    dead.mkdir()
    alive.mkdir()
    sources._sweep()
    assert (dead.exists(), alive.exists()) == (False, True)


def test_a_strategy_that_asks_stays_here() -> None:
    import league

    player = league.LLM("model", "http://127.0.0.1:9/v1")
    with pytest.raises(CommandError, match="asks somebody, so it plays in this process: leave out the executor"):
        tournament([player, "random"], executor=lambda: ProcessPoolExecutor(1))
