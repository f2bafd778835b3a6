"""The events of the three journals: manager, referee and player.

Theory of operation. An event is a fact that has become true. A role's state changes only by applying events, and
everything that people look at later (standings, pages, exports, audits) is computed from them. So an event must contain
all that its fact needs, and it is never changed.

Journals outlive versions of this code. A class keeps its name and its fields; a new field has a default that means what
journals without it meant.

What must never happen: an event contains a token. Secrets are stored beside the events (`machine.Step.secrets`).
"""

from __future__ import annotations

from league.events.base import *  # noqa: F403
from league.events.base import Event
from league.events.manager import *  # noqa: F403
from league.events.player import *  # noqa: F403
from league.events.referee import *  # noqa: F403
from league.settings import LeagueSettings as LeagueSettings  # part of LeagueCreated

EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
