"""docs/explanation/speed.md, written from results.json: what was measured, the goals beside it, and by how much one is
missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

Results = Mapping[str, Any]
"""What results.json holds."""

INTRODUCTION = """# Speed

Players that ask a language model are slow; a platform must not be. This page is written by `make bench` from
`benchmarks/results.json`: nothing in it was typed in.

Machines differ, so that only ratios count: ours and its yardstick are measured in turn in one run, the garbage
collector on, and the medians of their CPU time are compared. The *bare floor* makes the seven calls of a match through
a small layer on httptools with msgspec and does nothing else: no rules, no limits, no deadlines, nothing stored. What
we are compared with is in the column *beside*.
"""

TITLES = {
    "matches": (
        "A match",
        "A whole league in one process, everything on: durable journals, transcript, log, metrics.",
    ),
    "instructions": (
        "A match in instructions",
        "Counted by valgrind, which a busy machine hardly disturbs; what the kernel does is not in it.",
    ),
    "scale": (
        "Large leagues",
        "Does a match cost the same, however many players there are? Of 500 players two rounds are played, of 1,000 "
        "one.",
    ),
    "processes": (
        "Processes",
        "`league demo` with 99 players and 10 referees, and commands that read its journal. CPU time of whole "
        "processes, unless a row says otherwise.",
    ),
    "broadcast": (
        "A broadcast",
        "The shell, its counters and its client, beside the same bytes through a bare client.",
    ),
    "startup": ("Start-up", "CPU time of a whole process."),
    "codec": ("Reading a message", "Strict JSON, every clause of the message judged."),
    "transport": ("A call", "Our client and our server, with their limits and deadlines, and no message read."),
    "journal": ("The journal", "Time on the clock until an entry is on the disk."),
    "results_cost": ("The manager, late in a league", "A report when thousands of results are stored."),
    "dialects": ("Agents by others", "What it costs to speak with everybody."),
    "dashboard": ("The dashboard", "A league that is watched. Times of pages are time on the clock."),
    "tournament": ("`league tournament`", "Strategies that meet without servers."),
}


def page(results: Results) -> str:
    """The whole page."""
    machine = f"{results['machine']} with {results['processors']} processors"
    measured = f"Measured with Python {results['python']} on {machine}; its load at the end was {results['load']:g}.\n"
    parts = [INTRODUCTION, measured, *_summary(results)]
    for name, rows in groupby(results["rows"], key=lambda row: row["benchmark"]):
        title, sentence = TITLES[name]
        parts += [f"## {title}\n", f"{sentence}\n", *_table(list(rows))]
    return "\n".join(parts)


def _summary(results: Results) -> Iterator[str]:
    missed = [row for row in results["rows"] if not row["kept"]]
    yield "## Goals that are missed\n"
    if not missed:
        yield "None.\n"
        return
    for row in missed:
        by = 100 * (row["ratio"] / row["goal"] - 1)
        measured = f"{row['ratio']:.2f}, the goal is {row['goal']:g} ({by:.0f} % more)"
        yield f"- {row['what']}, beside {row['yardstick_name']}: {measured}"
    yield ""


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| what | ours | beside | ratio | goal |"
    yield "|---|---|---|---|---|"
    for row in rows:
        goal = "" if row["goal"] is None else f"{row['goal']:g}{'' if row['kept'] else ', missed'}"
        unit = row["unit"]
        beside = f"{_number(row['yardstick'])} {unit}, {row['yardstick_name']}"
        yield f"| {row['what']} | {_number(row['ours'])} {unit} | {beside} | {row['ratio']:.2f} | {goal} |"
    yield ""
    for row in rows:
        if row["detail"]:
            yield f"{row['what'][0].upper()}{row['what'][1:]}: {row['detail']}.\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
