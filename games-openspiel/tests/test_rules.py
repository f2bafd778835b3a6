"""OpenSpiel's games keep the contract of the league, and are the same games as ours where both have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from random import Random
from typing import Any

import pyspiel
import pytest

from league.features.games.checking import check
from league.games import registry, rock_paper_scissors
from league.games.boards import Picture, Piece, picture
from league.games.contract import Game, Rules
from league_openspiel.family import listed_obstacle, names

QUICK = ("connect_four", "leduc_poker", "goofspiel", "pig", "matrix_pd", "hanabi", "battleship", "snake")
PARAMETERS = (
    "spiel:goofspiel(num_cards=5)",
    "spiel:repeated_game(stage_game=matrix_pd(),num_repetitions=10)",
    "spiel:misere(game=tic_tac_toe())",
    "spiel:turn_based_simultaneous_game(game=goofspiel(num_cards=4))",
    "spiel:leduc_poker(tensor=true)",
)


def found(name: str) -> Game:
    game = registry.find(name)
    assert game is not None, registry.why_unknown(name)
    return game


def in_suites(name: str) -> Any:
    """A game that `make test` plays, or one for `make test-deep`."""
    short_name = name.partition(":")[2].partition("(")[0]
    return pytest.param(name, marks=() if short_name in QUICK else pytest.mark.deep)


def test_at_least_eighty_games_are_listed_and_every_other_one_has_a_reason() -> None:
    listed = {name.partition(":")[2].partition("(")[0] for name in names()}
    assert len(listed) >= 80
    for kind in pyspiel.registered_games():
        assert (kind.short_name in listed) != bool(listed_obstacle(kind)) or kind.short_name == "crazy_eights"


@pytest.mark.parametrize("name", [*map(in_suites, names()), *PARAMETERS])
def test_a_game_keeps_the_contract(name: str) -> None:
    check(found(name), matches=2)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("spiel:ches", "OpenSpiel has no game 'ches'; did you mean chess?"),
        ("spiel:hearts", "hearts cannot be played in a league: it has 4 players, not two"),
        ("spiel:kuhn_poker(players=3)", "it has 3 players"),
        ("spiel:negotiation", "its chance is drawn inside OpenSpiel"),
        ("spiel:mfg_garnet", "a mean-field game"),
        ("spiel:chess(foo=1)", "Unknown parameter 'foo'"),
        ("spiel:go(", "Missing closing bracket"),
        ("spiel:misere", "Missing parameter game"),
        ("spiel:goofspiel(num_cards=-1)", "at least one turn"),
        ("spiel:efg_game(filename=/etc/passwd)", "name no file"),
        ("spiel:misere(game=efg_game(filename=/etc/passwd))", "name no file"),
        ("spiel:hive(tensor=true)", "does not fit into a question"),
    ],
)
def test_a_game_that_cannot_be_played_says_why(name: str, reason: str) -> None:
    assert registry.find(name) is None
    assert reason in registry.why_unknown(name)


def test_a_game_without_winners_is_scored_by_its_returns() -> None:
    assert found("spiel:matrix_pd").scoring.by_margin
    assert found("spiel:hanabi").scoring.most == 25
    assert not found("spiel:chess").scoring.by_margin


def test_options_with_the_same_long_words_are_told_by_the_others() -> None:
    rules = found("spiel:battleship").rules
    options = rules.legal_moves(rules.start(), 0)
    assert "horizontally (0, 0)" in options
    assert len(set(options)) == len(options)


# --- the same game twice ----------------------------------------------------------------------------------------------


def test_our_connect_four_and_theirs_are_one_game() -> None:
    twins("connect_four", "spiel:connect_four", lambda action: str(action + 1))


def test_our_tic_tac_toe_and_theirs_are_one_game() -> None:
    twins("tic_tac_toe", "spiel:tic_tac_toe", lambda action: str(action))


def test_our_rock_paper_scissors_and_theirs_are_one_game() -> None:
    shapes = ("rock", "paper", "scissors")
    for first, second in ((first, second) for first in range(3) for second in range(3)):
        ours = rock_paper_scissors.best_of(1).rules
        theirs = found("spiel:matrix_rps").rules
        words = [list(theirs.start().options[seat]) for seat in (0, 1)]
        our_end = ours.play(ours.start(), {0: shapes[first], 1: shapes[second]})
        their_end = theirs.play(theirs.start(), {0: words[0][first], 1: words[1][second]})
        assert returns(ours, our_end) == returns(theirs, their_end)


def test_our_hand_of_kuhn_poker_and_theirs_are_one_game() -> None:
    from league.features.games.kuhn_poker import CARDS, DEALS, KuhnHand

    ours = KuhnHand()
    theirs = found("spiel:kuhn_poker").rules
    dice = Random(1)
    for deal, cards in [(deal, cards) for deal, cards in enumerate(DEALS) for _ in range(10)]:
        our_hand = ours.draw(ours.start(), deal)
        their_hand = theirs.start()
        for card in cards:
            dealt = [action for action, _ in their_hand.spiel.chance_outcomes()]
            their_hand = theirs.draw(their_hand, dealt.index(CARDS.index(card)))
        while seats := ours.to_move(our_hand).seats:
            assert theirs.to_move(their_hand).seats == seats
            (seat,) = seats
            # Theirs are "Pass" and "Bet": to fold is to pass, to call is to bet.
            careful_first = sorted(ours.legal_moves(our_hand, seat), key=("check", "fold", "bet", "call").index)
            assert len(careful_first) == len(their_hand.options[seat]) == 2
            action = dice.randrange(2)
            our_hand = ours.play(our_hand, {seat: careful_first[action]})
            their_hand = theirs.play(their_hand, {seat: list(their_hand.options[seat])[action]})
        assert returns(ours, our_hand) == returns(theirs, their_hand)


def returns(rules: Rules[Any], end: Any) -> tuple[float, ...]:
    outcome = rules.outcome(end)
    assert outcome is not None
    return outcome.returns


def twins(ours_name: str, theirs_name: str, our_word: Callable[[int], str]) -> None:
    """Play the same random moves in both, and compare legal moves and returns."""
    ours = found(ours_name).rules
    theirs = found(theirs_name).rules
    dice = Random(1)
    for _ in range(30):
        our_state = ours.start()
        their_state = theirs.start()
        while seats := ours.to_move(our_state).seats:
            assert theirs.to_move(their_state).seats == seats
            (seat,) = seats
            words = {our_word(action): word for word, action in their_state.options[seat].items()}
            assert set(words) == set(ours.legal_moves(our_state, seat))
            move = dice.choice(sorted(words))
            our_state = ours.play(our_state, {seat: move})
            their_state = theirs.play(their_state, {seat: words[move]})
        assert returns(ours, our_state) == returns(theirs, their_state)


# --- boards -----------------------------------------------------------------------------------------------------------


def boards(name: str, moves: int, seed: int | None = None) -> Iterator[Picture]:
    """The boards of a match, in which everybody makes the first legal move, or any."""
    game = found(name)
    state = game.rules.start()
    choose = itemgetter(0) if seed is None else Random(seed).choice
    assert game.board is not None
    yield picture(game.board(state))
    for _ in range(moves):
        if not game.rules.to_move(state).seats:
            return
        (seat,) = game.rules.to_move(state).seats
        state = game.rules.play(state, {seat: choose(game.rules.legal_moves(state, seat))})
        yield picture(game.board(state))


def board_after(name: str, moves: int) -> Picture:
    return list(boards(name, moves))[-1]


def names_in(shown: Picture, row: int) -> list[str]:
    """What is in a row, in words."""
    return [piece if isinstance(piece, str) else piece.name for piece in shown.cells[row]]


def test_a_grid_is_shown_with_marks() -> None:
    shown = board_after("spiel:connect_four", 2)
    assert [len(row) for row in shown.cells] == [7] * 6
    assert [names_in(shown, row)[0] for row in range(6)] == ["", "", "", "", "white", "black"]


def test_a_board_of_chess_has_its_pieces() -> None:
    shown = board_after("spiel:chess", 0)
    assert shown.surface == "checkered"
    assert [len(row) for row in shown.cells] == [8] * 8
    assert names_in(shown, 0)[:2] == ["black rook", "black knight"]
    assert names_in(shown, 3) == [""] * 8
    assert names_in(shown, 7)[4] == "white king"


@pytest.mark.parametrize("name", ["spiel:othello", "spiel:go(board_size=9)", "spiel:breakthrough", "spiel:checkers"])
def test_a_board_with_coordinates_has_them_beside_its_cells(name: str) -> None:
    shown = board_after(name, 2)
    assert {len(row) for row in shown.cells} == {len(shown.columns)}
    assert len(shown.cells) == len(shown.lines) >= 8
    assert {piece.shape for row in shown.cells for piece in row if isinstance(piece, Piece)} == {"", "disc"}


@pytest.mark.parametrize("name", ["spiel:checkers", "spiel:chess", "spiel:crazyhouse", "spiel:shogi", "spiel:xiangqi"])
def test_a_board_keeps_its_size_whatever_becomes_of_its_pieces(name: str) -> None:
    shown = list(boards(name, 150, seed=1))
    assert len({(len(board.cells), *map(len, board.cells)) for board in shown}) == 1


def test_a_king_of_checkers_is_a_disc_with_a_name() -> None:
    last = list(boards("spiel:checkers", 60, seed=2))[-1]
    assert {"black king", "white"} <= {name for row in range(8) for name in names_in(last, row)}


def test_any_other_state_is_shown_as_text() -> None:
    shown = board_after("spiel:sheriff", 0)
    assert (shown.cells, bool(shown.text)) == ((), True)
