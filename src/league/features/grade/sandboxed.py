"""A submission as a process: started in its sandbox, asked over two pipes, and killed with everything in there.

Theory of operation. A process plays one series and is thrown away. Whatever it does wrong is raised as
`SubmissionFailed`, which the engine counts as a technical loss. A failure is *final* if the process cannot be asked
again: it ended, took too long, or sent what is no answer. A final failure costs the rest of the series.

Time is measured by the clock on the wall. A choice that runs out of it is compared with the CPU time of its process:
on a busy machine nobody is slow who had no processor. That goes on for at most four times the limit, so that a
submission that sleeps is noticed, too. Time in which the process waited for a processor is not counted there.

What goes wrong here, and not in a submission, is a `SandboxBroken`. It is not an Exception, so that the engine blames
nobody for it.
"""

from __future__ import annotations

import json
import math
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from league.features.grade import sandbox, seccomp
from league.features.grade.reasons import DIED, ILLEGAL, MEMORY, SAID_BY_RUNNER, SLOW, SubmissionFailed
from league.features.grade.submissions import Submission, make_readable

LONGEST_LINE: Final = 1 << 16
MOST_NOTES: Final = 20
"""Notes that come before one answer."""
MOST_OUTPUT: Final = 20_000
"""Bytes of what a submission printed that are looked at when it has died."""
PATIENCE: Final = 4
"""How many times its limit a choice may take on the wall."""
LONGEST_WAIT: Final = 0.2
"""Seconds until a thread that waits for a submission sees that grading was stopped."""
SIGNALLED: Final = 128
"""The runner and bubblewrap add the number of a signal to this."""
MOST_CHOICES: Final = 100_000
"""Choices of a series that the limit of CPU time allows for. The kernel ends what the grader did not."""
CHANCE: Final = re.compile(r"0x[0-9a-fA-F]+|\d[\d.]{7,}")
"""Addresses and long numbers, such as times: another one with each run."""


@dataclass(frozen=True)
class GradingOrder:
    """What is to be graded, and how."""

    submissions: Sequence[Submission]
    game: str
    meetings: int
    seed: int
    against: tuple[str, ...]
    """The reference players. Everybody qualifies against the first one."""
    move_seconds: float
    load_seconds: float
    memory: int
    """MiB."""
    jobs: int
    is_boxed: bool


class SandboxBroken(BaseException):
    """The grader cannot go on: a sandbox did not start, or grading was stopped."""


class RunnerLine(msgspec.Struct, frozen=True):
    """A line that came from a sandbox: the answer to question `q`, or without one a note of what was tried."""

    q: int = -1
    choice: str = ""
    talk: str = ""
    reason: str = ""
    """Why there is no choice."""
    text: str = ""
    trace: str = ""
    is_system: bool = False
    """The system refused something: perhaps what was noted before."""


