"""Players as processes: find a strategy, run it in a thread or task of its own, and show its author what fails.

A strategy is an object with `choose(turn)`, which may be `async`. It may also have a `name`, a `version`, the `games`
it is for, `plays(game_type)` to say whether it can play a game, and the hooks that `author_news` calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct, structs

from league import rows
from league.agent import sources
from league.agent.agent import Agent
from league.games import registry
from league.gateway.book import PeerBook
from league.hosting.author import authors
from league.hosting.author.author_code import Raised, ask_author, caught, loading
from league.hosting.author.author_news import AuthorNews, competitor
from league.hosting.member.members import (
    HostedMember,
    MemberProcess,
    name_of,
    wished_id,
)
from league.hosting.narration import PLAYER
from league.hosting.serving import Ready, run_agents, say_ready, until
from league.hosting.settings.player_options import PlayerOptions
from league.machine import Ask
from league.player import strategies
from league.player.competitor import Competitor
from league.player.strategies import BuiltIn, Considered, NoChoice, Strategy, Turn
from league.protocol.message.exchanges import Role
from league.protocol.message.parts import PlayerMeta
from league.protocol.safe_text import printable
from league.protocol.versions import is_of_kit
from league.rows import StrategyRow
from league.terminal import USAGE, CommandError, console, did_you_mean

USUAL_GAME = "even_odd"
USUAL_VERSION = "1.0.0"
OF_PLAYER = "_league_strategy"
"""The method of `league.Player` that returns the strategy which plays for it."""


# --- loading strategies -----------------------------------------------------------------------------------------------


class Entrant(Struct, frozen=True):
    """A player before it serves: its strategy, and how it describes itself. `title` is used if it has no name."""

    strategy: Strategy
    title: str
    name: str = ""
    version: str = USUAL_VERSION
    games: tuple[str, ...] = ()
    """The games it plays; empty if it plays whatever the league plays."""
    conditions: dict[str, Any] | None = None
    """The conditions under which a language model plays (Any: as they are written in a message)."""
    session: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """A context that must stay open while it plays."""
    offer: Callable[[PlayerOptions], object] | None = None
    """Makes the tools that it offers MCP clients."""
    check: Callable[[], list[str]] | None = None
    """Returns warnings about mistakes in the author's code; raises CommandError if it cannot work."""
    stay: Callable[[], Coroutine[Any, Any, None]] | None = None
    """Waits after the league for whatever must happen before the player ends."""


def load(spec: str, options: PlayerOptions | None = None) -> Entrant:
    """Load a strategy: a built-in one, one of a feature, or an author's `module:Class`."""
    built_in = strategies.find(spec)
    if built_in is not None:
        return Entrant(built_in, spec.replace("_", " ").title())
    row = next((row for row in rows.own(StrategyRow) if row.name == spec), None)
    if row is not None:
        return _of_feature(row, options)
    if spec.endswith(".py"):
        raise _without_class(spec)
    module, colon, cls = spec.rpartition(":")
    if module and colon and cls:
        # An author's class comes before third-party games and features: looking those up takes time.
        try:
            return enter(_made(spec, _imported(spec, module), cls), cls)
        except CommandError:
            family = registry.family_of(spec)
            if family is None:
                raise
            return Entrant(OfGames(spec, (f"{family.prefix}:…",)), spec)
    # Strategies that come with games: the games of other packages take time to look up.
    games = tuple(game.name for game in registry.every() if spec in game.strategies)
    if games:
        return Entrant(OfGames(spec, games), spec.replace("_", " ").title(), games=games)
    of_features = {row.name: row for row in rows.every(StrategyRow)}
    if spec in of_features:
        return _of_feature(of_features[spec], options)
    of_games = sorted({name for game in registry.every() for name in game.strategies})
    names = (*strategies.known(), *of_games, *of_features)
    suggestion = did_you_mean(spec, names) or f"; there are {', '.join(names)}, module:Class and ./file.py:Class"
    raise CommandError(f"there is no strategy {spec!r}{suggestion}", USAGE)


