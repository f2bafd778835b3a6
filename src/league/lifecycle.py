"""The states of an agent (spec section 7.1): one table of transitions for every role."""

from __future__ import annotations

from collections.abc import Mapping

from league.events import AgentState

TRANSITIONS: Mapping[tuple[AgentState, str], AgentState] = {
    ("INIT", "register"): "REGISTERED",
    ("REGISTERED", "league_start"): "ACTIVE",
    # A referee that is unreachable when the league starts.
    ("REGISTERED", "max_fail"): "SUSPENDED",
    ("REGISTERED", "withdraw"): "SHUTDOWN",
    ("REGISTERED", "league_end"): "SHUTDOWN",
    # A player after two technical losses in a row, or a silent referee.
    ("ACTIVE", "max_fail"): "SUSPENDED",
    ("ACTIVE", "withdraw"): "SHUTDOWN",
    ("ACTIVE", "league_end"): "SHUTDOWN",
    # It joined a match or answered a broadcast.
    ("SUSPENDED", "recover"): "ACTIVE",
    ("SUSPENDED", "withdraw"): "SHUTDOWN",
    ("SUSPENDED", "league_end"): "SHUTDOWN",
    # A match is replayed after the end of the league.
    ("SHUTDOWN", "reopen"): "ACTIVE",
}
"""The next state, by state and trigger. Only the operator withdraws an agent (R-48)."""


def after(state: AgentState, trigger: str) -> AgentState:
    """The state after a trigger; a trigger that does not fit the state changes nothing."""
    return TRANSITIONS.get((state, trigger), state)
