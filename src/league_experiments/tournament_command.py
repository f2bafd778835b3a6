"""`league tournament`: play many matches between strategies, without servers."""

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
    note="A strategy remembers the matches of its series: at most a thousand against the same opponent. An exception,\n"
    "an illegal choice or a choice that takes too long is a technical loss. The same seed gives the same results.",
)

STANDINGS = ("strategy", "played", "won", "drawn", "lost", "technical", "points/match", "95 % interval")
COUNTS = ("played", "wins", "draws", "losses", "technical_losses")
SHOW_S = 0.2
MOST_FAILURES = 10
BAR_WIDTH = 30


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strategy",
        metavar="A,B,…",
        required=True,
        help="the strategies: built-in names, module:Class or ./file.py:Class, separated by commas",
    )
    parser.add_argument("--game", default="even_odd", help="the game to play (default: even_odd)")
    parser.add_argument("--meetings", type=int, default=100, metavar="N", help="matches of each pair (default: 100)")
    parser.add_argument(
        "--openings",
        type=int,
        default=0,
        metavar="K",
        help="begin with K random openings of two moves, each from both seats (only games in which players take turns)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="repeat a tournament exactly (default: a new one each time)",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: one for each core)")
    parser.add_argument(
        "--move-seconds",
        type=float,
        default=30.0,
        metavar="S",
        help="time for a choice, after which it is a technical loss (default: 30; not on Windows)",
    )
    parser.add_argument("--to", metavar="DIR", help="write the results there, as CSV and JSON (Parquet with pyarrow)")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league_experiments import result_files
    from league_experiments.tournament import tournament

    if args.meetings < 1 or (args.jobs is not None and args.jobs < 1):
        raise CommandError("--meetings and --jobs must be at least 1", USAGE)
    if args.openings < 0:
        raise CommandError("--openings must be at least 0", USAGE)
    # Before anything is played: a tournament may take hours.
    if args.to:
        result_files.prepare(Path(args.to))
    names = [name.strip() for name in args.strategy.split(",")]
    result = tournament(
        [name for name in names if name],
        game=args.game,
        meetings=args.meetings,
        openings=args.openings,
        seed=args.seed,
        jobs=args.jobs,
        move_seconds=args.move_seconds,
        progress=_progress(),
    )
    written = []
    if args.to:
        written = result_files.write(result, Path(args.to))
    print_result(args.json, result.document, _lines(result.document, written))
    return 0


def _progress() -> Progress:
    """Return a progress bar with the time left, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return lambda *_: None
    started = time.monotonic()
    drawn_at = 0.0

    def show(played: int, matches: int) -> None:
        nonlocal drawn_at
        now = time.monotonic()
        if played == matches:
            sys.stderr.write("\r\x1b[K")
        # Not after every series: terminals are slow.
        elif now - drawn_at > SHOW_S:
            drawn_at = now
            seconds = (now - started) / played * (matches - played)
            bar = terminal.bar(played, matches, BAR_WIDTH)
            sys.stderr.write(f"\r\x1b[K{bar}  {played} of {matches} matches, {_duration(seconds)} left")
        sys.stderr.flush()

    return show


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s"


def _lines(document: dict[str, Any], written: list[Path]) -> Iterator[str]:
    yield from terminal.table(STANDINGS, [_row(row) for row in document["standings"]])
    matches = document["matches"]
    yield f"\n{matches} matches of {document['game']} in {document['seconds']:.1f} s, seed {document['seed']}"
    distinct = document["distinct_matches"]
    if distinct < matches:
        yield f"Only {distinct} of them say something new. The others repeat a match, move for move."
    if document["game"] == "even_odd":
        yield "In Even/Odd the number decides: differences within the intervals are luck."
    # The text of an exception may hold anything, so it is made harmless.
    for failure in document["failures"][:MOST_FAILURES]:
        yield terminal.plain(f"{failure['strategy']} failed {failure['times']} times: {failure['failure']}")
    yield from (f"wrote {path}" for path in written)


def _row(row: dict[str, Any]) -> list[object]:
    low, high = row["interval"]
    return [
        row["strategy"],
        *(row[name] for name in COUNTS),
        f"{row['points_per_match']:.3f}",
        f"{low:.3f} … {high:.3f}",
    ]


COMMANDS = (
    Command(
        "tournament", "play many matches between strategies, without servers, on all cores", EXAMPLE, configure, run
    ),
)
