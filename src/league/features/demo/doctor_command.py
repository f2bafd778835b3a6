"""`league doctor`: check whether this machine is ready for a league."""

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

from league.hosting.settings.settings_file import ROLES
from league.terminal import Command, add_json_option, addresses, print_result
from league.terminal import tables as terminal
from league.terminal.display import Style, paint

EXAMPLE = """\
example: league doctor
exit status: 0 if a league can be played here, 1 if something prevents it"""

OLDEST_PYTHON = (3, 11)
USUAL_PORTS = {role.usual_port: role.role for role in ROLES}
NEEDED = ("msgspec", "httptools")
NAMESAKE = "league"
EARLIEST = 1_735_689_600.0  # 2025-01-01
SLOW_SYNC_S = 0.1
LEAST_FREE = 100 << 20
FEWEST_AGENTS = 6
"""As many as a demo has. With too few open files for them no league can be played."""
MANY_AGENTS = 110
"""As many as the largest class has. With too few open files for them there is a note."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check. `is_fatal` means that no league can be played until this is fixed."""

    check: str
    is_well: bool
    detail: str
    is_fatal: bool = False

    @property
    def mark(self) -> str:
        if self.is_well:
            return "ok"
        if self.is_fatal:
            return "PROBLEM"
        return "note"

    @property
    def style(self) -> Style:
        if self.is_well:
            return Style.GOOD
        if self.is_fatal:
            return Style.BAD
        return Style.WARNING


def configure(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    findings = [finding for check in CHECKS for finding in check()]
    is_ready = not any(finding.is_fatal for finding in findings)
    checks = []
    rows = []
    for finding in findings:
        checks.append({"check": finding.check, "verdict": finding.mark.lower(), "detail": finding.detail})
        rows.append((paint(finding.mark, finding.style), finding.check, finding.detail))
    _, *lines = terminal.table(("", "", ""), rows)
    conclusion = "No league can be played here yet."
    if is_ready:
        conclusion = "A league can be played here: league demo"
    print_result(args.json, {"ok": is_ready, "checks": checks}, [*lines, f"\n{conclusion}"])
    return 0 if is_ready else 1


# --- Python and its packages ------------------------------------------------------------------------------------------


def _python() -> Iterator[Diagnosis]:
    detail = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"
    if sys.version_info >= OLDEST_PYTHON:
        yield Diagnosis("Python", True, detail)
    else:
        yield Diagnosis("Python", False, f"{detail}; 3.11 or newer is needed", is_fatal=True)


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
        yield Diagnosis("event loop", False, "asyncio; install uvloop for more speed")


def _namesake() -> Iterator[Diagnosis]:
    # Another distribution is called `league`, as our package is: it overwrites our files (decision 17).
    try:
        other = version(NAMESAKE)
    except PackageNotFoundError:
        return
    advice = f"'pip uninstall {NAMESAKE}', then 'pip install --force-reinstall agent-league'"
    yield Diagnosis(
        "installation",
        False,
        f"another distribution, {NAMESAKE} {other}, is installed too and may have replaced files of ours: {advice}",
    )


def _games() -> Iterator[Diagnosis]:
    from league.games import registry

    yield Diagnosis("games", True, registry.summary())
    for problem in registry.problems():
        yield Diagnosis("games", False, problem)


def _sandbox() -> Iterator[Diagnosis]:
    from league.features.grade import sandbox

    why_not = sandbox.obstacle()
    yield Diagnosis("sandbox", not why_not, why_not or "league grade can keep submissions in a sandbox")


def _mcp() -> Iterator[Diagnosis]:
    from league import rows

    for row in rows.own(rows.DoorRow):
        yield Diagnosis("MCP", True, f"clients are answered by {rows.load(row.describe)()}")


def _features() -> Iterator[Diagnosis]:
    from league import rows

    for problem in rows.problems():
        yield Diagnosis("features", False, problem)


# --- clock and network ------------------------------------------------------------------------------------------------


def _clock() -> Iterator[Diagnosis]:
    wall = time.time()
    steady = time.monotonic()
    detail = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))
    if wall < EARLIEST:
        problem = f"{detail}: set the clock, or every timestamp of the league will be wrong"
        yield Diagnosis("clock", False, problem, is_fatal=True)
        return
    # Both clocks should have moved by the same time since.
    drift_s = (time.time() - wall) - (time.monotonic() - steady)
    if abs(drift_s) > 1.0:
        yield Diagnosis("clock", False, f"{detail}, and it jumps")
    else:
        yield Diagnosis("clock", True, detail)


