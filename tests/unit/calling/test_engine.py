"""The calling engine alone: attempts, retries, busy peers, the circuit breaker, conventions, many receivers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.calling.engine import FAILURES_TO_OPEN, OPEN_S, Calls
from league.calling.timers import Timers
from league.gateway.book import FormLine, forms_of
from league.machine import (
    Acknowledged,
    Address,
    Blame,
    Content,
    Failure,
    Letter,
    Outgoing,
    Ping,
    Refusal,
    Undelivered,
)
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import IF_REFUSED, ONCE, RETRIED, UNTIL_ANSWERED, RetrySchedule

HERE = "http://10.0.0.9:8101/mcp"
UNKNOWN = Refusal("E036", "no such method", understood=False)


@dataclass
class Desk:
    """An engine, and a record of all that it did."""

    now: float = 100.0
    sent: list[Outgoing] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    ended: list[tuple[str, Ending, float]] = field(default_factory=list)
    failed: list[tuple[Failure, float | None]] = field(default_factory=list)
    learned: list[Convention] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.timers = Timers()
        self.calls = Calls(self.sent.append, self.cancelled.append, self.timers)
        self.calls.on_idle = self.idle.append

    def delivery(self, peer: str = "P01", retries: RetrySchedule = RETRIED, **more: Any) -> Delivery:
        policy = more.pop("policy", None) or Policy(5.0, retries, if_not_understood=Reaction.FAILED)
        known: dict[str, Any] = {"address": lambda: Address(peer, HERE), **more}
        return Delivery(peer, "hello", NOTICE, policy, on_end=self._ended, on_attempt_failed=self._failed, **known)

    def line(self, **more: Any) -> FormLine:
        return FormLine(
            forms_of(HERE, Convention.SPEC),
            HERE,
            learns=True,
            learn=lambda form, _: self.learned.append(form.convention),
            **more,
        )

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self.ended.append((delivery.peer, outcome, now - 100.0))

    def _failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        self.failed.append((failed.failure, failed.retry_at))

    def go(self, *deliveries: Delivery) -> Desk:
        self.calls.deliver(deliveries, self.now)
        return self

    def answer(self, content: Content, peer: str = "P01", nth: int = -1) -> Desk:
        self.calls.answered(Letter(0, content, answers=self.sent[nth].key, peer=peer), self.now)
        return self

    def fail(self, failure: Failure, peer: str = "P01", **more: Any) -> Desk:
        self.calls.failed(Undelivered(self.sent[-1].key, peer, failure, **more), self.now)
        return self

    def wait(self, seconds: float) -> Desk:
        self.now += seconds
        self.timers.run(self.now)
        return self

    @property
    def conventions(self) -> list[str]:
        return [one.to[0].convention.name for one in self.sent]


NOTICE: Any = object()
"""Whatever is delivered: the engine never looks into it."""


def test_an_answer_ends_a_delivery() -> None:
    desk = Desk()
    desk.go(desk.delivery()).answer(Acknowledged())
    assert desk.ended == [("P01", Ending.ANSWERED, 0.0)]
    assert (desk.sent[0].deadline, desk.timers.next, desk.idle) == (105.0, None, ["P01"])


def test_an_error_refuses_it() -> None:
    desk = Desk()
    desk.go(desk.delivery()).answer(Refusal("E020", "full"))
    assert desk.ended == [("P01", Ending.REFUSED, 0.0)]


def test_one_message_to_many_is_one_outgoing_and_each_receiver_is_retried_alone() -> None:
    desk = Desk()
    desk.go(desk.delivery("P01"), desk.delivery("P02"))
    assert [one.agent_id for one in desk.sent[0].to] == ["P01", "P02"]
    desk.answer(Acknowledged(), "P01").fail(Failure.REFUSED, "P02").wait(2)
    assert [one.agent_id for one in desk.sent[1].to] == ["P02"]
    assert desk.ended == [("P01", Ending.ANSWERED, 0.0)]


def test_retries_follow_the_table_and_the_last_failure_ends_it() -> None:
    desk = Desk()
    desk.go(desk.delivery())
    for _ in range(3):
        desk.fail(Failure.REFUSED).wait(2)
    desk.fail(Failure.REFUSED)
    assert [retry for _, retry in desk.failed] == [102.0, 104.0, 106.0, None]
    assert desk.ended == [("P01", Ending.FAILED, 6.0)]


@pytest.mark.parametrize(
    ("failure", "pauses"),
    [(Failure.TIMEOUT, [2, 4, 8, 16, 30, 30, 30]), (Failure.REFUSED, [*[2] * 30, 30])],
)
def test_backoff_goes_on_for_ever_where_the_table_says_so(failure: Failure, pauses: list[int]) -> None:
    desk = Desk()
    desk.go(desk.delivery(retries=UNTIL_ANSWERED))
    waits = []
    for _ in pauses:
        desk.fail(failure)
        retry_at = desk.failed[-1][1]
        assert retry_at is not None
        waits.append(retry_at - desk.now)
        desk.wait(waits[-1])
    assert waits == pauses


def test_what_may_be_sent_once_only_is_repeated_only_if_it_cannot_have_arrived() -> None:
    for failure, calls in ((Failure.REFUSED, 2), (Failure.TIMEOUT, 1), (Failure.BROKEN, 1)):
        desk = Desk()
        desk.go(desk.delivery(retries=IF_REFUSED)).fail(failure).wait(2)
        assert len(desk.sent) == calls, failure


def test_what_is_our_own_fault_counts_against_nobody() -> None:
    desk = Desk()
    desk.go(desk.delivery()).fail(Failure.TIMEOUT, blame=Blame.LOCAL)
    assert (len(desk.sent), desk.failed) == (2, [])
    desk.fail(Failure.BROKEN, blame=Blame.LOCAL).wait(2)
    assert (len(desk.sent), desk.failed) == (3, [])


def test_who_was_given_no_time_to_answer_is_repeated_to_and_not_blamed() -> None:
    desk, guarded = Desk(), Policy(5.0, RETRIED, is_guarded=True)
    desk.go(desk.delivery(policy=guarded)).fail(Failure.TIMEOUT, blame=Blame.NOBODY).wait(2)
    assert (len(desk.sent), len(desk.failed)) == (2, 1)
    assert desk.calls.peers["P01"].breaker.failures == 0
    desk.fail(Failure.TIMEOUT)
    assert desk.calls.peers["P01"].breaker.failures == 1


def test_a_busy_peer_gets_the_time_it_asks_for_but_no_more_than_a_minute() -> None:
    desk = Desk()
    desk.go(desk.delivery()).fail(Failure.BUSY, retry_after=40.0).wait(40)
    desk.fail(Failure.BUSY, retry_after=40.0).wait(20)
    assert (len(desk.sent), desk.failed) == (3, [])
    desk.fail(Failure.BUSY, retry_after=40.0)
    assert [one for one, _ in desk.failed] == [Failure.BUSY]


def test_a_busy_peer_that_is_told_once_is_not_waited_for_and_a_busy_pong_is_a_pong() -> None:
    desk = Desk()
    desk.go(desk.delivery(retries=ONCE)).fail(Failure.BUSY)
    ping = desk.delivery(retries=ONCE)
    ping.message = Ping()
    desk.go(ping).fail(Failure.BUSY)
    assert [outcome for _, outcome, _ in desk.ended] == [Ending.FAILED, Ending.ANSWERED]


def test_the_circuit_breaker_opens_after_five_failures_and_any_answer_closes_it() -> None:
    desk = Desk()
    guarded = Policy(5.0, RETRIED, is_guarded=True)
    for _ in range(2):
        desk.go(desk.delivery(policy=guarded))
        for _ in range(3):
            desk.fail(Failure.REFUSED).wait(2)
    breaker = desk.calls.peers["P01"].breaker
    assert breaker.failures == FAILURES_TO_OPEN
    assert desk.ended[-1][1] is Ending.FAILED
    assert breaker.is_open(desk.now)
    assert not breaker.is_open(desk.now + OPEN_S)
    desk.go(desk.delivery()).answer(Acknowledged())
    assert not breaker.is_open(desk.now)


def test_a_dropped_delivery_is_not_repeated_and_is_under_way_until_its_call_has_ended() -> None:
    desk = Desk()
    one = desk.delivery()
    desk.go(one)
    desk.calls.drop(one)
    assert desk.idle == []
    desk.fail(Failure.REFUSED).wait(9)
    assert (len(desk.sent), desk.ended, desk.idle) == (1, [], ["P01"])


def test_the_last_call_of_what_is_repeated_no_more_counts_as_any_other() -> None:
    desk = Desk()
    one = desk.delivery(policy=Policy(5.0, RETRIED, is_guarded=True))
    desk.go(one)
    desk.calls.repeat_no_more(one)
    desk.fail(Failure.REFUSED).wait(9)
    assert (len(desk.sent), len(desk.failed), desk.calls.peers["P01"].breaker.failures) == (1, 1, 1)
    assert (desk.ended, desk.idle) == ([], ["P01"])
    answered = desk.delivery()
    desk.go(answered)
    desk.calls.repeat_no_more(answered)
    assert desk.answer(Acknowledged()).ended == [("P01", Ending.ANSWERED, 9.0)]


def test_what_waits_for_its_next_attempt_is_over_when_it_is_repeated_no_more() -> None:
    desk = Desk()
    one = desk.delivery()
    desk.go(one).fail(Failure.REFUSED)
    desk.calls.repeat_no_more(one)
    assert (desk.timers.next, desk.wait(9).idle, len(desk.sent)) == (None, ["P01"], 1)


def test_a_cancelled_delivery_takes_its_call_back() -> None:
    desk = Desk()
    one = desk.delivery()
    desk.go(one)
    desk.calls.drop(one, cancel=True)
    assert desk.cancelled == [desk.sent[0].key]
    desk.answer(Acknowledged())
    assert (desk.ended, desk.idle) == ([], ["P01"])


@pytest.mark.parametrize("gone", ["address", "compose"])
def test_what_is_no_longer_wanted_is_not_tried_again(gone: str) -> None:
    desk = Desk()
    wanted = True

    def compose(*_: object) -> Any:
        return NOTICE if wanted or gone == "address" else None

    def address() -> Address | None:
        return Address("P01", HERE) if wanted or gone == "compose" else None

    desk.go(desk.delivery(compose=compose, address=address)).fail(Failure.REFUSED)
    wanted = False
    desk.wait(2)
    assert (len(desk.sent), desk.ended, desk.idle) == (1, [], ["P01"])


# --- conventions ------------------------------------------------------------------------------------------------------


def test_what_is_not_understood_is_tried_in_the_next_convention_at_once_and_counts_as_nothing() -> None:
    desk = Desk()
    desk.go(desk.delivery(line=desk.line()))
    for nth, _ in enumerate(Convention):
        desk.now += 1
        if nth < len(Convention) - 1:
            desk.answer(UNKNOWN)
    desk.answer(Acknowledged())
    assert desk.conventions == [one.name for one in Convention]
    assert [one.deadline for one in desk.sent] == [105.0 + nth for nth, _ in enumerate(Convention)]
    assert (desk.learned, desk.failed) == ([Convention.LOWER], [])


def test_if_no_convention_helps_it_is_a_failed_attempt_or_a_refusal_as_the_policy_says() -> None:
    for reaction, outcome in ((Reaction.FAILED, None), (Reaction.REFUSED, Ending.REFUSED)):
        desk = Desk()
        policy = Policy(5.0, RETRIED, if_not_understood=reaction)
        desk.go(desk.delivery(policy=policy, line=desk.line()))
        for _ in Convention:
            desk.answer(UNKNOWN)
        assert [one for _, one, _ in desk.ended] == ([outcome] if outcome else [])
        assert len(desk.failed) == (outcome is None)


def test_a_proven_peer_that_hangs_up_has_failed_an_unproven_one_may_not_have_understood() -> None:
    for is_proven, conventions in ((True, ["SPEC"]), (False, ["SPEC", "TYPE"])):
        desk = Desk()
        desk.go(desk.delivery(line=desk.line(is_proven=is_proven))).fail(Failure.BROKEN)
        assert desk.conventions == conventions


def test_on_a_plain_line_nothing_is_found_out() -> None:
    desk = Desk()
    desk.go(desk.delivery()).answer(UNKNOWN)
    assert desk.failed == [(Failure.NOT_UNDERSTOOD, 102.0)]


# --- answers that come by themselves, and corrections -----------------------------------------------------------------


def asking(desk: Desk, reactions: list[Reaction], **more: Any) -> Delivery:
    def consequence(_: float) -> Interpretation:
        return Interpretation(Reaction.CORRECTABLE)

    def interpret(*_: object) -> Interpretation:
        return Interpretation(reactions.pop(0), consequence=consequence)

    return desk.delivery(interpret=interpret, **more)


def test_after_an_acknowledgement_the_answer_may_come_by_itself_until_the_attempt_ends() -> None:
    desk = Desk()
    one = asking(desk, [Reaction.ACKNOWLEDGED] * 2)
    desk.go(one).answer(Acknowledged()).wait(4)
    assert (desk.ended, desk.failed) == ([], [])
    desk.wait(1)
    assert desk.failed == [(Failure.TIMEOUT, 107.0)]
    desk.wait(2).answer(Acknowledged()).wait(1)
    desk.calls.answered_by_request(one, Convention.SPEC, desk.now)
    assert desk.ended == [("P01", Ending.ANSWERED, 8.0)]


def test_an_attempt_whose_end_we_slept_through_is_made_again() -> None:
    desk = Desk()
    desk.go(asking(desk, [Reaction.ACKNOWLEDGED])).answer(Acknowledged()).wait(6)
    assert (len(desk.sent), desk.failed) == (2, [])


def test_an_acknowledgement_in_an_unproven_convention_is_doubted_after_a_second() -> None:
    desk = Desk()
    one = asking(desk, [Reaction.ACKNOWLEDGED, Reaction.ANSWERED], line=desk.line())
    desk.go(one).answer(Acknowledged()).wait(1)
    assert desk.conventions == ["SPEC", "TYPE"]
    desk.answer(Acknowledged())
    assert desk.learned == [Convention.TYPE]


def test_a_correction_is_another_call_under_the_same_deadline_and_the_last_attempt() -> None:
    desk = Desk()
    desk.go(asking(desk, [Reaction.WRONG])).wait(1).answer(Acknowledged())
    assert [one.deadline for one in desk.sent] == [105.0, 105.0]
    desk.fail(Failure.REFUSED).wait(2).fail(Failure.REFUSED).wait(2)
    assert [one.deadline for one in desk.sent] == [105.0] * 3
    assert desk.failed == [(Failure.TIMEOUT, None)]
    assert desk.ended == [("P01", Ending.FAILED, 5.0)]


def test_a_wrong_answer_after_the_deadline_is_a_timeout() -> None:
    desk = Desk()
    desk.go(asking(desk, [Reaction.WRONG]))
    desk.now += 5
    desk.answer(Acknowledged())
    assert desk.failed == [(Failure.TIMEOUT, 107.0)]


def test_an_answer_to_an_attempt_that_timed_out_counts_where_the_policy_says_so() -> None:
    for accepts, ended in ((True, 1), (False, 0)):
        desk = Desk()
        desk.go(desk.delivery(policy=Policy(5.0, RETRIED, accepts_late_answers=accepts)))
        desk.now += 5
        desk.fail(Failure.TIMEOUT).wait(2).answer(Acknowledged(), nth=0)
        assert len(desk.ended) == ended


def test_a_delivery_may_begin_later_and_with_failures_that_happened_before_a_restart() -> None:
    desk = Desk()
    desk.calls.deliver_at(desk.delivery(failures=2), desk.now + 1.5, desk.now)
    assert desk.sent == []
    desk.wait(1.5).fail(Failure.REFUSED).wait(2).fail(Failure.REFUSED)
    assert [retry is None for _, retry in desk.failed] == [False, True]


def test_an_answer_that_comes_by_itself_and_again_on_the_call_ends_it_once() -> None:
    desk = Desk()
    one = asking(desk, [Reaction.ANSWERED])
    desk.go(one)
    desk.calls.answered_by_request(one, Convention.SPEC, desk.now)
    desk.answer(Acknowledged())
    assert (len(desk.ended), desk.idle, desk.calls.peers["P01"].deliveries) == (1, ["P01"], 0)


def test_a_receiver_that_is_not_to_be_called_any_more_holds_up_nobody() -> None:
    desk = Desk()
    desk.go(desk.delivery("P01", address=lambda: None), desk.delivery("P02"))
    assert [one.agent_id for one in desk.sent[0].to] == ["P02"]
    assert desk.idle == ["P01"]
