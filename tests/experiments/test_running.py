"""Whole leagues of real agents inside one process: what they give back, what they leave, and how they fail."""

from __future__ import annotations

import ast
import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

import league
from league.cli.pages import Pages
from league.reading.journals import read_events
from league.terminal import CommandError, console
from tests.support.pages import ROOT, blocks
from tests.support.processes import WATCHDOG_S

EXAMPLE = ROOT / "examples" / "scripts" / "own_league.py"


class Even(league.Player):
    """Remembers how the league ended."""

    result: league.LeagueResult | None = None

    async def choose_parity(self, call: league.ChooseParityCall) -> league.Parity:
        return "even"

    def on_league_over(self, result: league.LeagueResult) -> None:
        self.result = result


class NotPunctual(league.Player):
    """Thinks until it is let go."""

    let_go = threading.Event()

    def choose_parity(self, call: league.ChooseParityCall) -> league.Parity:
        self.let_go.wait(WATCHDOG_S)
        return "odd"


def test_a_league_of_names_classes_and_objects_is_played_to_its_end(capfd: pytest.CaptureFixture[str]) -> None:
    mine = Even("Mine")

    async def played() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
        async with league.run([mine, Even, "always_odd"], referees=2, seed=1) as running:
            assert handlers == [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
            assert running.manager.endswith("/mcp")
            table = await running.finished()
            return table, running.standings()

    threads = threading.active_count()
    table, again = asyncio.run(played())
    assert table == again
    assert {row["display_name"] for row in table} == {"Mine", "Even-P02", "Always-Odd-P03"}
    assert sum(int(str(row["played"])) for row in table) == 6
    assert len(mine.history) == 2
    assert mine.result is not None
    assert mine.result.champion_id == table[0]["player_id"]
    console.flush()
    assert capfd.readouterr() == ("", ""), "nothing was wrong"
    assert not [one.name for one in threading.enumerate()[threads:] if one.name == "journal"]


def test_journals_stay_where_they_were_wanted(tmp_path: Path) -> None:
    async def played() -> None:
        async with league.run(["random", "random"], journal=tmp_path) as running:
            await running.finished()

    asyncio.run(played())
    assert {one.name for one in tmp_path.glob("*.db")} == {"journal.db", "referee-1.db"}
    assert any(type(one).__name__ == "ResultAccepted" for one in read_events(tmp_path / "journal.db"))
    with pytest.raises(CommandError, match="has journals of another league"):
        asyncio.run(played())


def test_leaving_the_block_ends_a_league_that_is_not_finished() -> None:
    async def left() -> int:
        async with league.run([NotPunctual(), "random"]) as running:
            return len(running.standings())

    try:
        assert asyncio.run(left()) <= 2
    finally:
        NotPunctual.let_go.set()


@pytest.mark.parametrize(
    ("players", "settings", "told"),
    [
        (["random"], {}, "at least two players"),
        (["random", "randon"], {}, "did you mean random"),
        (["random", Even], {"game": "chess"}, "there is no game 'chess'"),
        (["random", Even], {"game": "tic_tac_toe"}, "Even cannot play tic_tac_toe"),
    ],
)
def test_what_cannot_be_played_is_told(players: list[str | type], settings: dict[str, str], told: str) -> None:
    async def begun() -> None:
        async with league.run(players, **settings):  # type: ignore[arg-type] # any setting is a text here
            raise AssertionError("it began")

    with pytest.raises(CommandError, match=told):
        asyncio.run(begun())


def test_the_example_runs_and_is_the_one_of_the_page() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=WATCHDOG_S, check=True
    )
    assert done.stdout.endswith("Copycat played 4 matches\n")
    assert done.stderr == ""
    page = (ROOT / "docs" / "how-to" / "compare-strategies.md").read_text(encoding="utf-8")
    [shown] = [one.text for one in blocks(page) if "class Copycat" in one.text]

    def statements(source: str) -> list[str]:
        found = (
            node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        return [ast.unparse(line) for one in found for line in one.body]

    assert statements(shown) == statements(EXAMPLE.read_text(encoding="utf-8"))


def test_the_metrics_of_a_manager_show_the_league_in_numbers_each_explained() -> None:
    async def played() -> str:
        async with league.run(["random", "random", "random"]) as running:
            await running.finished()
            with closing(Pages(running.manager)) as pages:
                return await asyncio.to_thread(pages.text, "/metrics")

    shown = asyncio.run(played()).splitlines()
    wanted = {
        'league_agents{role="player",state="SHUTDOWN"} 3',
        'league_agents{role="referee",state="SHUTDOWN"} 1',
        "league_applicants 0",
        "league_matches 3",
        "league_matches_completed 3",
        "league_matches_open 0",
        "league_round 3",
        "league_rounds 3",
        "league_queue_letters 0",
        "league_queue_held 0",
    }
    assert wanted <= set(shown), wanted - set(shown)
    assert any(line.startswith("league_timer_lag_seconds ") for line in shown)
    typed = {line.split()[2] for line in shown if line.startswith("# TYPE ")}
    assert typed == {line.split()[2] for line in shown if line.startswith("# HELP ")}
    assert {line.partition("{")[0].split()[0] for line in shown if line.startswith("league_agents")} <= typed
