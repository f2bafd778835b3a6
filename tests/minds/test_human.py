"""A person as a strategy."""

from __future__ import annotations

import io

import pytest

from league.features.minds.human import Human
from league.hosting.member.players import load
from league.player.strategies import Turn

TURN = Turn("even_odd", "R1M1", "P02", ("even", "odd"), bytes(32), view={"round_id": 1})


def test_a_person_is_asked_until_the_answer_is_an_option() -> None:
    said = io.StringIO()
    assert Human(io.StringIO("Even\n\nodd\n"), said).choose(TURN) == "odd"
    assert said.getvalue().count("your choice (even, odd)") == 3
    assert "R1M1 against P02" in said.getvalue()
    assert "round_id: 1" in said.getvalue()


def test_who_closes_the_terminal_gives_up() -> None:
    with pytest.raises(EOFError):
        Human(io.StringIO(""), io.StringIO()).choose(TURN)


def test_the_command_knows_the_human() -> None:
    assert isinstance(load("human").strategy, Human)
