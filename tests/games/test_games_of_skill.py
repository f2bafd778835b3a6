"""The games of skill: what their rules promise, how their strategies play, and that no view tells a secret."""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from league.cli.main import main
from league.features.experiments.tournament import tournament
from league.features.games import connect_four, cop_and_thief, kuhn_poker
from league.features.games.checking import check
from league.features.games.sub_games import SubGames
from league.games import registry
from league.games.contract import SEATS, Game, Seat, opponent
from league.games.moves import MoveWire
from league.games.wire_fields import move_request
from league.player.strategies import Turn
from league.terminal import CommandError

PLAYERS = ("P01", "P02")


def after(game: Game, *steps: Any) -> Any:
    """The state after these moves (one text each, in turns) and draws (numbers)."""
    state = game.rules.start()
    for step in steps:
        if isinstance(step, int):
            state = game.rules.draw(state, step)
        elif isinstance(step, dict):
            state = game.rules.play(state, step)
        else:
            (seat,) = game.rules.to_move(state).seats
            state = game.rules.play(state, {seat: step})
    return state


def turn_for(game: Game, state: Any, seat: Seat, chance: bytes = b"x") -> Turn:
    request: Any = move_request(game, state, seat, 1, (), PLAYERS)
    return Turn(
        game.name,
        "R1M1",
        PLAYERS[opponent(seat)],
        tuple(request["valid_options"]),
        chance,
        view=request["context"],
        role=request.get("role", ""),
    )


# --- Connect Four -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        ("1212121", {(2, 0), (3, 0), (4, 0), (5, 0)}),
        ("1122334", {(5, 0), (5, 1), (5, 2), (5, 3)}),
        ("12233434464", {(5, 0), (4, 1), (3, 2), (2, 3)}),
        ("76655454424", {(5, 6), (4, 5), (3, 4), (2, 3)}),
    ],
)
def test_four_in_a_row_win_in_every_direction(columns: str, cells: set[tuple[int, int]]) -> None:
    state = after(connect_four.GAME, *columns)
    outcome = connect_four.RULES.outcome(state)
    assert outcome is not None
    assert outcome.winner == 0
    assert connect_four.winning_cells(state) == cells
    assert connect_four.RULES.outcome(after(connect_four.GAME, *columns[:-1])) is None


def test_four_never_reach_around_an_edge() -> None:
    # Red fills the top of column 1 and the bottom of column 2: neighbors in the numbers, not on the board.
    state = after(connect_four.GAME, *"2121211")
    assert connect_four.RULES.outcome(state) is None


def test_a_column_takes_six_discs() -> None:
    state = after(connect_four.GAME, *"111111")
    assert "1" not in connect_four.RULES.legal_moves(state, 0)


def test_the_search_wins_and_stops_wins() -> None:
    winning = after(connect_four.GAME, *"112233")
    assert connect_four.search(turn_for(connect_four.GAME, winning, 0)) == "4"
    threatened = after(connect_four.GAME, *"4141")
    assert connect_four.search(turn_for(connect_four.GAME, after(connect_four.GAME, *"41424"), 1)) == "4"
    assert connect_four.search(turn_for(connect_four.GAME, threatened, 0)) in connect_four.NAMES


# --- Kuhn poker -------------------------------------------------------------------------------------------------------

BETS = [
    (),
    ("check",),
    ("bet",),
    ("check", "bet"),
    ("check", "check"),
    ("bet", "call"),
    ("bet", "fold"),
    ("check", "bet", "call"),
    ("check", "bet", "fold"),
]


def test_no_view_tells_the_card_of_the_other_before_a_showdown() -> None:
    """Both seats, every deal and every course of a hand: states that differ in the other's card alone look the same."""
    game = kuhn_poker.GAME
    for cards, bets, hand_seat in product(kuhn_poker.DEALS, BETS, SEATS):
        (third,) = set(kuhn_poker.CARDS) - set(cards)
        other_cards = (cards[0], third) if hand_seat == 0 else (third, cards[1])
        deals = [kuhn_poker.DEALS.index(cards), kuhn_poker.DEALS.index(other_cards)]
        # In the first hand seats and roles are the same; in the second they are swapped.
        for before, seat in (((), hand_seat), ((0, "bet", "fold"), opponent(hand_seat))):
            first, second = (seen(game, after(game, *before, deal, *bets), seat) for deal in deals)
            assert (first == second) == (bets not in kuhn_poker.ENDS)


