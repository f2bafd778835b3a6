"""`league simulate`: whole leagues in virtual time with seeded faults, and the promises checked after each."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from league.terminal import USAGE, Command, CommandError, add_json_option, print_result

if TYPE_CHECKING:
    from league.features.lab.simulation.runs import Plan, Run

EXAMPLE = """\
examples:
  league simulate --leagues 300 --players 8 --referees 3 --faults 0.2 --seed 7
  league simulate --leagues 1 --seed 1234          the one league of that seed again
  league simulate --leagues 50 --cheats 0.3        with players that cheat, all on one machine
  league simulate --leagues 50 --rogues 0.5        with dishonest referees in every other league"""


class _Number(NamedTuple):
    """An option that takes a number."""

    name: str
    default: float
    help: str


COUNTS = (
    _Number("leagues", 100, "how many leagues to play (default: 100)"),
    _Number("players", 8, "players in each league (default: 8)"),
    _Number("referees", 2, "referees in each league (default: 2)"),
    _Number("late", 0, "how many players of each league may come late (default: 0)"),
    _Number("seed", 1, "the seed of the first league; the next ones follow (default: 1)"),
    _Number("jobs", 0, "processes to use (default: one per core)"),
)
SHARES = (
    _Number("faults", 0.1, "how much goes wrong, from 0 to 1 (default: 0.1)"),
    _Number("dialects", 0.0, "share of players that understand only one calling convention"),
    _Number("outages", 0.0, "share of leagues with power cuts"),
    _Number("cheats", 0.0, "share of players that cheat, and of leagues with a rogue referee"),
    _Number("rogues", 0.0, "share of leagues with a dishonest referee; results are rewritten in all leagues"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    for count in COUNTS:
        parser.add_argument(f"--{count.name}", type=int, default=count.default, help=count.help, metavar="N")
    for share in SHARES:
        parser.add_argument(f"--{share.name}", type=float, default=share.default, help=share.help, metavar="SHARE")
    parser.add_argument(
        "--game",
        dest="game_type",
        default="even_odd",
        help="the game to play (default: even_odd)",
        metavar="NAME",
    )
    parser.add_argument("--double", action="store_true", help="let every pair meet twice")
    parser.add_argument(
        "--trust",
        choices=("tokens", "class"),
        default="tokens",
        help="class: some agents show no token, and count by their addresses",
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.features.lab.simulation.runs import Plan, play_many

    _check(args)
    plan = Plan(**{field.name: getattr(args, field.name) for field in fields(Plan)})
    seeds = range(args.seed, args.seed + args.leagues)
    started = time.monotonic()
    runs = []
    # A progress line is for people only: not for programs, and not for files.
    shows_progress = not args.json and sys.stderr.isatty()
    for simulated in play_many(plan, seeds, args.jobs or os.cpu_count() or 1):
        runs.append(simulated)
        if shows_progress:
            print(f"\r{len(runs)} of {args.leagues} leagues", end="", file=sys.stderr)
    if shows_progress:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    summary = _summary(runs, time.monotonic() - started)
    print_result(args.json, summary, _lines(plan, runs, summary))
    return 1 if summary["broken_promises"] else 0


def _check(args: argparse.Namespace) -> None:
    from league.hosting import require_game

    if args.leagues < 1 or args.players < 2 or args.referees < 1 or args.late < 0:
        raise CommandError("a simulation needs at least 1 league, 2 players and 1 referee", USAGE)
    for share in SHARES:
        if not 0 <= getattr(args, share.name) <= 1:
            raise CommandError(f"--{share.name} takes a number from 0 to 1", USAGE)
    require_game(args.game_type)


def _summary(runs: list[Run], seconds: float) -> dict[str, Any]:
    faults: Counter[str] = Counter()
    for simulated in runs:
        faults.update(simulated.faults)
    broken_promises = [
        {
            "seed": simulated.seed,
            "promise": finding.promise,
            "detail": finding.detail,
            "where": finding.where,
        }
        for simulated in runs
        for finding in simulated.broken
    ]
    return {
        "leagues": len(runs),
        "matches": sum(simulated.matches for simulated in runs),
        "technical_losses": sum(simulated.technical_losses for simulated in runs),
        "faults": dict(sorted(faults.items())),
        "broken_promises": broken_promises,
        "unfinished": [simulated.seed for simulated in runs if not simulated.finished],
        "seconds": round(seconds, 3),
    }


def _lines(plan: Plan, runs: list[Run], summary: Mapping[str, Any]) -> Iterator[str]:
    from league.features.lab.simulation.runs import shortest

    faults = ", ".join(f"{count} {kind}" for kind, count in summary["faults"].items())
    yield f"{summary['leagues']} leagues, {summary['matches']} matches in {summary['seconds']} s"
    yield f"technical losses: {summary['technical_losses']}"
    yield f"faults: {faults or 'none'}"
    yield f"broken promises: {len(summary['broken_promises'])}"
    broken = [simulated for simulated in runs if simulated.broken]
    if broken:
        yield from _explained(plan, shortest(plan, broken[0].seed))


def _explained(plan: Plan, simulated: Run) -> Iterator[str]:
    """The first league that broke a promise, with as few kinds of faults as that takes."""
    yield f"\nseed {simulated.seed} is the first that broke one:"
    for finding in simulated.broken:
        yield f"  promise {finding.promise}: {finding.detail} ({finding.where})"
    yield f"  faults it takes: {', '.join(sorted(simulated.faults)) or 'none'}"
    yield f"  to see it again: {plan.command(simulated.seed)}"


COMMANDS = (
    Command(
        "simulate",
        "play leagues in virtual time with seeded faults and check every promise",
        EXAMPLE,
        configure,
        run,
    ),
)
