"""Before a player loses that did not answer, the manager is asked, and the match may wait (spec section 8.15)."""

from __future__ import annotations

import pytest

from league import events as e
from league.machine import Failure, Refusal
from league.protocol.conventions import Convention
from league.protocol.message.messages import (
    GameError,
    MatchTrouble,
    RefereeRegisterRequest,
)
from league.protocol.signing import tokens
from tests.support.referee_rig import LEFT_OUT, UNKNOWN, Rig, Sent, announced, plain

TROUBLE = "trouble.v1"
DECLINES = Refusal("E045", "PROVIDER_UNAVAILABLE", words="no provider")
ROCK_PAPER_SCISSORS = "rock_paper_scissors"


def asking(*matches: dict[str, object]) -> Rig:
    """A referee whose manager wants to be asked, with these matches."""
    rig = Rig().enrolled(trouble=TROUBLE).knows("P01", "P02")
    rig.announce(*(matches or (announced(),)))
    return rig


def question(rig: Rig) -> Sent:
    return rig.open(tokens.MANAGER, "MATCH_TROUBLE")


def is_asking(rig: Rig) -> bool:
    return any(sent.kind == "MATCH_TROUBLE" for sent in rig.under_way.values())


def answers(rig: Rig, decision: str) -> Rig:
    """The manager answers the question that is open."""
    answer = rig.envelope("MATCH_TROUBLE_RESPONSE", match_id="R1M1", decision=decision, reason="because")
    rig.answer(question(rig), answer)
    return rig


def loses(rig: Rig, player: str = "P02", failure: Failure = Failure.REFUSED) -> Rig:
    """All attempts fail."""
    while not rig.of(e.AttemptFailed) or rig.of(e.AttemptFailed)[-1].retry is not None:
        rig.breaks(player, failure)
        while not rig.asked(player) and rig.of(e.AttemptFailed) and rig.of(e.AttemptFailed)[-1].retry is not None:
            rig.until(rig.t + 1)
    return rig


def test_a_referee_declares_that_it_asks() -> None:
    rig = asking()
    (request,) = rig.said(RefereeRegisterRequest)
    assert request.referee_meta.trouble == TROUBLE


@pytest.mark.requirement("TROUBLE.declared")
def test_a_manager_that_declared_nothing_is_not_asked() -> None:
    rig = loses(Rig().given().knows("P01", "P02").joins("P01"))
    assert not is_asking(rig)
    assert [event.code for event in rig.of(e.PlayerFaulted)] == ["E009"]


@pytest.mark.requirement("TROUBLE.asked")
def test_the_manager_is_asked_before_a_player_loses() -> None:
    rig = loses(asking().joins("P01"))
    (asked,) = rig.said(MatchTrouble)
    assert (asked.match_id, asked.attempt, asked.turn, asked.player_id, asked.code) == ("R1M1", 1, 0, "P02", "E009")
    assert asked.league_id == "spring"
    assert rig.of(e.PlayerFaulted) == []
    answers(rig, "decide")
    assert [(event.player_id, event.code) for event in rig.of(e.PlayerFaulted)] == [("P02", "E009")]


@pytest.mark.requirement("TROUBLE.asked")
def test_a_match_without_trouble_costs_no_question() -> None:
    rig = asking().plays()
    assert rig.said(MatchTrouble) == []


@pytest.mark.parametrize("wrong", ["Even", 7])
def test_nobody_is_asked_about_a_wrong_answer(wrong: object) -> None:
    rig = asking().joins("P01", "P02").chooses("P01", "even")
    for _ in range(4):
        rig.chooses("P02", wrong)
    rig.until(30)
    assert rig.said(MatchTrouble) == []
    assert len(rig.of(e.PlayerFaulted)) == 1


@pytest.mark.requirement("TROUBLE.token")
@pytest.mark.parametrize(("token", "answered"), [(LEFT_OUT, 3), ("tok_P02_stolen", 1)])
def test_an_answer_without_the_token_is_no_answer_and_the_match_may_wait(token: object, answered: int) -> None:
    rig = asking(announced(player_B_signs=True)).joins("P01")
    for _ in range(answered):
        rig.says("P02", rig.joining("P02", auth_token=token)).until(rig.t + 2)
    (asked,) = rig.said(MatchTrouble)
    assert (asked.player_id, asked.code) == ("P02", "E001")
    for _ in range(3):
        answers(rig, "wait").until(rig.t + 5)
        rig.says("P02", rig.joining("P02", auth_token=token))
    answers(rig, "wait").until(rig.t + 5)
    rig.joins("P02").chooses("P01", "even").chooses("P02", "odd")
    assert rig.decided.status == "WIN"


