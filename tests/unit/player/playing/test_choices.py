"""Which question a call asks, how long there is for it, and how its time is read."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.player.playing.choices import options_of, seconds_of, turn_of
from league.protocol import timestamps
from league.protocol.message.envelope import unseal
from league.protocol.message.messages import ChooseParityCall, GameMoveCall
from tests.support.player_rig import Rig


def parity_call(**changed: object) -> ChooseParityCall:
    message = unseal(Rig().call() | changed).message
    assert isinstance(message, ChooseParityCall)
    return message


def move_call(context: Mapping[str, object], options: tuple[str, ...] = ("0", "4")) -> GameMoveCall:
    fields = Rig().move_call(1)
    request = {**fields["move_request"], "context": context, "valid_options": list(options)}
    message = unseal({**fields, "move_request": request}).message
    assert isinstance(message, GameMoveCall)
    return message


@pytest.mark.requirement("READING.all_timestamp_forms")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2025-01-15T10:30:00Z", 1736937000.0),
        ("2025-01-15T10:30:00+00:00", 1736937000.0),
        ("2025-01-15T10:30:00.25Z", 1736937000.25),
        ("20250115T10:30:00Z", 1736937000.0),
        ("20250115T103000.5+00:00Z", 1736937000.5),
    ],
)
def test_a_timestamp_in_any_form_is_a_moment(text: str, seconds: float) -> None:
    assert timestamps.is_compat(text)
    assert timestamps.read(text) == seconds


@given(st.integers(0, 4_000_000_000))
def test_what_was_written_is_read_again(seconds: int) -> None:
    assert timestamps.read(timestamps.write(seconds)) == seconds


def test_a_choice_of_parity_is_the_first_turn_and_there_are_two() -> None:
    assert turn_of(parity_call()) == 1
    assert options_of(parity_call()) == ("even", "odd")


def test_the_referee_numbers_the_turns_of_other_games() -> None:
    assert turn_of(move_call({"turn": 7, "board": []})) == 7
    assert options_of(move_call({}, ("1", "2"))) == ("1", "2")


def test_without_a_number_the_same_view_is_the_same_turn() -> None:
    seen = {"board": ["X", ""], "your_mark": "O"}
    again = {"your_mark": "O", "board": ["X", ""]}
    assert turn_of(move_call(seen)) == turn_of(move_call(again))
    assert turn_of(move_call(seen)) != turn_of(move_call({**seen, "board": ["X", "O"]}))
    assert turn_of(move_call({"turn": True})) != 1


@pytest.mark.parametrize(
    ("deadline", "seconds"),
    [
        ("2025-06-15T15:06:45Z", 5.0),
        ("2025-06-15T15:06:40.5Z", 0.5),
        ("2025-06-15T15:06:40Z", 30.0),
        ("2025-06-15T15:00:00Z", 30.0),
        ("2099-01-01T00:00:00Z", 3600.0),
    ],
)
def test_the_time_for_a_choice_is_what_lies_between_call_and_deadline(deadline: str, seconds: float) -> None:
    assert seconds_of(parity_call(deadline=deadline)) == seconds
