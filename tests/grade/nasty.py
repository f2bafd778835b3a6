"""Submissions of a bad class, with what the grader must say of each, and a few innocent ones who must not suffer."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

CHOOSE: Final = "def choose(turn):\n    "
LEGAL: Final = "\n    return turn.options[0]\n"


class Handed(NamedTuple):
    """A submission, and what must become of it."""

    files: str | Mapping[str, str | bytes] | Callable[[Path], None]
    """Its player.py, or its files by name, or what makes it at a place."""
    reason: str = ""
    status: str = "failed"


def in_choice(code: str, *, first: str = "") -> str:
    """A player that runs this code in each choice, and then chooses legally."""
    body = "\n    ".join(code.splitlines())
    return f"{first}\n{CHOOSE}{body}{LEGAL}"


def _linked(place: Path) -> None:
    place.mkdir()
    (place / "player.py").symlink_to("/etc/passwd")


def _linked_folder(place: Path) -> None:
    place.symlink_to("/etc")


def _pipe(place: Path) -> None:
    place.mkdir()
    (place / "player.py").write_text(CHOOSE + LEGAL.strip())
    os.mkfifo(place / "pipe")
    (place / "secrets").symlink_to("/root")


def _zip(place: Path, members: Mapping[str, bytes], link: str = "") -> None:
    with zipfile.ZipFile(place.with_name(f"{place.name}.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        if link:
            member = zipfile.ZipInfo("player.py")
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, link)


def _broken_zip(place: Path) -> None:
    place.with_name(f"{place.name}.zip").write_bytes(b"PK nonsense")


def _bomb(place: Path) -> None:
    _zip(place, {"player.py": b"", "big": bytes(80 << 20)})


def _nested_zip(place: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("player.py", "")
    _zip(place, {f"{place.name}/player.py": FIRST.encode(), f"{place.name}/more.zip": inner.getvalue()})


FIRST: Final = """
from league import Player, serve

class First(Player):
    games = ("tic_tac_toe",)

    def move(self, turn):
        print(turn.match_id, turn.options)
        return turn.options[0]

serve(First("First"))
"""
LAST: Final = """
from league import Player

class Base(Player):
    async def move(self, turn):
        assert turn.view["board"] is not None and turn.call.move_request.valid_options
        return self.pick(turn)

class Last(Base):
    def pick(self, turn):
        return turn.options[-1]

    def on_match_over(self, match):
        assert self.history[-1].outcome in ("WIN", "DRAW", "LOSS")
"""
LEARNS: Final = """
import json, collections
from helper import weight
DATA = json.load(open("data.json"))

def choose(turn):
    seen = collections.Counter(match.outcome for match in turn.history)
    return turn.random.choice(turn.options) if seen["LOSS"] > DATA["patience"] else weight(turn.options)
"""
PTRACE: Final = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, 1, 0, 0) == 0:
    raise SystemExit("traced")
if libc.syscall(41, 2, 1, 0) >= 0:
    raise SystemExit("a socket")
if libc.unshare(0x10000000) == 0:
    raise SystemExit("a namespace")
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
    raise SystemExit("mounted")
"""
SNOOP: Final = """
import os
found = []
places = ["/etc/shadow", "/etc/passwd", "/root/.ssh", "/home", "/tmp", "/proc/1/environ", TEACHER]
for place in places:
    try:
        found += os.listdir(place) if os.path.isdir(place) else [open(place).read()]
    except OSError:
        pass
for number in os.listdir("/proc"):
    if number.isdigit():
        try:
            found.append(open(f"/proc/{number}/environ").read().partition("PYTHONHASHSEED")[0])
        except OSError:
            pass
found = [text for text in found if text.strip("\\0") and "/submission" not in text]
if any("SECRET" in text or "root" in text for text in found):
    raise SystemExit(f"found {found}")
"""

INNOCENT: Final[Mapping[str, Handed]] = {
    "first": Handed(FIRST, "", "ok"),
    "last": Handed(LAST, "", "ok"),
    "learns": Handed(
        {
            "player.py": LEARNS,
            "helper.py": "def weight(options):\n    return min(options)\n",
            "data.json": '{"patience": 2}',
        },
        "",
        "ok",
    ),
    "math": Handed(in_choice("import math, statistics\nstatistics.mean([math.pi, 1])"), "", "ok"),
    "nested": Handed(_nested_zip, "", "ok"),
    "pipes": Handed(_pipe, "", "ok"),
    "sets": Handed("def choose(turn):\n    return list({*turn.options})[0]\n", "", "ok"),
    "sometimes": Handed(
        in_choice("if turn.match_id == 'M2':\n    raise ValueError('odd day')"), "some choices failed", "ok"
    ),
    "unicode ☃ <b>": Handed(in_choice("print('☃' * 10)"), "", "ok"),
}
"""The good half of the class."""

