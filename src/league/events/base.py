"""The base of all events, and the events of more than one role."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from league.protocol.message.experiment import Conditions

AgentRole = Literal["player", "referee"]
AgentState = Literal["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"]
LeagueState = Literal["WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE", "RUNNING_LEAGUE", "LEAGUE_COMPLETED"]
Status = Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
Phase = Literal["join", "move"]
Evidence = Literal["proven", "by_referee", "by_manager", "not_played"]
"""How far a result is known (spec section 8.18)."""


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
    asks_before_losses: bool = False
    """For a referee: its manager is asked before a technical loss is decided (spec section 8.15)."""
    new_league: bool = False
    """It is another league than before: our matches and tokens mean nothing there."""
    manager_endpoints: tuple[str, ...] = ()
    """The managers of the league, of which one works at a time."""
    manager_key: str = ""
    """The public key with which the manager signs its rounds."""


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
    """LEAGUE_COMPLETED reached this agent, or the manager said that its operator withdrew it from the league."""

    withdrawn: bool = False
    champion: str = ""
    # A player's own row of the final table, as far as the table says it, and the number of rows.
    rank: int | None = None
    points: int | None = None
    played: int | None = None
    wins: int | None = None
    draws: int | None = None
    losses: int | None = None
    players: int | None = None
    # The head of the manager's journal in LEAGUE_COMPLETED (spec section 8.9).
    head_seq: int = 0
    head_digest: str = ""
    statement: dict[str, Any] = field(default_factory=dict)
    """For a player: the manager's last statement (spec section 9.8)."""
    signature: str = ""
    nobody_won: bool = False
    """For a referee: no player has a win or a point in the final table."""
