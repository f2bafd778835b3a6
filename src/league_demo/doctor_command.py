"""`league doctor`: is this machine ready for a league?"""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from league.hosting import options
from league.terminal import Command, CommandError, add_json_option, addresses, print_result
from league.terminal import tables as terminal
from league.terminal.display import Style, paint

EXAMPLE = """\
example: league doctor
exit status: 0 a league can be played here, 1 something keeps it from running"""

OLDEST_PYTHON = (3, 11)
USUAL_PORTS = {one.usual_port: one.role for one in options.ROLES}
NEEDED = ("msgspec", "httptools")
NAMESAKE = "league"
EARLIEST = 1_735_689_600.0  # 2025-01-01
SLOW_SYNC_S = 0.1
LEAST_FREE = 100 << 20
FEWEST_AGENTS, MANY_AGENTS = 6, 110
"""Those of a demo, and of the largest class: a smaller number of open files than these need is told."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`is_fatal`: no league can be played before this is mended."""

    check: str
    is_well: bool
    detail: str
    is_fatal: bool = False

    @property
    def mark(self) -> str:
        return "ok" if self.is_well else "PROBLEM" if self.is_fatal else "note"

    @property
    def style(self) -> Style:
        return Style.GOOD if self.is_well else Style.BAD if self.is_fatal else Style.WARNING


def configure(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    findings = [one for check in CHECKS for one in check()]
    is_ready = not any(one.is_fatal for one in findings)
    checks = [{"check": one.check, "verdict": one.mark.lower(), "detail": one.detail} for one in findings]
    table = terminal.table(("", "", ""), [(paint(one.mark, one.style), one.check, one.detail) for one in findings])[1:]
    last = "\nA league can be played here: league demo" if is_ready else "\nNo league can be played here yet."
    print_result(args.json, {"ok": is_ready, "checks": checks}, [*table, last])
    return 0 if is_ready else 1


# --- what is looked at ------------------------------------------------------------------------------------------------


def _python() -> Iterator[Diagnosis]:
    is_new_enough = sys.version_info >= OLDEST_PYTHON
    shown = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"
    yield Diagnosis("Python", is_new_enough, shown + ("" if is_new_enough else "; 3.11 is needed"), not is_new_enough)


def _packages() -> Iterator[Diagnosis]:
    for name in NEEDED:
        try:
            import_module(name)
            yield Diagnosis(name, True, version(name))
        except (ImportError, PackageNotFoundError) as error:
            yield Diagnosis(name, False, f"{error}; install agent-league again", is_fatal=True)
    try:
        import_module("uvloop")
        yield Diagnosis("event loop", True, f"uvloop {version('uvloop')}")
    except (ImportError, PackageNotFoundError):
        yield Diagnosis("event loop", False, "asyncio; uvloop would be faster and is not installed")


def _namesake() -> Iterator[Diagnosis]:
    """Another distribution is called `league`, as our package is: it overwrites our files (decision 17)."""
    try:
        found = version(NAMESAKE)
    except PackageNotFoundError:
        return
    advice = f"'pip uninstall {NAMESAKE}', then 'pip install --force-reinstall agent-league'"
    yield Diagnosis(
        "installation",
        False,
        f"another distribution, {NAMESAKE} {found}, is installed too and may have replaced files of ours: {advice}",
    )


def _clock() -> Iterator[Diagnosis]:
    wall, steady = time.time(), time.monotonic()
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))
    if wall < EARLIEST:
        yield Diagnosis(
            "clock", False, f"{shown}: set it, or every timestamp of the league will be wrong", is_fatal=True
        )
        return
    jumped = abs((time.time() - wall) - (time.monotonic() - steady)) > 1.0
    yield Diagnosis("clock", not jumped, shown + (", and it jumps" if jumped else ""))


