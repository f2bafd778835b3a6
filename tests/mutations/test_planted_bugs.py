"""Every planted bug is found: by simulated leagues, or else by the stateful tests of the machines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest

from league.features.lab.simulation.runs import Plan, play
from tests.mutations.planted_bugs import BUGS, Bug

ROOT = Path(__file__).parents[2]
LEAGUES = 80
CLEAN_LEAGUES = 20
PATIENCE_S = 2 * 3600.0
"""Virtual time after which a hunt counts a league as stalled: several times what any league in it takes."""
ALWAYS_THE_SAME = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
"""A hunt that found a bug once must find it every time."""

HUNT = """
import json
import sys
from league.features.lab.simulation import world
from league.features.lab.simulation.runs import Plan, play
world.PATIENCE_S = float(sys.argv[3])
plan = Plan(**json.loads(sys.argv[4]))
promise = json.loads(sys.argv[5])
for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    try:
        run = play(plan, seed)
    except Exception as error:
        sys.exit(f"seed {seed}: {error!r}")
    broken = [one for one in run.broken if promise in (None, one.promise)]
    if broken:
        sys.exit(f"seed {seed}: promise {broken[0].promise}: {broken[0].detail}")
    if promise is None and plan.faults == 0 and (run.technical_losses or not run.finished):
        sys.exit(f"seed {seed}: {run.technical_losses} technical losses, finished: {run.finished}")
"""


def planted(bug: Bug, folder: Path) -> dict[str, str]:
    """A copy of the package with the bug in it, as an environment to run Python in."""
    shutil.copytree(ROOT / "src", folder / "src")
    target = folder / "src" / "league" / bug.file
    text = target.read_text("utf-8")
    assert text.count(bug.old) == 1, f"{bug.file} has changed: the bug {bug.name!r} cannot be planted any more"
    target.write_text(text.replace(bug.old, bug.new), "utf-8")
    return {**os.environ, **ALWAYS_THE_SAME, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{ROOT}"}


def found_by_simulation(bug: Bug, environment: dict[str, str], leagues: int = LEAGUES) -> str:
    """What the simulator says; empty when it finds nothing."""
    seeds = [str(bug.first_seed), str(bug.first_seed + leagues)]
    arguments = [*seeds, str(PATIENCE_S), json.dumps(asdict(bug.plan)), json.dumps(bug.promise)]
    done = subprocess.run(
        [sys.executable, "-c", HUNT, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def found_by_stateful_test(bug: Bug, environment: dict[str, str]) -> str:
    """What that stateful test says; empty when it finds nothing."""
    file = ROOT / "tests" / "properties" / bug.stateful
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-p",
            "no:randomly",
            "--hypothesis-profile",
            "hunt",
            "--hypothesis-seed",
            "7",
            str(file),
        ],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 1 else ""


@cache
def broken_as_it_is(plan: Plan, seed: int) -> tuple[object, ...]:
    """What this league shows of the code as it is."""
    return tuple(play(plan, seed).broken)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found(bug: Bug, tmp_path: Path) -> None:
    environment = planted(bug, tmp_path)
    if bug.stateful:
        assert found_by_stateful_test(bug, environment)
        return
    said = f"promise {bug.promise}: " if bug.promise is not None else ""
    found = re.search(rf"^seed ([0-9]+): {said}", found_by_simulation(bug, environment), re.MULTILINE)
    assert found
    assert broken_as_it_is(bug.plan, int(found[1])) == ()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("faults", "outages"), [(0.0, 0.0), (0.3, 0.0), (0.0, 1.0), (0.2, 1.0)])
def test_the_hunt_finds_nothing_in_the_code_as_it_is(faults: float, outages: float) -> None:
    nothing = Bug("nothing", "__init__.py", '"""', '"""', faults=faults, outages=outages)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    assert found_by_simulation(nothing, environment, CLEAN_LEAGUES) == ""
