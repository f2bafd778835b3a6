"""Players as processes: a strategy found and described, asked in its own thread or task, its author told what fails.

A strategy is an object with `choose(turn)`, which may be `async`. It may also have a `name`, a `version`, the `games`
it is for, `plays(game_type)` to say what it can, and what `author_news` says to be told what happens.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import structs

from league import features
from league.agent import sources
from league.agent.agent import Agent
from league.features import StrategyRow
from league.gateway.book import PeerBook
from league.hosting import authors, strategy_files
from league.hosting.author_code import Raised, ask_author, caught
from league.hosting.author_news import AuthorNews, competitor
from league.hosting.members import HostedMember, MemberProcess, made_up_name, numbered_id, numbered_name
from league.hosting.narration import PLAYER
from league.hosting.options import PlayerOptions
from league.hosting.serving import Ready, run_loop, say_ready, until
from league.machine import Ask, Considered, NoChoice
from league.mcp_tables import MemberTools
from league.player import strategies
from league.player.competitor import Competitor
from league.player.strategies import BuiltIn, Strategy, Turn
from league.protocol.exchanges import Role
from league.protocol.parts import PlayerMeta
from league.protocol.safe_text import printable
from league.protocol.versions import is_of_kit
from league.terminal import USAGE, CommandError, console, did_you_mean

USUAL_GAME = "even_odd"
USUAL_VERSION = "1.0.0"


# --- who plays --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entrant:
    """A player to be: who chooses for it, and what it says of itself. `title` names it where it has no name."""

    strategy: Strategy
    title: str
    name: str = ""
    version: str = USUAL_VERSION
    games: tuple[str, ...] = (USUAL_GAME,)
    conditions: dict[str, Any] | None = None
    """Under which a language model plays (Any: as it stands in a message)."""
    session: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """What must be open while it plays."""
    offer: Callable[[PlayerOptions], MemberTools] | None = None
    """What it offers MCP clients."""
    stay: Callable[[], Coroutine[Any, Any, None]] | None = None
    """What it waits for after the league, before it ends."""


def load(spec: str, options: PlayerOptions | None = None) -> Entrant:
    """The strategy of that name: built in, of a feature, or `module:Class` of the author's, made anew."""
    built_in = strategies.find(spec)
    if built_in is not None:
        return Entrant(built_in, spec.replace("_", " ").title())
    row = next((row for row in features.own(StrategyRow) if row.name == spec), None)
    if row is not None:
        return _of_feature(row, options)
    module, colon, cls = spec.rpartition(":")
    if module and colon and cls:
        return enter(_made(spec, _imported(spec, module), cls), cls)
    rows = {row.name: row for row in features.every(StrategyRow)}
    if spec in rows:
        return _of_feature(rows[spec], options)
    names = (*strategies.known(), *rows)
    suggestion = did_you_mean(spec, names) or f"; there are {', '.join(names)}, module:Class and ./file.py:Class"
    raise CommandError(f"there is no strategy {spec!r}{suggestion}", USAGE)


def _of_feature(row: StrategyRow, options: PlayerOptions | None) -> Entrant:
    if row.needs_server and options is None:
        raise CommandError(f"{row.about} plays in a league: league player --strategy {row.name}", USAGE)
    make: Callable[[PlayerOptions | None], Entrant] = features.load(row.make)
    return make(options)


def enter(strategy: Any, title: str) -> Entrant:
    """An author's object as a player, with what it says of itself (Any: it may be anything)."""
    if not callable(getattr(strategy, "choose", None)):
        raise CommandError(f"{title} is no strategy: it has no method choose(self, turn), and it is no league.Player")
    name, version = getattr(strategy, "name", ""), getattr(strategy, "version", "")
    return Entrant(
        strategy,
        title,
        name=name if isinstance(name, str) else "",
        version=version if isinstance(version, str) and version else USUAL_VERSION,
        games=_named_games(getattr(strategy, "games", None), title) or (USUAL_GAME,),
    )


def _named_games(games: object, title: str) -> tuple[str, ...]:
    if not games:
        return ()
    if isinstance(games, str):
        return (games,)
    if isinstance(games, Iterable) and all(isinstance(one, str) for one in games):
        return tuple(games)
    raise CommandError(f"{title}.games is {authors.shown(games)}, not a list of names such as {USUAL_GAME!r}")


