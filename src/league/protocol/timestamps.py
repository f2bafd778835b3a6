"""UTC timestamps (spec section 3.4): written in one form, read in the documents' forms, in `compat` in two more."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

_MONTH = r"(?:0[1-9]|1[0-2])"
_DAY = r"(?:0[1-9]|[12][0-9]|3[01])"
_DATE = rf"[0-9]{{4}}(?:-{_MONTH}-{_DAY}|{_MONTH}{_DAY})"
_HOUR = r"(?:[01][0-9]|2[0-3])"
_SIXTIETHS = "[0-5][0-9]"
_CLOCK = f"{_HOUR}:{_SIXTIETHS}:{_SIXTIETHS}"
STRICT_PATTERN = rf"^{_DATE}T{_CLOCK}(?:\.[0-9]{{1,9}})?(?:Z|\+00:00)$"
_STRICT = re.compile(STRICT_PATTERN[1:-1])
_COMPAT = rf"{_DATE}T(?:{_CLOCK}|{_HOUR}{_SIXTIETHS}{_SIXTIETHS})(?:\.[0-9]{{1,9}})?(?:Z|\+00:00|\+00:00Z)"
"""Compiled on first use, unlike `_STRICT`: it takes a millisecond or two, and agents of our own never need it."""
_SHORTEST_MONTH = "28"


def write(at: float) -> str:
    """Seconds since the epoch as `YYYY-MM-DDTHH:MM:SSZ`, rounded down."""
    return _of_second(int(at))


@lru_cache(maxsize=64)
def _of_second(second: int) -> str:
    """Write a whole second. It is remembered, because many messages leave within one."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_strict(text: str) -> bool:
    """Whether this is one of the forms that every document allows."""
    return _STRICT.fullmatch(text) is not None and _exists(text)


def is_compat(text: str) -> bool:
    """Whether this is a UTC timestamp in any form that agents are known to write."""
    return re.fullmatch(_COMPAT, text) is not None and _exists(text)


def _exists(text: str) -> bool:
    """Whether this day exists: the pattern checks everything but the lengths of months."""
    date = text.partition("T")[0].replace("-", "")
    if date[6:] <= _SHORTEST_MONTH and date[:4] != "0000":
        # Nearly always, and without the cost of a date.
        return True
    try:
        datetime(int(date[:4]), int(date[4:6]), int(date[6:]), tzinfo=UTC)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def read(text: str) -> float:
    """Seconds since the epoch of a timestamp in any form that this module accepts."""
    date, _, clock = text.partition("T")
    date = date.replace("-", "")
    clock = clock.partition("+")[0].rstrip("Z").replace(":", "")
    clock, _, fraction = clock.partition(".")
    at = datetime(
        year=int(date[:4]),
        month=int(date[4:6]),
        day=int(date[6:]),
        hour=int(clock[:2]),
        minute=int(clock[2:4]),
        second=int(clock[4:]),
        tzinfo=UTC,
    )
    return at.timestamp() + float(f"0.{fraction or 0}")
