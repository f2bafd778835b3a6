"""Real processes for whole leagues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Whatever the test starts is gone at its end, and has not stumbled over a bug of ours."""
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []
