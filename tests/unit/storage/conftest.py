"""A fast folder for journals, the path of one, homes of both kinds, and the notices a journal gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.homes import DatabaseHome, FileHome, Home
from tests.support.journals import Notices, fast_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with fast_folder() as made:
        yield made


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "journal.db"


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture(params=["file", pytest.param("database", marks=pytest.mark.slow)])
def home(request: pytest.FixtureRequest) -> Home:
    if request.param == "file":
        return FileHome(request.getfixturevalue("folder"))
    return DatabaseHome(request.getfixturevalue("postgres"))
