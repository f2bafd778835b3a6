"""Runs one submission in its sandbox: sets its own limits, imports `player.py`, and answers questions over two pipes.

Theory of operation. The grader starts this file with one argument, its settings as JSON. The first process of a sandbox
starts another one, waits for it, and can't be looked at: bubblewrap's own one is of the same user, so submissions could
write to its memory. The other process gives up what it does not need: all descriptors but the two pipes and its output,
its user, and what its limits forbid. Only then does it import code of the submission. That code may change everything
here: the grader believes no line that it reads, and what must hold is held by the sandbox.

Lines are JSON. The grader asks `{"q": 7, "turn": {…}}` and reads one answer with the same number: a `choice`, or the
`reason` why there is none. Loading the submission is question 0. `{"over": {…}}` tells of the end of a match and has no
answer. A line without a number is a note: it comes before an answer when the submission tries what the sandbox forbids,
and is how the grader finds the right words for what happens next.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import resource
import select
import signal
import struct
import sys
import traceback
from typing import Any

MOST_TEXT = 2_000
"""Characters of a message or a choice."""
MOST_TRACE = 6_000
MOST_NOTES = 8
DEEPEST = 10
"""Causes of an exception that are looked at."""
RESERVE = 4 << 20
"""Bytes that are free for an answer when a submission has taken all of its memory."""
SET_DEATH_SIGNAL, SET_DUMPABLE, SET_SECCOMP, SET_NO_NEW_PRIVILEGES = 1, 4, 22, 38
"""What `prctl` can do."""
FILTER = 2
SIGNALLED = 128
"""A process that a signal ended has the status of this and its number, as in a shell."""
QUESTIONS = 200
ANSWERS = 201
"""The descriptors of the pipes, the same in each sandbox."""
LIMITS = {
    "RLIMIT_CORE": 0,
    "RLIMIT_MEMLOCK": 0,
    "RLIMIT_MSGQUEUE": 0,
    "RLIMIT_SIGPENDING": 64,
    "RLIMIT_FSIZE": 1 << 20,
    "RLIMIT_NOFILE": ANSWERS + 1,
    "RLIMIT_NPROC": 0,
}
REASONS = {
    "network": "socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname",
    "process or thread": "os.fork os.forkpty os.posix_spawn os.system os.exec os.kill os.killpg subprocess.Popen",
    "outside its folder": "open os.listdir os.scandir os.chdir os.remove os.rename os.mkdir os.chmod os.link "
    "os.symlink os.truncate shutil.rmtree sqlite3.connect",
}
NETWORK, PROCESS, OUTSIDE = REASONS
NOTED = {event: reason for reason, events in REASONS.items() for event in events.split()}
"""What events of Python mean."""
READING = ("os.listdir", "os.scandir", "os.chdir")
READABLE = ("/usr", "/lib", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/proc/self", "/etc/ld.so.cache")
WRITABLE = ("/dev/null", "/dev/stdout", "/dev/stderr")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def confine(settings: dict[str, Any]) -> None:
    """Give up rights, descriptors and resources for good."""
    questions, answers = settings["pipes"]
    os.dup2(questions, QUESTIONS, inheritable=False)
    os.dup2(answers, ANSWERS, inheritable=False)
    os.closerange(3, QUESTIONS)
    # Only Linux has it.
    prctl = getattr(ctypes.CDLL(None), "prctl", lambda *_: 0)
    # For everybody but root, most of what /proc says about these processes then belongs to root.
    prctl(SET_DUMPABLE, 0, 0, 0, 0)
    if os.getpid() == 1:
        # A first process ignores every signal for which it has no handler.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if child := os.fork():
            os.closerange(QUESTIONS, ANSWERS + 1)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os._exit(code if code >= 0 else SIGNALLED - code)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    uid = settings["uid"]
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    limits = {**LIMITS, "RLIMIT_AS": settings["memory"], "RLIMIT_CPU": settings["cpu_seconds"]}
    for name, limit in limits.items():
        # macOS has no limit on some of these.
        if hasattr(resource, name):
            resource.setrlimit(getattr(resource, name), (limit, limit))
    lines = bytes.fromhex(settings["filter"])
    if lines:
        prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        buffer = ctypes.create_string_buffer(lines, len(lines))
        prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if prctl(SET_SECCOMP, FILTER, struct.pack("HP", len(lines) // 8, ctypes.addressof(buffer)), 0, 0):
            raise OSError("the system refuses a filter of system calls")


class Witness:
    """Notes what a submission tries that the sandbox forbids, a few things for each question."""

    def __init__(self, say: Any, folder: str, packages: list[str]) -> None:
        self.noted: set[str] = set()
        self.is_looking = False
        """Code of the submission runs now."""
        self.folder = folder
        self._say = say
        self._writable = (folder, *WRITABLE)
        self._readable = (folder, sys.prefix, sys.base_prefix, *READABLE, *packages)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """Judge an audit event of Python."""
        reason = NOTED.get(event)
        if not self.is_looking or reason is None:
            return
        if reason == OUTSIDE:
            is_writing = event not in READING
            if event == "open":
                is_writing = isinstance(args[2], int) and bool(args[2] & WRITING)
            self.touched(args[0], is_writing)
        # A process may send signals to itself.
        elif event != "os.kill" or args[0] != os.getpid():
            said = " ".join(repr(arg) for arg in args if not hasattr(arg, "fileno"))
            self.note(reason, f"{event} {said}".strip())
            if event in ("os.kill", "os.killpg"):
                # Depending on who grades, the system would let it signal the first process, which ignores that.
                raise PermissionError(errno.EPERM, "it may signal nobody else")

    def note(self, reason: str, text: str) -> None:
        text = plain(text)[:200]
        if text not in self.noted and len(self.noted) < MOST_NOTES:
            self.noted.add(text)
            self._say(reason=reason, text=text)

    def touched(self, path: Any, is_writing: bool) -> None:
        """Note a file that it may not use so."""
        if isinstance(path, str | bytes | os.PathLike):
            whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - links are not followed
            allowed = self._writable if is_writing else self._readable
            if not any(whole == folder or whole.startswith(f"{folder}/") for folder in allowed):
                self.note(OUTSIDE, f"{'write' if is_writing else 'read'} {whole}")


def plain(text: str) -> str:
    """Return text that any encoding of Unicode can carry."""
    return text.encode("utf-8", "backslashreplace").decode()


# --- what failed ------------------------------------------------------------------------------------------------------


def failed(reason: str, text: str, trace: str = "", is_system: bool = False) -> dict[str, Any]:
    text, trace = plain(text)[:MOST_TEXT], plain(trace)[-MOST_TRACE:]
    return {"reason": reason, "text": text, "trace": trace, "is_system": is_system}


def failure(error: BaseException, witness: Witness, is_loading: bool) -> dict[str, Any]:
    """Describe an exception: its reason, its last line, and its traceback within the submission."""
    causes: list[BaseException] = [error]
    while len(causes) < DEEPEST and (cause := causes[-1].__cause__ or causes[-1].__context__):
        causes.append(cause)
    if any(isinstance(cause, MemoryError) or getattr(cause, "errno", 0) == errno.ENOMEM for cause in causes):
        return failed("memory", "it used more memory than it may")
    name = type.__dict__["__name__"].__get__(type(error))
    try:
        text = f"{name}: {error}"
    except BaseException:  # noqa: BLE001 - code of the submission
        text = name
    frames = traceback.extract_tb(error.__traceback__)
    own_folder = f"{witness.folder}/"
    lines = traceback.format_list([frame for frame in frames if frame.filename.startswith(own_folder)][-6:])
    if isinstance(error, SyntaxError):
        lines += traceback.format_exception_only(error)[:-1]
    reason = "import error" if is_loading else "exception"
    files = " ".join(frame.filename for frame in frames)
    if "can't start new thread" in text or "watchdog thread" in text or "/multiprocessing/" in files:
        reason = PROCESS
    elif isinstance(error, PermissionError) and "/socket.py" in files:
        reason = NETWORK
    refusals = [cause for cause in causes if isinstance(cause, OSError) or type(cause).__module__ == "sqlite3"]
    for refusal in refusals:
        # Not every use of a file is an event.
        if not witness.noted:
            witness.touched(getattr(refusal, "filename", None), is_writing=False)
    text, trace = (words.replace(own_folder, "") for words in (text, "".join(lines)))
    return failed(reason, text, trace, bool(refusals))


# --- the submission ---------------------------------------------------------------------------------------------------


def load() -> Any:
    """Import player.py, and return its player, or the module itself if it has a function `choose`."""
    module = importlib.import_module("player")
    player = sys.modules["league"].Player
    classes = {
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, player) and value is not player
    }
    leaves = classes - {base for cls in classes for base in cls.__mro__[1:]}
    own = {cls for cls in leaves if cls.__module__ == "player"} or leaves
    if len(own) == 1:
        return own.pop()()
    if own:
        names = sorted(cls.__name__ for cls in own)
        raise ImportError(f"player.py has {len(own)} players: {', '.join(names)}; leave one")
    if callable(getattr(module, "choose", None)):
        return module
    raise ImportError("player.py has no subclass of Player and no function choose(turn)")


class OwnSeries:
    """The submission in one series of matches. It does what `league.sdk` does for the SDK."""

    def __init__(self, player: Any, stub: Any) -> None:
        self._player = player
        self._stub = stub
        self._is_object = isinstance(player, stub.Player)
        self._history: list[Any] = []
        self._loop: Any = None

    def choose(self, fields: dict[str, Any]) -> Any:
        stub = self._stub
        kind, call = fields.pop("kind"), fields["call"]
        fields["options"] = tuple(fields["options"])
        fields["chance"] = bytes.fromhex(fields["chance"])
        fields["talk"] = tuple(stub.Fields(**line) for line in fields["talk"])
        fields["call"] = call and getattr(stub, kind)(**call)
        turn = stub.Turn(**fields)
        turn.history = self._history
        if not self._is_object:
            return self._waited(self._player.choose(turn))
        self._player.history = self._history
        method = self._player.choose_parity
        if kind == "ChooseParityCall" and getattr(method, "__func__", None) is not stub.Player.choose_parity:
            return self._waited(method(turn.call))
        return self._waited(self._player.move(turn))

    def match_over(self, fields: dict[str, Any]) -> None:
        match = self._stub.PastMatch(**fields)
        self._history.append(match)
        try:
            if self._is_object:
                self._player.history = self._history
                self._waited(self._player.on_match_over(match))
            elif hasattr(self._player, "match_over"):
                self._waited(self._player.match_over(match, self._history))
        except BaseException:  # noqa: BLE001 - a league goes on, too
            traceback.print_exc()

    def _waited(self, value: Any) -> Any:
        if not hasattr(value, "__await__"):
            return value
        import asyncio

        self._loop = self._loop or asyncio.new_event_loop()
        return self._loop.run_until_complete(value)


def answer(choice: Any, stub: Any) -> dict[str, Any]:
    """Return the choice as it is sent."""
    talk = ""
    if isinstance(choice, stub.ChoiceWithTalk):
        talk = str(choice.talk)
        choice = choice.choice
    if isinstance(choice, str):
        return {"choice": plain(str.__str__(choice))[:MOST_TEXT], "talk": plain(talk)[:MOST_TEXT]}
    try:
        text = repr(choice)
    except BaseException:  # noqa: BLE001 - code of the submission
        text = f"an object of {type(choice).__name__}"
    return failed("illegal choice", f"chose {text[:200]}")


def main() -> None:
    settings = json.loads(sys.argv[1])
    confine(settings)
    # The grader may have ended before this process could ask for a signal then.
    end = select.poll()
    end.register(QUESTIONS, 0)
    if end.poll(0):
        return
    folder = settings["folder"]
    sys.argv = ["player.py"]
    stub = importlib.import_module("stub")
    stub.__name__ = "league"
    sys.modules["league"] = sys.modules.pop("stub")
    # The folder of this file comes first; the submission's takes its place.
    sys.path[0] = folder
    sys.path += settings["packages"]
    sys.dont_write_bytecode = True
    # What a submission may replace in modules is held here.
    hear, decode, leave = os.fdopen(QUESTIONS, "rb").readline, json.loads, os._exit
    encode, answers = json.JSONEncoder(ensure_ascii=False).encode, os.fdopen(ANSWERS, "wb")

    def say(**fields: Any) -> None:
        answers.write(encode(fields).encode() + b"\n")
        answers.flush()

    witness = Witness(say, folder, settings["packages"])
    reserve = [bytearray(RESERVE)]
    series: OwnSeries | None = None
    line: dict[str, Any] = {"q": 0}
    sys.addaudithook(witness.hook)
    while line:
        said: dict[str, Any] = {}
        if series is not None and "over" in line:
            series.match_over(line["over"])
        else:
            witness.noted.clear()
            witness.is_looking = True
            try:
                if series is None:
                    series = OwnSeries(load(), stub)
                else:
                    said = answer(series.choose(line["turn"]), stub)
            except BaseException as error:  # noqa: BLE001 - code of the submission
                witness.is_looking = False
                reserve.clear()
                said = failure(error, witness, series is None)
                error.__traceback__ = None
            say(q=line["q"], **said)
        line = decode(hear() or "{}")
    leave(0)


if __name__ == "__main__":
    main()
