"""The doors between packages: who may import what, and what every feature has. A planted import is found."""

from __future__ import annotations

import shutil
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_args

import pytest

from league import features, rows
from scripts.doors import FEATURES, SOURCE, USES, packages, public_modules, violations

ROOT = Path(__file__).parents[2]
NAMES = [name.removeprefix(f"{FEATURES}.") for name in packages() if name.startswith(f"{FEATURES}.")]
"""The names of our features."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_only_allowed_imports_are_there() -> None:
    assert violations() == []


def test_there_is_one_package() -> None:
    assert [path.name for path in SOURCE.iterdir() if path.is_dir()] == ["league"]


def test_features_use_each_other_in_one_direction_only() -> None:
    assert set(TopologicalSorter(USES).static_order()) <= set(NAMES)


def test_a_public_module_exists() -> None:
    for package in packages():
        folder = SOURCE.joinpath(*package.split("."))
        for module in public_modules(SOURCE, package):
            path = folder.joinpath(*module.split("."))
            assert path.with_suffix(".py").is_file() or path.is_dir(), f"{package} has no module {module}"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """The packages of the source without their code: a place to plant imports in."""
    for package in packages():
        folder = tmp_path.joinpath(*package.split("."))
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    shutil.copy(SOURCE / "league" / "features" / "__init__.py", tmp_path / "league" / "features")
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_an_import_between_core_and_features_is_found(name: str, house: Path) -> None:
    other = next(one for one in NAMES if one != name and one not in USES.get(name, ()))
    core = house / "league" / "manager" / "planted.py"
    core.write_text(f"def late() -> None:\n    import league.features.{name}\n")
    (house / "league" / "features" / name / "planted.py").write_text(f"from league.features import {other}\n")
    assert sorted(violations(house)) == [
        f"league/features/{name}/planted.py:1: the feature {name} imports the feature {other}: "
        "see USES in scripts/doors.py",
        f"league/manager/planted.py:2: the core imports the feature {name}",
    ]


@pytest.mark.parametrize("importer", ["hosting", "features/kit"])
@pytest.mark.parametrize("code", ["from league.manager import rooms", "from league.manager.rooms import Room"])
def test_only_public_modules_may_be_imported(importer: str, code: str, house: Path) -> None:
    manager = house / "league" / "manager"
    (manager / "rooms.py").write_text("class Room: ...\n")
    (house / "league" / importer / "planted.py").write_text(code)
    refused = f"league/{importer}/planted.py:1: league.manager.rooms is not public: see PUBLIC in its package"
    assert violations(house) == [refused]
    (manager / "__init__.py").write_text('PUBLIC = ("rooms",)\n')
    assert violations(house) == []


def test_a_door_that_nobody_uses_is_found(house: Path) -> None:
    (house / "league" / "manager" / "__init__.py").write_text('PUBLIC = ("rooms",)\n')
    assert violations(house) == ["league.manager lists 'rooms' in PUBLIC, but no other package imports it"]


def test_features_of_0_3_0_find_the_classes_of_rows_where_they_were() -> None:
    for kind in (*get_args(rows.Row), rows.Feature):
        assert getattr(features, kind.__name__) is kind


def test_every_feature_is_announced() -> None:
    announced = PROJECT["project"]["entry-points"]["league.features"].values()
    assert sorted(announced) == ["league.cli.commands:FEATURE", *(f"league.features.{name}:FEATURE" for name in NAMES)]


def test_every_feature_has_its_page_and_its_tests() -> None:
    assert [feature.page for feature in rows.own_features() if not (ROOT / feature.page).is_file()] == []
    for name in NAMES:
        assert (ROOT / "tests" / name).is_dir(), f"{name} has no tests of its own"
