"""Registering, its retries, and coming back: what referees and players share."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import Registered
from league.machine import Blame, Failure, Letter, Refusal, Undelivered
from league.protocol.message.messages import LeagueRegisterRequest, RefereeRegisterRequest
from league.protocol.message.parts import RefereeMeta
from league.protocol.signing import tokens
from tests.support.enrolling import ANSWER, MANAGER, META, START, Agent
from tests.support.said import unsaid


def test_a_player_introduces_itself_with_its_own_name_and_version_2_1_0() -> None:
    agent = Agent().started()
    (sent,) = agent.sent
    assert isinstance(sent.message, LeagueRegisterRequest)
    assert unsaid(sent.message) == []
    assert sent.message.sender == "player:Ada"
    assert sent.message.player_meta.protocol_version == "2.1.0"
    assert sent.deadline == START + 10
    assert (sent.to[0].agent_id, sent.to[0].endpoint, sent.to[0].token) == ("league_manager", MANAGER, None)


def test_a_referee_says_how_many_matches_it_plays_at_once() -> None:
    agent = Agent(RefereeMeta(**META)).started()
    assert isinstance(agent.last, RefereeRegisterRequest)
    assert agent.last.sender == "referee:Ada"
    assert unsaid(agent.last) == []
    assert agent.last.referee_meta.max_concurrent_matches == 1


@pytest.mark.requirement("REGISTER.takes_any_id")
def test_an_accepted_agent_has_an_id_a_league_and_a_secret_token() -> None:
    agent = Agent().started().accept()
    (event,) = agent.journal
    assert event == Registered(
        at=START,
        agent_id="P01",
        league_id="spring",
        serial=1,
        derived_tokens=True,
        endpoint=agent.membership.meta.contact_endpoint,
    )
    assert agent.secrets == {"token/1": "tok_P01_first"}
    assert agent.membership.sender == "player:P01"
    assert agent.membership.manager.token == "tok_P01_first"
    assert agent.deadline is None


@pytest.mark.requirement("REGISTER.takes_any_id")
def test_another_managers_answer_without_a_token_and_with_an_id_of_another_shape_is_taken() -> None:
    agent = Agent(RefereeMeta(**META)).started()
    agent.accept(referee_id="ref_e56ca731", auth_token=None, token_scheme=None, league_id=None)
    assert agent.membership.agent_id == "ref_e56ca731"
    assert not agent.membership.agreement.derived_tokens
    assert agent.membership.token is None
    assert agent.secrets == {}


def test_tokens_that_are_not_derived_as_ours_cannot_be_checked() -> None:
    assert not Agent().started().accept(token_scheme="jwt").membership.agreement.derived_tokens
    assert not Agent().started().accept(auth_token=None).membership.agreement.derived_tokens


@pytest.mark.requirement("REGISTER.retries")
def test_a_registration_that_is_not_answered_is_repeated_after_2_4_8_16_30_and_30_seconds() -> None:
    agent = Agent().started()
    times = []
    for _ in range(7):
        agent.now += 10
        agent.fail(Failure.TIMEOUT)
        due = agent.deadline
        assert due is not None
        times.append(due - agent.now)
        agent.wait(times[-1] - 0.001)
        before = len(agent.sent)
        agent.wait(0.001)
        assert len(agent.sent) == before + 1
    assert times == pytest.approx([2, 4, 8, 16, 30, 30, 30])
    assert len({one.key for one in agent.sent}) == 8


def test_a_busy_manager_is_given_the_time_it_asks_for() -> None:
    agent = Agent().started()
    agent.fail(Failure.BUSY, retry_after=7.5)
    assert agent.deadline == START + 7.5


def test_a_failure_of_our_own_is_repeated_like_any_other() -> None:
    agent = Agent().started()
    agent.fail(Failure.BROKEN, blame=Blame.LOCAL)
    assert agent.deadline == START + 2


@pytest.mark.requirement("REGISTER.stops_when_rejected")
@pytest.mark.parametrize("code", ["E019", "E020", "E022", "E026", "E027", "E031", "E043", "E044", None])
def test_a_final_rejection_ends_it_and_says_why(code: str | None) -> None:
    agent = Agent().started()
    agent.reject(code, "the league is full")
    assert agent.registration.rejected == Refusal(code or "", "the league is full")
    assert agent.deadline is None
    assert agent.journal == []


def test_an_agent_that_plays_the_game_of_the_league_names_it_and_asks_again() -> None:
    agent = Agent().started()
    agent.games.add("connect_four")
    refusal: dict[str, Any] = {"supported_game_types": ["chess", "connect_four"]}
    agent.reject("E027", **refusal)
    assert agent.registration.rejected is None
    assert isinstance(agent.last, LeagueRegisterRequest)
    assert agent.last.player_meta.game_types == ["connect_four"]
    agent.reject("E027", **refusal)
    assert agent.registration.rejected is not None


@pytest.mark.parametrize("context", [{}, {"supported_game_types": "chess"}, {"supported_game_types": ["chess", 3]}])
def test_an_agent_that_does_not_play_the_game_of_the_league_ends(context: dict[str, Any]) -> None:
    agent = Agent().started()
    agent.games.add("connect_four")
    agent.reject("E027", **context)
    assert agent.registration.rejected is not None


@pytest.mark.requirement("REGISTER.stops_when_rejected")
def test_an_error_that_cannot_be_mended_ends_it_too() -> None:
    agent = Agent().started()
    agent.answer(Refusal("E008", "the name is too long"))
    assert agent.registration.rejected == Refusal("E008", "the name is too long")


@pytest.mark.parametrize("code", ["E010", "E041", "E042", "E099"])
def test_an_error_that_may_pass_is_waited_out(code: str) -> None:
    agent = Agent().started()
    agent.answer(Refusal(code, "later"))
    assert agent.registration.rejected is None
    assert agent.deadline == START + 2


def test_a_rejection_because_we_could_not_be_reached_is_tried_again() -> None:
    agent = Agent().started()
    agent.reject("E025")
    assert agent.registration.rejected is None
    assert agent.deadline == START + 2


@pytest.mark.requirement("REGISTER.waits_for_approval")
def test_while_the_operator_has_not_decided_we_go_on_asking() -> None:
    agent = Agent().started()
    for _ in range(20):
        agent.reject("E043", "waiting for the operator's approval", pending=True)
        assert agent.registration.pending == Refusal("E043", "waiting for the operator's approval")
        assert agent.registration.rejected is None
        assert agent.deadline == agent.now + 5
        agent.wait(5)
    agent.accept()
    assert agent.membership.is_registered
    assert agent.registration.pending is None


def test_an_operator_that_waited_too_long_leaves_us_rejected() -> None:
    agent = Agent().started()
    agent.reject("E043", pending=True)
    agent.wait(5).reject("E019", "the league has started")
    assert agent.registration.rejected == Refusal("E019", "the league has started")
    assert agent.registration.pending is None
    assert agent.deadline is None


def test_late_answers_to_given_up_attempts_change_nothing() -> None:
    agent = Agent().started()
    first = agent.sent[0]
    agent.fail(Failure.TIMEOUT)
    agent.wait(2)
    agent.calls.answered(Letter(0, Refusal("E020", "full"), answers=first.key, peer="league_manager"), agent.now)
    agent.calls.failed(Undelivered(first.key, "league_manager", Failure.BROKEN), agent.now)
    assert agent.registration.rejected is None
    assert agent.deadline is None
    agent.accept()
    assert len(agent.journal) == 1


@pytest.mark.requirement("REGISTER.again_after_E012")
def test_after_e012_it_registers_again_once_with_the_token_it_had() -> None:
    agent = Agent().started().accept()
    agent.registration.request_refused("E012", agent.now)
    agent.registration.request_refused("E012", agent.now)
    assert len(agent.sent) == 2
    assert agent.sent[1].to[0].token == "tok_P01_first"
    assert agent.last.sender == "player:P01"  # type: ignore[attr-defined] # every request has a sender
    agent.accept(auth_token="tok_P01_second")
    assert [event.serial for event in agent.journal if isinstance(event, Registered)] == [1, 2]
    assert agent.membership.token == "tok_P01_second"
    agent.registration.request_refused("E012", agent.now)
    assert len(agent.sent) == 2


@pytest.mark.requirement("REGISTER.again_after_E012")
def test_once_the_new_token_has_worked_another_e012_may_be_answered_again() -> None:
    agent = Agent().started().accept()
    agent.registration.request_refused("E012", agent.now)
    agent.accept(auth_token="tok_P01_second")
    agent.registration.request_accepted()
    agent.registration.request_refused("E012", agent.now)
    assert len(agent.sent) == 3


def test_other_refusals_are_no_reason_to_register_again() -> None:
    agent = Agent().started().accept()
    for code in ("E011", "E016", "E032", "E099"):
        agent.registration.request_refused(code, agent.now)
    assert len(agent.sent) == 1


def test_a_manager_that_does_not_know_the_old_token_is_asked_without_it() -> None:
    agent = Agent().started().accept()
    agent.registration.request_refused("E012", agent.now)
    agent.answer(Refusal("E012", "unknown token"))
    assert agent.sent[-1].to[0].token is None
    agent.accept(auth_token="tok_P01_second")
    assert agent.membership.token == "tok_P01_second"


def test_coming_back_starts_with_the_shortest_pause_and_the_newest_token() -> None:
    agent = Agent().started()
    for pause in (2, 4, 8):
        agent.fail()
        agent.wait(pause)
    agent.accept()
    agent.registration.request_refused("E012", agent.now)
    agent.answer(Refusal("E012", "unknown token"))
    agent.accept(auth_token="tok_P01_second")
    agent.registration.request_accepted()
    agent.registration.request_refused("E012", agent.now)
    assert agent.sent[-1].to[0].token == "tok_P01_second"
    agent.fail()
    assert agent.deadline == agent.now + 2


def test_a_new_registration_without_a_token_keeps_the_one_that_was_given() -> None:
    agent = Agent().started().accept(token_scheme=None)
    agent.registration.request_refused("E012", agent.now)
    agent.accept(auth_token=None, token_scheme=None)
    assert agent.membership.token == "tok_P01_first"


def test_a_restarted_member_does_not_register_again() -> None:
    agent = Agent().started().accept()
    before = agent.membership.snapshot()
    agent.restarted()
    assert agent.sent == []
    assert agent.membership.snapshot() == before
    assert agent.membership.token == "tok_P01_first"


def test_a_restarted_agent_that_was_never_accepted_registers() -> None:
    agent = Agent().started()
    assert len(agent.restarted().sent) == 1


@pytest.mark.requirement("TOKEN.assignment_checked")
def test_the_managers_tokens_of_the_last_two_registrations_are_known() -> None:
    agent = Agent().started()
    given = [tokens.mint("P01", bytes([n] * 32)) for n in range(3)]
    agent.accept(auth_token=given[0])
    for token in given[1:]:
        agent.registration.register(agent.now)
        agent.accept(auth_token=token)
    shown = [tokens.derive(tokens.deriver(one), tokens.MANAGER, "P01", "spring") for one in given]
    assert [agent.membership.is_managers(one) for one in shown] == [False, True, True]
    assert not agent.membership.is_managers(None)
    assert not agent.membership.is_managers(given[2])


# --- the enrolment key ------------------------------------------------------------------------------------------------


def shown_key(agent: Agent) -> str | None:
    message = agent.sent[-1].message
    assert isinstance(message, RefereeRegisterRequest)
    return message.referee_meta.enrolment_key


def wants_key(agent: Agent, league_id: str = "spring", **context: Any) -> None:
    answer = {"message_type": "REFEREE_REGISTER_RESPONSE", "referee_id": None, "league_id": league_id}
    refused = {"status": "REJECTED", "reason": "no", "error_code": "E043", "context": context}
    agent.answer({**ANSWER, **answer, **refused})


@pytest.mark.parametrize("context", [{}, {"pending": True}])
def test_a_referee_shows_the_key_it_finds_to_the_league_that_wants_it(context: dict[str, Any]) -> None:
    agent = Agent(RefereeMeta(**META))
    agent.keys["spring"] = "sesame"
    agent.started()
    assert shown_key(agent) is None
    wants_key(agent, **context)
    assert (len(agent.sent), shown_key(agent)) == (2, "sesame")
    agent.accept()
    assert agent.membership.agent_id == "REF01"


@pytest.mark.requirement("DIALECT.conversant")
def test_a_referee_that_came_in_openly_shows_the_key_it_finds_with_its_token() -> None:
    agent = Agent(RefereeMeta(**META))
    agent.keys["spring"] = "sesame"
    agent.started().accept(auth_token="tok_REF01_first")
    assert (len(agent.sent), shown_key(agent)) == (2, "sesame")
    assert agent.sent[-1].to[0].token == "tok_REF01_first"
    agent.accept(auth_token="tok_REF01_second")
    # Once is enough.
    assert (len(agent.sent), agent.membership.registrations.newest) == (2, 2)


def test_a_key_is_not_shown_to_a_manager_by_others() -> None:
    agent = Agent(RefereeMeta(**META))
    agent.keys["spring"] = "sesame"
    agent.started().accept(token_scheme=None)
    assert len(agent.sent) == 1


def test_a_member_stays_one_where_its_second_registration_is_taken_for_that_of_somebody_else() -> None:
    for scheme, is_out in ((None, False), ("derived", True)):
        agent = Agent().started().accept(token_scheme=scheme)
        agent.registration.request_refused("E012", agent.now)
        agent.reject("E020", "League full")
        assert (agent.registration.rejected is not None) == is_out
        assert agent.membership.agent_id == "P01"


def test_a_key_that_does_not_open_is_shown_once() -> None:
    agent = Agent(RefereeMeta(**META))
    agent.keys["spring"] = "sesame"
    agent.started()
    wants_key(agent)
    wants_key(agent)
    assert len(agent.sent) == 2
    assert agent.registration.rejected is not None
    assert agent.registration.rejected.code == "E043"


def test_the_key_of_another_league_is_shown_to_nobody() -> None:
    agent = Agent(RefereeMeta(**META))
    agent.keys["spring"] = "sesame"
    agent.started()
    wants_key(agent, "autumn")
    assert len(agent.sent) == 1


SECOND = "http://127.0.0.1:9000/mcp"


@pytest.mark.parametrize("failure", [Failure.REFUSED, Failure.TIMEOUT, Failure.BUSY])
def test_a_member_that_knows_several_managers_turns_to_the_next_when_one_does_not_serve(failure: Failure) -> None:
    agent = Agent(manager=f"{MANAGER},{SECOND}").started()
    for endpoint in (MANAGER, SECOND, MANAGER):
        assert agent.sent[-1].to[0].endpoint == endpoint
        agent.fail(failure)
        agent.wait(60)


def test_the_answer_to_a_registration_names_more_managers() -> None:
    agent = Agent().started().accept(manager_endpoints=[MANAGER, SECOND, "nonsense"])
    (event,) = agent.journal
    assert isinstance(event, Registered)
    assert event.manager_endpoints == (MANAGER, SECOND)
    agent.membership.managers.failed(MANAGER)
    assert agent.membership.endpoint == SECOND
    agent.membership.managers.failed(MANAGER)
    assert agent.membership.endpoint == SECOND, "a call that was made before we turned away says nothing new"


def test_the_key_of_the_manager_is_kept_with_the_registration() -> None:
    agent = Agent().started().accept(manager_key="ab" * 32)
    (event,) = agent.journal
    assert isinstance(event, Registered)
    assert event.manager_key == agent.membership.manager_key == "ab" * 32


def test_a_manager_may_have_no_key() -> None:
    assert Agent().started().accept().membership.manager_key == ""
