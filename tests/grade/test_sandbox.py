"""Whether a machine can keep submissions in a sandbox, and what is said where it cannot."""

from __future__ import annotations

import json
import os
import platform
import struct
import sys
from pathlib import Path

import pytest

from league.cli.main import main
from league.features.grade import sandbox, seccomp


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    folder = tmp_path / "submissions"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "player.py").write_text("def choose(turn): return turn.options[0]\n")
    return folder


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program in the place of bubblewrap."""
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_a_machine_that_runs_the_tests_has_a_sandbox() -> None:
    assert sandbox.obstacle() == ""


def test_without_bubblewrap_nothing_is_graded(
    submissions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["grade", str(submissions), "--game", "tic_tac_toe", "--to", str(tmp_path / "out")]) == 3
    said = capsys.readouterr()
    assert "apt install bubblewrap" in said.err
    assert "--no-sandbox" in said.err
    assert said.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo bubblewrap 0.6.2", "bubblewrap 0.6.2 is too old"),
        ("[ $1 = --version ] && echo bubblewrap 0.9.0 || { echo no namespaces >&2; exit 1; }", "no namespaces"),
    ],
)
def test_a_bubblewrap_that_does_not_do_is_refused(
    script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake(tmp_path, monkeypatch, script)
    assert words in sandbox.obstacle()
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--json"]) == 0, "leagues can be played all the same"
    checks = {check["check"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["sandbox"]["verdict"] == "note"
    assert words in checks["sandbox"]["detail"]


@pytest.mark.parametrize(("system", "word"), [("win32", "Windows"), ("darwin", "Linux only")])
def test_other_systems_are_refused(
    system: str, word: str, submissions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert main(["grade", str(submissions), "--game", "tic_tac_toe"]) == 3
    assert word in capsys.readouterr().err


def test_a_processor_without_a_filter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "riscv64" in sandbox.obstacle()


@pytest.mark.parametrize("machine", sorted(seccomp.MACHINES))
def test_the_filter_jumps_within_itself_and_ends_with_a_verdict(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    lines = list(struct.iter_unpack("HBBI", seccomp.program(is_alone=True)))
    for place, (_, if_true, if_false, _) in enumerate(lines):
        assert place + 1 + max(if_true, if_false) <= len(lines)
    assert lines[-1][0] == seccomp.RETURN


@pytest.mark.parametrize(
    "arguments",
    [
        ("--game", "chess"),
        ("--game", "tic_tac_toe", "--meetings", "0"),
        ("--game", "tic_tac_toe", "--move-seconds", "0"),
        ("--game", "tic_tac_toe", "--memory", "1"),
        ("--game", "tic_tac_toe", "--against", "nobody"),
        (),
    ],
)
def test_wrong_usage_is_said_before_anything_runs(arguments: tuple[str, ...], submissions: Path) -> None:
    assert main(["grade", str(submissions), *arguments]) == 2


def test_a_folder_without_submissions_is_wrong_usage(tmp_path: Path) -> None:
    assert main(["grade", str(tmp_path), "--game", "tic_tac_toe"]) == 2
    assert main(["grade", str(tmp_path / "nowhere"), "--game", "tic_tac_toe"]) == 2


def test_the_environment_of_the_grader_is_not_in_the_sandbox(submissions: Path) -> None:
    words = sandbox.walls(submissions / "ann", sandbox.INSIDE, 0)
    assert "--clearenv" not in words, "bubblewrap gets an empty environment, which it cannot leak"
    assert {words[place + 1] for place, word in enumerate(words) if word == "--setenv"} == set(sandbox.ENVIRONMENT)
