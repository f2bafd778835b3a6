"""`league player`: one or more players as servers in one process, with a built-in strategy or your own."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from league.cli import USAGE, CommandError
from league.hosting import options

if TYPE_CHECKING:
    from league.agent.agent import Agent
    from league.hosting.serving import Served
    from league.machine import Ask
    from league.player.strategies import Strategy, Turn
    from league.transport.http_client import HttpClient

NAME = "player"
HELP = "run a player"
EXAMPLE = """\
examples:
  league player --manager http://127.0.0.1:8000/mcp --strategy frequency
  league player --strategy my_module:MyStrategy --name "My player"
  league player --count 10 --strategy random,mirror

built-in strategies: random, always_even, always_odd, alternate, mirror, frequency
Your own is a class with a method choose(self, turn) that returns one of turn.options."""
HUMAN = "human"
USUAL_PORT = 8101


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    options.configure(parser, NAME)


def run(args: argparse.Namespace) -> int:
    from league.hosting.members import serve_members
    from league.hosting.serving import run_loop

    values = options.settings_of(args, NAME)
    values["strategies"] = [(_title(one), _strategy(one)) for one in values["strategy"].split(",")]
    return run_loop(partial(serve_members, values, USUAL_PORT, _bring_up, _is_over), values["until_stdin_closes"])


def _title(strategy: str) -> str:
    """What a player is called unless it is given a name: what it plays."""
    _, colon, cls = strategy.partition(":")
    return cls if colon else strategy.replace("_", " ").title()


def _strategy(name: str) -> Strategy:
    from league.player import strategies

    built_in = strategies.find(name)
    if built_in is not None:
        return built_in
    if name == HUMAN:
        from league.strategies.human import Human

        return Human()
    module, colon, cls = name.partition(":")
    if not colon:
        known = ", ".join((*strategies.known(), HUMAN))
        raise CommandError(f"there is no strategy {name!r}; there are {known}, or module:Class", USAGE)
    sys.path.insert(0, "")
    try:
        own: Strategy = getattr(import_module(module), cls)()
    except Exception as error:
        # The author's code: whatever is wrong with it is the author's to see.
        import traceback

        traceback.print_exc()
        raise CommandError(f"cannot load {name}: {type(error).__name__}: {error}") from error
    if not callable(getattr(own, "choose", None)):
        raise CommandError(f"{name} is no strategy: it has no method choose(turn)")
    return own


def _is_over(agent: Agent) -> bool:
    from league.player.competitor import Competitor

    machine = agent.machine
    assert isinstance(machine, Competitor)
    return machine.lifecycle == "SHUTDOWN" or machine.rejected is not None


async def _bring_up(values: dict[str, Any], number: int, port: int, client: HttpClient) -> Served:
    from league.agent import sources
    from league.hosting.members import bring_up_member, name_of, numbered_id
    from league.player.competitor import Competitor
    from league.protocol.exchanges import Role
    from league.protocol.parts import PlayerMeta

    title, strategy = values["strategies"][number % len(values["strategies"])]

    def build(endpoint: str) -> partial[Competitor]:
        meta = PlayerMeta(
            display_name=name_of(values, number, title, endpoint),
            version="1.0.0",
            game_types=[values["game"]],
            contact_endpoint=endpoint,
        )
        wished_id = numbered_id(values["id"], number)
        return partial(
            Competitor, meta, values["manager"], sources.chance, profile=values["profile"], wished_id=wished_id
        )

    served: Served

    async def think(ask: Ask) -> object:
        return await _ask(strategy, served.agent, ask, values["seed"])

    served = await bring_up_member(values, number, port, client, Role.PLAYER, build, think)
    return served


async def _ask(strategy: Strategy, agent: Agent, ask: Ask, seed: int | None) -> object:
    """Built-in strategies answer at once; others may take their time, so they get a thread."""
    from league.player.competitor import Competitor
    from league.player.strategies import BuiltIn

    machine = agent.machine
    assert isinstance(machine, Competitor)
    turn = machine.turn(ask)
    if seed is not None:
        known = f"{seed}/{machine.agent_id}/{turn.match_id}/{turn.number}"
        turn = replace(turn, chance=hashlib.sha256(known.encode()).digest())
    if isinstance(strategy, BuiltIn):
        return _choose(strategy, turn)
    return await _in_a_thread(partial(_choose, strategy, turn))


def _choose(strategy: Strategy, turn: Turn) -> object:
    from league.player.competitor import StrategyFailed

    try:
        return strategy.choose(turn)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code: shown to the author, told to the referee
        import traceback

        print(f"your strategy failed on {turn}:", traceback.format_exc(), file=sys.stderr, sep="\n")
        return StrategyFailed(f"{type(error).__name__}: {error}")


def _in_a_thread(choose: Callable[[], object]) -> asyncio.Future[object]:
    """In a thread that neither waits for others to think nor keeps the process from ending."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()

    def give(value: object) -> None:
        if not answer.done():
            answer.set_result(value)

    def run() -> None:
        value = choose()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(give, value)

    threading.Thread(target=run, daemon=True).start()
    return answer
