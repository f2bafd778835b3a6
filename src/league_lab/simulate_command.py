"""`league simulate`: whole leagues in virtual time with seeded faults, and the promises checked after each."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from league.terminal import USAGE, Command, CommandError, add_json_option, print_result

if TYPE_CHECKING:
    from league_lab.simulation.runs import Plan, Run

EXAMPLE = """\
examples:
  league simulate --leagues 300 --players 8 --referees 3 --faults 0.2 --seed 7
  league simulate --leagues 1 --seed 1234          the one league of that seed again
  league simulate --leagues 50 --cheats 0.3        with players that cheat, all on one machine"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--leagues", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--players", type=int, default=8, help="players in each (default: 8)")
    parser.add_argument("--referees", type=int, default=2, help="referees in each (default: 2)")
    parser.add_argument("--faults", type=float, default=0.1, help="how much goes wrong, 0 to 1 (default: 0.1)")
    parser.add_argument("--seed", type=int, default=1, help="the first league's seed; each next one has the next")
    parser.add_argument("--game", default="even_odd", help="what is played (default: even_odd)")
    parser.add_argument("--double", action="store_true", help="every pair meets twice")
    parser.add_argument(
        "--dialects", type=float, default=0.0, help="share of players that understand one way of calling only, 0 to 1"
    )
    parser.add_argument("--outages", type=float, default=0.0, help="share of leagues with power cuts, 0 to 1")
    parser.add_argument(
        "--cheats", type=float, default=0.0, help="share of players that cheat, and of leagues with a rogue referee"
    )
    parser.add_argument("--late", type=int, default=0, help="players in each that may come after the start")
    parser.add_argument("--jobs", type=int, default=0, help="processes to use (default: one per core)")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league_lab.simulation.runs import Plan, play_many

    _check(args)
    shares = (args.dialects, args.outages, args.cheats)
    plan = Plan(args.players, args.referees, args.faults, args.game, args.double, *shares, args.late)
    seeds = range(args.seed, args.seed + args.leagues)
    started = time.monotonic()
    runs = []
    for one in play_many(plan, seeds, args.jobs or os.cpu_count() or 1):
        runs.append(one)
        if not args.json and sys.stderr.isatty():
            print(f"\r{len(runs)} of {args.leagues} leagues", end="", file=sys.stderr)
    if not args.json and sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    summary = _summary(runs, time.monotonic() - started)
    print_result(args.json, summary, _lines(plan, runs, summary))
    return 1 if summary["broken_promises"] else 0


def _check(args: argparse.Namespace) -> None:
    from league.hosting import require_game

    if args.leagues < 1 or args.players < 2 or args.referees < 1 or args.late < 0:
        raise CommandError("at least 1 league, 2 players and 1 referee", USAGE)
    if not all(0 <= share <= 1 for share in (args.faults, args.dialects, args.outages, args.cheats)):
        raise CommandError("faults, dialects, outages and cheats go from 0 to 1", USAGE)
    require_game(args.game)


def _summary(runs: list[Run], seconds: float) -> dict[str, Any]:
    faults: Counter[str] = Counter()
    for one in runs:
        faults.update(one.faults)
    return {
        "leagues": len(runs),
        "matches": sum(one.matches for one in runs),
        "technical_losses": sum(one.technical_losses for one in runs),
        "faults": dict(sorted(faults.items())),
        "broken_promises": [
            {"seed": one.seed, "promise": found.promise, "detail": found.detail, "where": found.where}
            for one in runs
            for found in one.broken
        ],
        "unfinished": [one.seed for one in runs if not one.finished],
        "seconds": round(seconds, 3),
    }


def _lines(plan: Plan, runs: list[Run], summary: Mapping[str, Any]) -> Iterator[str]:
    from league_lab.simulation.runs import shortest

    yield f"{summary['leagues']} leagues, {summary['matches']} matches in {summary['seconds']} s"
    yield f"technical losses: {summary['technical_losses']}"
    yield "faults: " + (", ".join(f"{count} {kind}" for kind, count in summary["faults"].items()) or "none")
    yield f"broken promises: {len(summary['broken_promises'])}"
    broken = [one for one in runs if one.broken]
    if broken:
        yield from _explained(plan, shortest(plan, broken[0].seed))


def _explained(plan: Plan, run: Run) -> Iterator[str]:
    """One seed, with as few kinds of faults as it takes."""
    yield f"\nseed {run.seed}, the first that broke one:"
    for found in run.broken:
        yield f"  promise {found.promise}: {found.detail} ({found.where})"
    yield f"  faults it takes: {', '.join(sorted(run.faults)) or 'none'}"
    yield f"  again: {plan.command(run.seed)}"


COMMANDS = (
    Command(
        "simulate", "play leagues in virtual time with seeded faults and check every promise", EXAMPLE, configure, run
    ),
)
