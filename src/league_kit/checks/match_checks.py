"""Joining matches and choosing in them (spec sections 5.8 to 5.11, 5.19, 5.20, 6.2, 6.5, 6.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from league.protocol.exchanges import EXCHANGES, REPLY_TYPES
from league.protocol.judge import shown
from league_kit.checks.common import (
    NOT_SENT,
    if_joined,
    if_reached,
    not_busy,
    own_id,
    refuses_stranger,
)
from league_kit.kit_wire import Trouble
from league_kit.outcome import Check, CheckOutcome, Verdict, broken, kept, untestable, warning
from league_kit.record import Arrival, Probe, RunRecord


@if_reached
def in_time(record: RunRecord, label: str) -> CheckOutcome:
    """The requests with this label decide; a slow answer to any other of the same type is a warning."""
    probes = not_busy(record.of(label))
    if not probes:
        return untestable(NOT_SENT)
    for probe in probes:
        if not probe.is_answered:
            return _unanswered(record, probe)
    return _slow(record, probes)


def _unanswered(record: RunRecord, probe: Probe) -> CheckOutcome:
    reply = EXCHANGES[probe.kind].replies[0]
    error = probe.parsed.error
    if probe.trouble is Trouble.TIMEOUT:
        advice = f"Answer with {reply} within {probe.limit_s:g} seconds; think in another thread if it takes longer."
        return broken(f"{probe.kind}: {probe.response.detail}", advice, probe)
    if not probe.is_readable:
        return untestable(f"the answer cannot be read: {probe.why_not()} [RPC.one_answer]")
    if refuses_stranger(record, probe):
        return untestable(f"the player belongs to another league: {error}")
    if error is None and not isinstance(probe.parsed.content, dict):
        return untestable("the result is not an object, so it is not a message [ENVELOPE]")
    advice = f"Answer with {reply} in the JSON-RPC result."
    if error is None:
        return broken(f"{probe.kind}: {probe.why_not()}", advice, probe)
    # It came in time: what is wrong is that it is a refusal.
    milliseconds = probe.response.seconds * 1000
    detail = f"{probe.kind}: refused after {milliseconds:.0f} ms, in time: {error}"
    return broken(detail, f"The answer was not too late, but it was not a {reply}. {advice}", probe)


def _slow(record: RunRecord, probes: list[Probe]) -> CheckOutcome:
    answered = [probe for probe in record.of_kind(probes[0].kind) if probe.is_answered]
    slowest = max(answered, key=lambda probe: probe.seconds)
    if slowest.seconds <= slowest.limit_s / 2:
        return kept(f"answered within {slowest.seconds:.2f} s", probes)
    return warning(
        f"{slowest.kind}: {slowest.seconds:.1f} s, more than half of the time limit of {slowest.limit_s:g} s",
        "Answer faster: the network and a busy machine take their share of the limit.",
        slowest,
    )


def echoes(record: RunRecord, kind: str) -> CheckOutcome:
    """The answers name their match and the player's own id; missing fields are judged by their own clauses."""
    answered = [probe for probe in record.of_kind(kind) if probe.is_answered]
    if not answered:
        return untestable(f"no {kind} was answered")
    agent_id = own_id(record)
    for probe in answered:
        match_id = probe.answer.get("match_id")
        if isinstance(match_id, str) and match_id != probe.message["match_id"]:
            detail = f"asked about {probe.message['match_id']}, answered about {match_id}"
            return broken(detail, "Copy match_id from the question.", probe)
        player_id = probe.answer.get("player_id")
        is_id = isinstance(player_id, str) and bool(player_id)
        if is_id and agent_id is not None and player_id != agent_id:
            advice = "Put the id the manager gave you into player_id."
            return broken(f"the player is {agent_id}, the answer says {player_id}", advice, probe)
    return kept(f"{len(answered)} answers name their match", answered)


# A caller that got no answer cannot know whether the question or the answer was lost: it asks again.
def same_again(questions: list[Probe], repeats: list[Probe], read: Callable[[Probe], object]) -> CheckOutcome:
    """The repeated question gets the same answer."""
    answered = [question for question in questions if question.is_answered]
    if not answered:
        return untestable("the question was not answered the first time")
    if not repeats:
        return untestable("the kit did not ask again")
    first = answered[0]
    answer = read(first)
    for repeat in repeats:
        if not repeat.is_answered:
            advice = "Answer a repeated question like the first time; the first answer may have been lost on its way."
            return broken(f"asked again: {repeat.why_not()}", advice, first, repeat)
        if read(repeat) != answer:
            advice = "Remember your answer for each match, and give the same one when you are asked again."
            return broken(f"first {shown(answer)}, then {shown(read(repeat))}", advice, first, repeat)
    return kept(f"always {shown(answer)}", repeats)


# --- joining ----------------------------------------------------------------------------------------------------------


@if_joined
def answers_in_the_result(record: RunRecord) -> CheckOutcome:
    posted = [request for request in record.arrivals if request.kind in REPLY_TYPES]
    if not posted:
        return kept("answered in the result, and nothing came twice")
    advice = "Put the message into the JSON-RPC result of the question, and send nothing besides."
    repeated = [request for request in posted if _is_second(request, record)]
    if repeated:
        return broken("answered in the result, and again as a request of its own", advice, *repeated)
    return broken(f"{posted[0].kind} came as a request of its own", advice, *posted)


