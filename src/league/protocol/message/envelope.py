"""Sealing and unsealing: fields become a whole message, and a parsed message becomes its class or its violations.

Theory of operation: how a message is judged. `unseal` first tries the quick way: msgspec converts the parsed object to
its message class, and `judged` tests what no class can express (the rules of `fields`, the sender, and the clauses
about several fields in `consistency`). Nearly every message passes, and nothing else runs.

If any of that fails, the slow way walks the object once more (`judge`) and collects *all* violated clauses. Some
violations are lenient: the profile `compat` accepts them and records them as deviations, `strict` rejects them. The
others are sorted, because the first one decides the answer (spec section 10.3): an unknown type before a wrong
protocol, before the rest of the envelope, before the sender's right to send this, before the fields.

What must never happen: the two ways disagree about whether a message is right; or a field that `compat` let pass is
repaired. Its value is left out instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec import Struct

from league.protocol import timestamps
from league.protocol.errors import Stage, Violation, as_error
from league.protocol.message.consistency import (
    CONSISTENCY_RULES,
    TABLES,
    FieldsOf,
    too_many_rows,
)
from league.protocol.message.exchanges import EXCHANGES, Role, speakers
from league.protocol.message.judge import (
    ENVELOPE,
    Check,
    Remembered,
    check,
    json_name,
    place_of,
    quick,
    specs,
)
from league.protocol.message.messages import MESSAGES, LeagueQuery, Message
from league.protocol.versions import PROTOCOL

Profile = Literal["compat", "strict"]
DEFAULT_LIMIT_S = 10.0
LONGEST_LIMIT_S = 3600.0


class Reading(Struct, frozen=True, gc=False):
    """How to read what others send: the profile, and the game."""

    profile: Profile = "compat"
    game_type: str = "even_odd"


STRICT = Reading("strict")
_NOTHING: Mapping[str, object] = MappingProxyType({})


class Unsealed(Struct, frozen=True, gc=False):
    """A message that was read: the message if nothing was violated, the violations (the decisive one first), and the
    deviations that `compat` accepts but records."""

    message_type: str | None
    message: Message | None
    violations: tuple[Violation, ...] = ()
    deviations: tuple[Violation, ...] = ()
    content: Mapping[str, object] = _NOTHING
    """The parsed object, kept when something is wrong with it: its token decides before its fields (section 10.3)."""
    round_name: str = ""
    """What its sender calls the round, if not by its number."""

    def until(self, stage: Stage) -> Violation | None:
        """The decisive violation among those of this stage or earlier."""
        for violation in self.violations:
            if violation.stage <= stage:
                return violation
        return None

    def field(self, name: str) -> object:
        """A field of the message, even if the message is wrong elsewhere."""
        if self.message is None:
            return self.content.get(name)
        return getattr(self.message, name, None)

    def open(self) -> Message:
        """The message; raises the decisive violation if there is one."""
        if self.message is None:
            raise as_error(self.violations[0])
        return self.message


_SENDERS = frozenset(role.value for role in Role)
FORBIDDEN_SENDERS: Mapping[str, frozenset[str]] = {
    message_type: _SENDERS - frozenset(role.value for role in speakers(message_type)) for message_type in MESSAGES
}
"""By message type: the words a `sender` may not begin with. The rule about `sender` judges unknown words."""


def answer_limit_s(read: Unsealed) -> float:
    """How long the sender waits for the answer: until the deadline in its message, or else as long as its exchange
    allows."""
    deadline = getattr(read.message, "deadline", None)
    if deadline:
        sent_at = getattr(read.message, "timestamp", None)
        if isinstance(deadline, str) and isinstance(sent_at, str):
            # Both are readings of the sender's clock, in whole seconds.
            limit_s = timestamps.read(deadline) - timestamps.read(sent_at)
            return min(max(limit_s, 1.0), LONGEST_LIMIT_S)
    row = EXCHANGES.get(read.message_type or "")
    if row is None:
        return DEFAULT_LIMIT_S
    return row.limit_s


def seal(
    sender: str,
    now: float,
    conversation_id: str,
    auth_token: str | None = None,
) -> dict[str, Any]:
    """The envelope's fields, ready to be spread into a message class."""
    return {
        "protocol": PROTOCOL,
        "sender": sender,
        "timestamp": timestamps.write(now),
        "conversation_id": conversation_id,
        "auth_token": auth_token,
    }


def unseal(
    content: object,
    reading: Reading = STRICT,
    expected: Collection[str] = (),
) -> Unsealed:
    """Read one parsed message. `expected` are the message types that fit the method or the question."""
    if not isinstance(content, dict):
        detail = f"a message must be an object, not {json_name(content)}"
        return Unsealed(
            None,
            None,
            (
                Violation(
                    "E007",
                    "",
                    detail,
                    "ENVELOPE",
                    Stage.TYPE,
                ),
            ),
        )
    message_type = content.get("message_type")
    cls = MESSAGES.get(message_type) if isinstance(message_type, str) else None
    if cls is not None and (not expected or message_type in expected):
        unsealed = _quickly(cls, content, reading)
        if unsealed is not None:
            return unsealed
    return _slowly(cls, content, reading, expected)


