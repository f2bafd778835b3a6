"""`--start` of the manager: when-full, manual, or a time; and a notice if too few agents are there at that time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from league.agent.agent import Agent
from league.manager.league_manager import LeagueManager
from league.manager.season.rounds import FEWEST_PLAYERS, FEWEST_REFEREES
from league.terminal import USAGE, CommandError, console

Start = Literal["when-full", "manual"] | float
_BY_NAME: Mapping[str, Start] = {"when-full": "when-full", "manual": "manual"}
_HOUR = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")


def read(text: str, now: datetime) -> Start:
    """Read how the league starts, or when (seconds since the epoch). A time without a zone is in the zone of `now`."""
    start = _BY_NAME.get(text)
    if start is not None:
        return start
    moment = _moment(text, now)
    if moment is None:
        raise CommandError(
            f"--start: {text!r} is not when-full, manual, or a time such as 18:30 or 2026-05-01T18:30+02:00",
            USAGE,
        )
    return moment.timestamp()


def _moment(text: str, now: datetime) -> datetime | None:
    """Read a time; None if it cannot be read. 18:30 is today's if it is still to come, otherwise tomorrow's.

    A date in the past is allowed and starts the league as soon as possible: after a restart the same command line must
    still work.
    """
    hour = _HOUR.fullmatch(text)
    if hour is not None:
        today = now.replace(hour=int(hour[1]), minute=int(hour[2]), second=0, microsecond=0)
        if today > now:
            return today
        return today + timedelta(days=1)
    if _DATE.fullmatch(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return moment


async def watch(agent: Agent) -> None:
    """Print when the league starts. If too few agents have registered by then, print that too."""
    assert isinstance(agent.machine, LeagueManager)
    start_at = agent.machine.ledger.settings.start_at
    if start_at is None or agent.machine.ledger.state != "WAITING_FOR_REGISTRATIONS":
        return
    moment = datetime.fromtimestamp(start_at).astimezone()
    console.complain(f"the league starts at {moment.isoformat(timespec='seconds')}")
    await asyncio.sleep(agent.setup.clock.seconds_until(start_at))
    assert isinstance(agent.machine, LeagueManager)
    roster = agent.machine.ledger.roster
    players = roster.count("player")
    referees = roster.count("referee")
    # Counting works no matter whether the machine has already taken its own step at this moment.
    if players < FEWEST_PLAYERS or referees < FEWEST_REFEREES:
        console.complain(
            f"it is time to start, but there are {players} players and {referees} referees; "
            f"the league starts as soon as there are {FEWEST_PLAYERS} players and {FEWEST_REFEREES} referee"
        )
