"""Tic-tac-toe: turns, lines, a full board, and what reported moves prove."""

import pytest

from league.games.contract import NOBODY, PLAYER_A, PLAYER_B, SEATS, TURN
from league.games.tic_tac_toe import GAME, RULES
from league.games.tic_tac_toe.rules import LINES, Marked

PLAYERS = ("P01", "P02")


def marked(cells: str) -> Marked:
    state = RULES.start()
    for place, cell in enumerate(cells):
        state = RULES.play(state, {SEATS[place % 2]: cell})
    return state


def moves(cells: str) -> list[dict[str, str]]:
    return [{PLAYERS[place % 2]: cell} for place, cell in enumerate(cells)]


def test_player_a_marks_x_and_begins() -> None:
    assert RULES.to_move(RULES.start()) == TURN[PLAYER_A]
    assert RULES.to_move(marked("4")) == TURN[PLAYER_B]
    assert RULES.view(marked("40"), PLAYER_A) == {
        "your_mark": "X",
        "board": ["O", "", "", "", "X", "", "", "", ""],
    }


@pytest.mark.parametrize("line", LINES)
def test_three_in_a_row_win_for_whoever_has_them(line: str) -> None:
    first, second, third = tuple(line)
    elsewhere = [cell for cell in "012345678" if cell not in line]
    outcome = RULES.outcome(marked(f"{first}{elsewhere[0]}{second}{elsewhere[1]}{third}"))
    assert outcome is not None
    assert outcome.winner == PLAYER_A


def test_the_second_player_can_win() -> None:
    outcome = RULES.outcome(marked("031485"))
    assert outcome is not None
    assert (outcome.winner, outcome.explanation(PLAYERS)) == (PLAYER_B, "P02 has O in the cells 3, 4, 5")


def test_a_full_board_without_three_in_a_row_is_a_draw() -> None:
    state = marked("012346587")
    assert RULES.to_move(state) == NOBODY
    outcome = RULES.outcome(state)
    assert outcome is not None
    assert outcome.winner is None


def test_three_in_a_row_with_the_ninth_mark_win() -> None:
    assert RULES.outcome(marked("01234576")) is None
    outcome = RULES.outcome(marked("012345768"))
    assert outcome is not None
    assert outcome.winner == PLAYER_A


def test_a_marked_cell_cannot_be_marked_again() -> None:
    assert "4" not in RULES.legal_moves(marked("4"), PLAYER_B)
    with pytest.raises(ValueError, match="may not play '4'"):
        RULES.play(marked("4"), {PLAYER_B: "4"})


def test_nobody_moves_out_of_turn() -> None:
    assert RULES.legal_moves(RULES.start(), PLAYER_B) == ()
    with pytest.raises(ValueError, match="to move"):
        RULES.play(RULES.start(), {PLAYER_B: "4"})


def test_the_call_offers_the_free_cells_and_shows_the_board() -> None:
    assert GAME.wire.move_request(marked("40"), PLAYER_A) == {
        "move_type": "mark_cell",
        "valid_options": ["1", "2", "3", "5", "6", "7", "8"],
        "context": {
            "your_mark": "X",
            "board": ["O", "", "", "", "X", "", "", "", ""],
            "seat": "A",
            "history": [{"A": "4"}, {"B": "0"}],
        },
    }
    assert GAME.wire.response_type == "GAME_MOVE_RESPONSE"
    assert GAME.wire.illegal_move == "E024"


def test_a_played_game_shows_its_moves_and_the_last_choices() -> None:
    result = GAME.wire.game_result(marked("03142"), PLAYERS, technical=False)
    assert result == {"choices": {"P01": "2", "P02": "4"}, "moves": moves("03142")}


def test_reported_moves_prove_the_winner() -> None:
    verdict = GAME.wire.verdict({"moves": moves("03142")}, PLAYERS)
    assert (verdict.kind, verdict.winner) == ("confirmed", PLAYER_A)


def test_moves_may_be_listed_as_their_places_among_the_legal_ones() -> None:
    verdict = GAME.wire.verdict({"moves": [0, 2, 0, 1, 0]}, PLAYERS)
    assert (verdict.kind, verdict.winner) == ("confirmed", PLAYER_A)


def test_moves_that_stop_before_the_end_are_a_technical_loss() -> None:
    assert GAME.wire.verdict({"moves": moves("0314")}, PLAYERS).kind == "technical"
    assert GAME.wire.verdict({"moves": []}, PLAYERS).kind == "technical"


def test_without_moves_nothing_is_confirmed() -> None:
    assert GAME.wire.verdict({}, PLAYERS).kind == "insufficient"
    assert GAME.wire.verdict({"moves": None, "choices": {"P01": "2"}}, PLAYERS).kind == "insufficient"


@pytest.mark.parametrize(
    ("reported", "note"),
    [
        (moves("00"), "move 2: seat 1 may not play '0'"),
        (moves("031425"), "move 6: to move"),
        ([{"P02": "0"}], "move 1: to move"),
        ([{"P03": "0"}], "move 1: not a choice of one of the two players"),
        ([{"P01": 0}], "move 1: not a choice of one of the two players"),
        ([{}], "move 1: to move"),
        ([9], "move 1: 9 is not a choice"),
        ([True], "move 1: True is not a choice"),
        ([["0", "1"]], "move 1: not an object"),
        (["9"], "move 1: seat 0 may not play '9'"),
    ],
)
def test_moves_nobody_could_have_made_are_impossible(reported: object, note: str) -> None:
    verdict = GAME.wire.verdict({"moves": reported}, PLAYERS)
    assert verdict.kind == "impossible"
    assert verdict.note.startswith(note)


@pytest.mark.parametrize("choices", [{"P01": "0", "P02": "4"}, {"P03": "2"}, ["2", "4"], {"P01": "x"}])
def test_choices_that_are_not_the_last_moves_are_impossible(choices: object) -> None:
    verdict = GAME.wire.verdict({"moves": moves("03142"), "choices": choices}, PLAYERS)
    assert verdict.kind == "impossible"
