"""Sealing and unsealing: from fields to a whole message and back. Their violations are found here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec import Struct

from league.protocol import timestamps
from league.protocol.consistency import (
    CONSISTENCY_RULES,
    MAX_CONCURRENT_MATCHES,
    TABLES,
    Fields,
    FieldsOf,
    too_many_matches,
    too_many_rows,
)
from league.protocol.errors import Stage, Violation, as_error
from league.protocol.exchanges import EXCHANGES, Role, speakers
from league.protocol.judge import ENVELOPE, Check, Remembered, check, json_name, place_of, quick, specs
from league.protocol.messages import MESSAGES, LeagueQuery, Message
from league.protocol.versions import PROTOCOL

Profile = Literal["compat", "strict"]
DEFAULT_LIMIT_S = 10.0
LONGEST_LIMIT_S = 3600.0


class Reading(Struct, frozen=True, gc=False):
    """How to read what others send: the profile, the one bound a league may raise (R-28), and what it plays."""

    profile: Profile = "compat"
    max_concurrent_matches: int = MAX_CONCURRENT_MATCHES
    game_type: str = "even_odd"


STRICT = Reading("strict")
_NOTHING: Mapping[str, object] = MappingProxyType({})


class Unsealed(Struct, frozen=True, gc=False):
    """A read message: the message if nothing was violated, what was violated (the decisive clause first), and what
    `compat` let pass but records."""

    message_type: str | None
    message: Message | None
    violations: tuple[Violation, ...] = ()
    deviations: tuple[Violation, ...] = ()
    content: Mapping[str, object] = _NOTHING
    """What was read, kept when something is wrong with it: its token decides before its fields do (section 10.3)."""
    round_name: str = ""
    """What its sender calls the round, if not by its number."""

    def until(self, stage: Stage) -> Violation | None:
        """The decisive violation among those of this stage or earlier."""
        return next((one for one in self.violations if one.stage <= stage), None)

    def field(self, name: str) -> object:
        """A field of the message, also of one that is wrong elsewhere."""
        return self.content.get(name) if self.message is None else getattr(self.message, name, None)

    def open(self) -> Message:
        """The message, or the decisive violation as an error."""
        if self.message is None:
            raise as_error(self.violations[0])
        return self.message


_SENDERS = frozenset(role.value for role in Role)
FORBIDDEN_SENDERS: Mapping[str, frozenset[str]] = {
    kind: _SENDERS - frozenset(role.value for role in speakers(kind)) for kind in MESSAGES
}
"""By message type: the words a `sender` may not begin with. An unknown word is not judged here."""


def answer_limit_s(read: Unsealed) -> float:
    """How long the sender waits for the answer: until the deadline its message names, or else as long as the exchange
    gives it."""
    deadline = getattr(read.message, "deadline", None)
    if deadline:
        said_at = getattr(read.message, "timestamp", None)
        if isinstance(deadline, str) and isinstance(said_at, str):
            # Both are readings of the sender's clock, in whole seconds.
            given = timestamps.read(deadline) - timestamps.read(said_at)
            return min(max(given, 1.0), LONGEST_LIMIT_S)
    row = EXCHANGES.get(read.message_type or "")
    return row.limit_s if row else DEFAULT_LIMIT_S


def seal(sender: str, now: float, conversation_id: str, auth_token: str | None = None) -> dict[str, Any]:
    """The envelope's fields, ready to be spread into a message class."""
    return {
        "protocol": PROTOCOL,
        "sender": sender,
        "timestamp": timestamps.write(now),
        "conversation_id": conversation_id,
        "auth_token": auth_token,
    }


def unseal(content: object, reading: Reading = STRICT, expected: Collection[str] = ()) -> Unsealed:
    """Read one parsed message. `expected` are the message types that fit the method or the question."""
    if not isinstance(content, dict):
        problem = Violation("E007", "", f"a message is an object, not {json_name(content)}", "ENVELOPE", Stage.TYPE)
        return Unsealed(None, None, (problem,))
    message_type = content.get("message_type")
    cls = MESSAGES.get(message_type) if isinstance(message_type, str) else None
    if cls is not None and (not expected or message_type in expected):
        read = _quickly(cls, content, reading)
        if read is not None:
            return read
    return _slowly(cls, content, reading, expected)


def _quickly(cls: type[Message], content: Mapping[str, object], reading: Reading) -> Unsealed | None:
    try:
        message = msgspec.convert(content, cls)
    except msgspec.ValidationError:
        return None
    return judged(message, content, reading)


