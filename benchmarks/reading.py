"""What it costs to read a league: commands, documents and the first page, of journals with 10,000 and 100,000 matches.

The yardstick is decoding every event of the manager's journal once: nobody who looks at all of a league can do with
less, and who looks at one match or at the table should need far less.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

from benchmarks import Row
from benchmarks.reported_league import journalled
from league.cli.main import main
from league.features.dashboard.live_page import LivePage
from league.features.dashboard.rendering import Links, Renderer
from league.features.dashboard.views.league_view import league_view
from league.manager.league_manager import LeagueManager
from league.reading import views
from league.reading.journals import read_events, replay

PLAYERS = {"10,000 matches": 142, "100,000 matches": 448}
DECODED = "decoding all events"


def run() -> list[Row]:
    rows = []
    for title, players in PLAYERS.items():
        with tempfile.TemporaryDirectory() as folder:
            journal = Path(folder, "journal.db")
            journalled(journal, players)
            rows += _rows(title, journal)
    return rows


def _rows(title: str, journal: Path) -> list[Row]:
    decoding = _milliseconds(partial(read_events, journal))
    verifying = _milliseconds(partial(_command, "verify", str(journal)))
    explaining = _milliseconds(partial(_command, "explain", "R40M3", "--journal", str(journal)))
    manager = replay(str(journal)).manager
    table = _milliseconds(partial(_fresh, manager, views.standings))
    page = _milliseconds(partial(_fresh, manager, _first_page))
    return [
        Row(f"league verify, {title}", verifying, decoding, DECODED, "ms"),
        Row(f"league explain, {title}", explaining, decoding, DECODED, "ms"),
        Row(f"/api/standings, {title}", table, decoding, DECODED, "ms"),
        Row(f"the first page, {title}", page, decoding, DECODED, "ms"),
    ]


def _milliseconds(call: Callable[[], object], rounds: int = 3) -> float:
    """Measure the CPU time of a call: the best of a few, since each takes long."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best * 1e3


def _command(*arguments: str) -> None:
    with redirect_stdout(io.StringIO()):
        if main(arguments):
            raise RuntimeError(f"league {' '.join(arguments)} failed")


def _fresh(manager: LeagueManager, show: Callable[[LeagueManager], object]) -> None:
    """Show a league whose table has just changed."""
    manager.ledger.standings.__dict__.clear()
    show(manager)


def _first_page(manager: LeagueManager) -> None:
    LivePage(Renderer(Links()), "benchmark").show(league_view(manager))
