"""The dashboard of a league in virtual time, the same at every run, and the screens it is looked at on. As a program it
takes the picture of the README."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from playwright.sync_api import Browser, Page

from league.cli.main import main as league
from league.features.dashboard.rendering import ASSETS, SITE, SITE_BELOW, Renderer, asset
from league.features.dashboard.sections import sections_of
from league.features.dashboard.views.league_view import completed, league_view
from league.features.dashboard.views.match_view import match_page
from tests.dashboard.test_pages import WON, ended
from tests.support.browsing import chromium, opened
from tests.support.managed import Managed
from tests.support.stories import on_disk

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = ROOT / "screenshots"
README: Final = ROOT / "docs" / "dashboard.png"
NAMES: Final = ("Owls", "Lucky Seven", "Contrarian", "Parity Pirates", "Team Rocket", "Even Steven", "Oddity", "Coin")
RESULTS: Final = "A-B B=A BA=A AB"
"""How matches end, over and over: won by A or B, drawn, or (a blank) by a fault of B."""
ROUNDS: Final = 5


class Screen(NamedTuple):
    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]


SCREENS: Final = tuple(
    Screen(name, width, height, scheme)
    for name, width, height in (("desktop", 1280, 900), ("phone", 390, 844), ("projector", 1920, 1080))
    for scheme in ("light", "dark")
)


def pages_on(screen: Screen) -> Sequence[str]:
    """What is looked at on such a screen."""
    if screen.name == "projector":
        return ("index.html?projector",)
    return ("index.html", "round/2.html", "match/board.html", "player/P01.html")


def played(folder: Path) -> Path:
    """A league of eight in its sixth round, as a folder of pages."""
    managed = Managed(players=len(NAMES), referees=2)
    for number in (1, 2):
        managed.register("referee", number)
    for number, name in enumerate(NAMES, start=1):
        managed.register("player", number, display_name=name)
    decided = 0
    while managed.manager.ledger.finished_rounds < ROUNDS:
        managed.answer_pings()
        managed.answer_all()
        for match_id in managed.open_matches:
            ending = RESULTS[decided % len(RESULTS)]
            managed.report(match_id, {"-": "A", "=": None, " ": "-B"}.get(ending, ending))
            decided += 1
        managed.wait(0.5)
    managed.answer_all()
    managed.wait(5.0)
    managed.report(managed.open_matches[0], "B")
    journal = on_disk(folder / "journal.db", managed.events)
    assert league(["export", str(journal), "--to", str(folder / "site"), "--format", "site"]) == 0
    board = Renderer(SITE_BELOW).match(match_page(ended(WON)))
    (folder / "site" / "match" / "board.html").write_text(board, encoding="utf-8")
    return folder / "site"


def crowd(folder: Path, players: int, rounds: int = 5) -> Path:
    """A league of many players after some rounds, as a folder with its league page alone."""
    managed = Managed(players=players, referees=2)
    for number in (1, 2):
        managed.register("referee", number)
    for number in range(1, players + 1):
        managed.register("player", number, display_name=f"{NAMES[number % len(NAMES)]} {number}")
    while managed.manager.ledger.finished_rounds < rounds:
        managed.answer_pings()
        managed.answer_all()
        for number, match_id in enumerate(managed.open_matches):
            managed.report(match_id, ("A", "B", None, "-B")[number % 4])
        managed.wait(0.5)
    view = completed(league_view(managed.manager), sections_of(managed.manager), {})
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(Renderer(SITE).league(view), encoding="utf-8")
    for name in ASSETS:
        (folder / "assets" / name).write_bytes(asset(name))
    return folder


@contextmanager
def seen(browser: Browser, site: Path, name: str, screen: Screen) -> Iterator[Page]:
    """A page on such a screen."""
    path, _, query = name.partition("?")
    address = (site / path).as_uri() + ("?" + query if query else "")
    view = {"width": screen.width, "height": screen.height}
    with opened(browser, address, viewport=view, color_scheme=screen.scheme, reduced_motion="reduce") as page:
        yield page


def keep_picture(page: Page, name: str, screen: Screen) -> None:
    """For people to look at."""
    FOLDER.mkdir(exist_ok=True)
    stem = name.replace(".html", "").replace("/", "-").replace("?", "-")
    page.screenshot(path=FOLDER / f"{stem}-{screen.name}-{screen.scheme}.png", full_page=True)


def main() -> int:
    """The picture of the README."""
    screen = Screen("readme", 1280, 732, "light")
    with TemporaryDirectory() as folder:
        site = played(Path(folder))
        with chromium() as browser, seen(browser, site, "index.html", screen) as page:
            page.screenshot(path=README)
    return 0


if __name__ == "__main__":
    sys.exit(main())
