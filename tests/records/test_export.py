"""`league export` and `league backup`: what is written, what is never written, and what is refused."""

from __future__ import annotations

import codecs
import csv
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from league.cli.main import main
from league.reading.journals import read_events
from tests.support.managed import LEAGUE, Managed
from tests.support.referee_rig import Rig
from tests.support.stories import SECRET, answer, around, letters_of, on_disk

HEAD = {"id", "schema_version", "last_updated"}


@pytest.fixture
def league(tmp_path: Path) -> Path:
    """The folder of a league that was played, with a withdrawn player and a name that looks like a formula."""
    manager = Managed(players=3, referees=1)
    manager.register("referee", 1)
    manager.answer_pings()
    for number, name in enumerate(("=SUM(A1)", f"I am {SECRET}", "Sam"), start=1):
        manager.register("player", number, display_name=name)
        manager.answer_pings()
    manager.answer_all()
    manager.report("R1M1", "A")
    manager.operate("withdraw", "P03")
    manager.play("-B")
    folder = tmp_path / "league"
    folder.mkdir()
    on_disk(folder / "journal.db", manager.events)
    return folder


@pytest.fixture
def one_match(tmp_path: Path) -> Path:
    rig = Rig().given().plays()
    said = answer(0.5, "P02", {"message_type": "GAME_JOIN_ACK", "auth_token": SECRET}, asked="GAME_INVITATION")
    folder = tmp_path / "one"
    folder.mkdir()
    on_disk(folder / "journal.db", around(rig))
    on_disk(folder / "referee-1.db", rig.journal, [*letters_of(rig), said])
    return folder


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_the_shared_files_are_where_the_documents_look(league: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["export", str(league), "--to", str(out)]) == 0
    data = out / "SHARED" / "data"
    agents = load(out / "config" / "agents" / "agents_config.json")
    standings = load(data / "leagues" / LEAGUE / "standings.json")
    match = load(data / "matches" / LEAGUE / "R1M1.json")
    history = load(data / "players" / "P01" / "history.json")
    assert all(set(one) >= HEAD for one in (agents, standings, match, history))
    assert [one["agent_id"] for one in agents["referees"]] == ["REF01"]
    assert [one["referee_id"] for one in agents["referees"]] == ["REF01"]
    assert {one["player_id"]: one["contact_endpoint"] for one in agents["players"]} == {
        one["agent_id"]: one["endpoint"] for one in agents["players"]
    }
    assert len(standings["standings"]) == 3
    assert {"lifecycle", "transcript", "result"} <= set(match)
    assert match["result"]["outcome"] == "WIN"
    assert {one["match_id"] for one in history["matches"]} <= {"R1M1", "R2M1", "R3M1"}
    assert len(everything(out)) == 1 + 1 + 3 + 3


def test_a_match_file_holds_what_its_referee_wrote_down(one_match: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["export", str(one_match), "--to", str(out)]) == 0
    match = load(out / "SHARED" / "data" / "matches" / "spring" / "R1M1.json")
    happened = [one["event"] for one in match["lifecycle"]]
    assert happened[0] == "MatchAssigned"
    assert {"MatchTaken", "PlayerJoined", "MoveMade", "NumberDrawn", "MatchDecided", "ResultAccepted"} <= set(happened)
    said = [one["message_type"] for one in match["transcript"]]
    assert said.count("GAME_INVITATION") == 3
    assert any(one["message"] and one["message"].get("auth_token") == "…" for one in match["transcript"])


@pytest.mark.parametrize("levels", [90, 900, 5_000])
def test_an_answer_nested_beyond_reason_is_exported_all_the_same(tmp_path: Path, levels: int) -> None:
    rig = Rig().given().plays()
    nested = b'{"a":' * levels + b"1" + b"}" * levels
    on_disk(tmp_path / "journal.db", around(rig))
    on_disk(tmp_path / "referee-1.db", rig.journal, [answer(0.5, "P02", nested)])
    assert main(["export", str(tmp_path), "--to", str(tmp_path / "out")]) == 0
    (said,) = load(tmp_path / "out" / "SHARED" / "data" / "matches" / "spring" / "R1M1.json")["transcript"]
    assert said["message"] == nested.decode() if levels > 100 else said["message"]["a"]


