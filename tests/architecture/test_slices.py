"""The core and its slices: the contracts of pyproject.toml know every package, and a planted import breaks them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from league.features import own_features

ROOT = Path(__file__).parents[2]
SLICES = sorted(path.name for path in (ROOT / "src").glob("league_*"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = PROJECT["tool"]["importlinter"]


def test_every_slice_is_in_the_contracts_and_announces_its_feature() -> None:
    assert CONTRACTS["root_packages"] == ["league", *SLICES]
    assert CONTRACTS["contracts"][0]["forbidden_modules"] == SLICES
    assert sorted(PROJECT["project"]["entry-points"]["league.features"].values()) == [
        "league.cli.commands:FEATURE",
        *(f"{name}:FEATURE" for name in SLICES),
    ]


def test_every_feature_has_its_page_and_every_slice_its_tests_and_types() -> None:
    assert [feature.page for feature in own_features() if not (ROOT / feature.page).is_file()] == []
    for name in SLICES:
        assert (ROOT / "tests" / name.removeprefix("league_")).is_dir(), f"{name} has no tests of its own"
        assert (ROOT / "src" / name / "py.typed").is_file()


@pytest.mark.parametrize("slice_name", SLICES)
def test_a_core_that_imports_a_slice_is_found(slice_name: str, tmp_path: Path) -> None:
    """The contract is checked on a copy whose other packages are empty: that takes less than a second."""
    for name in ("league", *SLICES):
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "__init__.py").write_text("")
    (tmp_path / "src" / "league" / "planted.py").write_text(f"import {slice_name}\n")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    contracts = (tmp_path / "pyproject.toml").read_text("utf-8")
    first = contracts.index("[[tool.importlinter.contracts]]")
    second = contracts.index("[[tool.importlinter.contracts]]", first + 1)
    only = re.sub(r"ignore_imports = \[.*?\n\]\n", "", contracts[:second], flags=re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(only)
    linted = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 1, linted.stdout + linted.stderr
    assert f"league.planted -> {slice_name}" in linted.stdout
