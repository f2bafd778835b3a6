"""What a probe finds out about an agent that registers, and who is told."""

from __future__ import annotations

import pytest

from league import events as e
from league.machine import DialectProbe, Failure, Undelivered
from league.protocol.message.findings import Findings, OfferedTools, PingAnswer, unanswered, unusable
from league.protocol.message.messages import Message
from tests.support.managed import Managed, plain

ENDPOINT = "http://127.0.0.1:8101/mcp"
BROKEN = Findings(ENDPOINT, answer=PingAnswer(500))
SERVER = Findings(ENDPOINT, tools=OfferedTools(("play_move",), choice="play_move"))


def applied(origin: str = "127.0.0.1", **changed: object) -> Managed:
    """A league to which one player has applied; its probe is open."""
    league = Managed(players=4)
    league.answers_first_probe = False
    assert league.request(league.registration("player", 1, **changed), origin) is None
    return league


def words(league: Managed) -> object:
    (answer,) = league.replies.values()
    assert isinstance(answer, Message)
    return plain(answer).get("findings")


@pytest.mark.requirement("REGISTER.findings")
def test_the_answer_to_a_registration_says_what_the_probe_found_out() -> None:
    league = applied()
    (probe,) = league.calls("ping")
    assert probe.message == DialectProbe("player", "even_odd")
    league.answer(probe, BROKEN)
    assert words(league) == BROKEN.in_words()
    (event,) = league.of(e.AgentProbed)
    assert (event.agent_id, event.findings, event.is_trouble) == ("P01", BROKEN.in_words(), False)
    assert league.manager.probe_failures == {}
    assert dict(league.manager.not_answering()) == {}


@pytest.mark.requirement("REGISTER.findings")
@pytest.mark.requirement("ENDPOINT.no_oracle")
def test_nobody_is_told_what_is_behind_the_address_of_somebody_else() -> None:
    league = applied("10.0.0.7")
    league.answer(league.calls("ping")[0], BROKEN)
    assert words(league) is None
    assert [event.findings for event in league.of(e.AgentProbed)] == [BROKEN.in_words()]


def test_nobody_learns_from_the_time_of_an_answer_what_is_behind_the_address_of_somebody_else() -> None:
    league = applied("10.0.0.7")
    league.fail(league.calls("ping")[0], Failure.REFUSED)
    league.wait(0.999)
    assert league.replies == {}
    league.wait(0.001)
    assert words(league) is None


def test_an_agent_that_does_not_listen_yet_is_told_at_once_and_the_operator_only_if_it_goes_on() -> None:
    league = applied()
    league.fail(league.calls("ping")[0], Failure.REFUSED)
    assert words(league) == unanswered(ENDPOINT, "connection refused").in_words()
    assert league.of(e.AgentProbed) == []
    league.fail(league.calls("ping", "P01")[0], Failure.REFUSED)
    assert league.of(e.AgentProbed) == []
    league.wait(2)
    league.fail(league.calls("ping", "P01")[0], Failure.REFUSED)
    assert [event.findings for event in league.of(e.AgentProbed)] == [words(league)]
    league.wait(2)
    league.answer(league.calls("ping", "P01")[0], Findings(ENDPOINT))
    assert [event.findings for event in league.of(e.AgentProbed)][1:] == [""]


def test_an_agent_whose_answer_is_too_large_is_told_so_and_not_called_unreachable() -> None:
    league = applied()
    why = "answered in a way that cannot be read: the answer is too large"
    for _ in range(3):
        for call in league.calls("ping"):
            league.fail(Undelivered(call.key, call.to.agent_id, Failure.UNUSABLE, detail=why))
        league.wait(2)
    assert words(league) == unusable(ENDPOINT, why).in_words()
    (event,) = league.of(e.AgentProbed)
    assert (event.agent_id, event.findings, event.is_trouble) == ("P01", words(league), True)
    assert (league.manager.probe_failures, dict(league.manager.not_answering())) == ({}, {})


def test_a_registration_waits_for_its_probe_one_second_and_what_comes_later_is_noted() -> None:
    league = applied()
    (probe,) = league.calls("ping")
    league.wait(1)
    assert words(league) is None
    assert league.calls("ping", "P01") == []
    league.answer(probe, BROKEN)
    assert [event.agent_id for event in league.of(e.AgentProbed)] == ["P01"]
    league.wait(5)
    assert len(league.calls("ping", "P01")) == 1


@pytest.mark.requirement("DIALECT.on_our_time")
@pytest.mark.parametrize("is_silent", [True, False])
def test_a_slow_agent_is_probed_again_with_more_time(is_silent: bool) -> None:
    league = applied()
    league.answer(league.calls("ping")[0], Findings(ENDPOINT))
    league.wait(5)
    (probe,) = league.calls("ping", "P01")
    assert probe.deadline == league.now + 3
    if is_silent:
        league.wait(3)
    else:
        league.answer(probe, Findings(ENDPOINT, is_incomplete=True))
    league.wait(2 if is_silent else 5)
    (again,) = league.calls("ping", "P01")
    assert again.deadline == league.now + 20


def test_an_mcp_server_is_called_through_its_tools_from_the_first_call_on() -> None:
    league = applied()
    league.answer(league.calls("ping")[0], SERVER)
    assert [event.convention for event in league.of(e.ConventionLearned)] == ["TOOLS"]
    assert league.manager.ledger.roster.members["P01"].convention == "TOOLS"


def test_an_agent_whose_findings_change_all_the_time_does_not_fill_the_journal() -> None:
    league = applied()
    league.answer(league.calls("ping")[0], Findings(ENDPOINT, answer=PingAnswer(500)))
    for number in range(50):
        league.wait(5)
        words = chr(ord("a") + number % 26) * (1 + number // 26)
        league.answer(league.calls("ping", "P01")[0], Findings(ENDPOINT, answer=PingAnswer(500, quote=words)))
    assert len(league.of(e.AgentProbed)) == 20


@pytest.mark.requirement("REGISTER.findings")
def test_what_differs_in_ids_and_times_alone_is_said_once() -> None:
    league = applied()
    for number in range(10):
        quote = f'{{"id":{number},"error":"KeyError at 10:00:0{number}"}}'
        league.answer(league.calls("ping")[0], Findings(ENDPOINT, answer=PingAnswer(500, quote=quote)))
        league.wait(5)
    assert len(league.of(e.AgentProbed)) == 1


def test_findings_survive_a_restart_and_are_told_to_an_agent_that_registers_again() -> None:
    league = applied()
    league.answer(league.calls("ping")[0], BROKEN)
    league.restart()
    again = league.request(league.registration("player", 1))
    assert isinstance(again, Message)
    assert plain(again)["findings"] == BROKEN.in_words()
