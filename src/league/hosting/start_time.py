"""`--start` of the manager: when-full, manual, or a time; and what to say when that time finds too few."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from league.agent.agent import Agent
from league.manager.league import LeagueManager
from league.manager.rounds import FEWEST_PLAYERS, FEWEST_REFEREES
from league.terminal import USAGE, CommandError, console

Start = Literal["when-full", "manual", "at"]
_BY_NAME: Mapping[str, Start] = {"when-full": "when-full", "manual": "manual"}
_HOUR = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")


def read(text: str, now: datetime) -> tuple[Start, float | None]:
    """How the league starts, and when (seconds since the epoch). `now` has the zone of whoever asks."""
    if found := _BY_NAME.get(text):
        return found, None
    moment = _moment(text, now)
    if moment is None:
        raise CommandError(
            f"--start: {text!r} is none of when-full, manual, 18:30 and 2026-05-01T18:30+02:00 (a date and time)", USAGE
        )
    return "at", moment.timestamp()


def _moment(text: str, now: datetime) -> datetime | None:
    """18:30 is the next one there is. A time that is over starts a league as soon as it can: after a restart the same
    command line must do."""
    if hour := _HOUR.fullmatch(text):
        today = now.replace(hour=int(hour[1]), minute=int(hour[2]), second=0, microsecond=0)
        return today if today > now else today + timedelta(days=1)
    if _DATE.fullmatch(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is not None else moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return None


async def watch(agent: Agent) -> None:
    """When the league's hour has come and too few have registered, say so; it starts as soon as they have."""
    assert isinstance(agent.machine, LeagueManager)
    start_at = agent.machine.ledger.settings.start_at
    if start_at is None or agent.machine.ledger.state != "WAITING_FOR_REGISTRATIONS":
        return
    console.complain(
        f"the league starts at {datetime.fromtimestamp(start_at).astimezone().isoformat(timespec='seconds')}"
    )
    await asyncio.sleep(agent.setup.clock.seconds_until(start_at))
    assert isinstance(agent.machine, LeagueManager)
    roster = agent.machine.ledger.roster
    players, referees = roster.count("player"), roster.count("referee")
    # Asked so, it does not matter whether the machine has taken its own step of this moment.
    if players < FEWEST_PLAYERS or referees < FEWEST_REFEREES:
        console.complain(
            f"it is time to start, but there are {players} players and {referees} referees; "
            f"the league starts as soon as there are {FEWEST_PLAYERS} players and {FEWEST_REFEREES} referee"
        )
