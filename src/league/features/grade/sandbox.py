"""Where submissions run: bubblewrap's command line, and whether this machine can do it.

Theory of operation. A sandbox is a set of namespaces with a file system made of nothing: read-only binds of `/usr`, of
the interpreter and its packages, of the runner and of a copy of one submission. Nothing in it can be written, and there
is no network. Root and other users need different walls:

- a user gets a user namespace, in which no other can be made, and has no rights there;
- root gets none: with one, files of root could still be read, and the limit of processes would not hold. The runner
  becomes a user of its own for each submission instead, for which bubblewrap leaves it two capabilities.

In both, a submission sees the same number as its user, so that it cannot tell them apart. bubblewrap itself gets an
empty environment: what it has can be read in `/proc/1/environ`.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from league.features.grade import seccomp
from league.terminal import CommandError

NOT_POSSIBLE: Final = 3
"""The exit status where submissions cannot be kept in a sandbox."""
OLDEST: Final = (0, 8)
FIRST_USER: Final = 62_000
"""The user of the first submission. No files of a usual system belong to these numbers."""
INSIDE: Final = Path(__file__).parent / "inside"
SUBMISSION: Final = "/submission"
RUNNER: Final = "/grader"
PACKAGES: Final = "/packages"
LIBRARIES: Final = ("lib", "lib32", "lib64", "libx32")
ENVIRONMENT: Final = {
    "HOME": SUBMISSION,
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    # No threads are allowed, and these libraries would start some when they are imported.
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}
PYTHON: Final = ("-s", "-S", "-B", "-u", "-X", "utf8")
"""Not -I: it would ignore PYTHONHASHSEED."""
WALLS: Final = "--as-pid-1 --die-with-parent --new-session --hostname sandbox --cap-drop ALL"
"""Without a process of its own in there, which would be of the same user as the submission."""
WALLS_FOR_USERS: Final = "--unshare-all --unshare-user --disable-userns --uid {user} --gid {user}"
WALLS_FOR_ROOT: Final = (
    "--unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try "
    "--cap-add CAP_SETUID --cap-add CAP_SETGID"
)
CLOSED: Final = f"--proc /proc --dev /dev --remount-ro /dev --remount-ro / --chdir {SUBMISSION}"
FORBIDDEN: Final = {
    "user/max_user_namespaces": ("0", "10000"),
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
}
"""Settings of kernels: the values that forbid namespaces to users, and values that allow them."""
INSTALL: Final = (
    "install bubblewrap 0.8 or newer (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)"
)
WITHOUT: Final = "--no-sandbox grades without one, and then files and network are not protected"


def is_root() -> bool:
    return os.geteuid() == 0


def user_of(number: int) -> int:
    """Return the user of the submission with this number."""
    return FIRST_USER + number


def interpreter() -> str:
    return os.path.realpath(sys.executable)


def packages() -> list[str]:
    """Return the folders of packages that are installed beside this one: submissions may import them."""
    return sorted({path for path in map(sysconfig.get_path, ("purelib", "platlib")) if Path(path).is_dir()})


def packages_inside() -> list[str]:
    """Return the same folders as a submission sees them."""
    return [f"{PACKAGES}/{place}" for place, _ in enumerate(packages())]


def walls(copy: Path, runner: Path, number: int) -> list[str]:
    """Return what bubblewrap is told for the submission with this number."""
    kind = WALLS_FOR_ROOT if is_root() else WALLS_FOR_USERS.format(user=user_of(number))
    words = f"{WALLS} {kind}".split()
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += _system()
    for source, target in ((runner, RUNNER), (copy, SUBMISSION), *zip(packages(), packages_inside(), strict=True)):
        words += _bound(str(source), target)
    return words + CLOSED.split()


def _system() -> Iterator[str]:
    """Bind the system and the interpreter, wherever that is."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in (*LIBRARIES, "bin"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    # What is around the interpreter may be somebody's home.
    parts = (interpreter(), *(f"{sys.base_prefix}/{name}" for name in LIBRARIES))
    outside = [part for part in parts if sys.base_prefix != "/" and not part.startswith("/usr/")]
    for part in ("/etc/ld.so.cache", *outside):
        yield from _bound(part, part)


def _bound(source: str, target: str) -> Iterator[str]:
    # bubblewrap would make the folders around it itself, but so that only root may enter.
    for parent in reversed(Path(target).parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))
    yield from ("--ro-bind-try", source, target)


# --- whether it is possible -------------------------------------------------------------------------------------------


def require(is_boxed: bool) -> None:
    """Raise CommandError if submissions cannot be run so on this machine."""
    if sys.platform == "win32":
        raise CommandError("league grade does not work on Windows, which cannot limit a program; use WSL", NOT_POSSIBLE)
    why_not = obstacle() if is_boxed else ""
    if why_not:
        raise CommandError(f"{why_not}. {WITHOUT}", NOT_POSSIBLE)


def obstacle() -> str:
    """Say why there is no sandbox on this machine, and what helps; empty if there is one."""
    if sys.platform != "linux" or not hasattr(os, "geteuid"):
        return "bubblewrap, which keeps submissions in a sandbox, exists on Linux only"
    if not seccomp.program():
        return f"the filter of system calls is not known for {platform.machine()}, only for x86-64 and aarch64"
    path = shutil.which("bwrap")
    if path is None:
        return f"bubblewrap is not installed: {INSTALL}"
    version = _run(path, "--version").stdout.strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        return f"{version} is too old: {INSTALL}"
    tried = _run(path, *walls(INSIDE, INSIDE, 0), interpreter(), *PYTHON, f"{RUNNER}/stub.py")
    if tried.returncode == 0:
        return ""
    helps = "let users make namespaces, or grade as root"
    if is_root():
        helps = "this root may not make namespaces; in a container, allow CAP_SYS_ADMIN, or grade outside of it"
    else:
        for name, (forbids, allows) in FORBIDDEN.items():
            with suppress(OSError):
                if Path("/proc/sys", name).read_text().strip() == forbids:
                    helps = f"let users make namespaces: sudo sysctl {name.replace('/', '.')}={allows}"
    return f"bubblewrap cannot make a sandbox here ({tried.stderr.strip()}): {helps}"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env={}, capture_output=True, text=True, errors="replace", check=False)
