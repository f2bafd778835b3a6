"""The page on OpenSpiel, typed in; and what it says of the games that cannot be played."""

from __future__ import annotations

import re
from pathlib import Path

import pyspiel
import pytest

from league_openspiel.family import listed_obstacle, names
from tests.support.pages import Reader, blocks
from tests.support.processes import Processes

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "play-openspiel.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_whoever_types_in_the_page_plays_chess_and_studies_two_bots(processes: Processes) -> None:
    reader = Reader(processes)
    reader.follow(blocks(PAGE))
    reader.leave()


def test_the_page_says_why_each_other_game_is_not_played() -> None:
    rows = dict(re.findall(r"^\| (`.*`) \| (.*) \|$", PAGE.partition("## Which games")[2], re.MULTILINE))
    said = {game: reason for games, reason in rows.items() for game in re.findall(r"`([a-z0-9_]+)`", games)}
    others = {kind.short_name: listed_obstacle(kind) for kind in pyspiel.registered_games()}
    assert said == {game: reason for game, reason in others.items() if reason and game != "crazy_eights"}
    assert f"{len(names())} games are listed. Of OpenSpiel's {len(others)}, these {len(said)} others" in PAGE
