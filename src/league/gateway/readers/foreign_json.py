"""Readers for JSON that others wrote. A value of the wrong type counts as missing; no value is ever repaired. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from league.protocol.errors import Violation

Fields = Mapping[str, Any]
"""An object that came from outside (Any: JSON of others)."""


def deviation_from(kind: str, path: str, detail: str, code: str = "E003") -> Violation:
    """Return what is recorded about a field of a message of this kind that is not as the documents have it."""
    return Violation(code, path, detail, f"{kind}.{path}", lenient=True)


def as_object(value: object) -> dict[str, Any]:
    """Return the value if it is an object, and an empty one otherwise."""
    if isinstance(value, dict):
        return value
    return {}


def flattened(fields: Fields, name: str) -> dict[str, Any]:
    """Return the fields together with those of the object under this name; the outer ones win."""
    return {**as_object(fields.get(name)), **fields}


def text_in(fields: Fields, name: str) -> str | None:
    """Return the text of a field, None if it is empty or not a text."""
    value = fields.get(name)
    if isinstance(value, str) and value:
        return value
    return None


def first_text(fields: Fields, names: Iterable[str]) -> str | None:
    """Return the first text under one of these names, None if there is none."""
    for name in names:
        text = text_in(fields, name)
        if text is not None:
            return text
    return None
