"""Whatever befalls an agent, in any order: only the transitions of the specification ever happen."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from league.events import AgentState
from league.lifecycle import TRANSITIONS, after

ALLOWED: set[tuple[AgentState, AgentState]] = {
    ("INIT", "REGISTERED"),
    ("REGISTERED", "ACTIVE"),
    ("REGISTERED", "SUSPENDED"),
    ("REGISTERED", "SHUTDOWN"),
    ("ACTIVE", "SUSPENDED"),
    ("ACTIVE", "SHUTDOWN"),
    ("SUSPENDED", "ACTIVE"),
    ("SUSPENDED", "SHUTDOWN"),
    ("SHUTDOWN", "ACTIVE"),
}
"""Section 7.1, written down a second time."""

triggers = st.sampled_from(sorted({trigger for _, trigger in TRANSITIONS})) | st.text(max_size=12)


class AgentLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.state: AgentState = "INIT"
        self.path: list[AgentState] = ["INIT"]

    @rule(trigger=triggers)
    def anything_happens(self, trigger: str) -> None:
        before, self.state = self.state, after(self.state, trigger)
        assert before != "SHUTDOWN" or trigger == "reopen" or self.state == "SHUTDOWN"
        if self.state != before:
            self.path.append(self.state)

    @precondition(lambda self: self.state == "SUSPENDED")
    @rule()
    def it_answers(self) -> None:
        self.anything_happens("recover")
        assert self.state == "ACTIVE"

    @rule(trigger=triggers)
    def the_same_happens_twice(self, trigger: str) -> None:
        self.anything_happens(trigger)
        once = self.state
        self.anything_happens(trigger)
        # Two technical losses may follow each other, but no trigger leads on from where it led.
        assert self.state == once

    @invariant()
    def only_allowed_steps_were_taken(self) -> None:
        assert all(step in ALLOWED for step in zip(self.path, self.path[1:], strict=False))

    @invariant()
    def init_is_never_entered_again(self) -> None:
        assert "INIT" not in self.path[1:]

    @invariant()
    def shutdown_is_left_for_a_match_that_is_played_again_only(self) -> None:
        steps = zip(self.path, self.path[1:], strict=False)
        assert all(after == "ACTIVE" for before, after in steps if before == "SHUTDOWN")


TestAgentLife = AgentLife.TestCase
