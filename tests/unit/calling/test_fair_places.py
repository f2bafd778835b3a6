"""Places are shared: whoever asks most leaves half of them to others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from league.calling.fair_places import FairPlaces


def test_one_address_gets_half_of_the_places() -> None:
    places = FairPlaces(8)
    assert [places.take("greedy") for _ in range(6)] == [True] * 4 + [False] * 2
    assert places.take("other")
    assert places.taken == 5


def test_many_addresses_may_take_all() -> None:
    places = FairPlaces(8)
    assert all(places.take(f"10.0.0.{number}") for number in range(8))
    assert not places.take("10.0.0.9")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans())))
def test_there_is_always_room_for_a_newcomer_until_seven_addresses_came(deeds: list[tuple[str, bool]]) -> None:
    places = FairPlaces(64)
    held = {"a": 0, "b": 0, "c": 0}
    for address, comes in deeds:
        if comes:
            held[address] += places.take(address)
        elif held[address]:
            places.leave(address)
            held[address] -= 1
    assert places.taken == sum(held.values())
    assert places.has_room("newcomer")
