"""A fast folder for journals, the path of one, and the notices it gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
