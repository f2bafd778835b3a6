"""The notebook of examples/notebooks, run cell by cell: two models, 500 matches, a figure and an audit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import league
from tests.support import notebooks


@pytest.mark.slow
def test_the_notebook_leads_from_a_question_to_an_audited_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(notebooks.FOLDER))
    try:
        names = notebooks.run("two_models.ipynb")
    finally:
        sys.modules.pop("stand_in", None)
    printed = capsys.readouterr().out
    assert "500 matches, 500 played again" in printed
    assert "problems: none" in printed
    best, worst = names["result"].standings
    assert (best["strategy"], best["technical_losses"], worst["technical_losses"]) == ("careful", 0, 0)
    assert best["interval"][0] > worst["interval"][1], "the question has an answer"
    minds = {row["strategy"]: row for row in names["result"].document["minds"]}
    assert minds["careful"]["fallbacks"] == 0
    assert minds["hasty"]["fallback_reason"] == "refusal"
    assert minds["hasty"]["cost"] > 0
    assert "<svg" in (tmp_path / "study" / "figure.svg").read_text("utf-8")
    # Anybody who gets the folder can do the same, and nothing but the folder is needed.
    (tmp_path / "study").rename(tmp_path / "published")
    assert league.audit(tmp_path / "published").ok
    assert str(tmp_path) not in (tmp_path / "published" / "tournament.json").read_text("utf-8")
