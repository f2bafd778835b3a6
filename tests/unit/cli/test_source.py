"""A league is named in the same way everywhere: by an address with or without its scheme, or by a journal."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from league.cli import source
from league.cli.main import main
from league.cli.pages import Pages


def named(*argv: str) -> source.LeagueSource:
    parser = argparse.ArgumentParser()
    source.add_league_options(parser)
    return source.source_of(parser.parse_args(argv))


@pytest.mark.parametrize(
    ("argv", "base"),
    [
        (("http://127.0.0.1:8000",), "http://127.0.0.1:8000"),
        (("https://example.org/mcp",), "https://example.org"),
        (("127.0.0.1:8000",), "http://127.0.0.1:8000"),
        (("127.0.0.1:8000/mcp",), "http://127.0.0.1:8000"),
        (("localhost",), "http://localhost"),
        (("[::1]:8000",), "http://[::1]:8000"),
        (("--manager", "127.0.0.1:8000/mcp"), "http://127.0.0.1:8000"),
    ],
)
def test_an_address_is_understood_in_every_form(argv: tuple[str, ...], base: str) -> None:
    pages = named(*argv)
    assert isinstance(pages, Pages)
    assert pages.base == base


@pytest.mark.parametrize("command", ["standings", "schedule", "agents", "statistics"])
def test_anything_else_is_a_journal(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([command, str(tmp_path / "none.db")]) == 1
    assert "none.db" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    Path("odd:8000").write_text("", "utf-8")
    assert main([command, "odd:8000"]) == 1
    assert "odd:8000" in capsys.readouterr().err