def _network() -> Iterator[Diagnosis]:
    try:
        with socket.create_server((addresses.LOOPBACK, 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
        yield Diagnosis("loopback", True, f"{addresses.LOOPBACK} accepts connections")
    except OSError as error:
        yield Diagnosis("loopback", False, f"{addresses.LOOPBACK}: {error.strerror or error}", is_fatal=True)
        return
    yield _address()


def _address() -> Diagnosis:
    """Say which policy about endpoints fits the address of this machine."""
    from league.protocol.endpoints import ip_of, is_within, why_never

    host = addresses.seen_by_others()
    ip = ip_of(host) if host else None
    if ip is None:
        return Diagnosis(
            "address",
            False,
            "this machine has no network, so agents elsewhere cannot reach it; use --endpoints local, the default",
        )
    kind = why_never(ip)
    if kind:
        return Diagnosis(
            "address",
            False,
            f"others see {ip}, which is {kind}: agents there are not called; use --endpoints local, the default",
        )
    reach = "lan" if is_within(ip, "lan") else "public"
    return Diagnosis("address", True, f"others see {ip}; --host 0.0.0.0 --endpoints {reach} lets them in")


def _ports() -> Iterator[Diagnosis]:
    for port, role in USUAL_PORTS.items():
        if _is_taken(port):
            yield Diagnosis(f"port {port}", False, f"taken; a {role} uses the next free port")
        else:
            yield Diagnosis(f"port {port}", True, f"free for a {role}")


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # Without this a port counts as taken for a minute after its program has ended.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((addresses.LOOPBACK, port))
        except OSError:
            return True
    return False


# --- disk and files ---------------------------------------------------------------------------------------------------


def _disk() -> Iterator[Diagnosis]:
    # Journals are kept below the working directory unless somebody chooses another place.
    folder = Path("league-data")
    if not folder.is_dir():
        folder = Path()
    path = folder.resolve()
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as scratch:
            seconds = _sync_time(Path(scratch))
            mode = _journal_mode(Path(scratch))
    except (OSError, sqlite3.Error) as error:
        yield Diagnosis("disk", False, f"no journal can be written in {path}: {error}", is_fatal=True)
        return
    detail = f"{path} can be written and synced"
    if seconds > SLOW_SYNC_S:
        yield Diagnosis("disk", False, f"{detail} ({1000 * seconds:.0f} ms: results will wait for it)")
    else:
        yield Diagnosis("disk", True, detail)
    if mode == "wal":
        yield Diagnosis("journal", True, f"SQLite {sqlite3.sqlite_version} with a write-ahead log")
    else:
        problem = f"the file system of {path} does not allow a write-ahead log"
        yield Diagnosis("journal", False, problem, is_fatal=True)
    free = shutil.disk_usage(folder).free
    yield Diagnosis("free space", free >= LEAST_FREE, f"{free >> 20} MiB")


def _sync_time(folder: Path) -> float:
    started = time.monotonic()
    with (folder / "probe").open("wb") as file:
        file.write(b"0" * 4096)
        file.flush()
        os.fsync(file.fileno())
    return time.monotonic() - started


def _journal_mode(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "probe.db")) as connection:
        mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        # Some file systems allow the mode, and fail when something is written.
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
    most = int(limit)
    agents = max((most - files_needed(0)) // FILES_PER_AGENT, 0)
    detail = f"at most {most} for a process: enough for a league of about {agents} agents"
    if most < files_needed(FEWEST_AGENTS):
        advice = f"raise it with 'ulimit -Hn {files_needed(MANY_AGENTS)}' as root"
        yield Diagnosis("open files", False, f"{detail}; {advice}", is_fatal=True)
    else:
        yield Diagnosis("open files", most >= files_needed(MANY_AGENTS), detail)


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
    _mcp,
    _sandbox,
    _features,
)


COMMANDS = (Command("doctor", "check whether this machine is ready for a league", EXAMPLE, configure, run),)
