"""The quick way to read a request or an answer: straight into its message class, in one pass.

It takes only what is right in every way and leaves no doubt. For all else it gives None, and the general way
(`strict_json`, `jsonrpc`, `envelope`) reads the same bytes and can say what is wrong. What it takes, both read alike.

What a class has no place for is lost when a text is decoded: an unknown field, a null where nothing could stand as
well, the first of two equal keys. So the message is encoded again. Texts without escapes and whole numbers never become
longer by that: if all of it is as long as before, nothing was lost. Where a fraction may stand, which can grow,
and where there are blanks between values, quotes are counted (`strict_json.is_whole`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET
from msgspec import inspect as ms

from league.protocol.envelope import Reading, Unsealed, judged
from league.protocol.exchanges import EXCHANGES, Role
from league.protocol.messages import MESSAGES, Message
from league.protocol.strict_json import INT64_MAX, INT64_MIN, NOT_READ, WRITER, has_long_number, is_too_deep, is_whole

_JSONRPC: Final = ("jsonrpc", Literal["2.0"])
_ID: Final = ("id", Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)] | str)
_TEXTS: Final = frozenset({str, type(None)})


def read_request(raw: bytes, role: Role, reading: Reading) -> tuple[int | str, Unsealed] | None:
    """The id and the message of a request, if it calls one of the role's methods by its own name; None if in doubt."""
    found = _read(_requests(role), raw)
    if found is None or _METHODS.get(found.method) != found.message.type:
        return None
    read = judged(found.message, None, reading)
    return None if read is None else (found.id, read)


def read_answer(raw: bytes, sent_type: str, reading: Reading) -> Unsealed | None:
    """The reply to a message of that type, if it is the one that is expected; None if in doubt."""
    found = _read(_answers(), raw)
    if found is None or found.message.type not in _REPLIES.get(sent_type, ()):
        return None
    read = judged(found.message, None, reading)
    return read if read is not None and not read.deviations else None


def _read(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    """A frame and the message in it, if nothing was lost."""
    if b"\\" in raw:
        return None
    try:
        found = decoder.decode(raw)
        again = WRITER.encode(found)
    except NOT_READ:
        return None
    message: Message = found.message
    for get in _unbounded(type(message)):
        if not _holds_texts(get(message)):
            is_right = is_whole(again, raw) and not has_long_number(raw) and not is_too_deep(raw)
            return found if is_right else None
    return found if len(again) == len(raw) or is_whole(again, raw) else None


def _holds_texts(value: object) -> bool:
    """Is there nothing, or texts alone?"""
    return value is None or value is UNSET or (type(value) is dict and _TEXTS.issuperset(map(type, value.values())))


# --- built once -------------------------------------------------------------------------------------------------------


@cache
def _requests(role: Role) -> msgspec.json.Decoder[Any]:
    """Of any request to a role; the message type says which class its params are."""
    kinds = tuple(row.message_type for row in EXCHANGES.values() if role in row.receivers)
    return _decoder([_JSONRPC, _ID, ("method", str), ("message", _any_of(kinds))], "params")


@cache
def _answers() -> msgspec.json.Decoder[Any]:
    """Of any answer with a reply."""
    replies = tuple(one for row in EXCHANGES.values() for one in row.replies)
    return _decoder([_JSONRPC, _ID, ("message", _any_of(replies))], "result")


def _decoder(fields: list[tuple[str, Any]], place: str) -> msgspec.json.Decoder[Any]:
    """`place` is where the frame has its message."""
    return msgspec.json.Decoder(msgspec.defstruct("Frame", fields, rename={"message": place}, frozen=True, gc=False))


def _any_of(message_types: tuple[str, ...]) -> Any:
    """Of several classes the message type decides, so that it must be there."""
    union: Any = MESSAGES[message_types[0]]
    for one in message_types[1:]:
        union = union | MESSAGES[one]
    return union


_REPLIES: Final = {kind: row.replies for kind, row in EXCHANGES.items()}
_METHODS: Final[Mapping[str, str]] = {
    name: row.message_type
    for row in EXCHANGES.values()
    for name in (row.method, *row.other_methods)
    if name.upper() not in MESSAGES
}
"""The message type each method takes. One that is spelled like a message type tells how its caller speaks (section
13.1), which is not for here."""


@cache
def _unbounded(cls: type[Message]) -> tuple[Callable[[Message], object], ...]:
    """Where a message has values whose type does not bound what is in them: any JSON may be nested too deep, and it as
    well as a number with a fraction may be too long. Whole numbers have bounds."""
    return tuple(attrgetter(path) for path in _unbounded_paths(ms.type_info(cls)))


def _unbounded_paths(info: ms.Type) -> Iterator[str]:
    assert isinstance(info, ms.StructType)
    for one in info.fields:
        if isinstance(one.type, ms.StructType):
            yield from (f"{one.name}.{path}" for path in _unbounded_paths(one.type))
        elif _types_in(one.type) & {ms.AnyType, ms.FloatType}:
            yield one.name


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
        inner = [one.type for one in info.fields]
    return {type(info)}.union(*map(_types_in, inner))
