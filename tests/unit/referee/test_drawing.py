"""A referee under a manager that takes part in its draws."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.games import draw
from league.machine import Failure, Refusal
from league.protocol.message.messages import DrawRequest, GameInvitation, GameOver, MatchResultReport
from tests.support.referee_rig import LEAGUE, Rig, announced, plain

SHARE = bytes(range(32, 64))
PROMISE = draw.commitment(SHARE, LEAGUE, "R1M1", 1)


def drawing() -> Rig:
    rig = Rig().given(announced(share_commitment=PROMISE)).joins("P01", "P02")
    return rig.chooses("P01", "even", signature="A" * 86).chooses("P02", "odd")


def response(rig: Rig, **changed: Any) -> dict[str, Any]:
    named = {"match_id": "R1M1", "attempt": 1, "draw_share": SHARE.hex(), **changed}
    return rig.envelope("DRAW_RESPONSE", "league_manager", **named)


def ask(rig: Rig) -> Any:
    return rig.open("league_manager", "DRAW_REQUEST")


@pytest.mark.requirement("DRAW.shared")
def test_all_choices_and_the_seed_are_handed_in_before_anybody_learns_anything() -> None:
    rig = drawing()
    seed = rig.of(e.MatchTaken)[0].seed
    commitment = draw.commitment(bytes.fromhex(seed), LEAGUE, "R1M1", 1, PROMISE)
    invitations = rig.said(GameInvitation)
    assert {(one.draw_commitment, one.share_commitment) for one in invitations} == {(commitment, PROMISE)}
    (handed_in,) = rig.said(DrawRequest)
    assert plain(handed_in) | {"timestamp": "", "protocol": "", "conversation_id": ""} == {
        "message_type": "DRAW_REQUEST",
        "protocol": "",
        "sender": "referee:REF01",
        "timestamp": "",
        "conversation_id": "",
        "league_id": LEAGUE,
        "match_id": "R1M1",
        "attempt": 1,
        "choices": {"P01": "even", "P02": "odd"},
        "signatures": {"P01": "A" * 86},
        "draw_seed": seed,
        "draw_commitment": commitment,
    }
    assert rig.said(GameOver) == []
    rig.answer(ask(rig), response(rig))
    number = draw.number(draw.mixed(bytes.fromhex(seed), SHARE), LEAGUE, "R1M1", 1)
    over = plain(rig.said(GameOver)[0])["game_result"]
    assert (over["drawn_number"], over["draw_share"], over["share_commitment"]) == (number, SHARE.hex(), PROMISE)
    rig.hears_game_over("P01", "P02")
    details = plain(rig.said(MatchResultReport)[0])["result"]["details"]
    assert (details["draw_share"], details["draw_commitment"]) == (SHARE.hex(), commitment)


@pytest.mark.requirement("DRAW.shared")
def test_without_an_answer_the_same_request_is_repeated_and_nothing_is_drawn_alone() -> None:
    rig = drawing()
    (first,) = rig.said(DrawRequest)
    rig.fail(ask(rig), Failure.REFUSED)
    rig.wait(3)
    assert len(rig.said(DrawRequest)) == 2
    rig.restart()
    assert {(one.draw_seed, one.draw_commitment) for one in rig.said(DrawRequest)} == {
        (first.draw_seed, first.draw_commitment)
    }
    assert rig.of(e.NumberDrawn) == []
    rig.answer(ask(rig), response(rig))
    assert len(rig.of(e.NumberDrawn)) == 1


def test_a_restart_after_the_share_goes_on_with_it() -> None:
    rig = drawing()
    rig.answer(ask(rig), response(rig))
    rig.restart(len(rig.journal) - 2)
    assert len(rig.of(e.ShareReceived)) == 1
    assert len(rig.of(e.MatchDecided)) == 1


def test_a_match_that_is_not_ours_any_more_is_dropped() -> None:
    rig = drawing()
    rig.answer(ask(rig), Refusal("E016", "not yours"))
    (dropped,) = rig.of(e.MatchDropped)
    assert "E016" in dropped.why
    assert rig.said(GameOver) == []


def test_a_technical_loss_needs_no_share() -> None:
    rig = Rig().given(announced(share_commitment=PROMISE)).joins("P01")
    rig.answer(rig.question("P02"), {**rig.joining("P02"), "accept": False})
    assert rig.said(DrawRequest) == []
    assert len(rig.said(GameOver)) == 2


# --- players that declared a key are held to their tokens -------------------------------------------------------------


@pytest.mark.requirement("TOKEN.signers_held")
@pytest.mark.parametrize("signs", [True, False])
def test_a_stranger_at_the_port_of_a_signing_player_plays_nothing(signs: bool) -> None:
    rig = Rig().given(announced(player_A_signs=signs))
    bare = {name: value for name, value in rig.joining("P01").items() if name != "auth_token"}
    rig.says("P01", bare)
    joined = [event.player_id for event in rig.of(e.PlayerJoined)]
    assert joined == ([] if signs else ["P01"])
    if signs:
        (wrong,) = rig.of(e.WrongAnswer)
        assert (wrong.code, wrong.requirement) == ("E011", "TOKEN.wrong_in_answer")
        rig.says("P01", rig.joining("P01", auth_token="tok_P01_stolen"))
        assert [event.code for event in rig.of(e.PlayerFaulted)] == ["E012"]
