"""A whole league in this process: manager, referees and players as real agents on ports of their own.

For scripts and notebooks, also inside a loop that is already running. It handles no signals and prints only problems.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from league.hosting import managers, options, players, referees, serving
from league.hosting.kept_secrets import ADMIN_TOKEN, ENROLMENT_KEY
from league.hosting.players import Entrant
from league.hosting.serving import HostedAgent, Ready
from league.manager.league import LeagueManager
from league.player.strategies import Strategy
from league.reports import views
from league.terminal import CommandError
from league.terminal.addresses import LOOPBACK

Contestant = str | Strategy | Callable[[], Strategy]
"""A player: a strategy by name or as module:Class, an object such as a Player, or a function that makes one."""

TELL_S = 15.0
"""How long players may take to end once they know that the league is over; only a watchdog."""


class RunningLeague:
    """A league whose agents serve."""

    def __init__(self) -> None:
        self.manager = ""
        """The URL of its manager."""
        self._host: HostedAgent | None = None
        self._agents: dict[asyncio.Task[int], str] = {}
        """The tasks that serve, with names for error messages; the manager's comes first."""
        self._stop_members = asyncio.Event()
        self._stop_manager = asyncio.Event()

    async def finished(self) -> list[dict[str, Any]]:
        """Wait until the league is over and every agent knows it; return the final table.

        Raises CommandError if the league cannot be finished.
        """
        assert self._host is not None, "it was started"
        over = asyncio.create_task(serving.all_over([self._host.running], lambda _: self._is_over()))
        try:
            while not over.done():
                unfinished = [task for task in self._agents if not task.done()]
                await asyncio.wait((over, *unfinished), return_when=asyncio.FIRST_COMPLETED)
                self.raise_failure()
            over.result()
        finally:
            over.cancel()
        members = list(self._agents)[1:]
        await asyncio.wait(members, timeout=TELL_S)
        return self.standings()

    def standings(self) -> list[dict[str, Any]]:
        """The current table, best player first; the rows are those of `league standings --json`."""
        rows: list[dict[str, Any]] = views.standings(self._machine)["standings"]
        return rows

    @property
    def _machine(self) -> LeagueManager:
        assert self._host is not None, "it was started"
        machine = self._host.running.machine
        assert isinstance(machine, LeagueManager)
        return machine

    def _is_over(self) -> bool:
        if self._machine.waiting == "WAITING_FOR_OPERATOR":
            raise CommandError("a match failed three times and waits for an operator, but this league has none")
        return self._machine.is_finished and self._machine.has_notified_everybody

    def raise_failure(self) -> None:
        """Raise CommandError if an agent ended with an error."""
        for task, name in self._agents.items():
            if task.done() and task.result() != 0:
                raise CommandError(f"the manager refused the {name}; the reason is on stderr")

    # --- start and end ------------------------------------------------------------------------------------------------

    async def start(self, chosen: options.ManagerOptions, entrants: list[Entrant], seed: int | None) -> None:
        """Start the manager, then its members. All of them serve when this returns."""
        folder = Path(chosen.state)
        self._host = await self._begin("manager", _serving(managers.serve, chosen, self._stop_manager))
        self.manager = self._host.endpoint
        for number in range(1, chosen.referees + 1):
            referee = replace(
                options.defaults(options.RefereeOptions),
                **self._member(chosen.game, f"Referee {number}"),
                journal=str(folder / f"referee-{number}.db"),
                enrolment_key=chosen.enrolment_key,
            )
            await self._begin(f"referee {number}", _serving(referees.serve, referee, self._stop_members))
        for number, entrant in enumerate(entrants, start=1):
            player = replace(
                options.defaults(options.PlayerOptions),
                **self._member(chosen.game),
                id=f"P{number:02}",
                seed=seed,
            )
            await self._begin(f"player {number}", _serving(players.serve, player, [entrant], self._stop_members))

    def _member(self, game: str, name: str = "") -> dict[str, Any]:
        """The options that all members share."""
        return {
            "host": LOOPBACK,
            "manager": self.manager,
            "game": game,
            "name": name,
            "port": 0,
            "quiet": True,
        }

    async def _begin(self, name: str, serve: Callable[[Ready], Coroutine[Any, Any, int]]) -> HostedAgent:
        """Start an agent and wait until it serves."""
        ready: asyncio.Future[HostedAgent] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(serve(ready.set_result), name=name)
        self._agents[task] = name
        await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            task.result()
            raise CommandError(f"the {name} ended before it served")
        return ready.result()

    async def stop(self) -> None:
        """Stop the members, then the manager: a member without a manager would complain."""
        tasks = list(self._agents)
        self._stop_members.set()
        await asyncio.gather(*tasks[1:], return_exceptions=True)
        self._stop_manager.set()
        await asyncio.gather(*tasks[:1], return_exceptions=True)


def _serving(serve: Callable[..., Coroutine[Any, Any, int]], *arguments: object) -> Callable[[Ready], Any]:
    return lambda ready: serve(*arguments, ready)


@asynccontextmanager
async def run(
    players: Iterable[Contestant],
    *,
    referees: int = 1,
    game: str = "even_odd",
    double: bool = False,
    rounds: int | None = None,
    move_seconds: float = 30.0,
    seed: int | None = None,
    journal: str | Path | None = None,
) -> AsyncIterator[RunningLeague]:
    """Run a league of these players for as long as the block lasts.

    Players are names as of `league player --strategy`, objects such as a `Player`, or classes. The journals go to the
    folder `journal`, which must not hold any yet, or to a temporary folder. With the same `seed`, strategies that use
    `turn.chance` make the same choices again; the referees still draw new numbers.
    """
    entrants = [_entrant(contestant) for contestant in players]
    if len(entrants) < 2:
        raise CommandError("a league needs at least two players")
    with _folder(journal) as folder:
        # Both secrets are made here, so that the manager finds them and does not print them.
        ADMIN_TOKEN.of_manager(folder, tell=_say_nothing)
        enrolment_key = ENROLMENT_KEY.of_manager(folder, tell=_say_nothing)
        chosen = replace(
            options.defaults(options.ManagerOptions),
            players=len(entrants),
            referees=referees,
            game=game,
            double=double,
            rounds=rounds,
            move_seconds=move_seconds,
            port=0,
            quiet=True,
            journal=str(folder / "journal.db"),
            state=str(folder),
            enrolment_key=enrolment_key,
            shared="",
        )
        running = RunningLeague()
        try:
            await running.start(chosen, entrants, seed)
            yield running
        finally:
            await running.stop()
        running.raise_failure()


@contextmanager
def _folder(journal: str | Path | None) -> Iterator[Path]:
    """The folder of the journals: the one that was named, or a temporary one that is deleted after the league."""
    if journal is None:
        with TemporaryDirectory(prefix="league-") as temporary:
            yield Path(temporary)
    elif any(Path(journal).glob("*.db")):
        raise CommandError(f"{journal} holds the journals of another league; name a folder without any")
    else:
        yield Path(journal)


def _say_nothing(_: str) -> None:
    """Keep a secret to ourselves."""


def _entrant(contestant: Contestant) -> Entrant:
    if isinstance(contestant, str):
        return players.load(contestant)
    strategy: object = contestant
    # A class has `choose`, too, but only an object can play.
    if isinstance(contestant, type) or not hasattr(contestant, "choose"):
        strategy = contestant()
    return players.enter(strategy, type(strategy).__name__)
