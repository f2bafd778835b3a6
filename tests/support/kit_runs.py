"""Runs of the conformance kit, for tests without an event loop."""

from __future__ import annotations

import asyncio

from league.features.kit.driver.kit import Notify, Options
from league.features.kit.runner import CheckReport, run


def check_player(options: Options, notify: Notify = lambda _: None, role: str = "player") -> CheckReport:
    """What the kit says of an agent."""
    return asyncio.run(run(options, notify, role))
