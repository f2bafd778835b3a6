"""The shell's decisions: what leaves when, what belongs to what, and what happens when the disk fails."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from league.agent.pump import LATE_S, Actions
from league.machine import Blame, Failure, Letter, Ping, Pong, Undelivered
from league.protocol.errors import PeerError
from league.protocol.message.envelope import DEFAULT_LIMIT_S
from tests.support.clerk import ANN, BEN, Desk


def codes(actions: Actions) -> list[tuple[int, str]]:
    return [(one.letter_id, one.content.code) for one in actions.replies if isinstance(one.content, PeerError)]


def test_a_reply_waits_until_its_events_are_durable() -> None:
    desk = Desk()
    letter_id, actions = desk.order("note", "Ann")
    assert actions.replies == ()
    assert [one.letter_id for one in desk.sync().replies] == [letter_id]


def test_nothing_waits_for_a_lazy_event_alone() -> None:
    desk = Desk()
    letter_id, actions = desk.order("note_lazily", "Ann")
    assert (len(actions.append), actions.is_awaited) == (1, False)
    assert [one.letter_id for one in actions.replies] == [letter_id]
    assert actions.released == 0


def test_what_follows_a_lazy_event_waits_as_ever_and_is_stored_behind_it() -> None:
    desk = Desk()
    desk.order("note", "Ann")
    lazily, behind = desk.order("note_lazily", "Ben")
    letter_id, actions = desk.order("note", "Cid")
    assert (behind.replies, actions.replies, actions.is_awaited) == ((), (), True)
    assert [one.letter_id for one in desk.sync().replies][1:] == [lazily, letter_id]
    assert desk.clerk.noted == ["Ann", "Ben", "Cid"]


def test_a_lazy_event_that_is_lost_leaves_the_machine_without_it() -> None:
    desk = Desk()
    desk.order("note", "Ann")
    desk.sync()
    desk.order("note_lazily", "Ben")
    desk.fail()
    assert desk.clerk.noted == ["Ann"]


def test_nothing_waits_for_a_journal_that_is_not_kept() -> None:
    desk = Desk(is_volatile=True)
    letter_id, actions = desk.order("note_and_tell", "Ann")
    assert [entry.events for entry in actions.append] != []
    assert ([one.letter_id for one in actions.replies], len(actions.calls), actions.is_awaited) == (
        [letter_id],
        2,
        False,
    )
    assert desk.sync().replies == ()


def test_a_read_waits_for_what_it_shows() -> None:
    desk = Desk()
    desk.order("note", "Ann")
    letter_id, actions = desk.pump.request(Ping(), "here", 0.0)
    assert actions.replies == ()
    released = desk.sync().replies
    assert (released[-1].letter_id, released[-1].content) == (letter_id, Pong((("Ann", 1),)))


def test_a_read_with_nothing_pending_is_answered_at_once() -> None:
    desk = Desk()
    letter_id, actions = desk.pump.request(Ping(), "here", 0.0)
    assert [one.letter_id for one in actions.replies] == [letter_id]


@pytest.mark.parametrize("order", ["note_and_tell", "ask"])
def test_nothing_else_leaves_before_its_events_are_durable(order: str) -> None:
    desk = Desk()
    _, actions = desk.order(order, "Ann")
    assert (actions.calls, actions.asks) == ((), ())
    released = desk.sync()
    assert released.calls or released.asks
    assert released.released == 1


def test_each_receiver_of_a_message_gets_its_own_call_and_is_named_in_its_answer() -> None:
    desk = Desk()
    _, actions = desk.order("tell")
    first, second = actions.calls
    assert [first.to, second.to] == [ANN, BEN]
    desk.pump.answer(second.id, Pong(), 1.0)
    desk.pump.failed(first.id, Failure.REFUSED, 1.0)
    answer, failure = desk.clerk.seen
    assert isinstance(answer, Letter)
    assert (answer.answers, answer.peer) == ("tell/1", "P02")
    assert failure == Undelivered("tell/1", "P01", Failure.REFUSED)


def test_a_call_without_an_answer_fails_at_its_deadline() -> None:
    desk = Desk()
    _, actions = desk.order("tell")
    assert desk.pump.timer == 5.0
    assert desk.pump.advance(4.999).cancel == ()
    assert desk.pump.advance(5.0).cancel == tuple(call.id for call in actions.calls)
    assert [one.failure for one in desk.clerk.seen if isinstance(one, Undelivered)] == [Failure.TIMEOUT] * 2


@pytest.mark.parametrize(("looked_at", "blame"), [((1.0, 2.0, 3.0, 4.0), Blame.PEER), ((1.0, 4.0), Blame.LOCAL)])
def test_a_call_during_which_the_process_stood_still_is_nobodys_fault(
    looked_at: tuple[float, ...], blame: Blame
) -> None:
    desk = Desk(gap_s=2.0)
    desk.pump.start(0.0)
    desk.order("tell")
    for now in (*looked_at, 5.0):
        assert (desk.pump.timer or 0.0) <= now
        desk.pump.advance(now)
    assert {one.blame for one in desk.clerk.seen if isinstance(one, Undelivered)} == {blame}


@pytest.mark.parametrize(
    ("asked_at", "blame"), [((100.9, 101.8, 102.7, 103.6, 104.5), Blame.PEER), ((100.9, 104.5), Blame.LOCAL)]
)
def test_whatever_comes_shows_whether_the_process_stood_still(asked_at: tuple[float, ...], blame: Blame) -> None:
    desk = Desk(gap_s=2.0)
    desk.pump.start(0.0)
    desk.order("tell", now=100.0)
    for now in asked_at:
        desk.pump.request(Ping(), "here", now)
    desk.pump.advance(105.0)
    assert {one.blame for one in desk.clerk.seen if isinstance(one, Undelivered)} == {blame}


def test_a_connection_that_broke_while_the_process_stood_still_is_nobodys_fault() -> None:
    desk = Desk(gap_s=2.0)
    desk.pump.start(0.0)
    _, actions = desk.order("tell")
    broken, refused = actions.calls
    desk.pump.failed(broken.id, Failure.BROKEN, 4.0)
    desk.pump.failed(refused.id, Failure.REFUSED, 4.1)
    assert [one.blame for one in desk.clerk.seen if isinstance(one, Undelivered)] == [Blame.LOCAL, Blame.PEER]


@pytest.mark.parametrize(("noticed", "blame"), [(5.0, Blame.PEER), (5.0 + LATE_S + 0.1, Blame.LOCAL)])
def test_a_deadline_that_we_overslept_is_not_blamed_on_the_peer(noticed: float, blame: Blame) -> None:
    desk = Desk()
    desk.order("tell")
    desk.pump.advance(noticed)
    assert {one.blame for one in desk.clerk.seen if isinstance(one, Undelivered)} == {blame}


def test_an_answer_after_the_deadline_is_dropped() -> None:
    desk = Desk()
    _, actions = desk.order("tell")
    desk.pump.answer(actions.calls[0].id, Pong(), 5.0)
    assert all(isinstance(one, Undelivered) for one in desk.clerk.seen)


def test_a_second_answer_to_the_same_call_is_dropped() -> None:
    desk = Desk()
    _, actions = desk.order("tell")
    for _ in range(2):
        desk.pump.answer(actions.calls[0].id, Pong(), 1.0)
    assert len(desk.clerk.seen) == 1


def test_a_letter_the_machine_never_answers_gets_one_timeout() -> None:
    desk = Desk()
    letter_id, actions = desk.order("keep")
    assert actions.replies == ()
    assert codes(desk.pump.advance(DEFAULT_LIMIT_S)) == [(letter_id, "E001")]
    _, late = desk.order("answer_kept", now=DEFAULT_LIMIT_S + 1)
    assert late.replies == ()


def test_a_letter_may_be_answered_later() -> None:
    desk = Desk()
    letter_id, _ = desk.order("keep")
    _, actions = desk.order("answer_kept", now=3.0)
    assert [one.letter_id for one in actions.replies] == [letter_id]
    assert letter_id not in [one for one, _ in codes(desk.pump.advance(100.0))]


def test_a_cancelled_call_that_has_not_left_never_leaves() -> None:
    desk = Desk()
    desk.order("note_and_tell", "Ann")
    _, actions = desk.order("call_off")
    assert len(actions.cancel) == 2
    assert desk.sync().calls == ()


def test_a_cancelled_call_under_way_is_forgotten() -> None:
    desk = Desk()
    _, told = desk.order("tell")
    _, actions = desk.order("call_off")
    assert actions.cancel == tuple(call.id for call in told.calls)
    desk.pump.answer(told.calls[0].id, Pong(), 1.0)
    desk.pump.advance(10.0)
    assert desk.clerk.seen == []


def test_a_question_that_is_taken_back_is_of_no_use_to_the_strategy_any_more() -> None:
    desk = Desk()
    desk.order("ask")
    assert [ask.key for ask in desk.sync().asks] == ["ask/1"]
    _, actions = desk.order("take_back")
    assert actions.unasked == ("ask/1",)
    _, again = desk.order("take_back")
    assert again.unasked == ()


def test_a_question_that_was_answered_is_not_taken_back() -> None:
    desk = Desk()
    desk.order("ask")
    desk.sync()
    desk.pump.strategy_answered("ask/1", "even", 1.0)
    _, actions = desk.order("take_back")
    assert actions.unasked == ()


def test_a_question_that_is_taken_back_before_it_is_durable_is_never_asked() -> None:
    desk = Desk()
    desk.order("ask")
    _, actions = desk.order("take_back")
    assert (actions.unasked, desk.sync().asks) == ((), ())


def test_after_a_write_that_failed_no_question_is_of_use_any_more() -> None:
    desk = Desk()
    desk.order("ask")
    desk.sync()
    assert desk.fail().unasked == ("ask/1",)


def test_the_machine_is_woken_when_it_asked_to_be() -> None:
    desk = Desk()
    desk.order("wake_later", now=4.0)
    assert desk.pump.timer == desk.pump.due == 7.0
    desk.pump.advance(6.9)
    assert desk.clerk.seen == []
    desk.pump.advance(7.0)
    assert desk.clerk.seen == [("tick", 7.0)]
    assert desk.pump.due == math.inf


def test_when_a_write_fails_everybody_waiting_is_told_once_and_the_state_is_what_is_on_disk() -> None:
    desk = Desk()
    desk.order("note", "Ann")
    desk.sync()
    kept, _ = desk.order("keep")
    lost, _ = desk.order("note", "Ben")
    actions = desk.fail()
    assert sorted(codes(actions)) == [(kept, "E041"), (lost, "E041")]
    assert desk.clerk.noted == ["Ann"]
    assert desk.sync().replies == ()


def test_calls_under_way_are_called_off_when_a_write_fails() -> None:
    desk = Desk()
    _, told = desk.order("tell")
    desk.order("note", "Ann")
    assert desk.fail().cancel == tuple(call.id for call in told.calls)
    desk.pump.answer(told.calls[0].id, Pong(), 1.0)
    assert desk.clerk.seen == []


def test_while_nothing_can_be_written_reads_are_served_and_writes_refused() -> None:
    desk = Desk()
    desk.order("note", "Ann")
    desk.sync()
    desk.order("note", "Ben")
    desk.fail()
    refused, actions = desk.order("note", "Cid")
    assert codes(actions) == [(refused, "E041")]
    letter_id, actions = desk.pump.request(Ping(), "here", 1.0)
    assert [(one.letter_id, one.content) for one in actions.replies] == [(letter_id, Pong((("Ann", 1),)))]


def test_when_writing_works_again_the_machine_resumes() -> None:
    desk = Desk()
    desk.order("note", "Ann")
    desk.fail()
    desk.store(desk.pump.storage_back(2.0))
    assert desk.clerk.resumed == 1
    letter_id, _ = desk.order("note", "Ben", now=3.0)
    assert [one.letter_id for one in desk.sync().replies] == [letter_id]
    assert desk.clerk.noted == ["Ben"]


@pytest.mark.parametrize("ending", [Desk.sync, Desk.fail])
def test_every_letter_gets_exactly_one_answer(ending: Callable[[Desk], Actions]) -> None:
    desk = Desk()
    answered: list[int] = []
    asked = []
    for place in range(6):
        letter_id, actions = desk.order("note" if place % 2 else "keep", "Ann", now=float(place))
        asked.append(letter_id)
        answered += [one.letter_id for one in actions.replies]
    answered += [one.letter_id for one in ending(desk).replies]
    answered += [one.letter_id for one in desk.pump.advance(100.0).replies]
    assert sorted(answered) == asked
