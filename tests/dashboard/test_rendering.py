"""Templates, and what is kept of them."""

from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from league.features.dashboard import rendering
from league.features.dashboard.rendering import Links, Renderer

PAGE = "There is no match R9M9."


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of compiled modules, and of compiled templates, if Python may write it."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return Path(cache_from_source(rendering.__file__)).parent


def test_templates_are_compiled_once(kept: Path) -> None:
    kept.mkdir(parents=True)
    page = Renderer(Links()).missing(PAGE)
    compiled = {file.name: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert len(compiled) == 2  # the page, and the one that it extends
    assert Renderer(Links()).missing(PAGE) == page
    assert {file.name: file.stat().st_mtime_ns for file in kept.iterdir()} == compiled


def test_a_damaged_template_is_compiled_again(kept: Path) -> None:
    kept.mkdir(parents=True)
    page = Renderer(Links()).missing(PAGE)
    for file in kept.iterdir():
        file.write_bytes(b"")
    assert Renderer(Links()).missing(PAGE) == page


def test_pages_are_shown_where_nothing_can_be_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PAGE in Renderer(Links()).missing(PAGE)
    assert not kept.exists()
    kept.mkdir(parents=True)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert PAGE in Renderer(Links()).missing(PAGE)
    assert not list(kept.iterdir())