class OfGames(Struct, frozen=True):
    """A strategy that comes with some games, under one name; each game has its own."""

    name: str
    games: tuple[str, ...]

    def plays(self, game_type: str) -> bool:
        game = registry.find(game_type)
        return game is not None and self.name in game.strategies

    def choose(self, turn: Turn) -> str:
        game = registry.find(turn.game_type)
        assert game is not None, "only games that have it are played"
        return game.strategies[self.name].choose(turn)


def _without_class(spec: str) -> CommandError:
    """Say how to name the class of a file that was named alone."""
    classes = _classes(_imported(spec, spec))
    names = [name for name, cls in classes.items() if _is_strategy(cls) or hasattr(cls, OF_PLAYER)]
    if not names:
        return CommandError(f"cannot load {spec}: it has no class that plays, such as class Mine(Player)", USAGE)
    examples = " or ".join(f"{spec}:{name}" for name in names)
    return CommandError(f"cannot load {spec}: name its class, too: {examples}", USAGE)


def _classes(module: ModuleType) -> dict[str, type]:
    """The classes of an author's module by name. Imported ones are left out: the author did not mean one of them."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def _of_feature(row: StrategyRow, options: PlayerOptions | None) -> Entrant:
    # Without options nobody serves the player, as in a simulation or a tournament.
    if row.needs_server and options is None:
        raise CommandError(f"{row.about} plays in a league: league player --strategy {row.name}", USAGE)
    make: Callable[[PlayerOptions | None], Entrant] = rows.load(row.make)
    return make(options)


def enter(strategy: Any, title: str) -> Entrant:
    """Make a player of an author's object, which describes itself (Any: it may be anything)."""
    # The objects of `league.Player` have another one that plays for them.
    of_player: Callable[[], Any] | None = getattr(strategy, OF_PLAYER, None)
    plays = of_player() if of_player is not None else strategy
    if not _is_strategy(plays):
        raise CommandError(
            f"{title} is not a strategy: it has no method choose(self, turn), and it is not a league.Player"
        )
    name = getattr(strategy, "name", "")
    if not isinstance(name, str):
        name = ""
    version = getattr(strategy, "version", "")
    if not isinstance(version, str) or not version:
        version = USUAL_VERSION
    return Entrant(
        plays,
        title,
        name=name,
        version=version,
        games=_named_games(getattr(strategy, "games", None), title),
        check=plays.check if of_player is not None else None,
    )


def _is_strategy(value: object) -> bool:
    return callable(getattr(value, "choose", None))


def _named_games(games: object, title: str) -> tuple[str, ...]:
    if not games:
        return ()
    if isinstance(games, str):
        return (games,)
    if isinstance(games, Iterable) and all(isinstance(game, str) for game in games):
        return tuple(games)
    raise CommandError(f"{title}.games is {authors.shown(games)}, not a list of names such as {USUAL_GAME!r}")


