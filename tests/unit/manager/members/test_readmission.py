"""`league readmit`: a member comes back from a new address without its token, because the operator says so."""

from __future__ import annotations

import pytest

from league import events as e
from league.machine import Acknowledged
from league.protocol.message.messages import RegisterResponse
from tests.support.managed import Managed, agent_of, code_of

ELSEWHERE = "http://127.0.0.1:9999/mcp"


def back(league: Managed, role: str = "player", endpoint: str = ELSEWHERE) -> RegisterResponse:
    """The member comes back without anything but its name."""
    return league.register(role, 1, contact_endpoint=endpoint, enrolment_key=None)


def started() -> Managed:
    league = Managed(players=4).fill()
    league.answer_all()
    return league


@pytest.mark.requirement("REGISTER.readmitted")
@pytest.mark.parametrize("target", ["P01", "Player 1"])
def test_a_player_keeps_its_id_its_points_and_its_matches(target: str) -> None:
    league = started()
    match_id = next(one for one in league.open_matches if "P01" in league.manager.ledger.matches[one].players)
    first = league.manager.ledger.matches[match_id].player_a == "P01"
    league.report(match_id, "A" if first else "B")
    league.answer_all()
    before = league.tokens["P01"]
    assert code_of(back(league)) == "E019"
    assert league.operate("readmit", target) == Acknowledged()
    answer = back(league)
    assert agent_of(answer) == "P01"
    member = league.manager.ledger.roster.members["P01"]
    assert (member.endpoint, list(member.credentials.tokens)) == (ELSEWHERE, [2])
    row = next(row for row in league.manager.standings if row.player_id == "P01")
    assert row.points == 3
    league.tokens["P01"] = before
    assert code_of(league.request(league.query_of("P01", "GET_STANDINGS"))) == "E012", "the old tokens have ended"
    league.tokens["P01"] = str(answer.auth_token)
    assert league.query("P01", "GET_STANDINGS").success
    league.restart()
    assert league.manager.ledger.roster.members["P01"].endpoint == ELSEWHERE
    league.play()


@pytest.mark.requirement("REGISTER.readmitted")
def test_the_order_is_good_for_one_registration() -> None:
    league = started()
    league.operate("readmit", "P01")
    assert agent_of(back(league)) == "P01"
    third = "http://127.0.0.1:9998/mcp"
    assert code_of(back(league, endpoint=third)) == "E019"
    assert league.operate("readmit", "P01") == Acknowledged()
    assert agent_of(back(league, endpoint=third)) == "P01"


@pytest.mark.requirement("REGISTER.readmitted")
def test_the_process_at_the_old_address_is_turned_away() -> None:
    league = started()
    before = league.tokens["P01"]
    league.operate("readmit", "P01")
    back(league)
    again = league.registration("player", 1, auth_token=before)
    assert code_of(league.request(again)) in ("E012", "E019")


def test_a_referee_comes_back_and_goes_on_with_its_matches() -> None:
    league = Managed(players=4).fill()
    league.answer_all()
    assert code_of(back(league, "referee")) in ("E019", "E043", "E022")
    league.operate("readmit", "REF01")
    assert agent_of(back(league, "referee")) == "REF01"
    assert league.manager.ledger.roster.members["REF01"].endpoint == ELSEWHERE


def test_the_referee_of_a_running_match_is_told_where_its_player_is_now() -> None:
    league = started()
    before = len(league.told("REF01", "ROUND_ANNOUNCEMENT"))
    league.operate("readmit", "P01")
    back(league)
    told = league.told("REF01", "ROUND_ANNOUNCEMENT")
    assert len(told) == before + 1
    (match,) = told[-1].message.matches  # type: ignore[union-attr]
    assert ELSEWHERE in (match.player_A_endpoint, match.player_B_endpoint)


def test_nobody_else_can_use_the_order() -> None:
    league = started()
    league.operate("readmit", "P01")
    stranger = league.register("player", 7, contact_endpoint=ELSEWHERE)
    assert code_of(stranger) == "E019"
    assert league.of(e.AgentMoved) == []
    assert agent_of(back(league)) == "P01"


@pytest.mark.parametrize(("target", "code"), [("P99", "E005"), ("Nobody", "E005")])
def test_an_order_for_nobody_is_refused(target: str, code: str) -> None:
    assert code_of(started().operate("readmit", target)) == code


def test_an_order_that_changes_nothing_is_refused() -> None:
    league = started()
    league.operate("readmit", "P01")
    assert code_of(league.operate("readmit", "P01")) == "E023"
    league.operate("withdraw", "P02")
    assert code_of(league.operate("readmit", "P02")) == "E023"


@pytest.mark.requirement("REGISTER.readmitted")
def test_whoever_is_refused_for_its_name_is_told_what_helps() -> None:
    league = Managed(players=4, start="manual")
    league.register("player", 1)
    answer = back(league)
    assert code_of(answer) == "E022"
    assert "--name" in str(answer.reason)
    assert "league readmit P01" in str(answer.reason)
