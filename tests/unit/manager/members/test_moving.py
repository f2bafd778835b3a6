"""A member that comes back at another endpoint: with its token it is moved, without it told who has its name."""

from __future__ import annotations

import pytest

from league import events as e
from league.manager.league_manager import LeagueManager
from league.protocol.endpoints import EndpointPolicy
from league.protocol.message.messages import RegisterResponse
from tests.support.managed import Managed, agent_of, code_of

ELSEWHERE = "http://127.0.0.1:9999/mcp"


def moved(league: Managed, role: str = "player", agent_id: str = "P01", endpoint: str = ELSEWHERE) -> RegisterResponse:
    return league.register(role, 1, contact_endpoint=endpoint, auth_token=league.tokens[agent_id])


def endpoint_of(league: Managed, agent_id: str) -> str:
    return league.manager.ledger.roster.members[agent_id].endpoint


@pytest.mark.parametrize(("role", "agent_id"), [("player", "P01"), ("referee", "REF01")])
@pytest.mark.requirement("REGISTER.moves")
def test_a_member_with_its_token_keeps_its_id_and_is_called_at_its_new_endpoint(role: str, agent_id: str) -> None:
    league = Managed(players=2, referees=1, start="manual")
    league.register(role, 1)
    assert agent_of(moved(league, role, agent_id)) == agent_id
    assert endpoint_of(league, agent_id) == ELSEWHERE
    league.restart()
    assert endpoint_of(league, agent_id) == ELSEWHERE
    assert len(league.of(e.AgentRegistered)) == 1
    assert [one.to.endpoint for one in league.calls("ping")] == [ELSEWHERE]
    assert agent_of(
        league.register(role, 2, contact_endpoint=f"http://127.0.0.1:{8101 if role == 'player' else 8001}/mcp")
    )


@pytest.mark.requirement("REGISTER.moves")
def test_the_referee_of_a_running_match_is_told_where_its_player_lives_now() -> None:
    league = Managed(players=2).fill()
    while not league.told("REF01", "ROUND_ANNOUNCEMENT"):
        league.answer_all()
        league.wait(0.5)
    league.answer_all()
    before = len(league.told("REF01", "ROUND_ANNOUNCEMENT"))
    moved(league)
    said = league.told("REF01", "ROUND_ANNOUNCEMENT")
    assert len(said) == before + 1
    (match,) = said[-1].message.matches  # type: ignore[union-attr]
    assert ELSEWHERE in (match.player_A_endpoint, match.player_B_endpoint)


def test_a_token_of_lesser_standing_moves_nobody() -> None:
    league = Managed(players=2)
    league.register("player", 1)
    league.register("player", 1)  # by name and address alone
    assert code_of(moved(league)) == "E022"
    assert league.of(e.AgentMoved) == []


def test_nobody_moves_with_the_token_of_another_name_or_to_the_endpoint_of_another_agent() -> None:
    league = Managed(players=4)
    league.register("player", 1)
    league.register("player", 2)
    assert code_of(moved(league, endpoint="http://127.0.0.1:8102/mcp")) in ("E022", "E044")
    assert code_of(moved(league, agent_id="P02")) == "E022"
    assert (endpoint_of(league, "P01"), league.of(e.AgentMoved)) == ("http://127.0.0.1:8101/mcp", [])


def test_nobody_moves_to_where_the_policy_lets_nobody_be() -> None:
    league = Managed(players=4)
    league.machine = LeagueManager(league.settings, bytes, {}, endpoints=EndpointPolicy("local"))
    league.register("player", 1)
    assert code_of(moved(league, endpoint="http://203.0.113.9:8101/mcp")) == "E026"
    assert league.of(e.AgentMoved) == []


@pytest.mark.parametrize(("players", "code"), [(3, "E022"), (2, "E019")])
def test_without_the_token_it_is_told_who_has_its_name_and_how_to_come_back(players: int, code: str) -> None:
    league = Managed(players=players).fill(players=2)
    answer = league.register("player", 1, contact_endpoint=ELSEWHERE)
    assert code_of(answer) == code
    assert "this name is that of P01, at http://127.0.0.1:8101/mcp" in str(answer.reason)
    assert "journal" in str(answer.reason)
