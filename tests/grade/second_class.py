"""A second class: submissions as honest students write them, and others that go for the grader itself."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.grade.nasty import CHOOSE, LEGAL, Handed, in_choice

PLAIN: Final = CHOOSE + LEGAL.strip() + "\n"
DECOMPOSED: Final = "zoe\u0308"
"""A name as macOS writes it."""


def player(body: str, *, first: str = "", extra: str = "") -> str:
    """Return a player as the tutorial has it, with this method `move`."""
    lines = "\n        ".join(body.splitlines())
    return f"""{first}
from league import Player


class Mine(Player):
    games = ("tic_tac_toe",)
{extra}
    def move(self, turn):
        {lines}
"""


# --- what makes a submission at a place -------------------------------------------------------------------------------


def _folder(place: Path) -> Path:
    place.mkdir()
    (place / "player.py").write_text(PLAIN)
    return place


def _zipped(place: Path, members: Mapping[str, str | bytes]) -> None:
    with zipfile.ZipFile(place.with_name(f"{place.name}.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _linked_inside(place: Path) -> None:
    place.mkdir()
    (place / "solution.py").write_text(PLAIN)
    (place / "player.py").symlink_to("solution.py")


def _circle(place: Path) -> None:
    place.mkdir()
    (place / "player.py").symlink_to("player.py")


def _too_much(place: Path) -> None:
    """A folder that nobody may write to, so that what is copied so far cannot be removed at once."""
    closed = _folder(place) / "a"
    closed.mkdir()
    (closed / "file").touch()
    closed.chmod(0o555)
    (place / "z").write_bytes(bytes(65 << 20))


def _deep(place: Path) -> None:
    folder = _folder(place)
    (folder / Path(*["d"] * 400)).mkdir(parents=True)


def _deep_zip(place: Path) -> None:
    _zipped(place, {"player.py": PLAIN, "d/" * 400 + "end": ""})


def _damaged_lzma(place: Path) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("player.py", PLAIN * 50)
    data = bytearray(whole.getvalue())
    # The properties of the compressor come after the header of 30 bytes, the name, and a header of their own.
    data[43:48] = b"\xff" * 5
    place.with_name(f"{place.name}.zip").write_bytes(data)


def _lying_zip(place: Path) -> None:
    """Claim in the directory that there are gigabytes, and then that there is nothing."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("player.py", bytes(80 << 20))
    data = bytearray(whole.getvalue())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    place.with_name(f"{place.name}.zip").write_bytes(data)


