"""An agent whose manager was started anew: it asks how its league stands, registers again, and nothing it remembers of
the old league is said in the new one."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import LeagueEnded, MatchDropped, MatchTaken, Registered
from league.machine import Failure, Outgoing, Refusal, Undelivered
from league.protocol.message.messages import LeagueQuery, LeagueRegisterRequest
from league.protocol.signing import tokens
from league.status_poll import POLL_S
from tests.support import referee_rig
from tests.support.player_rig import LEAGUE, ME, START, Rig
from tests.support.referee_rig import announced

UNKNOWN = Refusal("E012", "this auth_token is not valid here")
SECOND = tokens.mint(ME, b"2" * 32)


def question(rig: Rig) -> Outgoing:
    """What it asks once it has had nothing to do for so long."""
    rig.now = START + POLL_S
    (call,) = rig.take(rig.player.tick(rig.now)).outbox
    assert isinstance(call.message, LeagueQuery)
    assert call.message.query_type == "GET_STATUS"
    return call


def status(rig: Rig, **data: Any) -> dict[str, Any]:
    return rig.envelope("LEAGUE_QUERY_RESPONSE", query_type="GET_STATUS", success=True, data=data)


def enters(rig: Rig, league_id: str) -> None:
    """The manager does not know the token that we ask with, and lets us in anew."""
    (register,) = rig.answer(question(rig), UNKNOWN).outbox
    assert isinstance(register.message, LeagueRegisterRequest)
    rig.answer(register, rig.accepted(SECOND) | {"league_id": league_id})


def in_new_league(rig: Rig, message: dict[str, Any], league_id: str) -> dict[str, Any]:
    """A message of its referee for match R1M1."""
    token = tokens.derive(tokens.deriver(SECOND), "REF01", ME, league_id, "R1M1", 1)
    return message | {"auth_token": token, "conversation_id": "conv-r1m1-anew"}


@pytest.mark.requirement("STATUS.asked")
def test_an_idle_player_asks_every_30_seconds_how_its_league_stands() -> None:
    rig = Rig().enrolled()
    for _ in range(3):
        rig.now += POLL_S
        (call,) = rig.take(rig.player.tick(rig.now)).outbox
        rig.answer(call, status(rig, status="RUNNING_LEAGUE", your_state="ACTIVE"))
    assert rig.player.state == "REGISTERED"
    assert len(rig.journal) == 1


def test_a_player_in_a_match_has_other_things_to_do() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())
    rig.now += POLL_S
    assert rig.take(rig.player.tick(rig.now)).outbox == []


@pytest.mark.requirement("STATUS.others_not_asked")
def test_a_manager_that_derives_no_tokens_is_never_asked() -> None:
    assert Rig(derived=False).enrolled().player.deadline is None


@pytest.mark.requirement("STATUS.new_league")
@pytest.mark.parametrize("league_id", ["autumn", LEAGUE])
@pytest.mark.parametrize("restarts", [False, True])
def test_an_answer_of_the_old_league_is_never_given_in_the_new_one(league_id: str, restarts: bool) -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())
    letter, step = rig.post(rig.call())
    rig.choose(step, "odd")
    assert rig.answer_to(letter).parity_choice == "odd"
    rig.say(rig.over())
    enters(rig, league_id)
    assert (rig.player.state, len(rig.player.history)) == ("REGISTERED", 0)
    if restarts:
        rig.restart()
    assert rig.say(in_new_league(rig, rig.invitation(league_id=league_id), league_id)).accept
    _, step = rig.post(in_new_league(rig, rig.call(), league_id))
    assert len(step.asks) == 1


@pytest.mark.requirement("STATUS.new_league")
@pytest.mark.parametrize("league_id", ["autumn", LEAGUE])
def test_tokens_of_the_old_league_open_nothing_in_the_new_one(league_id: str) -> None:
    rig = Rig().enrolled()
    old_invitation, old_end = rig.invitation(league_id=league_id), rig.completed(league_id=league_id)
    enters(rig, league_id)
    assert rig.refusal_of(old_invitation) == "E012"
    assert rig.refusal_of(old_end) == "E012"


def test_the_choice_that_was_being_made_is_dropped() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())
    letter, _ = rig.post(rig.call())
    (call,) = rig.take(rig.player.query("mine", "GET_STATUS", {}, rig.now)).outbox
    (register,) = rig.answer(call, UNKNOWN).outbox
    rig.answer(register, rig.accepted(SECOND))
    assert rig.answer_to(letter).code == "E031"


def test_under_a_manager_by_others_the_same_league_goes_on_after_a_new_registration() -> None:
    rig = Rig(derived=False).enrolled()
    rig.say(rig.invitation())
    letter, step = rig.post(rig.call())
    rig.choose(step, "odd")
    (call,) = rig.take(rig.player.query("mine", "GET_STATUS", {}, rig.now)).outbox
    (register,) = rig.answer(call, UNKNOWN).outbox
    rig.answer(register, rig.accepted(SECOND))
    again, step = rig.post(rig.call())
    assert step.asks == []
    assert rig.answer_to(again).parity_choice == rig.answer_to(letter).parity_choice


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("STATUS.end")
def test_a_player_that_missed_the_end_learns_it_when_it_asks() -> None:
    rig = Rig().enrolled()
    over = {"status": "LEAGUE_COMPLETED", "champion": "P02", "withdrawn": False}
    rig.answer(question(rig), status(rig, **over, your_state="ACTIVE"))
    assert rig.player.state == "REGISTERED"  # the manager means to tell it
    rig.now += POLL_S - 1
    (call,) = rig.tick().outbox
    rig.answer(call, status(rig, **over, your_state="SHUTDOWN"))
    assert isinstance(rig.journal[-1], LeagueEnded)
    assert (rig.player.state, rig.player.deadline) == ("SHUTDOWN", None)


@pytest.mark.requirement("STATUS.end")
def test_a_player_that_was_withdrawn_learns_it_when_it_asks() -> None:
    rig = Rig().enrolled()
    withdrawn = {"status": "RUNNING_LEAGUE", "champion": None, "withdrawn": True}
    rig.answer(question(rig), status(rig, **withdrawn, your_state="SHUTDOWN"))
    end = rig.journal[-1]
    assert isinstance(end, LeagueEnded)
    assert end.withdrawn
    rig.restart()
    assert rig.player.state == "SHUTDOWN"


@pytest.mark.parametrize("data", [{}, {"your_state": 7}, {"your_state": "SHUTDOWN", "champion": 7, "withdrawn": "yes"}])
def test_an_answer_that_says_nothing_changes_nothing(data: dict[str, Any]) -> None:
    rig = Rig().enrolled()
    rig.answer(question(rig), status(rig, **data))
    assert rig.player.state == "REGISTERED"


def test_a_manager_that_is_not_there_is_waited_for_and_named() -> None:
    rig = Rig().enrolled()
    call = question(rig)
    for _ in range(3):
        rig.fail(Undelivered(call.key, "league_manager", Failure.REFUSED))
        (call,) = rig.tick().outbox
    rig.fail(Undelivered(call.key, "league_manager", Failure.REFUSED))
    assert rig.player.trouble == "http://127.0.0.1:8000/mcp: connection refused"
    (call,) = rig.tick().outbox
    rig.answer(call, status(rig))
    assert rig.player.trouble == ""


@pytest.mark.requirement("STATUS.new_league")
def test_with_the_journal_of_a_league_that_is_over_a_player_enters_the_next() -> None:
    rig = Rig().enrolled()
    rig.say(rig.completed())
    (call,) = rig.restart().outbox
    assert rig.player.is_asking
    (register,) = rig.answer(call, UNKNOWN).outbox
    rig.answer(register, rig.accepted(SECOND) | {"league_id": "autumn"})
    assert (rig.player.state, rig.player.is_asking) == ("REGISTERED", False)
    assert isinstance(rig.journal[-1], Registered)
    assert rig.journal[-1].league_id == "autumn"


# --- referees ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("STATUS.new_league")
@pytest.mark.parametrize("league_id", ["autumn", referee_rig.LEAGUE])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_referee_plays_the_first_match_of_the_new_league_though_it_played_one_of_that_name(
    league_id: str, restarts: bool
) -> None:
    rig = referee_rig.Rig().given().plays()
    rig.wait(POLL_S)
    rig.answer(rig.open("league_manager", "LEAGUE_QUERY"), UNKNOWN)
    second = tokens.mint(referee_rig.ME, b"2" * 32)
    answer = rig.accepted(second, league_id=league_id)
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), answer)
    assert (rig.desk.state, dict(rig.desk.matches)) == ("REGISTERED", {})
    if restarts:
        rig.restart()
    shown = tokens.derive(tokens.deriver(second), tokens.MANAGER, referee_rig.ME, league_id)
    rig.announce(announced(), auth_token=shown, league_id=league_id)
    assert [one.match_id for one in rig.of(MatchTaken)] == ["R1M1", "R1M1"]
    assert rig.desk.state == "ACTIVE"
    assert rig.asked("P01")


def test_a_referee_drops_what_it_plays_when_another_league_has_begun() -> None:
    rig = referee_rig.Rig().given().joins("P01", "P02")
    rig.chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    rig.answer(rig.open("league_manager", "MATCH_RESULT_REPORT"), UNKNOWN)
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), rig.accepted(league_id="autumn"))
    assert [one.why for one in rig.of(MatchDropped)] == ["another league has begun"]
    rig.wait(10.0)
    assert not [one for one in rig.under_way.values() if one.kind == "MATCH_RESULT_REPORT"]
