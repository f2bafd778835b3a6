"""Enrolment by approval: who has to wait, who is on the operator's list, and what an approval is good for."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Acknowledged
from league.manager.state import roster
from league.protocol.message.messages import RegisterResponse
from league.reading import views
from tests.support.managed import Managed, code_of

AWAY = "203.0.113.9"


def by_approval(**changed: Any) -> Managed:
    return Managed(enrolment="approve", **changed)


def listed(league: Managed) -> list[tuple[str, str]]:
    shown = views.agents(league.manager)["applicants"]
    return [(one["applicant_id"], one["display_name"]) for one in shown]


@pytest.mark.requirement("REGISTER.pending")
def test_an_agent_that_was_not_approved_waits_and_is_on_the_list() -> None:
    league = by_approval()
    answer = league.request(league.registration("player", 1))
    assert isinstance(answer, RegisterResponse)
    assert (answer.status, answer.error_code) == ("REJECTED", "E043")
    assert answer.context == {"pending": True, "applicant_id": "A01"}
    assert "A01" in str(answer.reason)
    assert code_of(league.register("referee", 1)) == "E043"
    assert listed(league) == [("A01", "Player 1"), ("A02", "Referee 1")]
    assert league.of(e.AgentRegistered) == []


@pytest.mark.parametrize(
    "called", ["A01", "Player 1", "player  1", "http://127.0.0.1:8101/mcp", "HTTP://127.0.0.1:8101/mcp/"]
)
def test_an_approved_agent_becomes_a_member_when_it_comes_again(called: str) -> None:
    league = by_approval()
    league.register("player", 1)
    assert league.operate("approve", called) == Acknowledged()
    assert listed(league) == []
    assert league.of(e.AgentRegistered) == []
    assert code_of(league.register("player", 1)) == ""
    assert code_of(league.register("player", 1)) == ""
    assert code_of(league.register("player", 2)) == "E043"


@pytest.mark.requirement("REGISTER.rejected_by_operator")
def test_a_rejected_agent_is_told_so_for_good_and_survives_a_restart() -> None:
    league = by_approval()
    league.register("player", 1)
    assert league.operate("reject", "Player 1", key="k") == Acknowledged()
    league.restart()
    assert league.operate("reject", "Player 1", key="k") == Acknowledged()
    answer = league.request(league.registration("player", 1))
    assert isinstance(answer, RegisterResponse)
    assert (answer.status, answer.error_code, answer.context) == ("REJECTED", "E043", {"applicant_id": "A01"})
    shown = views.agents(league.manager)
    assert [one["applicant_id"] for one in shown["rejected"]] == ["A01"]
    assert (shown["applicants"], shown["refused"], len(league.orders("reject"))) == ([], [], 1)


def test_the_operator_may_think_again_until_the_agent_is_in() -> None:
    league = by_approval()
    league.register("player", 1)
    for order in ("reject", "approve") * 2:
        assert league.operate(order, "A01") == Acknowledged()
        assert code_of(league.operate(order, "A01")) == "E023"
    assert code_of(league.register("player", 1)) == ""
    assert code_of(league.operate("reject", "A01")) == "E023"
    assert code_of(league.operate("reject", "Nobody")) == "E005"
    assert (listed(league), views.agents(league.manager)["rejected"]) == ([], [])


def test_a_rejected_applicant_leaves_its_place_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MOST_WAITING", 1)
    league = by_approval()
    league.register("player", 1)
    league.register("player", 2)
    assert listed(league) == [("A01", "Player 1")]
    league.operate("reject", "A01")
    league.register("player", 2)
    assert listed(league) == [("A02", "Player 2")]


def test_the_same_applicant_is_listed_once_however_often_it_asks() -> None:
    league = by_approval()
    for _ in range(5):
        league.register("player", 1)
    league.restart()
    league.register("player", 1)
    assert len(league.of(e.AgentApplied)) == 1


def test_an_approval_survives_a_restart() -> None:
    league = by_approval()
    league.register("player", 1)
    league.operate("approve", "A01", key="k")
    league.restart()
    assert league.operate("approve", "A01", key="k") == Acknowledged()
    assert len(league.orders("approve")) == 1
    assert code_of(league.register("player", 1)) == ""


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"game_types": ["chess"]}, "E027"),
        ({"display_name": "Player 1"}, "E022"),
        ({"contact_endpoint": "http://127.0.0.1:8101/mcp"}, "E044"),
    ],
)
@pytest.mark.requirement("REGISTER.pending")
def test_who_could_not_come_in_anyway_is_told_so_and_is_no_applicant(changed: dict[str, Any], code: str) -> None:
    league = by_approval()
    league.register("player", 1)
    league.operate("approve", "A01")
    league.register("player", 1)
    assert code_of(league.register("player", 2, **changed)) == code
    assert len(league.of(e.AgentApplied)) == 1


def test_nobody_waits_for_a_place_that_cannot_be_had() -> None:
    league = by_approval(players=2)
    for number, role in ((1, "player"), (2, "player"), (1, "referee")):
        league.register(role, number)
        league.operate("approve", f"{role.title()} {number}")
        league.register(role, number)
    assert league.manager.ledger.is_running
    assert code_of(league.register("player", 3)) == "E019"
    assert code_of(league.register("referee", 2)) == "E043"


def test_an_approval_is_good_for_one_name_endpoint_and_address() -> None:
    league = by_approval()
    mine = league.registration("player", 1)
    league.request(mine)
    league.operate("approve", "A01")
    assert code_of(league.request(mine, origin=AWAY)) == "E043"
    elsewhere = league.registration("player", 1, contact_endpoint="http://127.0.0.1:9999/mcp")
    assert code_of(league.request(elsewhere)) == "E043"
    assert code_of(league.request(mine)) == ""


def test_of_several_with_one_name_the_operator_names_one_by_its_id() -> None:
    league = by_approval()
    mine = league.registration("player", 1)
    league.request(mine)
    league.request(mine, origin=AWAY)
    refused = league.operate("approve", "Player 1")
    assert code_of(refused) == "E023"
    assert f"A02 from {AWAY}" in str(refused)
    assert league.operate("approve", "A02") == Acknowledged()
    assert code_of(league.request(mine, origin=AWAY)) == ""


def test_a_name_cannot_stand_in_for_the_id_of_another() -> None:
    league = by_approval()
    league.register("player", 1)
    assert code_of(league.register("player", 2, display_name="A01")) == "E043"
    assert listed(league) == [("A01", "Player 1"), ("A02", "A01")]
    league.operate("approve", "A01")
    assert listed(league) == [("A02", "A01")]


@pytest.mark.requirement("REGISTER.comes_back")
@pytest.mark.requirement("REGISTER.numbered_name")
@pytest.mark.parametrize("answers", [True, False])
def test_an_approval_survives_the_number_that_a_name_gets(answers: bool) -> None:
    league = by_approval(players=4)
    league.holders_answer = answers
    for number in (1, 2):
        league.register("player", number, display_name="Ann")
    for applicant in ("A01", "A02"):
        league.operate("approve", applicant)
    for number in (1, 2):
        assert code_of(league.register("player", number, display_name="Ann")) == ""
    assert [member.name.display_name for member in league.manager.ledger.roster.of_role("player")] == ["Ann", "Ann 2"]
    assert list(league.manager.ledger.roster.applicants.approved) == []


def test_an_applicant_that_came_with_a_taken_name_is_listed_once() -> None:
    league = by_approval(players=4)
    league.holders_answer = True
    league.register("player", 1, display_name="Ann")
    league.operate("approve", "A01")
    league.register("player", 1, display_name="Ann")
    for _ in range(3):
        assert code_of(league.register("player", 2, display_name="Ann")) == "E043"
    assert listed(league) == [("A02", "Ann 2")]
    league.operate("approve", "A02")
    assert [applicant["applicant_id"] for applicant in views.agents(league.manager)["approved"]] == ["A02"]
    assert code_of(league.register("player", 2, display_name="Ann")) == ""


def test_an_approval_is_good_for_one_registration() -> None:
    league = by_approval()
    for role in ("player", "referee"):
        league.register(role, 1)
        league.operate("approve", f"{role.title()} 1")
        assert code_of(league.register(role, 1, enrolment_key=None)) == ""
    assert league.manager.ledger.roster.members["P01"].credentials.queries_only == set()
    # A player comes back by name and address, for queries; a referee waits for the operator again.
    assert code_of(league.register("player", 1)) == ""
    assert league.manager.ledger.roster.members["P01"].credentials.queries_only == {2}
    assert code_of(league.register("referee", 1, enrolment_key=None)) == "E043"
    assert listed(league) == [("A03", "Referee 1")]
    league.operate("approve", "A03")
    assert code_of(league.register("referee", 1, enrolment_key=None)) == ""
    assert listed(league) == []


def test_what_cannot_be_approved_is_told() -> None:
    league = by_approval()
    assert code_of(league.operate("approve", "Nobody")) == "E005"
    league.register("player", 1)
    league.operate("approve", "A01")
    assert code_of(league.operate("approve", "A01")) == "E023"


def test_the_list_has_an_end_and_approvals_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MOST_WAITING", 2)
    league = by_approval(players=9)
    for number in (1, 2, 3, 4):
        assert code_of(league.register("player", number)) == "E043"
    assert [one for one, _ in listed(league)] == ["A01", "A02"]
    league.operate("approve", "A01")
    league.register("player", 4)
    assert listed(league) == [("A02", "Player 2"), ("A03", "Player 4")]


@pytest.mark.parametrize(("enrolment", "code"), [("open", "E022"), ("approve", "E043")])
def test_a_member_comes_back_from_another_address_by_the_operators_leave(enrolment: str, code: str) -> None:
    league = Managed(enrolment=enrolment)
    mine = league.registration("player", 1)
    if enrolment == "approve":
        league.request(mine)
        league.operate("approve", "A01")
    first = league.request(mine)
    assert code_of(league.request(mine, origin=AWAY)) == code
    ((applicant_id, name),) = listed(league)
    assert name == "Player 1"
    assert league.operate("approve", applicant_id) == Acknowledged()
    again = league.request(mine, origin=AWAY)
    assert code_of(again) == ""
    assert getattr(again, "player_id", 1) == getattr(first, "player_id", 2)
    assert len(league.of(e.AgentRegistered)) == 1


def test_in_strict_nobody_is_probed_before_the_approval() -> None:
    league = by_approval(profile="strict")
    league.request(league.registration("player", 1))
    assert league.calls("ping") == []
    league.operate("approve", "A01")
    assert league.request(league.registration("player", 1)) is None
    assert len(league.calls("ping")) == 1
