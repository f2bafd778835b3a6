"""Registering, and the player's own requests to the manager (spec sections 5.3, 6.1, 7.2, 9.1, 13.5)."""

from __future__ import annotations

from league.features.kit.checks.outcome import Check, CheckOutcome, broken, each, kept, own_id, untestable, warning
from league.features.kit.driver.record import RunRecord
from league.features.kit.driver.server import UNUSUAL_ID

REGISTER = "LEAGUE_REGISTER_REQUEST"
SOONEST_S = 2.0
TOLERANCE_S = 0.5
APPROVAL_S = 5.0
PAUSE_ADVICE = "Wait 2 seconds before the first repetition, then 4, 8, 16 and 30."


def retries(record: RunRecord, check: Check) -> CheckOutcome:
    requests = record.requests(REGISTER)
    if not requests or "unanswered" not in record.refusals:
        return untestable(record.listening or check.nothing)
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


def stops_when_rejected(record: RunRecord, check: Check) -> CheckOutcome:
    if "rejected" not in record.refusals:
        return untestable(record.listening or check.nothing)
    later = record.requests(REGISTER)[1:]
    if later:
        return broken(
            f"REJECTED with LEAGUE_FULL, and {len(later)} more registrations in 5 seconds",
            check.advice,
            *later,
        )
    return kept("no more registrations in 5 seconds", record.requests(REGISTER))


def waits_for_approval(record: RunRecord, check: Check) -> CheckOutcome:
    if "put off" not in record.refusals:
        return untestable(record.listening or check.nothing)
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
    pause = later[0].at - record.refusals["put off"]
    if pause < (APPROVAL_S - TOLERANCE_S) / record.time_scale:
        return warning(
            f"registered again after only {pause:.1f} s",
            "Wait 5 seconds each time.",
            first,
            later[0],
        )
    return kept(f"registered again after {pause:.1f} s", later)


def again_after_e012(record: RunRecord, check: Check) -> CheckOutcome:
    refused_at = record.refusals.get("query")
    if refused_at is None:
        return untestable(check.nothing)
    # The kit answers one query with E012, as a manager does that has lost its members.
    refused = [query for query in record.requests("LEAGUE_QUERY") if query.at >= refused_at][:1]
    later = [request for request in record.requests(REGISTER) if request.at > refused_at]
    if len(later) == 1:
        return kept("registered again, once", later)
    return broken(f"{len(later)} registrations came after E012", check.advice, *refused)


def takes_any_id(record: RunRecord, check: Check) -> CheckOutcome:
    member = record.member
    if member is None:
        return untestable(record.listening or "the player did not register")
    joins = [invitation for invitation in record.of_kind("GAME_INVITATION") if invitation.is_answered]
    if not joins:
        return untestable(check.nothing)
    player_id = own_id(record)
    if player_id != member.id:
        return broken(
            f"the manager gave the id {member.id!r}, the player uses {player_id!r}",
            check.advice,
            joins[0],
        )
    if member.id != UNUSUAL_ID:
        repeats = record.requests(REGISTER)[1:]
        return warning(
            f"the player did not accept the id {UNUSUAL_ID!r} and registered again",
            check.advice,
            *repeats,
        )
    return kept(f"plays as {member.id}", joins)


def token_sent(record: RunRecord, check: Check) -> CheckOutcome:
    member = record.member
    requests = record.requests("LEAGUE_QUERY", "MATCH_RESULT_REPORT")
    if member is None:
        return untestable(check.nothing)
    return each(
        check,
        requests,
        lambda request: f"{request.kind} without the token of the registration",
        "every request carries it",
        lambda request: request.message.get("auth_token") not in member.tokens,
    )
