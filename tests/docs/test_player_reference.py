"""The pages about `Player` name everything there is, and their code does what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import league
from league import LeagueResult, PastMatch, Player, ReceivedError, Round, Standings, Turn
from league.player.news import RoundMatch
from tests.support.processes import Processes

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "player.md").read_text("utf-8")
HOW_TO = (DOCS / "how-to" / "follow-the-league.md").read_text("utf-8")
INNER = {"choose", "connect", "hear", "match_over", "plays"}
"""What the league asks of a player, not its author."""


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def named(heading: str) -> str:
    _, _, rest = REFERENCE.partition(f"## {heading}\n")
    return rest.partition("\n## ")[0]


def missing(names: set[str], text: str) -> set[str]:
    return {name for name in names if not re.search(rf"\b{name}\b", text)}


def test_everything_a_player_may_use_is_in_the_reference() -> None:
    assert missing(public(Player) - INNER, REFERENCE.partition("## `Turn`")[0]) == set()


@pytest.mark.parametrize("cls", [Turn, Standings, Round, ReceivedError, LeagueResult, PastMatch])
def test_everything_it_is_told_is_in_the_reference(cls: type) -> None:
    names = public(cls) | (public(RoundMatch) if cls is Round else set())
    assert missing(names, named(f"`{cls.__name__}`")) == set()


def test_everything_that_can_be_imported_is_in_the_reference() -> None:
    elsewhere = {"ChooseParityCall", "GameMoveCall", "LeagueError", "Parity", "run", "tournament"}
    elsewhere |= {"Audit", "BaseRules", "Comparison", "Game", "RunningLeague", "TournamentResult"}
    assert missing(set(league.__all__) - elsewhere, REFERENCE) == set()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []


def test_the_players_of_the_how_to_play_a_league_as_printed(processes: Processes) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", HOW_TO, re.DOTALL | re.MULTILINE)
    names = [re.search(r"class (\w+)", one)[1] for one in blocks]  # type: ignore[index]
    manager = processes.manager(players=len(blocks))
    processes.referee(manager)
    players = []
    for name, block in zip(names, blocks, strict=True):
        file = processes.folder / f"{name.lower()}.py"
        file.write_text(f'{block}\n\nfrom league import serve\n\nserve({name}(name="{name}"))\n', "utf-8")
        players.append(processes.script(file, manager))
    assert [one.wait() for one in players] == [0, 0, 0]
    climber, scout, diarist = players
    assert len([one for one in climber.said("round ") if " in R" in one]) == 2, "of three players one rests"
    assert scout.said("1 of ") == ["3"]
    (end,) = diarist.said("champion: ")
    assert re.fullmatch(r"(Climber|Scout|Diarist) - you: [123] [0-9]", end)
    assert not any("failed" in one.output or "E0" in one.output for one in players)