@pytest.mark.requirement("TROUBLE.wait")
@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
def test_after_a_pause_a_player_is_asked_in_the_form_that_it_has_read(is_late: bool, restarts: bool) -> None:
    rig = Rig().enrolled(trouble=TROUBLE).knows("P01")
    rig.announce(announced(player_B_signs=True))
    rig.joins("P01").says("P02", UNKNOWN)
    form = rig.question("P02").to.convention
    assert form is not Convention.SPEC
    answer = rig.joining("P02", auth_token="tok_P02_stolen")
    rig.says("P02", b"")
    if is_late:
        # Meanwhile it is called in another form, which it does not know.
        rig.until(rig.t + 1)
        assert rig.question("P02").to.convention is not form
        rig.says("P02", UNKNOWN)
    rig.request(answer, "10.0.1.2")
    if restarts:
        rig.restart()
    answers(rig, "wait").until(rig.t + 5)
    assert rig.question("P02").to.convention is form


@pytest.mark.requirement("TROUBLE.token")
def test_a_loss_for_want_of_a_token_says_so() -> None:
    rig = asking(announced(player_B_signs=True)).joins("P01")
    rig.says("P02", rig.joining("P02", auth_token="tok_P02_stolen"))
    answers(rig, "decide")
    (fault,) = rig.of(e.PlayerFaulted)
    assert (fault.code, fault.reached) == ("E001", True)
    assert fault.detail.endswith("an answer came and was refused, because this auth_token is not valid here (E012)")


@pytest.mark.requirement("TROUBLE.wait")
def test_a_match_that_waits_asks_every_five_seconds_in_the_same_position() -> None:
    rig = loses(asking().joins("P01"))
    before = rig.t
    answers(rig, "wait")
    rig.until(before + 4.9)
    assert not rig.asked("P02")
    rig.until(before + 5)
    rig.breaks("P02")
    answers(rig, "wait")
    rig.until(before + 10)
    invitations = [sent for sent in rig.sent if sent.kind == "GAME_INVITATION" and sent.to.agent_id == "P02"]
    assert len({plain(sent.message)["conversation_id"] for sent in invitations}) == 1
    assert {plain(sent.message)["attempt"] for sent in invitations} == {1}
    rig.joins("P02").chooses("P01", "even").chooses("P02", "odd")
    assert rig.decided.status == "WIN"
    assert len(rig.of(e.PlayerAwaited)) == 1, "once for each question"
    assert len(rig.of(e.AttemptFailed)) == 4, "what fails while the match waits counts nothing"


@pytest.mark.requirement("TROUBLE.wait")
def test_the_opponent_learns_nothing_of_a_pause() -> None:
    rig = asking().joins("P01", "P02").chooses("P01", "even")
    before = len([sent for sent in rig.sent if sent.to.agent_id == "P01"])
    loses(rig)
    answers(rig, "wait").until(rig.t + 5)
    rig.chooses("P02", "odd")
    to_p01 = [sent.kind for sent in rig.sent if sent.to.agent_id == "P01"][before:]
    assert to_p01 == ["GAME_OVER"]
    assert "E009" not in str(rig.decided.game_result)


@pytest.mark.requirement("TROUBLE.wait")
def test_a_player_hears_that_it_lost_only_when_that_is_decided() -> None:
    rig = asking().joins("P01", "P02").chooses("P01", "even")
    for _ in range(4):
        rig.says("P02", DECLINES).until(rig.t + 2)
    consequences = [error.consequence for error in rig.said(GameError)]
    assert "technical loss" not in consequences
    answers(rig, "wait").until(rig.t + 5)
    rig.says("P02", DECLINES)
    answers(rig, "decide")
    assert [error.consequence for error in rig.said(GameError)][-1] == "technical loss"
    assert [event.code for event in rig.of(e.PlayerFaulted)] == ["E045"]


def test_an_answer_that_the_player_posts_while_the_match_waits_counts() -> None:
    rig = asking().joins("P01", "P02").chooses("P01", "even")
    loses(rig)
    answers(rig, "wait")
    rig.request(rig.choosing("P02", "odd"), "10.0.1.2")
    assert rig.decided.status == "WIN"
    rig.until(rig.t + 60)
    assert not rig.asked("P02")


@pytest.mark.requirement("TROUBLE.survives")
def test_both_players_may_be_in_trouble_at_once() -> None:
    rig = asking()
    for _ in range(4):
        rig.breaks("P01").breaks("P02").until(rig.t + 2)
    asked = {plain(sent.message)["player_id"] for sent in rig.under_way.values() if sent.kind == "MATCH_TROUBLE"}
    assert asked == {"P01", "P02"}
    answers(rig, "wait")
    answers(rig, "decide")
    assert rig.of(e.MatchDecided) == [], "the other one is still waited for"


