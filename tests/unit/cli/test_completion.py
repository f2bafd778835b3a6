"""What a shell completes: asked of bash itself; of zsh and fish, that nothing is missing in their scripts."""

from __future__ import annotations

import subprocess

import pytest

from league.cli.main import command_parsers, main, modules
from tests.support.processes import WATCHDOG_S


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(written: str, *words: str) -> set[str]:
    """What bash offers for the last of these words."""
    asked = 'COMP_WORDS=(league "$@"); COMP_CWORD=$#; _shtab_league; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{written}\n{asked}", "bash", *words],
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def options(command: str) -> set[str]:
    found = command_parsers()[command]._actions
    return {flag for one in found if one.help != "==SUPPRESS==" for flag in one.option_strings}


def test_bash_completes_every_command_and_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    written = script("bash", capsys)
    assert completed(written, "") == set(modules())
    assert completed(written, "--") == {"--help", "--version"}
    assert completed(written, "ma") == {"manager", "match"}
    for command in modules():
        assert completed(written, command, "-") == options(command), command


def test_bash_completes_values_where_there_are_few_and_file_names_where_not(capsys: pytest.CaptureFixture[str]) -> None:
    written = script("bash", capsys)
    assert completed(written, "manager", "--profile", "") == {"compat", "strict"}
    assert completed(written, "manager", "--port", "8000", "--profile", "s") == {"strict"}
    assert completed(written, "completion", "z") == {"zsh"}
    assert "LICENSE" in completed(written, "replay", "LIC"), "a file of the folder the tests run in"


def test_the_script_for_zsh_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    written = script("zsh", capsys)
    for command in modules():
        begin = written.index(f"_shtab_league_{command.replace('-', '_')}_options=(")
        part = written[begin : written.index("\n)", begin)]
        assert [flag for flag in options(command) if flag not in part] == [], command


def test_the_script_for_fish_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    written = script("fish", capsys)
    for command in modules():
        lines = [line for line in written.splitlines() if command in line]
        for flag in options(command):
            name = f" -l {flag[2:]} " if flag.startswith("--") else f" -s {flag[1:]} "
            assert any(name in line for line in lines), (command, flag)
