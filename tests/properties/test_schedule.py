"""Schedules of every size: who meets whom, how often, on which side, and who rests."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.manager.season.schedule import Schedule, round_robin

sizes = st.integers(2, 99)


def players(count: int) -> list[str]:
    return [f"P{number:02d}" for number in range(1, count + 1)]


def meetings(schedule: Schedule) -> Counter[frozenset[str]]:
    return Counter(frozenset((one.player_a, one.player_b)) for pairings in schedule.rounds for one in pairings)


@pytest.mark.requirement("SCHEDULE.everybody_meets")
@given(count=sizes, double=st.booleans())
def test_every_pair_meets_exactly_as_often_as_the_format_says(count: int, double: bool) -> None:
    met = meetings(round_robin(players(count), double))
    assert len(met) == count * (count - 1) // 2
    assert set(met.values()) == {2 if double else 1}
    assert all(len(pair) == 2 for pair in met)


@given(count=sizes, double=st.booleans())
def test_nobody_plays_twice_in_a_round_and_only_the_bye_rests(count: int, double: bool) -> None:
    everybody = set(players(count))
    schedule = round_robin(players(count), double)
    for pairings, bye in zip(schedule.rounds, schedule.byes, strict=True):
        seats = [player for one in pairings for player in (one.player_a, one.player_b)]
        assert len(seats) == len(set(seats))
        assert everybody - set(seats) == ({bye} if bye else set())
        assert (bye is None) == (count % 2 == 0)


@pytest.mark.requirement("SCHEDULE.bye")
@given(count=sizes.filter(lambda count: count % 2 == 1), double=st.booleans())
def test_with_an_odd_number_everybody_rests_equally_often(count: int, double: bool) -> None:
    byes = Counter(round_robin(players(count), double).byes)
    assert set(byes) == set(players(count))
    assert set(byes.values()) == {2 if double else 1}


@given(count=sizes.filter(lambda count: count != 4))
def test_sides_are_balanced_within_one_after_every_round(count: int) -> None:
    """But for the schedule of four, which is the documents' own."""
    balance: Counter[str] = Counter()
    for pairings in round_robin(players(count)).rounds:
        for one in pairings:
            balance[one.player_a] += 1
            balance[one.player_b] -= 1
        assert all(abs(value) <= 1 for value in balance.values())


@given(count=sizes)
def test_the_second_half_is_the_first_with_the_sides_swapped(count: int) -> None:
    rounds = round_robin(players(count), double=True).rounds
    half = len(rounds) // 2
    for first, second in zip(rounds[:half], rounds[half:], strict=True):
        assert [(one.player_a, one.player_b) for one in first] == [(one.player_b, one.player_a) for one in second]


@given(count=sizes, double=st.booleans(), rounds=st.integers(1, 250))
def test_fewer_rounds_are_the_first_ones(count: int, double: bool, rounds: int) -> None:
    whole, short = round_robin(players(count), double), round_robin(players(count), double, rounds)
    assert short.rounds == whole.rounds[:rounds]
    assert short.byes == whole.byes[:rounds]


@given(count=sizes)
def test_matches_are_named_by_round_and_place(count: int) -> None:
    for round_id, pairings in enumerate(round_robin(players(count)).rounds, start=1):
        assert [one.match_id for one in pairings] == [f"R{round_id}M{place}" for place in range(1, len(pairings) + 1)]


@pytest.mark.requirement("SCHEDULE.of_four")
def test_the_schedule_of_four_is_that_of_the_documents() -> None:
    rounds = round_robin(players(4)).rounds
    assert [[(one.match_id, one.player_a, one.player_b) for one in pairings] for pairings in rounds] == [
        [("R1M1", "P01", "P02"), ("R1M2", "P03", "P04")],
        [("R2M1", "P01", "P03"), ("R2M2", "P02", "P04")],
        [("R3M1", "P01", "P04"), ("R3M2", "P02", "P03")],
    ]


def test_in_a_double_league_of_four_the_sides_are_balanced_at_the_end() -> None:
    balance: Counter[str] = Counter()
    for pairings in round_robin(players(4), double=True).rounds:
        balance.update(one.player_a for one in pairings)
        balance.subtract(one.player_b for one in pairings)
    assert set(balance.values()) == {0}


@pytest.mark.requirement("SCHEDULE.first_match")
@given(count=sizes, double=st.booleans())
def test_the_first_match_is_that_of_the_first_two_players(count: int, double: bool) -> None:
    first = round_robin(players(count), double).rounds[0][0]
    assert (first.match_id, first.player_a, first.player_b) == ("R1M1", "P01", "P02")