NASTY: Final[Mapping[str, Handed]] = {
    # Nothing that plays
    "empty": Handed({"notes.txt": "I was ill"}, "no player.py"),
    "link": Handed(_linked, "outside its folder"),
    "linked-folder": Handed(_linked_folder, "no player.py"),
    "zip-bomb": Handed(_bomb, "no player.py"),
    "zip-up": Handed(lambda place: _zip(place, {"../../player.py": b"", "player.py": b""}), "outside its folder"),
    "zip-root": Handed(lambda place: _zip(place, {"/tmp/player.py": b""}), "outside its folder"),
    "zip-link": Handed(lambda place: _zip(place, {}, link="/etc/passwd"), "no player.py"),
    "zip-broken": Handed(_broken_zip, "no player.py"),
    "no-player": Handed("x = 1\n", "import error"),
    "two-players": Handed("from league import Player\nclass A(Player): pass\nclass B(Player): pass\n", "import error"),
    # Import
    "syntax": Handed("def choose(turn)\n    return 1\n", "import error"),
    "encoding": Handed({"player.py": b"x = 'caf\xe9'\n" + CHOOSE.encode() + LEGAL.encode()}, "import error"),
    "null-bytes": Handed({"player.py": b"\x00\x01\x02"}, "import error"),
    "missing-module": Handed("import does_not_exist\n" + in_choice("pass"), "import error"),
    "raises-at-import": Handed("1 / 0\n", "import error"),
    "loops-at-import": Handed("while True: pass\n", "too slow"),
    "sleeps-at-import": Handed("import time; time.sleep(1e6)\n", "too slow"),
    "exits-at-import": Handed("import os; os._exit(0)\n", "died"),
    "fills-memory-at-import": Handed("rows = []\nwhile True: rows.append(bytearray(1 << 20))\n", "memory"),
    "fills-memory-with-crumbs": Handed("rows = []\nwhile True: rows.append(bytes(4000))\n", "memory"),
    # Choices
    "raises": Handed(in_choice("raise KeyError('queen')"), "exception"),
    "bad-constructor": Handed(
        "from league import Player\nclass A(Player):\n    def __init__(self, needed): pass\n",
        "import error",
    ),
    "wrong-method": Handed(
        "from league import Player\nclass A(Player):\n    def mvoe(self, turn): pass\n", "exception"
    ),
    "returns-none": Handed("def choose(turn): pass\n", "illegal choice"),
    "returns-number": Handed("def choose(turn): return 4\n", "illegal choice"),
    "returns-nonsense": Handed("def choose(turn): return 'queen to e4'\n", "illegal choice"),
    "returns-much": Handed("def choose(turn): return 'x' * (10 << 20)\n", "illegal choice"),
    "returns-surrogates": Handed("def choose(turn): return chr(0xd800) + '\\x1b[2J'\n", "illegal choice"),
    "evil-repr": Handed(
        "class Evil:\n    def __repr__(self): raise SystemExit\ndef choose(turn): return Evil()\n", "illegal choice"
    ),
    "evil-str": Handed(
        "class Evil(Exception):\n    def __str__(self): raise SystemExit\ndef choose(turn): raise Evil\n", "exception"
    ),
    "recursion": Handed("def choose(turn): return choose(turn)\n", "exception"),
    "loops": Handed(in_choice("while True: pass"), "too slow"),
    "loops-and-catches": Handed(
        in_choice("while True:\n    try:\n        while True: pass\n    except BaseException: pass"), "too slow"
    ),
    "loops-in-c": Handed(in_choice("pow(7, 10 ** 9)"), "too slow"),
    "ignores-signals": Handed(
        in_choice(
            "for number in (2, 15, 24): signal.signal(number, signal.SIG_IGN)\nwhile True: pass", first="import signal"
        ),
        "too slow",
    ),
    "stops-itself": Handed(in_choice("os.kill(os.getpid(), signal.SIGSTOP)", first="import os, signal"), "too slow"),
    "prints-much": Handed(in_choice("print('x' * (10 << 20))"), "exception"),
    "memory": Handed(in_choice("bytearray(2 << 30)"), "memory"),
    # Dies
    "exits": Handed(in_choice("os._exit(3)", first="import os"), "died"),
    "kills-itself": Handed(in_choice("os.kill(os.getpid(), 9)", first="import os"), "died"),
    "aborts": Handed(in_choice("os.abort()", first="import os"), "died"),
    "crashes": Handed(in_choice("ctypes.string_at(0)", first="import ctypes"), "died"),
    "closes-everything": Handed(in_choice("os.closerange(0, 300)", first="import os"), "died"),
    "alarm": Handed(in_choice("signal.alarm(1)\ntime.sleep(2)", first="import signal, time"), "died"),
    # Processes and threads
    "forks": Handed(in_choice("os.fork()", first="import os"), "process or thread"),
    "fork-bomb": Handed(in_choice("while True: os.fork()", first="import os"), "process or thread"),
    "subprocess": Handed(in_choice("subprocess.run(['/usr/bin/id'])", first="import subprocess"), "process or thread"),
    "executes": Handed(in_choice("os.execv('/usr/bin/id', ['id'])", first="import os"), "process or thread"),
    "thread": Handed(
        in_choice("threading.Thread(target=print).start()", first="import threading"), "process or thread"
    ),
    "pool": Handed(
        in_choice("multiprocessing.Pool(2).map(abs, [1])", first="import multiprocessing"), "process or thread"
    ),
    "kills-others": Handed(
        in_choice("os.kill(1, 9); os.kill(-1, 9); os.kill(4, 9)", first="import os"), "process or thread"
    ),
    # Network and files
    "socket": Handed(in_choice("socket.create_connection(('127.0.0.1', 80))", first="import socket"), "network"),
    "fetches": Handed(
        in_choice("urllib.request.urlopen('http://192.0.2.1/')", first="import urllib.request"), "network"
    ),
    "listens": Handed(in_choice("socket.socket().bind(('', 0))", first="import socket"), "network"),
    "reads-shadow": Handed(in_choice("open('/etc/shadow').read()"), "outside its folder"),
    "reads-others": Handed(in_choice("open('../raises/player.py').read()"), "outside its folder"),
    "writes-tmp": Handed(in_choice("open('/tmp/mark', 'w').write('here')"), "outside its folder"),
    "writes-usr": Handed(in_choice("open('/usr/mark', 'w').write('here')"), "outside its folder"),
    "writes-grader": Handed(in_choice("open('/grader/runner.py', 'a').write('here')"), "outside its folder"),
    "writes-shm": Handed(in_choice("open('/dev/shm/mark', 'w').write('here')"), "outside its folder"),
    "removes": Handed(in_choice("shutil.rmtree('/usr/lib')", first="import shutil"), "outside its folder"),
    # The grader itself
    "answers-for-itself": Handed(
        in_choice('os.write(201, b\'{"q": 1, "choice": "x"}\\n\' * 3)', first="import os"), "illegal choice"
    ),
    "floods-the-wire": Handed(
        in_choice("while True: os.write(201, b'x' * 65536)", first="import os"), "illegal choice"
    ),
    "floods-notes": Handed(
        in_choice('while True: os.write(201, b\'{"reason": "network", "text": "x"}\\n\')', first="import os"),
        "illegal choice",
    ),
    "patches": Handed(
        in_choice(
            "json.dumps = os.write = os.read = json.loads = lambda *_: 1/0\nsys.modules.clear()",
            first="import json, os, sys",
        ),
        "",
        "ok",
    ),
    # Chance of their own
    "coin": Handed("import random\ndef choose(turn): return random.choice(turn.options)\n", "not repeatable"),
    "urandom": Handed(
        "import os\ndef choose(turn): return turn.options[os.urandom(1)[0] % len(turn.options)]\n", "not repeatable"
    ),
    "clock": Handed(
        "import time\ndef choose(turn): return turn.options[time.time_ns() // 64 % len(turn.options)]\n",
        "not repeatable",
    ),
    "moods": Handed(
        "import os\ndef choose(turn):\n    if os.urandom(1)[0] % 2: 1 / 0\n    return turn.options[0]\n",
        "not repeatable",
    ),
    "random-message": Handed(
        "import os, time\ndef choose(turn): raise ValueError(os.urandom(8), time.time(), object())\n", "exception"
    ),
    # Contained, and playing all the same
    "ptrace": Handed(PTRACE + in_choice("pass"), "", "ok"),
    "snoops": Handed(SNOOP + in_choice("pass"), "", "ok"),
    "late": Handed(in_choice("if turn.match_id == 'M40': os._exit(1)", first="import os"), "", "ok"),
}


def hand_in(folder: Path, submissions: Mapping[str, Handed]) -> None:
    """Write these submissions to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, submission in submissions.items():
        place = folder / name
        if callable(submission.files):
            submission.files(place)
            continue
        files = {"player.py": submission.files} if isinstance(submission.files, str) else submission.files
        place.mkdir(parents=True)
        for file, content in files.items():
            if isinstance(content, str):
                content = content.replace("TEACHER", repr(str(folder)))
            (place / file).parent.mkdir(exist_ok=True)
            (place / file).write_bytes(content.encode() if isinstance(content, str) else content)
