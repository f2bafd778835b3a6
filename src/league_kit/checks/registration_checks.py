"""Registering, and the player's own requests to the manager (spec sections 5.3, 6.1, 7.2, 9.1, 13.5)."""

from __future__ import annotations

from collections.abc import Mapping

from league_kit.checks.common import own_id
from league_kit.kit_server import UNUSUAL_ID
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable, warning
from league_kit.record import RunRecord

REGISTER = "LEAGUE_REGISTER_REQUEST"
SOONEST_S = 2.0
TOLERANCE_S = 0.5
APPROVAL_S = 5.0
PAUSE_ADVICE = "Wait 2 seconds before the first repetition, then 4, 8, 16 and 30."
ANSWERED_AT_ONCE = (
    "the kit answered the first registration, because some players try only once; "
    "run `--only REGISTER.retries` on a freshly started player to leave it without an answer"
)
NOT_REJECTED = (
    "the kit had to accept the player to see it play; "
    "run `--only REGISTER.stops_when_rejected` on a freshly started player to test this alone"
)
NOT_PUT_OFF = (
    "the kit accepted the player at once; "
    "run `--only REGISTER.waits_for_approval` on a freshly started player to make it wait for the operator"
)


def retries(record: RunRecord) -> CheckOutcome:
    requests = record.requests(REGISTER)
    if not requests or record.refusals.dropped_at is None:
        return untestable(record.listening or ANSWERED_AT_ONCE)
    first = requests[0]
    # Trying another convention at once is not a repetition (13.1).
    soonest_s = (SOONEST_S - TOLERANCE_S) / record.time_scale
    repeats = [
        request
        for request in requests[1:]
        if request.fields.get("method") == first.fields.get("method") or request.at - first.at >= soonest_s
    ]
    if not repeats:
        advice = "If a registration gets no answer, send it again after 2 seconds, then 4, 8, 16, 30, until it does."
        return broken("the first registration got no answer, and no second one came", advice, first)
    pause = repeats[0].at - first.at
    if pause < soonest_s:
        return broken(
            f"the registration was repeated after only {pause:.1f} s",
            PAUSE_ADVICE,
            first,
            repeats[0],
        )
    return kept(f"repeated after {pause:.1f} s", [repeats[0]])


def stops_when_rejected(record: RunRecord) -> CheckOutcome:
    if record.refusals.rejected_at is None:
        return untestable(record.listening or NOT_REJECTED)
    later = record.requests(REGISTER)[1:]
    if later:
        return broken(
            f"REJECTED with LEAGUE_FULL, and {len(later)} more registrations in 5 seconds",
            "Stop, and tell the person who started you why, unless the error may be retried (10.1).",
            *later,
        )
    return kept("no more registrations in 5 seconds", record.requests(REGISTER))


def waits_for_approval(record: RunRecord) -> CheckOutcome:
    if record.refusals.put_off_at is None:
        return untestable(record.listening or NOT_PUT_OFF)
    first, *later = record.requests(REGISTER)
    if not later:
        advice = (
            "When REJECTED with E043 says `context.pending`, register again every 5 seconds until you are accepted."
        )
        return broken(
            "the player had to wait for the operator's approval, and did not register again",
            advice,
            first,
        )
    pause = later[0].at - record.refusals.put_off_at
    if pause < (APPROVAL_S - TOLERANCE_S) / record.time_scale:
        return warning(
            f"registered again after only {pause:.1f} s",
            "Wait 5 seconds each time.",
            first,
            later[0],
        )
    return kept(f"registered again after {pause:.1f} s", later)


def again_after_e012(record: RunRecord) -> CheckOutcome:
    refused_at = record.refusals.query_at
    if refused_at is None:
        return untestable("the player sent the manager no query that the kit could answer with E012")
    # The kit answers one query with E012, as a manager does that has lost its members.
    refused = [query for query in record.requests("LEAGUE_QUERY") if query.at >= refused_at][:1]
    later = [request for request in record.requests(REGISTER) if request.at > refused_at]
    if len(later) == 1:
        return kept("registered again, once", later)
    advice = "When the manager answers E012, register again, once, and go on with the new token."
    return broken(f"{len(later)} registrations came after E012", advice, *refused)


def takes_any_id(record: RunRecord) -> CheckOutcome:
    member = record.member
    if member is None:
        return untestable(record.listening or "the player did not register")
    advice = "Use player_id and auth_token from the answer to the registration as they are, whatever they look like."
    joins = [invitation for invitation in record.of_kind("GAME_INVITATION") if invitation.is_answered]
    if not joins:
        return untestable("no invitation was answered")
    player_id = own_id(record)
    if player_id != member.id:
        return broken(
            f"the manager gave the id {member.id!r}, the player uses {player_id!r}",
            advice,
            joins[0],
        )
    if member.id != UNUSUAL_ID:
        repeats = record.requests(REGISTER)[1:]
        return warning(
            f"the player did not accept the id {UNUSUAL_ID!r} and registered again",
            advice,
            *repeats,
        )
    return kept(f"plays as {member.id}", joins)


def token_sent(record: RunRecord) -> CheckOutcome:
    requests = record.requests("LEAGUE_QUERY", "MATCH_RESULT_REPORT")
    if record.member is None or not requests:
        return untestable("the player sent the manager nothing but its registration")
    for request in requests:
        if request.message.get("auth_token") not in record.member.tokens:
            advice = "Put the auth_token from the answer to the registration into every request to the manager."
            return broken(f"{request.kind} without the token of the registration", advice, request)
    return kept("every request carries it", requests)


CHECKS: Mapping[str, Check] = {
    "REGISTER.retries": Check(retries, ("registration",)),
    "REGISTER.stops_when_rejected": Check(stops_when_rejected, ("registration",)),
    "REGISTER.waits_for_approval": Check(waits_for_approval, ("registration",)),
    "REGISTER.again_after_E012": Check(again_after_e012, ("registration", "dialect", "match", "signing")),
    "REGISTER.takes_any_id": Check(takes_any_id, ("registration", "dialect")),
    "TOKEN.sent": Check(token_sent, ("registration", "dialect", "match")),
}
