"""What all events share, and what any agent may journal."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from league.protocol.experiment import Conditions

AgentRole = Literal["player", "referee"]
AgentState = Literal["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"]
LeagueState = Literal["WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE", "RUNNING_LEAGUE", "LEAGUE_COMPLETED"]
Status = Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
Phase = Literal["join", "move"]


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag=True):
    """Something that happened, and when (seconds since the epoch)."""

    is_lazy: ClassVar[bool] = False
    """Need nothing wait until it is stored (decision 12)? It only says that a call of ours was answered: if it is lost,
    that is as if the answer had been, and the call is made again."""

    at: float


class Registered(Event, frozen=True, kw_only=True):
    """The manager accepted us. The token is kept as the secret `token/{serial}`."""

    agent_id: str
    league_id: str
    serial: int
    derived_tokens: bool
    """The manager derives its tokens as section 9 says, so that what it sends can be checked."""
    convention: str = "SPEC"
    """How the manager is spoken to."""
    endpoint: str = ""
    """Where we said that we live."""
    new_league: bool = False
    """It is another league than before: nothing that we know of matches and tokens holds there."""


class ConditionsStated(Event, frozen=True, kw_only=True):
    """A player said, when it registered, under which conditions a language model plays for it (spec section 8.17)."""

    agent_id: str
    conditions: Conditions


class ConventionLearned(Event, frozen=True, kw_only=True):
    """How an agent is spoken to, found out by calling it (spec section 13.1)."""

    is_lazy: ClassVar[bool] = True

    agent_id: str
    endpoint: str
    convention: str


class LeagueEnded(Event, frozen=True, kw_only=True):
    """LEAGUE_COMPLETED reached this agent. `rank` and `points`: a player's own, in the final table."""

    champion: str
    rank: int | None = None
    points: int | None = None


class Withdrawn(Event, frozen=True, kw_only=True):
    """The manager said that its operator took this agent out of the league."""
