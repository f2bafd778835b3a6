"""A class with everything that students hand in: a row for each, the right words, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.grade.nasty import INNOCENT, NASTY, Handed, hand_in, in_choice
from tests.grade.other_users import as_nobody, is_root
from tests.grade.second_class import HONEST, SLY
from tests.support.pages import ROOT
from tests.support.processes import WATCHDOG_S, wait_until_gone

pytestmark = pytest.mark.slow

LEAGUE = (sys.executable, "-m", "league")
BRIEF = ("--game", "tic_tac_toe", "--move-seconds", "0.5", "--load-seconds", "3", "--meetings", "4", "--jobs", "6")
SECRET = "SECRET-of-the-teacher"
GRADE_S = 280
STAYING = ("--game", "tic_tac_toe", "--load-seconds", "100", "--jobs", "3")
STUBBORN = (
    "import time\ntime.sleep(1000)\n",
    "while True: pass\n",
    "import signal\nfor number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)\nwhile True: pass\n",
)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="class-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "tmp").mkdir()
        (folder / "tmp").chmod(0o777)
        yield folder


def grade(command: list[str], folder: Path) -> dict[str, Any]:
    """Grade, and return the document."""
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "PASSWORD": SECRET}
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=GRADE_S
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def classes(innocent: Mapping[str, Handed], nasty: Mapping[str, Handed], number: int) -> list[Any]:
    """So many classes with a part of both each: in a small one, few have to play each other."""
    return [(dict(list(innocent.items())[n::number]), dict(list(nasty.items())[n::number])) for n in range(number)]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.timeout(2 * GRADE_S + 20)
@pytest.mark.parametrize(("innocent", "nasty"), [*classes(INNOCENT, NASTY, 2), *classes(HONEST, SLY, 4)])
def test_everyone_in_a_bad_class_gets_the_right_row_and_twice_the_same(
    innocent: Mapping[str, Handed], nasty: Mapping[str, Handed], open_folder: Path
) -> None:
    submissions = open_folder / "submissions"
    hand_in(submissions, {**innocent, **nasty})
    (open_folder / "out").mkdir()
    (open_folder / "out").chmod(0o777)
    command = [*LEAGUE, "grade", str(submissions), *BRIEF, "--json", "--to"]
    document = grade([*command, str(open_folder / "out" / "first")], open_folder)
    again = [*command, str(open_folder / "out" / "second")]
    # The second time as somebody else, where that is possible: the sandbox is another one.
    grade(as_nobody(again, open_folder / "tmp") if is_root() else again, open_folder)
    rows = {row["id"]: (row["status"], row["reason"]) for row in document["submissions"]}
    assert rows == {name: (handed.status, handed.reason) for name, handed in {**innocent, **nasty}.items()}
    first = files_of(open_folder / "out" / "first")
    second = files_of(open_folder / "out" / "second")
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert not any(SECRET.encode() in content for content in first.values())
    assert [path.name for path in (open_folder / "tmp").iterdir() if path.name.startswith("league-grade")] == []
    assert not any(Path(folder, "mark").exists() for folder in ("/tmp", "/usr", "/dev/shm"))
    points = {row["id"]: row["points"] for row in document["submissions"]}
    assert all(points[name] > 0 for name in innocent), points


# --- interrupted ------------------------------------------------------------------------------------------------------


def _descendants(pid: int) -> set[int]:
    """Return all processes below one."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        # Each thread has children of its own.
        for file in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            try:
                children = set(map(int, file.read_text().split()))
            except OSError:
                continue
            waiting += children
            found |= children
    return found


def _confined(pid: int, number: int) -> set[int]:
    """Wait until so many submissions have their limits, and return all processes below the grader."""
    until = time.monotonic() + WATCHDOG_S
    while True:
        processes = _descendants(pid)
        limits = ""
        for process in processes:
            try:
                limits += Path(f"/proc/{process}/limits").read_text()
            except OSError:
                continue
        if len(re.findall(r"Max processes +0 +0", limits)) >= number:
            return processes
        assert time.monotonic() < until
        threading.Event().wait(0.05)


AS_NOBODY = pytest.param((), signal.SIGKILL, as_nobody, marks=pytest.mark.skipif(not is_root(), reason="needs root"))
STOPPED: list[Any] = [((), number, list) for number in (signal.SIGINT, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM)]
STOPPED += [(("--no-sandbox",), number, list) for number in (signal.SIGINT, signal.SIGKILL)]


