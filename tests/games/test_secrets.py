"""No view reveals a secret: what a seat is shown is the same in every state that it must not tell apart.

For each game, `twins` names the states that differ from the full state only in what a seat may not know. They are
compared after every step, in the whole question that a referee sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import pytest

from examples.games.nim import league_nim
from league.features.games import kuhn_poker
from league.features.games.sub_games import SubGames, SubGameState
from league.games import even_odd, registry
from league.games.contract import SEATS, Game, Seat, opponent
from league.games.even_odd import PARITIES, EvenOddState
from league.games.wire_fields import move_request

Twins = Callable[[Any, Seat], Iterator[Any]]
PLAYERS = ("P01", "P02")
MATCHES = 40


def nothing_is_hidden(_state: Any, _seat: Seat) -> Iterator[Any]:
    """Both players see everything that has happened."""
    return iter(())


def other_parities(state: EvenOddState, seat: Seat) -> Iterator[EvenOddState]:
    """Until the number is drawn, nobody knows the other's parity."""
    if state.choices is None or state.number is not None:
        return
    for parity in PARITIES:
        choices = [parity, parity]
        choices[seat] = state.choices[seat]
        yield EvenOddState((choices[0], choices[1]))


def other_deals(state: SubGameState, seat: Seat) -> Iterator[SubGameState]:
    """The other's card is known after a showdown only: neither during a hand nor after a fold."""
    hands = [*(game.state for game in state.finished), state.current][: kuhn_poker.HANDS]
    for number, hand in enumerate(hands):
        if hand.cards is None or hand.bets in kuhn_poker.ENDS:
            continue
        role = opponent(seat) if number % 2 else seat
        for deal, cards in enumerate(kuhn_poker.DEALS):
            if cards[role] == hand.cards[role] and cards != hand.cards:
                yield with_deal(state, number, deal)


def with_deal(state: SubGameState, hand: int, deal: int) -> SubGameState:
    """The same match, but for the cards of one hand."""
    rules = kuhn_poker.RULES
    changed = rules.start()
    deals = 0
    for step in state.history:
        if isinstance(step, int):
            changed = rules.draw(changed, deal if deals == hand else step)
            deals += 1
        else:
            changed = rules.play(changed, step)
    return changed


TWINS: Mapping[str, Twins] = {
    "even_odd": other_parities,
    "kuhn_poker": other_deals,
    "rock_paper_scissors": nothing_is_hidden,
    "tic_tac_toe": nothing_is_hidden,
    "connect_four": nothing_is_hidden,
    "cop_and_thief": nothing_is_hidden,
    "nim": nothing_is_hidden,
}


def states(game: Game, dice: Random) -> Iterator[Any]:
    """Every state of a random match, also those between two questions."""
    rules = game.rules
    state = rules.start()
    yield state
    while (mover := rules.to_move(state)).kind != "nobody":
        if mover.kind == "players":
            state = rules.play(state, {seat: dice.choice(rules.legal_moves(state, seat)) for seat in mover.seats})
        elif mover.weights:
            state = rules.draw(state, dice.randrange(len(mover.weights)))
        else:
            state = rules.draw(state, dice.randint(1, 10))
        yield state


def shown(game: Game, state: Any, seat: Seat) -> object:
    """All that a referee sends to a seat in this state, whether it is to move or not."""
    return game.rules.view(state, seat), move_request(game, state, seat, 1, [], PLAYERS)


@pytest.mark.parametrize("game", [*registry.every(), league_nim.GAME], ids=lambda game: game.name)
def test_a_seat_is_shown_the_same_in_all_states_that_it_must_not_tell_apart(game: Game) -> None:
    assert game.name in TWINS, "say in TWINS what the players of this game may not know"
    twins = TWINS[game.name]
    compared = 0
    for number in range(MATCHES):
        for state in states(game, Random(f"{game.name} {number}")):
            for seat in SEATS:
                for twin in twins(state, seat):
                    compared += twin != state
                    assert shown(game, twin, seat) == shown(game, state, seat), (state, twin)
    assert (compared > 0) == (twins is not nothing_is_hidden)


def test_a_view_that_shows_a_secret_is_found() -> None:
    """The comparison would see a card that is shown too early."""

    class Careless(kuhn_poker.KuhnHand):
        def view(self, state: kuhn_poker.Hand, seat: Seat) -> dict[str, object]:
            return {"cards": state.cards, "bets": list(state.bets)}

    rules = SubGames(Careless(), kuhn_poker.HANDS)
    dealt = rules.draw(rules.start(), 0)
    differ = [rules.view(twin, 0) != rules.view(dealt, 0) for twin in other_deals(dealt, 0)]
    assert differ == [True]


def test_before_the_draw_a_view_of_even_odd_names_the_own_choice_alone() -> None:
    state = EvenOddState(("even", "odd"))
    assert even_odd.GAME.rules.view(state, 0) == {"your_choice": "even"}
    assert even_odd.GAME.rules.view(state, 1) == {"your_choice": "odd"}
