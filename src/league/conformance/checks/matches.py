"""What invitation and choice have in common: answered in time, about the right match, the same when repeated."""

from __future__ import annotations

from collections.abc import Callable

from league.conformance.checks.common import if_reached, not_busy, own_id, refuses_stranger
from league.conformance.outcome import CheckOutcome, broken, kept, untestable, warning
from league.conformance.record import Probe, RunRecord
from league.conformance.wire import Trouble
from league.protocol.judge import shown


@if_reached
def in_time(record: RunRecord, asked: list[Probe], what: str, reply: str) -> CheckOutcome:
    """`asked` are the requests that decide; a slow answer to any other of the same type is a warning."""
    asked = not_busy(asked)
    if not asked:
        return untestable(f"no {what} was sent, or the player put it off (429, 503)")
    for one in asked:
        if not one.is_answered:
            return _unanswered(record, one, what, reply)
    return _slow(record, asked, what)


def _unanswered(record: RunRecord, one: Probe, what: str, reply: str) -> CheckOutcome:
    if one.trouble is Trouble.TIMEOUT:
        advice = f"Answer with {reply} within {one.limit_s:g} seconds; think in another thread if it takes longer."
        return broken(f"{what}: {one.response.detail}", advice, one)
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
        return broken(f"{what}: {took}: {one.parsed.error}", f"It was not too late, it was no {reply}. {advice}", one)
    return broken(f"{what}: {one.why_not()}", advice, one)


def _slow(record: RunRecord, asked: list[Probe], what: str) -> CheckOutcome:
    slowest = max(record.of_kind(asked[0].kind), key=lambda one: one.seconds if one.is_answered else 0.0)
    if slowest.seconds > slowest.limit_s / 2:
        return warning(
            f"{what}: {slowest.seconds:.1f} s, more than half of the {slowest.limit_s:g} s there are",
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
