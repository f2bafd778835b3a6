"""Who opens the page of a match that is played sees its board, and every move soon after it is made."""

from __future__ import annotations

import json
import re
from urllib.request import urlopen

from playwright.sync_api import Browser, expect

from tests.support.browsing import WATCHDOG_MS, opened
from tests.support.processes import Process, Processes

SOON_MS = 3_000
"""A move is told within a second; a busy machine may be slower."""
PATIENT = """
import asyncio
from pathlib import Path
from league import Player

class Patient(Player):
    \"\"\"Makes its nth move when the test has opened it.\"\"\"

    games = ("tic_tac_toe", "kuhn_poker")

    async def move(self, turn):
        while not Path(f"open-{turn.number}").exists():
            await asyncio.sleep(0.05)
        return turn.options[0]
"""


def begin(processes: Processes, game: str) -> tuple[Process, str]:
    """A match whose moves are made when the test opens them; and the address of the manager."""
    (processes.folder / "patient.py").write_text(PATIENT, encoding="utf-8")
    manager = processes.manager(players=2, game=game)
    processes.players(manager, count=2, strategy="patient:Patient", game=game)
    processes.referee(manager, game=game)
    return manager, f"http://127.0.0.1:{manager.port}"


def open_move(processes: Processes, number: int) -> None:
    (processes.folder / f"open-{number}").touch()


def test_every_move_appears_on_the_page(browser: Browser, processes: Processes) -> None:
    _, address = begin(processes, "tic_tac_toe")
    with opened(browser, f"{address}/") as league:
        expect(league.locator("#match-R1M1")).to_contain_text("being played", timeout=WATCHDOG_MS)
        assert str(league.get_by_role("link", name="watch").get_attribute("href")) == "/match/R1M1"
        with opened(browser, f"{address}/match/R1M1") as page:
            expect(page.locator(".seats .asked")).to_have_count(1, timeout=WATCHDOG_MS)
            expect(page.locator("#feed")).to_have_text("live")
            for number in (1, 2, 3):
                open_move(processes, number)
                expect(page.locator(".place")).to_have_text(f"Move {number} of {number}", timeout=SOON_MS)
                expect(page.locator(".boards figure:visible .piece")).to_have_count(number)
                expect(page.get_by_role("status").filter(has_text=f"{number}. ")).to_have_count(1)
            live = json.load(urlopen(f"{address}/api/matches/R1M1"))["live"]
            assert [move["move"] for move in live["moves"]] == ["0", "1", "2"]
            # Who looks at an earlier board stays there.
            page.get_by_role("button", name="First position").click()
            open_move(processes, 4)
            expect(page.locator(".place")).to_have_text("Move 0 of 4", timeout=SOON_MS)
            page.keyboard.press("End")
            expect(page.locator(".boards figure:visible .piece")).to_have_count(4)
            for number in range(5, 10):
                open_move(processes, number)
            expect(page.locator("#verdict-title")).to_contain_text("won", timeout=WATCHDOG_MS)


def test_a_page_of_a_match_says_when_its_manager_is_gone(browser: Browser, processes: Processes) -> None:
    manager, address = begin(processes, "tic_tac_toe")
    # A manager that is killed leaves requests without an answer.
    killed = ("ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
    with opened(browser, f"{address}/", failures=killed) as league:
        expect(league.locator("#match-R1M1")).to_contain_text("being played", timeout=WATCHDOG_MS)
        with opened(browser, f"{address}/match/R1M1", failures=killed) as page:
            expect(page.locator("#feed")).to_have_text("live", timeout=WATCHDOG_MS)
            manager.kill()
            expect(page.locator("#feed")).to_have_class("lost", timeout=WATCHDOG_MS)


def test_a_projector_shows_the_board_of_a_match_by_itself(browser: Browser, processes: Processes) -> None:
    _, address = begin(processes, "tic_tac_toe")
    with opened(browser, f"{address}/?projector") as projector:
        expect(projector.locator("#match-R1M1")).to_have_count(1, timeout=WATCHDOG_MS)
        projector.reload()
        expect(projector.locator("#live .play.shown")).to_be_visible(timeout=SOON_MS)
        open_move(processes, 1)
        expect(projector.locator("#live .play.shown figcaption")).to_contain_text("1. ", timeout=SOON_MS)


def test_a_card_is_nowhere_while_the_match_is_played(browser: Browser, processes: Processes) -> None:
    _, address = begin(processes, "kuhn_poker")
    with opened(browser, f"{address}/") as league:
        expect(league.locator("#match-R1M1")).to_contain_text("being played", timeout=WATCHDOG_MS)
        with opened(browser, f"{address}/match/R1M1") as page:
            open_move(processes, 1)
            expect(page.locator(".hand", has_text="check")).to_have_count(1, timeout=WATCHDOG_MS)
            assert page.locator(".card.down").count() == 2
            seen = [page.content(), league.content()]
            for path in ("/api/matches/R1M1", "/api/league", "/api/schedule"):
                with urlopen(address + path) as answer:
                    seen.append(answer.read().decode())
            for text in seen:
                assert not re.search(r"[>\"][JQK][<\"]", text)
                assert "draw_seed" not in text
            assert json.loads(seen[2])["live"]["moves"] == []
