"""Notifications to the player (spec sections 5.5 to 5.7, 5.12, 5.14, 5.16, 5.21, 6.7)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from league.protocol.exchanges import EXCHANGES
from league.protocol.judge import shown
from league_kit.checks.common import if_reached, is_empty_ack, not_busy, refuses_stranger
from league_kit.kit_wire import Trouble
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable, warning
from league_kit.record import Probe, RunRecord

BROADCASTS = ("announcement", "standings", "round completed", "league completed")
REPEATED = ("announcement again", "standings again", "game over again")
ECHOED = ("round_id", "match_id")


@if_reached
def acknowledged(record: RunRecord, labels: tuple[str, ...]) -> CheckOutcome:
    probes = [probe for probe in not_busy(record.of(*labels)) if not refuses_stranger(record, probe)]
    if not probes:
        return untestable("the kit sent nothing of the kind, or the player belongs to another league")
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
    if not probe.is_readable and probe.trouble is not Trouble.TIMEOUT:
        return untestable(f"{probe.kind}: {probe.why_not()} [RPC.one_answer]")
    advice = f"Answer with a result at once, within {probe.limit_s:g} seconds; do the work afterwards."
    if probe.parsed.error is not None:
        advice = "Answer with a result, even if you do nothing with it; this message is for players."
    return broken(f"{probe.kind}: {probe.why_not()}", advice, probe)


@if_reached
def own_type(record: RunRecord) -> CheckOutcome:
    probes = [probe for probe in record.of(*BROADCASTS, "game over", "game error") if probe.is_answered]
    if not probes:
        return untestable("nothing was acknowledged")
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


@if_reached
def repetition_harmless(record: RunRecord) -> CheckOutcome:
    taken_kinds = {probe.kind for probe in record.of(*BROADCASTS, "game over") if probe.is_answered}
    repeats = [probe for probe in not_busy(record.of(*REPEATED)) if probe.kind in taken_kinds]
    if not repeats:
        return untestable("the kit repeated nothing that was acknowledged the first time")
    for probe in repeats:
        if not probe.is_answered:
            advice = "Acknowledge a message again when it comes again; the first acknowledgement may have been lost."
            return broken(f"{probe.kind} for the second time: {probe.why_not()}", advice, probe)
    return kept("acknowledged again", repeats)


@if_reached
def large_standings(record: RunRecord) -> CheckOutcome:
    large = not_busy(record.of("large standings"))
    small = [probe for probe in record.of("standings") if probe.is_answered]
    if not large or not small:
        return untestable("small standings were not acknowledged either")
    probe = large[0]
    size = len(probe.sent)
    if probe.is_answered:
        return kept(f"standings of {size} bytes were accepted", [probe])
    advice = "Raise the limit of your HTTP server for request bodies to 1 MiB: tables grow with the league."
    detail = f"standings of {size} bytes: {probe.why_not()} (status {probe.response.status})"
    return broken(detail, advice, probe)


CHECKS: Mapping[str, Check] = {
    "BROADCAST.acknowledged": Check(
        partial(acknowledged, labels=BROADCASTS),
        ("dialect", "match", "notifications", "end"),
    ),
    "GAME_OVER.acknowledged": Check(
        partial(acknowledged, labels=("game over",)),
        ("dialect", "match"),
    ),
    "GAME_ERROR.acknowledged": Check(
        partial(acknowledged, labels=("game error",)),
        ("dialect", "correction"),
    ),
    "LEAGUE_ERROR.acknowledged": Check(
        partial(acknowledged, labels=("league error",)),
        ("dialect", "notifications"),
    ),
    "ACK.own_type": Check(own_type, ("dialect", "match", "notifications", "correction", "end")),
    "KEEPING.repetition_harmless": Check(repetition_harmless, ("dialect", "match", "notifications")),
    "SIZE.from_the_manager": Check(large_standings, ("notifications",)),
}
