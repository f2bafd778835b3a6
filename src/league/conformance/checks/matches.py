"""What invitation and choice have in common: in time, about the right match, the same answer again."""

from __future__ import annotations

from collections.abc import Callable

from league.conformance.checks.common import nobody, not_ours, own_id, usable
from league.conformance.outcome import Outcome, broken, kept, odd, untestable
from league.conformance.record import Exchange, Record
from league.conformance.wire import Trouble


def in_time(record: Record, asked: list[Exchange], what: str, reply: str) -> Outcome:
    """`asked` are those that decide; others of their kind may still be slow."""
    missing = nobody(record)
    if missing is not None:
        return missing
    asked = usable(asked)
    if not asked:
        return untestable(f"no {what} was sent, or the player put it off (429, 503)")
    for one in asked:
        if not one.is_answered:
            return _unanswered(record, one, what, reply)
    return _slow(record, asked, what)


def _unanswered(record: Record, one: Exchange, what: str, reply: str) -> Outcome:
    if one.trouble is Trouble.TIMEOUT:
        advice = f"Answer with {reply} within {one.limit_s:g} seconds; think in another thread if it takes longer."
        return broken(f"{what}: {one.response.detail}", advice, one)
    if not one.is_readable:
        return untestable(f"the answer cannot be read: {one.why_not()} [RPC.one_answer]")
    if not_ours(record, one):
        return untestable(f"the player belongs to another league: {one.heard.refusal}")
    if one.heard.refusal is None and not isinstance(one.heard.content, dict):
        return untestable("the result is no object, so it is no message [ENVELOPE]")
    return broken(f"{what}: {one.why_not()}", f"Answer with {reply} in the JSON-RPC result.", one)


def _slow(record: Record, asked: list[Exchange], what: str) -> Outcome:
    slowest = max(record.of_kind(asked[0].kind), key=lambda one: one.seconds if one.is_answered else 0.0)
    if slowest.seconds > slowest.limit_s / 2:
        return odd(
            f"{what}: {slowest.seconds:.1f} s, more than half of the {slowest.limit_s:g} s there are",
            "Answer faster: the network and a busy machine take their share of the limit.",
            slowest,
        )
    return kept(f"answered within {slowest.seconds:.2f} s", asked)


def echoes(record: Record, kind: str) -> Outcome:
    """The answers name the match they are about and the player's own id; what is missing is the fields' matter."""
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


def same_again(first: list[Exchange], again: list[Exchange], read: Callable[[Exchange], object]) -> Outcome:
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
            return broken(f"first {said!r}, then {read(one)!r}", advice, answered[0], one)
    return kept(f"always {said!r}", again)
