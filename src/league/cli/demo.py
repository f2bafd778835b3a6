"""`league demo`: a whole league on this machine, from the first process to the champion."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from league.cli import USAGE, CommandError, add_json_option, print_json

if TYPE_CHECKING:
    from league.cli.performance import Performance

NAME = "demo"
HELP = "play a whole league on this machine"
EXAMPLE = """\
examples:
  league demo
  league demo --players 10 --referees 3 --stay
  league demo --game rock_paper_scissors --json

Manager, referees and players are processes of their own on 127.0.0.1; with many of them, several share a process.
--seed repeats the choices of the players' random strategies. The numbers that referees draw stay random: each is a
secret that its referee promised beforehand, so that anybody can check it afterwards."""
USUAL_PORT = 8000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("--players", type=int, default=4, metavar="N", help="how many players (default: 4)")
    parser.add_argument("--referees", type=int, default=2, metavar="N", help="how many referees (default: 2)")
    parser.add_argument("--game", default="even_odd", help="what is played (default: even_odd)")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of random strategies")
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"the manager's port (default: {USUAL_PORT}, or the next one free)"
    )
    parser.add_argument("--journal", metavar="DIR", help="keep the journals here (default: league-data/LEAGUE_ID)")
    parser.add_argument("--stay", action="store_true", help="keep the manager up until Ctrl-C")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.hosting.serving import run_loop

    _check(args)
    return run_loop(partial(_conduct, args, time.monotonic()))


def _check(args: argparse.Namespace) -> None:
    from league.games import registry

    if args.players < 2 or args.referees < 1:
        raise CommandError("a league needs at least 2 players and 1 referee", USAGE)
    if args.port is not None and not 0 <= args.port <= 65535:
        raise CommandError(f"{args.port} is no port: they go from 0 to 65535", USAGE)
    if registry.find(args.game) is None:
        raise CommandError(f"there is no game {args.game!r}; there are {', '.join(registry.known())}", USAGE)


async def _conduct(args: argparse.Namespace, started: float, stop: asyncio.Event) -> int:
    """Play until the end, or until somebody wants it to end; then nothing is left running."""
    from league.cli.performance import Performance
    from league.cli.screen import Silence, screen_for

    performance = Performance(args, Silence() if args.json else screen_for(sys.stdout), started)
    playing = asyncio.create_task(_play(args, performance))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((playing, stopped), return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            return playing.result()
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        if performance.is_over:
            return 0
        raise CommandError(f"interrupted; what was played is in {performance.journal}", 130)
    finally:
        performance.screen.end()
        stopped.cancel()
        await performance.orchestra.stop()


async def _play(args: argparse.Namespace, performance: Performance) -> int:
    tell: Any = _quiet if args.json else partial(print, flush=True)
    await performance.begin()
    tell("\n".join(performance.programme()))
    await performance.follow()
    outcome = await performance.outcome()
    if args.json:
        print_json(outcome)
        sys.stdout.flush()
    else:
        success = await performance.success()
        tell("\n".join(performance.review(outcome, success)))
    if args.stay:
        await performance.leave_manager()
        tell(f"\nThe manager stays at {performance.base} until Ctrl-C.")
        await performance.stay()
    return 0


def _quiet(_text: str) -> None: ...