def _imported(spec: str, name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current folder, as with `python -m`
    is_file = name.endswith(".py")
    if is_file and not Path(name).is_file():
        raise CommandError(f"cannot load {spec}: there is no file {name}")
    try:
        with loading():
            if is_file:
                from league.hosting.author import strategy_files

                return strategy_files.load(Path(name))
            return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandError(f"cannot load {spec}: there is no module {name!r} here") from error
        raise _cannot_load(spec, error) from error
    except (Exception, SystemExit) as error:  # the author's code may raise anything, and its author should see it
        raise _cannot_load(spec, error) from error


def _made(spec: str, module: ModuleType, name: str) -> object:
    cls = getattr(module, name, None)
    if not callable(cls):
        title = spec.rpartition(":")[0]
        listed = ", ".join(_classes(module)) or "none"
        raise CommandError(f"cannot load {spec}: {title} has no class {name!r}; its classes: {listed}")
    try:
        return cls()
    except (Exception, SystemExit) as error:  # the author's code, as above
        raise _cannot_load(spec, error) from error


def _cannot_load(spec: str, error: BaseException) -> CommandError:
    print(printable(authors.trace_of(error), keep="\n\t"), file=sys.stderr, end="")
    return CommandError(f"cannot load {spec}: {authors.last_line(error)}")


# --- serving ----------------------------------------------------------------------------------------------------------


def run(options: PlayerOptions, entrants: Sequence[Entrant]) -> int:
    """Serve one player for each entrant until the league is over or the process is stopped; return the exit status."""
    authors.protect_output()
    return run_agents(partial(serve, options, entrants), options.until_stdin_closes)


async def serve(
    options: PlayerOptions,
    entrants: Sequence[Entrant],
    stop: asyncio.Event,
    ready: Ready = say_ready,
) -> int:
    """Do the same in a loop that is already running."""
    options = replace(options, count=len(entrants))
    # Better now than in the middle of a match.
    for entrant in entrants:
        check_code(entrant)
        for game in _games_of(options, entrant):
            refuse_unplayable(entrant, game)
            if registry.find(game) is None:
                suggestion = did_you_mean(game, registry.known())
                console.complain(f"{entrant.title} plays {game}, which is not installed here{suggestion}")
    runners = [StrategyRunner(entrant, _seeding(options.seed)) for entrant in entrants]
    offered = [entrant.offer(options) if entrant.offer else None for entrant in entrants]

    def member(number: int) -> HostedMember:
        runner = runners[number]
        stop_runner = runner.stop
        # Some players have more to do after the league, such as answering a person who still asks.
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
        for entrant in entrants:
            if entrant.session is not None:
                await sessions.enter_async_context(entrant.session())
        try:
            return await MemberProcess(options, Role.PLAYER, member, PLAYER, ready).serve(stop)
        finally:
            await asyncio.gather(*(runner.stop() for runner in runners))


async def _stop_late(
    stay: Callable[[], Coroutine[Any, Any, None]],
    runner: StrategyRunner,
    stop: asyncio.Event,
) -> None:
    await until(stop, stay())
    await runner.stop()


def _seeding(seed: int | None) -> Seeding | None:
    if seed is None:
        return None
    return lambda agent_id, turn: f"{seed}/{agent_id}/{turn.match_id}/{turn.number}"


def _games_of(options: PlayerOptions, entrant: Entrant) -> tuple[str, ...]:
    if options.game:
        return (options.game,)
    return entrant.games or (USUAL_GAME,)


def check_code(entrant: Entrant) -> None:
    """Show the author mistakes that can be seen before the player plays; raise CommandError if it cannot play."""
    for sentence in entrant.check() if entrant.check is not None else ():
        console.complain(sentence)
    # A class that cannot play ends the program next, maybe before the console's thread has written this.
    console.flush()


def refuse_unplayable(entrant: Entrant, game: str) -> None:
    """Raise CommandError if the author did not write the method that this game needs."""
    if _is_playable(entrant, game):
        return
    if isinstance(entrant.strategy, OfGames):
        playable = ", ".join(entrant.strategy.games)
        found = registry.find(game)
        if found is not None and registry.family_of(game):
            playable = f"other games of the family; this one has {', '.join(found.strategies)}"
        raise CommandError(f"the strategy {entrant.strategy.name!r} does not play {game}; it plays {playable}", USAGE)
    methods = "move(self, turn)"
    if game == USUAL_GAME:
        methods = "choose_parity(self, call) or move(self, turn)"
    raise CommandError(f"{entrant.title} cannot play {game}: it has no method {methods}")


def _is_playable(entrant: Entrant, game: str) -> bool:
    plays: Callable[[str], bool] | None = getattr(entrant.strategy, "plays", None)
    return not callable(plays) or plays(game)


def build(
    options: PlayerOptions,
    number: int,
    entrant: Entrant,
    endpoint: str,
    secrets: Mapping[str, str],
) -> Competitor:
    meta = PlayerMeta(
        display_name=name_of(options, options.name or entrant.name, entrant.title, number, endpoint),
        version=entrant.version,
        game_types=list(_games_of(options, entrant)),
        contact_endpoint=endpoint,
        conditions=entrant.conditions,
    )
    return Competitor(
        meta,
        options.manager,
        sources.chance,
        secrets,
        options.profile,
        wished_id(options, "P", number, endpoint),
        may_play=lambda game: not (options.game or entrant.games) and _is_playable(entrant, game),
        open_book=PeerBook,
    )


# --- thinking ---------------------------------------------------------------------------------------------------------


Seeding = Callable[[str, Turn], str]
"""Makes a seed from the player's id and its turn: the same seed leads to the same choice."""


class StrategyRunner:
    """Runs a strategy for one agent: asks it for choices, tells it news, and shows its author what fails."""

    def __init__(self, entrant: Entrant, seeded: Seeding | None = None) -> None:
        self.entrant = entrant
        self._seeded = seeded
        self._reports = authors.Reports()
        self._news = AuthorNews(entrant.strategy, entrant.title, self._reports)
        self.tell = self._news.tell
        self.stop = self._news.stop

    def start(self, agent: Agent) -> None:
        """Begin to work for this agent."""
        self._agent = agent
        self._news.start(agent)

    async def think(self, ask: Ask) -> object:
        """The strategy's answer, right or wrong; NoChoice if it cannot be sent."""
        turn = self._turn(ask)
        choose = partial(self.entrant.strategy.choose, turn)
        if isinstance(self.entrant.strategy, BuiltIn):
            # Ours answer at once, so they need no thread.
            value = caught(choose)
        else:
            value = await self._in_time(ask, turn, choose)
        return self._judged(ask, turn, value)

    def _turn(self, ask: Ask) -> Turn:
        machine = competitor(self._agent)
        turn = machine.turn(ask)
        if self._seeded is None:
            return turn
        seed = self._seeded(machine.agent_id, turn)
        return structs.replace(turn, chance=hashlib.sha256(seed.encode()).digest())

    async def _in_time(
        self,
        ask: Ask,
        turn: Turn,
        choose: Callable[[], object],
    ) -> object:
        """Wait for the choice, and warn the author at the deadline. A late choice may still count, so it goes on."""
        has_warned = False

        def warn() -> None:
            nonlocal has_warned
            has_warned = True
            report = authors.too_slow(self._who(turn), turn.seconds, ask.call, turn.options)
            console.complain(self._reports.once(report, "late"))

        wait = self._agent.setup.clock.seconds_until(ask.deadline)
        alarm = asyncio.get_running_loop().call_later(wait, warn)
        try:
            value = await ask_author(choose)
        finally:
            alarm.cancel()
        if self._agent.now() > ask.deadline and not has_warned:
            warn()  # `async` code that never awaits also keeps the alarm from ringing
        return value

    def _judged(self, ask: Ask, turn: Turn, value: object) -> object:
        player = self._who(turn)
        if isinstance(value, Raised):
            report = authors.raised(player, value.error, ask.call, turn.options)
            console.complain(self._reports.once(report, authors.origin_of(value.error)))
            # The referee learns the kind of the exception only: its text is for the author alone.
            return NoChoice(authors.last_line(value.error), cause=f"its code raised {type(value.error).__name__}")
        if isinstance(value, NoChoice):
            verb = "declines to choose" if value.is_outage else "does not choose"
            console.complain(f"{player} {verb}: {value.detail}")
            return value
        choice: object = value.choice if isinstance(value, Considered) else value
        # The choice is sent as it is, right or wrong; only its author is told.
        if not _is_text(choice):
            report = authors.no_choice(player, choice, ask.call, turn.options)
            console.complain(self._reports.once(report, "no choice"))
        elif choice not in turn.options and not turn.move_format:
            report = authors.illegal_choice(player, choice, ask.call, turn.options)
            console.complain(self._reports.once(report, "illegal choice"))
        if isinstance(value, Considered) and value.provenance and value.provenance.fallbacks:
            reason = value.provenance.fallback_reason.replace("_", " ") or "no reason given"
            console.complain(f"{player}: the model did not choose ({reason}); {choice!r} is a fallback")
        return value

    def _who(self, about: Turn) -> str:
        agent_id = competitor(self._agent).agent_id
        player = f"{self.entrant.title} ({agent_id})" if agent_id else self.entrant.title
        match = about.match_id
        if about.call is not None and is_of_kit(about.call.conversation_id or ""):
            match = f"the kit's match {match}"
        return f"{player} in {match}"


def _is_text(value: object) -> bool:
    """True if this is text that can be sent: a string may hold lone surrogates, which no message can."""
    if not isinstance(value, str):
        return False
    try:
        str.encode(value)
    except UnicodeEncodeError:
        return False
    return True
