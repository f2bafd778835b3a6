"""A player signs each choice once, whatever its referee does, and objects when it knows better."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import ChoiceGiven, GameEnded, InvitationAnswered
from league.games import draw
from league.protocol.message.messages import LeagueRegisterRequest
from league.protocol.signing import tokens
from league.protocol.signing.choices import ChoicesStatement, chained
from league.protocol.signing.keys import is_signed
from tests.support.player_rig import LEAGUE, MANAGER_KEY, ME, SHARE, Rig, promise_of

SHARE_PROMISE = promise_of("R1M1", 1)
SEED = bytes(range(32))
PROMISE = draw.commitment(SEED, LEAGUE, "R1M1", 1, SHARE_PROMISE)
NUMBER = draw.number(draw.mixed(SEED, SHARE), LEAGUE, "R1M1", 1)


def signed(rig: Rig, signature: str | None, *choices: str, **changed: Any) -> bool:
    """True if the player signed these choices, with the key that it declared."""
    request = next(call.message for call in rig.sent if isinstance(call.message, LeagueRegisterRequest))
    fields: dict[str, Any] = {
        "manager_key": MANAGER_KEY,
        "league_id": LEAGUE,
        "match_id": "R1M1",
        "attempt": 1,
        "game_type": "even_odd",
        "player_id": ME,
        "opponent_id": "P02",
        "draw_commitment": PROMISE,
        "share_commitment": SHARE_PROMISE,
        "choices": choices,
        "views": None,
        **changed,
    }
    return is_signed(signature, request.player_meta.public_key or "", ChoicesStatement(**fields))


@pytest.fixture
def rig() -> Rig:
    rig = Rig(signs=True).enrolled()
    rig.say(rig.announcement())
    return rig


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
        "draw_share": SHARE.hex(),
        **changed,
    }
    return message


def objections(rig: Rig) -> list[str]:
    return [event.objection for event in rig.journal if isinstance(event, GameEnded)]


# --- signing ----------------------------------------------------------------------------------------------------------


def unsigned_because(rig: Rig) -> list[str]:
    return [event.unsigned for event in rig.journal if isinstance(event, ChoiceGiven)]


@pytest.mark.requirement("SIGNATURE.statement")
def test_a_choice_is_signed_and_the_signature_is_stored_before_it_leaves(joined: Rig) -> None:
    response = answered(joined, joined.call(turn=1), "odd")
    assert signed(joined, response.signature, "odd")
    assert not signed(joined, response.signature, "even")
    (given,) = [event for event in joined.journal if isinstance(event, ChoiceGiven)]
    assert (given.signature, given.final, given.unsigned) == (response.signature, True, "")


@pytest.mark.requirement("SIGNATURE.once")
def test_every_repetition_gets_the_same_signature_also_after_a_restart(joined: Rig) -> None:
    first = answered(joined, joined.call(turn=1), "odd")
    again = joined.say(joined.call(turn=1))
    joined.restart()
    reborn = joined.say(joined.call(turn=1))
    assert {first.signature, again.signature, reborn.signature} == {first.signature}
    assert {first.parity_choice, again.parity_choice, reborn.parity_choice} == {"odd"}


@pytest.mark.requirement("SIGNATURE.once")
def test_an_error_about_a_legal_choice_changes_nothing(joined: Rig) -> None:
    first = answered(joined, joined.call(turn=1), "odd")
    for _ in range(8):
        joined.say(joined.error("E004"))
        again = joined.say(joined.call(turn=1))
        assert (again.parity_choice, again.signature) == ("odd", first.signature)


def test_an_illegal_choice_is_not_signed(joined: Rig) -> None:
    assert answered(joined, joined.call(turn=1), "Odd").signature is None
    joined.say(joined.error("E004"))
    assert signed(joined, answered(joined, joined.call(turn=1), "odd").signature, "odd")


@pytest.mark.requirement("SIGNATURE.statement")
def test_a_signature_covers_all_choices_and_all_views_so_far(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe", draw_commitment=PROMISE))
    views = None
    chosen: list[str] = []
    for turn, choice in ((1, "4"), (3, "0"), (5, "4")):
        call = rig.move_call(turn) | {"turn": turn}
        _, step = rig.post(call)
        rig.choose(step, choice)
        if turn == 3:
            rig.restart()
        views = chained(views, call["move_request"])
        chosen.append(choice)
        signature = rig.say(call).signature
        assert signed(rig, signature, *chosen, views=views, game_type="tic_tac_toe")
        assert not signed(rig, signature, *chosen, views=None, game_type="tic_tac_toe")


def test_a_referee_that_changes_the_options_does_not_change_the_choice(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe", draw_commitment=PROMISE))
    letter, step = rig.post({**rig.move_call(1, ("0", "4")), "turn": 1})
    rig.choose(step, "4")
    response = rig.answer_to(letter)
    again = rig.say({**rig.move_call(1, ("0", "8")), "turn": 1})
    assert (again.move_data.choice, again.signature) == ("4", response.signature)


@pytest.mark.parametrize("context", [{"board": 2**53 + 1}, {"board": 10**300}], ids=["too large", "far too large"])
def test_what_has_no_digest_is_not_signed_and_neither_is_what_follows(rig: Rig, context: dict[str, Any]) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe", draw_commitment=PROMISE))
    for turn in (1, 3):
        call = {**rig.move_call(turn), "turn": turn}
        if turn == 1:
            call["move_request"]["context"] |= context
        letter, step = rig.post(call)
        rig.choose(step, "4")
        assert rig.answer_to(letter).signature is None
    assert all(unsigned_because(rig))


def test_a_move_without_a_turn_is_not_signed(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe"))
    letter, step = rig.post(rig.move_call(1))
    rig.choose(step, "4")
    assert rig.answer_to(letter).signature is None
    assert unsigned_because(rig) == ["the referee does not number its turns"]


def test_an_even_odd_call_without_a_turn_is_turn_one(joined: Rig) -> None:
    assert signed(joined, answered(joined, joined.call(), "even").signature, "even")


@pytest.mark.parametrize(
    "changed",
    [{"attempt": None}, {"attempt": 2}, {"share_commitment": "ab" * 32}, {"share_commitment": None}],
    ids=str,
)
def test_only_the_announced_attempt_is_signed_under_its_promise(rig: Rig, changed: dict[str, Any]) -> None:
    attempt = changed.get("attempt", 1)
    invitation = {**rig.invitation(attempt=attempt), **changed}
    rig.say({name: value for name, value in invitation.items() if value is not None})
    assert answered(rig, rig.call(attempt=attempt, turn=1), "odd").signature is None
    assert all(unsigned_because(rig))


def test_a_later_attempt_is_signed_once_the_manager_announced_it(joined: Rig) -> None:
    (match,) = joined.announcement()["matches"]
    again = {"attempt": 2, "share_commitment": promise_of("R1M1", 2)}
    joined.say(joined.announcement(matches=[{**match, **again}]))
    joined.say(joined.invitation(attempt=2))
    signature = answered(joined, joined.call(attempt=2, turn=1), "odd").signature
    assert signed(joined, signature, "odd", **again, draw_commitment=None)


def test_nothing_is_signed_for_a_referee_without_a_derived_token(rig: Rig) -> None:
    rig.say(rig.announced_without_tokens(referee_tokens=[tokens.verifier("tok_its_own")]))
    mine: dict[str, Any] = {"auth_token": "tok_its_own"}
    rig.say(rig.invitation(**mine))
    assert answered(rig, rig.call(turn=1, **mine), "odd").signature is None


def test_a_player_that_lost_its_memory_does_not_sign(rig: Rig) -> None:
    assert answered(rig, rig.call(turn=1), "odd").signature is None


def test_under_a_manager_without_a_key_nothing_is_signed() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())
    assert answered(rig, rig.call(turn=1), "odd").signature is None
    assert unsigned_because(rig) == [""]


def test_the_key_is_kept_with_the_journal(rig: Rig) -> None:
    (key,) = {
        call.message.player_meta.public_key for call in rig.sent if isinstance(call.message, LeagueRegisterRequest)
    }
    rig.restart()
    rig.take(rig.player.resume(rig.now))
    assert rig.player._membership.meta.public_key == key  # type: ignore[union-attr]


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


# --- objections -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("OBJECTION.player")
def test_a_right_result_meets_no_objection(joined: Rig) -> None:
    answered(joined, joined.call(turn=1), "odd")
    joined.say(over(joined))
    assert objections(joined) == [""]


@pytest.mark.requirement("OBJECTION.player")
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
def test_an_objection_is_kept_with_a_wrong_result(joined: Rig, changed: dict[str, Any], why: str) -> None:
    answered(joined, joined.call(turn=1), "odd")
    joined.say(over(joined, **changed))
    (said,) = objections(joined)
    assert why in said


@pytest.mark.requirement("OBJECTION.player")
def test_a_result_without_a_question_meets_an_objection(joined: Rig) -> None:
    joined.say(over(joined))
    assert objections(joined) == ["nobody asked us for a choice, and GAME_OVER says odd"]
