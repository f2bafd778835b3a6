"""`.ci/run` gives tests a second try, and does not let anybody overlook it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci" / "run"
MAKE = """#!/bin/sh
# A make whose tests fail as the files `1` and `2` say, in the first and the second try.
[ "$1" = check ] && exit 0
try=$(cat try 2> /dev/null || echo 1)
echo 2 > try
mkdir -p .pytest_cache/v/cache
cp "$try" .pytest_cache/v/cache/lastfailed
[ "$(cat "$try")" = "{}" ]
"""
STEADY = 'tests/e2e/test_demo.py::test_a_demo[with "quotes"]'
FLAKY = "tests/e2e/test_demo.py::test_another"


def run(folder: Path, first: list[str], second: list[str]) -> subprocess.CompletedProcess[str]:
    """The script in a project whose tests fail like this, in the first and in the second try."""
    (folder / ".ci").mkdir()
    shutil.copy(SCRIPT, folder / ".ci" / "run")
    for name, tests in (("1", first), ("2", second)):
        # As pytest writes its cache.
        (folder / name).write_text(json.dumps(dict.fromkeys(tests, True), indent=2, ensure_ascii=False))
    make = folder / "bin" / "make"
    make.parent.mkdir()
    make.write_text(MAKE)
    make.chmod(0o755)
    path = f"{make.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [folder / ".ci" / "run"], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def test_a_run_without_failures_lists_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, [], [])
    assert (done.returncode, "second try" in done.stdout) == (0, False)


@pytest.mark.parametrize(
    ("second", "status", "first_line"),
    [([], 0, "passed at second try    "), ([FLAKY], 1, "failed twice            ")],
)
def test_every_test_that_needed_a_second_try_is_listed_at_the_end(
    tmp_path: Path, second: list[str], status: int, first_line: str
) -> None:
    done = run(tmp_path, [FLAKY], second)
    assert done.returncode == status
    assert done.stdout.endswith(f"===\n{first_line}{FLAKY}\n")
    assert (tmp_path / ".pytest_cache" / "second-tries.txt").read_text() == f"{first_line}{FLAKY}\n"


def test_tests_that_fail_twice_are_told_from_those_that_passed(tmp_path: Path) -> None:
    done = run(tmp_path, [FLAKY, STEADY], [STEADY])
    assert done.returncode == 1
    assert f"passed at second try    {FLAKY}\n" in done.stdout
    assert "failed twice            tests/e2e/test_demo.py::test_a_demo" in done.stdout
