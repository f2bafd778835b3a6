"""The page "Write a feature" shows the example as it is, and the example works as an installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import ROOT, blocks

PAGE = (ROOT / "docs" / "how-to" / "write-a-feature.md").read_text("utf-8")
EXAMPLE = ROOT / "examples" / "features" / "streaks"
PACKAGE = EXAMPLE / "league_streaks"
SHOWN = (
    EXAMPLE / "pyproject.toml",
    PACKAGE / "__init__.py",
    PACKAGE / "streaks.py",
    PACKAGE / "templates" / "streaks_section.html",
    PACKAGE / "templates" / "streaks_parts.html",
)
LEAGUE = """
import asyncio, json, sys
import league
from urllib.request import urlopen


def fetch(url):
    with urlopen(url, timeout=30) as answer:
        return answer.read().decode()


async def play():
    async with league.run(["always_even", "always_odd", "random"], journal=sys.argv[1]) as running:
        await running.finished()
        base = running.manager.removesuffix("/mcp")
        shown = json.loads(await asyncio.to_thread(fetch, f"{base}/api/streaks"))
        page = ""
        while "streak-P01" not in page:
            page = await asyncio.to_thread(fetch, f"{base}/")
        print(json.dumps([shown, page]))


asyncio.run(play())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed as a reader installs it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder), str(EXAMPLE)], check=True, capture_output=True)
    return folder


def run(site: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT / 'src'}"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_page_shows_the_example_as_it_is() -> None:
    shown = [block.text for block in blocks(PAGE) if block.language in ("toml", "python", "html")]
    assert shown == [path.read_text("utf-8") for path in SHOWN]


@pytest.mark.slow
def test_an_installed_feature_is_a_command_a_page_and_a_section(site: Path, tmp_path: Path) -> None:
    live = run(site, "-c", LEAGUE, str(tmp_path / "cup"), cwd=tmp_path)
    assert live.returncode == 0, live.stderr
    document, page = json.loads(live.stdout)
    assert set(document["streaks"]) == {"P01", "P02", "P03"}
    assert "Longest winning streaks" in page
    stored = run(site, "-m", "league", "streaks", "--journal", str(tmp_path / "cup"), "--json", cwd=tmp_path)
    assert stored.returncode == 0, stored.stderr
    assert json.loads(stored.stdout) == document


def test_a_broken_feature_is_named_and_harms_nothing_else(tmp_path: Path) -> None:
    described = tmp_path / "league_broken-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: league-broken\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[league.features]\nbroken = no_such_module:FEATURE\n")
    unknown = run(tmp_path, "-m", "league", "streaks", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "there is no command 'streaks'" in unknown.stderr
    assert (
        "the feature 'broken' cannot be used: ModuleNotFoundError: No module named 'no_such_module'" in unknown.stderr
    )
    assert run(tmp_path, "-m", "league", "spec", "4.1", cwd=tmp_path).returncode == 0
