"""What applies to all messages of a player: size, timestamps, sender, tokens; and whether it survives."""

from __future__ import annotations

from collections.abc import Mapping

from league.protocol import timestamps, tokens
from league.protocol.jsonrpc import MESSAGE_LIMIT
from league_kit.checks.common import if_joined, if_reached, own_id
from league_kit.messages import LEAGUE, REFEREE
from league_kit.outcome import Check, CheckOutcome, broken, kept, untestable
from league_kit.record import RunRecord, tokens_known

WRITTEN_LENGTH = len("2025-06-01T10:00:00Z")
TIMES = ("timestamp", "arrival_timestamp")


@if_reached
def size_of_replies(record: RunRecord) -> CheckOutcome:
    answered = [one for one in record.proper() if one.trouble is None]
    if not answered:
        return untestable("nothing was answered")
    largest = max(answered, key=lambda one: len(one.response.body))
    size = len(largest.response.body)
    if size > MESSAGE_LIMIT:
        advice = "Say only what the message needs; callers stop reading at 10,240 bytes."
        return broken(f"an answer has {size} bytes", advice, largest)
    return kept(f"the largest has {size} bytes")


def written_timestamps(record: RunRecord) -> CheckOutcome:
    seen = 0
    for one, said, _ in record.messages():
        for name in TIMES:
            text = said.get(name)
            if not isinstance(text, str) or not timestamps.is_strict(text):
                continue  # a wrong or missing one is the matter of its field
            seen += 1
            if len(text) != WRITTEN_LENGTH or not text.endswith("Z"):
                advice = "Write YYYY-MM-DDTHH:MM:SSZ: UTC, whole seconds, a Z at the end."
                return broken(f"{name} is written {text!r}", advice, one)
    return kept(f"{seen} timestamps") if seen else untestable("no answer holds a timestamp")


def written_sender(record: RunRecord) -> CheckOutcome:
    if record.member is None:
        return untestable(record.listening or "the player did not register, so nobody knows its id")
    wanted = f"player:{own_id(record)}"
    seen = 0
    for one, said, _ in record.messages():
        sender = said.get("sender")
        if not isinstance(sender, str) or not sender.startswith("player:"):
            continue  # a wrong or missing one is the matter of ENVELOPE.sender
        seen += 1
        if sender != wanted:
            return broken(
                f"sender is {sender!r}, not {wanted!r}", "Write player: and the id the manager gave you.", one
            )
    return kept(f"always {wanted}") if seen else untestable("no answer holds a sender")


def conversation_echoed(record: RunRecord) -> CheckOutcome:
    seen = 0
    for one, said, _ in record.messages():
        given = said.get("conversation_id")
        wanted = getattr(one, "message", {}).get("conversation_id")
        if not isinstance(given, str):
            continue
        seen += 1
        if given != wanted:
            advice = "Copy conversation_id from the message you answer."
            return broken(f"asked in {wanted!r}, answered in {given!r}", advice, one)
    return kept(f"in {seen} answers") if seen else untestable("no answer holds a conversation_id")


# --- tokens -----------------------------------------------------------------------------------------------------------


@if_joined
def token_in_answers(record: RunRecord) -> CheckOutcome:
    asked = record.of_kind("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
    answered = [one for one in asked if one.is_answered]
    advice = "Put the auth_token of your registration into every answer to a referee."
    for one in answered:
        shown = one.answer.get("auth_token")
        if shown in record.own_tokens:
            return broken("the answer shows the referee its own token", advice, one)
        if record.member is not None and shown not in _right(record, str(one.message["match_id"])):
            said = "no token" if shown is None else "another token than the registration gave"
            return broken(f"the answer shows {said}", advice, one)
    if record.member is None:
        return untestable(record.listening or "the player did not register, so nobody knows its token")
    return kept(f"in {len(answered)} answers")


def _right(record: RunRecord, match_id: str) -> set[str]:
    assert record.member is not None
    us, given = record.member.id, record.member.tokens
    return {*given, *(tokens.derive(tokens.deriver(one), us, REFEREE, LEAGUE, match_id, 1) for one in given)}


@if_reached
def token_never_shown(record: RunRecord) -> CheckOutcome:
    known = [token.encode() for token in tokens_known(record)]
    refusals = [one for one in record.probes if one.parsed.error is not None]
    advice = "Leave tokens out of errors and pages; where you must mention one, show its first four characters."
    for one in refusals:
        if any(token in one.response.raw for token in known):
            return broken("an error holds a token", advice, one)
    for path, page in record.pages.items():
        if any(token in page.raw for token in known):
            return broken(f"the page {path} holds a token", advice)
    if not refusals and not record.pages:
        return untestable("there was no error and no page to look at")
    return kept(f"in none of {len(refusals)} errors and {len(record.pages)} pages; logs cannot be seen from outside")


# --- survival ---------------------------------------------------------------------------------------------------------


@if_joined
def survives_nonsense(record: RunRecord) -> CheckOutcome:
    last = record.died_after
    if last is not None:
        detail = f"after one more request ({last.label}) nobody listened any more"
        return broken(detail, "Catch every error at the door of your server, and answer it.", last)
    asked = record.of("invitation afterwards", "call afterwards")
    if not asked:
        return untestable("it was not asked to play after the nonsense")
    chose = any(one.is_answered for one in record.of("call"))
    for one in asked:
        if not one.is_answered and (chose or one.kind == "GAME_INVITATION"):
            advice = "Catch every error at the door of your server, answer it, and keep what you know of matches."
            return broken(f"after wrong requests, {one.kind}: {one.why_not()}", advice, one)
    return kept("plays on", asked)


@if_joined
def talks_to_no_player(record: RunRecord) -> CheckOutcome:
    sent = [one for one in record.arrivals if one.is_to_opponent]
    if sent:
        return broken("the player called its opponent", "Talk to the manager and to referees only.", *sent)
    return kept("its opponent heard nothing")


_SAID = ("dialect", "match", "notifications")
BOUNDED = "whether memory, connections and logs stay bounded cannot be seen from outside in a short run"

CHECKS: Mapping[str, Check] = {
    "SIZE.replies": Check(size_of_replies, _SAID),
    "WRITING.timestamps": Check(written_timestamps, _SAID),
    "WRITING.sender": Check(written_sender, ("registration", *_SAID)),
    "CONVERSATION.echoed": Check(conversation_echoed, _SAID),
    "TOKEN.in_answers": Check(token_in_answers, ("registration", *_SAID)),
    "TOKEN.never_shown": Check(token_never_shown, ("registration", "dialect", "requests", "http")),
    "PLAYER.survives_nonsense": Check(survives_nonsense, ("dialect", "match", "strict_json", "requests", "afterwards")),
    "PLAYER.talks_to_no_player": Check(talks_to_no_player, ("dialect", "match")),
    "KEEPING.bounded": Check(lambda _: untestable(BOUNDED), (), never=BOUNDED),
}
