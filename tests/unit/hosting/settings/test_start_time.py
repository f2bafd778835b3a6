"""`--start`: an hour is the next there is, a date and time is that moment, in its own zone or ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from league.hosting.settings import start_time
from league.terminal import CommandError

EAST = timezone(timedelta(hours=2))
NOW = datetime(2026, 5, 1, 18, 0, 30, tzinfo=EAST)


@pytest.mark.parametrize("text", ["when-full", "manual"])
def test_a_word_is_no_time(text: str) -> None:
    assert start_time.read(text, NOW) == text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("18:30", datetime(2026, 5, 1, 18, 30, tzinfo=EAST)),
        ("18:00", datetime(2026, 5, 2, 18, 0, tzinfo=EAST)),
        ("9:05", datetime(2026, 5, 2, 9, 5, tzinfo=EAST)),
        ("2026-05-01T18:30+02:00", datetime(2026, 5, 1, 16, 30, tzinfo=UTC)),
        ("2026-05-01T18:30Z", datetime(2026, 5, 1, 18, 30, tzinfo=UTC)),
        ("2020-01-01 00:00:00+00:00", datetime(2020, 1, 1, tzinfo=UTC)),
        ("2026-05-01T18:30", datetime(2026, 5, 1, 18, 30).astimezone()),
    ],
)
def test_a_time_is_read(text: str, moment: datetime) -> None:
    assert start_time.read(text, NOW) == moment.timestamp()


@pytest.mark.parametrize(
    "text", ["", "at", "24:00", "18:60", "18", "2026-05-01", "tomorrow", "0001-01-01T00:00", "2026-05-01T18:30 CET"]
)
def test_anything_else_is_wrong_usage(text: str) -> None:
    with pytest.raises(CommandError, match="--start"):
        start_time.read(text, NOW)
