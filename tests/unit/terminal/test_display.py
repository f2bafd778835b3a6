"""What is shown to people: colours where the terminal has them, lines that break between words."""

from __future__ import annotations

import io
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.terminal import display, terminal_size
from league.terminal.console import Console
from league.terminal.display import Style, has_colours, paint, shown, width, wrap
from tests.support.processes import COMMAND, WATCHDOG_S


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "in_a_terminal", "in_a_pipe"),
    [
        ({"TERM": "xterm"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({}, False, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"TERM": "xterm", "FORCE_COLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
    ],
)
def test_colours_are_where_the_terminal_and_the_environment_want_them(
    environment: dict[str, str], in_a_terminal: bool, in_a_pipe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert has_colours(Terminal()) is in_a_terminal
    assert has_colours(io.StringIO()) is in_a_pipe
    text = f"{paint('ok', Style.GOOD)} all is well"
    assert shown(text, io.StringIO()) == ("\x1b[32mok\x1b[0m all is well" if in_a_pipe else "ok all is well")


def test_what_others_wrote_brings_no_colour_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert paint("\x1b[31mAnn", Style.GOOD) == "\x1b[32m\\x1b[31mAnn\x1b[0m"
    assert display.harmless("\x1b[31mAnn") == r"\x1b[31mAnn"
    assert display.harmless(paint("Ann", Style.GOOD)) == "\x1b[32mAnn\x1b[0m"


def test_a_painted_line_of_an_agent_keeps_its_colour(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    console = Console()
    console.put("stdout", paint("the league starts", Style.STRONG))
    console.put("stdout", "\x1b[1mnot this one")
    console.flush(WATCHDOG_S)
    assert capfd.readouterr().out == "\x1b[1mthe league starts\x1b[0m\n\\x1b[1mnot this one\n"


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("short", 80, ["short"]),
        ("  one two three four", 12, ["  one two", "  three four"]),
        ("one\ntwo three", 5, ["one", "two", "three"]),
        ("a-word-that-is-too-long and more", 10, ["a-word-that-is-too-long", "and more"]),
        ("猫 頭 鷹", 5, ["猫 頭", "鷹"]),
        ("          deep in here", 8, ["    deep", "    in", "    here"]),
        (f"{paint('ok', Style.GOOD)} all is well", 6, ["\x1b[32mok\x1b[0m all", "is", "well"]),
        ("name   points", 10, ["name", "points"]),
        ("ends here   ", 9, ["ends here   "]),
    ],
)
def test_long_lines_break_between_words_and_keep_their_indentation(text: str, columns: int, lines: list[str]) -> None:
    assert wrap(text, columns).split("\n") == lines


@given(st.text(alphabet="ab \n猫", max_size=60), st.integers(2, 20))
def test_breaking_loses_no_word_and_no_line_could_have_been_shorter(text: str, columns: int) -> None:
    lines = wrap(text, columns).split("\n")
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert width(line.rstrip(" ")) <= columns or " " not in line.strip(" ")


def at_a_terminal(folder: Path, *arguments: str, **environment: str) -> str:
    """What a command prints at a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "LINES")}
    with os.fdopen(ours, "rb", buffering=0) as reader:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=folder,
            env=known | {"TERM": "xterm", "COLUMNS": "60"} | environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        text = b""
        try:
            while piece := reader.read(65536):
                text += piece
        except OSError:  # Linux ends a terminal so when nobody holds its other side
            pass
        process.wait(WATCHDOG_S)
    return text.decode().replace("\r\n", "\n")


def test_commands_at_a_terminal_are_coloured_and_break_between_words(tmp_path: Path) -> None:
    told = at_a_terminal(tmp_path, "verify", "nowhere/at/all", NO_COLOR="")
    assert told.startswith("\x1b[31mleague verify:\x1b[0m ")
    helped = at_a_terminal(tmp_path, "check", "--help", NO_COLOR="1")
    assert "\x1b" not in helped
    assert "--hostile sends hundreds of bad inputs. The agent must\nrefuse each of them" in helped


@pytest.mark.parametrize("columns", ["", "0", "-3", "wide", "132"])
@pytest.mark.parametrize("lines", ["", "50"])
@pytest.mark.parametrize("has_terminal", [True, False])
def test_the_size_of_the_terminal_is_the_one_that_python_finds(
    columns: str, lines: str, has_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", lines)
    primary, secondary = pty.openpty()
    with os.fdopen(primary, "rb", 0), os.fdopen(secondary, "w") as terminal:
        subprocess.run(["stty", "cols", "91", "rows", "33"], stdin=secondary, check=True)
        monkeypatch.setattr(sys, "__stdout__", terminal if has_terminal else None)
        assert terminal_size() == shutil.get_terminal_size()
    assert terminal_size().columns == (132 if columns == "132" else 80), "the terminal is closed"
