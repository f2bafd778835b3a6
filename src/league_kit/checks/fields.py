"""The fields of what players say (spec sections 3 and 5): every message is read strictly, clause by clause."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial

from league.protocol import timestamps
from league.protocol.envelope import STRICT, unseal
from league.protocol.errors import Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import ACKS, MESSAGES
from league_kit.checks.common import accepted
from league_kit.clauses import Clause
from league_kit.outcome import Check, CheckOutcome, Evidence, Verdict, broken, kept, untestable, warning
from league_kit.record import Probe, RunRecord

ENVELOPE = ("protocol", "sender", "timestamp", "conversation_id")
Message = tuple[Evidence, str, Mapping[str, object] | object]

OF_MEMBERS = ("player_id", "sender", "auth_token")
"""What a player can only know once a manager has registered it."""
STRANGER = (
    "the player did not register, so it has no id and no token yet; `--listen PORT` lets it register with the kit first"
)
JOIN, CHOICE = "GAME_JOIN_ACK.accept", "CHOOSE_PARITY_RESPONSE.parity_choice"
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {JOIN: ("accepted", "status"), CHOICE: ("choice",)}
"""Other names that are in use for a field; compat understands them, the documents do not have them."""
RIGHT: Mapping[str, str] = {JOIN: "accept: true", CHOICE: 'parity_choice: "even" or "odd"'}

_SCENARIOS: Mapping[str, tuple[str, ...]] = {
    "LEAGUE_REGISTER_REQUEST": ("registration",),
    "LEAGUE_QUERY": ("registration", "dialect", "match", "notifications"),
    "GAME_JOIN_ACK": ("dialect", "match"),
    "CHOOSE_PARITY_RESPONSE": ("dialect", "match"),
    "GAME_MOVE_RESPONSE": ("dialect", "other_game"),
    "GAME_OVER_ACK": ("dialect", "match"),
    "GAME_ERROR_ACK": ("dialect", "correction"),
    "LEAGUE_ERROR_ACK": ("dialect", "notifications"),
    "LEAGUE_COMPLETED_ACK": ("end",),
}
_EVERYTHING = ("registration", "dialect", "match", "notifications", "correction", "end")


def messages_of(record: RunRecord) -> Iterator[Message]:
    """Everything the player sent that has to be a message: the evidence, the type it should have, and its content."""
    for one in record.probes:
        if one.kind and one.posted is None and _is_answer(one):
            content = one.parsed.content
            wanted = EXCHANGES[one.kind].replies[0]
            # Any result acknowledges a notification; only one that calls itself a message is judged as one.
            if wanted not in ACKS or (isinstance(content, dict) and content.get("message_type") == wanted):
                yield one, wanted, content
    for arrival in record.requests():
        if arrival.kind in MESSAGES:
            yield arrival, arrival.kind, arrival.message


def _is_answer(one: Probe) -> bool:
    readable = one.is_readable and one.parsed.error is None and not one.is_busy
    # Whatever comes back from a game or a request that no document knows need not be a message.
    return readable and (one.is_answered or (one.plain and not isinstance(one.parsed.content, dict)))


def violations(wanted: str, content: object) -> tuple[Violation, ...]:
    """What is wrong with a message; its fields are those of the type that fits, whatever it calls itself."""
    found = unseal(content, STRICT, (wanted,)).violations
    if isinstance(content, dict) and content.get("message_type") != wanted:
        fields = unseal({**content, "message_type": wanted}, STRICT, (wanted,)).violations
        return (*(one for one in found if one.requirement == "ENVELOPE.message_type"), *fields)
    return found


def field(record: RunRecord, clause: Clause) -> CheckOutcome:
    """One field; what only a registered player can know is not asked of one that never registered."""
    outcome = _field(record, clause)
    name = clause.id.rpartition(".")[2]
    if outcome.verdict is Verdict.FAIL and name in OF_MEMBERS and _never_had(name, record):
        return untestable(STRANGER)
    return outcome


def _field(record: RunRecord, clause: Clause) -> CheckOutcome:
    """One field, in all messages that may hold it."""
    name, _, path = clause.id.partition(".")
    missing: Evidence | None = None
    basic: Evidence | None = None
    seen = 0
    for evidence, wanted, content in messages_of(record):
        if name not in ("ENVELOPE", wanted):
            continue
        seen += 1
        one = next((one for one in violations(wanted, content) if one.requirement == clause.id), None)
        if one is not None and not _is_basic(content, one):
            detail = f"{wanted}: {one.path or 'the message'}: {one.detail} ({one.code})"
            return broken(detail, _advice(one, content), evidence)
        basic = basic or (evidence if one is not None else None)
        if path in ENVELOPE and isinstance(content, dict) and content.get(path) is None:
            missing = missing or evidence
    return _right(record, name, path, seen, basic, missing)


def _right(
    record: RunRecord, name: str, path: str, seen: int, basic: Evidence | None, missing: Evidence | None
) -> CheckOutcome:
    """Nothing is wrong with the field, wherever it stood."""
    if not seen:
        return untestable(_nothing(record, name))
    if basic is not None:
        advice = "Write YYYY-MM-DDTHH:MM:SSZ: strict leagues refuse the basic form."
        return warning(f"{path} is a time in the basic form of ISO 8601", advice, basic)
    if missing is not None:
        return warning(f"{path} is missing in a reply", f"Put {path} into every message, replies too.", missing)
    return kept(f"right in {seen} messages")


def _is_basic(content: object, one: Violation) -> bool:
    """A time without any dashes and colons."""
    text = content.get(one.path) if isinstance(content, dict) and one.code == "E021" else None
    return isinstance(text, str) and ":" not in text and timestamps.is_compat(text)


def _never_had(name: str, record: RunRecord) -> bool:
    """Did the player never register with the kit, and is this field blank in all its messages?"""
    values = [said.get(name) for _, said, _ in record.messages()]
    return record.member is None and all(one in (None, "", "player:") for one in values)


def _advice(one: Violation, content: object) -> str:
    fields = content if isinstance(content, dict) else {}
    for other in OTHER_NAMES.get(one.requirement, ()):
        if other in fields:
            return f"You wrote {other}: {json.dumps(fields[other])}; write {RIGHT[one.requirement]} instead."
    if one.code == "E003":
        return f"Put {one.path} into the message."
    if one.code == "E038":
        return "Put the message type that answers the question into message_type."
    return f"Change {one.path or 'it'} to what the specification asks for; `league validate` tells whether it is right."


def _nothing(record: RunRecord, name: str) -> str:
    if name == "LEAGUE_REGISTER_REQUEST":
        return record.listening or "the player did not register"
    if name == "LEAGUE_QUERY":
        return "the player asked the manager nothing"
    if name == "GAME_MOVE_RESPONSE":
        return "the player made no move in another game than even_odd"
    return f"the player said no {name}" if name in MESSAGES else "the player said no message"


def accept(record: RunRecord, clause: Clause) -> CheckOutcome:
    """`accept`, and whether the player wants to play at all."""
    outcome = field(record, clause)
    for one in record.of_kind("GAME_INVITATION"):
        even_odd = one.message["game_type"] == "even_odd"
        if even_odd and one.is_answered and accepted(one) is False and not outcome.advice:
            return warning(
                "the player declined a match", "accept: false loses the match at once; say true to play.", one
            )
    return outcome


def checks(observable: Mapping[str, Clause], taken: Mapping[str, Check]) -> Mapping[str, Check]:
    """A check for every field clause that has none of its own."""
    made: dict[str, Check] = {}
    for name, clause in observable.items():
        if clause.kind == "field" and name not in taken:
            judge = accept if name == "GAME_JOIN_ACK.accept" else field
            made[name] = Check(partial(judge, clause=clause), _SCENARIOS.get(name.partition(".")[0], _EVERYTHING))
    return made
