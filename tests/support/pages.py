"""Pages of Markdown as a reader uses them: their blocks and links, and a reader who types in what they say.

In a page, `$ ` begins a command, the lines below it are what it prints, and `…` stands for lines left out. A comment
before a block says what is to be done with it: `file: NAME` to save it, `terminal: NAME` to start its command there and
let it run, `said by: NAME` to see it in that terminal, `exits with N`, or `not run: WHY`.
"""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import COMMAND, READY, Process, Processes, run

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]+) -->\n)?^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
PROMPT, LEFT_OUT = "$ ", "…"
ASKS_A_MANAGER = frozenset(
    {
        "standings",
        "schedule",
        "match",
        "agents",
        "start",
        "pause",
        "resume",
        "approve",
        "reject",
        "close",
        "rotate-token",
    }
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code, with the comment before it."""

    language: str
    text: str
    note: str = ""

    @property
    def runs(self) -> list[tuple[str, list[str]]]:
        """The commands, each with the lines it is shown to print."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith(PROMPT) or self.language == "sh":
                found.append((line.removeprefix(PROMPT), []))
            elif found:
                found[-1][1].append(line)
        return found


def blocks(page: str) -> list[Block]:
    """All blocks of a page, or of a part of one."""
    return [Block(one["language"], one["text"], one["note"] or "") for one in BLOCK.finditer(page)]


def sections(page: str) -> dict[str, str]:
    """The parts of a page below its second-level headings."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def not_printed(shown: Iterable[str], printed: str) -> list[str]:
    """The lines a page shows that were not printed, in that order."""
    real = iter([alike(line) for line in printed.splitlines()])
    return [line for line in shown if line.strip() not in ("", LEFT_OUT) and alike(line) not in real]


def alike(line: str) -> str:
    """A line without what differs from run to run: numbers, digests, the coin, and the width of columns."""
    line = re.sub(r"\b[0-9a-f]{64}\b", "digest", line)
    line = re.sub(r"[0-9]+(?:\.[0-9]+)?", "N", line)
    line = re.sub(r"\b(?:won|lost)(?= +you)", "decided", line)
    line = re.sub(r"\b(?:WIN|DRAW)(?: PN| None)?$", "played", line)
    return " ".join(line.split())


MANAGER = "http://127.0.0.1:8000/mcp"


class Reader:
    """Somebody who does what a page says, in a folder of their own; the ports are whatever is free."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.terminals: dict[str, Process] = {}
        self._addresses: dict[str, str] = {}
        # Bound and not listening: whoever calls here is refused, and nobody else can take the port.
        self._nowhere = socket.socket()
        self._nowhere.bind(("127.0.0.1", 0))
        weakref.finalize(self, self._nowhere.close)

    def follow(self, some: Iterable[Block]) -> None:
        """Do what these blocks say; whatever comes out otherwise than shown is an AssertionError."""
        for one in some:
            what, _, rest = one.note.partition(": ")
            if what == "file":
                (self.processes.folder / rest).write_text(one.text, encoding="utf-8")
            elif what == "terminal":
                self._start(rest, one)
            elif what == "said by":
                for line in one.text.splitlines():
                    _said(self.terminals[rest], self.moved(line))
            elif what != "not run" and one.language in ("sh", "console"):
                self._run(one)

    def _start(self, terminal: str, block: Block) -> None:
        """Begin what keeps running; what ran in this terminal is stopped first."""
        self.stop(terminal)
        [(line, shown)] = block.runs
        words = [*shlex.split(line), "--port", "0"]
        if words[:2] != ["league", "manager"]:
            words += ["--manager", self._manager]
        command, arguments = self._program(words)
        process = Process(terminal, arguments, self.processes.folder, command)
        self.terminals[terminal] = process
        self.processes.started.append(process)
        self._addresses |= {one.removeprefix(READY): process.endpoint for one in shown if one.startswith(READY)}
        for one in shown:
            if one != LEFT_OUT and not one.startswith(READY):
                process.said(self.moved(one).removesuffix(LEFT_OUT))

    def _run(self, block: Block) -> None:
        status = int(block.note.removeprefix("exits with ") or 0)
        for line, shown in block.runs:
            done = self.run(line)
            assert done.returncode == status, (line, done)
            assert not_printed(shown, done.stdout) == [], (line, done.stdout)

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """A command that ends by itself."""
        words = shlex.split(self.moved(line))
        if words[0] == "league" and words[1] in ASKS_A_MANAGER and "--journal" not in words:
            words += ["--manager", self._manager]
        command, arguments = self._program(words)
        return run(command, arguments, self.processes.folder)

    def stop(self, terminal: str) -> None:
        """Ctrl-C, if something runs there."""
        process = self.terminals.pop(terminal, None)
        if process is not None and process.is_running:
            assert process.stop() == 0

    def leave(self) -> None:
        """Close all terminals."""
        for terminal in list(self.terminals):
            self.stop(terminal)
        self._nowhere.close()

    @property
    def _manager(self) -> str:
        return self._addresses.get(MANAGER, MANAGER.replace("8000", str(self._nowhere.getsockname()[1])))

    def moved(self, line: str) -> str:
        """The line with the addresses where agents really are instead of those of the page."""
        for shown, real in {MANAGER: self._manager, **self._addresses}.items():
            line = line.replace(shown.removesuffix("/mcp"), real.removesuffix("/mcp"))
        return line

    @staticmethod
    def _program(words: list[str]) -> tuple[tuple[str, ...], list[str]]:
        return (COMMAND, words[1:]) if words[0] == "league" else ((sys.executable,), words[1:])


def _said(process: Process, line: str) -> None:
    """Wait until it says this; but the number of a match of the conformance kit is another with each run, and so is
    that of a player among several."""
    named = re.match(r"(.*(?: in|kit's match) R\d+M|registered as P)\d+(.*)", line)
    if named is None:
        process.said(line.removesuffix(LEFT_OUT))
        return
    found = process.said(named[1])
    assert any(one.lstrip("0123456789") == named[2] for one in found), (line, found)
