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
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
PYTHON: Final = ("-s", "-S", "-B", "-u", "-X", "utf8")
"""Not -I: it would ignore PYTHONHASHSEED."""
WALLS: Final = ("--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL")
"""Without a process of its own in there, which would be of the same user as the submission."""
WALLS_FOR_USERS: Final = ("--unshare-all", "--unshare-user", "--disable-userns")
WALLS_FOR_ROOT: Final = (
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-add",
    "CAP_SETUID",
    "--cap-add",
    "CAP_SETGID",
)
FORBIDDEN: Final = (
    ("user/max_user_namespaces", "0", "10000"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
)
"""Settings of kernels, the values that forbid namespaces to users, and values that allow them."""
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
    paths = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return sorted(path for path in paths if Path(path).is_dir())


def walls(copy: Path, runner: Path, number: int) -> list[str]:
    """Return what bubblewrap is told for the submission with this number."""
    words = [*WALLS]
    if is_root():
        words += WALLS_FOR_ROOT
    else:
        user = str(user_of(number))
        words += [*WALLS_FOR_USERS, "--uid", user, "--gid", user]
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += _system()
    words += _bound(str(runner), RUNNER)
    words += _bound(str(copy), SUBMISSION)
    for place, folder in enumerate(packages()):
        words += _bound(folder, f"{PACKAGES}/{place}")
    words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", SUBMISSION]
    return words


def packages_inside() -> list[str]:
    """Return the same folders as `packages`, as a submission sees them."""
    return [f"{PACKAGES}/{place}" for place, _ in enumerate(packages())]


def _system() -> Iterator[str]:
    """Bind the system and the interpreter, wherever that is."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in (*LIBRARIES, "bin"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from _bound("/etc/ld.so.cache", "/etc/ld.so.cache")
    # What is around these may be somebody's home.
    for part in (interpreter(), *(f"{sys.base_prefix}/{name}" for name in LIBRARIES)):
        if not Path(part).is_relative_to("/usr") and sys.base_prefix != "/":
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
    found = _run(path, "--version").stdout
    version = tuple(map(int, re.findall(r"\d+", found)[:2]))
    if version < OLDEST:
        return f"{found.strip()} is too old: {INSTALL}"
    command = [interpreter(), *PYTHON, f"{RUNNER}/stub.py"]
    tried = _run(path, *walls(INSIDE, INSIDE, 0), *command)
    if tried.returncode == 0:
        return ""
    helps = "let users make namespaces, or grade as root"
    if is_root():
        helps = "this root may not make namespaces; in a container, allow CAP_SYS_ADMIN, or grade outside of it"
    for name, value, other in () if is_root() else FORBIDDEN:
        if _kernel_says(name) == value:
            helps = f"let users make namespaces: sudo sysctl {name.replace('/', '.')}={other}"
    return f"bubblewrap cannot make a sandbox here ({tried.stderr.strip()}): {helps}"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env={}, capture_output=True, text=True, errors="replace", check=False)


def _kernel_says(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
