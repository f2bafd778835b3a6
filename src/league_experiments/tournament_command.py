"""`league tournament`: many matches between strategies, without servers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.terminal import USAGE, Command, CommandError, add_json_option, examples, print_result
from league.terminal import tables as terminal

if TYPE_CHECKING:
    from league_experiments.tournament import Progress

EXAMPLE = examples(
    "league tournament --strategy random,mirror,frequency --meetings 1000 --seed 7",
    "league tournament --strategy ./mine.py:Mine,random --meetings 100000 --to results",
    "league tournament --strategy ./mine.py:Mine,random --game tic_tac_toe --openings 20 --json",
    note="A strategy remembers the matches of its series: at most a thousand against the same opponent. What its code\n"
    "raises, and every illegal choice, is a technical loss at once. The same seed gives the same results.",
)

STANDINGS = ("strategy", "played", "won", "drawn", "lost", "technical", "points/match", "95 % interval")
SHOW_S = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    strategy = "who plays: built-in strategies, module:Class or ./file.py:Class, with commas between them"
    parser.add_argument("--strategy", metavar="A,B,…", required=True, help=strategy)
    parser.add_argument("--game", default="even_odd", help="what is played (default: even_odd)")
    parser.add_argument("--meetings", type=int, default=100, metavar="N", help="matches of each pair (default: 100)")
    openings = "begin with K random openings of two moves, each from both seats (games in which players take turns)"
    parser.add_argument("--openings", type=int, default=0, metavar="K", help=openings)
    parser.add_argument(
        "--seed", type=int, metavar="N", help="repeat a tournament exactly (default: a new one each time)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    parser.add_argument("--to", metavar="DIR", help="write the results there, as CSV and JSON (Parquet with pyarrow)")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league_experiments.tournament import tournament

    if min(args.meetings, (args.jobs or 1)) < 1 or args.openings < 0:
        raise CommandError("--meetings and --jobs are at least 1, --openings at least 0", USAGE)
    if args.to:
        from league_experiments import files

        files.prepare(Path(args.to))
    strategies = [one.strip() for one in args.strategy.split(",") if one.strip()]
    settings = {"game": args.game, "meetings": args.meetings, "openings": args.openings, "seed": args.seed}
    result = tournament(strategies, **settings, jobs=args.jobs, progress=_progress())
    written = files.write(result, Path(args.to)) if args.to else []
    print_result(args.json, result.document, _lines(result.document, written))
    return 0


def _progress() -> Progress:
    """A bar with the time left, where somebody watches."""
    if not sys.stderr.isatty():
        return lambda *_: None
    started, shown = time.monotonic(), 0.0

    def show(done: int, of: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if done == of:
            sys.stderr.write("\r\x1b[K")
        elif now - shown > SHOW_S:
            shown = now
            left = (now - started) / done * (of - done)
            sys.stderr.write(f"\r\x1b[K{terminal.bar(done, of, 30)}  {done} of {of} matches, {_duration(left)} left")
        sys.stderr.flush()

    return show


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _lines(document: dict[str, Any], written: list[Path]) -> Iterator[str]:
    counts = ("played", "wins", "draws", "losses", "technical_losses")
    rows = [[row["strategy"], *(row[name] for name in counts), *_points(row)] for row in document["standings"]]
    yield from terminal.table(STANDINGS, rows)
    played = f"{document['matches']} matches of {document['game']}"
    yield f"\n{played} in {document['seconds']:.1f} s, seed {document['seed']}"
    if (distinct := document["distinct_matches"]) < document["matches"]:
        yield f"Only {distinct} of them tell something new: the others repeat a match, move for move, and count once."
    if document["game"] == "even_odd":
        yield "In Even/Odd the number decides: differences within the intervals are luck."
    for one in document["failures"][:10]:
        yield terminal.plain(f"{one['strategy']} failed {one['times']} times: {one['failure']}")
    yield from (f"wrote {path}" for path in written)


def _points(row: dict[str, Any]) -> tuple[str, str]:
    low, high = row["interval"]
    return f"{row['points_per_match']:.3f}", f"{low:.3f} … {high:.3f}"


COMMANDS = (
    Command("tournament", "let strategies meet many times, without servers, on all cores", EXAMPLE, configure, run),
)
