"""Each strategy file has its own import space: neighbours are found for it alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from league.hosting.author import strategy_files
from league.hosting.member import players
from league.player.strategies import Turn
from league.terminal import CommandError

TURN = Turn("even_odd", "M1", "P02", ("even", "odd"), bytes(32))

PICKLED_BOOK = b"chelper\nBook\n."

WAYS = {
    "at the top": "import helper\nclass Mine:\n    def choose(self, turn):\n        return helper.CHOICE\n",
    "by name": "from helper import CHOICE\nclass Mine:\n    def choose(self, turn):\n        return CHOICE\n",
    "while choosing": (
        "class Mine:\n    def choose(self, turn):\n        from helper import CHOICE\n        return CHOICE\n"
    ),
    "through another neighbour": (
        "class Mine:\n    def choose(self, turn):\n        import between\n        return between.choice()\n"
    ),
    "by importlib": (
        "import importlib\n"
        "class Mine:\n    def choose(self, turn):\n        return importlib.import_module('helper').CHOICE\n"
    ),
    "from a package": (
        "class Mine:\n    def choose(self, turn):\n        import parts.inner\n        return parts.inner.CHOICE\n"
    ),
    "from a folder": (
        "class Mine:\n    def choose(self, turn):\n        from loose.inner import CHOICE\n        return CHOICE\n"
    ),
}


@pytest.fixture
def student(tmp_path: Path) -> Callable[[str, str, str], str]:
    def write(name: str, choice: str, source: str) -> str:
        folder = tmp_path / name
        for package in ("parts", "loose"):
            (folder / package).mkdir(parents=True)
        (folder / "helper.py").write_text(f"CHOICE = {choice!r}\nclass Book:\n    choice = CHOICE\n")
        (folder / "between.py").write_text("def choice():\n    import helper\n    return helper.CHOICE\n")
        (folder / "parts" / "__init__.py").write_text("")
        (folder / "parts" / "inner.py").write_text("import helper\nfrom . import deep\nCHOICE = deep.CHOICE\n")
        (folder / "parts" / "deep.py").write_text("from helper import CHOICE\n")
        (folder / "loose" / "inner.py").write_text("from helper import CHOICE\n")
        (folder / "mine.py").write_text(source)
        return f"{folder / 'mine.py'}:Mine"

    return write


def choice_of(spec: str) -> Any:
    return players.load(spec).strategy.choose(TURN)


@pytest.mark.parametrize("way", WAYS)
def test_every_file_gets_its_own_neighbours(student: Callable[[str, str, str], str], way: str) -> None:
    path = list(sys.path)
    first = student("a", "even", WAYS[way])
    second = student("b", "odd", WAYS[way])
    assert [choice_of(spec) for spec in (first, second, first)] == ["even", "odd", "even"]
    assert "helper" not in sys.modules
    assert [entry for entry in sys.path if entry not in path] in ([], [""])


def test_a_module_of_the_current_folder_is_not_taken_for_a_neighbour(
    student: Callable[[str, str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("CHOICE = 'odd'\n")
    (tmp_path / "plain_module.py").write_text(WAYS["at the top"])
    spec = student("a", "even", WAYS["at the top"])
    try:
        assert choice_of("plain_module:Mine") == "odd"
        assert choice_of(spec) == "even"
    finally:
        sys.modules.pop("helper", None)
        sys.modules.pop("plain_module", None)


def test_installed_packages_and_the_standard_library_are_shared(tmp_path: Path) -> None:
    source = "import json, msgspec\nclass Mine:\n    modules = (json, msgspec)\n    def choose(self, turn): ...\n"
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(source)
        # A file with the name of a module that is loaded replaces nothing.
        (tmp_path / name / "json.py").write_text("")
        made.append(players.load(f"{tmp_path / name / 'mine.py'}:Mine").strategy)
    import json

    import msgspec

    assert made[0].modules == made[1].modules == (json, msgspec)  # type: ignore[attr-defined]


def test_a_file_may_have_the_name_of_a_folder_or_none_that_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("")
    source = "class Mine:\n    def choose(self, turn):\n        return 'odd'\n"
    for name in ("mine.py", "2-my.bot.py"):
        (tmp_path / name).write_text(source)
        assert choice_of(f"{tmp_path / name}:Mine") == "odd"


def test_a_pickle_finds_the_class_of_a_neighbour(
    student: Callable[[str, str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only the files of this test.
    monkeypatch.setattr(strategy_files, "_spaces", {})
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    source = (
        "import pickle\n"
        f"BOOK = {PICKLED_BOOK!r}\n"
        "class Mine:\n    def choose(self, turn):\n        return pickle.loads(BOOK).choice\n"
    )
    first = student("a", "even", source)
    assert choice_of(first) == "even"
    # Now it is not clear any more which helper a pickle means: better none than that of somebody else.
    second = student("b", "odd", source)
    with pytest.raises(KeyError):
        choice_of(second)
    assert "helper" not in sys.modules


def test_a_file_that_fails_shows_its_author_no_private_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text("import no_such_module\n")
    with pytest.raises(CommandError, match=r"mine.py:Mine: ModuleNotFoundError: No module named 'no_such_module'$"):
        players.load(f"{tmp_path / 'mine.py'}:Mine")
    (tmp_path / "other.py").write_text("class Yours: ...\n")
    with pytest.raises(CommandError, match=r"other.py has no class 'Mine'; its classes: Yours$"):
        players.load(f"{tmp_path / 'other.py'}:Mine")
    assert "strategy_file" not in capsys.readouterr().err
