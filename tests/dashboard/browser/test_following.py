"""Who follows a league in a browser sees its numbers after every round, in any number of tabs, and can look back."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, expect

from league.events import AgentRegistered, RoundFinished
from league.storage.reading import open_for_reading
from tests.support.browsing import WATCHDOG_MS, opened, problems, standings, table
from tests.support.processes import Process, Processes

ROUNDS = (1, 2, 3)
PATIENT = """
import asyncio
from pathlib import Path
from league import Player

class Patient(Player):
    \"\"\"Answers in a round when the test has opened it.\"\"\"

    async def choose_parity(self, call):
        while not Path(f"open-{call.match_id[1]}").exists():
            await asyncio.sleep(0.05)
        return "even" if call.player_id in ("P01", "P02") else "odd"
"""


def begin(processes: Processes) -> tuple[Process, str]:
    """A league whose rounds end when the test opens them; and the address of its page."""
    (processes.folder / "patient.py").write_text(PATIENT, encoding="utf-8")
    manager = processes.manager(players=4, league_id="cup")
    return manager, f"http://127.0.0.1:{manager.port}/"


def enter(processes: Processes, manager: Process) -> Process:
    players = processes.players(manager, count=4, strategy="patient:Patient")
    processes.referee(manager)
    return players


def end_round(processes: Processes, page: Page, round_id: int) -> None:
    """Open a round; it is over on the page."""
    expect(page.locator("#progress h2")).to_contain_text(f"Round {round_id} of 3", timeout=WATCHDOG_MS)
    (processes.folder / f"open-{round_id}").touch()
    expect(page.locator(".numbers")).to_contain_text(f"{2 * round_id} of 6", timeout=WATCHDOG_MS)


def test_the_numbers_are_those_of_the_league_after_every_round_and_stay_in_its_history(
    browser: Browser, processes: Processes
) -> None:
    manager, address = begin(processes)
    tables = {}
    with opened(browser, address) as page:
        players = enter(processes, manager)
        match = page.context.new_page()
        expect(page.locator("#match-R1M1")).to_contain_text("being played", timeout=WATCHDOG_MS)
        match.goto(f"{address}match/R1M1")
        expect(match.locator("#pending")).to_contain_text("was given to REF01 at", timeout=WATCHDOG_MS)
        expect(match.locator(".step")).to_contain_text(["The manager gave the match to REF01"], timeout=WATCHDOG_MS)
        for round_id in ROUNDS:
            end_round(processes, page, round_id)
            tables[round_id] = standings(processes, "--manager", address)
            assert table(page) == tables[round_id]
        assert players.wait() == 0
        expect(match.locator("#proof")).to_have_class("holds", timeout=WATCHDOG_MS)
        expect(match.locator("#pending")).to_have_count(0, timeout=WATCHDOG_MS)
        expect(page.locator("#progress h2")).to_contain_text("Champion:", timeout=WATCHDOG_MS)
        for round_id in ROUNDS:
            page.get_by_role("navigation").get_by_role("link", name=str(round_id), exact=True).click()
            expect(page.locator("#told")).to_contain_text("round finished", timeout=WATCHDOG_MS)
            assert table(page) == tables[round_id]
        assert problems(page) == []
        page.get_by_role("link", name="Back to now").click()
        expect(page.locator("#feed")).to_be_visible(timeout=WATCHDOG_MS)
        assert table(page) == tables[3]


def test_the_slider_leads_through_the_journal_by_keyboard(browser: Browser, site: Path, processes: Processes) -> None:
    with open_for_reading(site.parent / "manager.db") as journal:
        finished = [seq for seq, _ in journal.of_kind(RoundFinished)]
        last, registered = journal.last_seq, len(journal.of_kind(AgentRegistered))
    view = processes.run_on("view", str(site.parent), "--port", "0")
    with opened(browser, view.endpoint) as page:
        expect(page.locator("#measures > tr")).to_have_count(4, timeout=WATCHDOG_MS)  # nothing is left to be computed
        slider, told = page.get_by_role("slider", name="Event of the journal"), page.locator("#told")
        slider.focus()
        slider.press("Home")
        expect(told).to_contain_text(f"after event 1 of {last}", timeout=WATCHDOG_MS)
        expect(page.locator("#progress h2")).to_have_text("Registration", timeout=WATCHDOG_MS)
        expect(page.locator("#standings > tr")).to_have_count(0, timeout=WATCHDOG_MS)
        assert page.url.endswith("/?at=1")
        for _ in range(finished[0] - 1):
            slider.press("ArrowRight")
        expect(told).to_contain_text(f"after event {finished[0]} of {last}", timeout=WATCHDOG_MS)
        expect(page.locator("#agents > tr")).to_have_count(registered, timeout=WATCHDOG_MS)
        assert page.evaluate("document.activeElement.id") == "moment"
        assert slider.get_attribute("aria-valuetext") == told.inner_text()
        seen = table(page)
        page.reload()
        assert table(page) == seen
        assert problems(page) == []


def test_an_exported_folder_has_the_league_after_every_round(browser: Browser, site: Path) -> None:
    with opened(browser, (site / "index.html").as_uri()) as page:
        for round_id in ROUNDS:
            page.get_by_role("navigation").get_by_role("link", name=str(round_id), exact=True).click()
            expect(page.locator(".numbers")).to_contain_text(f"{2 * round_id} of 6", timeout=WATCHDOG_MS)
            assert {one["played"] for one in table(page)} == {round_id}
        page.locator("#matches a.number").first.click()
        expect(page.locator("#proof")).to_have_class("holds", timeout=WATCHDOG_MS)


def turn(tab: Page, *, is_hidden: bool) -> None:
    """Have the page believe that its reader turned to another tab, or back; a browser without a screen hides none."""
    tab.evaluate(
        "isHidden => { Object.defineProperty(document, 'hidden', {value: isHidden, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )


def test_eight_tabs_are_live_at_once(browser: Browser, processes: Processes) -> None:
    """Though a browser opens six connections to one place; one of them is hidden for a while, and sees nothing then."""
    manager, address = begin(processes)
    context: BrowserContext = browser.new_context()
    context.set_default_timeout(WATCHDOG_MS)
    tabs = [context.new_page() for _ in range(8)]
    for tab in tabs:
        tab.goto(address)
    enter(processes, manager)
    for round_id in ROUNDS:
        turn(tabs[0], is_hidden=True)
        end_round(processes, tabs[-1], round_id)
        expect(tabs[0].locator("#progress")).not_to_contain_text(f"{2 * round_id} of 6", timeout=WATCHDOG_MS)
        turn(tabs[0], is_hidden=False)
        for tab in tabs:
            expect(tab.locator(".numbers")).to_contain_text(f"{2 * round_id} of 6", timeout=WATCHDOG_MS)
            sign = "final" if round_id == ROUNDS[-1] else "live"
            expect(tab.locator("#feed")).to_have_text(sign, timeout=WATCHDOG_MS)
        table_now = standings(processes, "--manager", address)
        assert [table(tab) for tab in tabs] == [table_now] * 8
    context.close()