def _imported(spec: str, name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # the folder the command was given in, as with `python -m`
    if name.endswith(".py") and not Path(name).is_file():
        raise CommandError(f"cannot load {spec}: there is no file {name}")
    try:
        if name.endswith(".py"):
            return strategy_files.load(Path(name))
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandError(f"cannot load {spec}: there is no module {name!r} here") from error
        raise _cannot_load(spec, error) from error
    except (Exception, SystemExit) as error:  # the author's code: whatever is wrong with it is the author's to see
        raise _cannot_load(spec, error) from error


def _made(spec: str, module: ModuleType, name: str) -> object:
    cls = getattr(module, name, None)
    if not callable(cls):
        classes = [one for one, value in vars(module).items() if isinstance(value, type)]
        title = spec.rpartition(":")[0]
        there = ", ".join(one for one in classes if getattr(module, one).__module__ == module.__name__) or "none"
        raise CommandError(f"cannot load {spec}: {title} has no class {name!r}; its classes: {there}")
    try:
        return cls()
    except (Exception, SystemExit) as error:  # the author's code, as above
        raise _cannot_load(spec, error) from error


def _cannot_load(spec: str, error: BaseException) -> CommandError:
    print(printable(authors.trace_of(error), keep="\n\t"), file=sys.stderr, end="")
    return CommandError(f"cannot load {spec}: {authors.last_line(error)}")


# --- how they serve ---------------------------------------------------------------------------------------------------


def run(options: PlayerOptions, entrants: Sequence[Entrant]) -> int:
    """Serve one player for each entrant, until their league is over or somebody stops us; the exit status."""
    authors.protect_output()
    return run_loop(partial(serve, options, entrants), options.until_stdin_closes)


async def serve(
    options: PlayerOptions, entrants: Sequence[Entrant], stop: asyncio.Event, ready: Ready = say_ready
) -> int:
    """The same in a loop that is running."""
    options = replace(options, count=len(entrants))
    for one in entrants:
        for game in _games_of(options, one):
            refuse_unplayable(one, game)
    runners = [StrategyRunner(one, _seeding(options.seed)) for one in entrants]
    offered = [entrant.offer(options) if entrant.offer else None for entrant in entrants]

    def member(number: int) -> HostedMember:
        runner = runners[number]
        stop_runner = runner.stop
        if runner.entrant.stay is not None:
            stop_runner = partial(_stop_late, runner.entrant.stay, runner, stop)
        return HostedMember(
            build=partial(build, options, number, runner.entrant),
            think=runner.think,
            tell=runner.tell,
            on_started=runner.start,
            on_stopping=stop_runner,
            tools=offered[number],
        )

    async with AsyncExitStack() as sessions:
        for one in entrants:
            if one.session is not None:
                await sessions.enter_async_context(one.session())
        try:
            return await MemberProcess(options, Role.PLAYER, member, PLAYER, ready).serve(stop)
        finally:
            await asyncio.gather(*(one.stop() for one in runners))


async def _stop_late(
    stay: Callable[[], Coroutine[Any, Any, None]], runner: StrategyRunner, stop: asyncio.Event
) -> None:
    await until(stop, stay())
    await runner.stop()


def _seeding(seed: int | None) -> Seeding | None:
    return None if seed is None else lambda agent_id, turn: f"{seed}/{agent_id}/{turn.match_id}/{turn.number}"


def _games_of(options: PlayerOptions, entrant: Entrant) -> tuple[str, ...]:
    return (options.game,) if options.game else entrant.games


def refuse_unplayable(entrant: Entrant, game: str) -> None:
    """Raise CommandError if the author did not write the method that this game needs."""
    plays: Callable[[str], bool] | None = getattr(entrant.strategy, "plays", None)
    if callable(plays) and not plays(game):
        either = "choose_parity(self, call) or " if game == USUAL_GAME else ""
        raise CommandError(f"{entrant.title} cannot play {game}: it has no method {either}move(self, turn)")


def build(
    options: PlayerOptions, number: int, entrant: Entrant, endpoint: str, secrets: Mapping[str, str]
) -> Competitor:
    wished_id = numbered_id(options.id, number)
    name = numbered_name(options.name or entrant.name, number, options.count)
    meta = PlayerMeta(
        display_name=name or made_up_name(entrant.title, endpoint, wished_id),
        version=entrant.version,
        game_types=list(_games_of(options, entrant)),
        contact_endpoint=endpoint,
        conditions=entrant.conditions,
    )
    return Competitor(meta, options.manager, sources.chance, secrets, options.profile, wished_id, open_book=PeerBook)


# --- how they think ---------------------------------------------------------------------------------------------------


Seeding = Callable[[str, Turn], str]
"""What the random bytes of a choice are made from, by the player's id and its turn: the same again, the same choice."""


class StrategyRunner:
    """Runs a strategy for one agent: asks it for choices, tells it news, and shows its author what fails."""

    def __init__(self, entrant: Entrant, seeded: Seeding | None = None) -> None:
        self.entrant = entrant
        self._seeded = seeded
        self._news = AuthorNews(entrant.strategy, entrant.title)
        self.tell = self._news.tell
        self.stop = self._news.stop

    def start(self, agent: Agent) -> None:
        """Begin to work for this agent."""
        self._agent = agent
        self._news.start(agent)

    async def think(self, ask: Ask) -> object:
        """What the strategy answers, right or wrong; NoChoice where that is nothing that can be sent."""
        turn = self._turn(ask)
        choose = partial(self.entrant.strategy.choose, turn)
        if isinstance(self.entrant.strategy, BuiltIn):
            value = caught(choose)
        else:
            value = await self._in_time(ask, turn, choose)
        return self._judged(ask, turn, value)

    def _turn(self, ask: Ask) -> Turn:
        machine = competitor(self._agent)
        turn = machine.turn(ask)
        if self._seeded is None:
            return turn
        return structs.replace(turn, chance=hashlib.sha256(self._seeded(machine.agent_id, turn).encode()).digest())

    async def _in_time(self, ask: Ask, turn: Turn, choose: Callable[[], object]) -> object:
        """Nobody is stopped at the deadline, for a late answer may still count; but its author learns of it."""
        was_told = False

        def tell() -> None:
            nonlocal was_told
            was_told = True
            console.complain(authors.too_slow(self._who(turn), turn.seconds, ask.call, turn.options))

        wait = self._agent.setup.clock.seconds_until(ask.deadline)
        alarm = asyncio.get_running_loop().call_later(wait, tell)
        try:
            value = await ask_author(choose)
        finally:
            alarm.cancel()
        if self._agent.now() > ask.deadline and not was_told:
            tell()  # `async` code that never awaits keeps the alarm from ringing too
        return value

    def _judged(self, ask: Ask, turn: Turn, value: object) -> object:
        who = self._who(turn)
        if isinstance(value, Raised):
            console.complain(authors.raised(who, value.error, ask.call, turn.options))
            return NoChoice(authors.last_line(value.error))
        if isinstance(value, NoChoice):
            console.complain(f"{who} {'declines to choose' if value.is_outage else 'does not choose'}: {value.detail}")
            return value
        choice: object = value.choice if isinstance(value, Considered) else value
        if not _is_text(choice):
            console.complain(authors.no_choice(who, choice, ask.call, turn.options))
        elif choice not in turn.options:
            console.complain(authors.illegal_choice(who, choice, ask.call, turn.options))
        if isinstance(value, Considered) and value.provenance and value.provenance.fallbacks:
            console.complain(f"{who}: no choice could be read from the model in time; {choice!r} is a fallback")
        return value

    def _who(self, about: Turn) -> str:
        me = competitor(self._agent).agent_id
        whose = "the kit's match " if about.call is not None and is_of_kit(about.call.conversation_id or "") else ""
        return f"{self.entrant.title}{f' ({me})' if me else ''} in {whose}{about.match_id}"


def _is_text(value: object) -> bool:
    """May it go out as it is? A text can hold what no message can."""
    if not isinstance(value, str):
        return False
    try:
        str.encode(value)
    except UnicodeEncodeError:
        return False
    return True
