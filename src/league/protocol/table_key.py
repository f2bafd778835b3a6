"""Enumerations that are keys of tables. Every message looks into such tables, so their hash must be fast."""

from __future__ import annotations

from enum import Enum


class TableKey(Enum):
    """An enumeration whose members hash by identity."""

    # Each member exists once, so its identity will do. Enum's own hash is computed in Python each time.
    __hash__ = object.__hash__