@pytest.mark.requirement("MATCH.choices_hidden")
def test_a_match_that_is_played_shows_no_choice_and_no_seed(tmp_path: Path) -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even")
    on_disk(tmp_path / "journal.db", around(rig))
    on_disk(tmp_path / "referee-1.db", rig.journal, [answer(0.1, "P01", rig.choosing("P01", "even"))])
    assert main(["export", str(tmp_path), "--to", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "SHARED" / "data" / "matches" / "spring" / "R1M1.json").read_text(encoding="utf-8")
    assert '"MoveMade"' in text
    assert '"even"' not in text
    assert "seed" not in text


def test_tables_are_csv_and_no_name_is_a_formula(league: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["export", str(league), "--to", str(out), "--format", "csv"]) == 0
    with (out / "standings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["display_name"] for row in rows} == {"'=SUM(A1)", "I am tok_…", "Sam"}
    with (out / "matches.csv").open(encoding="utf-8", newline="") as file:
        matches = {row["match_id"]: row for row in csv.DictReader(file)}
    assert set(matches) == {"R1M1", "R2M1", "R3M1"}
    assert "WALKOVER" in {row["outcome"] for row in matches.values()}
    assert len((out / "agents.csv").read_text(encoding="utf-8").splitlines()) == 5


def graded(league: Path, out: Path, *options: str) -> list[dict[str, str]]:
    assert main(["export", str(league), "--to", str(out), "--format", "csv", *options]) == 0
    raw = (out / "grades.csv").read_bytes()
    assert raw.startswith(codecs.BOM_UTF8), "spreadsheets know it as UTF-8 by this alone"
    return list(csv.DictReader(raw.decode("utf-8-sig").splitlines()))


def test_grades_have_a_row_for_each_player_by_rank_with_names_a_spreadsheet_takes_for_text(
    league: Path, tmp_path: Path
) -> None:
    rows = graded(league, tmp_path / "out")
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert {row["display_name"] for row in rows} == {"'=SUM(A1)", "I am tok_…", "Sam"}
    assert {row["matches"] for row in rows} == {"2"}
    assert [int(row["points"]) for row in rows] == sorted((int(row["points"]) for row in rows), reverse=True)
    assert {row["group"] for row in rows} == {""}
    assert {row["technical_losses"] for row in rows} <= {"0", "1", "2"}


def test_a_class_list_puts_groups_into_the_grades_and_shows_who_was_missing(league: Path, tmp_path: Path) -> None:
    listed = tmp_path / "class.csv"
    listed.write_text('\ufeff sam ,10b\n\n"Änne, the late",+10a\n', encoding="utf-8")
    rows = {row["display_name"]: row for row in graded(league, tmp_path / "out", "--groups", str(listed))}
    assert rows["Sam"]["group"] == "10b"
    assert rows["'=SUM(A1)"]["group"] == ""
    absent = rows["Änne, the late"]
    assert (absent["group"], absent["rank"], absent["points"]) == ("'+10a", "", "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"Ann\n", "line 1 is not NAME,GROUP"),
        (b"Ann,1\nBo,1,2\n", "line 2 is not NAME,GROUP"),
        (b"Ann,1\nAnn,2\n", "line 2 repeats a name"),
        (b"\xff,1\n", "cannot be read"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_class_list_that_is_wrong_is_refused_before_anything_is_written(
    league: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes | None, told: str
) -> None:
    listed, out = tmp_path / "class.csv", tmp_path / "out"
    if text is not None:
        listed.write_bytes(text)
    assert main(["export", str(league), "--to", str(out), "--format", "csv", "--groups", str(listed)]) == 2
    assert told in capsys.readouterr().err
    assert not out.exists()
    assert main(["export", str(league), "--to", str(out), "--groups", str(listed)]) == 2


def test_json_is_one_document(league: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["export", str(league), "--to", str(out), "--format", "json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"format": "json", "to": str(out), "files": ["league.json"]}
    document = load(out / "league.json")
    assert set(document) >= HEAD | {"league", "standings", "rounds", "agents", "matches"}


@pytest.mark.requirement("TOKEN.never_shown")
@pytest.mark.parametrize("kind", ["shared", "csv", "json", "site"])
def test_no_token_and_no_secret_is_written(league: Path, one_match: Path, tmp_path: Path, kind: str) -> None:
    for name, folder in (("a", league), ("b", one_match)):
        out = tmp_path / name
        assert main(["export", str(folder), "--to", str(out), "--format", kind]) == 0
        for written in everything(out).values():
            assert SECRET.encode() not in written
            assert SECRET.removeprefix("tok_P02_").encode() not in written
            # A registration holds V of its token as `verify`; the page names the command.
            assert b"verify" not in written.replace(b"league verify", b"")


def test_the_same_journal_gives_the_same_bytes_and_older_files_are_replaced(league: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["export", str(league), "--to", str(out)]) == 0
    first = everything(out)
    (out / "config" / "agents" / "agents_config.json").write_text("old", encoding="utf-8")
    assert main(["export", str(league), "--to", str(out)]) == 0
    assert everything(out) == first


@pytest.mark.parametrize(
    ("arguments", "sentence", "status"),
    [
        (["{journal}", "--to", "{file}"], "is a file; name a folder", 1),
        (["nowhere.db", "--to", "out"], "there is no journal at nowhere.db", 1),
        (["{journal}"], "--to", 2),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    league: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str, status: int
) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    named = {"journal": league, "file": file}
    assert main(["export", *(one.format(**named) for one in arguments)]) == status
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_league_whose_name_is_no_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manager = Managed(players=2, referees=1, league_id="../../evil").fill()
    on_disk(tmp_path / "journal.db", manager.events)
    assert main(["export", str(tmp_path), "--to", str(tmp_path / "a" / "out")]) == 1
    assert "no file or folder can be named" in capsys.readouterr().err
    assert not (tmp_path / "evil").exists()


# --- backup -----------------------------------------------------------------------------------------------------------


def test_a_backup_holds_every_event_and_is_for_its_owner_alone(league: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert main(["backup", str(league), str(copy)]) == 0
    assert list(read_events(copy)) == list(read_events(league / "journal.db"))
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_backup_replaces_nothing_unless_forced(
    league: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine", encoding="utf-8")
    assert main(["backup", str(league), str(copy)]) == 1
    assert "--force" in capsys.readouterr().err
    assert copy.read_text(encoding="utf-8") == "mine"
    assert main(["backup", str(league / "journal.db"), str(copy), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(copy)
    assert list(read_events(copy)) == list(read_events(league / "journal.db"))


@pytest.mark.parametrize(
    ("target", "sentence"), [("journal.db", "the journal itself"), (".", "is the folder of the journals")]
)
def test_a_backup_never_harms_its_journal(
    league: Path, capsys: pytest.CaptureFixture[str], target: str, sentence: str
) -> None:
    before = list(read_events(league / "journal.db"))
    assert main(["backup", str(league), str(league / target), "--force"]) == 1
    assert sentence in capsys.readouterr().err
    assert list(read_events(league / "journal.db")) == before


def test_a_backup_of_nothing_replaces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine", encoding="utf-8")
    assert main(["backup", str(tmp_path / "nowhere.db"), str(copy), "--force"]) == 1
    assert "there is no journal" in capsys.readouterr().err
    assert copy.read_text(encoding="utf-8") == "mine"


def test_a_backup_of_a_folder_takes_the_referees_journals_along(
    league: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on_disk(league / "referee-1.db", read_events(league / "journal.db")[:3])
    assert main(["backup", str(league), str(tmp_path / "alone.db")]) == 0
    assert "1 other journal of the folder not copied" in capsys.readouterr().out
    copy = tmp_path / "deep" / "copy"
    assert main(["backup", str(league), f"{copy}/", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [str(copy / "journal.db"), str(copy / "referee-1.db")]
    for name in ("journal.db", "referee-1.db"):
        assert list(read_events(copy / name)) == list(read_events(league / name))
    assert main(["backup", str(league), str(copy)]) == 1
    assert "journal.db exists already; --force replaces it" in capsys.readouterr().err
    assert main(["backup", str(league), str(copy), "--force"]) == 0


def test_a_folder_with_something_else_in_it_is_not_copied_in_part(
    league: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (league / "other.db").write_bytes(b"no database at all" * 100)
    assert main(["backup", str(league), f"{tmp_path / 'copy'}/"]) == 1
    assert "other.db is not a journal" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_says_what_it_cannot_see_and_how_to_make_it_visible(
    league: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["verify", str(league), "--json"])
    verdicts = json.loads(capsys.readouterr().out)["promises"]
    main(["verify", str(league)])
    _, _, rest = capsys.readouterr().out.partition("not seen here:\n")
    unseen = rest.partition("\n\n")[0]
    lines = dict(line.strip().split(": ", 1) for line in unseen.splitlines() if line.startswith("  "))
    named = {number for numbers in lines for number in numbers.split(", ")}
    assert named == {number for number, verdict in verdicts.items() if verdict == "unobservable"}
    [journals] = [numbers for numbers, how in lines.items() if "league referee --journal" in how]
    assert "21" in journals.split(", ")
    [simulated] = [numbers for numbers, how in lines.items() if "league simulate" in how]
    assert "5" in simulated.split(", ")
