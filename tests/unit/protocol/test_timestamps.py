"""Timestamps are written in one form and read in the documents' forms (R-23)."""

from __future__ import annotations

import calendar

import pytest

from league.protocol import timestamps


@pytest.mark.requirement("WRITING.timestamps")
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (0.999, "1970-01-01T00:00:00Z"),
        (1736937000, "2025-01-15T10:30:00Z"),
        (1736937000.5, "2025-01-15T10:30:00Z"),
        (1709164799.999999, "2024-02-28T23:59:59Z"),
        (4102444799, "2099-12-31T23:59:59Z"),
    ],
)
def test_a_time_is_written_in_utc_and_whole_seconds(seconds: float, text: str) -> None:
    assert timestamps.write(seconds) == text


@pytest.mark.requirement("READING.all_timestamp_forms")
@pytest.mark.parametrize(
    "text",
    [
        "2025-01-15T10:30:00Z",
        "2025-01-15T10:30:00+00:00",
        "2025-01-15T10:30:00.1Z",
        "2025-01-15T10:30:00.123456789+00:00",
        "20250115T10:30:00Z",
        "20250115T10:30:00.5+00:00",
    ],
)
def test_the_forms_of_the_documents_are_read(text: str) -> None:
    assert timestamps.is_strict(text)
    assert timestamps.is_compat(text)


@pytest.mark.parametrize("text", ["20250115T103000Z", "2025-01-15T10:30:00+00:00Z", "20250115T103000.5+00:00Z"])
def test_forms_seen_in_the_wild_are_read_in_compat_only(text: str) -> None:
    assert not timestamps.is_strict(text)
    assert timestamps.is_compat(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2025-01-15",
        "2025-01-15T10:30Z",
        "2025-01-15T10:30:00",
        "2025-01-15T10:30:00+02:00",
        "2025-01-15T10:30:00-00:00",
        "2025-01-15 10:30:00Z",
        "2025-01-15T10:30:00z",
        "2025-01-15T10:30:00Z ",
        "2025-01-15T10:30:00Z\n",
        "2025-01-15T10:30:00.Z",
        "2025-0115T10:30:00Z",
        "2025-01-15T24:00:00Z",
        "2025-01-15T10:60:00Z",
        "2025-01-15T10:30:60Z",
        "2025-00-15T10:30:00Z",
        "0000-01-15T10:30:00Z",
        "٢٠٢٥-01-15T10:30:00Z",
    ],
)
def test_anything_else_is_no_timestamp(text: str) -> None:
    assert not timestamps.is_strict(text)
    assert not timestamps.is_compat(text)


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024, 2100])
@pytest.mark.parametrize("dash", ["-", ""])
def test_exactly_the_days_of_the_calendar_exist(year: int, dash: str) -> None:
    for month in range(14):
        days = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
        for day in range(33):
            text = f"{year}{dash}{month:02}{dash}{day:02}T00:00:00Z"
            assert timestamps.is_strict(text) == (1 <= day <= days)


@pytest.mark.parametrize("seconds", [0, 1, 951782399, 951782400, 1e9, 1736937000.25])
def test_what_is_written_can_be_read(seconds: float) -> None:
    assert timestamps.is_strict(timestamps.write(seconds))
