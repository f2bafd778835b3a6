"""A whole league in this process: manager, referees and players as real agents on ports of their own.

For scripts and notebooks, also inside a loop that is running already. It takes no signals, and prints only what is
wrong.
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
"""Who plays: a strategy by name or as module:Class, an object such as a Player, or what makes one."""

TELL_S = 15.0
"""How long players may take to end once they know that the league is over; only a watchdog."""


class RunningLeague:
    """A league whose agents serve."""

    def __init__(self) -> None:
        self.manager = ""
        """The URL of its manager."""
        self._host: HostedAgent | None = None
        self._agents: dict[asyncio.Task[int], str] = {}
        self._stop_members, self._stop_manager = asyncio.Event(), asyncio.Event()

    async def finished(self) -> list[dict[str, Any]]:
        """Wait until the league is over and everybody knows; the final table. CommandError if that cannot be."""
        assert self._host is not None, "it was started"
        over = asyncio.create_task(serving.all_over([self._host.running], lambda _: self._is_over()))
        try:
            while not over.done():
                unfinished = [one for one in self._agents if not one.done()]
                await asyncio.wait((over, *unfinished), return_when=asyncio.FIRST_COMPLETED)
                self.raise_failure()
            over.result()
        finally:
            over.cancel()
        members = list(self._agents)[1:]
        await asyncio.wait(members, timeout=TELL_S)
        return self.standings()

    def standings(self) -> list[dict[str, Any]]:
        """The table as it is now, best first: rows as those of `league standings --json`."""
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
            raise CommandError("a match failed three times and waits for an operator, whom this league does not have")
        return self._machine.is_finished and self._machine.has_notified_everybody

    def raise_failure(self) -> None:
        """CommandError if an agent has ended that should not have."""
        for task, name in self._agents.items():
            if task.done() and task.result() != 0:
                raise CommandError(f"the {name} was refused by the manager; why is on stderr")

    # --- how it begins and ends ---------------------------------------------------------------------------------------

    async def start(self, chosen: options.ManagerOptions, entrants: list[Entrant], seed: int | None) -> None:
        """Start the manager, then everybody else; all of them serve when this returns."""
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
        return {"host": LOOPBACK, "manager": self.manager, "game": game, "name": name, "port": 0, "quiet": True}

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
        """Members first: nobody should miss the manager."""
        manager, members = list(self._agents)[:1], list(self._agents)[1:]
        for event, tasks in ((self._stop_members, members), (self._stop_manager, manager)):
            event.set()
            await asyncio.gather(*tasks, return_exceptions=True)


def _serving(serve: Callable[..., Coroutine[Any, Any, int]], *told: object) -> Callable[[Ready], Any]:
    return lambda ready: serve(*told, ready)


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
    """A league of these players, as long as the block lasts.

    Players are names as of `league player --strategy`, objects such as a `Player`, or classes. The journals are written
    to the folder `journal`, which must hold none, or to a temporary one. The same `seed` gives strategies that take
    their chance from `turn.chance` the same choices; numbers are drawn anew.
    """
    entrants = [_entrant(one) for one in players]
    if len(entrants) < 2:
        raise CommandError("a league needs at least two players")
    with _folder(journal) as folder:
        _, enrolment_key = (one.of_manager(folder, tell=lambda _: None) for one in (ADMIN_TOKEN, ENROLMENT_KEY))
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
def _folder(given: str | Path | None) -> Iterator[Path]:
    """Where the journals are: where we are told, or in a folder that goes with the league."""
    if given is None:
        with TemporaryDirectory(prefix="league-") as temporary:
            yield Path(temporary)
    elif any(Path(given).glob("*.db")):
        raise CommandError(f"{given} holds the journals of another league; name a folder without any")
    else:
        yield Path(given)


def _entrant(one: Contestant) -> Entrant:
    if isinstance(one, str):
        return players.load(one)
    made = one() if isinstance(one, type) or not hasattr(one, "choose") else one
    return players.enter(made, type(made).__name__)
