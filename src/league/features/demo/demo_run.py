"""One league of `league demo`: start the processes, follow the league on the manager's pages, and report on it."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from league.cli.pages import Pages
from league.features.demo.processes import ChildProcess, LeagueProcesses
from league.features.demo.success import Share, Success, summarize
from league.games.contract import safe_name
from league.hosting.manager.kept_secrets import ENROLMENT_KEY
from league.hosting.settings.options import KEY_VARIABLE
from league.hosting.settings.referee_options import ASK_VARIABLE
from league.storage.opening import files_in
from league.terminal import CommandError
from league.terminal import tables as terminal
from league.terminal.tables import Screen

POLL_S = 0.1
POLL_LARGE_S = 0.5
LARGE = 20
"""A league with more players than this is looked at less often."""
MOMENT_S = 2.0
REGISTER_S = 60.0
NOTIFY_S = 15.0
"""How long the last messages may take once the league is over. This is only a watchdog."""
PROCESSES = 8
"""On a machine with few cores, more processes would only wait for each other."""
MOST_AT_ONCE = 10
"""Matches of one referee; the manager accepts no larger offer (R-28)."""
MOST_SHOWN = 4
SHARED_FILES = "shared files"
"""Every complaint about shared files has these words."""
OWN_PLAYER = """\
Your own player: `league new player DIR --sdk` writes one to start from, `league check player URL` and
`league spar URL` test it. Then start it with --manager URL."""


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """The league that was ordered. `journal` is a folder."""

    players: int
    referees: int
    game: str
    strategies: tuple[str, ...]
    seed: int | None = None
    port: int | None = None
    journal: str | None = None
    shared: bool = True


class Group(NamedTuple):
    """Agents that share a process: `size` of them, from place `first` on."""

    first: int
    size: int


class ProcessCounts(NamedTuple):
    """How many processes the referees and the players share."""

    referees: int
    players: int


class Measure(NamedTuple):
    """A success metric (R-53) as a row of text."""

    name: str
    value: str
    goal: str


class DemoRun:
    """A demo from the first process to the last line."""

    def __init__(self, plan: DemoPlan, screen: Screen, started: float) -> None:
        self.plan = plan
        self.screen = screen
        self.started = started
        self.processes = LeagueProcesses()
        self.folder = _folder(plan.journal, plan.game)
        # A new folder has the id as its name, with a number if there are several of the same second.
        self.league_id = self.folder.name
        if plan.journal is not None:
            self.league_id = _league_id(plan.game)
        self.journal = self.folder / "journal.db"
        self.is_over = False
        self.base = ""
        self._pages: Pages | None = None
        self._manager: ChildProcess | None = None
        self._members: list[ChildProcess] = []

    # --- beginning ----------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Start all processes and wait until every agent serves."""
        try:
            await self._start_manager()
        except BaseException:
            with suppress(OSError):
                self.folder.rmdir()  # fails if something was written into it
            raise
        counts = shared_processes(self.plan.referees, self.plan.players, os.cpu_count() or 1)
        for number, group in enumerate(_groups(self.plan.referees, counts.referees), start=1):
            await self._start("referee", group, self._referee_arguments(number), self._of_referees())
        for group in _groups(self.plan.players, counts.players):
            await self._start("player", group, self._player_arguments(group))
        for child in self._members:
            await self.processes.ready(child)

    async def _start_manager(self) -> None:
        plan = self.plan
        arguments = ["manager", "--game", plan.game, "--league-id", self.league_id]
        arguments += ["--players", str(plan.players), "--referees", str(plan.referees)]
        arguments += ["--journal", str(self.journal)]
        if plan.port is not None:
            arguments += ["--port", str(plan.port)]
        if not plan.shared:
            arguments += ["--shared", ""]
        self._manager = await self.processes.start("manager", arguments)
        (endpoint,) = await self.processes.ready(self._manager)
        self._pages = Pages(endpoint)
        self.base = self._pages.base

    def _of_referees(self) -> dict[str, str]:
        """The environment of referees: with the key they are the operator's own from their first registration on."""
        environment = {ASK_VARIABLE: "1"}
        key = ENROLMENT_KEY.found_in(self.folder)
        if key:
            environment[KEY_VARIABLE] = key
        return environment

    async def _start(
        self,
        role: str,
        group: Group,
        more: list[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        arguments = [role, "--manager", f"{self.base}/mcp", "--game", self.plan.game]
        arguments += ["--count", str(group.size)]
        if self.plan.shared:
            arguments += ["--shared", str(self.folder)]
        name = f"{role} {group.first + 1}"
        if group.size > 1:
            name = f"process of {role}s {group.first + 1} to {group.first + group.size}"
        child = await self.processes.start(name, arguments + more, group.size, environment)
        self._members.append(child)

    def _referee_arguments(self, number: int) -> list[str]:
        matches_at_once = math.ceil(self.plan.players / 2 / self.plan.referees)
        capacity = min(max(matches_at_once, 2), MOST_AT_ONCE)
        return ["--max-concurrent-matches", str(capacity), "--journal", str(self.folder / f"referee-{number}.db")]

    def _player_arguments(self, group: Group) -> list[str]:
        # The strategies take turns over all players, whichever process they are in. Within a process the list is
        # repeated, so it need not be longer than all strategies.
        strategies = self.plan.strategies
        turns = [
            strategies[(group.first + number) % len(strategies)] for number in range(min(group.size, len(strategies)))
        ]
        arguments = ["--strategy", ",".join(turns), "--id", f"P{group.first + 1:02}"]
        # Players that keep a journal keep the manager's key and what it signed.
        arguments += ["--journal", str(self.folder / f"player-{group.first + 1}.db")]
        if self.plan.seed is not None:
            arguments += ["--seed", str(self.plan.seed)]
        return arguments

    # --- the course ---------------------------------------------------------------------------------------------------

    async def _get(self, path: str) -> Any:
        assert self._pages is not None
        try:
            return await asyncio.to_thread(self._pages.json, path)
        except CommandError:
            # If the manager has just died, its last words say more than this error.
            await self._pause(MOMENT_S)
            raise

    async def follow(self) -> None:
        """Show the league until everybody knows how it ended."""
        begun = time.monotonic()
        while True:
            league = await self._get("/api/league")
            table = await self._get("/api/standings")
            self.screen.show(league, table)
            if league["state"] == "LEAGUE_COMPLETED":
                break
            if league["waiting"] == "WAITING_FOR_OPERATOR":
                raise CommandError("a match failed three times and waits for an operator, and a demo has none")
            if league["state"] == "WAITING_FOR_REGISTRATIONS" and time.monotonic() - begun > REGISTER_S:
                raise CommandError(f"not everybody has registered after {REGISTER_S:g} s{self._last_errors()}")
            await self._pause()
        self.is_over = True
        await self._wait_for_notifications()
        self.screen.end()

    async def _wait_for_notifications(self) -> None:
        until = time.monotonic() + NOTIFY_S
        while time.monotonic() < until:
            agents = (await self._get("/api/agents"))["agents"]
            if all(agent["state"] == "SHUTDOWN" for agent in agents):
                return
            await self._pause()

    async def _pause(self, seconds: float | None = None) -> None:
        """Wait a moment, or until a process ends that should not; that is an error."""
        if seconds is None:
            seconds = POLL_LARGE_S if self.plan.players > LARGE else POLL_S
        await asyncio.wait((self.processes.failed,), timeout=seconds)
        if self.processes.failed.done():
            raise CommandError(await self.processes.reason())

    def _last_errors(self) -> str:
        lines = [line for child in self.processes.children for line in child.last_errors if child is not self._manager]
        return "".join(f"\n  {line}" for line in lines)

    def shared_trouble(self) -> str:
        """Return the first complaint of a process that could not write shared files, if there is one."""
        for child in self.processes.children:
            for line in child.last_errors:
                if SHARED_FILES in line:
                    return line
        return ""

    async def stop_members(self) -> None:
        """Stop all processes except the manager."""
        await self.processes.stop(keep=self._manager)

    async def stay(self) -> None:
        """Wait until this is cancelled. It is an error if the manager ends before."""
        assert self._manager is not None
        await self._manager.process.wait()
        raise CommandError(self._manager.exit_report)

    # --- reports ------------------------------------------------------------------------------------------------------

    def introduction(self) -> Iterator[str]:
        """Say who plays, and where to find them."""
        plan = self.plan
        referees = terminal.counted(plan.referees, "referee")
        yield f"{self.league_id}: {plan.game}, {plan.players} players, {referees}"
        yield f"  dashboard {self.base}/"
        yield f"  manager   {self.base}/mcp"
        yield f"  pages     {self.base}/api/league  /api/standings  /api/schedule  /api/agents"
        for role in ("referee", "player"):
            endpoints = sorted(
                endpoint for child in self._members if role in child.name for endpoint in child.endpoints
            )
            addresses = "  ".join(endpoints)
            if len(endpoints) > MOST_SHOWN:
                addresses = f"{endpoints[0]} … {endpoints[-1]} ({len(endpoints)} in all)"
            yield f"  {role + 's':9} {addresses}"
        yield f"  journal   {self.journal}"
        yield ""

    async def outcome(self) -> dict[str, Any]:
        """Return the document of --json."""
        league = await self._get("/api/league")
        table = await self._get("/api/standings")
        return {
            "league_id": league["league_id"],
            "journal": str(self.journal),
            "state": league["state"],
            "rounds": league["rounds"],
            "matches": league["matches_completed"],
            "technical_losses": league["technical_losses"],
            "seconds": round(time.monotonic() - self.started, 3),
            "champion": league["champion"],
            "standings": table["standings"],
        }

    async def table(self) -> dict[str, Any]:
        """Return the final table, with the columns that no message has."""
        table: dict[str, Any] = await self._get("/api/standings")
        return table

    async def success(self) -> Success:
        """Return what the agents counted."""
        endpoints = [endpoint for child in self.processes.children for endpoint in child.endpoints]
        return await asyncio.to_thread(lambda: summarize(map(_metrics, endpoints)))

    def review(self, outcome: dict[str, Any], table: dict[str, Any], success: Success) -> Iterator[str]:
        """Say how the league ended."""
        matches = terminal.counted(outcome["matches"], "match")
        rounds = terminal.counted(outcome["rounds"], "round")
        losses = terminal.counted(outcome["technical_losses"], "technical loss")
        yield from terminal.render_standings(table)
        yield ""
        yield from terminal.ending(table)
        yield f"{matches} in {rounds}, {losses}, {outcome['seconds']:.1f} s\n"
        yield from terminal.table(("how it went", "", "goal"), list(measured(success)))
        yield f"\nleague view {self.folder}     shows it in a browser: every match and its messages"
        yield f"league verify {self.folder}   checks every draw, result and table of it"
        yield OWN_PLAYER


def measured(success: Success) -> Iterator[Measure]:
    """Yield the success metrics (R-53) with their goals."""
    query_time = f"{_milliseconds(success.query_s)}  ({success.queries} LEAGUE_QUERY)"
    yield Measure("messages that were valid", _percent(success.valid), "> 99 %")
    yield Measure("field-type errors", _percent(success.field_type_errors), "< 1 %")
    yield Measure("retries that succeeded", _percent(success.retries, "none was needed"), "> 80 %")
    yield Measure("time-outs", _percent(success.timeouts), "< 5 %")
    yield Measure("illegal choices", _percent(success.illegal_choices), "< 5 %")
    yield Measure("registered at the first try", _percent(success.first_try), "> 80 %")
    yield Measure("mean round trip", _milliseconds(success.round_trip_s), "< 500 ms")
    yield Measure("mean query time", query_time, "< 1 s")
    yield Measure("mean standings latency", _milliseconds(success.standings_s), "< 5 s")
    yield Measure("right implementations", "league check judges one", "> 95 %")
    yield Measure("from an error to its fix", "nobody tells us", "< 30 min")


def _percent(share: Share, of_nothing: str = "–") -> str:
    if share.rate is None:
        return of_nothing
    return f"{100 * share.rate:.4g} %  ({share.part} of {share.of})"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.1f} ms"


def _metrics(endpoint: str) -> str:
    with closing(Pages(endpoint)) as pages:
        return pages.text("/metrics")


def shared_processes(referees: int, players: int, cores: int) -> ProcessCounts:
    """Return how many processes to start. While there are few agents, each has its own process."""
    room = max(PROCESSES, cores) - 1  # one is the manager's
    if referees + players <= room:
        return ProcessCounts(referees, players)
    # Referees have less to do than players, who may think.
    for_referees = min(referees, max(1, room // 3))
    return ProcessCounts(for_referees, min(players, room - for_referees))


def _groups(total: int, count: int) -> list[Group]:
    """Share agents out over processes, about as many to each."""
    bounds = [total * number // count for number in range(count + 1)]
    return [Group(first, after - first) for first, after in pairwise(bounds)]


def _league_id(game: str) -> str:
    return f"league_{datetime.now(UTC):%Y%m%d_%H%M%S}_{safe_name(game)}"


def _folder(chosen: str | None, game: str) -> Path:
    """Make the folder for the journals: the chosen one, or a new one that has the league's id as its name."""
    try:
        if chosen is None:
            return _new_folder(game)
        return _chosen_folder(chosen)
    except OSError as error:
        raise CommandError(f"{error.filename or chosen} cannot be used: {error.strerror}") from error


def _chosen_folder(chosen: str) -> Path:
    folder = Path(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    if files_in(folder):
        raise CommandError(f"{folder} has journals of another league; choose a folder without journals")
    return folder


def _new_folder(game: str) -> Path:
    league_id = _league_id(game)
    # Demos that begin in the same second get numbers.
    for number in range(1, 1000):
        name = league_id if number == 1 else f"{league_id}_{number}"
        folder = Path("league-data", name)
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    raise CommandError("league-data has a thousand leagues of this second; choose a folder with --journal")