def seen(game: Game, state: Any, seat: Seat) -> str:
    """All that a seat is shown, as text."""
    view = game.rules.view(state, seat)
    return json.dumps([view, game.wire.move_request(state, seat), game.rules.role(state, seat)])


def twin(state: Any, seat: Seat) -> Any:
    """The same match, but for the card that the other player holds now."""
    hand, is_swapped = kuhn_poker.RULES.shown(state)
    if hand is not state.current or hand.cards is None:
        return None
    hand_seat = opponent(seat) if is_swapped else seat
    (third,) = set(kuhn_poker.CARDS) - set(hand.cards)
    cards = (hand.cards[0], third) if hand_seat == 0 else (third, hand.cards[1])
    return replace(state, current=replace(hand, cards=cards))


def test_no_view_in_a_whole_match_tells_a_secret() -> None:
    check(kuhn_poker.GAME, matches=50, twin=twin)


def test_a_view_that_tells_a_secret_is_found() -> None:
    class Leaking(kuhn_poker.KuhnHand):
        def view(self, state: kuhn_poker.Hand, seat: Seat) -> dict[str, object]:
            return {**super().view(state, seat), "cards": list(state.cards or ())}

    rules = SubGames(Leaking(), 2)
    game = Game("leaking", rules, MoveWire(rules), turns=6, scoring=kuhn_poker.GAME.scoring)
    with pytest.raises(AssertionError, match="tells it a secret"):
        check(game, matches=1, twin=twin)


def test_every_game_keeps_the_contract() -> None:
    for game in registry.every():
        check(game, matches=10)


def test_a_showdown_is_seen_by_both_in_the_next_hand() -> None:
    state = after(kuhn_poker.GAME, kuhn_poker.DEALS.index(("K", "J")), "bet", "call", 0)
    for seat, own, other, chips in ((0, "K", "J", 2.0), (1, "J", "K", -2.0)):
        last: Any = kuhn_poker.RULES.view(state, seat)["last_game"]
        assert (last["your_card"], last["opponent_card"], last["returns"]["you"]) == (own, other, chips)


def test_a_folded_hand_stays_hidden() -> None:
    state = after(kuhn_poker.GAME, kuhn_poker.DEALS.index(("K", "J")), "bet", "fold", 0)
    last: Any = kuhn_poker.RULES.view(state, 1)["last_game"]
    assert "opponent_card" not in last


@pytest.mark.parametrize(
    ("cards", "bets", "chips"),
    [
        (("K", "J"), ("check", "check"), 1),
        (("Q", "K"), ("bet", "call"), -2),
        (("J", "K"), ("bet", "fold"), 1),
        (("K", "J"), ("check", "bet", "fold"), -1),
        (("Q", "J"), ("check", "bet", "call"), 2),
    ],
)
def test_a_hand_is_worth_one_chip_or_two(cards: tuple[str, str], bets: tuple[str, ...], chips: int) -> None:
    rules = kuhn_poker.KuhnHand()
    state = rules.draw(rules.start(), kuhn_poker.DEALS.index(cards))
    state = replace(state, bets=bets)
    outcome = rules.outcome(state)
    assert outcome is not None
    assert outcome.returns == (chips, -chips)


def test_nobody_can_exploit_the_equilibrium() -> None:
    """The best answer to it gains nothing beyond the value of the game, 1/18 of a chip for the second player."""
    values = {}
    for seat in SEATS:
        total = 0.0
        for cards in kuhn_poker.CARDS:
            deals = [deal for deal in kuhn_poker.DEALS if deal[seat] == cards]
            total += _best_answer(dict.fromkeys(deals, 1.0), (), seat)
        values[seat] = total / len(kuhn_poker.DEALS)
    assert values[0] == pytest.approx(-1 / 18)
    assert values[1] == pytest.approx(1 / 18)


def _best_answer(deals: dict[tuple[str, str], float], bets: tuple[str, ...], seat: Seat) -> float:
    """What the best player in this seat gets from these deals, each with the probability that it leads here."""
    rules = kuhn_poker.KuhnHand()
    states = {deal: kuhn_poker.Hand(deal, bets) for deal in deals}
    first = next(iter(states.values()))
    if rules.outcome(first) is not None:
        total = 0.0
        for deal, state in states.items():
            outcome = rules.outcome(state)
            assert outcome is not None
            total += deals[deal] * outcome.returns[seat]
        return total
    mover = len(bets) % 2
    moves = rules.legal_moves(first, mover)
    if mover == seat:
        return max(_best_answer(deals, (*bets, move), seat) for move in moves)
    total = 0.0
    for move in moves:
        reached = {}
        for deal, probability in deals.items():
            bold = kuhn_poker.AGGRESSION[deal[mover], bets]
            reached[deal] = probability * (bold if move in ("bet", "call") else 1 - bold)
        total += _best_answer(reached, (*bets, move), seat)
    return total


