"""Who can speak to whom: matches of players that a third-party referee cannot call (T-18)."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.hosting.narration import MANAGER
from tests.support.managed import Managed

FOREIGN: dict[str, Any] = {"token_scheme": None}


def league_with(*referees: dict[str, Any], convention: str = "TOOLS") -> Managed:
    """A league of four players, of which P01 is called in this convention, before its last player registers."""
    league = Managed(players=4, referees=len(referees), enrolment="open")
    for number, referee in enumerate(referees, start=1):
        league.register("referee", number, **referee)
    league.register("player", 1)
    learned = e.ConventionLearned(
        at=league.now, agent_id="P01", endpoint="http://127.0.0.1:8101/mcp", convention=convention
    )
    league.events.append(learned)
    league.manager.apply(learned)
    for number in (2, 3):
        league.register("player", number)
    return league


def referees_of(league: Managed, player: str) -> set[str | None]:
    league.register("player", 4)
    league.answer_all()
    matches = league.manager.ledger.matches.values()
    return {match.referee_id for match in matches if player in match.players}


@pytest.mark.requirement("DIALECT.conversant")
def test_matches_of_a_player_that_a_referee_cannot_call_go_to_one_of_the_operators_own() -> None:
    league = league_with(FOREIGN, {})
    assert referees_of(league, "P01") == {"REF02"}


@pytest.mark.requirement("DIALECT.conversant")
def test_a_referee_that_came_in_openly_gets_nothing_more_for_the_conventions_it_speaks() -> None:
    league = league_with(FOREIGN, {"enrolment_key": None})
    assert "REF01" in referees_of(league, "P01")


@pytest.mark.requirement("DIALECT.conversant")
def test_a_referee_that_shows_the_key_later_is_the_operators_own_and_still_shares_its_draws() -> None:
    league = league_with(FOREIGN, {"enrolment_key": None})
    league.register("referee", 2)
    (renewed,) = league.of(e.TokenRenewed)
    assert (renewed.agent_id, renewed.shows_key, renewed.queries_only) == ("REF02", True, False)
    assert referees_of(league, "P01") == {"REF02"}
    assert league.manager.ledger.roster.members["REF02"].as_referee.came_openly


def test_everybody_who_can_speak_to_both_shares_the_matches() -> None:
    league = league_with(FOREIGN, {}, convention="SPEC")
    assert "REF01" in referees_of(league, "P01")


@pytest.mark.requirement("DIALECT.conversant")
def test_the_operator_is_told_at_the_registration_and_at_the_start() -> None:
    league = league_with(FOREIGN, {})
    assert [(referee.agent_id, player.agent_id) for referee, player in league.manager.speechless()] == [
        ("REF01", "P01")
    ]
    league.register("player", 4)
    (scheduled,) = league.of(e.ScheduleMade)
    line = MANAGER[e.ScheduleMade](league.manager, scheduled)
    assert "no calling convention in common: REF01 (SPEC) and P01 (TOOLS)" in line
    registered = league.of(e.AgentRegistered)
    assert "REF01 (SPEC) and P01 (TOOLS)" in MANAGER[e.AgentRegistered](league.manager, registered[2])
    assert "in common" not in MANAGER[e.AgentRegistered](league.manager, registered[3])
