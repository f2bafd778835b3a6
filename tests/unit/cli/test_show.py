"""`league agents`: one line per agent in a terminal of usual width, and all about one of them."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from league.cli import show
from league.cli.source import settle_source
from league.terminal import CommandError
from league.terminal.display import width

CLAUSES = [
    {"code": "E003", "requirement": f"LEAGUE_REGISTER_REQUEST.player_meta.field_{number}"} for number in range(9)
]


def agent(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "agent_id": f"P{number:02d}",
        "role": "player",
        "display_name": f"A third-party player with a long name, number {number}",
        "shown_name": "x",
        "version": "1.0.0",
        "endpoint": f"http://agents.students.university.example:{8100 + number}/mcp/v2",
        "state": "ACTIVE",
        "status": "playing",
        "game_types": ["even_odd"],
        "technical_losses": 3,
        "convention": "NESTED",
        "deviations": CLAUSES,
        "contested": [],
        "conditions": [],
        "findings": "the agent at http://a.example answers with HTTP status 500: its own code failed. " * 2,
        "in_trouble": True,
        **changed,
    }


def document(**changed: Any) -> dict[str, Any]:
    refused = {
        "at": 1.0, "request": "registration", "role": "player", "name": "Eve", "endpoint": "http://10.0.0.7:8101/mcp",
        "match_id": "", "code": "E022", "detail": "the name 'Eve' is taken: choose another one " * 5,
    }  # fmt: skip
    silent = [{"agent_id": "P02", "since": 1_750_000_000.0, "why": "connection refused"}]
    return {
        "agents": [agent(number) for number in range(1, 41)],
        "not_answering": silent,
        "applicants": [],
        "rejected": [],
        "refused": [refused],
        **changed,
    }


class Pages:
    def __init__(self, shown: dict[str, Any]) -> None:
        self._shown = shown

    def get(self, path: str) -> Any:
        assert path == "/api/agents"
        return self._shown


def lines(agent_id: str | None = None) -> list[str]:
    source = Pages(document())
    found = show._find_agents(source, argparse.Namespace(agent_id=agent_id))
    return "\n".join(show._show_agents(source, found)).split("\n")


def test_forty_players_by_others_fit_into_a_hundred_columns() -> None:
    shown = lines()
    assert max(map(width, shown)) <= 100
    assert [line.split()[0] for line in shown[1:41]] == [f"P{number:02d}" for number in range(1, 41)]
    assert shown[1].split()[-2:] == ["9", shown[1].split()[-1]]
    assert " cannot play " in shown[1]
    assert " not answering " in shown[2]
    assert "What to change: league agents P01" in shown


def test_all_about_one_agent() -> None:
    shown = lines("P02")
    text = " ".join(" ".join(shown).split())
    assert agent(2)["endpoint"] in text
    assert agent(2)["display_name"] in text
    assert "not answering since" in text
    assert "HTTP status 500: its own code failed." in text
    assert all(clause["requirement"] in text for clause in CLAUSES)


def test_an_agent_that_is_not_there_is_an_error() -> None:
    with pytest.raises(CommandError, match="there is no agent 'P99'"):
        lines("P99")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((None, None), (None, None)),
        (("P08", None), ("P08", None)),
        (("P08", "127.0.0.1:8000"), ("P08", "127.0.0.1:8000")),
        (("127.0.0.1:8000", "P08"), ("P08", "127.0.0.1:8000")),
        (("http://127.0.0.1:8000", None), (None, "http://127.0.0.1:8000")),
    ],
)
def test_an_agent_and_its_league_are_named_in_any_order(
    words: tuple[str | None, str | None], expected: tuple[str | None, str | None]
) -> None:
    args = argparse.Namespace(agent_id=words[0], source=words[1], manager=None, journal=None)
    settle_source(args)
    assert (args.agent_id, args.manager) == expected


def test_a_match_and_its_league_are_named_in_any_order() -> None:
    args = argparse.Namespace(match_id="league-data/spring", source="R1M1", manager=None, journal=None)
    settle_source(args)
    assert (args.match_id, args.journal) == ("R1M1", "league-data/spring")
    with pytest.raises(CommandError, match="name the match too"):
        settle_source(argparse.Namespace(match_id="127.0.0.1:8000", source=None, manager=None, journal=None))
