"""Registering, and the player's own requests to the manager (spec sections 5.3, 6.1, 7.2, 9.1, 13.5)."""

from __future__ import annotations

from collections.abc import Mapping

from league_kit.checks.common import own_id
from league_kit.kit_server import UNUSUAL_ID
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable, warning
from league_kit.record import Arrival, RunRecord

REGISTER = "LEAGUE_REGISTER_REQUEST"
SOONEST_S, TOLERANCE_S, APPROVAL_S = 2.0, 0.5, 5.0
PAUSE_ADVICE = "Wait 2 seconds before the first repetition, then 4, 8, 16 and 30."


def retries(record: RunRecord) -> CheckOutcome:
    came = record.requests(REGISTER)
    if not came or record.dropped_at is None:
        return untestable(
            record.listening
            or "the kit answered the first registration, for players that try only once; "
            "`--only REGISTER.retries` on a freshly started player leaves it without an answer"
        )
    # Another way of calling at once is finding out, not repeating (13.1).
    soonest_s = (SOONEST_S - TOLERANCE_S) / record.time_scale
    again = [one for one in came[1:] if _method(one) == _method(came[0]) or one.at - came[0].at >= soonest_s]
    if not again:
        advice = "When a registration gets no answer, send it again after 2 seconds, then 4, 8, 16, 30, until it does."
        return broken("the first registration got no answer, and no other came", advice, came[0])
    pause = again[0].at - came[0].at
    if pause < soonest_s:
        return broken(f"the registration was repeated after {pause:.1f} s already", PAUSE_ADVICE, came[0], again[0])
    return kept(f"repeated after {pause:.1f} s", [again[0]])


def _method(one: Arrival) -> object:
    return one.document.get("method") if isinstance(one.document, dict) else None


def stops_when_rejected(record: RunRecord) -> CheckOutcome:
    if record.rejected_at is None:
        return untestable(
            record.listening
            or "the kit had to accept the player to see it play; "
            "`--only REGISTER.stops_when_rejected` on a freshly started player tests this alone"
        )
    later = record.requests(REGISTER)[1:]
    if later:
        return broken(
            f"REJECTED with LEAGUE_FULL, and {len(later)} more registrations in 5 seconds",
            "Stop, and tell the person who started you why, unless the error may be retried (10.1).",
            *later,
        )
    return kept("no more registrations in 5 seconds", record.requests(REGISTER))


def waits_for_approval(record: RunRecord) -> CheckOutcome:
    if record.put_off_at is None:
        return untestable(
            record.listening
            or "the kit let the player in at once; `--only REGISTER.waits_for_approval` on a freshly started player "
            "has it wait for the operator"
        )
    first, *later = record.requests(REGISTER)
    if not later:
        advice = "When REJECTED with E043 says `context.pending`, register again every 5 seconds until you are let in."
        return broken("it was told to wait for the operator's approval, and did not register again", advice, first)
    pause = later[0].at - record.put_off_at
    if pause < (APPROVAL_S - TOLERANCE_S) / record.time_scale:
        return warning(f"registered again after {pause:.1f} s already", "Wait 5 seconds each time.", first, later[0])
    return kept(f"registered again after {pause:.1f} s", later)


def again_after_e012(record: RunRecord) -> CheckOutcome:
    queries = record.requests("LEAGUE_QUERY")
    if record.member is None or not queries:
        return untestable("the player asked the manager nothing, so there was nothing to answer with E012")
    later = [one for one in record.requests(REGISTER) if one.at > queries[0].at]
    if len(later) == 1:
        return kept("registered again, once", later)
    advice = "When the manager answers E012, register again, once, and go on with the new token."
    return broken(f"{len(later)} registrations came after E012", advice, queries[0])


def takes_any_id(record: RunRecord) -> CheckOutcome:
    member = record.member
    if member is None:
        return untestable(record.listening or "the player did not register")
    advice = "Take player_id and auth_token from the registration answer as they are, whatever they look like."
    came = record.requests(REGISTER)
    joins = [one for one in record.of_kind("GAME_INVITATION") if one.is_answered]
    if not joins:
        return untestable("no invitation was answered")
    said = own_id(record)
    if said != member.id:
        return broken(f"the manager gave the id {member.id!r}, the player goes by {said!r}", advice, joins[0])
    if member.id != UNUSUAL_ID:
        return warning(f"the player did not take the id {UNUSUAL_ID!r} and registered again", advice, *came[1:])
    return kept(f"plays as {member.id}", joins)


def token_sent(record: RunRecord) -> CheckOutcome:
    asked = record.requests("LEAGUE_QUERY", "MATCH_RESULT_REPORT")
    if record.member is None or not asked:
        return untestable("the player sent the manager nothing but its registration")
    for one in asked:
        if one.message.get("auth_token") not in record.member.tokens:
            advice = "Put the auth_token of the registration answer into every request to the manager."
            return broken(f"{one.kind} without the token of the registration", advice, one)
    return kept("every request carries it", asked)


CHECKS: Mapping[str, Check] = {
    "REGISTER.retries": Check(retries, ("registration",)),
    "REGISTER.stops_when_rejected": Check(stops_when_rejected, ("registration",)),
    "REGISTER.waits_for_approval": Check(waits_for_approval, ("registration",)),
    "REGISTER.again_after_E012": Check(again_after_e012, ("registration", "dialect", "match")),
    "REGISTER.takes_any_id": Check(takes_any_id, ("registration", "dialect")),
    "TOKEN.sent": Check(token_sent, ("registration", "dialect", "match")),
}
