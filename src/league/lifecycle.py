"""The life of an agent (spec section 7.1): one table of transitions for every role."""

from __future__ import annotations

from collections.abc import Mapping

from league.events import AgentState

TRANSITIONS: Mapping[tuple[AgentState, str], AgentState] = {
    ("INIT", "register"): "REGISTERED",
    ("REGISTERED", "league_start"): "ACTIVE",
    ("REGISTERED", "max_fail"): "SUSPENDED",
    ("REGISTERED", "withdraw"): "SHUTDOWN",
    ("REGISTERED", "league_end"): "SHUTDOWN",
    ("ACTIVE", "max_fail"): "SUSPENDED",
    ("ACTIVE", "withdraw"): "SHUTDOWN",
    ("ACTIVE", "league_end"): "SHUTDOWN",
    ("SUSPENDED", "recover"): "ACTIVE",
    ("SUSPENDED", "withdraw"): "SHUTDOWN",
    ("SUSPENDED", "league_end"): "SHUTDOWN",
    ("SHUTDOWN", "reopen"): "ACTIVE",
}
"""(state, trigger) to the next state.

"max_fail" at REGISTERED: a referee that is unreachable when the league starts; at ACTIVE: two technical losses in a row
of a player (R-51), or silence of a referee (R-52).
"recover": it joined a match or answered a broadcast (R-51). "withdraw": by the operator (R-48). "reopen": a match is
played again after the end.
"""


def after(state: AgentState, trigger: str) -> AgentState:
    """The state after a trigger; a trigger that does not apply changes nothing."""
    return TRANSITIONS.get((state, trigger), state)
