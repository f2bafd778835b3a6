"""The dashboard in a real browser: a league watched from its registrations to its champion, and its pages as files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from league.features.dashboard.rendering import SITE_BELOW, Renderer
from league.features.dashboard.views.board_view import BoardCell, BoardView
from league.features.dashboard.views.match_view import match_page
from league.games import draw
from league.games.boards import Picture, Piece
from tests.dashboard.browser.showcase import SCREENS, Screen, crowd, keep_picture, pages_on, seen
from tests.dashboard.test_pages import WON, ended
from tests.support.browsing import WATCHDOG_MS, measures, opened, points_per_match, problems, standings, table
from tests.support.processes import Processes

LOOKED_OVER = (("desktop", "light"), ("phone", "dark"), ("projector", "dark"))
"""Every layout and every colour once; the others are for pictures, and for the long suites."""
LOOKS = [
    pytest.param(
        screen,
        marks=() if (screen.name, screen.scheme) in LOOKED_OVER else pytest.mark.deep,
        id=f"{screen.name}-{screen.scheme}",
    )
    for screen in SCREENS
]
HOSTILE = "\"onfocus=document.title='taken' &lt;b&gt;"


def test_a_league_is_watched_from_its_registrations_to_its_champion(browser: Browser, processes: Processes) -> None:
    manager = processes.manager(players=4, start="manual", league_id="cup")
    address = f"http://127.0.0.1:{manager.port}/"
    with opened(browser, address) as page:
        page.evaluate("window.isTheSamePage = true")
        players = processes.players(manager, name=HOSTILE, count=4, time_scale=10)
        processes.referee(manager, time_scale=10)
        expect(page.locator(".waiting")).to_contain_text("4 of 4 players and 1 of 1 referees", timeout=WATCHDOG_MS)
        assert table(page) == standings(processes, "--manager", address)
        manager.kill()
        expect(page.locator("#feed")).to_have_class("lost", timeout=WATCHDOG_MS)
        manager = processes.manager(players=4, start="manual", league_id="cup", port=manager.port)
        expect(page.locator("#feed")).to_have_text("live", timeout=WATCHDOG_MS)
        assert processes.run("start", "--manager", address, "--state", processes.folder).returncode == 0
        expect(page.locator("#progress h2")).to_contain_text("Champion:", timeout=WATCHDOG_MS)
        assert players.wait() == 0
        assert table(page) == standings(processes, "--manager", address)
        expect(page.locator("#findings")).to_contain_text("6 count.", timeout=WATCHDOG_MS)
        assert re.search(r"\d\.\d{3} s", page.locator("#agent-P01").inner_text())
        assert measures(page) == points_per_match(processes, address)
        assert page.evaluate("window.isTheSamePage")
        assert HOSTILE in page.locator("#standings").inner_text()
        assert page.title() == "cup"
        assert page.locator("#standings img").count() == 0
        page.locator("#matches a.number").first.click()
        expect(page.locator("#proof")).to_have_class("holds", timeout=WATCHDOG_MS)
        letter = page.locator(".step.letter details").first
        letter.locator("summary").click()
        expect(letter.locator("pre")).to_contain_text("GAME_INVITATION", timeout=WATCHDOG_MS)
        assert re.search("tok_[a-zA-Z0-9]", page.content()) is None
        page.locator(".pairing a").first.click()
        expect(page.locator(".facts")).to_contain_text("points", timeout=WATCHDOG_MS)
        assert HOSTILE in page.locator("h1").inner_text()


def test_orders_are_given_with_the_admin_token_and_with_nothing_else(browser: Browser, processes: Processes) -> None:
    manager = processes.manager(players=2, start="manual", league_id="cup")
    token = (processes.folder / "admin-token").read_text(encoding="utf-8").strip()
    with opened(browser, f"http://127.0.0.1:{manager.port}/", allowed=("401", "409")) as page:
        said = page.locator("#order-answer")

        def use(text: str) -> None:
            page.get_by_label("Admin token").fill(text)
            press("Use")

        def press(order: str) -> None:
            page.get_by_role("button", name=order, exact=True).click()

        page.get_by_text("Give orders to this league").click()
        expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled(timeout=WATCHDOG_MS)
        use("not-the-token")
        press("Start")
        expect(said).to_have_text("start: this is not the admin token of this league.", timeout=WATCHDOG_MS)
        use(token)
        press("Start")
        expect(said).to_contain_text("a league needs 2 players and 1 referee", timeout=WATCHDOG_MS)
        assert processes.orders("start") == []
        processes.players(manager, count=2, time_scale=10)
        expect(page.locator(".waiting")).to_contain_text("2 of 2 players", timeout=WATCHDOG_MS)
        press("Pause")
        expect(said).to_have_text("pause: the league has not started.", timeout=WATCHDOG_MS)
        referee = processes.referee(manager, time_scale=10)
        expect(page.locator(".waiting")).to_contain_text("1 of 1 referees", timeout=WATCHDOG_MS)
        referee.kill()  # so that the league is not over before it is paused
        page.reload()
        page.get_by_text("Give orders to this league").click()
        press("Start")
        expect(said).to_have_text("start: done.", timeout=WATCHDOG_MS)
        assert len(processes.orders("start")) == 1
        press("Pause")
        expect(said).to_have_text("pause: done.", timeout=WATCHDOG_MS)
        expect(page.locator(".waiting")).to_have_text("Paused by the operator.", timeout=WATCHDOG_MS)
        assert problems(page) == []
        assert token not in page.content()
        press("Forget")
        expect(page.get_by_role("button", name="Close", exact=True)).to_be_disabled(timeout=WATCHDOG_MS)


def test_an_exported_folder_opens_without_a_server(browser: Browser, site: Path, processes: Processes) -> None:
    with opened(browser, (site / "index.html").as_uri()) as page:
        assert table(page) == standings(processes, "--journal", str(site.parent / "manager.db"))
        expect(page.locator("#measures > tr")).to_have_count(4, timeout=WATCHDOG_MS)
        page.locator("#standings th a").first.click()
        expect(page.locator(".facts")).to_contain_text("rank", timeout=WATCHDOG_MS)
        page.locator(".matches a.number").first.click()
        expect(page.locator("#proof")).to_have_class("holds", timeout=WATCHDOG_MS)
        letter = page.locator(".step.letter details").first
        letter.locator("summary").click()
        assert "GAME_INVITATION" in letter.locator("pre").inner_text()
        page.locator("header a.button").click()
        expect(page.locator("#standings > tr")).to_have_count(4, timeout=WATCHDOG_MS)


@pytest.mark.parametrize("screen", LOOKS)
def test_every_page_can_be_read_by_everybody(browser: Browser, site: Path, showcase: Path, screen: Screen) -> None:
    """Each is kept as a picture, for those who want to look themselves."""
    real = [] if screen.name == "projector" else [(site, "index.html"), (site, "match/R2M1.html")]
    for where, name in [*((showcase, one) for one in pages_on(screen)), *real]:
        with seen(browser, where, name, screen) as page:
            assert problems(page) == [], name
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= screen.width, f"{name} is wider than the screen"
            keep_picture(page, name, screen)


ROWS_IN_SIGHT = """() => [...document.querySelectorAll("#standings > tr")].filter((row) => {
  const box = row.getBoundingClientRect();
  const list = row.parentElement.getBoundingClientRect();
  return box.left >= list.left - 1 && box.right <= list.right + 1 && box.bottom <= innerHeight;
}).map((row) => row.id)"""


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1440, 900)])
def test_a_projector_shows_a_small_league_at_once(browser: Browser, showcase: Path, width: int, height: int) -> None:
    with seen(browser, showcase, "index.html?projector", Screen("projector", width, height, "light")) as page:
        assert len(page.evaluate(ROWS_IN_SIGHT)) == 8


def test_a_projector_shows_thirty_players_at_once(browser: Browser, tmp_path: Path) -> None:
    screen = Screen("projector-30", 1440, 900, "light")
    with seen(browser, crowd(tmp_path / "crowd", 30), "index.html?projector", screen) as page:
        keep_picture(page, "index.html", screen)
        assert len(page.evaluate(ROWS_IN_SIGHT)) == 30
        cut = "rows => rows.filter(row => row.scrollWidth > row.clientWidth + 1).length"
        assert page.eval_on_selector_all("#standings > tr", cut) == 0, "no chip is cut off"
        letters = "rows => rows.map(row => parseFloat(getComputedStyle(row).fontSize))"
        assert min(page.eval_on_selector_all("#standings > tr, #matches > li", letters)) > 15


def test_a_projector_turns_pages_until_a_hundred_players_were_shown(browser: Browser, tmp_path: Path) -> None:
    folder = crowd(tmp_path / "crowd", 100, rounds=2)
    assert (folder / "index.html").stat().st_size < 300_000
    screen = Screen("projector-100", 1920, 1080, "light")
    with seen(browser, folder, "index.html", Screen("desktop", 1280, 900, "light")) as page:
        assert page.evaluate("document.querySelectorAll('*').length") < 10_000
    context = browser.new_context(viewport={"width": screen.width, "height": screen.height})
    page = context.new_page()
    page.clock.install()
    page.goto((folder / "index.html").as_uri() + "?projector")
    keep_picture(page, "index.html", screen)
    cut = "names => names.filter(name => name.scrollWidth > name.clientWidth + 1).length"
    assert page.eval_on_selector_all("#standings th", cut) == 0, "names like Frequency-P02 fit"
    first = set(page.evaluate(ROWS_IN_SIGHT))
    page.clock.run_for(8_100)
    second = set(page.evaluate(ROWS_IN_SIGHT))
    assert first != second
    assert len(first | second) == 100
    page.clock.run_for(8_100)
    assert set(page.evaluate(ROWS_IN_SIGHT)) == first, "after the last page comes the first"
    context.close()


def test_a_board_is_stepped_through_with_buttons_and_keys(browser: Browser, showcase: Path) -> None:
    screen = Screen("desktop", 1280, 900, "light")
    with seen(browser, showcase, "match/board.html", screen) as page:
        figures = page.locator(".boards figure:visible")
        expect(figures).to_have_count(1)
        expect(page.locator(".boards figure:visible td.winning")).to_have_count(3)
        expect(page.locator(".place")).to_have_text("Move 5 of 5")
        expect(page.locator('.moves [aria-current="step"]')).to_contain_text("5.")
        expect(page.get_by_role("status")).to_contain_text("5. ")
        page.get_by_role("button", name="First position").click()
        expect(page.locator(".place")).to_have_text("Move 0 of 5")
        expect(page.get_by_role("button", name="Previous move")).to_be_disabled()
        page.locator(".boards").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".boards figure:visible td.new")).to_have_text("X")
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".place")).to_have_text("Move 4 of 5")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((showcase / "match" / "board.html").as_uri())
    expect(page.locator(".boards figure:visible")).to_have_count(6)
    expect(page.locator(".stepper")).to_be_hidden()
    context.close()


@pytest.mark.parametrize("screen", SCREENS[::2], ids=lambda screen: screen.name)
def test_a_board_of_any_size_is_in_sight_as_a_whole(browser: Browser, showcase: Path, screen: Screen) -> None:
    page_of_a_match = match_page(ended(WON))
    assert page_of_a_match.play is not None
    cells = tuple((BoardCell(Piece(shape="disc", color="red"), False, False),) * 30 for _ in range(30))
    names = tuple(str(number) for number in range(10, 40))
    large = BoardView(1, "1. Ann: here", Picture(cells=(("x",),), columns=names, lines=names), cells)
    page_of_a_match = replace(page_of_a_match, play=replace(page_of_a_match.play, boards=(large,)))
    name = f"match/large-{screen.name}.html"
    (showcase / name).write_text(Renderer(SITE_BELOW).match(page_of_a_match), encoding="utf-8")
    with seen(browser, showcase, name, screen) as page:
        box = page.locator(".board").bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= screen.width
        assert box["y"] + box["height"] <= screen.height
        keep_picture(page, name, screen)


def test_a_move_stays_marked_while_chance_draws(browser: Browser, site: Path) -> None:
    with opened(browser, (site / "match" / "R1M1.html").as_uri()) as page:
        expect(page.locator(".boards figure:visible figcaption")).to_have_text("Chance")
        expect(page.locator('.moves [aria-current="step"]')).to_contain_text("1.")


def test_nothing_is_announced_after_the_end(browser: Browser, site: Path) -> None:
    with opened(browser, (site / "index.html").as_uri()) as page:
        expect(page.get_by_role("heading", name="Last round")).to_be_visible()
        expect(page.get_by_role("heading", name="Next")).to_be_hidden()


def test_a_phone_shows_whole_names(browser: Browser, showcase: Path) -> None:
    screen = next(screen for screen in SCREENS if screen.name == "phone")
    with seen(browser, showcase, "index.html", screen) as page:
        cut = "names => names.filter(name => name.scrollWidth > name.clientWidth + 1).length"
        assert page.eval_on_selector_all("#standings th", cut) == 0
        visible = "cells => cells.filter(cell => cell.offsetWidth > 0).length"
        assert page.eval_on_selector_all("#standings > tr:first-child > *", visible) == 4, "rank, name, points, form"


def test_the_browser_draws_as_the_referee_draws(browser: Browser, site: Path) -> None:
    with opened(browser, (site / "match" / "R1M1.html").as_uri()) as page:
        for number in range(200):
            seed = number.to_bytes(2, "big") * 16
            named = ("liga|ü", f"R{number}M1", number % 3 + 1)
            found = page.evaluate("([seed, label]) => drawOf(seed, label)", [seed.hex(), "{}|{}|{}".format(*named)])
            assert found == {"commitment": draw.commitment(seed, *named), "number": draw.number(seed, *named)}


def test_a_page_may_run_no_script_but_its_own(browser: Browser, processes: Processes) -> None:
    manager = processes.manager(players=4)
    context = browser.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda told: refused.append(told.text) if "Content Security Policy" in told.text else None)
    page.goto(f"http://127.0.0.1:{manager.port}/")
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.isTaken = true'}))"
    )
    assert page.evaluate("window.isTaken === undefined")
    assert refused
    context.close()
