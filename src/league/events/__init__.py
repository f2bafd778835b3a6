"""What has become true: the events of the three journals. State changes only by applying them; everything that people
look at later is a fold of them. No event ever holds a token: secrets are kept beside the events (machine.Step.secrets).
"""

from __future__ import annotations

from league.events.base import *  # noqa: F403
from league.events.base import Event
from league.events.manager import *  # noqa: F403
from league.events.player import *  # noqa: F403
from league.events.referee import *  # noqa: F403
from league.settings import LeagueSettings as LeagueSettings  # part of an event, so it is found here too

EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
