"""No view reveals a secret: a seat is shown the same in any two states that its information state does not tell apart.

Random matches are played until many such pairs have come. Games without information states are OpenSpiel's observation
of the seat and nothing else.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from league.games import registry
from league.games.contract import SEATS
from league_openspiel.family import names

MATCHES = 400
ENOUGH = 500
QUICK = ("kuhn_poker", "leduc_poker", "phantom_ttt", "liars_dice", "sheriff", "first_sealed_auction", "dark_hex")


def rules_of(name: str) -> Any:
    game = registry.find(name)
    assert game is not None
    return game.rules


HIDDEN = [name for name in names() if not rules_of(name).is_open]
WITH_STATES = [name for name in HIDDEN if rules_of(name).kind.provides_information_state_string]
VIEWS_ALONE = [name for name in HIDDEN if name not in WITH_STATES]
RARELY_MET = ("spiel:cribbage",)
"""In random matches no information state comes twice."""


def states_of(name: str, matches: int) -> Any:
    rules = rules_of(name)
    for number in range(matches):
        dice = Random(f"{name} {number}")
        state = rules.start()
        while (mover := rules.to_move(state)).kind != "nobody":
            yield state
            if mover.kind == "chance":
                state = rules.draw(state, dice.choices(range(len(mover.weights)), mover.weights)[0])
            else:
                state = rules.play(state, {seat: dice.choice(rules.legal_moves(state, seat)) for seat in mover.seats})


def in_suites(name: str) -> Any:
    return pytest.param(name, marks=() if name.partition(":")[2] in QUICK else pytest.mark.deep)


@pytest.mark.parametrize("name", [in_suites(name) for name in WITH_STATES])
def test_a_seat_is_shown_the_same_wherever_it_knows_the_same(name: str) -> None:
    game = registry.find(name)
    assert game is not None
    shown: dict[object, str] = {}
    compared = 0
    for state in states_of(name, MATCHES):
        if state.mover.kind == "chance":
            continue
        for seat in SEATS:
            known = (seat, seat in state.mover.seats, state.spiel.information_state_string(seat))
            question = json.dumps([game.rules.view(state, seat), game.wire.move_request(state, seat)])
            compared += known in shown
            assert shown.setdefault(known, question) == question
        if compared > ENOUGH:
            break
    assert compared > 10 or name in RARELY_MET


@pytest.mark.parametrize("name", VIEWS_ALONE)
def test_without_information_states_a_seat_is_shown_its_observation_and_its_options(name: str) -> None:
    rules = rules_of(name)
    for _, state in zip(range(60), states_of(name, 1), strict=False):
        if state.mover.kind == "chance":
            continue
        for seat in SEATS:
            view = rules.view(state, seat)
            assert view["observation"] == state.spiel.observation_string(seat)
            assert view.keys() == {"player", "legal_actions", "observation"}
            assert (view["legal_actions"] == []) == (seat not in state.mover.seats)


def test_a_game_with_secrets_has_no_public_history() -> None:
    for name in HIDDEN:
        game: Any = registry.find(name)
        assert not game.wire.public_history
        assert "actions" not in game.rules.view(game.rules.start(), 0)
