"""The long suites, in parts of minutes: 20,000 simulated leagues, half of them of shapes drawn by chance; the
properties with examples of their own; the tests marked `deep`, a million spoiled messages and a thousand kills among
them. What was run is in `.deep-progress.json`.

python scripts/deep.py                    go on where the last run stopped, for about an hour
python scripts/deep.py --only leagues --first 1 --last 20000 --fresh
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from league.features.lab.simulation.runs import Plan, Run, play_drawn_many, play_many

PROGRESS = Path(".deep-progress.json")
LEAGUES, TESTS = 100, 10
"""So many are a part."""
PROPERTY_TESTS = ("tests/properties", "tests/games/test_every_game.py")
PROPERTIES = 10
"""How often the properties are tried with examples drawn anew; `make test` draws the same ones each time."""
SHAPES = (
    Plan(8, 3, 0.2),
    Plan(4, 1, 0.1),
    Plan(7, 2, 0.4),
    Plan(3, 2, 0.8),
    Plan(12, 4, 0.1),
    Plan(5, 2, 0.3, "tic_tac_toe"),
    Plan(6, 3, 0.2, "rock_paper_scissors"),
    Plan(2, 1, 0.6, double=True),
    Plan(9, 3, 0.0),
    Plan(8, 10, 0.3, dialects=0.5),
    Plan(8, 3, 0.0, outages=1.0),
    Plan(6, 2, 0.2, double=True, outages=1.0),
    Plan(6, 3, 0.0, cheats=0.5),
    Plan(5, 2, 0.2, dialects=0.5, cheats=1.0),
)
"""The usual shapes. The shape of a part goes by its number; in every other part each league has one of its own."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is run at a time; `name` is how the progress file knows it. `run` says whether all was well."""

    name: str
    run: Callable[[], bool]


def main() -> int:
    args = _arguments()
    suites = {"leagues": _leagues(args.first, args.last), "properties": _properties(), "tests": _tests()}
    parts = (part for name, suite in suites.items() if args.only in (None, name) for part in suite)
    if args.fresh:
        PROGRESS.unlink(missing_ok=True)
    return run(parts, time.monotonic() + args.minutes * 60)


def run(parts: Iterable[Part], until: float) -> int:
    """Run what the progress file does not have, until the time is up or a part fails: the next run begins with it."""
    done: list[str] = json.loads(PROGRESS.read_text("utf-8")) if PROGRESS.exists() else []
    for part in parts:
        if part.name in done:
            continue
        if time.monotonic() > until:
            print(f"{len(done)} parts done, next: {part.name}; run again to go on")
            return 0
        if not part.run():
            print(f"failed: {part.name}")
            return 1
        done.append(part.name)
        PROGRESS.write_text(json.dumps(done), "utf-8")
    print(f"all done, {len(done)} parts")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1, help="the first seed of a league")
    parser.add_argument("--last", type=int, default=20_000, help="the last seed of a league")
    parser.add_argument("--only", choices=["leagues", "properties", "tests"], help="one suite instead of all")
    parser.add_argument("--minutes", type=float, default=55, help="stop after so many minutes; the next run goes on")
    parser.add_argument("--fresh", action="store_true", help="begin again")
    return parser.parse_args()


# --- tests ------------------------------------------------------------------------------------------------------------


def _properties() -> Iterator[Part]:
    for number in range(1, PROPERTIES + 1):
        yield Part(f"properties {number}", partial(_pytest, *PROPERTY_TESTS, "--hypothesis-profile", "random"))


def _tests() -> Iterator[Part]:
    """The tests marked `deep`, so many at a time."""
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "deep", "--collect-only", "-q", "-p", "no:randomly"],
        check=True,
        capture_output=True,
        text=True,
    )
    tests = [line for line in found.stdout.splitlines() if "::" in line]
    for first in range(0, len(tests), TESTS):
        part = tests[first : first + TESTS]
        yield Part(f"{len(part)} tests from {part[0]}", partial(_pytest, "-m", "deep", *part))


def _pytest(*args: str) -> bool:
    return subprocess.run([sys.executable, "-m", "pytest", "-n", "2", *args], check=False).returncode == 0


# --- leagues ----------------------------------------------------------------------------------------------------------


def _leagues(first: int, last: int) -> Iterator[Part]:
    for begin in range(first, last + 1, LEAGUES):
        end = min(begin + LEAGUES, last + 1)
        yield Part(f"leagues {begin} to {end - 1}", partial(_keep_promises, begin, end))


def _keep_promises(first: int, end: int) -> bool:
    broken = list(_play(first, end))
    print("\n".join(broken), end="\n" if broken else "", flush=True)
    return not broken


def _play(first: int, end: int) -> Iterator[str]:
    number, jobs = first // LEAGUES, os.cpu_count() or 1
    usual = SHAPES[number // 2 % len(SHAPES)]
    matches = losses = 0
    for plan, run in play_drawn_many(range(first, end), jobs) if number % 2 else _usual(usual, first, end, jobs):
        matches, losses = matches + run.matches, losses + run.technical_losses
        for found in run.broken:
            yield f"promise {found.promise}: {found.detail} ({found.where}); again: {plan.command(run.seed)}"
        if plan.faults == plan.cheats == 0 and (run.technical_losses or not run.finished):
            yield f"{run.technical_losses} technical losses, finished: {run.finished}; again: {plan.command(run.seed)}"
    shape = "of all shapes" if number % 2 else str(usual)
    print(f"seeds {first} to {end - 1}: {matches} matches, {losses} technical losses, {shape}", flush=True)


def _usual(plan: Plan, first: int, end: int, jobs: int) -> Iterator[tuple[Plan, Run]]:
    return ((plan, run) for run in play_many(plan, range(first, end), jobs))


if __name__ == "__main__":
    sys.exit(main())