def test_the_equilibrium_player_ranks_above_random_by_chips() -> None:
    result = tournament(["random", "equilibrium"], game="kuhn_poker", meetings=400, seed=3, jobs=1)
    first, second = result.standings
    assert first["strategy"] == "equilibrium"
    assert first["return_per_match"] > 0 > second["return_per_match"]
    assert first["points_per_match"] == pytest.approx(20 + first["return_per_match"])


# --- cop and thief ----------------------------------------------------------------------------------------------------


def test_roles_swap_after_each_game_and_points_follow_the_table() -> None:
    game = cop_and_thief.GAME
    start = cop_and_thief.STARTS.index((4, 1))
    state = after(game, start)
    assert [game.rules.role(state, seat) for seat in SEATS] == ["cop", "thief"]
    for _ in range(cop_and_thief.STEPS):
        state = game.rules.play(state, {0: "stay", 1: "stay"})
    assert cop_and_thief.RULES.returns(state) == (5, 10)
    assert game.rules.to_move(state).kind == "chance"
    state = game.rules.draw(state, start)
    assert [game.rules.role(state, seat) for seat in SEATS] == ["thief", "cop"]
    # Now the second player is the cop and walks to the thief, who stays.
    for step in ("south",) * 4 + ("east",):
        state = game.rules.play(state, {0: "stay", 1: step})
    assert cop_and_thief.RULES.returns(state) == (5 + 5, 10 + 20)


def test_a_cop_catches_a_thief_that_passes_through_it() -> None:
    rules = cop_and_thief.CopAndThief()
    state = cop_and_thief.Chase(((0, 0),), ((0, 1),))
    state = rules.play(state, {0: "east", 1: "west"})
    assert state.is_caught


def test_the_chase_beats_random() -> None:
    result = tournament(["random", "chase"], game="cop_and_thief", meetings=20, seed=3, jobs=1)
    assert result.standings[0]["strategy"] == "chase"
    assert result.standings[0]["wins"] == 20


def test_six_games_give_everybody_the_same_roles() -> None:
    rules = cop_and_thief.RULES
    dice = Random(5)
    state = rules.start()
    roles: list[str] = []
    while (mover := rules.to_move(state)).kind != "nobody":
        if mover.kind == "chance":
            state = rules.draw(state, dice.randrange(len(mover.weights)))
            roles.append(rules.role(state, 0))
        else:
            state = rules.play(state, {seat: dice.choice(rules.legal_moves(state, seat)) for seat in mover.seats})
    assert roles == ["cop", "thief"] * 3


def test_a_match_has_at_least_one_game() -> None:
    with pytest.raises(ValueError, match="at least one"):
        SubGames(kuhn_poker.KuhnHand(), 0)


# --- the list, and strategies that do not fit -------------------------------------------------------------------------


def test_league_games_lists_what_can_be_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) >= {"even_odd", "rock_paper_scissors", "tic_tac_toe", "connect_four", "kuhn_poker"}
    poker = rows["kuhn_poker"]
    assert (poker["title"], poker["package"]) == ("Kuhn poker", "agent-league")
    assert (poker["seats"], poker["chance"], poker["turns"], poker["scoring"]) == (2, True, 30, "margin")
    assert not rows["connect_four"]["chance"]
    assert rows["cop_and_thief"]["simultaneous"]
    assert main(["games"]) == 0
    assert "connect_four" in capsys.readouterr().out


def test_a_strategy_that_does_not_fit_a_game_is_refused_in_words() -> None:
    with pytest.raises(CommandError, match="'search' does not play even_odd; it plays tic_tac_toe, connect_four"):
        tournament(["search", "random"], game="even_odd", meetings=1, jobs=1)


def test_every_strategy_of_a_game_plays_legal_moves_to_the_end() -> None:
    for game in registry.every():
        for name in game.strategies:
            result = tournament([name, "random"], game=game.name, meetings=4, seed=1, jobs=1)
            assert not result.document["failures"], (game.name, name)
