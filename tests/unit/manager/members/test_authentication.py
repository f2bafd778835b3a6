"""Who may speak as whom: what proves a member that registers again, what its tokens are good for, and what the operator
is shown of those who pose as others."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Refusal
from league.manager.league_manager import LeagueManager
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import THREE
from league.protocol.message.messages import RoundAnnouncement
from league.protocol.signing import tokens
from league.reading import views
from tests.support.managed import KEY, LEAGUE, Managed, agent_of, code_of

NO_KEY: dict[str, Any] = {"enrolment_key": None}
AWAY = "203.0.113.9"


def beyond_loopback(**changed: Any) -> Managed:
    league = Managed(**changed)
    league.machine = LeagueManager(league.settings, league._chance, league.secrets, is_local=False)
    league.take(league.manager.resume(league.now))
    return league


def contested(league: Managed, agent_id: str) -> list[str]:
    (found,) = (one for one in views.agents(league.manager)["agents"] if one["agent_id"] == agent_id)
    shown: list[str] = found["contested"]
    return shown


def ack(league: Managed, token: str) -> dict[str, Any]:
    """What a player says to a table."""
    said = league.envelope("STANDINGS_UPDATE_ACK", "player:P01", status="ACKNOWLEDGED", round_id=1)
    return said | ({"auth_token": token} if token else {})


def shown_for(token: str) -> str:
    """What the manager shows a player that holds this token."""
    return tokens.derive(tokens.deriver(token), "league_manager", "P01", LEAGUE)


# --- new referees -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("REGISTER.guarded_referees")
def test_on_this_machine_the_first_referees_need_nothing() -> None:
    league = Managed(referees=2)
    given = [code_of(league.register("referee", number, **NO_KEY)) for number in (1, 2, 3)]
    assert given == ["", "", "E043"]


@pytest.mark.requirement("REGISTER.guarded_referees")
def test_a_referee_without_the_key_waits_once_the_league_has_begun() -> None:
    league = Managed(players=2, referees=1, max_referees=9).fill()
    stranger = league.register("referee", 2, **NO_KEY)
    assert code_of(stranger) == "E043"
    assert stranger.context == {"pending": True, "applicant_id": "A01"}
    assert "enrolment key" in str(stranger.reason)
    assert code_of(league.register("referee", 3, enrolment_key="a wrong one")) == "E043"
    assert code_of(league.register("referee", 4, enrolment_key=KEY)) == ""
    league.operate("approve", "A01")
    assert code_of(league.register("referee", 2, **NO_KEY)) == ""


@pytest.mark.requirement("REGISTER.guarded_referees")
def test_beyond_this_machine_every_referee_needs_the_key() -> None:
    league = beyond_loopback()
    assert code_of(league.register("referee", 1, **NO_KEY)) == "E043"
    assert code_of(league.register("referee", 1)) == ""
    assert code_of(league.register("player", 1)) == ""


def test_who_finds_the_key_after_it_applied_waits_no_more() -> None:
    league = beyond_loopback()
    league.register("referee", 1, **NO_KEY)
    assert [one["applicant_id"] for one in views.agents(league.manager)["applicants"]] == ["A01"]
    league.register("referee", 1)
    assert views.agents(league.manager)["applicants"] == []


def test_an_open_league_asks_nobody_for_anything() -> None:
    league = beyond_loopback(enrolment="open", players=2).fill(**NO_KEY)
    assert code_of(league.register("referee", 2, **NO_KEY)) == ""


# --- members that come back -------------------------------------------------------------------------------------------


@pytest.mark.requirement("REGISTER.referee_proves_itself")
@pytest.mark.parametrize("enrolment", ["guarded", "open", "key"])
def test_a_referee_does_not_come_back_by_name_and_address(enrolment: str) -> None:
    league = Managed(players=2, enrolment=enrolment).fill()
    real = league.tokens["REF01"]
    again = league.register("referee", 1, **NO_KEY)
    assert (code_of(again), again.auth_token) == ("E043", None)
    assert league.of(e.TokenRenewed) == []
    assert "without its token" in contested(league, "REF01")[0]
    assert agent_of(league.register("referee", 1, auth_token=real, **NO_KEY)) == "REF01"
    assert agent_of(league.register("referee", 1, enrolment_key=KEY)) == "REF01"


@pytest.mark.requirement("TOKEN.standing")
def test_what_a_player_got_by_name_is_good_for_queries_only() -> None:
    league = Managed(players=2).fill()
    full = league.tokens["P01"]
    lesser = league.register("player", 1).auth_token
    query = league.query_of("P01", "GET_STATUS")
    assert code_of(league.request(query | {"auth_token": lesser})) == ""
    report = league.report_of("R1M1") | {"sender": "player:P01", "auth_token": lesser}
    assert code_of(league.request(report)) == "E032"
    assert code_of(league.request(query | {"auth_token": full})) == ""
    # Showing it proves nothing more; showing the first does.
    league.register("player", 1, auth_token=lesser)
    league.register("player", 1, auth_token=full)
    assert league.manager.ledger.roster.members["P01"].credentials.queries_only == {2, 3}


@pytest.mark.requirement("TOKEN.standing")
def test_the_referee_is_told_which_tokens_speak_for_a_player() -> None:
    league = Managed(players=2)
    first = league.register("player", 1).auth_token or ""
    lesser = league.register("player", 1).auth_token or ""
    league.register("player", 2)
    league.fill(players=0)
    league.answer_pings()
    league.answer_all()
    told = league.told("REF01", "ROUND_ANNOUNCEMENT")[-1].message
    assert isinstance(told, RoundAnnouncement)
    (match,) = told.matches
    for token, alone in ((first, match.player_A_answers), (lesser, match.player_A_replies)):
        derived = tokens.derive(tokens.deriver(token), "P01", "REF01", LEAGUE, "R1M1", 1)
        assert alone == [tokens.verifier(token), tokens.verifier(derived)]
    assert match.player_B_replies is None


@pytest.mark.requirement("TOKEN.never_locked_out")
def test_who_registers_as_a_player_changes_nothing_for_it() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    member = league.manager.ledger.roster.members["P01"]
    real = league.tokens["P01"]
    for answers in ([Refusal("E012", "this is not our manager's token")], [ack(league, ""), ack(league, real)]):
        league.register("player", 1)
        for answer in answers:
            (asked,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
            league.answer(asked, answer)
        league.request(league.query_of("P01", "GET_STATUS") | {"auth_token": real})
    assert member.credentials.serial == 1
    assert [one for one in league.of(e.TokenTakenUp) if one.agent_id == "P01"] == []
    assert contested(league, "P01") == [
        "127.0.0.1 registered as P01, but the agent at http://127.0.0.1:8101/mcp is another one"
    ]
    assert len(league.of(e.IdentityContested)) == 1


@pytest.mark.requirement("TOKEN.never_locked_out")
def test_a_player_that_lost_its_token_goes_by_the_new_one_as_soon_as_its_endpoint_acknowledges_it() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    fresh = league.register("player", 1).auth_token or ""
    (asked,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
    assert asked.to.token == shown_for(fresh)
    assert league.manager.ledger.roster.members["P01"].credentials.serial == 1
    league.answer(asked, ack(league, fresh))
    assert league.manager.ledger.roster.members["P01"].credentials.serial == 2
    told = league.told("REF01", "ROUND_ANNOUNCEMENT")[-1].message
    assert isinstance(told, RoundAnnouncement)
    shown = tokens.derive(tokens.deriver(fresh), "REF01", "P01", LEAGUE, "R1M1", 1)
    assert told.matches[0].player_A_token == shown
    assert contested(league, "P01") == []


@pytest.mark.requirement("TOKEN.never_locked_out")
def test_a_player_that_nobody_knows_how_to_call_is_asked_in_one_convention_after_the_other() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    fresh = league.register("player", 1).auth_token or ""
    tried = []
    while Convention.LOWER not in tried:
        (asked,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
        tried.append(asked.to.convention)
        is_understood = asked.to.convention is Convention.LOWER
        league.answer(asked, ack(league, fresh) if is_understood else Refusal("E036", "unknown", understood=False))
    assert len(set(tried)) == len(tried) > 1
    member = league.manager.ledger.roster.members["P01"]
    assert (member.credentials.serial, member.convention) == (2, "LOWER")


def test_the_endpoint_is_asked_when_nothing_else_is_under_way_to_it() -> None:
    league = Managed(players=2).fill()
    (announcement,) = league.calls("ROUND_ANNOUNCEMENT", "P01")
    league.register("player", 1)
    assert league.calls("LEAGUE_STANDINGS_UPDATE", "P01") == []
    league.answer(announcement)
    assert len(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")) == 1


@pytest.mark.requirement("TOKEN.never_locked_out")
def test_a_question_that_was_lost_is_asked_again_before_the_referee_gives_the_player_up() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    fresh = league.register("player", 1).auth_token or ""
    league.wait(sum(THREE))
    asked = league.told("P01", "LEAGUE_STANDINGS_UPDATE")
    assert [one.to.token for one in asked] == [shown_for(fresh)] * 3
    league.answer(asked[-1], ack(league, fresh))
    assert league.manager.ledger.roster.members["P01"].credentials.serial == 2


def test_a_question_does_not_wait_for_a_table_that_is_not_answered() -> None:
    league = Managed(players=4, referees=2).fill()
    league.answer_all()
    league.wait(1)
    league.report("R1M1")
    (table,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
    fresh = league.register("player", 1).auth_token or ""
    league.wait(2.0)
    (question,) = (one for one in league.calls("LEAGUE_STANDINGS_UPDATE", "P01") if one.key != table.key)
    league.answer(question, ack(league, fresh))
    assert league.manager.ledger.roster.members["P01"].credentials.serial == 2


@pytest.mark.requirement("TOKEN.never_locked_out")
def test_a_question_that_the_end_of_a_round_overtook_is_asked_after_it() -> None:
    league = Managed(players=3).fill()
    league.answer_all()
    fresh = league.register("player", 1).auth_token or ""
    league.report("R1M1")
    league.wait(2.0)
    for kind in ("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "ROUND_ANNOUNCEMENT"):
        (sent,) = league.calls(kind, "P01")
        assert sent.to.token != shown_for(fresh)
        league.answer(sent)
    (question,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
    assert question.to.token == shown_for(fresh)


def test_a_player_that_leaves_questions_unanswered_is_still_told_the_rest() -> None:
    league = Managed(players=3).fill()
    league.answer_all()
    for _ in range(2):
        league.register("player", 1)
        league.wait(10.0)
    assert len(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == 8
    assert league.calls("LEAGUE_STANDINGS_UPDATE", "P01") == []
    league.report("R1M1")
    assert len(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")) == 1


def test_two_agents_that_use_two_tokens_of_one_name_are_shown_to_the_operator() -> None:
    league = Managed(players=2).fill()
    full = league.tokens["P01"]
    lesser = league.register("player", 1).auth_token
    query = league.query_of("P01", "GET_STATUS")
    league.request(query | {"auth_token": lesser}, AWAY)
    assert contested(league, "P01") == []
    league.request(query | {"auth_token": full})
    assert "an earlier token of P01 was used after a later one" in contested(league, "P01")[0]


def test_a_query_with_a_lesser_token_is_no_sign_of_life() -> None:
    league = Managed(players=2).fill()
    lesser = league.register("player", 1).auth_token
    breaker = league.manager._calls.peers["P01"].breaker
    for _ in range(9):
        breaker.failed(league.now)
    league.request(league.query_of("P01", "GET_STATUS") | {"auth_token": lesser})
    assert breaker.failures > 0


# --- derived tokens ---------------------------------------------------------------------------------------------------


def derived_tokens(league: Managed) -> dict[str, str]:
    """What this manager and its agents show each other, by who shows whom."""
    told = league.told("REF01", "ROUND_ANNOUNCEMENT")[-1]
    assert isinstance(told.message, RoundAnnouncement)
    player = tokens.deriver(league.tokens["P01"])
    return {
        "league_manager shows REF01": told.to.token or "",
        "REF01 shows P01 in R1M1": told.message.matches[0].player_A_token or "",
        "P01 shows REF01 in R1M1": tokens.derive(player, "P01", "REF01", LEAGUE, "R1M1", 1),
    }


@pytest.mark.requirement("TOKEN.stolen")
@pytest.mark.parametrize("whose", ["league_manager shows REF01", "REF01 shows P01 in R1M1", "P01 shows REF01 in R1M1"])
def test_a_token_that_was_derived_for_others_is_refused_and_shown_to_the_operator(whose: str) -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    stolen = derived_tokens(league)[whose]
    before = league.manager.snapshot()["standings"]
    report = league.report_of("R1M1") | {"auth_token": stolen}
    for _ in range(3):
        assert code_of(league.request(report, AWAY)) == "E012"
    refused, report_refused = views.agents(league.manager)["refused"]
    assert (report_refused["request"], report_refused["match_id"]) == ("report", "R1M1")
    assert (refused["request"], refused["name"], refused["endpoint"]) == ("token", "referee:REF01", AWAY)
    assert refused["detail"] == f"referee:REF01 at {AWAY} showed the token that {whose}, with MATCH_RESULT_REPORT"
    assert stolen not in repr(league.events)
    assert league.manager.snapshot()["standings"] == before


def test_registering_with_a_stolen_token_is_refused_too() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    stolen = derived_tokens(league)["REF01 shows P01 in R1M1"]
    assert code_of(league.request(league.registration("referee", 1, auth_token=stolen, **NO_KEY))) == "E012"
    assert league.of(e.TokenRenewed) == []


def test_many_refused_registrations_do_not_hide_a_stolen_token() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    for number in range(3, 150):
        league.register("player", number)
    league.request(league.report_of("R1M1") | {"auth_token": derived_tokens(league)["REF01 shows P01 in R1M1"]})
    assert [one.request for one in league.manager.ledger.irregularities.refusals].count("token") == 1
