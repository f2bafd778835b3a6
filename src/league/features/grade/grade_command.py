"""`league grade`: grade code that students handed in, each submission in a sandbox."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from league.terminal import USAGE, Command, CommandError, add_json_option, examples, print_result

if TYPE_CHECKING:
    from league.features.grade.sandboxed import GradingOrder

EXAMPLE = examples(
    "league grade submissions --game tic_tac_toe --to grades",
    "league grade submissions --game connect_four --against random,search --meetings 40 --seed 7 --to grades",
    note="Each submission is a folder or a zip with player.py: one subclass of Player, or a function choose(turn).\n"
    "exit status: 0 if every submission has a row, 1 if grading failed, 3 if there is no sandbox here",
)
NUMBERS = (
    ("--meetings", int, 20, "N", "matches of each pair (default: 20)"),
    ("--seed", int, 1, "N", "the same seed gives the same grades (default: 1)"),
    ("--move-seconds", float, 1.0, "S", "time for a choice (default: 1)"),
    ("--load-seconds", float, 5.0, "S", "time to import a submission (default: 5)"),
    ("--memory", int, 512, "MIB", "memory of a submission (default: 512)"),
    ("--jobs", int, os.cpu_count() or 1, "N", "series at a time (default: one for each core)"),
)
LEAST_MEMORY = 64


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="the folder of the submissions; may have roster.csv"
    )
    parser.add_argument("--game", required=True, help="the game to play")
    parser.add_argument(
        "--against",
        default="random",
        metavar="A,B,…",
        help="reference players outside the sandbox; submissions qualify against the first one (default: random)",
    )
    for flag, kind, default, metavar, about in NUMBERS:
        parser.add_argument(flag, type=kind, default=default, metavar=metavar, help=about)
    parser.add_argument("--to", type=Path, metavar="DIR", help="write tables and pages there")
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="grade where there is no bubblewrap: files and network are not protected",
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.features.experiments.outcome.result_files import prepare
    from league.features.experiments.tournament_command import progress_bar
    from league.features.grade import grading, reports

    order = _order(args)
    if not order.is_boxed:
        print(f"no sandbox: {reports.UNPROTECTED.replace('were', 'are')}", file=sys.stderr)
    written = []
    if args.to is not None:
        prepare(args.to)
    rows = grading.grade(order, progress_bar(noun="submissions"), progress_bar())
    entries = reports.entries(order, rows)
    if args.to is not None:
        written = [f"wrote {args.to / name}" for name in reports.write(order, entries, args.to)]
    print_result(args.json, reports.document(order, entries), [*reports.lines(order, entries), *written])
    return 0


def _order(args: argparse.Namespace) -> GradingOrder:
    """Return what was ordered. CommandError if it cannot be done."""
    from league.features.grade import sandbox
    from league.features.grade.sandboxed import GradingOrder
    from league.features.grade.submissions import submissions_in
    from league.hosting import require_game
    from league.hosting.member import players

    if not all(0 < number < math.inf for number in (args.meetings, args.jobs, args.move_seconds, args.load_seconds)):
        raise CommandError("--meetings, --jobs, --move-seconds and --load-seconds must be more than 0", USAGE)
    if args.memory < LEAST_MEMORY:
        raise CommandError(f"--memory must be at least {LEAST_MEMORY}: Python itself needs as much", USAGE)
    if args.to is not None and args.to.resolve().is_relative_to(args.folder.resolve()):
        raise CommandError("--to is within the submissions: it would be one of them the next time", USAGE)
    require_game(args.game)
    against = tuple(name.strip() for name in args.against.split(","))
    for name in against:
        try:
            players.refuse_unplayable(players.load(name), args.game)
        except CommandError as error:
            raise CommandError(str(error), USAGE) from error
    submissions = submissions_in(args.folder)
    sandbox.require(is_boxed=not args.no_sandbox)
    named = {name: getattr(args, name) for name in ("game", *(flag[2:].replace("-", "_") for flag, *_ in NUMBERS))}
    return GradingOrder(submissions=submissions, against=against, is_boxed=not args.no_sandbox, **named)


COMMANDS = (
    Command("grade", "grade code that students handed in, each submission in a sandbox", EXAMPLE, configure, run),
)
