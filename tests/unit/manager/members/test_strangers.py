"""Whoever is no member may come as often as it likes: the journal does not grow without bound."""

from __future__ import annotations

import pytest

from league.events import AgentApplied, RequestRefused, TokenRenewed
from league.manager.members.registration import RENEWALS
from league.manager.state import roster
from tests.support.managed import Managed, code_of

MANY = 400


@pytest.mark.requirement("HTTP.strangers")
@pytest.mark.parametrize(
    "changed",
    [
        {"game_types": ["chess"]},
        {"contact_endpoint": "http://127.0.0.1:9/mcp"},
        {"display_name": "x" * 60},
        {"version": ""},
    ],
)
def test_refused_registrations_leave_so_many_events_and_no_more(changed: dict[str, object]) -> None:
    league = Managed(players=2)
    for number in (1, 2):
        league.register("player", number)
    before = len(league.journal)
    for number in range(3, MANY):
        name = f"{changed.get('display_name', 'Stranger')} {number}"
        assert code_of(league.request(league.registration("player", number, **{**changed, "display_name": name})))
    assert len(league.of(RequestRefused)) == 100
    assert len(league.journal) == before + 100


@pytest.mark.requirement("HTTP.strangers")
def test_messages_of_strangers_leave_no_events() -> None:
    league = Managed()
    before = len(league.journal)
    for number in range(MANY):
        sender, token = f"referee:REF{number}", f"tok_{number}"
        for kind in ("LEAGUE_QUERY", "MATCH_RESULT_REPORT"):
            asked = league.envelope(kind, sender=sender, auth_token=token, league_id="league_test")
            assert code_of(league.request(asked)) in ("E011", "E012")
    assert len(league.journal) == before


@pytest.mark.requirement("HTTP.strangers")
def test_one_address_cannot_fill_the_list_of_applicants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MOST_AT_ADDRESS", 3)
    league = Managed(enrolment="approve", players=9)
    for number in range(1, 9):
        assert code_of(league.register("player", number, origin="10.0.0.1")) == "E043"
    assert code_of(league.register("player", 9, origin="10.0.0.2")) == "E043"
    assert [one.origin for one in league.of(AgentApplied)] == ["10.0.0.1"] * 3 + ["10.0.0.2"]
    league.operate("approve", "A01")
    league.register("player", 8, origin="10.0.0.1")
    assert len(league.of(AgentApplied)) == 5, "an approval makes room"


@pytest.mark.requirement("HTTP.strangers")
def test_whoever_registers_again_and_again_is_told_to_come_later_and_loses_nothing() -> None:
    league = Managed()
    mine = league.registration("player", 1)
    answers = [league.request(mine) for _ in range(MANY)]
    accepted = 1 + RENEWALS.burst
    assert [code_of(one) for one in answers] == [""] * accepted + ["E010"] * (MANY - accepted)
    assert len(league.of(TokenRenewed)) == RENEWALS.burst
    league.wait(1 / RENEWALS.per_s)
    assert code_of(league.request(mine)) == ""
    assert code_of(league.register("player", 2)) == ""


@pytest.mark.requirement("HTTP.rate_limit")
def test_a_member_is_known_by_its_token() -> None:
    league = Managed()
    league.register("player", 1)
    league.register("player", 2)
    for agent_id, token in league.tokens.items():
        query = league.envelope("LEAGUE_QUERY", sender="player:P09", auth_token=token)
        assert league.manager.member_behind(league.read(query)) == agent_id
    for wrong in ("tok_none", "", None, 7):
        query = league.envelope("LEAGUE_QUERY", sender="player:P01", auth_token=wrong)
        assert league.manager.member_behind(league.read(query)) is None
