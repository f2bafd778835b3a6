"""What the built-in strategies choose."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from league.player import strategies
from league.player.history import PastMatch
from league.player.strategies import Turn

PARITIES = ("even", "odd")


def past(opponent_choice: str | None, opponent: str = "P02", game: str = "even_odd", **changed: Any) -> PastMatch:
    row: dict[str, Any] = {
        "match_id": "R1M1",
        "game_type": game,
        "attempt": 1,
        "opponent_id": opponent,
        "role": "PLAYER_A",
        "status": "DRAW",
        "winner": None,
        "my_choice": "even",
        "opponent_choice": opponent_choice,
        "drawn_number": 4,
        "number_parity": "even",
        "game_result": {},
    }
    return PastMatch(**(row | changed))


def turn(history: list[PastMatch] | None = None, chance: bytes = bytes(32), **changed: Any) -> Turn:
    asked: dict[str, Any] = {
        "game_type": "even_odd",
        "match_id": "R2M1",
        "opponent_id": "P02",
        "options": PARITIES,
        "chance": chance,
        "history": history or [],
    }
    return Turn(**(asked | changed))


def choice_of(name: str, asked: Turn) -> str:
    strategy = strategies.find(name)
    assert strategy is not None
    return strategy.choose(asked)


def test_the_promised_strategies_are_there() -> None:
    assert strategies.known() == ("random", "always_even", "always_odd", "alternate", "mirror", "frequency")
    assert all(strategies.about(name) for name in strategies.known())


def test_an_unknown_name_is_no_strategy() -> None:
    assert strategies.find("perfect") is None


def test_random_takes_each_option_about_as_often_and_depends_on_chance_alone() -> None:
    dice = Random(7)
    chosen = Counter(choice_of("random", turn(chance=dice.randbytes(32))) for _ in range(1000))
    assert 400 < chosen["even"] < 600
    assert choice_of("random", turn(chance=b"x" * 32)) == choice_of("random", turn([past("odd")], chance=b"x" * 32))


def test_always_even_and_always_odd_are_what_they_say() -> None:
    assert choice_of("always_even", turn([past("even")])) == "even"
    assert choice_of("always_odd", turn([past("odd")])) == "odd"


def test_alternate_changes_with_every_match_of_the_game() -> None:
    rows = [past("odd"), past("odd"), past("rock", game="rock_paper_scissors"), past("odd")]
    assert [choice_of("alternate", turn(rows[:count])) for count in range(5)] == ["even", "odd", "even", "even", "odd"]


def test_mirror_repeats_the_last_choice_of_this_opponent() -> None:
    rows = [past("even"), past("odd"), past("even", opponent="P03"), past(None)]
    assert choice_of("mirror", turn(rows)) == "odd"


@pytest.mark.parametrize("chance", [bytes(32), b"\1" * 32])
def test_mirror_leaves_a_first_meeting_to_chance(chance: bytes) -> None:
    assert choice_of("mirror", turn(chance=chance)) == choice_of("random", turn(chance=chance))


@pytest.mark.parametrize(("favourite", "answer"), [("even", "odd"), ("odd", "even")])
def test_frequency_differs_from_the_opponents_favourite(favourite: str, answer: str) -> None:
    rows = [past("even"), past("odd"), past(favourite), *[past(answer, opponent="P03")] * 5]
    assert choice_of("frequency", turn(rows, chance=b"\0" * 32)) == answer
    assert choice_of("frequency", turn(rows, chance=b"\1" * 32)) == answer


@pytest.mark.parametrize("rows", [[], [past("even"), past("odd")]])
def test_frequency_without_a_favourite_leaves_it_to_chance(rows: list[PastMatch]) -> None:
    chosen = {choice_of("frequency", turn(rows, chance=bytes([byte] * 32))) for byte in (0, 1)}
    assert chosen == set(PARITIES)


def test_differing_pays_more_than_agreeing_in_even_odd() -> None:
    # Why `frequency` differs: over all ten numbers, equal choices make 1 point, different ones 1.5 on average.
    agreeing = [1 for _ in range(1, 11)]
    differing = [3 if number % 2 == 0 else 0 for number in range(1, 11)]
    assert sum(differing) / 10 == 1.5 > sum(agreeing) / 10


@pytest.mark.parametrize("name", strategies.known())
def test_with_nothing_to_choose_from_there_is_no_choice(name: str) -> None:
    with pytest.raises(ValueError, match="nothing to choose"):
        choice_of(name, turn(options=()))


@pytest.mark.requirement("MOVE.valid_option")
@pytest.mark.parametrize("name", strategies.known())
@given(
    options=st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=9, unique=True),
    rows=st.lists(st.builds(past, st.none() | st.sampled_from(["even", "odd", "rock", "0"])), max_size=5),
    chance=st.binary(min_size=32, max_size=32),
    number=st.integers(1, 9),
)
def test_every_strategy_is_legal_in_every_game(
    name: str, options: list[str], rows: list[PastMatch], chance: bytes, number: int
) -> None:
    asked = turn(rows, chance, options=tuple(options), number=number)
    assert choice_of(name, asked) in options
    assert choice_of(name, asked) == choice_of(name, asked)


def test_a_turn_has_a_generator_that_is_seeded_with_its_chance() -> None:
    first = Turn("even_odd", "R1M1", "P02", ("even", "odd"), b"chance")
    same = Turn("even_odd", "R1M1", "P02", ("even", "odd"), b"chance")
    numbers = [first.random.random() for _ in range(3)]
    assert numbers == [same.random.random() for _ in range(3)]
    assert len(set(numbers)) == 3, "it goes on from number to number"
    other = structs.replace(first, chance=b"another")
    assert other.random.random() not in numbers
    assert first == same
