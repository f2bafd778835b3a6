"""`league compare`: is the new strategy better than the old one?"""

from __future__ import annotations

import argparse

from league.features.experiments.outcome.result_text import comparison_lines
from league.features.experiments.tournament_command import add_playing_options, progress_bar
from league.terminal import Command, add_json_option, examples, print_result

EXAMPLE = examples(
    "league compare ./new.py:Mine ./old.py:Mine --game connect_four",
    "league compare frequency random --elo0 0 --elo1 50 --seed 7 --json",
    "league compare http://127.0.0.1:8101 http://127.0.0.1:8102 --elo1 100",
    note="The test stops by itself. A strategy that is no stronger than elo0 is called better in at most 5 % of all\n"
    "comparisons, however often you look; one that is stronger by elo1 is, in at least 95 %.",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "new",
        metavar="NEW",
        help="the new strategy: a built-in name, module:Class, ./file.py:Class, or the URL of a running agent",
    )
    parser.add_argument("old", metavar="OLD", help="the strategy to beat, or the URL of a running agent")
    parser.add_argument(
        "--elo0", type=float, default=0.0, metavar="ELO", help="a gain that is not worth having (default: 0)"
    )
    parser.add_argument(
        "--elo1", type=float, default=20.0, metavar="ELO", help="a gain that must not be missed (default: 20)"
    )
    parser.add_argument(
        "--max-matches", type=int, default=20_000, metavar="N", help="give up after this many (default: 20000)"
    )
    parser.add_argument(
        "--series", type=int, default=2, metavar="N", help="matches that a strategy remembers (default: 2)"
    )
    parser.add_argument(
        "--openings", type=int, metavar="K", help="random openings of two moves (default: 24, if the game has them)"
    )
    add_playing_options(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.features.experiments.compare import compare

    comparison = compare(
        args.new,
        args.old,
        game=args.game,
        elo0=args.elo0,
        elo1=args.elo1,
        max_matches=args.max_matches,
        series=args.series,
        openings=args.openings,
        seed=args.seed,
        jobs=args.jobs,
        move_seconds=args.move_seconds,
        progress=progress_bar("at most"),
    )
    print_result(args.json, comparison.document, comparison_lines(comparison.document))
    return 0


COMMANDS = (Command("compare", "find out whether a strategy is better than another", EXAMPLE, configure, run),)
