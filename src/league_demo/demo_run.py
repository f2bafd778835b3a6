"""One league of `league demo`: its processes, its course through the manager's pages, and what is told about it."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from league.cli.pages import Pages
from league.terminal import CommandError
from league.terminal import tables as terminal
from league.terminal.tables import Screen
from league_demo.processes import ChildProcess, LeagueProcesses
from league_demo.success import Share, Success, summarize

POLL_S, POLL_LARGE_S, LARGE = 0.1, 0.5, 20
"""How often the manager is asked, and from how many players on less often."""
MOMENT_S = 2.0
REGISTER_S = 60.0
TELL_S = 15.0
"""How long the last messages may take once the league is over; only a watchdog."""
PROCESSES = 8
"""On a machine with few cores more would only wait for each other."""
MOST_AT_ONCE = 10
"""Matches of one referee; the manager takes no larger offer (R-28)."""
SHARED_FILES = "shared files"
"""Every complaint about them says so."""
OWN_PLAYER = """\
Your own player: `league new player DIR --sdk` writes one to begin with, `league check player URL` and
`league spar URL` tell whether it is right. Then start it with --manager URL."""


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """What was asked for; `journal` is a folder."""

    players: int
    referees: int
    game: str
    strategies: tuple[str, ...]
    seed: int | None = None
    port: int | None = None
    journal: str | None = None
    shared: bool = True


class DemoRun:
    """From the first process to the last line."""

    def __init__(self, plan: DemoPlan, screen: Screen, started: float) -> None:
        self.plan, self.screen, self.started = plan, screen, started
        self.processes = LeagueProcesses()
        self.folder, self.league_id = _folder(plan.journal, plan.game)
        self.journal = self.folder / "journal.db"
        self.is_over = False
        self.base = ""
        self._pages: Pages | None = None
        self._manager: ChildProcess | None = None
        self._members: list[ChildProcess] = []

    # --- beginning ----------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Start everybody and wait until all of them serve."""
        try:
            await self._start_manager()
        except BaseException:
            with suppress(OSError):
                self.folder.rmdir()  # if nothing was written into it
            raise
        referees, players = shared_processes(self.plan.referees, self.plan.players, os.cpu_count() or 1)
        for number, (first, count) in enumerate(_groups(self.plan.referees, referees), start=1):
            await self._start("referee", first, count, "--journal", str(self.folder / f"referee-{number}.db"))
        for first, count in _groups(self.plan.players, players):
            await self._start("player", first, count)
        for child in self._members:
            await self.processes.ready(child)

    async def _start_manager(self) -> None:
        plan = self.plan
        given = [] if plan.port is None else ["--port", str(plan.port)]
        named = ["--game", plan.game, "--league-id", self.league_id, "--journal", str(self.journal)]
        numbers = ["--players", str(plan.players), "--referees", str(plan.referees)]
        given += [] if plan.shared else ["--no-shared"]
        self._manager = await self.processes.start("manager", ["manager", *numbers, *named, *given])
        (endpoint,) = await self.processes.ready(self._manager)
        self._pages = Pages(endpoint)
        self.base = self._pages.base

    async def _start(self, role: str, first: int, count: int, *more: str) -> None:
        plan = self.plan
        arguments = [role, "--manager", f"{self.base}/mcp", "--game", plan.game, "--count", str(count), *more]
        arguments += ["--shared", str(self.folder)] if plan.shared else []
        if role == "referee":
            at_once = math.ceil(plan.players / 2 / plan.referees)
            arguments += ["--max-concurrent-matches", str(min(max(at_once, 2), MOST_AT_ONCE)), "--ask-standings"]
            arguments += ["--state", str(self.folder)]
        else:
            several = plan.strategies
            turns = [several[(first + number) % len(several)] for number in range(min(count, len(several)))]
            arguments += ["--strategy", ",".join(turns), "--id", f"P{first + 1:02}"]
            arguments += [] if plan.seed is None else ["--seed", str(plan.seed)]
        name = f"{role} {first + 1}" if count == 1 else f"process of {role}s {first + 1} to {first + count}"
        self._members.append(await self.processes.start(name, arguments, count))

    # --- the course ---------------------------------------------------------------------------------------------------

    async def _get(self, path: str) -> Any:
        assert self._pages is not None
        try:
            return await asyncio.to_thread(self._pages.json, path)
        except CommandError:
            await self._pause(MOMENT_S)  # if the manager has just died, that is what there is to tell
            raise

    async def follow(self) -> None:
        """Watch until everybody knows how it ended."""
        begun = time.monotonic()
        while True:
            league, table = await self._get("/api/league"), await self._get("/api/standings")
            self.screen.show(league, table)
            if league["state"] == "LEAGUE_COMPLETED":
                break
            if league["waiting"] == "WAITING_FOR_OPERATOR":
                raise CommandError("a match failed three times and waits for an operator, whom a demo does not have")
            if league["state"] == "WAITING_FOR_REGISTRATIONS" and time.monotonic() - begun > REGISTER_S:
                raise CommandError(f"not everybody has registered after {REGISTER_S:g} s{self._last_errors()}")
            await self._pause()
        self.is_over = True
        await self._until_told()
        self.screen.end()

    async def _until_told(self) -> None:
        until = time.monotonic() + TELL_S
        while time.monotonic() < until:
            agents = (await self._get("/api/agents"))["agents"]
            if all(one["state"] == "SHUTDOWN" for one in agents):
                return
            await self._pause()

    async def _pause(self, seconds: float | None = None) -> None:
        """A moment; shorter if a process ends that should not."""
        often = POLL_LARGE_S if self.plan.players > LARGE else POLL_S
        await asyncio.wait((self.processes.failed,), timeout=seconds or often)
        if self.processes.failed.done():
            raise CommandError(await self.processes.reason())

    def _last_errors(self) -> str:
        lines = [line for child in self.processes.children for line in child.last_errors if child is not self._manager]
        return "".join(f"\n  {line}" for line in lines)

    def shared_trouble(self) -> str:
        """What a process said first about shared files that it could not write, if one did."""
        lines = (line for child in self.processes.children for line in child.last_errors)
        return next((line for line in lines if SHARED_FILES in line), "")

    async def stop_members(self) -> None:
        """Stop everybody but the manager."""
        await self.processes.stop(keep=self._manager)

    async def stay(self) -> None:
        """Until whoever waits for this is told to stop; the manager should not end before."""
        assert self._manager is not None
        await self._manager.process.wait()
        raise CommandError(self._manager.exit_report)

    # --- what is told -------------------------------------------------------------------------------------------------

    def introduction(self) -> Iterator[str]:
        """Who plays, and where to find them."""
        plan = self.plan
        referees = terminal.counted(plan.referees, "referee")
        yield f"{self.league_id}: {plan.game}, {plan.players} players, {referees}"
        yield f"  dashboard {self.base}/"
        yield f"  manager   {self.base}/mcp"
        yield f"  pages     {self.base}/api/league  /api/standings  /api/schedule  /api/agents"
        for role in ("referee", "player"):
            found = [one for child in self._members if role in child.name for one in child.endpoints]
            more = f" … {found[-1]} ({len(found)} in all)" if len(found) > 4 else ""
            yield f"  {role + 's':9} {'  '.join(found[: 1 if more else 4])}{more}"
        yield f"  journal   {self.journal}"
        yield ""

    async def outcome(self) -> dict[str, Any]:
        """The document of --json."""
        league, table = await self._get("/api/league"), await self._get("/api/standings")
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
        """The final table, with what it does not say in messages."""
        found: dict[str, Any] = await self._get("/api/standings")
        return found

    async def success(self) -> Success:
        """What the agents counted."""
        endpoints = [one for child in self.processes.children for one in child.endpoints]
        return await asyncio.to_thread(lambda: summarize(map(_metrics, endpoints)))

    def review(self, outcome: dict[str, Any], table: dict[str, Any], success: Success) -> Iterator[str]:
        """The end, for people."""
        yield from terminal.render_standings(table)
        yield ""
        yield from terminal.ending(table)
        played = terminal.counted(outcome["matches"], "match"), terminal.counted(outcome["rounds"], "round")
        losses = terminal.counted(outcome["technical_losses"], "technical loss")
        yield f"{played[0]} in {played[1]}, {losses}, {outcome['seconds']:.1f} s\n"
        yield from terminal.table(("how it went", "", "goal"), list(measured(success)))
        yield f"\nleague view {self.folder}     shows it in a browser: every match and its messages"
        yield f"league verify {self.folder}   checks every draw, result and table of it"
        yield OWN_PLAYER