MINIMAX: Final = player(
    """\
board = [None] * 9
return min(turn.options, key=lambda option: (self.depth(option), option))""",
    first="from functools import cache\nfrom dataclasses import dataclass\n\n\n"
    "@dataclass(frozen=True)\nclass Node:\n    place: int = 0\n",
    extra="""
    @cache
    def depth(self, option, left=9):
        if left == 0:
            return 0
        return 1 + max(self.depth(option, left - step) for step in (1, 2) if step <= left)
""",
)
ASYNC: Final = """
import asyncio
from league import Player

class Patient(Player):
    games = ("tic_tac_toe",)

    async def move(self, turn):
        first, _ = await asyncio.gather(self.think(turn), asyncio.sleep(0.001))
        return first

    async def think(self, turn):
        return turn.random.choice(turn.options)
"""
WITH_MAIN: Final = player("return turn.options[0]", first="from league import serve") + (
    "\n\nif __name__ == '__main__':\n    from league import run\n    run([Mine, 'random'])\n"
)
FILES: Final = """
import csv, pickle, pathlib, sqlite3, sys
HERE = pathlib.Path(__file__).parent
WEIGHTS = dict(csv.reader((HERE / "weights.csv").open()))
assert sorted(path.name for path in HERE.iterdir()) and (pathlib.Path.cwd() / "weights.csv").exists()
BASE = sqlite3.connect(":memory:")
BASE.execute("create table seen (place text)")

def choose(turn):
    BASE.executemany("insert into seen values (?)", [(option,) for option in turn.options])
    return max(turn.options, key=lambda option: (float(WEIGHTS.get(option, 0)), option))
"""
LIBRARIES: Final = """
import collections, concurrent.futures, ctypes, datetime, decimal, enum, fractions, inspect, json, logging, \
multiprocessing, platform, socket, sqlite3, ssl, subprocess, tempfile, threading, timeit, typing, urllib.request, uuid
logging.basicConfig(level="INFO")
LOCK = threading.RLock()
platform.system(), socket.gethostname(), inspect.getsource(fractions.Fraction), uuid.uuid5(uuid.NAMESPACE_DNS, "x")
ctypes.CDLL(None).abs(-3)

def choose(turn):
    with LOCK:
        logging.info("asked %s", turn.number)
        datetime.datetime.now()
        return turn.options[len(turn.options) // 2]
"""
CATCHES: Final = """
import os
def choose(turn):
    for path in ("/etc/hostname", "notes.txt"):
        try:
            open(path).read()
        except OSError:
            pass
    try:
        os.mkdir("cache")
    except OSError:
        pass
    return turn.options[0]
"""
HONEST: Final[Mapping[str, Handed]] = {
    "minimax": Handed(MINIMAX, "", "ok"),
    "async": Handed(ASYNC, "", "ok"),
    "with-main": Handed(WITH_MAIN, "", "ok"),
    "files": Handed({"player.py": FILES, "weights.csv": "4,3\n0,2\n"}, "", "ok"),
    "libraries": Handed(LIBRARIES, "", "ok"),
    "catches": Handed(CATCHES, "", "ok"),
    "packages": Handed(
        {
            "player.py": "from brain.core import best as choose\n",
            "brain/__init__.py": "",
            "brain/core.py": "from . import table\ndef best(turn): return table.ORDER(turn.options)\n",
            "brain/table.py": "ORDER = max\n",
        },
        "",
        "ok",
    ),
    "own-names": Handed(
        {
            "player.py": "import runner, stub\ndef choose(turn): return runner.pick(turn) or stub.x\n",
            "runner.py": "def pick(turn): return turn.options[0]\n",
            "stub.py": "x = 1\n",
        },
        "",
        "ok",
    ),
    "bom": Handed({"player.py": b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode()}, "", "ok"),
    "latin": Handed({"player.py": b"# coding: latin-1\nNAME = 'caf\xe9'\n" + PLAIN.encode()}, "", "ok"),
    "seeded": Handed("import random\nrandom.seed(7)\ndef choose(turn): return random.choice(turn.options)\n", "", "ok"),
    "own-chance": Handed(
        "import random\ndef choose(turn): return random.Random(turn.chance).choice(turn.options)\n", "", "ok"
    ),
    "naps": Handed(in_choice("time.sleep(0.02)", first="import time"), "", "ok"),
    "counts": Handed(in_choice("sum(range(100_000))"), "", "ok"),
    "talks": Handed(in_choice("print('😀 ' * 500)\nsys.stderr.write('hm')", first="import sys"), "", "ok"),
    "hook-fails": Handed(
        player("return turn.options[-1]", extra="    def on_match_over(self, match): 1 / 0\n"), "", "ok"
    ),
    "hook-naps": Handed(
        player(
            "return turn.options[-1]",
            first="import time",
            extra="    def on_match_over(self, match): time.sleep(0.01)\n",
        ),
        "",
        "ok",
    ),
    "base-class": Handed(
        {
            "player.py": "from base import Base\nclass Mine(Base):\n    def pick(self, options): return options[0]\n",
            "base.py": "from league import Player\nclass Base(Player):\n    games = ('tic_tac_toe',)\n"
            "    def move(self, turn): return self.pick(turn.options)\n",
        },
        "",
        "ok",
    ),
    "stars": Handed("from league import *\nimport league as l\n" + player("return turn.options[0]"), "", "ok"),
    "enum": Handed(
        "import enum\nclass Place(str, enum.Enum):\n    MIDDLE = '4'\n\n"
        "def choose(turn): return Place.MIDDLE if '4' in turn.options else turn.options[0]\n",
        "",
        "ok",
    ),
    "state": Handed(
        "seen = {}\ndef choose(turn):\n    seen[turn.match_id] = 1\n    return turn.options[-1]\n", "", "ok"
    ),
    "twins-a": Handed(in_choice("turn.random.random()"), "", "ok"),
    "twins-b": Handed(in_choice("turn.random.random()"), "", "ok"),
    "Case": Handed(in_choice("'upper'"), "", "ok"),
    "case": Handed(in_choice("'lower'"), "", "ok"),
    "=1+1,@x": Handed(PLAIN, "", "ok"),
    "名前 <img src=x>": Handed(PLAIN, "", "ok"),
    DECOMPOSED: Handed(PLAIN, "", "ok"),
    "linked-inside": Handed(_linked_inside, "", "ok"),
    "mac-zip": Handed(
        lambda place: _zipped(
            place,
            {"sol/player.py": PLAIN, "__MACOSX/sol/._player.py": b"\0", "sol/.DS_Store": b"\0", "sol/a\\b.py": ""},
        ),
        "",
        "ok",
    ),
    "random": Handed(PLAIN, "", "ok"),
}
"""Everybody here plays, and nothing that others do may change that."""

