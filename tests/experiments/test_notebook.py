"""The study of examples/notebooks that needs no model, run cell by cell: from the question to the figure."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from league.cli.main import main
from tests.support import notebooks


@pytest.mark.slow
def test_the_notebook_leads_from_a_question_to_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = notebooks.run("connect_four.ipynb")
    printed = capsys.readouterr().out
    assert "decided matches." in printed
    # The question has an answer: each idea is worth something, and the intervals are apart.
    ratings = names["ratings"]
    assert [row["strategy"] for row in ratings] == ["Centrist", "Blocker", "Finisher", "random"]
    for better, worse in pairwise(ratings):
        assert better["interval"][0] > worse["interval"][1]
    assert names["comparison"].decision == "better"
    folder = tmp_path / "connect-four-study"
    figure = (folder / "figure.svg").read_text("utf-8")
    assert figure.count("<circle") == 4
    # The folder alone gives the same ratings.
    assert main(["statistics", str(folder), "--json"]) == 0
    players = json.loads(capsys.readouterr().out)["rating"]["players"]
    assert {row["record"]["player_id"]: row["rating"] for row in players} == {
        row["strategy"]: row["rating"] for row in ratings
    }