@pytest.mark.requirement("TROUBLE.survives")
def test_a_kill_of_the_referee_at_any_moment_of_a_pause_forgives_and_costs_nothing() -> None:
    whole = loses(asking().joins("P01"))
    answers(whole, "wait").until(whole.t + 5)
    for upto in range(len(whole.journal) + 1):
        rig = loses(asking().joins("P01"))
        answers(rig, "wait").until(rig.t + 5)
        if not any(isinstance(event, e.MatchTaken) for event in rig.journal[:upto]):
            continue
        rig.restart(upto)
        for _ in range(60):
            if is_asking(rig):
                break
            if rig.asked("P01"):
                rig.joins("P01")
            if rig.asked("P02"):
                rig.breaks("P02")
            rig.until(rig.t + 1)
        assert rig.of(e.PlayerFaulted) == []
        answers(rig, "wait").until(rig.t + 5)
        rig.joins("P02").chooses("P01", "even").chooses("P02", "odd")
        assert (rig.decided.status, rig.decided.attempt) == ("WIN", 1)


@pytest.mark.requirement("TROUBLE.survives")
def test_a_manager_that_does_not_answer_is_asked_until_it_does() -> None:
    rig = loses(asking().joins("P01"))
    for _ in range(5):
        rig.fail(question(rig), Failure.REFUSED)
        while not is_asking(rig):
            rig.until(rig.t + 1)
    assert rig.of(e.PlayerFaulted) == []


@pytest.mark.requirement("TROUBLE.survives")
@pytest.mark.parametrize("is_back", [True, False])
@pytest.mark.parametrize("away", ["manager", "referee"])
def test_a_player_that_failed_long_ago_is_asked_once_more_before_it_loses(away: str, is_back: bool) -> None:
    rig = loses(asking().joins("P01"))
    away_until = rig.t + 30
    if away == "referee":
        rig.t = away_until
        rig.restart()
    while rig.t < away_until:
        rig.fail(question(rig), Failure.REFUSED)
        while not is_asking(rig):
            rig.until(rig.t + 1)
    answers(rig, "decide")
    assert rig.of(e.PlayerFaulted) == []
    if is_back:
        rig.joins("P02").chooses("P01", "even").chooses("P02", "odd")
        assert rig.decided.status == "WIN"
    else:
        rig.breaks("P02")
        answers(rig, "decide")
        assert len(rig.of(e.PlayerFaulted)) == 1


@pytest.mark.parametrize("code", ["E014", "E016", "E036"])
def test_a_manager_that_refuses_the_question_leaves_the_decision_to_the_referee(code: str) -> None:
    rig = loses(asking().joins("P01"))
    rig.answer(question(rig), Refusal(code, "no"))
    assert len(rig.of(e.PlayerFaulted)) == 1


@pytest.mark.parametrize("is_back", [True, False])
def test_a_player_that_moved_meanwhile_is_asked_once_more_at_its_new_address(is_back: bool) -> None:
    rig = loses(asking().joins("P01"))
    rig.announce(announced(player_B_endpoint="http://10.0.0.9:8000/mailbox/x/mcp"))
    answers(rig, "decide")
    assert rig.of(e.PlayerFaulted) == []
    if is_back:
        rig.joins("P02")
        assert rig.of(e.PlayerFaulted) == []
        return
    rig.breaks("P02")
    # It is not asked again and again, wherever it goes.
    rig.announce(announced(player_B_endpoint="http://10.0.0.8:8000/mailbox/x/mcp"))
    answers(rig, "decide")
    assert [event.player_id for event in rig.of(e.PlayerFaulted)] == ["P02"]


def test_a_match_that_is_taken_away_asks_nobody_any_more() -> None:
    rig = loses(asking().joins("P01"))
    answers(rig, "wait")
    rig.announce(announced(attempt=2))
    rig.until(rig.t + 4)
    assert not is_asking(rig)
    invitations = [sent for sent in rig.under_way.values() if sent.kind == "GAME_INVITATION"]
    assert {plain(sent.message)["attempt"] for sent in invitations} == {2}


@pytest.mark.requirement("OUTAGE.behind")
def test_the_manager_is_told_who_was_behind() -> None:
    rig = asking(announced(game_type=ROCK_PAPER_SCISSORS)).joins("P01", "P02")
    rig.chooses("P01", "rock").chooses("P02", "scissors")
    rig.chooses("P01", "rock")
    loses(rig, "P02")
    assert [(asked.turn, asked.behind) for asked in rig.said(MatchTrouble)] == [(2, True)]


@pytest.mark.parametrize(
    ("failure", "reached", "reason"),
    [
        (Failure.REFUSED, False, "P02 could not be reached"),
        (Failure.BROKEN, False, "P02 could not be reached"),
        (Failure.SERVER_ERROR, True, "P02 answered with an error"),
        (Failure.NOT_UNDERSTOOD, True, "P02 answered with an error"),
    ],
)
@pytest.mark.requirement("OUTAGE.in_reach")
def test_nobody_who_answers_is_called_unreachable(failure: Failure, reached: bool, reason: str) -> None:
    rig = asking().joins("P01")
    loses(rig, "P02", failure)
    answers(rig, "decide")
    assert rig.decided.reason == f"Technical loss: {reason}"
    assert rig.decided.details["faults"]["P02"].get("reached", False) is reached
