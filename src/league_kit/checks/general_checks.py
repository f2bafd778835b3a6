"""Clauses about all messages of a player: size, timestamps, sender, tokens; and whether it survives."""

from __future__ import annotations

from collections.abc import Mapping

from league.protocol import timestamps, tokens
from league.protocol.jsonrpc import MESSAGE_LIMIT
from league_kit.checks.common import if_joined, if_reached, own_id
from league_kit.kit_messages import LEAGUE, REFEREE
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable
from league_kit.record import QUESTIONS, RegisteredAgent, RunRecord, tokens_known

WRITTEN_LENGTH = len("2025-06-01T10:00:00Z")
TIMES = ("timestamp", "arrival_timestamp")


@if_reached
def size_of_replies(record: RunRecord) -> CheckOutcome:
    answered = [probe for probe in record.proper() if probe.trouble is None]
    if not answered:
        return untestable("nothing was answered")
    largest = max(answered, key=lambda probe: len(probe.response.body))
    size = len(largest.response.body)
    if size > MESSAGE_LIMIT:
        advice = "Say only what the message needs; callers stop reading at 10,240 bytes."
        return broken(f"an answer has {size} bytes", advice, largest)
    return kept(f"the largest has {size} bytes")


def written_timestamps(record: RunRecord) -> CheckOutcome:
    judged = 0
    for probe, answer in record.messages():
        for name in TIMES:
            text = answer.get(name)
            if not isinstance(text, str) or not timestamps.is_strict(text):
                continue  # a wrong or missing one is the matter of its field
            judged += 1
            if len(text) != WRITTEN_LENGTH or not text.endswith("Z"):
                advice = "Write YYYY-MM-DDTHH:MM:SSZ: UTC, whole seconds, a Z at the end."
                return broken(f"{name} is written {text!r}", advice, probe)
    if not judged:
        return untestable("no answer holds a timestamp")
    return kept(f"{judged} timestamps")


def written_sender(record: RunRecord) -> CheckOutcome:
    if record.member is None:
        return untestable(record.listening or "the player did not register, so the kit does not know its id")
    expected = f"player:{own_id(record)}"
    judged = 0
    for probe, answer in record.messages():
        sender = answer.get("sender")
        if not isinstance(sender, str) or not sender.startswith("player:"):
            continue  # a wrong or missing one is the matter of ENVELOPE.sender
        judged += 1
        if sender != expected:
            advice = "Write player: and the id the manager gave you."
            return broken(f"sender is {sender!r}, not {expected!r}", advice, probe)
    if not judged:
        return untestable("no answer holds a sender")
    return kept(f"always {expected}")


def conversation_echoed(record: RunRecord) -> CheckOutcome:
    judged = 0
    for probe, answer in record.messages():
        conversation = answer.get("conversation_id")
        expected = probe.message.get("conversation_id")
        if not isinstance(conversation, str):
            continue
        judged += 1
        if conversation != expected:
            advice = "Copy conversation_id from the message you answer."
            return broken(f"asked in {expected!r}, answered in {conversation!r}", advice, probe)
    if not judged:
        return untestable("no answer holds a conversation_id")
    return kept(f"in {judged} answers")


# --- tokens -----------------------------------------------------------------------------------------------------------


@if_joined
def token_in_answers(record: RunRecord) -> CheckOutcome:
    answered = [probe for probe in record.of_kind(*QUESTIONS) if probe.is_answered]
    advice = "Put the auth_token of your registration into every answer to a referee."
    for probe in answered:
        token = probe.answer.get("auth_token")
        if token in record.own_tokens:
            return broken("the answer shows the referee its own token", advice, probe)
        if record.member is None or token in _right_tokens(record.member, str(probe.message["match_id"])):
            continue
        wrong = "no token" if token is None else "a token that the registration did not give"
        return broken(f"the answer shows {wrong}", advice, probe)
    if record.member is None:
        return untestable(record.listening or "the player did not register, so the kit does not know its token")
    return kept(f"in {len(answered)} answers")


def _right_tokens(member: RegisteredAgent, match_id: str) -> set[str]:
    """Return the tokens of a registration, and those derived from them for this match."""
    right = set(member.tokens)
    for token in member.tokens:
        key = tokens.deriver(token)
        # The kit plays a match twice at most.
        right.update(tokens.derive(key, member.id, REFEREE, LEAGUE, match_id, attempt) for attempt in (1, 2))
    return right


@if_reached
def token_never_shown(record: RunRecord) -> CheckOutcome:
    secrets = [token.encode() for token in tokens_known(record)]
    refusals = [probe for probe in record.probes if probe.parsed.error is not None]
    advice = "Leave tokens out of errors and pages; where you must mention one, show its first four characters."
    for probe in refusals:
        if any(token in probe.response.raw for token in secrets):
            return broken("an error holds a token", advice, probe)
    for path, page in record.pages.items():
        if any(token in page.raw for token in secrets):
            return broken(f"the page {path} holds a token", advice)
    if not refusals and not record.pages:
        return untestable("there was no error and no page to look at")
    return kept(f"in none of {len(refusals)} errors and {len(record.pages)} pages; logs cannot be seen from outside")


# --- survival ---------------------------------------------------------------------------------------------------------


@if_joined
def survives_nonsense(record: RunRecord) -> CheckOutcome:
    last = record.died_after
    if last is not None:
        detail = f"the agent stopped listening after this request: {last.label}"
        return broken(detail, "Catch every error at the entrance of your server, and answer it.", last)
    probes = record.of("invitation afterwards", "call afterwards")
    if not probes:
        return untestable("the kit did not ask it to play after the nonsense")
    has_chosen = any(call.is_answered for call in record.of("call"))
    for probe in probes:
        if not probe.is_answered and (has_chosen or probe.kind == "GAME_INVITATION"):
            advice = "Catch every error at the entrance of your server, answer it, and keep what you know of matches."
            return broken(f"after wrong requests, {probe.kind}: {probe.why_not()}", advice, probe)
    return kept("plays on", probes)


@if_joined
def talks_to_no_player(record: RunRecord) -> CheckOutcome:
    requests = [request for request in record.arrivals if request.is_to_opponent]
    if requests:
        return broken(
            "the player called its opponent",
            "Talk to the manager and to referees only.",
            *requests,
        )
    return kept("its opponent heard nothing")


_MESSAGES = ("dialect", "match", "notifications")
BOUNDED = "whether memory, connections and logs stay bounded cannot be seen from outside in a short run"

CHECKS: Mapping[str, Check] = {
    "SIZE.replies": Check(size_of_replies, _MESSAGES),
    "WRITING.timestamps": Check(written_timestamps, _MESSAGES),
    "WRITING.sender": Check(written_sender, ("registration", *_MESSAGES)),
    "CONVERSATION.echoed": Check(conversation_echoed, _MESSAGES),
    "TOKEN.in_answers": Check(token_in_answers, ("registration", *_MESSAGES)),
    "TOKEN.never_shown": Check(token_never_shown, ("registration", "dialect", "requests", "http")),
    "PLAYER.survives_nonsense": Check(
        survives_nonsense,
        ("dialect", "match", "strict_json", "requests", "afterwards"),
    ),
    "PLAYER.talks_to_no_player": Check(talks_to_no_player, ("dialect", "match")),
    "KEEPING.bounded": Check(lambda _: untestable(BOUNDED), (), never=BOUNDED),
}