def _network() -> Iterator[Diagnosis]:
    try:
        with socket.create_server((addresses.LOOPBACK, 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
        yield Diagnosis("loopback", True, f"{addresses.LOOPBACK} takes connections")
    except OSError as error:
        yield Diagnosis("loopback", False, f"{addresses.LOOPBACK}: {error.strerror or error}", is_fatal=True)
        return
    yield _address()


def _address() -> Diagnosis:
    """Which policy about endpoints fits the address this machine has."""
    from league.protocol.endpoints import ip_of, is_within, why_never

    seen = addresses.seen_by_others()
    ip = ip_of(seen) if seen else None
    if ip is None:
        told = "this machine has no network: agents on others cannot reach it; --endpoints local, the default, fits"
        return Diagnosis("address", False, told)
    if what := why_never(ip):
        told = f"others see {ip}, which is {what}: agents there are not called; --endpoints local, the default, fits"
        return Diagnosis("address", False, told)
    fits = "lan" if is_within(ip, "lan") else "public"
    return Diagnosis("address", True, f"others see {ip}; --host 0.0.0.0 --endpoints {fits} lets them in")


def _ports() -> Iterator[Diagnosis]:
    for port, role in USUAL_PORTS.items():
        taken = _is_taken(port)
        detail = f"taken by {_holder(port)}; a {role} takes the next free one" if taken else f"free for a {role}"
        yield Diagnosis(f"port {port}", not taken, detail)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((addresses.LOOPBACK, port))
        except OSError:
            return True
    return False


def _holder(port: int) -> str:
    """Who listens there: one of ours says so itself, of others the system may know."""
    from league.cli.pages import Pages

    try:
        with closing(Pages(f"http://{addresses.LOOPBACK}:{port}")) as pages:
            league = pages.json("/api/league")
        if isinstance(league, dict) and "league_id" in league:
            return f"the manager of {league['league_id']}"
    except CommandError:
        pass
    return _process_at(port) or "another program"


def _process_at(port: int) -> str | None:
    """Linux tells which process listens at a port; elsewhere nobody asks."""
    inodes = {line.split()[9] for line in _listening() if line.split()[1].endswith(f":{port:04X}")}
    targets = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").glob("[0-9]*") if targets else ():
        try:
            if any(str(one.readlink()) in targets for one in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return None


def _listening() -> list[str]:
    lines: list[str] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines += Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
    return [line for line in lines if line.split()[3] == "0A"]


def _disk() -> Iterator[Diagnosis]:
    """Journals are kept below the working directory unless somebody says otherwise."""
    folder = Path("league-data") if Path("league-data").is_dir() else Path()
    shown = folder.resolve()
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as scratch:
            seconds = _sync_time(Path(scratch))
            mode = _write_ahead(Path(scratch))
    except (OSError, sqlite3.Error) as error:
        yield Diagnosis("disk", False, f"no journal can be written in {shown}: {error}", is_fatal=True)
        return
    slow = f" ({1000 * seconds:.0f} ms: results will wait for it)" if seconds > SLOW_SYNC_S else ""
    yield Diagnosis("disk", not slow, f"{shown} can be written and synced{slow}")
    if mode != "wal":
        yield Diagnosis("journal", False, f"the file system of {shown} allows no write-ahead log", is_fatal=True)
    else:
        yield Diagnosis("journal", True, f"SQLite {sqlite3.sqlite_version} with a write-ahead log")
    free = shutil.disk_usage(folder).free
    yield Diagnosis("free space", free >= LEAST_FREE, f"{free >> 20} MiB")


def _sync_time(folder: Path) -> float:
    started = time.monotonic()
    with (folder / "probe").open("wb") as file:
        file.write(b"0" * 4096)
        file.flush()
        os.fsync(file.fileno())
    return time.monotonic() - started


def _write_ahead(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "probe.db")) as connection:
        mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        connection.execute("CREATE TABLE probe(value)")
        connection.commit()
        return mode


def _files() -> Iterator[Diagnosis]:
    from league.hosting.serving import FILES_PER_AGENT, files_needed
    from league.hosting.system import file_limits

    _, limit = file_limits()
    if math.isinf(limit):
        yield Diagnosis("open files", True, "no limit for a process")
        return
    hard = int(limit)
    agents, least = (hard - files_needed(0)) // FILES_PER_AGENT, files_needed(FEWEST_AGENTS)
    told = f"at most {hard} for a process: enough for a league of about {max(agents, 0)} agents"
    if hard < least:
        told += f"; raise it with 'ulimit -Hn {files_needed(MANY_AGENTS)}' as root"
    yield Diagnosis("open files", hard >= files_needed(MANY_AGENTS), told, is_fatal=hard < least)


def _games() -> Iterator[Diagnosis]:
    from league.games import registry

    yield Diagnosis("games", True, ", ".join(registry.known()))
    yield from (Diagnosis("games", False, problem) for problem in registry.problems())


CHECKS: tuple[Callable[[], Iterator[Diagnosis]], ...] = (
    _python,
    _packages,
    _namesake,
    _clock,
    _network,
    _ports,
    _disk,
    _files,
    _games,
)


COMMANDS = (Command("doctor", "check whether this machine is ready for a league", EXAMPLE, configure, run),)
