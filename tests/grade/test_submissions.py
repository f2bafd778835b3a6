"""What is handed in: names, rosters, and text that must do no harm where it is shown."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from league.features.grade import reports
from league.features.grade.grading import GradedRow
from league.features.grade.reasons import SubmissionFailed
from league.features.grade.sandboxed import GradingOrder
from league.features.grade.submissions import Submission, copy, submissions_in
from league.terminal import CommandError
from tests.grade.nasty import INNOCENT, NASTY, hand_in
from tests.grade.second_class import DECOMPOSED, HONEST, PLAIN, SLY

EVIL = "=HYPERLINK(1)<script>alert(1)</script>\x1b[2J]]>&\ufffe\x00'\""


def test_everyone_on_the_roster_has_a_submission_and_a_name(tmp_path: Path) -> None:
    hand_in(tmp_path, {name: INNOCENT[name] for name in ("first", "nested")})
    (tmp_path / "notes.txt").write_text("not a submission")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "roster.csv").write_text("\ufefffolder,name,email,group\nfirst,Fi Rst,fi@example.org,a\nill,I Ll,,b\n")
    found = {submission.id: submission for submission in submissions_in(tmp_path)}
    assert sorted(found) == ["first", "ill", "nested"]
    assert found["first"] == Submission("first", tmp_path / "first", "Fi Rst", "fi@example.org", "a")
    assert found["ill"].place is None
    assert found["nested"].name == "nested"


@pytest.mark.parametrize(
    "content",
    [b"name\nAnn\n", b"folder,name\nann,\xff\n", b"", b"folder,name\nann,A\nann,B\n", b"folder\n" + b"x" * 200_000],
)
def test_a_roster_that_cannot_be_read_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "roster.csv").write_bytes(content)
    with pytest.raises(CommandError) as error:
        submissions_in(tmp_path)
    assert error.value.status == 2


COPIES = {
    name: NASTY[name] for name in ("zip-up", "zip-root", "zip-bomb", "zip-link", "zip-broken", "link", "linked-folder")
}
COPIES |= {name: SLY[name] for name in ("circle", "deep", "deep-zip", "zip-lzma", "zip-lies", "pipe-for-zip")}


@pytest.mark.parametrize("name", COPIES)
def test_nothing_is_copied_to_or_from_outside(name: str, tmp_path: Path) -> None:
    hand_in(tmp_path / "in", {name: COPIES[name]})
    [submission] = submissions_in(tmp_path / "in")
    (tmp_path / "out").mkdir()
    with pytest.raises(SubmissionFailed) as error:
        copy(submission, tmp_path / "out" / "0", None)
    assert error.value.reason == COPIES[name].reason
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()) <= 65 << 20


def test_a_zip_and_its_folder_are_the_same_submission(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", {"nested": INNOCENT["nested"]})
    [submission] = submissions_in(tmp_path / "in")
    unpacked = copy(submission, tmp_path / "0", None)
    copied = copy(Submission("copied", unpacked), tmp_path / "1", None)
    assert {path.name: path.read_bytes() for path in unpacked.iterdir()} == {
        path.name: path.read_bytes() for path in copied.iterdir()
    }


def test_a_copy_does_not_tell_when_it_was_made(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", {"ann": INNOCENT["learns"]})
    [submission] = submissions_in(tmp_path / "in")
    folder = copy(submission, tmp_path / "out", None)
    assert {path.stat().st_mtime for path in (folder, *folder.iterdir())} == {0.0}


def test_no_submission_takes_the_place_of_another_one(tmp_path: Path) -> None:
    hand_in(tmp_path, {name: HONEST[name] for name in ("Case", "case")})
    for name in ("ann.zip", "ann.ZIP", "case.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("player.py", PLAIN)
    found = {submission.id: submission.place for submission in submissions_in(tmp_path)}
    assert len({*found.values()}) == 5
    assert {"Case", "case", "case.zip", "ann"} < found.keys()


def test_a_name_is_found_however_its_accents_are_written(tmp_path: Path) -> None:
    hand_in(tmp_path, {DECOMPOSED: HONEST[DECOMPOSED]})
    (tmp_path / "roster.csv").write_text("folder,name\nzo\u00eb,Zo\u00eb Zahn\n", encoding="utf-8")
    [submission] = submissions_in(tmp_path)
    assert submission.name == "Zo\u00eb Zahn"
    assert submission.place is not None


def graded(*names: str, game: str = "tic_tac_toe") -> tuple[GradingOrder, list[GradedRow]]:
    rows = []
    for name in names:
        failure = SubmissionFailed("exception", EVIL, trace=EVIL, question=EVIL)
        submission = Submission(name.replace("/", ""), None, name, EVIL, EVIL)
        rows.append(GradedRow(submission, failure=failure, failures=[(EVIL, 3)]))
    submissions = [row.submission for row in rows]
    return GradingOrder(submissions, game, 20, 1, ("random",), 1.0, 5.0, 512, 1, is_boxed=True), rows


def test_students_whose_names_differ_in_case_alone_have_pages_everywhere(tmp_path: Path) -> None:
    order, rows = graded("Ann", "ann", "ANN", "x" * 250)
    reports.write(order, reports.entries(order, rows), tmp_path)
    assert len({path.name.casefold() for path in (tmp_path / "students").glob("*.html")}) == 4


def test_text_of_students_is_harmless_in_every_format(tmp_path: Path) -> None:
    order, rows = graded(EVIL)
    entries = reports.entries(order, rows)
    reports.write(order, entries, tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 7
    for path in files:
        content = path.read_text(encoding="utf-8")
        assert "\x1b" not in content
        if path.suffix == ".html":
            assert "<script" not in content
            assert "&lt;script&gt;" in content
    with (tmp_path / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        [row] = csv.DictReader(file)
    assert row["name"].startswith("'=HYPERLINK")
    [case] = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert case.find("failure") is not None
    gradescope = json.loads((tmp_path / "results.json").read_text())
    assert [test["status"] for test in gradescope["tests"]] == ["failed"]
    assert "\x1b" not in "\n".join(reports.lines(order, entries))


@pytest.mark.parametrize(("game", "most"), [("tic_tac_toe", 3), ("kuhn_poker", 40)])
def test_the_most_points_are_those_of_the_game(game: str, most: int, tmp_path: Path) -> None:
    order, rows = graded("ann", game=game)
    reports.write(order, reports.entries(order, rows), tmp_path)
    [test] = json.loads((tmp_path / "results.json").read_text())["tests"]
    assert test["max_score"] == most
    assert f"{most} points at most" in (tmp_path / "index.html").read_text()
