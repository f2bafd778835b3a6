"""A whole league in this process: manager, referees and players as real agents, each at its own port.

For scripts and notebooks, also inside an event loop that is running already. It takes no signals, and prints only
problems. The manager is started first and stopped last, so that no other agent ever misses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from league.features.experiments.contenders import Contender, entrant_of, is_object, title_of
from league.features.statistics.analysis import analyse, document
from league.features.statistics.observations import observe
from league.games import registry
from league.games.contract import Game
from league.hosting import serving
from league.hosting.manager import managers
from league.hosting.manager.kept_secrets import ADMIN_TOKEN, ENROLMENT_KEY
from league.hosting.member import players, referees
from league.hosting.member.players import Entrant
from league.hosting.serving import HostedAgent, Ready
from league.hosting.settings import options
from league.hosting.settings.manager_options import ManagerOptions
from league.hosting.settings.player_options import PlayerOptions
from league.hosting.settings.referee_options import RefereeOptions
from league.manager.league_manager import LeagueManager
from league.reading import views
from league.storage.opening import files_in
from league.terminal import CommandError
from league.terminal.addresses import LOOPBACK

END_S = 15.0
"""How long players may take to end once they know that the league is over. This is only a watchdog."""


class RunningLeague:
    """A league whose agents serve."""

    def __init__(self) -> None:
        self.manager = ""
        """The URL of its manager."""
        self._host: HostedAgent | None = None
        self._manager: dict[asyncio.Task[int], str] = {}
        self._members: dict[asyncio.Task[int], str] = {}
        """The tasks of all other agents, with their names."""
        self._stop_members = asyncio.Event()
        self._stop_manager = asyncio.Event()

    async def finished(self) -> list[dict[str, Any]]:
        """Wait until the league is over and everybody knows, and return the final table.

        LeagueError if the league cannot go on.
        """
        assert self._host is not None, "it was started"
        manager = self._host.running
        ending = serving.all_over([manager], lambda _: self._is_over())
        over = asyncio.create_task(ending)
        try:
            while not over.done():
                tasks = (*self._manager, *self._members)
                unfinished = [task for task in tasks if not task.done()]
                await asyncio.wait((over, *unfinished), return_when=asyncio.FIRST_COMPLETED)
                self._raise_failure()
            over.result()
        finally:
            # An agent failed, or somebody gave up waiting.
            over.cancel()
        await asyncio.wait(self._members, timeout=END_S)
        return self.standings()

    def standings(self) -> list[dict[str, Any]]:
        """Return the current table, the best row first. Rows are the same as those of `league standings --json`."""
        rows: list[dict[str, Any]] = views.standings(self._machine)["standings"]
        return rows

    def statistics(self) -> dict[str, Any]:
        """Return ratings or points with intervals, and what is luck, as `league statistics --json` prints them.

        The league waits meanwhile: with a hundred players, for about a second.
        """
        return document(analyse(observe(self._machine)))

    @property
    def _machine(self) -> LeagueManager:
        assert self._host is not None, "it was started"
        machine = self._host.running.machine
        assert isinstance(machine, LeagueManager)
        return machine

    def _is_over(self) -> bool:
        if self._machine.waiting == "WAITING_FOR_OPERATOR":
            raise CommandError("a match failed three times and waits for an operator, and this league has none")
        return self._machine.is_finished and self._machine.has_notified_everybody

    def _raise_failure(self) -> None:
        """Raise CommandError if an agent has ended that should not have."""
        for task, name in (self._manager | self._members).items():
            if task.done() and task.result() != 0:
                raise CommandError(f"the manager rejected the {name}; the reason is on stderr")

    # --- beginning and end --------------------------------------------------------------------------------------------

    async def _start(self, manager: ManagerOptions, entrants: list[Entrant], seed: int | None) -> None:
        """Start the manager, then all other agents. All of them serve when this returns."""
        folder = Path(manager.state)
        serve_manager = _serving(managers.serve, manager, self._stop_manager)
        self._host = await _begin("manager", serve_manager, self._manager)
        self.manager = self._host.endpoint
        for number in range(1, manager.referees + 1):
            referee = replace(
                options.defaults(RefereeOptions),
                **self._shared_options(manager.game),
                name=f"Referee {number}",
                journal=str(folder / f"referee-{number}.db"),
                enrolment_key=manager.enrolment_key,
            )
            serve_referee = _serving(referees.serve, referee, self._stop_members)
            await _begin(f"referee {number}", serve_referee, self._members)
        for number, entrant in enumerate(entrants, start=1):
            journal = ""
            # What a model said is nowhere but in its player's journal.
            if entrant.conditions is not None:
                journal = str(folder / f"player-{number}.db")
            player = replace(
                options.defaults(PlayerOptions),
                **self._shared_options(manager.game),
                name="",
                id=f"P{number:02}",
                seed=seed,
                journal=journal,
            )
            serve_player = _serving(players.serve, player, [entrant], self._stop_members)
            await _begin(f"player {number}", serve_player, self._members)

    def _shared_options(self, game: str) -> dict[str, Any]:
        return {
            "host": LOOPBACK,
            "manager": self.manager,
            "game": game,
            "port": 0,
            "quiet": True,
        }

    async def _stop(self) -> None:
        """Stop all agents, the manager last."""
        self._stop_members.set()
        await asyncio.gather(*self._members, return_exceptions=True)
        self._stop_manager.set()
        await asyncio.gather(*self._manager, return_exceptions=True)


async def _begin(
    name: str,
    serve: Callable[[Ready], Coroutine[Any, Any, int]],
    tasks: dict[asyncio.Task[int], str],
) -> HostedAgent:
    """Start an agent and wait until it serves. Its task is added to `tasks` at once, so that it can be stopped."""
    ready: asyncio.Future[HostedAgent] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(ready.set_result), name=name)
    tasks[task] = name
    await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        task.result()  # raises what the agent raised
        raise CommandError(f"the {name} ended before it was ready")
    return ready.result()


def _serving(serve: Callable[..., Coroutine[Any, Any, int]], *arguments: object) -> Callable[[Ready], Any]:
    return lambda ready: serve(*arguments, ready)


@asynccontextmanager
async def run(
    players: Iterable[Contender],
    *,
    referees: int = 1,
    game: str | Game = "even_odd",
    double: bool = False,
    rounds: int | None = None,
    move_seconds: float = 30.0,
    seed: int | None = None,
    journal: str | Path | None = None,
) -> AsyncIterator[RunningLeague]:
    """Run a league of these players, as long as the block lasts.

    Players are names as for `league player --strategy`, objects such as a `Player` or a `league.LLM`, or classes. The
    journals are written to the folder
    `journal`, which must not have any yet, or to a temporary folder. With the same `seed`,
    strategies that take their chance from `turn.random` make the same choices; the numbers are still random.
    """
    game = registry.name_of(game)
    entrants = [_entrant(contender) for contender in players]
    if len(entrants) < 2:
        raise CommandError("a league needs at least two players")
    with _folder(journal) as folder:
        # The manager would make these itself, but also print where they are.
        ADMIN_TOKEN.of_manager(folder, tell=lambda _: None)
        enrolment_key = ENROLMENT_KEY.of_manager(folder, tell=lambda _: None)
        manager = replace(
            options.defaults(ManagerOptions),
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
            await running._start(manager, entrants, seed)
            yield running
        finally:
            await running._stop()
        # Not after an error in the block: that one says more.
        running._raise_failure()


@contextmanager
def _folder(chosen: str | Path | None) -> Iterator[Path]:
    """Yield the folder for the journals: the chosen one, or a temporary one that goes with the league."""
    if chosen is None:
        with TemporaryDirectory(prefix="league-") as temporary:
            yield Path(temporary)
    elif files_in(Path(chosen)):
        raise CommandError(f"{chosen} has journals of another league; choose a folder without journals")
    else:
        yield Path(chosen)


def _entrant(contender: Contender) -> Entrant:
    # An object plays itself, so that the script can look at it later.
    if is_object(contender):
        return players.enter(contender, title_of(contender))
    return entrant_of(contender)