def _is_second(posted: Arrival, record: RunRecord) -> bool:
    """Was the same question answered in the result already?"""
    match_id = posted.message.get("match_id")
    for probe in record.probes:
        is_question = bool(probe.kind) and posted.kind in EXCHANGES[probe.kind].replies
        if not is_question or probe.message["match_id"] != match_id:
            continue
        if probe.is_answered and probe.posted is None and probe.at <= posted.at:
            return True
    return False


@if_joined
def several_matches(record: RunRecord) -> CheckOutcome:
    probes = [*record.of("invitation of two"), *record.of("call of two")]
    if not probes:
        return untestable("the kit did not ask")
    advice = "Keep what you know of a match under its match_id, and answer each question for the match it names."
    for probe in probes:
        if not probe.is_answered:
            return broken(f"with two matches at once: {probe.why_not()}", advice, probe)
        expected = probe.message["match_id"]
        match_id = probe.answer.get("match_id", expected)
        if match_id != expected:
            return broken(f"asked about {expected}, answered about {match_id}", advice, probe)
    return kept("the player told two matches apart", probes)


# --- choosing ---------------------------------------------------------------------------------------------------------


@if_joined
def same_answer(record: RunRecord) -> CheckOutcome:
    joins = same_again(record.of("invitation"), record.of("invitation again"), lambda probe: probe.accept)
    if joins.verdict is Verdict.FAIL:
        return joins
    return same_again(record.of("call"), record.of("call again"), lambda probe: probe.choice)


@if_joined
def hears_its_referee_only(record: RunRecord) -> CheckOutcome:
    calls = record.of("call of a stranger")
    if not calls:
        return untestable("the player made no choice that a stranger could ask for")
    for call in calls:
        if call.is_answered and call.choice is not None:
            token = "with a token that is not the referee's" if call.message.get("auth_token") else "without a token"
            detail = f"a call {token} was answered with the choice: your opponent can ask for it, too"
            advice = "Keep the auth_token of a match's first call until the match ends; answer others with E012 (9.2)."
            return broken(detail, advice, call)
    return kept("a call with a token that is not the referee's gets no choice", calls)


@if_joined
def plays_again(record: RunRecord) -> CheckOutcome:
    probes = [*record.of("invitation to play again"), *record.of("call to play again")]
    if not probes:
        return untestable("the player did not play a match to its end")
    advice = (
        "After GAME_OVER, an invitation with a higher attempt begins the match anew: forget everything about the old "
        "attempt."
    )
    for probe in probes:
        if not probe.is_answered:
            return broken(f"{probe.kind} of the next attempt: {probe.why_not()}", advice, probe)
    if probes[0].accept is False:
        return broken(
            "the player does not join the next attempt of a match it has played",
            advice,
            probes[0],
        )
    return kept("joined and chose in the next attempt of a match that was over", probes)


@if_joined
def corrects(record: RunRecord) -> CheckOutcome:
    errors = record.of("game error")
    calls = record.of("corrected call")
    if not errors or not calls:
        return untestable("the player made no choice that could be called wrong")
    error = errors[0]
    call = calls[0]
    advice = "After GAME_ERROR, answer the next call with one of valid_choices."
    if not call.is_answered:
        return broken(f"the call after GAME_ERROR: {call.why_not()}", advice, error, call)
    choice = call.choice
    if choice not in ("even", "odd"):
        return broken(
            f"the call after GAME_ERROR was answered with {shown(choice)}",
            advice,
            error,
            call,
        )
    wrong = error.message["context"]["invalid_choice"]
    return kept(f"first {wrong!r}, then {choice!r}", [call])


@if_joined
def valid_option(record: RunRecord) -> CheckOutcome:
    calls = record.of("move call")
    if not calls:
        return untestable("the player did not join a match in a game other than even_odd")
    call = calls[0]
    if not call.is_answered:
        return untestable(f"the player joined the other game, but: {call.why_not()}")
    move = call.answer.get("move_data")
    choice = move.get("choice") if isinstance(move, dict) else call.choice
    if not isinstance(choice, str):
        return untestable("the answer holds no move [GAME_MOVE_RESPONSE.move_data.choice]")
    options = call.message["move_request"]["valid_options"]
    if choice not in options:
        advice = "Answer with one of move_request.valid_options, letter by letter."
        return broken(f"{choice!r} is not among {options}", advice, call)
    return kept(f"chose {choice!r}", [call])


_MATCH = ("dialect", "match")

CHECKS: Mapping[str, Check] = {
    "JOIN.in_time": Check(partial(in_time, label="invitation"), _MATCH),
    "JOIN.echoes_match_id": Check(partial(echoes, kind="GAME_INVITATION"), _MATCH),
    "PLAYER.answers_in_the_result": Check(answers_in_the_result, _MATCH),
    "PLAYER.several_matches": Check(several_matches, ("dialect", "two_matches")),
    "CHOICE.in_time": Check(if_joined(partial(in_time, label="call")), _MATCH),
    "CHOICE.echoes_match_id": Check(partial(echoes, kind="CHOOSE_PARITY_CALL"), _MATCH),
    "PLAYER.same_answer_to_repeated_call": Check(same_answer, _MATCH),
    "PLAYER.hears_its_referee_only": Check(hears_its_referee_only, _MATCH),
    "PLAYER.plays_again": Check(plays_again, (*_MATCH, "played_again")),
    "PLAYER.corrects": Check(corrects, ("dialect", "correction")),
    "MOVE.valid_option": Check(valid_option, ("dialect", "other_game")),
}
