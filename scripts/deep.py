"""The long suites: 20,000 simulated leagues, half of them of shapes drawn by chance, in parts that can be resumed, then
the properties with examples of their own, then the tests marked `deep`.

python scripts/deep.py                    go on where the last run stopped, for at most an hour
python scripts/deep.py --first 1 --last 20000 --minutes 60 --fresh
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from league.simulation.runs import Plan, Run, play_drawn_many, play_many

PROGRESS = Path(".deep-progress.json")
PART = 100
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


def main() -> int:
    args = _arguments()
    done = set() if args.fresh else _done()
    until = time.monotonic() + args.minutes * 60
    for first in range(args.first, args.last + 1, PART):
        if first in done:
            continue
        if time.monotonic() > until:
            print(f"{len(done) * PART} leagues done; run again to go on")
            return 0
        broken = list(_play(first, min(first + PART, args.last + 1)))
        if broken:
            print("\n".join(broken))
            return 1
        done.add(first)
        PROGRESS.write_text(json.dumps(sorted(done)), "utf-8")
    print(f"all leagues from seed {args.first} to {args.last} kept their promises")
    properties = [["tests/properties", "--hypothesis-profile", "random"]] * PROPERTIES
    return next((status for suite in [*properties, ["-m", "deep"]] if (status := _pytest(suite))), 0)


def _pytest(args: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", "-n", "2", *args], check=False).returncode


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--last", type=int, default=20_000, help="the last seed")
    parser.add_argument("--minutes", type=float, default=55, help="stop after so many minutes; the next run goes on")
    parser.add_argument("--fresh", action="store_true", help="begin again")
    return parser.parse_args()


def _done() -> set[int]:
    return set(json.loads(PROGRESS.read_text("utf-8"))) if PROGRESS.exists() else set()


def _play(first: int, end: int) -> Iterator[str]:
    number, jobs = first // PART, os.cpu_count() or 1
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
