"""Run benchmarks (by default all that this machine can run), print their ratios, and write benchmarks/results.json and
docs/explanation/speed.md. Benchmarks that are not run keep the rows of their last run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from benchmarks import Row, instructions
from benchmarks.page import SECTIONS, Results, missed_goals, page
from league.hosting.system import collect_garbage_seldom

BENCHMARKS = tuple(SECTIONS)
RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "speed.md"
MISSED_GOALS = Path(__file__).with_name("missed-goals.md")
HEADINGS = ("benchmark", "ours", "yardstick", "ratio", "goal", "")


class Benchmark(Protocol):
    def run(self) -> list[Row]: ...


def main() -> int:
    options = _options()
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    if options.page:
        _write_pages(results)
        return 0
    # An installed league runs from compiled modules, so the processes we measure may write them.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    collect_garbage_seldom()  # the process of an agent does this too, and the floors gain by it as well
    measured: dict[str, list[Row]] = {}
    for name in options.names or _possible():
        began = time.monotonic()
        measured[name] = cast(Benchmark, import_module(f"benchmarks.{name}")).run()
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        # Written after each benchmark: an interrupted run keeps what it has measured.
        results = merged(results, name, measured[name])
        RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
        _write_pages(results)
    print("\n".join(table(measured)))
    return 0


def _write_pages(results: Results) -> None:
    PAGE.write_text(page(results), encoding="utf-8")
    MISSED_GOALS.write_text(missed_goals(results), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"any of {', '.join(BENCHMARKS)}")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from the results")
    options = parser.parse_args()
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    return options


def _possible() -> list[str]:
    return [name for name in BENCHMARKS if name != "instructions" or instructions.is_possible()]


def table(measured: dict[str, list[Row]]) -> Iterable[str]:
    """Arrange the rows in columns. A missed goal is marked but not fatal, since it depends on the machine."""
    lines: list[Sequence[str]] = [HEADINGS]
    for name, rows in measured.items():
        lines += [_cells(name, row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _cells(name: str, row: Row) -> Sequence[str]:
    return (
        f"{name}: {row.title}",
        f"{row.ours:.1f} {row.unit}",
        f"{row.yardstick:.1f} {row.unit} ({row.yardstick_name})",
        f"{row.ratio:.2f}x",
        "" if row.goal is None else f"{row.goal:g}x",
        "" if row.meets_goal else "missed",
    )


def merged(results: dict[str, Any], name: str, rows: list[Row]) -> dict[str, Any]:
    """Return the results with the rows of one benchmark replaced. (Any: as JSON has it.)"""
    run = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    rows_of = {benchmark: [row for row in results["rows"] if row["benchmark"] == benchmark] for benchmark in BENCHMARKS}
    rows_of[name] = [_plain(name, row) for row in rows]
    return {
        "runs": results["runs"] | {name: run},
        "rows": [row for benchmark in BENCHMARKS for row in rows_of[benchmark]],
    }


def _plain(name: str, row: Row) -> dict[str, Any]:
    return {
        "benchmark": name,
        "what": row.title,
        "ours": round(row.ours, 3),
        "yardstick": round(row.yardstick, 3),
        "yardstick_name": row.yardstick_name,
        "unit": row.unit,
        "ratio": round(row.ratio, 3),
        "goal": row.goal,
        "kept": row.meets_goal,
        "detail": row.detail,
    }


if __name__ == "__main__":
    sys.exit(main())
