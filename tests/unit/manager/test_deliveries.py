"""Calls that are refused, dropped, delayed or answered with nonsense: none of it stops the league."""

from __future__ import annotations

import pytest

from league import events as e
from league.machine import Failure, Letter, Pong, Refusal
from league.manager.league_manager import LeagueManager
from league.protocol.message.envelope import Reading, Unsealed, unseal
from league.protocol.message.messages import RoundAnnouncement
from tests.support.managed import Managed, Sent, code_of, settings


def ack(one: Sent, **changed: object) -> Unsealed:
    """An acknowledgement of an announcement, as an agent would write it."""
    fields = {
        "message_type": "ROUND_ANNOUNCEMENT_ACK",
        "protocol": "league.v2",
        "sender": f"player:{one.to.agent_id}",
        "timestamp": "2025-06-01T10:00:00Z",
        "conversation_id": "conv-round-1",
        "status": "ACKNOWLEDGED",
        "round_id": 1,
        **changed,
    }
    return unseal(fields, Reading())


@pytest.mark.parametrize("changed", [{"game_type": "chess"}, {"tiebreakers": ("beauty",)}])
def test_a_league_that_cannot_be_played_is_not_made(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="there are"):
        LeagueManager(settings(**changed), bytes)


def test_deviations_in_answers_are_recorded() -> None:
    league = Managed(players=2).fill()
    one = league.calls("ROUND_ANNOUNCEMENT", "P01")[0]
    league.answer(one, ack(one, timestamp="yesterday"))
    assert [(event.agent_id, event.code) for event in league.of(e.DeviationRecorded)] == [("P01", "E021")]


def test_an_unreadable_answer_ends_the_call_and_is_no_acknowledgement() -> None:
    league = Managed(players=2).fill()
    league.answer_all(but=["REF01"])
    (one,) = league.calls("ROUND_ANNOUNCEMENT", "REF01")
    league.answer(one, unseal("banana"))
    league.wait(4)
    assert league.calls("ROUND_ANNOUNCEMENT", "REF01") == []
    while not (pings := league.calls("ping", "REF01")):
        league.wait(0.5)
    league.answer(pings[0], Pong(()))
    assert len(league.calls("ROUND_ANNOUNCEMENT", "REF01")) == 1


def test_an_assignment_that_is_refused_is_sent_again_to_a_referee_that_lists_its_matches() -> None:
    for pong, again in ((Pong(()), 1), (Pong(), 0)):
        league = Managed(players=2).fill()
        league.answer_all(but=["REF01"])
        league.answer(league.calls("ROUND_ANNOUNCEMENT", "REF01")[0], Refusal("E012", "who are you?"))
        while not (pings := league.calls("ping", "REF01")):
            league.wait(0.5)
        league.answer(pings[0], pong)
        assert len(league.calls("ROUND_ANNOUNCEMENT", "REF01")) == again


def test_the_announcement_of_a_finished_round_is_not_repeated() -> None:
    league = Managed(players=2, double=True).fill()
    league.fail(league.calls("ROUND_ANNOUNCEMENT", "P01")[0])
    league.answer_all()
    league.report("R1M1")
    league.answer_all()
    league.wait(9)
    announced = [one.message for one in league.told("P01", "ROUND_ANNOUNCEMENT")]
    assert [one.round_id for one in announced if isinstance(one, RoundAnnouncement)] == [1, 2]


def test_an_assignment_that_is_no_longer_open_is_not_repeated() -> None:
    league = Managed(players=2, referees=2).fill()
    league.answer_all(but=["REF01", "REF02"])
    league.fail(league.calls("ROUND_ANNOUNCEMENT", "REF01")[0])
    league.report("R1M1")
    league.wait(9)
    assert len(league.told("REF01", "ROUND_ANNOUNCEMENT")) == 1


def test_a_late_answer_to_a_dropped_announcement_is_only_a_sign_of_life() -> None:
    league = Managed(players=2).fill()
    league.wait(1)
    league.answer_all(but=["P01", "P02"])
    league.report("R1M1")
    first, second = league.calls("ROUND_ANNOUNCEMENT")
    league.fail(first, Failure.BROKEN)
    step = league.answer(second)
    assert step.events == []
    league.play()


def test_an_agent_that_is_busy_for_too_long_counts_as_failing() -> None:
    league = Managed(players=2).fill()
    league.answer_all(but=["P01"])
    tries = 0
    while calls := league.calls("ROUND_ANNOUNCEMENT", "P01"):
        tries += 1
        league.fail(calls[0], Failure.BUSY, retry_after=29.0)
        for _ in range(29):
            if not league.calls("ROUND_ANNOUNCEMENT", "P01"):
                league.wait(1)
                league.answer_pings()
    assert tries == 3 + 4


def test_a_busy_player_misses_an_ordinary_update() -> None:
    league = Managed(players=8).fill()
    league.answer_all()
    league.wait(1)
    league.report("R1M1")
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0], Failure.BUSY)
    league.wait(9)
    assert len(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == 1


def test_a_referee_that_writes_its_sender_without_a_prefix_is_understood() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    query = league.query_of("REF01", "GET_NEXT_MATCH") | {"sender": "REF01"}
    assert code_of(league.request(query)) == "E003"
    query["query_params"] = {"player_id": "P01"}
    assert code_of(league.request(query)) == ""


def test_a_referee_that_comes_back_during_the_league_is_alive() -> None:
    league = Managed(players=2).fill()
    league.wait(300)
    assert league.state("REF01") == "SUSPENDED"
    league.register("referee", 1)
    assert league.state("REF01") == "ACTIVE"


def test_an_answer_without_a_question_is_refused() -> None:
    step = Managed().manager.handle(Letter(1, Pong()), 0.0)
    assert code_of(step.replies[0].content) == "E035"


def test_without_its_secrets_a_manager_goes_on_without_tokens() -> None:
    league = Managed(players=2).fill()
    league.secrets.clear()
    league.restart()
    league.wait(1)
    (one,) = league.calls("ROUND_ANNOUNCEMENT", "REF01")
    assert one.to.token is None
    league.play()