CLEVER_ERROR: Final = """
class Meta(type):
    @property
    def __name__(cls): raise SystemExit
class Sly(Exception, metaclass=Meta):
    def __str__(self): raise SystemExit
def choose(turn): raise Sly
"""
EMOJI: Final = """
def choose(turn):
    return deeper(5, "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀")

def deeper(left, text):
    if left: return deeper(left - 1, text + "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀")
    raise ValueError(text * 100)
""".replace("😀", "😀" * 8)
SEARCH: Final = """
import gc, os, sys
found = []
for number in range(3, 1024):
    try:
        os.fstat(number)
    except OSError:
        continue
    if number not in (200, 201):
        found.append(number)
for thing in gc.get_objects():
    if isinstance(thing, dict) and "PASSWORD" in thing:
        found.append(thing)
for place in ("/proc/1/mem", "/proc/1/root/root", "/proc/1/cwd/etc/shadow", "/proc/kcore", "/dev/mem"):
    try:
        with open(place, "r+b", buffering=0) as file:
            found.append(place)
    except OSError:
        pass
if found:
    raise SystemExit(f"found {found}")
"""
KEEPS: Final = """
import fcntl, os
marks = []
places = ["/dev/shm/m", "/tmp/m", "/var/tmp/m", "/run/m", "/submission/m", "/dev/m", "/m", "/proc/sys/kernel/hostname"]
for place in places:
    try:
        with open(place, "w") as file:
            marks.append(place)
    except OSError:
        pass
if marks:
    raise SystemExit(f"wrote {marks}")
"""
STEALS: Final = """
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot("/"),
               lambda: os.nice(-5), lambda: resource.setrlimit(resource.RLIMIT_NPROC, (99, 99)),
               lambda: os.chmod("player.py", 0o777), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(9)),
               lambda: os.link("/submission/player.py", "/submission/other"), lambda: os.mkfifo("/dev/shm/pipe"),
               lambda: os.mknod("/submission/disk", 0o60600, os.makedev(8, 0))):
    try:
        change()
    except (OSError, ValueError):
        continue
    raise SystemExit("that worked")
if libc.fork() >= 0 or libc.vfork() > 0 or libc.syscall(319, b"x", 0) >= 0 or libc.syscall(425, 8, 0) >= 0:
    raise SystemExit("a process, or memory without a limit")
"""
SHUT: Final = """
import os, signal
def choose(turn):
    for stop in (lambda: os.killpg(0, signal.SIGINT), lambda: libc.kill(1, signal.SIGINT)):
        try: stop()
        except OSError: pass
    return turn.options[0]
import ctypes
libc = ctypes.CDLL(None)
"""
SLY: Final[Mapping[str, Handed]] = {
    # The wire
    "drips": Handed(
        in_choice("while True:\n    os.write(201, b'x')\n    time.sleep(0.01)", first="import os, time"), "too slow"
    ),
    "drips-at-import": Handed(
        "import os, time\nwhile True:\n    os.write(201, b' ')\n    time.sleep(0.01)\n", "too slow"
    ),
    "answers-ahead": Handed(
        in_choice(
            "for q in range(2, 9): os.write(201, json.dumps({'q': q, 'choice': '0'}).encode() + b'\\n')",
            first="import json, os",
        ),
        "illegal choice",
    ),
    "says-it-failed": Handed(
        in_choice('os.write(201, b\'{"q": 0, "failed": {"reason": "SECRET", "text": "x"}}\\n\')', first="import os"),
        "illegal choice",
    ),
    "deep-json": Handed(in_choice("os.write(201, b'[' * 60000 + b'\\n')", first="import os"), "illegal choice"),
    "swaps-the-wire": Handed(in_choice("os.dup2(1, 201)", first="import os"), "died"),
    "eats-questions": Handed(in_choice("os.read(200, 1)", first="import os"), "too slow"),
    "patches-the-runner": Handed(
        in_choice("__main__.answer = __main__.failure = __main__.OwnSeries.choose = None", first="import __main__"),
        "died",
    ),
    "patches-the-stub": Handed("import league\nleague.Player.choose = league.Turn.random = None\n" + PLAIN, "", "ok"),
    "notes-nothing": Handed(
        in_choice('os.write(201, b\'{"q": -5, "text": "x"}\\n\')', first="import os"), "illegal choice"
    ),
    # Words
    "random-words": Handed(
        in_choice("if turn.match_id in ('M2', 'M3'): raise ValueError(os.urandom(1)[0])", first="import os"),
        "some choices failed",
        "ok",
    ),
    "random-attempts": Handed(
        in_choice("try: open(f'/tmp/{os.urandom(9).hex()}', 'w')\nexcept OSError: pass", first="import os"), "", "ok"
    ),
    "random-file": Handed(in_choice("tempfile.mkstemp()", first="import tempfile"), "outside its folder"),
    "random-nonsense": Handed("import os\ndef choose(turn): return os.urandom(2).hex()\n", "illegal choice"),
    "output-again": Handed(in_choice("open('/dev/stdout', 'a').write('hello')"), "", "ok"),
    "clever-error": Handed(CLEVER_ERROR, "exception"),
    "cause-of-itself": Handed(
        "def choose(turn):\n    error = ValueError('x')\n    error.__cause__ = error\n    raise error\n", "exception"
    ),
    "emoji": Handed(EMOJI, "exception"),
    "formula": Handed(
        "def choose(turn): raise ValueError('=cmd|calc!A0\\t<script>\\x1b[2J\\ufffe\\x00')\n", "exception"
    ),
    "lies-about-memory": Handed(in_choice("print('MemoryError', flush=True)\nos._exit(7)", first="import os"), "died"),
    "exits-politely": Handed(in_choice("sys.exit('bye')", first="import sys"), "exception"),
    "generates": Handed("def choose(turn):\n    yield turn.options[0]\n", "illegal choice"),
    "huge-repr": Handed("def choose(turn): return ['x' * 1000] * 10_000\n", "illegal choice"),
    "circular": Handed(
        {"player.py": "import other\n" + PLAIN, "other.py": "from player import choose\n"}, "import error"
    ),
    "imports-for-ever": Handed({"player.py": "import runpy\nrunpy.run_path(__file__)\n" + PLAIN}, "import error"),
    # Time, memory, processes
    "never-awaits": Handed("import asyncio\nasync def choose(turn): await asyncio.Event().wait()\n", "too slow"),
    "destructor": Handed(
        "class Late:\n    def __del__(self):\n        while True: pass\ndef choose(turn):\n    Late()\n"
        "    return turn.options[0]\n",
        "too slow",
    ),
    "hook-loops": Handed(
        player("return turn.options[0]", extra="    def on_match_over(self, match):\n        while True: pass\n"),
        "too slow",
    ),
    "maps-memory": Handed(in_choice("mmap.mmap(-1, 4 << 30)", first="import mmap"), "memory"),
    "watchdog": Handed(
        in_choice("faulthandler.dump_traceback_later(9)", first="import faulthandler"), "process or thread"
    ),
    "executor": Handed(
        in_choice(
            "concurrent.futures.ProcessPoolExecutor(2).submit(abs, 1).result()", first="import concurrent.futures"
        ),
        "process or thread",
    ),
    "to-thread": Handed(
        "import asyncio\nasync def choose(turn): return await asyncio.to_thread(turn.options.index, '0')\n",
        "process or thread",
    ),
    "own-session": Handed(
        in_choice("try: os.setsid()\nexcept OSError: pass\nos.forkpty()", first="import os"), "process or thread"
    ),
    "shuts-the-sandbox": Handed(SHUT, "", "ok"),
    "signals-the-first": Handed(
        in_choice("signal.pidfd_send_signal(os.pidfd_open(1), 9)", first="import os, signal"), "exception"
    ),
    # Places
    "looks-at-shadow": Handed(in_choice("os.stat('/etc/shadow')", first="import os"), "outside its folder"),
    "makes-a-database": Handed(
        in_choice("sqlite3.connect('/var/lib/mark').execute('create table a (b)')", first="import sqlite3"),
        "outside its folder",
    ),
    "raw-socket": Handed(
        in_choice("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", first="import socket"), "network"
    ),
    "unix-socket": Handed(
        in_choice("s = socket.socket(socket.AF_UNIX)\ns.connect('/run/dbus/system_bus_socket')", first="import socket"),
        "network",
    ),
    "lists-others": Handed(in_choice("os.listdir('/tmp')", first="import os"), "outside its folder"),
    "walks-proc": Handed(in_choice("open('/proc/1/environ', 'rb').read()"), "outside its folder"),
    "searches": Handed(SEARCH + PLAIN, "", "ok"),
    "keeps": Handed(KEEPS + PLAIN, "", "ok"),
    "steals": Handed(STEALS + PLAIN, "", "ok"),
    # Copies
    "pipe-for-zip": Handed(lambda place: os.mkfifo(place.with_name(f"{place.name}.zip")), "no player.py"),
    "too-much-in-closed": Handed(_too_much, "no player.py"),
    "circle": Handed(_circle, "no player.py"),
    "deep": Handed(_deep, "no player.py"),
    "deep-zip": Handed(_deep_zip, "no player.py"),
    "zip-lzma": Handed(_damaged_lzma, "no player.py"),
    "zip-lies": Handed(_lying_zip, "no player.py"),
    "seconds": Handed(
        "import random, time\nrandom.seed(int(time.time()))\ndef choose(turn): return random.choice(turn.options)\n",
        "not repeatable",
    ),
    "inode": Handed(
        "import os, random\nCHANCE = random.Random(os.stat(__file__).st_ino)\n"
        "def choose(turn): return CHANCE.choice(turn.options)\n",
        "not repeatable",
    ),
    "late-coin": Handed(
        "import os\ndef choose(turn):\n    place = os.urandom(1)[0] if turn.match_id == 'M9' else 0\n"
        "    return turn.options[place % len(turn.options)]\n",
        "not repeatable",
    ),
}
"""What each of these must come to."""
