"""The quick reader of requests and answers: bytes become a message of its class in one pass.

Theory of operation. There are two readers. The general one (`strict_json`, `jsonrpc`, `envelope`) understands every
convention, judges every clause and says what is wrong. This one knows only the usual case: a JSON-RPC 2.0 frame around
a message that is right in every way. In all other cases it returns None, and the general reader reads the same bytes.

They must agree: whatever the quick reader accepts, the general reader reads as the same message, without violations.
Three things ensure that. The message classes are the same. What they cannot express, `envelope.judged` checks here as
there. And nothing may get lost: decoding drops whatever a class has no place for, such as an unknown field, a null
where nothing could stand as well, or the first of two equal keys. So the message is encoded again and compared. Texts
without escapes and whole numbers never become longer by that: if the whole is as long as before, nothing was lost.
Where a fraction may stand, which can grow, and where there are blanks between values, quotes are counted
(`strict_json.is_whole`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET
from msgspec import inspect as ms

from league.protocol.message.envelope import Reading, Unsealed, judged
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.messages import MESSAGES, Message
from league.protocol.wire.strict_json import (
    INT64_MAX,
    INT64_MIN,
    NOT_READ,
    WRITER,
    has_long_number,
    is_too_deep,
    is_whole,
)

_JSONRPC: Final = ("jsonrpc", Literal["2.0"])
_ID: Final = ("id", Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)] | str)
_TEXT_TYPES: Final = frozenset({str, type(None)})


def read_request(
    raw: bytes,
    role: Role,
    reading: Reading,
) -> tuple[int | str, Unsealed] | None:
    """The id and the message of a request that calls one of the role's methods by its own name; None if in doubt."""
    frame = _read(_requests(role), raw)
    if frame is None or _METHODS.get(frame.method) != frame.message.type:
        return None
    unsealed = judged(frame.message, None, reading)
    if unsealed is None:
        return None
    return frame.id, unsealed


def read_answer(raw: bytes, sent_type: str, reading: Reading) -> Unsealed | None:
    """The reply to a message of type `sent_type`, if it is the expected one; None if in doubt."""
    frame = _read(_answers(), raw)
    if frame is None or frame.message.type not in _REPLIES.get(sent_type, ()):
        return None
    unsealed = judged(frame.message, None, reading)
    if unsealed is None or unsealed.deviations:
        return None
    return unsealed


def _read(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    """The frame with its message; None if something was lost or is in doubt."""
    if b"\\" in raw:
        # Escapes may hide anything, even quotes.
        return None
    try:
        frame = decoder.decode(raw)
        encoded = WRITER.encode(frame)
    except NOT_READ:
        return None
    message: Message = frame.message
    for get in _unbounded(type(message)):
        if not _holds_texts(get(message)):
            # Here the length says nothing, and the types set no bounds.
            if is_whole(encoded, raw) and not has_long_number(raw) and not is_too_deep(raw):
                return frame
            return None
    if len(encoded) == len(raw) or is_whole(encoded, raw):
        return frame
    return None


def _holds_texts(value: object) -> bool:
    """Whether the value is absent, or an object with only texts in it."""
    if value is None or value is UNSET:
        return True
    return type(value) is dict and _TEXT_TYPES.issuperset(map(type, value.values()))


# --- built once -------------------------------------------------------------------------------------------------------


@cache
def _requests(role: Role) -> msgspec.json.Decoder[Any]:
    """The decoder of any request to a role; the message type selects the class of its params."""
    message_types = tuple(row.message_type for row in EXCHANGES.values() if role in row.receivers)
    return _decoder([_JSONRPC, _ID, ("method", str), ("message", _any_of(message_types))], "params")


@cache
def _answers() -> msgspec.json.Decoder[Any]:
    """The decoder of any answer with a reply."""
    message_types = tuple(reply for row in EXCHANGES.values() for reply in row.replies)
    return _decoder([_JSONRPC, _ID, ("message", _any_of(message_types))], "result")


def _decoder(
    fields: list[tuple[str, Any]],
    place: str,
) -> msgspec.json.Decoder[Any]:
    """A decoder of frames that have their message at `place`."""
    return msgspec.json.Decoder(msgspec.defstruct("Frame", fields, rename={"message": place}, frozen=True, gc=False))


def _any_of(message_types: tuple[str, ...]) -> Any:
    """The union of these classes. The message type selects one, so a message without it is not read here."""
    union: Any = MESSAGES[message_types[0]]
    for message_type in message_types[1:]:
        union = union | MESSAGES[message_type]
    return union


_REPLIES: Final = {message_type: row.replies for message_type, row in EXCHANGES.items()}
_METHODS: Final[Mapping[str, str]] = {
    name: row.message_type
    for row in EXCHANGES.values()
    for name in (row.method, *row.other_methods)
    # A method spelled like a message type tells which convention its caller speaks (section 13.1): not read here.
    if name.upper() not in MESSAGES
}
"""The message type of each method."""


@cache
def _unbounded(cls: type[Message]) -> tuple[Callable[[Message], object], ...]:
    """Getters of the values of a message whose type does not bound them.

    Any JSON may be nested too deep or hold a number that is too long, and so may a number with a fraction. Whole
    numbers have bounds.
    """
    return tuple(attrgetter(path) for path in _unbounded_paths(ms.type_info(cls)))


def _unbounded_paths(info: ms.Type) -> Iterator[str]:
    assert isinstance(info, ms.StructType)
    for field in info.fields:
        if isinstance(field.type, ms.StructType):
            for path in _unbounded_paths(field.type):
                yield f"{field.name}.{path}"
        elif _types_in(field.type) & {ms.AnyType, ms.FloatType}:
            yield field.name


def _types_in(info: ms.Type) -> set[type[ms.Type]]:
    inner: list[ms.Type] = []
    if isinstance(info, ms.Metadata):
        inner = [info.type]
    elif isinstance(info, ms.UnionType):
        inner = list(info.types)
    elif isinstance(info, ms.ListType):
        inner = [info.item_type]
    elif isinstance(info, ms.DictType):
        inner = [info.value_type]
    elif isinstance(info, ms.StructType):
        inner = [field.type for field in info.fields]
    return {type(info)}.union(*map(_types_in, inner))
