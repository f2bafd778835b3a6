"""Requests that must be refused, and requests that must not (spec sections 2.6, 3.1, 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from league_kit.checks.common import if_joined, refused, understood
from league_kit.outcome import Check, CheckOutcome, Verdict
from league_kit.record import RunRecord

ADVICE: Mapping[str, str] = {
    "JSON.utf8": "Decode the body as UTF-8; refuse anything else, and a byte order mark too.",
    "JSON.syntax": "Use a strict parser; many accept NaN unless told otherwise (Python: parse_constant).",
    "JSON.duplicate_keys": "Use a strict parser; most silently keep the last of two equal keys (Python: "
    "object_pairs_hook).",
    "JSON.nul": "After parsing, search strings and keys for U+0000.",
    "JSON.surrogates": "After parsing, search strings and keys for code points from U+D800 to U+DFFF.",
    "JSON.depth": "Count the levels of arrays and objects, and stop at 16.",
    "JSON.large_numbers": "Refuse whole numbers beyond 64 bits, and numbers that become infinite.",
}


def null_is_absent(record: RunRecord) -> CheckOutcome:
    optional = understood(
        record,
        ("optional null",),
        "Treat an optional field that is null as if it were missing.",
    )
    if optional.verdict is not Verdict.PASS:
        return optional
    return refused(
        record,
        "mandatory null",
        "E003",
        "Refuse a message whose mandatory field is null, as if missing.",
    )


def all_timestamp_forms(record: RunRecord) -> CheckOutcome:
    """Two documents list +00:00 as valid. None asks players to read fractions, or dates without hyphens."""
    advice = "Accept Z and +00:00, fractions of up to nine digits, and dates without hyphens."
    listed = understood(record, ("timestamp",), advice)
    if listed.verdict is not Verdict.PASS:
        return listed
    other = understood(record, ("other timestamp",), advice)
    if other.verdict is Verdict.FAIL:
        return replace(other, verdict=Verdict.WARN)
    return other


NO_COERCION = "Check the type of each field before you use it; never convert it. In Python, bool is an int: look twice."
UNKNOWN_FIELDS = "Read the fields you know and ignore the others."
OTHER_CLOCKS = "Do not compare timestamps with your own clock: clocks differ."
_READINGS = ("dialect", "readings")

CHECKS: Mapping[str, Check] = {
    **{
        name: Check(partial(refused, label=name, code="E034", advice=advice), ("strict_json",))
        for name, advice in ADVICE.items()
    },
    "JSON.no_coercion": Check(
        if_joined(partial(refused, label="coercion", code="E007", advice=NO_COERCION)),
        _READINGS,
    ),
    "READING.null_is_absent": Check(null_is_absent, _READINGS),
    "READING.all_timestamp_forms": Check(all_timestamp_forms, _READINGS),
    "READING.clock_not_compared": Check(
        partial(understood, labels=("clock",), advice=OTHER_CLOCKS),
        _READINGS,
    ),
    "PLAYER.ignores_unknown_fields": Check(
        partial(understood, labels=("unknown fields",), advice=UNKNOWN_FIELDS),
        _READINGS,
    ),
}
