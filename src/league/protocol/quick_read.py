"""The quick way to read a request or an answer: straight into its message class, in one pass.

It takes only what is right in every way and leaves no doubt. For all else it gives None, and the general way
(`strict_json`, `jsonrpc`, `envelope`) reads the same bytes and can say what is wrong. What it takes, both read alike.

What a class has no place for is lost when a text is decoded: an unknown field, a null where nothing could stand as
well, the first of two equal keys. `strict_json.decoded` notices.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec import inspect as ms

from league.protocol.envelope import Reading, Unsealed, judged
from league.protocol.exchanges import EXCHANGES, Role
from league.protocol.messages import MESSAGES, Message
from league.protocol.strict_json import IN_DOUBT, INT64_MAX, INT64_MIN, decoded, has_long_number, is_too_deep

_JSONRPC: Final = ("jsonrpc", Literal["2.0"])
_ID: Final = ("id", Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)] | str)


class QuickRequest(Struct, frozen=True):
    """A request that was read so."""

    id: int | str
    read: Unsealed
    message: Message


def read_request(raw: bytes, role: Role, reading: Reading) -> QuickRequest | None:
    """The request, if it calls one of the role's methods by its own name; None if in doubt."""
    found = decoded(_requests(), raw)
    if found is IN_DOUBT:
        return None
    message: Message = found.params
    doubts = _doubts(type(message))
    if _methods(role).get(found.method) != message.type or (doubts and _is_out_of_bounds(raw, doubts)):
        return None
    read = judged(message, None, reading)
    return None if read is None else QuickRequest(found.id, read, message)


def read_answer(raw: bytes, sent_type: str, reading: Reading) -> Unsealed | None:
    """The reply to a message of that type, if it is the one that is expected; None if in doubt."""
    found = decoded(_answers(), raw)
    if found is IN_DOUBT or sent_type not in EXCHANGES or found.result.type not in EXCHANGES[sent_type].replies:
        return None
    message: Message = found.result
    doubts = _doubts(type(message))
    if doubts and _is_out_of_bounds(raw, doubts):
        return None
    read = judged(message, None, reading)
    return read if read is not None and not read.deviations else None


def _is_out_of_bounds(raw: bytes, doubts: frozenset[type[ms.Type]]) -> bool:
    return has_long_number(raw) or (ms.AnyType in doubts and is_too_deep(raw))


# --- built once -------------------------------------------------------------------------------------------------------


@cache
def _requests() -> msgspec.json.Decoder[Any]:
    """Of any request; the message type says which class its params are."""
    return _decoder([_JSONRPC, _ID, ("method", str), ("params", _any_of(tuple(EXCHANGES)))])


@cache
def _answers() -> msgspec.json.Decoder[Any]:
    """Of any answer with a reply."""
    replies = tuple(one for row in EXCHANGES.values() for one in row.replies)
    return _decoder([_JSONRPC, _ID, ("result", _any_of(replies))])


def _decoder(fields: list[tuple[str, Any]]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(msgspec.defstruct("Frame", fields, frozen=True))


def _any_of(message_types: tuple[str, ...]) -> Any:
    """Of several classes the message type decides, so that it must be there."""
    union: Any = MESSAGES[message_types[0]]
    for one in message_types[1:]:
        union = union | MESSAGES[one]
    return union


@cache
def _methods(role: Role) -> Mapping[str, str]:
    """The message type each method of a role takes. One that is spelled like a message type tells how its caller
    speaks (section 13.1), which is not for here."""
    rows = [row for row in EXCHANGES.values() if role in row.receivers]
    named = {name: row.message_type for row in rows for name in (row.method, *row.other_methods)}
    return {name: message_type for name, message_type in named.items() if name.upper() not in MESSAGES}


@cache
def _doubts(cls: type) -> frozenset[type[ms.Type]]:
    """Which types a message holds that do not bound what is in them: any JSON may be nested too deep, and it as well as
    a number with a fraction may be too long. Whole numbers have bounds."""
    return frozenset(_types_in(ms.type_info(cls))) & {ms.AnyType, ms.FloatType}


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
