"""The base of all events, and the events of more than one role."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from league.protocol.experiment import Conditions

AgentRole = Literal["player", "referee"]
AgentState = Literal["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"]
LeagueState = Literal["WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE", "RUNNING_LEAGUE", "LEAGUE_COMPLETED"]
Status = Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
Phase = Literal["join", "move"]


# Defaults are left out of the journal, and the class name is the value of "event".
class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag=True):
    """Something that happened, and when (seconds since the epoch)."""

    is_lazy: ClassVar[bool] = False
    """True if nothing has to wait until the event is stored (decision 12). Such an event only says that our call was
    answered; if it is lost, we make the call again, as if the answer had been lost."""

    at: float


class Registered(Event, frozen=True, kw_only=True):
    """The manager accepted us. The token is stored as the secret `token/{serial}`."""

    agent_id: str
    league_id: str
    serial: int
    derived_tokens: bool
    """The manager derives its tokens by section 9, so we can check who sent a message."""
    convention: str = "SPEC"
    """The calling convention of the manager."""
    endpoint: str = ""
    """The endpoint that we registered."""
    new_league: bool = False
    """It is another league than before: our matches and tokens mean nothing there."""


class ConditionsStated(Event, frozen=True, kw_only=True):
    """When it registered, a player stated the conditions of its language model (spec section 8.17)."""

    agent_id: str
    conditions: Conditions


class ConventionLearned(Event, frozen=True, kw_only=True):
    """We learned an agent's calling convention by calling it (spec section 13.1)."""

    is_lazy: ClassVar[bool] = True

    agent_id: str
    endpoint: str
    convention: str


class LeagueEnded(Event, frozen=True, kw_only=True):
    """LEAGUE_COMPLETED reached this agent."""

    champion: str
    # A player's own place in the final table.
    rank: int | None = None
    points: int | None = None


class Withdrawn(Event, frozen=True, kw_only=True):
    """The manager said that its operator withdrew this agent from the league."""
