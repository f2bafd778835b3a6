"""Writes two pages from results.json: docs/explanation/speed.md, and missed-goals.md beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Results = Mapping[str, Any]
"""The content of results.json. (Any: as JSON has it.)"""
JsonRow = Mapping[str, Any]

BARE_FLOOR = "the bare floor"
"""The name of this yardstick in the rows."""
ONE_PROCESS = "a match, 32 at once"
"""The row of `matches` in the summary."""
SEPARATE = "a match, one process per agent"
"""The row of `processes` in the summary."""
UNMEASURED = "not measured yet"

MISSED_GOALS = """# Missed goals

`make bench` writes this page: the goals that the last results missed, most of them against the bare floor of
[the speed page](../docs/explanation/speed.md), which says how they were measured.
"""
INTRODUCTION = """# Speed

Players that ask a language model are slow. The league must not add to that. This is what people wait for:
"""
METHOD = """`make bench` measures this and writes the page from `benchmarks/results.json`; nobody edits it by hand.
`make bench ARGS='matches journal'` measures only these two benchmarks again and keeps the other results. The goals that
are missed stand in [benchmarks](../../benchmarks/missed-goals.md).

Machines differ, so the ratios matter, not the times. Each benchmark measures our code and a yardstick in turns, in the
same run, with the garbage collector on. The ratio compares the medians of their CPU time; the column *compared with*
names the yardstick. Rows about time on the clock say so.

