"""Joining matches and choosing in them (spec sections 5.8 to 5.11, 5.19, 5.20, 6.2, 6.5, 6.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from league.protocol.exchanges import EXCHANGES, REPLY_TYPES
from league.protocol.judge import shown
from league_kit.checks.common import (
    accepted,
    chosen,
    if_joined,
    if_reached,
    not_busy,
    own_id,
    refuses_stranger,
)
from league_kit.outcome import Check, CheckOutcome, Verdict, broken, kept, untestable, warning
from league_kit.record import Arrival, Probe, RunRecord
from league_kit.wire import Trouble


@if_reached
def in_time(record: RunRecord, label: str, kind: str) -> CheckOutcome:
    """The requests with this label decide; a slow answer to any other of the same type is a warning."""
    asked = not_busy(record.of(label))
    if not asked:
        return untestable(f"no {kind} was sent, or the player put it off (429, 503)")
    for one in asked:
        if not one.is_answered:
            return _unanswered(record, one)
    return _slow(record, asked)


def _unanswered(record: RunRecord, one: Probe) -> CheckOutcome:
    reply = EXCHANGES[one.kind].replies[0]
    if one.trouble is Trouble.TIMEOUT:
        advice = f"Answer with {reply} within {one.limit_s:g} seconds; think in another thread if it takes longer."
        return broken(f"{one.kind}: {one.response.detail}", advice, one)
    if not one.is_readable:
        return untestable(f"the answer cannot be read: {one.why_not()} [RPC.one_answer]")
    if refuses_stranger(record, one):
        return untestable(f"the player belongs to another league: {one.parsed.error}")
    if one.parsed.error is None and not isinstance(one.parsed.content, dict):
        return untestable("the result is no object, so it is no message [ENVELOPE]")
    advice = f"Answer with {reply} in the JSON-RPC result."
    if one.parsed.error is not None:
        # It came in time: what is wrong is that it is a refusal.
        took = f"refused after {one.response.seconds * 1000:.0f} ms, in time"
        return broken(
            f"{one.kind}: {took}: {one.parsed.error}", f"It was not too late, it was no {reply}. {advice}", one
        )
    return broken(f"{one.kind}: {one.why_not()}", advice, one)


def _slow(record: RunRecord, asked: list[Probe]) -> CheckOutcome:
    slowest = max(record.of_kind(asked[0].kind), key=lambda one: one.seconds if one.is_answered else 0.0)
    if slowest.seconds > slowest.limit_s / 2:
        return warning(
            f"{slowest.kind}: {slowest.seconds:.1f} s, more than half of the {slowest.limit_s:g} s there are",
            "Answer faster: the network and a busy machine take their share of the limit.",
            slowest,
        )
    return kept(f"answered within {slowest.seconds:.2f} s", asked)


def echoes(record: RunRecord, kind: str) -> CheckOutcome:
    """The answers name their match and the player's own id; missing fields are judged by their own clauses."""
    answered = [one for one in record.of_kind(kind) if one.is_answered]
    if not answered:
        return untestable(f"no {kind} was answered")
    us = own_id(record)
    for one in answered:
        wanted, said = one.message["match_id"], one.answer.get("match_id")
        if isinstance(said, str) and said != wanted:
            return broken(f"asked about {wanted}, answered about {said}", "Copy match_id from the question.", one)
        player_id = one.answer.get("player_id")
        if isinstance(player_id, str) and player_id and us is not None and player_id != us:
            advice = "Put the id the manager gave you into player_id."
            return broken(f"the player is {us}, the answer says {player_id}", advice, one)
    return kept(f"{len(answered)} answers name their match", answered)


def same_again(first: list[Probe], again: list[Probe], read: Callable[[Probe], object]) -> CheckOutcome:
    """The repeated question gets the same answer."""
    answered = [one for one in first if one.is_answered]
    if not answered:
        return untestable("the question was not answered the first time")
    if not again:
        return untestable("it was not asked again")
    said = read(answered[0])
    for one in again:
        if not one.is_answered:
            advice = "Answer a repeated question like the first time; the first answer may have been lost on its way."
            return broken(f"asked again: {one.why_not()}", advice, answered[0], one)
        if read(one) != said:
            advice = "Remember your answer for each match, and give the same one when you are asked again."
            return broken(f"first {shown(said)}, then {shown(read(one))}", advice, answered[0], one)
    return kept(f"always {shown(said)}", again)


# --- joining ----------------------------------------------------------------------------------------------------------


@if_joined
def answers_in_the_result(record: RunRecord) -> CheckOutcome:
    posted = [one for one in record.arrivals if one.kind in REPLY_TYPES]
    if not posted:
        return kept("answered in the result, and nothing came twice")
    twice = [one for one in posted if _is_second(one, record)]
    advice = "Put the message into the JSON-RPC result of the question, and send nothing besides."
    if twice:
        return broken("answered in the result, and again as a request of its own", advice, *twice)
    return broken(f"{posted[0].kind} came as a request of its own", advice, *posted)


def _is_second(posted: Arrival, record: RunRecord) -> bool:
    """Was the same question answered in the result already?"""
    asked = [one for one in record.probes if one.kind and posted.kind in EXCHANGES[one.kind].replies]
    of_match = [one for one in asked if one.message["match_id"] == posted.message.get("match_id")]
    return any(one.is_answered and one.posted is None and one.at <= posted.at for one in of_match)


@if_joined
def several_matches(record: RunRecord) -> CheckOutcome:
    asked = [*record.of("invitation of two"), *record.of("call of two")]
    if not asked:
        return untestable("it was not asked")
    advice = "Keep what you know of a match under its match_id, and answer each question for the match it names."
    for one in asked:
        if not one.is_answered:
            return broken(f"with two matches at once: {one.why_not()}", advice, one)
        if one.answer.get("match_id", one.message["match_id"]) != one.message["match_id"]:
            wanted, said = one.message["match_id"], one.answer.get("match_id")
            return broken(f"asked about {wanted}, answered about {said}", advice, one)
    return kept("two matches at once were told apart", asked)


# --- choosing ---------------------------------------------------------------------------------------------------------


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


_MATCH = ("dialect", "match")

CHECKS: Mapping[str, Check] = {
    "JOIN.in_time": Check(partial(in_time, label="invitation", kind="GAME_INVITATION"), _MATCH),
    "JOIN.echoes_match_id": Check(partial(echoes, kind="GAME_INVITATION"), _MATCH),
    "PLAYER.answers_in_the_result": Check(answers_in_the_result, _MATCH),
    "PLAYER.several_matches": Check(several_matches, ("dialect", "two_matches")),
    "CHOICE.in_time": Check(if_joined(partial(in_time, label="call", kind="CHOOSE_PARITY_CALL")), _MATCH),
    "CHOICE.echoes_match_id": Check(partial(echoes, kind="CHOOSE_PARITY_CALL"), _MATCH),
    "PLAYER.same_answer_to_repeated_call": Check(same_answer, _MATCH),
    "PLAYER.hears_its_referee_only": Check(hears_its_referee_only, _MATCH),
    "PLAYER.plays_again": Check(plays_again, (*_MATCH, "played_again")),
    "PLAYER.corrects": Check(corrects, ("dialect", "correction")),
    "MOVE.valid_option": Check(valid_option, ("dialect", "other_game")),
}