def judged(message: Message, content: Mapping[str, object] | None, reading: Reading) -> Unsealed | None:
    """The message as read, if every clause holds that its class does not know; None if the walk must say which does
    not. `content` is what it was converted from, if it was."""
    for get, is_right in _checks(type(message)):
        if not is_right(get(message)):
            return None
    kind = message.type
    if kind in CONSISTENCY_RULES and any(_together(kind, content or FieldsOf(message), reading)):
        return None
    if kind not in TABLES:
        return Unsealed(kind, message)
    large = too_many_rows(kind, getattr(message, TABLES[kind], None))
    return Unsealed(kind, message, deviations=large) if not large or reading.profile == "compat" else None


@cache
def _checks(cls: type[Message]) -> tuple[Check, ...]:
    """What no class knows of its fields, and who may say it."""
    if "sender" not in cls.__struct_fields__:
        return quick(cls)
    is_its_own = Remembered(lambda sender: not _is_anothers(cls.type, sender))
    return (*quick(cls), (attrgetter("sender"), is_its_own.__getitem__))


def _is_anothers(kind: str, sender: object) -> bool:
    """May this sender not say that?"""
    return isinstance(sender, str) and sender.partition(":")[0] in FORBIDDEN_SENDERS[kind]


def _beyond_fields(cls: type[Message], content: Mapping[str, object], reading: Reading) -> Iterator[Violation]:
    """What no field says by itself: who sends it, and what only makes sense together."""
    kind, sender = cls.type, content.get("sender")
    if _is_anothers(kind, sender):
        detail = f"{kind} comes from {' or '.join(role.value for role in speakers(kind))}, not from {sender!r}"
        yield Violation("E032", "sender", detail, "ENVELOPE.sender", Stage.AUTHORITY, lenient=cls.is_reply)
    yield from _together(kind, content, reading)


def _together(kind: str, content: Fields, reading: Reading) -> Iterable[Violation]:
    if kind not in CONSISTENCY_RULES:
        return ()
    found = CONSISTENCY_RULES[kind](content)
    if kind == "REFEREE_REGISTER_REQUEST":
        return chain(found, too_many_matches(content, reading.max_concurrent_matches))
    return found


def _slowly(
    cls: type[Message] | None, content: dict[str, object], reading: Reading, expected: Collection[str]
) -> Unsealed:
    found = list(_type_violations(cls, content, expected))
    kind = cls.type if cls else None
    # Of an unknown type we still judge the envelope, with any request's class.
    for spec in specs(cls or LeagueQuery):
        if cls is not None or spec.name in ENVELOPE:
            check(spec, content, place_of(kind or "", spec.name), found)
    if cls is not None:
        rows = content.get(TABLES[cls.type]) if cls.type in TABLES else None
        found.extend((*_beyond_fields(cls, content, reading), *too_many_rows(cls.type, rows)))
    return _sorted_out(cls, content, found, reading)


def _type_violations(
    cls: type[Message] | None, content: Mapping[str, object], expected: Collection[str]
) -> Iterator[Violation]:
    place = place_of("", "message_type")
    value = content.get("message_type")
    if value is None:
        word = "must not be null" if "message_type" in content else "is missing"
        yield place.violation("E003", f"message_type {word}")
    elif not isinstance(value, str):
        yield place.violation("E007", f"must be a string, not {json_name(value)}")
    elif cls is None or (expected and value not in expected):
        wanted = f"expected {' or '.join(expected)}" if expected else "there is no such message"
        yield Violation("E038", place.path, f"{value!r}: {wanted}", place.clause, Stage.TYPE)


def _sorted_out(
    cls: type[Message] | None, content: dict[str, object], found: list[Violation], reading: Reading
) -> Unsealed:
    kind = cls.type if cls else None
    strict = reading.profile == "strict"
    violations = sorted((one for one in found if strict or not one.lenient), key=_precedence)
    deviations = [] if strict else [one for one in found if one.lenient]
    message = None
    if cls is not None and not violations:
        # What compat lets pass may be of a type the class refuses: it is left out, never repaired.
        unfit = {one.path for one in deviations if one.code == "E007"}
        message = msgspec.convert({name: value for name, value in content.items() if name not in unfit}, cls)
    return Unsealed(kind, message, tuple(violations), tuple(deviations), content if found else _NOTHING)


def _precedence(one: Violation) -> tuple[int, int]:
    if one.code == "E018" and one.path == "protocol":
        return Stage.PROTOCOL, 0
    if one.stage is Stage.ENVELOPE:
        return Stage.ENVELOPE, ENVELOPE.index(one.path)
    return one.stage, 0
