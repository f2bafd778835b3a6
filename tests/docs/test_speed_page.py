"""The page on speed shows the latest results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import Row
from benchmarks.__main__ import BENCHMARKS, MISSED_GOALS, PAGE, RESULTS, merged
from benchmarks.page import ONE_PROCESS, SECTIONS, SEPARATE, UNMEASURED, WAITS, missed_goals, page


def test_the_pages_are_written_from_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(results)
    assert MISSED_GOALS.read_text(encoding="utf-8") == missed_goals(results)
    assert {row["benchmark"] for row in results["rows"]} <= set(BENCHMARKS)


def test_every_benchmark_has_its_section() -> None:
    helpers = {"__init__", "__main__", "bare_http", "floors", "leagues", "page", "reported_league", "viewers"}
    modules = {path.stem for path in Path(RESULTS).parent.glob("*.py")}
    assert set(BENCHMARKS) == modules - helpers
    text = PAGE.read_text(encoding="utf-8")
    for section in SECTIONS.values():
        assert f"## {section.title}\n\n{section.text}\n" in text


def _results(*rows: dict[str, Any]) -> dict[str, Any]:
    run = {"python": "3.11", "machine": "any", "processors": 2, "load": 0.5}
    return {"runs": {row["benchmark"]: run for row in rows}, "rows": list(rows)}


def _row(**fields: Any) -> dict[str, Any]:
    return {
        "benchmark": "matches",
        "what": "a match",
        "ours": 30.0,
        "yardstick": 2.0,
        "yardstick_name": "the bare floor",
        "unit": "us",
        "ratio": 15.0,
        "goal": 10.0,
        "kept": False,
        "detail": "transport 50 %",
    } | fields


def test_a_missed_goal_is_told_with_how_far_it_is_missed() -> None:
    results = _results(_row(), _row(what="another match", kept=True))
    assert missed_goals(results).splitlines()[-1] == (
        "- a match, compared with the bare floor: 15.00, the goal is 10 (50 % over)"
    )
    written = page(results)
    assert "| a match | 30.0 us | 2.0 us, the bare floor | 15.00 | 10 |" in written
    assert "A match: transport 50 %." in written


def test_the_page_begins_with_what_people_wait_for() -> None:
    what, sentence = next(iter(WAITS.items()))
    written = page(_results(_row(what=what)))
    assert f"| until | time |\n|---|---|\n| {sentence} | 30.0 us |\n" in written
    assert written.count(f" | {UNMEASURED} |\n") == len(WAITS) - 1
    assert f"| {UNMEASURED} |" not in PAGE.read_text(encoding="utf-8")


def test_separate_processes_stand_next_to_one_process() -> None:
    separate = _row(benchmark="processes", what=SEPARATE, ours=70.0, yardstick=35.0, kept=True)
    written = page(_results(_row(what=ONE_PROCESS), separate))
    assert "| the bare floor, seven calls | 2.0 us | 1 |" in written
    assert "| a league in one process, 32 matches at once | 30.0 us | 15.0 |" in written
    assert "| a league with one process per agent, 32 matches at once | 70.0 us | 35.0 |" in written


def test_what_was_not_measured_is_marked() -> None:
    written = page(_results())
    assert written.count("Not measured yet: ") == len(BENCHMARKS)
    assert "| a league in one process, 32 matches at once | not measured yet | |" in written


def test_a_run_of_some_benchmarks_keeps_the_results_of_the_others() -> None:
    before = _results(_row(), _row(benchmark="journal", what="old"), _row(benchmark="tournament"))
    after = merged(before, "journal", [Row("new", 3.0, 2.0, "a commit each", "us")])
    assert [(row["benchmark"], row["what"]) for row in after["rows"]] == [
        ("matches", "a match"),
        ("journal", "new"),
        ("tournament", "a match"),
    ]
    assert after["runs"]["matches"] == before["runs"]["matches"]
    assert after["runs"]["journal"] != before["runs"]["journal"]
