"""A player signs each choice once, whatever its referee does, and protests when it knows better."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import ChoiceGiven, InvitationAnswered, ProtestMade
from league.games import draw
from league.protocol import tokens
from league.protocol.messages import LeagueQuery, LeagueRegisterRequest
from league.protocol.receipts import Signed, is_receipt, receipt_key, seen_in
from tests.support.player_rig import KEY, LEAGUE, ME, Rig

SEED = bytes(range(32))
PROMISE = draw.commitment(SEED, LEAGUE, "R1M1", 1)
NUMBER = draw.number(SEED, LEAGUE, "R1M1", 1)
RK = receipt_key(KEY, ME, LEAGUE, "R1M1", 1)
SIGNED = Signed(LEAGUE, "R1M1", 1, "even_odd", ME, "P02", 1, PROMISE)


@pytest.fixture
def rig() -> Rig:
    return Rig(receipts=True).enrolled()


@pytest.fixture
def joined(rig: Rig) -> Rig:
    rig.say(rig.invitation(draw_commitment=PROMISE))
    return rig


def answered(rig: Rig, call: dict[str, Any], choice: str) -> Any:
    letter, step = rig.post(call)
    rig.choose(step, choice)
    return rig.answer_to(letter)


def over(rig: Rig, **changed: Any) -> dict[str, Any]:
    """The right GAME_OVER after we chose odd and P02 even."""
    winner = ME if NUMBER % 2 else "P02"
    message = rig.over(winner=winner)
    message["game_result"] |= {
        "drawn_number": NUMBER,
        "number_parity": "odd" if NUMBER % 2 else "even",
        "choices": {ME: "odd", "P02": "even"},
        "draw_seed": SEED.hex(),
        **changed,
    }
    return message


def protests(rig: Rig) -> list[LeagueQuery]:
    queries = [call.message for call in rig.sent if isinstance(call.message, LeagueQuery)]
    return [query for query in queries if query.query_type == "PROTEST"]


def whys(rig: Rig) -> list[str | None]:
    return [query.query_params.why for query in protests(rig) if query.query_params]


# --- signing ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("RECEIPT.statement")
@pytest.mark.requirement("LEAGUE_REGISTER_REQUEST.player_meta.receipts")
def test_a_choice_is_signed_and_the_receipt_is_stored_before_it_leaves(joined: Rig) -> None:
    request = next(call.message for call in joined.sent if isinstance(call.message, LeagueRegisterRequest))
    assert request.player_meta.receipts == "receipt.v1"
    response = answered(joined, joined.call(turn=1), "odd")
    assert is_receipt(response.receipt, [RK], SIGNED, "odd")
    (given,) = [event for event in joined.journal if isinstance(event, ChoiceGiven)]
    assert (given.receipt, given.final) == (response.receipt, True)


@pytest.mark.requirement("RECEIPT.once")
def test_every_repetition_gets_the_same_receipt_also_after_a_restart(joined: Rig) -> None:
    first = answered(joined, joined.call(turn=1), "odd")
    again = joined.say(joined.call(turn=1))
    joined.restart()
    reborn = joined.say(joined.call(turn=1))
    assert {first.receipt, again.receipt, reborn.receipt} == {first.receipt}
    assert {first.parity_choice, again.parity_choice, reborn.parity_choice} == {"odd"}


@pytest.mark.requirement("RECEIPT.once")
def test_an_error_about_a_legal_choice_changes_nothing_and_is_protested_once(joined: Rig) -> None:
    first = answered(joined, joined.call(turn=1), "odd")
    for _ in range(8):
        joined.say(joined.error("E004"))
        again = joined.say(joined.call(turn=1))
        assert (again.parity_choice, again.receipt) == ("odd", first.receipt)
    rejected = [why for why in whys(joined) if why and "legal" in why]
    assert len(rejected) == 1
    params = protests(joined)[0].query_params
    assert params is not None
    assert params.receipts is not None
    assert (params.match_id, params.attempt, params.draw_commitment) == ("R1M1", 1, PROMISE)
    assert [(claim.turn, claim.choice, claim.receipt) for claim in params.receipts] == [(1, "odd", first.receipt)]


def test_an_illegal_choice_is_not_signed(joined: Rig) -> None:
    assert answered(joined, joined.call(turn=1), "Odd").receipt is None
    joined.say(joined.error("E004"))
    assert answered(joined, joined.call(turn=1), "odd").receipt is not None


def test_a_referee_that_changes_the_options_does_not_change_the_choice(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe", draw_commitment=PROMISE))
    call = {**rig.move_call(1, ("0", "4")), "turn": 1}
    letter, step = rig.post(call)
    rig.choose(step, "4")
    response = rig.answer_to(letter)
    signed = Signed(LEAGUE, "R1M1", 1, "tic_tac_toe", ME, "P02", 1, PROMISE, seen_in(call["move_request"]))
    assert is_receipt(response.receipt, [RK], signed, "4")
    again = rig.say({**rig.move_call(1, ("0", "8")), "turn": 1})
    assert (again.move_data.choice, again.receipt) == ("4", response.receipt)


def test_a_move_without_a_turn_is_not_signed(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe"))
    letter, step = rig.post(rig.move_call(1))
    rig.choose(step, "4")
    assert rig.answer_to(letter).receipt is None


def test_an_even_odd_call_without_a_turn_is_turn_one(joined: Rig) -> None:
    assert is_receipt(answered(joined, joined.call(), "even").receipt, [RK], SIGNED, "even")


def test_nothing_is_signed_for_an_invitation_without_attempt(rig: Rig) -> None:
    rig.say(rig.invitation(attempt=None))
    assert answered(rig, rig.call(attempt=None), "odd").receipt is None


def test_nothing_is_signed_for_a_referee_without_a_derived_token(rig: Rig) -> None:
    rig.say(rig.announced_without_tokens(referee_tokens=[tokens.verifier("tok_its_own")]))
    mine: dict[str, Any] = {"auth_token": "tok_its_own"}
    rig.say(rig.invitation(**mine))
    assert answered(rig, rig.call(turn=1, **mine), "odd").receipt is None


def test_a_player_that_lost_its_memory_does_not_sign(rig: Rig) -> None:
    assert answered(rig, rig.call(turn=1), "odd").receipt is None


def test_under_a_manager_that_takes_no_receipts_nothing_is_signed() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())
    assert answered(rig, rig.call(turn=1), "odd").receipt is None
    rig.say(rig.call(turn=1))
    assert protests(rig) == []


@pytest.mark.requirement("RECEIPT.declined")
def test_declining_is_signed(rig: Rig) -> None:
    ack = rig.say(rig.invitation(game_type="chess", draw_commitment=PROMISE))
    signed = Signed(LEAGUE, "R1M1", 1, "chess", ME, "P02", 0, PROMISE)
    assert not ack.accept
    assert is_receipt(ack.receipt, [RK], signed, "-decline")
    assert rig.say(rig.invitation(game_type="chess", draw_commitment=PROMISE)).receipt == ack.receipt


# --- one commitment per attempt ---------------------------------------------------------------------------------------


@pytest.mark.requirement("DRAW.one_commitment")
def test_a_second_commitment_for_one_attempt_is_refused(joined: Rig) -> None:
    other = draw.commitment(bytes(32), LEAGUE, "R1M1", 1)
    assert joined.refusal_of(joined.invitation(draw_commitment=other)) == "E023"
    assert joined.refusal_of(joined.invitation()) == "E023"
    joined.restart()
    assert joined.refusal_of(joined.invitation(draw_commitment=other)) == "E023"
    assert joined.say(joined.invitation(draw_commitment=PROMISE)).accept
    later = draw.commitment(bytes(32), LEAGUE, "R1M1", 2)
    assert joined.say(joined.invitation(attempt=2, draw_commitment=later)).accept
    invitations = [event for event in joined.journal if isinstance(event, InvitationAnswered)]
    assert [event.draw_commitment for event in invitations] == [PROMISE, later]


# --- protests ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("PROTEST.player")
def test_a_right_result_is_not_protested(joined: Rig) -> None:
    answered(joined, joined.call(turn=1), "odd")
    joined.say(over(joined))
    assert whys(joined) == []


@pytest.mark.requirement("PROTEST.player")
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"choices": {ME: "even", "P02": "odd"}}, "we chose odd in turn 1, and GAME_OVER says even"),
        ({"choices": {ME: None, "P02": "odd"}, "status": "TECHNICAL_LOSS", "winner_player_id": "P02"}, "says None"),
        ({"draw_seed": bytes(32).hex()}, "do not open the commitment"),
        ({"draw_seed": None}, "do not open the commitment"),
        ({"drawn_number": NUMBER % 10 + 1}, "the seed gives the number"),
        ({"winner_player_id": "P02" if NUMBER % 2 else ME}, "the result does not follow"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_result_is_protested(joined: Rig, changed: dict[str, Any], why: str) -> None:
    answered(joined, joined.call(turn=1), "odd")
    joined.say(over(joined, **changed))
    (said,) = whys(joined)
    assert said is not None
    assert why in said
    assert len([event for event in joined.journal if isinstance(event, ProtestMade)]) == 1


def test_a_result_without_a_question_is_protested(joined: Rig) -> None:
    joined.say(over(joined))
    assert whys(joined) == ["nobody asked us for a choice, and GAME_OVER says odd"]


def test_a_player_that_is_asked_again_shows_its_receipt_once(joined: Rig) -> None:
    answered(joined, joined.call(turn=1), "odd")
    joined.say(joined.call(turn=1))
    joined.say(joined.call(turn=1))
    assert whys(joined) == ["asked again for turn 1"]
    joined.say(over(joined, drawn_number=NUMBER % 10 + 1))
    assert len(whys(joined)) == 2


def table(rig: Rig, points: int, played: int = 1) -> dict[str, Any]:
    message = rig.standings()
    message["standings"][0] |= {"points": points, "played": played}
    return message


def stats(rig: Rig, **stored: Any) -> dict[str, Any]:
    match = {"match_id": "R1M1", "opponent_id": "P02", "outcome": "LOSS", "choice": "odd", **stored}
    return rig.envelope("LEAGUE_QUERY_RESPONSE", query_type="GET_PLAYER_STATS", success=True, data={"matches": [match]})


@pytest.mark.requirement("PROTEST.player")
@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ({"outcome": "LOSS" if NUMBER % 2 else "WIN"}, "GAME_OVER said"),
        ({"outcome": "WIN" if NUMBER % 2 else "LOSS", "choice": "even"}, "we chose odd, and the manager was told even"),
        ({"outcome": None}, None),
        ({"outcome": "WALKOVER"}, None),
    ],
    ids=["outcome", "choice", "void", "walkover"],
)
def test_a_row_that_does_not_follow_is_looked_into(joined: Rig, stored: dict[str, Any], why: str | None) -> None:
    answered(joined, joined.call(turn=1), "odd")
    joined.say(over(joined))
    joined.say(table(joined, points=2))
    joined.say(joined.round_completed())
    (question,) = [call for call in joined.sent if getattr(call.message, "query_type", "") == "GET_PLAYER_STATS"]
    joined.answer(question, stats(joined, **stored))
    said = whys(joined)
    assert len(said) == (why is not None)
    assert all(why in str(one) for one in said if why)


def test_a_row_that_follows_is_not_looked_into(joined: Rig) -> None:
    answered(joined, joined.call(turn=1), "odd")
    joined.say(over(joined))
    joined.say(table(joined, points=3 if NUMBER % 2 else 0))
    joined.say(joined.round_completed())
    assert not [call for call in joined.sent if isinstance(call.message, LeagueQuery)]


def round_over(rig: Rig, **stored: Any) -> None:
    """The round ends, our row does not follow, and the manager tells us the match behind it."""
    rig.say(table(rig, points=0))
    rig.say(rig.round_completed())
    (question,) = [call for call in rig.sent if getattr(call.message, "query_type", "") == "GET_PLAYER_STATS"]
    rig.answer(question, stats(rig, **stored))


@pytest.mark.requirement("PROTEST.player")
@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ({"outcome": "LOSS"}, ["nobody invited us, and the table counts LOSS"]),
        ({"outcome": "TECHNICAL_LOSS", "choice": None}, ["nobody invited us, and the table counts TECHNICAL_LOSS"]),
        ({"outcome": "WALKOVER"}, []),
        ({"outcome": None}, []),
    ],
    ids=["invented", "loss", "walkover", "void"],
)
def test_a_match_that_nobody_invited_us_to_is_protested(rig: Rig, stored: dict[str, Any], why: list[str]) -> None:
    rig.say(rig.announcement())
    round_over(rig, **stored)
    assert whys(rig) == why
    assert [event.match_id for event in rig.journal if isinstance(event, ProtestMade)] == ["R1M1"] * len(why)


def test_a_player_that_was_away_or_lost_its_memory_does_not_protest(rig: Rig) -> None:
    rig.say(rig.announcement())
    rig.restart()
    round_over(rig)
    assert whys(rig) == []
    forgetful = Rig(receipts=True).enrolled()
    forgetful.say(forgetful.announcement(2))
    message = table(forgetful, points=0)
    forgetful.say({**message, "round_id": 2})
    forgetful.say(forgetful.round_completed(2))
    (question,) = [call for call in forgetful.sent if getattr(call.message, "query_type", "") == "GET_PLAYER_STATS"]
    forgetful.answer(question, stats(forgetful, match_id="R2M1"))
    assert whys(forgetful) == []
