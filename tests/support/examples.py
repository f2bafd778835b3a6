"""How many examples a property is tried with."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

QUICK = 10
"""The most that `make test-quick` tries."""


def examples(count: int, **more: Any) -> settings:
    """Settings for a property that needs this many examples in `make test-deep`, which looks for new ones. `make test`,
    which draws the same ones in every run, tries half as many."""
    profile = settings.get_current_profile_name()
    if profile == "quick":
        count = min(count, QUICK)
    elif profile == "repeatable":
        count = max(count // 2, min(count, QUICK))
    return settings(max_examples=count, deadline=None, **more)
