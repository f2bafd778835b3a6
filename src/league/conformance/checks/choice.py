"""Choosing (spec sections 5.10, 5.11, 5.19, 5.20, 6.5, 6.7)."""

from __future__ import annotations

from collections.abc import Mapping

from league.conformance.checks.common import accepted, chosen, if_joined
from league.conformance.checks.matches import echoes, in_time, same_again
from league.conformance.outcome import Check, CheckOutcome, Verdict, broken, kept, untestable
from league.conformance.record import RunRecord
from league.protocol.judge import shown


@if_joined
def choice_in_time(record: RunRecord) -> CheckOutcome:
    return in_time(record, record.of("call"), "CHOOSE_PARITY_CALL", "CHOOSE_PARITY_RESPONSE")


def choice_echoes(record: RunRecord) -> CheckOutcome:
    return echoes(record, "CHOOSE_PARITY_CALL")


@if_joined
def same_answer(record: RunRecord) -> CheckOutcome:
    joins = same_again(record.of("invitation"), record.of("invitation again"), accepted)
    if joins.verdict is Verdict.FAIL:
        return joins
    return same_again(record.of("call"), record.of("call again"), chosen)


@if_joined
def hears_its_referee_only(record: RunRecord) -> CheckOutcome:
    peeked = record.of("call of a stranger")
    if not peeked:
        return untestable("the player made no choice that a stranger could ask for")
    for one in peeked:
        if one.is_answered and chosen(one) is not None:
            how = "with another token than the referee's" if one.message.get("auth_token") else "without a token"
            advice = "Keep the auth_token of the first call for a match until it is over; another gets E012 (9.2)."
            return broken(f"a call {how} was answered with the choice: your opponent can ask for it, too", advice, one)
    return kept("a call with another token than the referee's gets no choice", peeked)


@if_joined
def plays_again(record: RunRecord) -> CheckOutcome:
    asked = [*record.of("invitation to play again"), *record.of("call to play again")]
    if not asked:
        return untestable("the player did not play a match to its end")
    advice = (
        "After GAME_OVER an invitation with a higher attempt begins the match anew: keep nothing of the one before."
    )
    for one in asked:
        if not one.is_answered:
            return broken(f"{one.kind} of the next attempt: {one.why_not()}", advice, one)
    if accepted(asked[0]) is False:
        return broken("the player does not join the next attempt of a match it has played", advice, asked[0])
    return kept("joined and chose in the next attempt of a match that was over", asked)


@if_joined
def corrects(record: RunRecord) -> CheckOutcome:
    told, again = record.of("game error"), record.of("corrected call")
    if not told or not again:
        return untestable("no choice was made that could be called wrong")
    wrong, one = told[0].message["context"]["invalid_choice"], again[0]
    advice = "After GAME_ERROR forget the choice it names, and answer the next call with one of valid_choices."
    if not one.is_answered:
        return broken(f"the call after GAME_ERROR: {one.why_not()}", advice, told[0], one)
    if chosen(one) not in ("even", "odd"):
        return broken(f"the call after GAME_ERROR was answered with {shown(chosen(one))}", advice, told[0], one)
    return kept(f"first {wrong!r}, then {chosen(one)!r}", [one])


@if_joined
def valid_option(record: RunRecord) -> CheckOutcome:
    asked = record.of("move call")
    if not asked:
        return untestable("the player did not join a match in another game than even_odd")
    one = asked[0]
    if not one.is_answered:
        return untestable(f"the player joined the other game, but: {one.why_not()}")
    moved = one.answer.get("move_data")
    choice = moved.get("choice") if isinstance(moved, dict) else chosen(one)
    options = one.message["move_request"]["valid_options"]
    if not isinstance(choice, str):
        return untestable("the answer holds no move [GAME_MOVE_RESPONSE.move_data.choice]")
    if choice not in options:
        advice = "Answer with one of move_request.valid_options, letter by letter."
        return broken(f"{choice!r} is not among {options}", advice, one)
    return kept(f"chose {choice!r}", [one])


CHECKS: Mapping[str, Check] = {
    "CHOICE.in_time": Check(choice_in_time, ("dialect", "match")),
    "CHOICE.echoes_match_id": Check(choice_echoes, ("dialect", "match")),
    "PLAYER.same_answer_to_repeated_call": Check(same_answer, ("dialect", "match")),
    "PLAYER.hears_its_referee_only": Check(hears_its_referee_only, ("dialect", "match")),
    "PLAYER.plays_again": Check(plays_again, ("dialect", "match", "played_again")),
    "PLAYER.corrects": Check(corrects, ("dialect", "correction")),
    "MOVE.valid_option": Check(valid_option, ("dialect", "other_game")),
}
