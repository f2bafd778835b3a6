"""The page on speed says what was measured last."""

from __future__ import annotations

import json

from benchmarks.__main__ import BENCHMARKS, PAGE, RESULTS
from benchmarks.page import page


def test_the_page_is_written_from_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(results)
    assert {row["benchmark"] for row in results["rows"]} <= set(BENCHMARKS)


def test_a_missed_goal_is_told_with_how_far_it_is_missed() -> None:
    row = {
        "benchmark": "matches",
        "what": "a match",
        "ours": 30.0,
        "yardstick": 2.0,
        "yardstick_name": "seven bare calls",
        "unit": "us",
        "ratio": 15.0,
        "goal": 10.0,
        "kept": False,
        "detail": "transport 50 %",
    }
    written = page({"python": "3.11", "machine": "any", "processors": 2, "load": 0.5, "rows": [row]})
    assert "- a match, beside seven bare calls: 15.00, the goal is 10 (50 % more)" in written
    assert "| a match | 30.0 us | 2.0 us, seven bare calls | 15.00 | 10, missed |" in written
    assert "A match: transport 50 %." in written
