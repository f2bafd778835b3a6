"""Notifications to the player (spec sections 5.5 to 5.7, 5.12, 5.14, 5.16, 5.21, 6.7)."""

from __future__ import annotations

from league.features.kit.checks.outcome import (
    Check,
    CheckOutcome,
    broken,
    each,
    is_empty_ack,
    is_unanswered,
    kept,
    not_busy,
    refuses_stranger,
    untestable,
    warning,
)
from league.features.kit.driver.record import Probe, RunRecord
from league.machine import Failure
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.judge import shown

ECHOED = ("round_id", "match_id")


def acknowledged(record: RunRecord, check: Check) -> CheckOutcome:
    probes = [probe for probe in not_busy(record.of(*check.labels)) if not refuses_stranger(record, probe)]
    if not probes:
        return untestable(check.nothing)
    # Two documents expect no response to notifications: an empty answer is a warning, not a failure.
    silent = [probe for probe in probes if is_empty_ack(probe)]
    unknown = [probe for probe in probes if _says_unknown_in_a_result(probe)]
    for probe in probes:
        if not probe.is_answered and probe not in silent and probe not in unknown:
            return _unacknowledged(probe)
    if unknown:
        detail = f"{unknown[0].kind} was acknowledged by {unknown[0].parsed.error}"
        advice = (
            "Managers and referees read this as a call in the wrong form, and try other forms: answer with a result."
        )
        return warning(detail, advice, *unknown)
    if silent:
        advice = 'Answer with a JSON-RPC result, such as {"status": "ACKNOWLEDGED"}: some managers wait for one.'
        return warning(f"{silent[0].kind} was answered with an empty body", advice, *silent)
    slowest = max(probes, key=lambda probe: probe.seconds)
    if slowest.seconds > slowest.limit_s / 2:
        detail = f"{slowest.kind} was acknowledged after {slowest.seconds:.1f} of {slowest.limit_s:g} s"
        return warning(detail, "Acknowledge first, then do the work.", slowest)
    return kept("acknowledged", probes)


def _says_unknown_in_a_result(probe: Probe) -> bool:
    error = probe.parsed.error
    return error is not None and error.is_unknown and "result" in (probe.parsed.rpc or {})


def _unacknowledged(probe: Probe) -> CheckOutcome:
    if not probe.is_readable and probe.trouble is not Failure.TIMEOUT:
        return untestable(f"{probe.kind}: {probe.why_not()} [RPC.one_answer]")
    advice = f"Answer with a result at once, within {probe.limit_s:g} seconds; do the work afterwards."
    if probe.parsed.error is not None:
        advice = "Answer with a result, even if you do nothing with it; this message is for players."
    return broken(f"{probe.kind}: {probe.why_not()}", advice, probe)


def own_type(record: RunRecord, check: Check) -> CheckOutcome:
    probes = [probe for probe in record.of(*check.labels) if probe.is_answered]
    if not probes:
        return untestable(check.nothing)
    repeating = [probe for probe in probes if probe.parsed.fields.get("message_type") == probe.kind]
    for probe in probes:
        wrong = _wrong_echo(probe)
        if probe not in repeating:
            wrong = _wrong_type(probe) or wrong
        if wrong is not None:
            return wrong
    if repeating:
        first = repeating[0]
        advice = f"This counts as an acknowledgement, but its right type is {EXCHANGES[first.kind].replies[0]} (5.21)."
        return warning(f"{first.kind} was acknowledged by its own type again", advice, *repeating)
    return kept("each by its own type", probes)


def _wrong_type(probe: Probe) -> CheckOutcome | None:
    reply = EXCHANGES[probe.kind].replies[0]
    message_type = probe.parsed.fields.get("message_type")
    if message_type == reply:
        return None
    detail = f"{probe.kind} was acknowledged by {message_type!r}"
    if not message_type:
        detail = f"{probe.kind}: no message in the result"
    return broken(detail, f"Answer with {reply} (5.21).", probe)


def _wrong_echo(probe: Probe) -> CheckOutcome | None:
    """Return the outcome if an acknowledgement names another round or match than the message does."""
    fields = probe.parsed.fields
    for name in ECHOED:
        is_echoed = name in probe.message and name in fields
        if is_echoed and fields[name] != probe.message[name]:
            reply = EXCHANGES[probe.kind].replies[0]
            detail = f"{reply} says {name} {shown(fields[name])}, not {shown(probe.message[name])}"
            return broken(detail, f"Copy {name} from the message you acknowledge.", probe)
    return None


def repetition_harmless(record: RunRecord, check: Check) -> CheckOutcome:
    first_labels = [label.removesuffix(" again") for label in check.labels]
    taken_kinds = {probe.kind for probe in record.of(*first_labels) if probe.is_answered}
    repeats = [probe for probe in not_busy(record.of(*check.labels)) if probe.kind in taken_kinds]
    return each(
        check,
        repeats,
        lambda probe: f"{probe.kind} for the second time: {probe.why_not()}",
        "acknowledged again",
        is_unanswered,
    )


def large_standings(record: RunRecord, check: Check) -> CheckOutcome:
    large = not_busy(record.of(*check.labels))
    if not any(probe.is_answered for probe in record.of("standings")):
        large = []
    return each(
        check,
        large,
        lambda probe: f"standings of {len(probe.sent)} bytes: {probe.why_not()} (status {probe.response.status})",
        "large standings were accepted",
        is_unanswered,
    )
