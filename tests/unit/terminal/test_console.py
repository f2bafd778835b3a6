"""What agents print: masked, harmless, and never waited for."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from league.protocol.safe_text import printable
from league.terminal.console import MOST_WAITING, Console


@pytest.mark.requirement("TOKEN.never_shown")
def test_nothing_that_is_printed_shows_a_token_or_moves_a_cursor() -> None:
    assert "secret" not in printable('{"auth_token": "secret"}')
    assert printable("tok_p01_" + "x" * 43).startswith("tok_")
    assert "x" * 43 not in printable("tok_p01_" + "x" * 43)
    assert printable("\x1b[2J\x1b]0;gone\x07Ann\r\x9b31m") == r"\x1b[2J\x1b]0;gone\x07Ann\r\x9b31m"
    assert printable("Änne 李\n\tnext\udcff", keep="\n\t") == "Änne 李\n\tnext\\udcff"
    assert printable("\u202egnp.exe") == r"\u202egnp.exe"


SCRIPT = """
from league.terminal import console
for number in range({lines}):
    console.say(f"line {{number}} " + "x" * 100)
    console.complain(f"trouble {{number}}")
console.flush()
"""


def test_lines_come_out_in_order_and_whole() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(lines=MOST_WAITING // 4)], capture_output=True, text=True, check=True
    )
    assert [line.split()[1] for line in done.stdout.splitlines()] == [str(n) for n in range(MOST_WAITING // 4)]
    assert done.stderr.splitlines()[-1] == f"trouble {MOST_WAITING // 4 - 1}"


def test_a_pipe_that_nobody_reads_stops_nobody() -> None:
    reading, writing = os.pipe()
    script = SCRIPT.format(lines=50 * MOST_WAITING)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=writing, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        assert process.wait(60) == 0, "it ended although its lines fit into no pipe"
    finally:
        process.kill()
        os.close(reading)


def test_lines_without_room_are_counted_once_there_is_some(capfd: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console._dropped = 7
    console.put("stdout", "hello")
    console.flush(60)
    assert capfd.readouterr().out == "(7 lines were not shown: nobody read them)\nhello\n"


STAMPED = """
from league.terminal import console
console.stamp_lines()
console.say("ready: here")
console.say("hello")
console.flush()
"""


def test_lines_for_a_file_have_the_time_but_the_line_that_programs_wait_for_has_none() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JOURNAL_STREAM"}
    for variables, pattern in (
        (environment, r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z hello"),
        ({**environment, "JOURNAL_STREAM": "8:1"}, "hello"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", STAMPED], capture_output=True, text=True, check=True, env=variables
        )
        [ready, stamped] = done.stdout.splitlines()
        assert ready == "ready: here"
        assert re.fullmatch(pattern, stamped)
