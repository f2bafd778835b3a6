"""The pump under any order of letters, syncs, failed writes, answers and passing time."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from league.agent.pump import LATE_S, Actions
from league.machine import Blame, Failure, Operate, Ping, Pong, Undelivered
from league.protocol.errors import PeerError
from tests.support.clerk import Desk

ORDERS = ("note", "note_and_tell", "tell", "keep", "answer_kept", "ask", "call_off", "wake_later")


class PumpUnderFire(RuleBasedStateMachine):
    """Whatever leaves rests on durable entries, and every letter is answered exactly once."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(gap_s=20.0)
        self.now = 0.0
        self.open: set[int] = set()
        self.reads: dict[int, int] = {}
        self.notes = 0
        self.calls: list[int] = []
        self.deadlines: list[float] = []
        self.seen = 0

    # --- what happens -------------------------------------------------------------------------------------------------

    @rule(order=st.sampled_from(ORDERS))
    def somebody_asks(self, order: str) -> None:
        self.notes += 1
        letter_id, actions = self.desk.pump.request(Operate(order, "key", f"note-{self.notes}"), "here", self.now)
        self.open.add(letter_id)
        self._carry_out(actions)

    @rule()
    def somebody_looks(self) -> None:
        letter_id, actions = self.desk.pump.request(Ping(), "here", self.now)
        self.open.add(letter_id)
        self.reads[letter_id] = len(self.desk.clerk.noted)
        self._carry_out(actions)

    @rule()
    def the_disk_syncs(self) -> None:
        if not self.desk.pump.storage_down:
            self._carry_out(self.desk.sync())

    @precondition(lambda self: not self.desk.pump.storage_down)
    @rule()
    def the_disk_fails(self) -> None:
        durable = [event.champion for event in self.desk.journal.events()]  # type: ignore[attr-defined]
        self._carry_out(self.desk.fail())
        assert self.desk.clerk.noted == durable

    @precondition(lambda self: self.desk.pump.storage_down)
    @rule()
    def the_disk_is_back(self) -> None:
        self._carry_out(self.desk.pump.storage_back(self.now))

    @rule(seconds=st.floats(0, 12))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.seen = len(self.desk.clerk.seen)
        self._carry_out(self.desk.pump.advance(self.now))
        late = [one for one in self.desk.clerk.seen[self.seen :] if isinstance(one, Undelivered)]
        if any(one.blame is Blame.PEER for one in late):
            assert any(self.now - LATE_S <= at <= self.now for at in self.deadlines), "we overslept, and blame the peer"

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), answered=st.booleans())
    def a_call_ends(self, data: st.DataObject, answered: bool) -> None:
        call_id = data.draw(st.sampled_from(self.calls))
        pump = self.desk.pump
        ended = pump.answer(call_id, Pong(), self.now) if answered else pump.failed(call_id, Failure.BROKEN, self.now)
        self._carry_out(ended)

    # --- what must hold -----------------------------------------------------------------------------------------------

    def _carry_out(self, actions: Actions) -> None:
        durable = self.desk.journal.entries - self.desk.base
        assert actions.released <= durable, "something left before what it rests on was on disk"
        self.desk.store(actions)
        for one in actions.replies:
            assert one.letter_id in self.open, "a letter was answered twice"
            self.open.discard(one.letter_id)
            self._check_read(one.letter_id, one.content)
        self.calls += [call.id for call in actions.calls]
        self.deadlines += [call.deadline for call in actions.calls]

    def _check_read(self, letter_id: int, content: object) -> None:
        shown = self.reads.pop(letter_id, None)
        if shown is not None and not isinstance(content, PeerError):
            stored = [event.champion for event in self.desk.journal.events()]  # type: ignore[attr-defined]
            assert isinstance(content, Pong)
            told = [name for name, _ in content.matches or ()]
            assert told == stored[: len(told)], "a read showed what was not on disk"

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        assert all(self.desk.pump.timer is not None or self.desk.journal.dirty for _ in self.open)

    @invariant()
    def nothing_is_due_before_the_pump_looks(self) -> None:
        timer = self.desk.pump.timer
        assert timer is None or self.desk.pump.due <= timer


TestPumpUnderFire = PumpUnderFire.TestCase
