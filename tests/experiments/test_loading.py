"""Files of strategies that cannot be loaded, and processes that strategies leave behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import league
from league.cli.main import main
from league.features.experiments.playing import loading
from tests.support.processes import WATCHDOG_S, wait_until_gone

pytestmark = pytest.mark.slow

GOOD = "class Mine:\n    def choose(self, turn):\n        return turn.options[0]\n"
BAD = {
    "raises.py": "1 / 0\n",
    "ends.py": "import os\nos._exit(3)\n",
    "nothing.py": "",
    "refuses.py": "from league import Player\nclass Mine(Player):\n    def move_it(self, turn): pass\n",
}
STARTS = """
import subprocess, sys
process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
open("pids", "a").write(f"{process.pid}\\n")
"""


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text(GOOD)
    for name, code in BAD.items():
        Path(name).write_text(code)


def pids() -> list[int]:
    return [int(line) for line in Path("pids").read_text().split()]


def test_what_cannot_be_loaded_takes_no_part_and_the_others_play(capsys: pytest.CaptureFixture[str]) -> None:
    names = ",".join(f"./{name}:Mine" for name in ("good.py", *BAD))
    assert main(["tournament", "--strategy", f"{names},random", "--meetings", "4", "--seed", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["strategy"] for row in document["standings"]} == {"./good.py:Mine", "random"}
    assert {row["strategy"] for row in document["failures"]} == {f"./{name}:Mine" for name in BAD}
    words = {row["strategy"]: row["failure"] for row in document["failures"]}
    assert "ZeroDivisionError" in words["./raises.py:Mine"]
    assert "status 3" in words["./ends.py:Mine"]


def test_with_too_few_left_the_tournament_says_what_is_wrong_with_all_of_them() -> None:
    with pytest.raises(league.LeagueError) as error:
        league.tournament(["./raises.py:Mine", "./ends.py:Mine", "random"])
    assert "raises.py" in str(error.value)
    assert "ends.py" in str(error.value)


def test_others_do_not_change_when_somebody_cannot_be_loaded() -> None:
    options: dict[str, Any] = {"meetings": 20, "seed": 3, "game": "tic_tac_toe"}
    without = league.tournament(["./good.py:Mine", "random"], **options)
    beside = league.tournament(["./raises.py:Mine", "./good.py:Mine", "random"], **options)
    assert list(without.match_rows()) == list(beside.match_rows())


def test_code_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("slow.py").write_text(f"{STARTS}\nwhile True: pass\n")
    monkeypatch.setattr(loading, "LOAD_SECONDS", 5.0)
    [missing] = loading.unloadable(["./slow.py:Mine", "random"], "even_odd")
    assert "more than 5 s" in missing.sentence
    wait_until_gone(pids())


@pytest.mark.parametrize(("others", "jobs"), [(("random", "mirror"), 2), (("random",), None)])
def test_processes_that_a_strategy_starts_end_with_the_tournament(others: tuple[str, ...], jobs: int | None) -> None:
    Path("starts.py").write_text(GOOD.replace("        return", f"        exec({STARTS!r})\n        return"))
    league.tournament(["./starts.py:Mine", *others], meetings=2, jobs=jobs, seed=1)
    assert pids()
    wait_until_gone(pids())


def test_a_script_from_a_pipe_is_played_in_its_own_process() -> None:
    script = "import league\nresult = league.tournament(['random', 'mirror', 'frequency'], meetings=10, seed=1)\n"
    done = subprocess.run(
        [sys.executable, "-"],
        input=f"{script}print(len(result.matches))\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=WATCHDOG_S,
    )
    assert done.stdout.split() == ["30"]
    assert done.stderr.count("\n") == 1
    assert "in this process" in done.stderr
