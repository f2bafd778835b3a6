"""`league explain` on journals: text, JSON, and one sentence for whatever is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from league.cli.main import main
from tests.support.referee_rig import Rig
from tests.support.stories import SECRET, answer, around, letters_of, on_disk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The journals of a league in which P02 never made a right choice."""
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").wait(3)
    said = []
    for number in range(4):
        wrong = rig.choosing("P02", "banana", auth_token=SECRET)
        said.append(answer(3 + number, "P02", wrong))
        rig.says("P02", wrong).wait(1)
    rig.hears_game_over("P01", "P02").acknowledge()
    on_disk(tmp_path / "journal.db", around(rig))
    on_disk(tmp_path / "referee-1.db", rig.journal, [*letters_of(rig), *said])
    return tmp_path


def test_the_whole_story_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "R1M1", "--journal", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "Verdict: TECHNICAL_LOSS" in shown
    assert "P02 answered the call for a choice wrongly 4 times; the last was E004 INVALID_PARITY_CHOICE" in shown
    assert "CHOOSE_PARITY_RESPONSE.parity_choice, section 5.11" in shown
    assert "What to change (P02, E004):" in shown
    assert '← P02: CHOOSE_PARITY_RESPONSE, parity_choice "banana"' in shown
    assert "league validate" in shown
    assert "tok_P" not in shown


def test_json_is_one_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "R1M1", "--journal", str(folder), "--json"]) == 0
    shown = capsys.readouterr().out
    told = json.loads(shown)
    assert (told["match_id"], told["verdict"]["at_fault"]) == ("R1M1", ["P02"])
    fault = told["verdict"]["faults"][0]
    assert fault["clause"] == {"requirement": "CHOOSE_PARITY_RESPONSE.parity_choice", "section": "5.11"}
    assert {"after", "by", "kind", "text", "code", "clause", "body"} <= set(told["attempts"][1]["lines"][0])
    assert "tok_P" not in shown


def test_the_managers_file_alone_says_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "R1M1", "--journal", str(folder / "journal.db")]) == 0
    shown = capsys.readouterr().out
    assert "P02 failed at the call for a choice: E004" in shown
    assert f"--journal {folder} may hold it" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence", "status"),
    [
        (["R9M9", "--journal", "."], "there is no match 'R9M9' in this league (E014 MATCH_NOT_FOUND)", 1),
        (["R1M1", "--journal", "nowhere.db"], "there is no journal at nowhere.db", 1),
        (["R1M1", "--journal", "empty"], "there is no journal in empty", 1),
        (["R1M1", "--manager", "http://127.0.0.1:9"], "nobody answers at http://127.0.0.1:9", 1),
        (["R1M1", "--manager", "http://127.0.0.1:9", "--journal", "."], "not both", 2),
        ([], "MATCH_ID", 2),
    ],
)
def test_what_is_wrong_is_one_sentence(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
    status: int,
) -> None:
    (folder / "empty").mkdir()
    monkeypatch.chdir(folder)
    assert main(["explain", *arguments]) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
