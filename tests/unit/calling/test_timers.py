"""Named timers."""

from __future__ import annotations

from functools import partial

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
