"""python -m benchmarks [NAME...]: runs them (by default all that this machine can run), prints the ratios, and writes
benchmarks/results.json and docs/explanation/speed.md. Of benchmarks that were not run the rows of the last run stay."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from benchmarks import Row, instructions
from benchmarks.page import TITLES, page
from league.hosting.system import collect_garbage_seldom

BENCHMARKS = tuple(TITLES)
RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "speed.md"
HEADINGS = ("benchmark", "ours", "yardstick", "ratio", "goal", "")


class Benchmark(Protocol):
    NAME: str

    def run(self) -> list[Row]: ...


def main() -> int:
    # Processes are measured as they run where they are installed: what they import was compiled once, and kept.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"one of {', '.join(BENCHMARKS)}")
    names = parser.parse_args().names
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    collect_garbage_seldom()  # as the process of an agent does; the floors gain by it too
    measured = {name: cast(Benchmark, import_module(f"benchmarks.{name}")).run() for name in names or _possible()}
    print("\n".join(table(measured)))
    found = results(measured)
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")
    return 0


def _possible() -> Iterable[str]:
    return (name for name in BENCHMARKS if name != instructions.NAME or instructions.is_possible())


def table(measured: dict[str, list[Row]]) -> Iterable[str]:
    """The rows in columns; a goal that was missed is marked, not fatal: it depends on the machine."""
    lines = [HEADINGS, *(_cells(name, row) for name, rows in measured.items() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def _cells(name: str, row: Row) -> tuple[str, ...]:
    return (
        f"{name}: {row.what}",
        f"{row.ours:.1f} {row.unit}",
        f"{row.yardstick:.1f} {row.unit} ({row.yardstick_name})",
        f"{row.ratio:.2f}x",
        "" if row.goal is None else f"{row.goal:g}x",
        "" if row.kept else "missed",
    )


def results(measured: dict[str, list[Row]]) -> dict[str, Any]:
    """What results.json holds."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else []
    rows = {name: [one for one in known if one["benchmark"] == name] for name in BENCHMARKS}
    rows |= {name: [_plain(name, row) for row in some] for name, some in measured.items()}
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "rows": [row for some in rows.values() for row in some],
    }


def _plain(name: str, row: Row) -> dict[str, Any]:
    return {
        "benchmark": name,
        "what": row.what,
        "ours": round(row.ours, 3),
        "yardstick": round(row.yardstick, 3),
        "yardstick_name": row.yardstick_name,
        "unit": row.unit,
        "ratio": round(row.ratio, 3),
        "goal": row.goal,
        "kept": row.kept,
        "detail": row.detail,
    }


if __name__ == "__main__":
    sys.exit(main())