def measured(success: Success) -> Iterator[tuple[str, str, str]]:
    """The success metrics (R-53): what, how much, and what is aimed at."""
    yield "messages that were valid", _percent(success.valid), "> 99 %"
    yield "field-type errors", _percent(success.field_type_errors), "< 1 %"
    yield "retries that succeeded", _percent(success.retries, "none was needed"), "> 80 %"
    yield "time-outs", _percent(success.timeouts), "< 5 %"
    yield "illegal choices", _percent(success.illegal_choices), "< 5 %"
    yield "registered at the first try", _percent(success.first_try), "> 80 %"
    yield "mean round trip", _milliseconds(success.round_trip_s), "< 500 ms"
    yield "mean query time", f"{_milliseconds(success.query_s)}  ({success.queries} LEAGUE_QUERY)", "< 1 s"
    yield "mean standings latency", _milliseconds(success.standings_s), "< 5 s"


def _percent(share: Share, of_nothing: str = "–") -> str:
    return of_nothing if share.rate is None else f"{100 * share.rate:.4g} %  ({share.part} of {share.of})"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.1f} ms"


def _metrics(endpoint: str) -> str:
    with closing(Pages(endpoint)) as pages:
        return pages.text("/metrics")


def shared_processes(referees: int, players: int, cores: int) -> tuple[int, int]:
    """How many processes referees and players share: one each as long as they are few."""
    room = max(PROCESSES, cores) - 1
    if referees + players <= room:
        return referees, players
    for_referees = min(referees, max(1, room // 3))
    return for_referees, min(players, room - for_referees)


def _groups(total: int, groups: int) -> Sequence[tuple[int, int]]:
    """(first, how many) of each group, all of about the same size."""
    bounds = [total * number // groups for number in range(groups + 1)]
    return [(first, after - first) for first, after in pairwise(bounds)]


def _folder(given: str | None, game: str) -> tuple[Path, str]:
    """A folder of our own for the journals, and the league's id. Two demos that begin in the same second share
    neither."""
    league_id = f"league_{datetime.now(UTC):%Y%m%d_%H%M%S}_{game}"
    try:
        if given is not None:
            folder = Path(given)
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.glob("*.db")):
                raise CommandError(f"{folder} holds the journals of another league; name a folder without any")
            return folder, league_id
        for number in range(1, 1000):
            folder = Path("league-data", league_id if number == 1 else f"{league_id}_{number}")
            with suppress(FileExistsError):
                folder.mkdir(parents=True)
                return folder, folder.name
    except OSError as error:
        raise CommandError(f"{error.filename or given} cannot be used: {error.strerror}") from error
    raise CommandError("league-data holds a thousand leagues of this second; name a folder with --journal")
