"""Do our messages say all they should? Walks a message along its class and names what is marked SAID and absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import inspect as ms

from league.protocol.message.judge import FieldSpec, peel, specs
from league.protocol.message.messages import Message

SPLICED = ("auth_token",)
"""What the shell puts in: it stands in the address, never in the message."""


def unsaid(message: Message) -> list[str]:
    """The paths of all fields that this message of ours should have and does not."""
    fields = msgspec.json.decode(msgspec.json.encode(message))
    return [path for path in _absent(specs(type(message)), fields, "") if path not in SPLICED]


def _absent(wanted: tuple[FieldSpec, ...], fields: Mapping[str, object], place: str) -> Iterator[str]:
    for spec in wanted:
        path = f"{place}{spec.name}"
        if spec.name in fields:
            yield from _inside(spec.type, fields[spec.name], path)
        elif spec.said:
            yield path


def _inside(info: ms.Type, value: object, path: str) -> Iterator[str]:
    info, _, _ = peel(info)
    if isinstance(info, ms.StructType) and isinstance(value, dict):
        yield from _absent(specs(info.cls), value, f"{path}.")
    elif isinstance(info, ms.ListType) and isinstance(value, list):
        for index, one in enumerate(value):
            yield from _inside(info.item_type, one, f"{path}[{index}]")
