"""A program that answers questions: one JSON object per line on its input, one line of text on its output.

A line is `{"prompt": …, "options": […]}`. A process answers one question at a time, so questions that are asked at the
same time get a process each. A process that is late is ended: its answer would be taken for that of the next question.
Its errors go to our own stderr, where its author sees them.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import PurePath
from typing import Final

import msgspec

from league.features.minds.asked.transports import Answer, Document, MindQuestion, NoAnswer
from league.terminal import USAGE, CommandError

LONGEST_LINE: Final = 1_048_576
GRACE_S: Final = 2.0
"""How long a process may take to end after its input was closed."""


def words_of(command: str) -> list[str]:
    """Split a command line. CommandError if that is not possible."""
    try:
        words = shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise CommandError(f"{command!r} is not a command: {error}", USAGE) from error
    if not words:
        raise CommandError("the command is empty", USAGE)
    return words


def title_of(words: list[str]) -> str:
    """Return the name of a program: that of the script, if an interpreter runs one."""
    # The arguments may contain anything, also credentials: nothing but a file's name is shown.
    for word in words[1:]:
        if PurePath(word).suffix in (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb") and not word.startswith("-"):
            return PurePath(word).name
    return PurePath(words[0]).name


class AnsweringProgram:
    """Asks a program that runs here."""

    provider = "this machine"

    def __init__(self, command: str) -> None:
        self._words = words_of(command)
        self.model = title_of(self._words)
        self.identity = f"exec:{command}"
        self._free: list[Process] = []
        self._processes: set[Process] = set()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await asyncio.gather(*map(_end, self._processes))
            self._processes.clear()
            self._free.clear()

    async def greet(self) -> NoAnswer | None:
        """Start the first process."""
        try:
            self._free.append(await self._start())
        except OSError as error:
            return NoAnswer(f"{self._words[0]} cannot be started: {error.strerror}", advice="check the command")
        return None

    def request(self, question: MindQuestion) -> Document:
        return {"prompt": question.prompt, "options": list(question.options)}

    async def ask(self, document: Document, seconds: float) -> Answer | NoAnswer:
        process = None
        is_usable = False
        try:
            async with asyncio.timeout(seconds):
                process = await self._process()
                line = await _ask(process, document)
            is_usable = line.endswith(b"\n")
            if not line:
                return NoAnswer(f"{self.model} ended without an answer (status {await _status(process)})")
        except TimeoutError:
            return NoAnswer(f"{self.model} has not answered in time", is_late=True)
        except (OSError, ValueError) as error:
            # ValueError: the line is longer than we read.
            return NoAnswer(f"{self.model} cannot be asked: {error}")
        finally:
            # Also if we are cancelled, because the referee has given up.
            if process is not None:
                self._done_with(process, is_usable)
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        return Answer(text, raw=text)

    async def _process(self) -> Process:
        while self._free:
            process = self._free.pop()
            # It may have ended since its last answer.
            if process.returncode is None:
                return process
            self._processes.discard(process)
        return await self._start()

    async def _start(self) -> Process:
        process = await asyncio.create_subprocess_exec(*self._words, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE)
        self._processes.add(process)
        return process

    def _done_with(self, process: Process, is_usable: bool) -> None:
        if is_usable:
            self._free.append(process)
        elif process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()


async def _ask(process: Process, document: Document) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(msgspec.json.encode(document) + b"\n")
    await process.stdin.drain()
    return await process.stdout.readline()


async def _status(process: Process) -> int | None:
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await process.wait()
    return process.returncode


async def _end(process: Process) -> None:
    """Let a process end by itself, since it reads no more; otherwise end it."""
    if process.stdin is not None:
        process.stdin.close()
    if await _status(process) is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
