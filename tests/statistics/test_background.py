"""GET /api/statistics of a manager that runs: what it shows, and how often it works that out."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import league
from league.cli.pages import Pages
from league.features.statistics.analysis import analyse, document
from league.features.statistics.observations import observe
from league.hosting import background
from league.reading.journals import replay

PATH = "/api/statistics"


def asked(url: str) -> Any:
    with closing(Pages(url)) as pages:
        return pages.get(PATH)


async def played(folder: Path | None = None) -> tuple[list[Any], list[Any]]:
    """What several viewers were shown at once, before a league of tic-tac-toe was over and after it."""
    async with league.run(["random"] * 3, game="tic_tac_toe", journal=folder) as running:
        first = await asyncio.gather(*(asyncio.to_thread(asked, running.manager) for _ in range(3)))
        await running.finished()
        last = await asyncio.gather(*(asyncio.to_thread(asked, running.manager) for _ in range(3)))
        return first, last


def test_a_manager_shows_the_statistics_that_its_journal_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "REST", 0.0)
    _, last = asyncio.run(played(tmp_path))
    from_journal = json.loads(json.dumps(document(analyse(observe(replay(str(tmp_path)).manager)))))
    assert last == [from_journal] * 3
    assert last[0]["matches"] == 3
    assert len(last[0]["rating"]["players"]) == 3


def test_viewers_who_come_before_the_rest_is_over_get_the_same_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "REST", 1e9)
    first, last = asyncio.run(played())
    assert last == first
    assert first[0] == first[1] == first[2]
