"""`league demo`: play a whole league on this machine, from the first process to the champion."""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from league.hosting.settings.manager_options import ManagerOptions
from league.terminal import USAGE, Command, CommandError, add_json_option, print_json, print_lines

if TYPE_CHECKING:
    import asyncio

    from league.features.demo.demo_run import DemoRun

EVEN_ODD = ("random", "frequency", "mirror", "alternate", "always_even", "always_odd")
ANY_GAME = ("random", "mirror", "alternate")
"""Strategies that make sense in every game."""
EXAMPLE = """\
examples:
  league demo
  league demo --players 10 --referees 3 --stay
  league demo --game rock_paper_scissors --json
  league demo --strategy mine:Mine,random,mirror

The manager, the referees and the players run as separate processes on 127.0.0.1; if there are many agents, several
share a process. --seed repeats the choices of random strategies. The numbers that referees draw are still random: a
referee commits to each number in advance, so that anybody can check it afterwards."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--players", type=int, default=4, metavar="N", help="number of players (default: 4)")
    parser.add_argument("--referees", type=int, default=2, metavar="N", help="number of referees (default: 2)")
    parser.add_argument("--game", default="even_odd", help="the game to play (default: even_odd)")
    strategy = "the strategies, given to the players in turn (default: those that fit the game)"
    parser.add_argument("--strategy", metavar="A,B,…", help=strategy)
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of random strategies")
    port = f"the manager's port (default: {ManagerOptions.usual_port}, or the next free one)"
    parser.add_argument("--port", type=int, metavar="N", help=port)
    parser.add_argument("--journal", metavar="DIR", help="keep the journals here (default: league-data/LEAGUE_ID)")
    parser.add_argument("--no-shared", action="store_true", help="do not write shared files next to the journals")
    parser.add_argument("--stay", action="store_true", help="keep the manager running until Ctrl-C")
    parser.add_argument("--open", action="store_true", help="open the dashboard in a browser")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.hosting.serving import run_loop

    _check(args)
    return run_loop(partial(_conduct, args, time.monotonic()))


def _check(args: argparse.Namespace) -> None:
    from league.games import registry
    from league.hosting import require_game
    from league.hosting.member.players import load
    from league.terminal.display import Style, harmless, paint

    if args.players < 2 or args.referees < 1:
        raise CommandError("a league needs at least 2 players and 1 referee", USAGE)
    if args.port is not None and not 0 <= args.port <= 65535:
        raise CommandError(f"{args.port} is not a port: ports go from 0 to 65535", USAGE)
    require_game(args.game)
    for problem in registry.problems():
        print_lines([f"{paint('note:', Style.WARNING)} {harmless(problem)}"], sys.stderr)
    if args.strategy is None:
        args.strategy = ",".join(_strategies_for(args.game))
    for name in args.strategy.split(","):
        load(name)  # so that an error is reported now, and not by a process


def _strategies_for(name: str) -> tuple[str, ...]:
    """Return the strategies that play a game by default."""
    from league.games import registry

    game = registry.find(name)
    if game is None or name == "even_odd":
        return EVEN_ODD
    # Strategies that come with a game play it well, and `random` shows by how much.
    return (*game.strategies, "random") if game.strategies else ANY_GAME


async def _conduct(args: argparse.Namespace, started: float, stop: asyncio.Event) -> int:
    """Play until the end, or until `stop` is set. Nothing is left running."""
    from league.features.demo.demo_run import DemoPlan, DemoRun
    from league.hosting.serving import until
    from league.terminal.tables import Screen, screen_for

    strategies = tuple(args.strategy.split(","))
    plan = DemoPlan(
        players=args.players,
        referees=args.referees,
        game=args.game,
        strategies=strategies,
        seed=args.seed,
        port=args.port,
        journal=args.journal,
        shared=not args.no_shared,
    )
    demo = DemoRun(plan, Screen() if args.json else screen_for(sys.stdout), started)
    try:
        was_played = await until(stop, _play(demo, args.json, args.stay, args.open))
        # With --stay an interrupt is the usual end.
        if was_played or demo.is_over:
            return 0
        raise CommandError(f"interrupted; the matches so far are in {demo.journal}", 130)
    finally:
        demo.screen.end()
        await demo.processes.stop()


async def _play(demo: DemoRun, as_json: bool, stay: bool, is_opened: bool) -> None:
    from league.features.dashboard.dashboard_server import open_page

    await demo.begin()
    if is_opened:
        await open_page(demo.base)
    if not as_json:
        print_lines(demo.introduction())
    await demo.follow()
    outcome = await demo.outcome()
    if as_json:
        print_json(outcome)
        sys.stdout.flush()
    else:
        print_lines(demo.review(outcome, await demo.table(), await demo.success()))
    trouble = demo.shared_trouble()
    if trouble:
        print_lines([trouble], sys.stderr)
    if stay:
        await demo.stop_members()
        if not as_json:
            print_lines([f"\nThe manager stays at {demo.base} until Ctrl-C."])
        await demo.stay()


COMMANDS = (Command("demo", "play a whole league on this machine", EXAMPLE, configure, run),)
