"""A real browser on the pages of a league: pages that must be without fault, and what they show as data."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.support.processes import Processes

WATCHDOG_MS = 120_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COLUMNS = ("rank", "points", "played", "wins", "draws", "losses")
PLACES = (0, 3, 4, 5, 6, 7)
"""Where they stand in a row of the page."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of this machine."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "there is no Chromium here: `make browser` installs it"
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=found, args=flags)
        yield started
        started.close()


@contextmanager
def opened(
    browser: Browser, address: str, allowed: Sequence[str] = (), failures: Sequence[str] = (), **options: Any
) -> Iterator[Page]:
    """A page that is as it should be: no error in its console, and nothing asked of anybody else. `allowed` and
    `failures` are what its requests may meet: HTTP statuses, and errors of the network."""
    context: BrowserContext = browser.new_context(**options)
    context.set_default_timeout(WATCHDOG_MS)
    page = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    home = address.partition("//")[0] + "//" + address.partition("//")[2].partition("/")[0]
    yield page
    context.close()
    assert [one for one in asked if not one.startswith(home)] == []
    # A manager that is gone for a while is no error of the page.
    expected = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE", *failures, *(f"status of {one} " for one in allowed))
    unexpected = [error for error in errors if not any(one in error for one in expected)]
    assert unexpected == [], unexpected


def table(page: Page) -> list[dict[str, Any]]:
    """The standings as the page shows them."""
    rows: list[list[str]] = page.eval_on_selector_all(
        "#standings > tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )
    ids: list[str] = page.eval_on_selector_all("#standings > tr", "rows => rows.map(row => row.id)")
    return [
        {
            "player_id": one.removeprefix("standing-"),
            **{name: int(row[at]) for name, at in zip(COLUMNS, PLACES, strict=True)},
        }
        for one, row in zip(ids, rows, strict=True)
    ]


def standings(processes: Processes, *source: str) -> list[dict[str, Any]]:
    """The same as `league standings --json` has them."""
    done = processes.run("standings", "--json", *source)
    assert done.returncode == 0, done.stderr
    return [{name: one[name] for name in ("player_id", *COLUMNS)} for one in json.loads(done.stdout)]


def measures(page: Page) -> dict[str, str]:
    """Points per match as the page shows them."""
    found: dict[str, str] = page.eval_on_selector_all(
        "#measures > tr", "rows => Object.fromEntries(rows.map(row => [row.id, row.cells[2].textContent]))"
    )
    return found


def points_per_match(processes: Processes, address: str) -> dict[str, str]:
    """The same as `league statistics --json` has them."""
    rows = json.loads(processes.run("statistics", "--json", address).stdout)["points"]
    return {f"measure-{one['record']['player_id']}": f"{one['points_per_match']:.2f}" for one in rows}


def problems(page: Page) -> list[str]:
    """What somebody with a screen reader, or weak eyes, would stumble over."""
    page.evaluate(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations'], preload: false})")
    serious = (one for one in found["violations"] if one["impact"] in ("serious", "critical"))
    return [f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in serious]
