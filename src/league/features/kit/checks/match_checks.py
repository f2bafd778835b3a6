"""Joining matches and choosing in them (spec sections 5.8 to 5.11, 5.19, 5.20, 6.2, 6.5, 6.7)."""

from __future__ import annotations

from collections.abc import Callable

from league.features.kit.checks.outcome import (
    Check,
    CheckOutcome,
    CheckVerdict,
    broken,
    each,
    kept,
    not_busy,
    own_id,
    refuses_stranger,
    untestable,
    warning,
)
from league.features.kit.driver.record import Arrival, Probe, RunRecord
from league.machine import Failure
from league.protocol.message.exchanges import EXCHANGES, REPLY_TYPES
from league.protocol.message.judge import shown


def in_time(record: RunRecord, check: Check) -> CheckOutcome:
    """The requests with this label decide; a slow answer to any other of the same type is a warning."""
    probes = not_busy(record.of(*check.labels))
    if not probes:
        return untestable(check.nothing)
    for probe in probes:
        if not probe.is_answered:
            return _unanswered(record, probe)
    return _slow(record, probes)


def _unanswered(record: RunRecord, probe: Probe) -> CheckOutcome:
    reply = EXCHANGES[probe.kind].replies[0]
    error = probe.parsed.error
    if probe.trouble is Failure.TIMEOUT:
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


def echoes(record: RunRecord, check: Check) -> CheckOutcome:
    """The answers name their match and the player's own id; missing fields are judged by their own clauses."""
    answered = [probe for probe in record.of_kind(check.kind) if probe.is_answered]
    if not answered:
        return untestable(check.nothing)
    agent_id = own_id(record)
    for probe in answered:
        match_id = probe.answer.get("match_id")
        if isinstance(match_id, str) and match_id != probe.message["match_id"]:
            return broken(_other_match(probe), "Copy match_id from the question.", probe)
        player_id = probe.answer.get("player_id")
        is_id = isinstance(player_id, str) and bool(player_id)
        if is_id and agent_id is not None and player_id != agent_id:
            advice = "Put the id the manager gave you into player_id."
            return broken(f"the player is {agent_id}, the answer says {player_id}", advice, probe)
    return kept(f"{len(answered)} answers name their match", answered)


def _other_match(probe: Probe) -> str:
    return f"asked about {probe.message['match_id']}, answered about {probe.answer['match_id']}"


# A caller that got no answer cannot know whether the question or the answer was lost: it asks again.
def _same_again(record: RunRecord, check: Check, label: str, read: Callable[[Probe], object]) -> CheckOutcome:
    """The repeated question gets the same answer."""
    answered = [question for question in record.of(label) if question.is_answered]
    repeats = record.of(f"{label} again")
    if not answered:
        return untestable(check.nothing)
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


def answers_in_the_result(record: RunRecord, check: Check) -> CheckOutcome:
    posted = [request for request in record.arrivals if request.kind in REPLY_TYPES]
    if not posted:
        return kept("answered in the result, and nothing came twice")
    repeated = [request for request in posted if _is_second(request, record)]
    if repeated:
        return broken("answered in the result, and again as a request of its own", check.advice, *repeated)
    return broken(f"{posted[0].kind} came as a request of its own", check.advice, *posted)


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


def several_matches(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(probe: Probe) -> str:
        if not probe.is_answered:
            return f"with two matches at once: {probe.why_not()}"
        if probe.answer.get("match_id", probe.message["match_id"]) != probe.message["match_id"]:
            return _other_match(probe)
        return ""

    return each(check, record.of(*check.labels), problem, "the player told two matches apart")


# --- choosing ---------------------------------------------------------------------------------------------------------


def same_answer(record: RunRecord, check: Check) -> CheckOutcome:
    joins = _same_again(record, check, "invitation", lambda probe: probe.accept)
    if joins.verdict is CheckVerdict.FAIL:
        return joins
    return _same_again(record, check, "call", lambda probe: probe.choice)


def hears_its_referee_only(record: RunRecord, check: Check) -> CheckOutcome:
    return each(
        check,
        record.of(*check.labels),
        lambda call: (
            f"a call by a stranger (auth_token {shown(call.message.get('auth_token'))}) was answered with the choice: "
            "your opponent can ask for it, too"
        ),
        "a call with a token that is not the referee's gets no choice",
        lambda call: call.is_answered and call.choice is not None,
    )


def plays_again(record: RunRecord, check: Check) -> CheckOutcome:
    def problem(probe: Probe) -> str:
        if not probe.is_answered:
            return f"{probe.kind} of the next attempt: {probe.why_not()}"
        if probe.accept is False:
            return "the player does not join the next attempt of a match it has played"
        return ""

    good = "joined and chose in the next attempt of a match that was over"
    return each(check, record.of(*check.labels), problem, good)


def corrects(record: RunRecord, check: Check) -> CheckOutcome:
    errors = record.of("game error")
    calls = record.of("corrected call")
    if not errors or not calls:
        return untestable(check.nothing)
    call = calls[0]
    choice = call.choice
    problem = ""
    if not call.is_answered:
        problem = f"the call after GAME_ERROR: {call.why_not()}"
    elif choice not in ("even", "odd"):
        problem = f"the call after GAME_ERROR was answered with {shown(choice)}"
    if problem:
        return broken(problem, check.advice, errors[0], call)
    wrong = errors[0].message["context"]["invalid_choice"]
    return kept(f"first {wrong!r}, then {choice!r}", [call])


def valid_option(record: RunRecord, check: Check) -> CheckOutcome:
    calls = record.of(*check.labels)
    if not calls:
        return untestable(check.nothing)
    call = calls[0]
    if not call.is_answered:
        return untestable(f"the player joined the other game, but: {call.why_not()}")
    move = call.move
    if not isinstance(move, str):
        return untestable("the answer holds no move [GAME_MOVE_RESPONSE.move_data.choice]")
    options = call.message["move_request"]["valid_options"]
    if move not in options:
        return broken(f"{move!r} is not among {options}", check.advice, call)
    return kept(f"chose {move!r}", [call])
