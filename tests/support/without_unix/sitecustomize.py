"""Python as it is where Unix is not, for processes that have this folder in their PYTHONPATH: league finds no module
that only Unix has, the loop takes no signals, and `os` lacks what Windows lacks. The standard library keeps what it
needs."""

from __future__ import annotations

import asyncio
import builtins
import multiprocessing
import os
import sys
from typing import Any, NoReturn

UNIX_ONLY = {"fcntl", "grp", "pwd", "pty", "resource", "syslog", "termios", "tty", "uvloop"}

_import = builtins.__import__


def _import_elsewhere(name: str, *rest: Any, **named: Any) -> Any:
    scope = rest[0] if rest else named.get("globals")
    importer = str((scope or {}).get("__name__", ""))
    if name.partition(".")[0] in UNIX_ONLY and importer.partition(".")[0] in ("league", "__main__"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _import(name, *rest, **named)


def _no_signals(*_: object) -> NoReturn:
    raise NotImplementedError


multiprocessing.set_start_method("spawn")
builtins.__import__ = _import_elsewhere
sys.modules["uvloop"] = None  # type: ignore[assignment] # as the import system says it: there is none
for loop in (asyncio.SelectorEventLoop, asyncio.BaseEventLoop, asyncio.AbstractEventLoop):
    loop.add_signal_handler = loop.remove_signal_handler = _no_signals  # type: ignore[method-assign, assignment]
for missing in ("O_CLOEXEC", "fchmod", "fork", "getuid", "geteuid", "getpgid", "killpg", "setsid"):
    delattr(os, missing)
