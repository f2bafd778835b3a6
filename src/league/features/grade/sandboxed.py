"""A submission as a process: started in its sandbox, asked over two pipes, and killed with everything in there.

Theory of operation. A process plays one series and is thrown away. Whatever it does wrong is raised as
`SubmissionFailed`, which the engine counts as a technical loss. A failure is *final* if the process cannot be asked
again: it ended, took too long, or sent what is no answer. A final failure costs the rest of the series.

Time is measured by the clock on the wall. A choice that runs out of it is compared with the CPU time of its process:
on a busy machine nobody is slow who had no processor. That goes on for at most four times the limit, so that a
submission that sleeps is noticed, too.

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

REPEATED: Final = 32
"""Matches that are played twice. Somebody who tosses a coin in each is found with near certainty."""
LONGEST_LINE: Final = 1 << 16
MOST_NOTES: Final = 20
"""Notes that come before one answer."""
MOST_OUTPUT: Final = 20_000
"""Characters of what a submission printed that are kept."""
PATIENCE: Final = 4
"""How many times its limit a choice may take on the wall."""
LONGEST_WAIT: Final = 0.2
"""Seconds until a thread that waits for a submission sees that grading was stopped."""
SIGNALLED: Final = 128
"""bubblewrap and the runner add the number of a signal to this."""
CPU_PER_CHOICE: Final = 100
"""Choices of a match that the limit of CPU time allows for. The kernel ends what the grader did not."""
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

    @property
    def cpu_seconds(self) -> int:
        choices = CPU_PER_CHOICE * max(self.meetings, REPEATED)
        return math.ceil(self.load_seconds + choices * self.move_seconds)


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
        # If this process is killed, somebody else must remove the copies.
        self._sweeper = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; exec rm -rf -- "$1"', "sh", str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.runner = self.folder / "runner"
        shutil.copytree(sandbox.INSIDE, self.runner, ignore=shutil.ignore_patterns("__pycache__"))
        make_readable(self.runner, user=None)

    def remove(self) -> None:
        """Remove the folder. No process may run in it any more."""
        self._sweeper.communicate()


class SandboxedProcess:
    """A submission that can be asked; SubmissionFailed if it cannot be loaded."""

    def __init__(self, grounds: Grounds, copy: Path, number: int) -> None:
        self.attempts: list[str] = []
        """What it tried that the sandbox forbids, in its order."""
        self._grounds = grounds
        self._question = 0
        self._asked = ""
        self._unread = b""
        self._printed_when_answered = 0
        self._notes: list[tuple[str, str]] = []
        self._first: int | None = None
        """Of the first process in the sandbox: a number alone could be another one's by the time it is killed."""
        self._held = ExitStack()
        try:
            self._process = self._started(copy, number)
        except OSError as error:
            self._held.close()
            raise SandboxBroken(f"no process can be started: {error}") from error
        try:
            self._begin("its import", grounds.order.load_seconds)
            self._answer()
        except BaseException:
            self.close()
            raise

    def _started(self, copy: Path, number: int) -> subprocess.Popen[bytes]:
        order = self._grounds.order
        self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `close`
        self._held.callback(self._output.close)
        with ExitStack() as passed:
            questions, self._questions = self._pipe(passed, self._held)
            self._answers, answers = self._pipe(self._held, passed)
            os.set_blocking(self._questions, False)
            settings = {
                "pipes": (questions, answers),
                "folder": sandbox.SUBMISSION if order.is_boxed else str(copy),
                "packages": sandbox.packages_inside() if order.is_boxed else sandbox.packages(),
                "memory": order.memory << 20,
                "cpu_seconds": order.cpu_seconds,
                "uid": sandbox.user_of(number) if order.is_boxed and sandbox.is_root() else 0,
                "filter": "" if order.is_boxed else seccomp.program(is_alone=True).hex(),
            }
            runner = sandbox.RUNNER if order.is_boxed else self._grounds.runner
            command = [sandbox.interpreter(), *sandbox.PYTHON, f"{runner}/runner.py", json.dumps(settings)]
            descriptors = [questions, answers]
            if order.is_boxed:
                info, write_info = self._pipe(self._held, passed)
                filters = self._readable(seccomp.program(), passed)
                walls = [*sandbox.walls(copy, self._grounds.runner, number), "--seccomp", f"{filters}"]
                walls += ["--info-fd", f"{write_info}"]
                arguments = self._readable(b"".join(os.fsencode(word) + b"\0" for word in walls), passed)
                command = [shutil.which("bwrap") or "bwrap", "--args", f"{arguments}", "--", *command]
                descriptors += [filters, arguments, write_info]
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=descriptors,
                cwd=copy,
                env={} if order.is_boxed else sandbox.ENVIRONMENT | {"HOME": str(copy)},
                start_new_session=True,
            )
        self._first_pid = process.pid
        if order.is_boxed:
            self._find_first(process, info)
        return process

    def _find_first(self, process: subprocess.Popen[bytes], info: int) -> None:
        text = b""
        while b"}" not in text and (data := os.read(info, LONGEST_LINE)):
            text += data
        try:
            self._first_pid = json.loads(text)["child-pid"]
            self._first = os.pidfd_open(self._first_pid)
            self._held.callback(os.close, self._first)
        except (ValueError, OSError):
            process.wait()
            if not text:
                raise SandboxBroken(f"bubblewrap did not start: {self.printed()}") from None

    @staticmethod
    def _pipe(of_reader: ExitStack, of_writer: ExitStack) -> tuple[int, int]:
        """Return the ends of a pipe, and who closes them."""
        read, write = os.pipe()
        of_reader.callback(os.close, read)
        of_writer.callback(os.close, write)
        return read, write

    def _readable(self, data: bytes, passed: ExitStack) -> int:
        """Return a descriptor that this can be read from, for another process."""
        with ExitStack() as written:
            read, write = self._pipe(passed, written)
            os.write(write, data)
        return read

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
        self._since = time.monotonic()
        self._used = self._cpu_seconds() if self._question else 0.0

    def _wait(self, descriptor: int, event: int) -> None:
        """Wait until a pipe is ready. SubmissionFailed if that takes too long."""
        poll = select.poll()
        poll.register(descriptor, event)
        while True:
            if self._grounds.is_stopped:
                raise SandboxBroken("grading was stopped")
            wall = time.monotonic() - self._since
            left = self._seconds - wall
            if left <= 0:
                used = self._cpu_seconds() - self._used
                left = min(self._seconds - used, PATIENCE * self._seconds - wall)
                if left <= 0:
                    raise self._final(SLOW, f"{self._what} took more than {self._seconds:g} s")
            if poll.poll(1000 * min(left, LONGEST_WAIT) + 1):
                return

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
        self._notes.clear()
        while (line := self._line()).q < 0:
            self._notes.append((line.reason, line.text))
            self.attempts.append(f"{line.reason}: {line.text}")
            if len(self._notes) > MOST_NOTES or line.reason not in SAID_BY_RUNNER:
                raise self._tampered()
        if line.q != self._question or line.reason not in ("", *SAID_BY_RUNNER):
            raise self._tampered()
        if not line.reason:
            self._printed_when_answered = self._printed_size()
            return line
        reason, text = line.reason, line.text
        if line.is_system and self._notes:
            # The words of the system depend on who grades.
            reason, attempt = self._notes[-1]
            text = f"{attempt}: the sandbox does not allow it"
        text, trace = (CHANCE.sub("…", words) for words in (text, line.trace))
        raise SubmissionFailed(reason, text, trace, self._asked, is_final=not self._question)

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

    def _cpu_seconds(self) -> float:
        """Return the CPU time that it has used; 0 where the system does not tell."""
        with suppress(OSError, IndexError):
            pid = self._first_pid
            if self._first is not None:
                # The submission is its only child.
                pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
            # This is how Linux names the clock of another process.
            return time.clock_gettime((~pid << 3) | 2)
        return 0.0

    # --- the end ------------------------------------------------------------------------------------------------------

    def _tampered(self) -> SubmissionFailed:
        return self._final(ILLEGAL, "it wrote to the pipe of the grader")

    def _death(self) -> SubmissionFailed:
        """Say how it ended: its end of the pipe is closed."""
        try:
            status = self._process.wait(PATIENCE * self._grounds.order.load_seconds)
        except subprocess.TimeoutExpired:
            return self._final(DIED, "it closed the pipe of the grader")
        if status > SIGNALLED:
            status = SIGNALLED - status
        if status == -signal.SIGXCPU:
            return self._final(SLOW, "its series took too much CPU time")
        # This is how Python ends when it cannot even say what happened.
        if status == 1 and self.printed().endswith("MemoryError\n"):
            return self._final(MEMORY, "it used more memory than it may")
        if status < 0:
            return self._final(DIED, f"killed by {_signal_name(-status)}")
        return self._final(DIED, f"ended its process with status {status}")

    def _final(self, reason: str, text: str) -> SubmissionFailed:
        if self._notes and reason in (DIED, SLOW):
            reason, attempt = self._notes[-1]
            text = f"{text} ({attempt})"
        return SubmissionFailed(reason, text, question=self._asked)

    def _printed_size(self) -> int:
        return os.fstat(self._output.fileno()).st_size

    def printed(self) -> str:
        """Return the end of what it printed."""
        return self._printed_until(self._printed_size())

    def printed_before_its_last_answer(self) -> str:
        """Return the end of that: what it prints later, while nobody waits for it, differs from run to run."""
        return self._printed_until(self._printed_when_answered)

    def _printed_until(self, size: int) -> str:
        start = max(0, size - MOST_OUTPUT)
        data = os.pread(self._output.fileno(), size - start, start)
        return data.decode("utf-8", "replace")

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self._first is not None:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            elif self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it, and give back what it held."""
        self._kill()
        self._process.wait()
        self._held.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
