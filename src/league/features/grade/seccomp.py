"""The filter of system calls that a submission runs under, as the bytes that the kernel takes.

It refuses what no strategy needs and what has let programs out of sandboxes before: sockets, tracing, mounts,
namespaces, keys, io_uring.
"""

from __future__ import annotations

import errno
import json
import platform
import struct
from pathlib import Path
from typing import Final

LOAD: Final = 0x20
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
RETURN: Final = 0x06
KILL: Final = 0x80000000
FAIL: Final = 0x00050000
"""Plus the number of an error."""
ALLOW: Final = 0x7FFF0000
NUMBER_AT: Final = 0
MACHINE_AT: Final = 4
X32: Final = 0x40000000
"""From here on, numbers are those of another interface of x86-64."""


MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Kinds of processors: how the kernel names them, and their places in the table of numbers."""
CALLS: Final = Path(__file__).with_name("system_calls.json")
CLONE3: Final = 435
"""It gets ENOSYS: the C library then makes threads with clone, which the limit of processes refuses."""


def program(is_alone: bool = False) -> bytes:
    """Return the filter for this machine; empty where none is known. `is_alone`: nothing else stops forks."""
    if platform.machine() not in MACHINES:
        return b""
    name, place = MACHINES[platform.machine()]
    calls = json.loads(CALLS.read_text())
    refused = dict.fromkeys((numbers[place] for numbers in calls["refused"].values()), errno.EPERM)
    if is_alone:
        refused |= dict.fromkeys((numbers[place] for numbers in calls["new_processes"].values()), errno.EAGAIN)
    lines = [
        (LOAD, 0, 0, MACHINE_AT),
        (JUMP_IF_EQUAL, 1, 0, name),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_IF_AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, KILL),
    ]
    for number, error in {CLONE3: errno.ENOSYS, **refused}.items():
        # Some processors do not have all calls.
        if number is not None:
            lines += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | error)]
    return b"".join(struct.pack("HBBI", *line) for line in [*lines, (RETURN, 0, 0, ALLOW)])
