"""Notifications to the player (spec sections 5.5 to 5.7, 5.12, 5.14, 5.16, 5.21, 6.7)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from league.protocol.exchanges import EXCHANGES
from league.protocol.judge import shown
from league_kit.checks.common import if_reached, is_empty_ack, not_busy, refuses_stranger
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable, warning
from league_kit.record import Probe, RunRecord
from league_kit.wire import Trouble

BROADCASTS = ("announcement", "standings", "round completed", "league completed")
AGAIN = ("announcement again", "standings again", "game over again")
ECHOED = ("round_id", "match_id")


@if_reached
def acknowledged(record: RunRecord, labels: tuple[str, ...]) -> CheckOutcome:
    told = [one for one in not_busy(record.of(*labels)) if not refuses_stranger(record, one)]
    if not told:
        return untestable("nothing of the kind was told, or the player belongs to another league")
    silent = [one for one in told if is_empty_ack(one)]
    unknown = [one for one in told if _says_unknown_in_a_result(one)]
    for one in told:
        if not one.is_answered and one not in silent and one not in unknown:
            return _unacknowledged(one)
    if unknown:
        detail = f"{unknown[0].kind} was acknowledged by {unknown[0].parsed.error}"
        advice = "Managers and referees take this for a call in the wrong form, and try others: take it with a result."
        return warning(detail, advice, *unknown)
    if silent:
        advice = 'Answer with a JSON-RPC result, such as {"status": "ACKNOWLEDGED"}: some managers wait for one.'
        return warning(f"{silent[0].kind} was answered with an empty body", advice, *silent)
    slowest = max(told, key=lambda one: one.seconds)
    if slowest.seconds > slowest.limit_s / 2:
        detail = f"{slowest.kind} was acknowledged after {slowest.seconds:.1f} of {slowest.limit_s:g} s"
        return warning(detail, "Acknowledge first, then do the work.", slowest)
    return kept("acknowledged", told)


def _says_unknown_in_a_result(one: Probe) -> bool:
    error = one.parsed.error
    return error is not None and error.is_unknown and "result" in (one.parsed.rpc or {})


def _unacknowledged(one: Probe) -> CheckOutcome:
    if not one.is_readable and one.trouble is not Trouble.TIMEOUT:
        return untestable(f"{one.kind}: {one.why_not()} [RPC.one_answer]")
    advice = f"Answer with a result at once, within {one.limit_s:g} seconds; do the work afterwards."
    if one.parsed.error is not None:
        advice = "Take it with a result, even if you make nothing of it; this message is for players."
    return broken(f"{one.kind}: {one.why_not()}", advice, one)


@if_reached
def own_type(record: RunRecord) -> CheckOutcome:
    told = [one for one in record.of(*BROADCASTS, "game over", "game error") if one.is_answered]
    if not told:
        return untestable("nothing was acknowledged")
    repeated = [one for one in told if one.parsed.fields.get("message_type") == one.kind]
    for one in told:
        wanted = EXCHANGES[one.kind].replies[0]
        said = one.parsed.fields.get("message_type")
        if said != wanted and one not in repeated:
            detail = f"{one.kind} was acknowledged by {said!r}" if said else f"{one.kind}: no message in the result"
            return broken(detail, f"Answer with {wanted} (5.21).", one)
        for name in ECHOED:
            wrong = name in one.message and name in one.parsed.fields
            if wrong and one.parsed.fields[name] != one.message[name]:
                detail = f"{wanted} says {name} {shown(one.parsed.fields[name])}, not {shown(one.message[name])}"
                return broken(detail, f"Copy {name} from the message you acknowledge.", one)
    if repeated:
        wanted = EXCHANGES[repeated[0].kind].replies[0]
        detail = f"{repeated[0].kind} was acknowledged by its own type again"
        return warning(detail, f"It is taken for an acknowledgement; {wanted} is what it is called (5.21).", *repeated)
    return kept("each by its own type", told)


@if_reached
def repetition_harmless(record: RunRecord) -> CheckOutcome:
    again = not_busy(record.of(*AGAIN))
    first = {one.kind for one in record.of(*BROADCASTS, "game over") if one.is_answered}
    asked = [one for one in again if one.kind in first]
    if not asked:
        return untestable("nothing that was acknowledged could be told again")
    for one in asked:
        if not one.is_answered:
            advice = "Acknowledge a message again when it comes again; the first acknowledgement may have been lost."
            return broken(f"{one.kind} for the second time: {one.why_not()}", advice, one)
    return kept("acknowledged again", asked)


@if_reached
def large_standings(record: RunRecord) -> CheckOutcome:
    sent = not_busy(record.of("large standings"))
    small = [one for one in record.of("standings") if one.is_answered]
    if not sent or not small:
        return untestable("small standings were not acknowledged either")
    one: Probe = sent[0]
    if not one.is_answered:
        advice = "Raise the limit of your HTTP server for request bodies to 1 MiB: tables grow with the league."
        size = len(one.sent)
        return broken(f"standings of {size} bytes: {one.why_not()} (status {one.response.status})", advice, one)
    return kept(f"standings of {len(one.sent)} bytes were taken", [one])


CHECKS: Mapping[str, Check] = {
    "BROADCAST.acknowledged": Check(
        partial(acknowledged, labels=BROADCASTS), ("dialect", "match", "notifications", "end")
    ),
    "GAME_OVER.acknowledged": Check(partial(acknowledged, labels=("game over",)), ("dialect", "match")),
    "GAME_ERROR.acknowledged": Check(partial(acknowledged, labels=("game error",)), ("dialect", "correction")),
    "LEAGUE_ERROR.acknowledged": Check(partial(acknowledged, labels=("league error",)), ("dialect", "notifications")),
    "ACK.own_type": Check(own_type, ("dialect", "match", "notifications", "correction", "end")),
    "KEEPING.repetition_harmless": Check(repetition_harmless, ("dialect", "match", "notifications")),
    "SIZE.from_the_manager": Check(large_standings, ("notifications",)),
}
