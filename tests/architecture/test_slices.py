"""The core and its slices: who may import whom, and what every slice has. A planted import is found."""

from __future__ import annotations

import shutil
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from league.features import own_features
from scripts.slices import CORE, SOURCE, USES, violations

ROOT = Path(__file__).parents[2]
SLICES = sorted(path.name for path in SOURCE.glob("league_*"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_only_allowed_imports_are_there() -> None:
    assert violations() == []


def test_slices_use_each_other_in_one_direction_only() -> None:
    assert set(TopologicalSorter(USES).static_order()) <= set(SLICES)


@pytest.mark.parametrize("slice_name", SLICES)
def test_a_planted_import_is_found(slice_name: str, tmp_path: Path) -> None:
    for name in (CORE, *SLICES):
        (tmp_path / name).mkdir()
        shutil.copy(SOURCE / name / "__init__.py", tmp_path / name)
    (tmp_path / CORE / "planted.py").write_text(f"def late() -> None:\n    import {slice_name}.something\n")
    other = next(name for name in SLICES if name != slice_name and name not in USES.get(slice_name, ()))
    (tmp_path / slice_name / "planted.py").write_text(f"from {other} import something\n")
    assert violations(tmp_path) == [
        f"{CORE}/planted.py:2: imports {slice_name}",
        f"{slice_name}/planted.py:1: imports {other}",
    ]


def test_every_slice_announces_its_feature() -> None:
    announced = PROJECT["project"]["entry-points"]["league.features"].values()
    assert sorted(announced) == ["league.cli.commands:FEATURE", *(f"{name}:FEATURE" for name in SLICES)]


def test_every_feature_has_its_page_and_every_slice_its_tests_and_types() -> None:
    assert [feature.page for feature in own_features() if not (ROOT / feature.page).is_file()] == []
    for name in SLICES:
        assert (ROOT / "tests" / name.removeprefix("league_")).is_dir(), f"{name} has no tests of its own"
        assert (SOURCE / name / "py.typed").is_file()
