"""The filter of system calls that a submission runs under, as the bytes that the kernel takes.

It refuses what no strategy needs and what has let programs out of sandboxes before: sockets, tracing, mounts,
namespaces, keys, io_uring. `clone3` does not exist in there: the C library then makes threads with `clone`, which the
limit of processes refuses. Where nothing else stops new processes (`is_alone`), the filter refuses them, too.
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
X32: Final = 0x40000000
"""From here on, numbers are those of another interface of x86-64."""
CALLS: Final = json.loads(Path(__file__).with_name("system_calls.json").read_text())
"""How the kernel names processors, and the numbers of system calls on each, by the error that they get."""
MACHINES: Final = tuple(CALLS["machines"])


def program(is_alone: bool = False) -> bytes:
    """Return the filter for this machine; empty where none is known."""
    machine = platform.machine()
    if machine not in MACHINES:
        return b""
    # A call begins with its number, after which comes the kind of processor.
    lines = [
        (LOAD, 0, 0, 4),
        (JUMP_IF_EQUAL, 1, 0, CALLS["machines"][machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, 0),
        (JUMP_IF_AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, KILL),
    ]
    for error in ("EPERM", "ENOSYS", *["EAGAIN"] * is_alone):
        for numbers in CALLS[error].values():
            number = numbers[MACHINES.index(machine)]
            # Some processors do not have all calls.
            if number is not None:
                lines += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | getattr(errno, error))]
    return b"".join(struct.pack("HBBI", *line) for line in [*lines, (RETURN, 0, 0, ALLOW)])
