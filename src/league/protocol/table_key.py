"""Enumerations that tables are keyed by, and every message looks into the tables."""

from __future__ import annotations

from enum import Enum


class TableKey(Enum):
    """A member is itself and no other, so that its identity is its hash; Enum's own is computed in Python each time."""

    __hash__ = object.__hash__
