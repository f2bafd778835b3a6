"""What a grading writes: tables and documents for programs, and pages for people.

Everything that students wrote is escaped, whatever the format: a page shows no HTML of theirs, a spreadsheet
calculates no formula, and a terminal obeys no escape sequence. Nothing depends on the time: the same grades are the
same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from league.features.experiments.playing.plan import game_named
from league.features.grade.grading import GradedRow
from league.features.grade.sandboxed import GradingOrder
from league.features.records.exports import table
from league.protocol.safe_text import printable
from league.terminal import tables

UNPROTECTED: Final = "files and network were NOT protected"
MARK: Final = "\N{BYTE ORDER MARK}"
"""Without it some spreadsheets do not recognise UTF-8."""
LONGEST_NAME: Final = 200
"""Of a file, without its ending."""
WIDTH: Final = 60
"""Of details in the terminal."""

Entry = dict[str, Any]
"""A row of the tables, with the `row` that it is made of, and the name of its `page`."""


def entries(order: GradingOrder, rows: Sequence[GradedRow]) -> list[Entry]:
    """Return harmless rows, the best one first."""
    names = [quote(row.submission.id, safe=" ") for row in rows]
    alike = Counter(name.casefold() for name in names)
    found = []
    for row, name in zip(rows, names, strict=True):
        # Some systems do not tell Ann from ann.
        if alike[name.casefold()] > 1 or len(name) > LONGEST_NAME:
            name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        facts = {column: _harmless(value) for column, value in row.facts().items()}
        found.append({**facts, **_warning(order), "row": row, "page": name})
    return sorted(found, key=lambda entry: (entry["rank"] or len(rows) + 1, entry["id"]))


def _warning(order: GradingOrder) -> dict[str, str]:
    return {} if order.is_boxed else {"warning": UNPROTECTED}


def _harmless(value: object) -> object:
    # Markup of ours is a subclass of str, and harmless already.
    return printable(value, keep="\n\t") if type(value) is str else value


def document(order: GradingOrder, found: Sequence[Entry]) -> dict[str, Any]:
    """Return the document of `--json` and of grades.json."""
    about = {"game": order.game, "seed": order.seed, "meetings": order.meetings, **_warning(order)}
    about["sandbox"] = "bubblewrap" if order.is_boxed else "none"
    rows = [{column: entry[column] for column in entry["row"].facts()} for entry in found]
    return {**about, "submissions": sorted(rows, key=lambda row: row["id"])}


def lines(order: GradingOrder, found: Sequence[Entry]) -> Iterator[str]:
    """Yield the table for the terminal."""
    head = ("rank", "id", "points", "status", "reason", "detail")
    cells = []
    for entry in found:
        detail = tables.fit(" ".join(entry["detail"].split()), WIDTH)
        cells.append([{**entry, "detail": detail}[column] for column in head])
    yield from tables.table(("rank", "submission", *head[2:]), cells)
    failed = sum(entry["status"] == "failed" for entry in found)
    yield ""
    yield f"{tables.counted(len(found), 'submission')}, {failed} failed; {order.game}, seed {order.seed}"
    yield from _warning(order).values()


def write(order: GradingOrder, found: Sequence[Entry], folder: Path) -> list[str]:
    """Write all files, and return the names of those that a teacher opens."""
    (folder / "students").mkdir(parents=True, exist_ok=True)
    by_id = sorted(found, key=lambda entry: entry["id"])
    columns = [*by_id[0]["row"].facts(), *_warning(order)]
    files = {
        "grades.csv": MARK + table("", columns, by_id)[1].decode(),
        "grades.json": _json(document(order, found)),
        "results.json": _json(_gradescope(order, by_id)),
        "junit.xml": _page("junit.xml", order, entries=by_id),
        "index.html": _page("class.html", order, entries=found),
    }
    names = list(files)
    for entry in found:
        files[f"students/{entry['page']}.html"] = _page("student.html", order, entry=entry, row=entry["row"])
        files[f"students/{entry['page']}.json"] = _json(_gradescope(order, [entry]))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return names


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _gradescope(order: GradingOrder, found: Sequence[Entry]) -> dict[str, Any]:
    """Return results as Gradescope's autograders write them, with a test for each submission."""
    about = f"league grade: {order.game}, seed {order.seed}, {order.meetings} matches of each pair"
    tests = [
        {
            "name": entry["name"],
            "score": entry["points"],
            "max_score": game_named(order.game).scoring.most,
            "status": entry["status"].replace("ok", "passed"),
            "output": _harmless(in_words(entry)),
        }
        for entry in found
    ]
    board = [{"name": "points", "value": entry["points"], "order": "desc"} for entry in found if entry["rank"]]
    return {
        "score": round(sum(entry["points"] for entry in found), 3),
        "output": "; ".join([about, *_warning(order).values()]),
        "tests": tests,
        "leaderboard": board,
    }


def in_words(entry: Entry) -> str:
    failure = entry["row"].failure
    if failure is None:
        return ""
    words = [": ".join(filter(None, (entry["reason"], entry["detail"]))), failure.question, failure.trace]
    return "\n".join(filter(None, words))


def _page(name: str, order: GradingOrder, **values: object) -> str:
    environment = Environment(
        loader=PackageLoader("league.features.grade"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    warning = "".join(_warning(order).values())
    most = game_named(order.game).scoring.most
    template = environment.get_template(name)
    return template.render(order=order, warning=warning, most=most, in_words=in_words, **values)
