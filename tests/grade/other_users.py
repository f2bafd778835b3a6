"""Commands run as somebody who is not root, by tests that root runs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.support.pages import ROOT

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs")


def is_root() -> bool:
    return os.geteuid() == 0


def as_nobody(command: Iterable[str], folder: Path) -> list[str]:
    """Return a command that does the same as an ordinary user, who may enter what it needs.

    Python often lies in the home of root. So this one gets a view of the file system in which every folder that it may
    not enter holds nothing but what it needs. `folder` is one that it may write to.
    """
    needed = {Path(sys.base_prefix), Path(sys.prefix), ROOT}
    closed = {parent for path in needed for parent in path.parents if not parent.stat().st_mode & 0o001}
    lines = ["set -e"]
    for number, top in enumerate(sorted(closed)):
        below = [path for path in sorted(needed) if path.is_relative_to(top)]
        for place, path in enumerate(below):
            stage = f"{folder}/stage-{number}-{place}"
            lines.append(f"mkdir -p {stage} && mount --bind {shlex.quote(str(path))} {stage}")
        lines.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(top))}")
        for place, path in enumerate(below):
            stage = f"{folder}/stage-{number}-{place}"
            lines.append(f"mkdir -p {shlex.quote(str(path))} && mount --bind {stage} {shlex.quote(str(path))}")
    lines.append(f"cd {folder}")
    lines.append(f"exec {shlex.join([*NOBODY, 'env', f'HOME={folder}', f'TMPDIR={folder}', *command])}")
    return ["unshare", "--mount", "sh", "-c", "\n".join(lines)]
