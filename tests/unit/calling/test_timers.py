"""Named timers."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from league.calling.timers import Timers


def test_timers_expire_in_order_and_a_name_has_one_only() -> None:
    timers, rang = Timers(), list[tuple[str, float]]()
    for name, at in (("b", 2.0), ("a", 1.0), ("c", 3.0), ("a", 2.5)):
        timers.set(name, at, lambda now, name=name: rang.append((name, now)))  # type: ignore[misc]
    assert timers.next == 2.0
    timers.run(2.6)
    assert [name for name, _ in rang] == ["b", "a"]
    assert (timers.next, timers.is_set("c"), timers.is_set("a")) == (3.0, True, False)
    timers.clear("c")
    assert timers.next is None


def test_a_timer_set_while_others_expire_is_acted_on_too_if_it_is_due() -> None:
    timers, rang = Timers(), list[float]()

    def again(left: int, now: float) -> None:
        rang.append(now)
        if left:
            timers.set("again", now, partial(again, left - 1))

    timers.set("again", 1.0, partial(again, 2))
    timers.run(1.0)
    assert rang == [1.0] * 3


def test_a_timer_set_again_for_the_same_moment_does_what_it_was_told_last() -> None:
    timers, rang = Timers(), list[str]()
    for word in ("first", "last"):
        timers.set("a", 1.0, lambda _, word=word: rang.append(word))  # type: ignore[misc]
    timers.run(1.0)
    assert (rang, timers.next, timers.is_set("a")) == (["last"], None, False)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(1, 5)), max_size=30), st.integers(0, 5))
def test_the_next_timer_is_the_earliest_of_those_that_are_set(told: list[tuple[str, int | None]], now: int) -> None:
    timers, right, rang = Timers(), dict[str, int](), list[str]()
    for name, at in told:
        if at is None:
            timers.clear(name)
            right.pop(name, None)
        else:
            timers.set(name, at, lambda _, name=name: rang.append(name))  # type: ignore[misc]
            right[name] = at
        assert timers.next == min(right.values(), default=None)
    timers.run(now)
    assert sorted(rang) == sorted(name for name, at in right.items() if at <= now)
    assert timers.next == min((at for at in right.values() if at > now), default=None)
