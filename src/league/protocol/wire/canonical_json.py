"""JSON in one spelling (RFC 8785), so that two agents compute the same digest of the same value.

Names are sorted by their UTF-16 code units, nothing stands between values, and numbers are written as JavaScript
writes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Final

LARGEST_WHOLE: Final = 2**53
"""Beyond this, JavaScript does not tell neighbouring whole numbers apart."""


class NotCanonicalError(ValueError):
    """Raised for a value that has no canonical form: NaN, infinity, or a whole number that JavaScript would round."""


def canonical(value: object) -> bytes:
    """Return the canonical bytes of a JSON value, as parsed; raise NotCanonicalError if there are none."""
    return _text(value).encode()


def _text(value: object) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: str(name).encode("utf-16-be"))
        return "{" + ",".join(f"{encode_basestring(name)}:{_text(value[name])}" for name in names) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_text, value)) + "]"
    raise NotCanonicalError(f"{type(value).__name__} is not a JSON value")


def _number(value: float) -> str:
    if isinstance(value, int):
        if abs(value) > LARGEST_WHOLE:
            raise NotCanonicalError(f"{value} is too large")
        return str(value)
    if not math.isfinite(value):
        raise NotCanonicalError(f"{value} is not a number")
    if value < 0:
        return "-" + _fraction(-value)
    return _fraction(value)


def _fraction(value: float) -> str:
    """The rules of ECMAScript's Number::toString, for numbers that are not negative."""
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "the number is finite"
    text = "".join(map(str, digits))
    # The place of the decimal point, counted from the first digit.
    point = len(text) + exponent
    if value == 0:
        return "0"
    if len(text) <= point <= 21:
        return text.ljust(point, "0")
    if 0 < point <= 21:
        return f"{text[:point]}.{text[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{text}"
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{text[0]}{fraction}e{point - 1:+d}"