# --- the quick way ----------------------------------------------------------------------------------------------------


def _quickly(
    cls: type[Message],
    content: Mapping[str, object],
    reading: Reading,
) -> Unsealed | None:
    try:
        message = msgspec.convert(content, cls)
    except msgspec.ValidationError:
        return None
    return judged(message, content, reading)


def judged(
    message: Message,
    content: Mapping[str, object] | None,
    reading: Reading,
) -> Unsealed | None:
    """The message as read, if every clause holds that its class cannot express; None if the slow way must find out
    which does not. `content` is the object it was converted from, if there is one."""
    for get, is_right in _checks(type(message)):
        if not is_right(get(message)):
            return None
    message_type = message.type
    # Without the parsed object, the rules read the fields of the message.
    if message_type in CONSISTENCY_RULES and any(CONSISTENCY_RULES[message_type](content or FieldsOf(message))):
        return None
    if message_type not in TABLES:
        return Unsealed(message_type, message)
    deviations = too_many_rows(message_type, getattr(message, TABLES[message_type], None))
    if deviations and reading.profile == "strict":
        return None
    return Unsealed(message_type, message, deviations=deviations)


@cache
def _checks(cls: type[Message]) -> tuple[Check, ...]:
    """The tests of what the class cannot express about single fields, and of the sender."""
    if "sender" not in cls.__struct_fields__:
        return quick(cls)
    may_send = Remembered(lambda sender: not _may_not_send(cls.type, sender))
    return (*quick(cls), (attrgetter("sender"), may_send.__getitem__))


def _may_not_send(message_type: str, sender: object) -> bool:
    """Whether this sender has no right to send such a message."""
    return isinstance(sender, str) and sender.partition(":")[0] in FORBIDDEN_SENDERS[message_type]


# --- the slow way -----------------------------------------------------------------------------------------------------


def _slowly(
    cls: type[Message] | None, content: dict[str, object], reading: Reading, expected: Collection[str]
) -> Unsealed:
    violations = list(_type_violations(cls, content, expected))
    if cls is None:
        # The envelope of an unknown type is judged all the same, with the class of any request.
        for spec in specs(LeagueQuery):
            if spec.name in ENVELOPE:
                check(spec, content, place_of("", spec.name), violations)
    else:
        for spec in specs(cls):
            check(spec, content, place_of(cls.type, spec.name), violations)
        violations.extend(_beyond_fields(cls, content))
    return _sorted_out(cls, content, violations, reading)


def _type_violations(
    cls: type[Message] | None, content: Mapping[str, object], expected: Collection[str]
) -> Iterator[Violation]:
    place = place_of("", "message_type")
    value = content.get("message_type")
    if value is None:
        problem = "must not be null" if "message_type" in content else "is missing"
        yield place.violation("E003", f"message_type {problem}")
    elif not isinstance(value, str):
        yield place.violation("E007", f"must be a string, not {json_name(value)}")
    elif cls is None or (expected and value not in expected):
        problem = "there is no such message"
        if expected:
            problem = f"expected {' or '.join(expected)}"
        yield Violation(
            "E038",
            place.path,
            f"{value!r}: {problem}",
            place.clause,
            Stage.TYPE,
        )


def _beyond_fields(cls: type[Message], content: Mapping[str, object]) -> Iterator[Violation]:
    """The violations that no single field shows: of the sender, of several fields together, of the table's length."""
    sender = content.get("sender")
    if _may_not_send(cls.type, sender):
        senders = " or ".join(role.value for role in speakers(cls.type))
        detail = f"{cls.type} comes from {senders}, not from {sender!r}"
        yield Violation(
            "E032",
            "sender",
            detail,
            "ENVELOPE.sender",
            Stage.AUTHORITY,
            lenient=cls.is_reply,
        )
    if cls.type in CONSISTENCY_RULES:
        yield from CONSISTENCY_RULES[cls.type](content)
    if cls.type in TABLES:
        yield from too_many_rows(cls.type, content.get(TABLES[cls.type]))


def _sorted_out(
    cls: type[Message] | None, content: dict[str, object], found: list[Violation], reading: Reading
) -> Unsealed:
    """Tell violations from deviations by the profile, and convert what is right after all."""
    violations = found
    deviations: list[Violation] = []
    if reading.profile == "compat":
        violations = [violation for violation in found if not violation.lenient]
        deviations = [violation for violation in found if violation.lenient]
    message = None
    if cls is not None and not violations:
        # A value that compat let pass may have a type that the class rejects: it is left out, never repaired.
        unfit = {deviation.path for deviation in deviations if deviation.code == "E007"}
        message = msgspec.convert({name: value for name, value in content.items() if name not in unfit}, cls)
    return Unsealed(
        message_type=cls.type if cls else None,
        message=message,
        violations=tuple(sorted(violations, key=_precedence)),
        deviations=tuple(deviations),
        content=content if found else _NOTHING,
    )


def _precedence(violation: Violation) -> tuple[int, int]:
    if violation.code == "E018" and violation.path == "protocol":
        return Stage.PROTOCOL, 0
    if violation.stage is Stage.ENVELOPE:
        return Stage.ENVELOPE, ENVELOPE.index(violation.path)
    return violation.stage, 0
