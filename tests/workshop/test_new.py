"""`league new player`: what it writes, and what it refuses to write over."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from league.cli.main import main
from league.features.workshop import new_command as new
from league.games import registry

STARTERS = {
    "python": ([], ["player.py", "test_player.py", "README.md"]),
    "python with the SDK": (["--sdk"], ["player.py", "test_player.py", "README.md"]),
    "javascript": (["--language", "javascript"], ["player.mjs", "player.test.mjs", "README.md"]),
}


def refused(status: int, *arguments: str | Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence it refuses with."""
    assert main(["new", "player", *map(str, arguments)]) == status
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


@pytest.mark.parametrize("game", [name for name in registry.known() if name != "even_odd"])
def test_a_starter_is_made_for_each_game_and_passes_its_own_test(game: str, tmp_path: Path) -> None:
    assert main(["new", "player", str(tmp_path / "mine"), "--game", game]) == 0
    subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=tmp_path / "mine", check=True, timeout=120)


@pytest.mark.parametrize("options", [("--game", "nosuch"), ("--game", "connect_four", "--language", "javascript")])
def test_a_game_that_no_starter_is_made_for_is_refused(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(2, tmp_path / "mine", *options, capsys=capsys)


@pytest.mark.parametrize(("options", "contents"), STARTERS.values(), ids=STARTERS)
def test_a_starter_is_a_player_with_its_test_and_its_readme(
    options: list[str], contents: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "far" / "away"
    assert main(["new", "player", str(folder), "--json", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["folder"], told["name"], told["files"]) == (str(folder), "away", contents)
    assert {one.name for one in folder.iterdir()} == set(contents)
    assert [one.name for one in folder.parent.iterdir()] == ["away"]
    for line in ("league check player http://127.0.0.1:8101/mcp", "league spar ", "--manager http://"):
        assert line in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("options", "contents"), STARTERS.values(), ids=STARTERS)
def test_the_name_stands_once_in_the_player_and_as_a_string(
    options: list[str], contents: list[str], tmp_path: Path
) -> None:
    name = 'Ada "the 1st" \\ é'
    assert main(["new", "player", str(tmp_path / "one"), "--name", name, *options]) == 0
    code = (tmp_path / "one" / contents[0]).read_text(encoding="utf-8")
    assert code.count(json.dumps(name, ensure_ascii=False)) == 1
    assert new.DEFAULT_NAME not in code


def test_without_a_name_the_folder_gives_it_if_managers_take_it(tmp_path: Path) -> None:
    for folder, name in (("ada", '"ada"'), ("a" * 51, new.PLACEHOLDER)):
        assert main(["new", "player", str(tmp_path / folder)]) == 0
        assert f"NAME = {name}\n" in (tmp_path / folder / "player.py").read_text(encoding="utf-8")


def test_next_steps_can_be_pasted_into_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "player", str(tmp_path / "my player")]) == 0
    steps = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"cd '{tmp_path / 'my player'}'" in steps
    assert any(line.startswith("league check player http://127.0.0.1:8101/mcp ") for line in steps)


def test_an_empty_folder_is_filled_and_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tmp_path.stat().st_ino
    monkeypatch.chdir(tmp_path)
    assert main(["new", "player", "."]) == 0
    assert {one.name for one in tmp_path.iterdir()} == set(new.PYTHON.contents)
    assert tmp_path.stat().st_ino == before


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "player.py").write_text("mine", encoding="utf-8")
    assert "is not empty" in refused(1, tmp_path, capsys=capsys)
    assert [one.name for one in tmp_path.iterdir()] == ["player.py"]
    assert "is not a folder" in refused(1, tmp_path / "player.py", capsys=capsys)
    assert "cannot write" in refused(1, tmp_path / "player.py" / "below", capsys=capsys)
    assert (tmp_path / "player.py").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("exists", [False, True], ids=["a new folder", "an empty folder"])
def test_a_full_disk_leaves_nothing_behind(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "one"
    if exists:
        folder.mkdir()
    write = Path.write_text

    def fills_up(path: Path, text: str, encoding: str) -> int:
        if path.name == "README.md":
            raise OSError(28, "No space left on device")
        return write(path, text, encoding)

    monkeypatch.setattr(Path, "write_text", fills_up)
    assert "No space left" in refused(1, folder, capsys=capsys)
    assert list(tmp_path.rglob("*")) == ([folder] if exists else [])


@pytest.mark.parametrize(
    "options",
    [
        ["--language", "cobol"],
        ["--language", "javascript", "--sdk"],
        ["--name", ""],
        ["--name", "x" * 51],
        ["--name", "two\nlines"],
    ],
    ids=" ".join,
)
def test_wrong_usage_writes_nothing(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(2, tmp_path / "one", *options, capsys=capsys)
    assert list(tmp_path.iterdir()) == []


def test_every_starter_has_one_place_for_the_strategy_and_one_for_the_name() -> None:
    folder = files("league.features.workshop") / "starters"
    for path in ("python/player.py", "python_sdk/player.py", "javascript/player.mjs"):
        code = folder.joinpath(*path.split("/")).read_text(encoding="utf-8")
        assert (code.count("Your strategy goes here"), code.count(new.PLACEHOLDER)) == (1, 1)


# --- a game -----------------------------------------------------------------------------------------------------------


def test_a_new_game_is_a_package_whose_tests_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "Dice Race"
    assert main(["new", "game", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "dice_race"
    assert told["files"] == ["league_dice_race.py", "test_dice_race.py", "pyproject.toml", "README.md"]
    assert {one.name for one in folder.iterdir()} == set(told["files"])
    assert 'dice_race = "league_dice_race:GAME"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "unittest"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--name", "Chess!"], "small letters"),
        (["--name", "connect_four"], "there is a game connect_four already"),
        (["--sdk"], "a game is written in Python"),
        (["--language", "javascript"], "a game is written in Python"),
    ],
)
def test_a_game_that_cannot_be_named_or_written_is_refused(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "game", str(tmp_path / "one"), *arguments]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "one").exists()
