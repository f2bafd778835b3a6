"""`league tournament`: play many matches between strategies, without servers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.features.experiments.outcome.result_text import tournament_lines
from league.terminal import Command, add_json_option, examples, print_result
from league.terminal import tables as terminal

if TYPE_CHECKING:
    from league.features.experiments.tournament import Progress

EXAMPLE = examples(
    "league tournament --strategy random,mirror,frequency --meetings 1000 --seed 7",
    "league tournament --strategy ./mine.py:Mine,random --meetings 100000 --to results --resume",
    "league tournament --strategy ./mine.py:Mine,random --meetings 100000 --seed 7 --shard 2/7 --to part-2",
    "league tournament --strategy ./mine.py:Mine,random --meetings 100000 --executor ray --address 10.0.0.1:6379",
    "league tournament --strategy ./mine.py:Mine,random --game tic_tac_toe --openings 20 --json",
    note="A strategy remembers the matches of its series: at most a thousand against the same opponent. An exception,\n"
    "an illegal choice or a choice that takes too long is a technical loss. The same seed gives the same results.\n"
    "It trusts the code that it plays: `league grade` is for code that students hand in.",
)

SHOW_S = 0.2
BAR_WIDTH = 30
CLEAR_LINE = "\r\x1b[K"
WRITING = "all matches are played; writing the tables"
WRITTEN = (".csv", ".json", ".jsonl", ".parquet")
"""The kinds of files in the folder of a tournament."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strategy",
        metavar="A,B,…",
        required=True,
        help="the strategies: built-in names, module:Class or ./file.py:Class, separated by commas",
    )
    parser.add_argument("--meetings", type=int, default=100, metavar="N", help="matches of each pair (default: 100)")
    parser.add_argument(
        "--openings",
        type=int,
        default=0,
        metavar="K",
        help="begin with K random openings of two moves, each from both seats (only games in which players take turns)",
    )
    add_playing_options(parser)
    _configure_spreading(parser)
    add_json_option(parser)


def add_playing_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of everything that plays matches without servers."""
    parser.add_argument("--game", default="even_odd", help="the game to play (default: even_odd)")
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="play exactly the same again (default: a new seed each time)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of processes (default: one for each core if it is worth it)",
    )
    parser.add_argument(
        "--move-seconds",
        type=float,
        default=30.0,
        metavar="S",
        help="time for a choice, after which it is a technical loss (default: 30; not on Windows)",
    )


def _configure_spreading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who plays, and where the series go."""
    parser.add_argument(
        "--executor",
        choices=("local", "ray"),
        default="local",
        help="who plays: processes of this machine, or a Ray cluster (default: local)",
    )
    parser.add_argument(
        "--address", metavar="A", help="the address of the Ray cluster (default: the one that runs here)"
    )
    parser.add_argument(
        "--to",
        metavar="DIR",
        help="write every series there as soon as it is played, and at the end all results, as CSV and JSON "
        "(Parquet with pyarrow)",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on in --to DIR: play only the series that are not there"
    )
    parser.add_argument(
        "--shard",
        metavar="I/N",
        help="play only part I of N, counted from 1; `league merge` puts the folders of all parts together",
    )


def run(args: argparse.Namespace) -> int:
    from league.features.experiments.tournament import tournament

    names = [name.strip() for name in args.strategy.split(",")]
    try:
        result = tournament(
            [name for name in names if name],
            game=args.game,
            meetings=args.meetings,
            openings=args.openings,
            seed=args.seed,
            jobs=args.jobs,
            move_seconds=args.move_seconds,
            executor=args.executor,
            address=args.address,
            to=args.to or None,
            resume=args.resume,
            shard=args.shard,
            progress=progress_bar(then=WRITING if args.to else ""),
        )
        if sys.stderr.isatty():
            sys.stderr.write(CLEAR_LINE)
    except KeyboardInterrupt:
        if args.to:
            print(f"\nstopped; what was played is in {args.to}: --resume goes on from there", file=sys.stderr)
        raise
    written = []
    if args.to:
        written = written_files(Path(args.to))
    print_result(args.json, result.document, result_lines(result.document, written))
    return 0


def written_files(folder: Path) -> list[Path]:
    """Return the files of a tournament."""
    return sorted(path for path in folder.iterdir() if path.suffix in WRITTEN)


def progress_bar(word: str = "", then: str = "", noun: str = "matches") -> Progress:
    """Return a progress bar with the time left, if stderr is a terminal. `then` says what comes at its end."""
    if not sys.stderr.isatty():
        return lambda *_: None
    started = time.monotonic()
    drawn_at = 0.0
    before: int | None = None
    word = word and f"{word} "

    def show(played: int, matches: int) -> None:
        nonlocal drawn_at, before, started
        now = time.monotonic()
        if before is None:
            # Series of an earlier run took no time in this one; neither does the start of processes repeat itself.
            before = played
            started = now
            return
        if played == matches:
            sys.stderr.write(CLEAR_LINE + then)
        # Not after every series: terminals are slow.
        elif now - drawn_at > SHOW_S:
            drawn_at = now
            seconds = (now - started) / max(played - before, 1) * (matches - played)
            end = datetime.now() + timedelta(seconds=seconds)  # noqa: DTZ005 - the time on the wall
            bar = terminal.bar(played, matches, BAR_WIDTH)
            left = f"{_duration(seconds)} left, until {end:%H:%M}"
            sys.stderr.write(f"{CLEAR_LINE}{bar}  {played} of {word}{matches} {noun}, {left}")
        sys.stderr.flush()

    return show


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s"


def result_lines(document: dict[str, Any], written: list[Path]) -> Iterator[str]:
    yield from tournament_lines(document)
    yield from (f"wrote {path}" for path in written)


COMMANDS = (
    Command(
        "tournament", "play many matches between strategies, without servers, on all cores", EXAMPLE, configure, run
    ),
)
