"""So many at once, so many a second, for each caller on its own."""

from __future__ import annotations

import random

import pytest

from league.calling import rate_limit
from league.calling.rate_limit import Rate, RateLimiter

RATE = Rate(per_s=2, burst=5)


def allowed(limiter: RateLimiter, caller: str, now: float, tries: int = 100) -> int:
    return sum(limiter.allows(caller, now) for _ in range(tries))


def test_a_caller_may_have_so_many_at_once_and_then_so_many_a_second() -> None:
    limiter = RateLimiter(RATE)
    assert allowed(limiter, "a", 100.0) == 5
    assert allowed(limiter, "a", 100.4) == 0
    assert allowed(limiter, "a", 100.5) == 1
    assert allowed(limiter, "a", 102.0) == 3
    assert allowed(limiter, "a", 1000.0) == 5


def test_callers_do_not_share() -> None:
    limiter = RateLimiter(RATE)
    assert [allowed(limiter, caller, 7.0) for caller in "abc"] == [5, 5, 5]


def test_whoever_is_refused_loses_nothing_by_having_asked() -> None:
    limiter = RateLimiter(RATE)
    allowed(limiter, "a", 0.0, 1_000_000)
    assert allowed(limiter, "a", 0.5) == 1


def test_never_more_than_the_rate_allows_however_the_requests_come() -> None:
    chance = random.Random(7)
    limiter, now, taken = RateLimiter(RATE), 0.0, 0
    for _ in range(2000):
        now += chance.choice((0.0, 0.0, 0.01, 0.3))
        taken += limiter.allows("a", now)
        assert taken <= RATE.burst + RATE.per_s * now + 1e-6


def test_so_many_callers_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "CALLERS", 10)
    limiter = RateLimiter(RATE)
    assert allowed(limiter, "first", 0.0) == 5
    for number in range(9):
        allowed(limiter, f"{number}", 0.0)
    assert not limiter.allows("first", 0.0)
    for number in range(1000):
        allowed(limiter, f"later {number}", 0.0)
        assert len(limiter) <= 10
    assert limiter.allows("first", 0.0), "forgotten, it begins anew"
    assert limiter.allows("much later", 1000.0)
    assert len(limiter) == 1, "whoever has a full bucket need not be remembered"
