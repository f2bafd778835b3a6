"""What a person must know is counted: events, settings of a league, options. A new one replaces an old one, or is a
decision (docs/decisions). `pytest -s` prints the lists."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import fields

from league.cli.main import command_parsers
from league.events import EVENTS
from league.settings import LeagueSettings

MOST_EVENTS = 66
MOST_SETTINGS = 19
MOST_OPTIONS = {"manager": 29, "referee": 20, "player": 24}


def options_of(command: str) -> list[str]:
    """The options that a command takes, hidden ones included, by their longest names; --help is not counted."""
    actions = command_parsers()[command]._actions
    options = (max(action.option_strings, key=len) for action in actions if action.option_strings)
    return sorted(option for option in options if option != "--help")


def counted(kind: str, names: Sequence[str], limit: int) -> None:
    listing = f"{len(names)} {kind} (at most {limit}): {', '.join(names)}"
    print(listing)
    assert len(names) <= limit, f"replace one, or decide that it is worth it and say why in docs/decisions: {listing}"


def test_there_are_few_kinds_of_events() -> None:
    counted("events", sorted(event.__name__ for event in EVENTS), MOST_EVENTS)


def test_a_league_has_few_settings() -> None:
    counted("settings of a league", [field.name for field in fields(LeagueSettings)], MOST_SETTINGS)


@pytest.mark.parametrize("role", MOST_OPTIONS)
def test_a_role_has_few_options(role: str) -> None:
    counted(f"options of league {role}", options_of(role), MOST_OPTIONS[role])


def test_one_too_many_is_found() -> None:
    counted("events", ["A", "B"], 2)
    with pytest.raises(AssertionError, match="A, B, C"):
        counted("events", ["A", "B", "C"], 2)
