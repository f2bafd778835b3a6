"""python -m benchmarks [NAME...]: runs them (all by default), prints the ratios, writes benchmarks/results.json."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from benchmarks import Row

BENCHMARKS = ("codec", "results_cost", "journal", "transport", "dialects", "tournament", "matches")
RESULTS = Path(__file__).with_name("results.json")
HEADINGS = ("benchmark", "ours", "yardstick", "ratio", "goal", "")


class Benchmark(Protocol):
    NAME: str

    def run(self) -> list[Row]: ...


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"one of {', '.join(BENCHMARKS)}")
    names = parser.parse_args().names
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    measured = {name: cast(Benchmark, import_module(f"benchmarks.{name}")).run() for name in names or BENCHMARKS}
    print("\n".join(table(measured)))
    RESULTS.write_text(json.dumps(results(measured), indent=2) + "\n", encoding="utf-8")
    return 0


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
        f"{row.goal:g}x",
        "" if row.kept else "missed",
    )


def results(measured: dict[str, list[Row]]) -> dict[str, object]:
    """What results.json holds."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "rows": [
            {
                "benchmark": name,
                "what": row.what,
                "ours": row.ours,
                "yardstick": row.yardstick,
                "yardstick_name": row.yardstick_name,
                "unit": row.unit,
                "ratio": round(row.ratio, 3),
                "goal": row.goal,
                "kept": row.kept,
            }
            for name, rows in measured.items()
            for row in rows
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