class Grounds:
    """The folder of a grading, for the copies and the runner."""

    def __init__(self, order: GradingOrder) -> None:
        self.order = order
        self.is_stopped = False
        self.folder = Path(tempfile.mkdtemp(prefix="league-grade-"))
        # If this process is killed, somebody else must end what had no time to ask for a signal, and remove the copies,
        # whatever folders a student has closed. A first member keeps the number of their group.
        wait = ["/bin/sh", "-c", "read -r _"]
        self.member = subprocess.Popen(wait, stdin=subprocess.PIPE, process_group=0)
        sweep = 'read -r _; kill -KILL "-$2" 2>/dev/null; chmod -R u+rwX "$1"; exec rm -rf "$1"'
        self._sweeper = subprocess.Popen(
            ["/bin/sh", "-c", sweep, "sh", str(self.folder), str(self.member.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.runner = self.folder / "runner"
        shutil.copytree(sandbox.INSIDE, self.runner, ignore=shutil.ignore_patterns("__pycache__"))
        make_readable(self.runner, user=None)

    def remove(self) -> None:
        """Remove the folder. No process may run in it any more."""
        self._sweeper.communicate()
        self.member.communicate()


class SandboxedProcess:
    """A submission that can be asked; SubmissionFailed if it cannot be loaded."""

    def __init__(self, grounds: Grounds, copy: Path, number: int) -> None:
        self._grounds = grounds
        self._question = 0
        self._asked = ""
        self._unread = b""
        self._note: tuple[str, str] | None = None
        """Its last attempt before an answer."""
        self._first: int | None = None
        """The first process in the sandbox: its number alone could be another one's by the time it is killed."""
        self._held = ExitStack()
        try:
            self._start(copy, number)
        except OSError as error:
            self._held.close()
            raise SandboxBroken(f"no process can be started: {error}") from error
        try:
            self._begin("its import", grounds.order.load_seconds)
            self._answer()
        except BaseException:
            self.close()
            raise

    def _start(self, copy: Path, number: int) -> None:
        order = self._grounds.order
        self._output = self._held.enter_context(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - it is one
        # A submission may open it once more, as /dev/stdout, whoever it runs as.
        os.fchmod(self._output.fileno(), 0o666)
        folder, packages, runner = str(copy), sandbox.packages(), str(self._grounds.runner)
        if order.is_boxed:
            folder, packages, runner = sandbox.SUBMISSION, sandbox.packages_inside(), sandbox.RUNNER
        settings: dict[str, Any] = {
            "folder": folder,
            "packages": packages,
            "memory": order.memory << 20,
            "cpu_seconds": math.ceil(order.load_seconds + MOST_CHOICES * order.move_seconds),
            "uid": sandbox.user_of(number) if order.is_boxed and sandbox.is_root() else 0,
            "filter": "" if order.is_boxed else seccomp.program(is_alone=True).hex(),
        }
        with ExitStack() as passed:
            questions, self._questions = _pipe(passed, self._held)
            self._answers, answers = _pipe(self._held, passed)
            info, write_info = _pipe(self._held, passed)
            os.set_blocking(self._questions, False)
            settings["pipes"] = (questions, answers)
            command = [sandbox.interpreter(), *sandbox.PYTHON, f"{runner}/runner.py", json.dumps(settings)]
            descriptors = [questions, answers]
            if order.is_boxed:
                filters = _readable(seccomp.program(), passed)
                walls = sandbox.walls(copy, self._grounds.runner, number)
                walls += ["--seccomp", f"{filters}", "--info-fd", f"{write_info}"]
                arguments = _readable(b"".join(os.fsencode(word) + b"\0" for word in walls), passed)
                command = [shutil.which("bwrap") or "bwrap", "--args", f"{arguments}", "--", *command]
                descriptors += [filters, arguments, write_info]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=descriptors,
                cwd=copy,
                env={} if order.is_boxed else sandbox.ENVIRONMENT | {"HOME": str(copy)},
                start_new_session=not order.is_boxed,
                process_group=self._grounds.member.pid if order.is_boxed else None,
            )
        self._first_pid = self._process.pid
        if order.is_boxed:
            self._find_first(info)

    def _find_first(self, info: int) -> None:
        text = b""
        while data := os.read(info, LONGEST_LINE):
            text += data
        try:
            self._first_pid = json.loads(text)["child-pid"]
            self._first = os.pidfd_open(self._first_pid)
            self._held.callback(os.close, self._first)
        except (ValueError, OSError):
            self._process.wait()
            if not text:
                raise SandboxBroken(f"bubblewrap did not start: {self._last_words()}") from None

    # --- questions ----------------------------------------------------------------------------------------------------

    def ask(self, turn: dict[str, Any], question: str) -> RunnerLine:
        """Return the answer to a turn. `question` describes it for people."""
        self._question += 1
        self._asked = question
        self._begin("a choice", self._grounds.order.move_seconds)
        self._send({"q": self._question, "turn": turn})
        return self._answer()

    def tell(self, match: dict[str, Any]) -> None:
        """Tell it how a match ended."""
        self._begin("the end of a match", self._grounds.order.move_seconds)
        self._send({"over": match})

    def _begin(self, what: str, seconds: float) -> None:
        self._what = what
        self._seconds = seconds
        self._is_late = False
        self._since = time.monotonic()
        self._before = self._times() if self._question else (0.0, 0.0)

    def _wait(self, descriptor: int, event: int) -> None:
        """Wait until a pipe is ready. SubmissionFailed if that takes too long."""
        poll = select.poll()
        poll.register(descriptor, event)
        while not self._grounds.is_stopped:
            left = self._left()
            is_ready = poll.poll(1000 * min(left, LONGEST_WAIT))
            # Perhaps it was this thread that came late: it may look once more, but not at every byte.
            if self._is_late or (left == 0 and not is_ready):
                raise self._final(SLOW, f"{self._what} took more than {self._seconds:g} s")
            self._is_late = left == 0
            if is_ready:
                return
        raise SandboxBroken("grading was stopped")

    def _left(self) -> float:
        """Return how many seconds it has left, at least."""
        left = self._seconds - (time.monotonic() - self._since)
        if left <= 0:
            used, waited = (now - before for now, before in zip(self._times(), self._before, strict=True))
            left = min(self._seconds - used, left + waited + (PATIENCE - 1) * self._seconds)
        return max(left, 0.0)

    def _times(self) -> tuple[float, float]:
        """Return the seconds that it has used a processor and waited for one; 0 where the system does not tell."""
        with suppress(OSError, IndexError):
            pid = self._first_pid
            if self._first is not None:
                # The submission is its only child.
                pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
            used, waited, _ = map(int, Path(f"/proc/{pid}/schedstat").read_text().split())
            return used / 1e9, waited / 1e9
        return 0.0, 0.0

    def _send(self, row: dict[str, Any]) -> None:
        data = msgspec.json.encode(row) + b"\n"
        while data:
            self._wait(self._questions, select.POLLOUT)
            try:
                data = data[os.write(self._questions, data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._death() from None

    def _answer(self) -> RunnerLine:
        self._note = None
        for _ in range(MOST_NOTES):
            line = self._line()
            if line.q < 0 and line.reason in SAID_BY_RUNNER:
                self._note = (line.reason, line.text)
            elif line.q != self._question or line.reason not in ("", *SAID_BY_RUNNER):
                break
            elif line.reason:
                raise self._said(line)
            else:
                return line
        raise self._tampered()

    def _said(self, line: RunnerLine) -> SubmissionFailed:
        """Return the failure that the runner tells of."""
        reason, text = line.reason, line.text
        if line.is_system and self._note:
            # The words of the system depend on who grades.
            reason, attempt = self._note
            text = f"{attempt}: the sandbox does not allow it"
        text, trace = (CHANCE.sub("…", words) for words in (text, line.trace))
        return SubmissionFailed(reason, text, trace, self._asked, is_final=not self._question)

    def _line(self) -> RunnerLine:
        """Return the next line that it wrote."""
        while b"\n" not in self._unread:
            if len(self._unread) > LONGEST_LINE:
                raise self._tampered()
            self._wait(self._answers, select.POLLIN)
            data = os.read(self._answers, LONGEST_LINE)
            if not data:
                raise self._death()
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            return msgspec.json.decode(line, type=RunnerLine)
        except (msgspec.DecodeError, RecursionError):
            raise self._tampered() from None

    # --- the end ------------------------------------------------------------------------------------------------------

    def _tampered(self) -> SubmissionFailed:
        return self._final(ILLEGAL, "it wrote to the pipe of the grader")

    def _death(self) -> SubmissionFailed:
        """Say how it ended: its end of the pipe is closed."""
        try:
            status = self._process.wait(PATIENCE * self._grounds.order.load_seconds)
        except subprocess.TimeoutExpired:
            return self._final(DIED, "it closed the pipe of the grader")
        # This is how Python ends when it cannot even say what happened.
        if status == 1 and self._last_words().endswith("MemoryError\n"):
            return self._final(MEMORY, "it used more memory than it may")
        try:
            number = signal.Signals(status - SIGNALLED if status > SIGNALLED else -status)
        except ValueError:
            return self._final(DIED, f"ended its process with status {status}")
        return self._final(DIED, f"killed by {number.name}")

    def _final(self, reason: str, text: str) -> SubmissionFailed:
        if self._note and reason in (DIED, SLOW):
            reason, attempt = self._note
            text = f"{text} ({attempt})"
        return SubmissionFailed(reason, text, question=self._asked)

    def _last_words(self) -> str:
        """Return the end of what it printed."""
        start = max(0, os.fstat(self._output.fileno()).st_size - MOST_OUTPUT)
        return os.pread(self._output.fileno(), MOST_OUTPUT, start).decode("utf-8", "replace")

    def close(self) -> None:
        """End it, and give back what it held."""
        with suppress(ProcessLookupError, PermissionError):
            if self._first is not None:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            elif self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._held.close()


def _pipe(of_reader: ExitStack, of_writer: ExitStack) -> tuple[int, int]:
    """Return the ends of a pipe, and who closes them."""
    read, write = os.pipe()
    of_reader.callback(os.close, read)
    of_writer.callback(os.close, write)
    return read, write


def _readable(data: bytes, passed: ExitStack) -> int:
    """Return a descriptor that this can be read from, for another process."""
    with ExitStack() as written:
        read, write = _pipe(passed, written)
        os.write(write, data)
    return read
