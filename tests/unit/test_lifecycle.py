"""The life of an agent: which state leads where, and what never leads anywhere."""

from __future__ import annotations

from typing import get_args

import pytest

from league.events import AgentState
from league.lifecycle import TRANSITIONS, after

STATES: tuple[AgentState, ...] = get_args(AgentState)
TRIGGERS = sorted({trigger for _, trigger in TRANSITIONS})


def after_all(*triggers: str, state: AgentState = "INIT") -> AgentState:
    for trigger in triggers:
        state = after(state, trigger)
    return state


def test_an_agent_that_never_fails_goes_straight_from_init_to_shutdown() -> None:
    assert after_all("register") == "REGISTERED"
    assert after_all("register", "league_start") == "ACTIVE"
    assert after_all("register", "league_start", "league_end") == "SHUTDOWN"


def test_a_referee_that_cannot_be_reached_at_the_start_is_suspended_and_stays_so_when_the_league_starts() -> None:
    assert after_all("register", "max_fail") == "SUSPENDED"
    assert after_all("register", "max_fail", "league_start") == "SUSPENDED"


def test_a_suspended_agent_that_answers_is_active_again_as_often_as_it_does() -> None:
    assert after_all("register", "league_start", "max_fail", "recover", "max_fail", "recover") == "ACTIVE"


@pytest.mark.parametrize("state", ["REGISTERED", "ACTIVE", "SUSPENDED"])
@pytest.mark.parametrize("trigger", ["withdraw", "league_end"])
def test_withdrawal_and_the_end_of_the_league_end_every_membership(state: AgentState, trigger: str) -> None:
    assert after(state, trigger) == "SHUTDOWN"


@pytest.mark.parametrize("trigger", sorted(set(TRIGGERS) - {"reopen"}))
def test_shutdown_is_final_unless_a_match_is_played_again(trigger: str) -> None:
    assert after("SHUTDOWN", trigger) == "SHUTDOWN"
    assert after("SHUTDOWN", "reopen") == "ACTIVE"


@pytest.mark.parametrize("trigger", sorted(set(TRIGGERS) - {"register"}))
def test_nothing_happens_to_an_agent_that_never_registered(trigger: str) -> None:
    assert after("INIT", trigger) == "INIT"


@pytest.mark.parametrize("state", ["REGISTERED", "ACTIVE", "SUSPENDED"])
def test_registering_again_changes_nothing(state: AgentState) -> None:
    assert after(state, "register") == state


@pytest.mark.parametrize("state", STATES)
def test_a_trigger_nobody_knows_changes_nothing(state: AgentState) -> None:
    assert after(state, "sneeze") == state


def test_every_state_is_reached_and_can_be_left() -> None:
    assert {state for state, _ in TRANSITIONS} == set(STATES)
    assert set(TRANSITIONS.values()) == set(STATES) - {"INIT"}
