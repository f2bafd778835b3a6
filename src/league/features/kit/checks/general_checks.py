"""Clauses about all messages of a player: size, timestamps, sender, tokens; and whether it survives."""

from __future__ import annotations

from typing import Any, NamedTuple

from league.features.kit.checks.outcome import Check, CheckOutcome, broken, each, kept, own_id, untestable
from league.features.kit.driver.messages import LEAGUE, REFEREE
from league.features.kit.driver.record import QUESTIONS, Probe, RegisteredAgent, RunRecord, tokens_known
from league.protocol import timestamps
from league.protocol.signing import tokens
from league.protocol.wire.jsonrpc import MESSAGE_LIMIT

WRITTEN_LENGTH = len("2025-06-01T10:00:00Z")
TIMES = ("timestamp", "arrival_timestamp")


def size_of_replies(record: RunRecord, check: Check) -> CheckOutcome:
    answered = [probe for probe in record.proper() if probe.trouble is None]
    largest = max(answered, key=lambda probe: len(probe.response.body), default=None)
    if largest is None:
        return untestable(check.nothing)
    size = len(largest.response.body)
    if size > MESSAGE_LIMIT:
        return broken(f"an answer has {size} bytes", check.advice, largest)
    return kept(f"the largest has {size} bytes")


# A wrong or missing field is the matter of a clause of its own.


class _Written(NamedTuple):
    """A field of an answer."""

    name: str
    value: str
    probe: Probe


def _written(record: RunRecord, *names: str) -> list[_Written]:
    """Return all texts that answers have in these fields."""
    texts: list[tuple[str, Any, Probe]] = [
        (name, answer.get(name), probe) for probe, answer in record.messages() for name in names
    ]
    return [_Written(name, value, probe) for name, value, probe in texts if isinstance(value, str)]


def _judge_written(check: Check, texts: list[_Written], wrong: dict[str, Probe], good: str) -> CheckOutcome:
    """Judge texts by those that are wrong, as they are told."""
    if not texts:
        return untestable(check.nothing)
    for detail, probe in wrong.items():
        return broken(detail, check.advice, probe)
    return kept(good)


def written_timestamps(record: RunRecord, check: Check) -> CheckOutcome:
    texts = [text for text in _written(record, *TIMES) if timestamps.is_strict(text.value)]
    wrong = {
        f"{text.name} is written {text.value!r}": text.probe
        for text in texts
        if len(text.value) != WRITTEN_LENGTH or not text.value.endswith("Z")
    }
    return _judge_written(check, texts, wrong, f"{len(texts)} timestamps")


def written_sender(record: RunRecord, check: Check) -> CheckOutcome:
    if record.member is None:
        return untestable(record.listening or "the player did not register, so the kit does not know its id")
    expected = f"player:{own_id(record)}"
    texts = [text for text in _written(record, "sender") if text.value.startswith("player:")]
    wrong = {f"sender is {text.value!r}, not {expected!r}": text.probe for text in texts if text.value != expected}
    return _judge_written(check, texts, wrong, f"always {expected}")


def conversation_echoed(record: RunRecord, check: Check) -> CheckOutcome:
    texts = _written(record, "conversation_id")
    wrong = {}
    for text in texts:
        expected = text.probe.message.get("conversation_id")
        if text.value != expected:
            wrong[f"asked in {expected!r}, answered in {text.value!r}"] = text.probe
    return _judge_written(check, texts, wrong, f"in {len(texts)} answers")


# --- tokens -----------------------------------------------------------------------------------------------------------


def token_in_answers(record: RunRecord, check: Check) -> CheckOutcome:
    member = record.member
    answered = [probe for probe in record.of_kind(*QUESTIONS) if probe.is_answered]

    def problem(probe: Probe) -> str:
        token = probe.answer.get("auth_token")
        if token in record.own_tokens:
            return "the answer shows the referee its own token"
        if member is None or token in _right_tokens(member, str(probe.message["match_id"])):
            return ""
        if token is None:
            return "the answer shows no token"
        return "the answer shows a token that the registration did not give"

    outcome = each(check, answered, problem, f"in {len(answered)} answers")
    if member is None and not outcome.advice:
        return untestable(record.listening or "the player did not register, so the kit does not know its token")
    return outcome


def _right_tokens(member: RegisteredAgent, match_id: str) -> set[str]:
    """Return the tokens of a registration, and those derived from them for this match."""
    right = set(member.tokens)
    for token in member.tokens:
        key = tokens.deriver(token)
        # The kit plays a match twice at most.
        right.update(tokens.derive(key, member.id, REFEREE, LEAGUE, match_id, attempt) for attempt in (1, 2))
    return right


def token_never_shown(record: RunRecord, check: Check) -> CheckOutcome:
    secrets = [token.encode() for token in tokens_known(record)]
    refusals = [probe for probe in record.probes if probe.parsed.error is not None]

    def shows(raw: bytes) -> bool:
        return any(token in raw for token in secrets)

    for path, page in record.pages.items():
        if shows(page.raw):
            return broken(f"the page {path} holds a token", check.advice)
    if not refusals and not record.pages:
        return untestable(check.nothing)
    for probe in refusals:
        if shows(probe.response.raw):
            return broken("an error holds a token", check.advice, probe)
    return kept(f"in none of {len(refusals)} errors and {len(record.pages)} pages; logs cannot be seen from outside")


# --- survival ---------------------------------------------------------------------------------------------------------


def survives_nonsense(record: RunRecord, check: Check) -> CheckOutcome:
    last = record.died_after
    if last is not None:
        detail = f"the agent stopped listening after this request: {last.label}"
        return broken(detail, "Catch every error at the entrance of your server, and answer it.", last)
    has_chosen = any(call.is_answered for call in record.of("call"))
    probes = record.of(*check.labels)
    return each(
        check,
        probes,
        lambda probe: f"after wrong requests, {probe.kind}: {probe.why_not()}",
        "plays on",
        lambda probe: not probe.is_answered and (has_chosen or probe.kind == "GAME_INVITATION"),
    )


def talks_to_no_player(record: RunRecord, check: Check) -> CheckOutcome:
    requests = [request for request in record.arrivals if request.is_to_opponent]
    if requests:
        return broken("the player called its opponent", check.advice, *requests)
    return kept("its opponent heard nothing")
