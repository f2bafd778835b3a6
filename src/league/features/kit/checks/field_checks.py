"""The fields of players' messages (spec sections 3 and 5): every message is read strictly, clause by clause."""

# These checks come from the specification: every clause about a field becomes a check here, unless another module has a
# special one. Messages are read with the profile `strict`, whatever the manager would forgive: compat is for playing,
# not for judging.

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from league.features.kit.checks.outcome import (
    Check,
    CheckOutcome,
    CheckVerdict,
    Evidence,
    broken,
    kept,
    untestable,
    warning,
)
from league.features.kit.driver.record import COMPAT, Probe, RunRecord, message_in
from league.features.kit.driver.templates import fields_of
from league.protocol import timestamps
from league.protocol.errors import Violation
from league.protocol.message.envelope import STRICT, unseal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import ACKS, MESSAGES

ENVELOPE = ("protocol", "sender", "timestamp", "conversation_id")
OF_MEMBERS = ("player_id", "sender", "auth_token")
"""Fields that a player can only know once a manager has registered it."""
STRANGER = (
    "the player did not register, so it has no id and no token yet; `--listen PORT` lets it register with the kit first"
)
JOIN = "GAME_JOIN_ACK.accept"
CHOICE = "CHOOSE_PARITY_RESPONSE.parity_choice"
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    JOIN: ("accepted", "status"),
    CHOICE: ("choice",),
}
"""Other names that are in use for a field; compat understands them, the documents do not have them."""
RIGHT: Mapping[str, str] = {JOIN: "accept: true", CHOICE: 'parity_choice: "even" or "odd"'}
ABSENT: Mapping[str, str] = {
    "LEAGUE_REGISTER_REQUEST": "the player did not register",
    "LEAGUE_QUERY": "the player sent the manager no query",
    "GAME_MOVE_RESPONSE": "the player made no move in a game other than even_odd",
}
"""Why a message could not be judged, if not simply because it never came."""


class SentMessage(NamedTuple):
    """Something the player sent that has to be a message of this type."""

    evidence: Evidence
    kind: str
    content: object


def messages_of(record: RunRecord) -> Iterator[SentMessage]:
    """Iterate over everything the player sent that has to be a message."""
    for probe in record.probes:
        if probe.kind in EXCHANGES and probe.posted is None and _is_answer(probe):
            content = probe.parsed.content
            reply = EXCHANGES[probe.kind].replies[0]
            # Any result acknowledges a notification; only one that calls itself a message is judged as one.
            is_message = isinstance(content, dict) and content.get("message_type") == reply
            if reply not in ACKS or is_message:
                yield SentMessage(probe, reply, content)
    for request in record.requests():
        if request.kind in MESSAGES:
            yield SentMessage(request, request.kind, request.message)


def _is_answer(probe: Probe) -> bool:
    if not probe.is_readable or probe.parsed.error is not None or probe.is_busy:
        return False
    # The answer to a game or a request that no document knows need not be a message.
    return probe.is_answered or (probe.plain and not isinstance(probe.parsed.content, dict))


def violations(kind: str, content: object) -> tuple[Violation, ...]:
    """Return what is wrong with a message; its fields are those of the type that fits, whatever it calls itself."""
    as_written = unseal(content, STRICT, (kind,)).violations
    if not isinstance(content, dict) or content.get("message_type") == kind:
        return as_written
    of_type = [violation for violation in as_written if violation.requirement == "ENVELOPE.message_type"]
    as_meant = unseal({**content, "message_type": kind}, STRICT, (kind,)).violations
    return (*of_type, *as_meant)


def field(record: RunRecord, check: Check) -> CheckOutcome:
    """Judge one field; a player that never registered need not know what only a member can know."""
    outcome = _field(record, check.id)
    name = check.id.rpartition(".")[2]
    if outcome.verdict is CheckVerdict.FAIL and record.role != "player" and _is_read(outcome.evidence[0]):
        return replace(outcome, verdict=CheckVerdict.WARN)
    if outcome.verdict is CheckVerdict.FAIL and name in OF_MEMBERS and _never_had(name, record):
        return untestable(STRANGER)
    if check.id == JOIN and not outcome.advice:
        return _declined(record) or outcome
    return outcome