The *bare floor* is the cheapest honest way we know to make the seven calls of a match in Python: two invitations, two
choices, two results and one report. A thin layer on httptools moves the bytes, and msgspec writes every message and
reads every field of it into its type. The floor has no rules, no limits, no deadlines and no storage. Reading messages
into dictionaries or making each call in a task of its own would be more expensive. An echo of the bytes would be
cheaper, but it reads no message, so it is the yardstick of [a call](#a-call) only. The floor is measured with 2 and
with 32 matches at once, and the cheaper of the two counts.
"""


WAITS = {
    "99 players ready, on the clock": "99 players of one process are ready to play",
    "restart of a manager with 99 players, on the clock": "a manager of 99 players is back after a restart",
    "league demo --players 99 --referees 10, on the clock": "a league of 99 players and 4,851 matches is played",
    "from a result to the page, on the clock": "a result is on an open page",
    "league explain R1M1": "`league explain` tells the story of a match of this league",
    "league verify": "`league verify` has checked a league",
    "a match of Even/Odd, random against mirror": "a match of a tournament without servers is played",
}
"""The rows that the page begins with, in words."""


class Section(NamedTuple):
    """The heading of one benchmark on the page, and what its tables show."""

    title: str
    text: str


SECTIONS = {
    "matches": Section(
        "A match",
        "A whole league in one process with everything on: durable journals, transcript, log, metrics.",
    ),
    "databases": Section(
        "A match in PostgreSQL",
        "The same league with its journals in a database, beside journals in files. Only our own CPU time counts.",
    ),
    "instructions": Section(
        "A match in instructions",
        "Counted by valgrind, without the kernel. A busy machine hardly disturbs the count of a match in memory, but "
        "it adds up to a tenth to a durable match, whose journal then makes more commits.",
    ),
    "scale": Section(
        "Large leagues",
        "The cost of a match should not depend on the number of players. The league of 500 players plays two rounds, "
        "the league of 1,000 players one.",
    ),
    "mailboxes": Section(
        "Mailboxes",
        "A call to a player behind a router, counted at the manager alone: the players are in another process. A "
        "referee's call to an ordinary player costs the manager nothing, so one that passes through is compared with "
        "a call of the manager's own.",
    ),
    "processes": Section(
        "Processes",
        "A league with one process per agent, then `league demo`, which puts 99 players and 10 referees into a few "
        "processes, and commands that read its journal. The league with one process per agent is measured without "
        "the start and the end of its processes; the other rows show the CPU time of whole processes, unless they "
        "say otherwise.",
    ),
    "slow_players": Section(
        "Slow players",
        "A league with all defaults, from its first round to its end, on the clock. Two referees play fifteen matches "
        "at once. Nothing waits for a timer: a round begins with three messages to each player, one after the other "
        "(final table, end of the round, announcement), and each match has six exchanges in a row besides the thinking "
        "(invitation, call, draw, GAME_OVER, report, and the announcement to its referee), as the protocol demands. "
        "All matches do this at the same time, before and after the thinking, so the CPU time of all processes, the "
        "players included, divided by the processors is the least that a league takes beyond the thinking. The row "
        "`the least it can take here` shows that floor. In nine runs with real-time priority on a busy machine with "
        "two processors (load 9) the floor was 1.12 to 1.15 and the league took 1.15 to 1.20, so the goal cannot be "
        "met there without less CPU time; at normal priority under the same load it took 1.34 to 1.54.",
    ),
    "broadcast": Section(
        "A broadcast",
        "The manager's shell, counters and client, compared with a bare client that sends the same bytes.",
    ),
    "startup": Section("Start-up", "CPU time of a whole process."),
    "codec": Section("Reading a message", "Strict JSON, with every clause about the message checked."),
    "transport": Section(
        "A call", "Our client and our server with their limits and deadlines. They move bytes and read no message."
    ),
    "journal": Section("The journal", "Time on the clock until an entry is on the disk."),
    "results_cost": Section(
        "The manager, late in a league", "The cost of a report when thousands of results are already stored."
    ),
    "reading": Section(
        "Reading a league",
        "What commands and pages make of the journal of a whole league. Decoding all events is the least that a "
        "command needs which looks at all of them; a page of a running league decodes none.",
    ),
    "dialects": Section(
        "Third-party agents", "The cost of talking to agents that use other conventions than the specification."
    ),
    "dashboard": Section("The dashboard", "A league with viewers. The times of pages are time on the clock."),
    "tournament": Section(
        "`league tournament`",
        "Strategies that meet without servers. The rules of Even/Odd take three microseconds. A match must also put "
        "two questions, draw 32 random bytes for each, and let both strategies remember it: that is why the goal "
        "for it is missed. In games of OpenSpiel most of the time goes into the words for all options, which its own "
        "loop does without, and into a copy of the state for every move.",
    ),
}


def page(results: Results) -> str:
    """Write the page on speed."""
    rows_of: dict[str, list[JsonRow]] = {name: [] for name in SECTIONS}
    for row in results["rows"]:
        rows_of[row["benchmark"]].append(row)
    parts = [INTRODUCTION, *_waits(results["rows"]), METHOD, *_summary(rows_of)]
    for name, section in SECTIONS.items():
        parts += [f"## {section.title}\n", f"{section.text}\n"]
        if rows_of[name]:
            parts += [*_table(rows_of[name]), _run(results["runs"][name])]
        else:
            parts.append(f"{UNMEASURED.capitalize()}: `make bench ARGS={name}` does it.\n")
    return "\n".join(parts)


def _waits(rows: Sequence[JsonRow]) -> Iterator[str]:
    row_of = {row["what"]: row for row in rows}
    yield "| until | time |"
    yield "|---|---|"
    for what, sentence in WAITS.items():
        time = f"{_number(row_of[what]['ours'])} {row_of[what]['unit']}" if what in row_of else UNMEASURED
        yield f"| {sentence} | {time} |"
    yield ""


def _summary(rows_of: Mapping[str, Sequence[JsonRow]]) -> Iterator[str]:
    """Compare the floor, a league in one process and a league in separate processes."""
    one_process = next((row for row in rows_of["matches"] if row["what"] == ONE_PROCESS), None)
    separate = next((row for row in rows_of["processes"] if row["what"] == SEPARATE), None)
    floor = next((row["yardstick"] for row in rows_of["matches"] if row["yardstick_name"] == BARE_FLOOR), None)
    yield "## The cost of a match\n"
    yield "| | CPU time per match | compared with the bare floor |"
    yield "|---|---|---|"
    if floor is not None:
        yield f"| the bare floor, seven calls | {_number(floor)} us | 1 |"
    yield _summary_line("a league in one process, 32 matches at once", one_process, floor)
    yield _summary_line("a league with one process per agent, 32 matches at once", separate, floor)
    yield ""


def _summary_line(title: str, row: JsonRow | None, floor: float | None) -> str:
    if row is None:
        return f"| {title} | {UNMEASURED} | |"
    if floor is None:
        return f"| {title} | {_number(row['ours'])} us | {UNMEASURED} |"
    return f"| {title} | {_number(row['ours'])} us | {row['ours'] / floor:.1f} |"


def missed_goals(results: Results) -> str:
    """Write the page on goals that were missed."""
    lines = [MISSED_GOALS]
    for row in results["rows"]:
        if not row["kept"]:
            excess = 100 * (row["ratio"] / row["goal"] - 1)
            measured = f"{row['ratio']:.2f}, the goal is {row['goal']:g} ({excess:.0f} % over)"
            lines.append(f"- {row['what']}, compared with {row['yardstick_name']}: {measured}")
    return "\n".join([*lines, ""])


def _table(rows: Sequence[JsonRow]) -> Iterator[str]:
    yield "| | ours | compared with | ratio | goal |"
    yield "|---|---|---|---|---|"
    for row in rows:
        unit = row["unit"]
        ours = f"{_number(row['ours'])} {unit}"
        yardstick = f"{_number(row['yardstick'])} {unit}, {row['yardstick_name']}"
        yield f"| {row['what']} | {ours} | {yardstick} | {row['ratio']:.2f} | {_goal(row)} |"
    yield ""
    for row in rows:
        if row["detail"]:
            yield f"{row['what'][0].upper()}{row['what'][1:]}: {row['detail']}.\n"


def _goal(row: JsonRow) -> str:
    if row["goal"] is None:
        return ""
    return f"{row['goal']:g}"


def _run(run: Mapping[str, Any]) -> str:
    machine = f"{run['machine']} with {run['processors']} processors"
    return f"*Measured with Python {run['python']} on {machine}; the load at the end was {run['load']:g}.*\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