@pytest.mark.parametrize(("sandbox", "number", "user"), [*STOPPED, AS_NOBODY])
def test_a_grader_that_is_stopped_leaves_nothing(
    open_folder: Path, sandbox: tuple[str, ...], number: signal.Signals, user: Any
) -> None:
    hand_in(open_folder / "submissions", {str(place): Handed(code) for place, code in enumerate(STUBBORN)})
    command = [*LEAGUE, "grade", str(open_folder / "submissions"), *STAYING, *sandbox]
    with subprocess.Popen(
        command if user is list else user(command, open_folder / "tmp"),
        env={**os.environ, "TMPDIR": str(open_folder / "tmp")},
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    ) as grader:
        try:
            processes = _confined(grader.pid, len(STUBBORN))
            grader.send_signal(number)
            status = grader.wait(WATCHDOG_S)
        finally:
            grader.kill()
    assert status == (130 if number == signal.SIGINT else -number)
    wait_until_gone(sorted(processes))
    assert not [path for path in (open_folder / "tmp").iterdir() if path.name.startswith("league-grade")]


def test_what_had_no_time_to_ask_for_a_signal_ends_with_the_grader(open_folder: Path) -> None:
    hand_in(open_folder / "submissions", {"first": INNOCENT["first"]})
    program = open_folder / "bin" / "bwrap"
    program.parent.mkdir()
    # The first process of a sandbox waits for bubblewrap before it asks for the signal, and bubblewrap may be gone.
    program.write_text(f'#!/bin/sh\n[ "$1" = --args ] && sleep 1000\nexec {shutil.which("bwrap")} "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "TMPDIR": str(open_folder / "tmp"), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    command = [*LEAGUE, "grade", str(open_folder / "submissions"), *STAYING]
    with subprocess.Popen(command, env=environment, cwd=ROOT) as grader:
        until = time.monotonic() + WATCHDOG_S
        while not any(b"1000" in _command(pid) for pid in _descendants(grader.pid)):
            assert time.monotonic() < until
            threading.Event().wait(0.05)
        processes = sorted(_descendants(grader.pid))
        grader.kill()
    wait_until_gone(processes)
    assert not [path for path in (open_folder / "tmp").iterdir() if path.name.startswith("league-grade")]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


# --- a busy machine ---------------------------------------------------------------------------------------------------

THINKS = """
import time
def choose(turn):
    begin = time.process_time()
    while turn.match_id == "M1" and turn.number < 3 and time.process_time() < begin + 0.15: pass
    return turn.options[0]
"""


def test_nobody_is_slow_who_had_to_wait_for_a_processor(open_folder: Path) -> None:
    hand_in(open_folder / "submissions", {"thinks": Handed(THINKS)})
    command = [*LEAGUE, "grade", str(open_folder / "submissions"), *BRIEF, "--move-seconds", "0.2", "--json"]
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    # Each in a session of its own: some kernels share the processor among sessions.
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(8)]
    try:
        [row] = grade(command, open_folder)["submissions"]
    finally:
        os.sched_setaffinity(0, before)
        for process in busy:
            process.kill()
            process.wait()
    assert (row["status"], row["reason"]) == ("ok", "")


# --- without bubblewrap -----------------------------------------------------------------------------------------------


def test_without_a_sandbox_every_output_says_so_and_forks_are_refused_all_the_same(open_folder: Path) -> None:
    chosen = {name: NASTY[name] for name in ("forks", "thread", "memory", "exits", "loops", "raises")}
    hand_in(open_folder / "submissions", {"first": INNOCENT["first"], **chosen})
    out = open_folder / "out"
    command = [*LEAGUE, "grade", str(open_folder / "submissions"), *BRIEF, "--no-sandbox", "--to", str(out)]
    document = grade([*command, "--json"], open_folder)
    assert document["sandbox"] == "none"
    rows = {row["id"]: row["reason"] for row in document["submissions"]}
    assert rows == {"first": "", **{name: handed.reason for name, handed in chosen.items()}}
    for name, content in files_of(out).items():
        assert b"files and network were NOT protected" in content, name
    shutil.rmtree(open_folder / "submissions")
    hand_in(open_folder / "submissions", {"first": Handed(in_choice("pass"))})
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=GRADE_S)
    assert "files and network were NOT protected" in shown.stdout