def _field(record: RunRecord, clause: str) -> CheckOutcome:
    """Judge one field in all messages that may hold it."""
    name, _, path = clause.partition(".")
    messages = [message for message in messages_of(record) if name in ("ENVELOPE", message.kind)]
    if record.role != "player":
        # What nobody can read is told first.
        messages.sort(key=lambda message: _is_read(message.evidence))
    if not messages:
        return untestable(_nothing(record, name))
    basic: Evidence | None = None
    missing: Evidence | None = None
    for message in messages:
        content = message.content
        wrong = [each for each in violations(message.kind, content) if each.requirement == clause]
        if wrong and not _is_basic(content, wrong[0]):
            violation = wrong[0]
            place = violation.path or "the message"
            detail = f"{message.kind}: {place}: {violation.detail} ({violation.code})"
            return broken(detail, _advice(violation, content), message.evidence)
        if wrong:
            basic = basic or message.evidence
        if path in ENVELOPE and isinstance(content, dict) and content.get(path) is None:
            missing = missing or message.evidence
    if basic is not None:
        advice = "Write YYYY-MM-DDTHH:MM:SSZ: strict leagues refuse the basic form."
        return warning(f"{path} is a time in the basic form of ISO 8601", advice, basic)
    if missing is not None:
        return warning(
            f"{path} is missing in a reply",
            f"Put {path} into every message, replies too.",
            missing,
        )
    return kept(f"right in {len(messages)} messages")


def _is_read(evidence: Evidence) -> bool:
    """True if our agents read the message, whatever is wrong in it."""
    if isinstance(evidence, Probe):
        return message_in(evidence) is not None
    return unseal(evidence.normalised, COMPAT).message is not None


def _is_basic(content: object, violation: Violation) -> bool:
    """Is it a time without any dashes and colons?"""
    if not isinstance(content, dict) or violation.code != "E021":
        return False
    text = content.get(violation.path)
    return isinstance(text, str) and ":" not in text and timestamps.is_compat(text)


def _never_had(name: str, record: RunRecord) -> bool:
    """Did the player never register with the kit, and is this field blank in all its messages?"""
    values = [answer.get(name) for _, answer in record.messages()]
    return record.member is None and all(value in (None, "", "player:") for value in values)


def _advice(violation: Violation, content: object) -> str:
    fields = fields_of(content)
    for alias in OTHER_NAMES.get(violation.requirement, ()):
        if alias in fields:
            right = RIGHT[violation.requirement]
            return f"You wrote {alias}: {json.dumps(fields[alias])}; write {right} instead."
    if violation.code == "E003":
        return f"Put {violation.path} into the message."
    if violation.code == "E038":
        return "Put the message type that answers the question into message_type."
    place = violation.path or "it"
    return f"Change {place} to what the specification requires; `league validate` tells whether it is right."


def _nothing(record: RunRecord, name: str) -> str:
    if name == "LEAGUE_REGISTER_REQUEST" and record.listening:
        return record.listening
    noun = name if name in MESSAGES else "message"
    absent = ABSENT if record.role == "player" else {}
    return absent.get(name, f"the {record.role} sent no {noun}")


def _declined(record: RunRecord) -> CheckOutcome | None:
    """Return a warning if the player does not want to play at all."""
    for probe in record.of_kind("GAME_INVITATION"):
        if probe.is_answered and probe.accept is False and probe.message["game_type"] == "even_odd":
            advice = (
                "accept: false loses the match at once; say true to play. The kit plays even_odd: start a player of "
                "this package that names another game with --game even_odd to check it here, and let league spar play "
                "its own game."
            )
            return warning("the player declined a match", advice, probe)
    return None
