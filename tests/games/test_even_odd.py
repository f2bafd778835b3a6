"""Even/Odd: who wins, what is seen when, and what a report proves (R-09, R-10)."""

import pytest

from league.games.contract import BOTH, CHANCE, NOBODY, PLAYER_A, PLAYER_B, Seat, Verdict
from league.games.even_odd import GAME, EvenOdd, EvenOddState

RULES = EvenOdd()
PLAYERS = ("P01", "P02")


def chosen(first: str, second: str) -> EvenOddState:
    return RULES.play(RULES.start(), {PLAYER_A: first, PLAYER_B: second})


def verdict(**details: object) -> Verdict:
    return GAME.wire.verdict(details, PLAYERS)


@pytest.mark.parametrize("number", range(1, 11))
@pytest.mark.parametrize(
    ("first", "second", "winner_if_even", "winner_if_odd"),
    [
        ("even", "odd", PLAYER_A, PLAYER_B),
        ("odd", "even", PLAYER_B, PLAYER_A),
        ("even", "even", None, None),
        ("odd", "odd", None, None),
    ],
)
def test_whoever_alone_named_the_parity_wins(
    first: str, second: str, winner_if_even: Seat | None, winner_if_odd: Seat | None, number: int
) -> None:
    outcome = RULES.outcome(RULES.draw(chosen(first, second), number))
    assert outcome is not None
    assert outcome.winner == (winner_if_even if number in (2, 4, 6, 8, 10) else winner_if_odd)


def test_the_reason_names_the_winner_its_choice_and_the_number() -> None:
    outcome = RULES.outcome(RULES.draw(chosen("odd", "even"), 8))
    assert outcome is not None
    assert outcome.explanation(PLAYERS) == "P02 chose even, number was 8 (even)"


@pytest.mark.parametrize(("number", "how"), [(4, "4 (even) - both incorrect"), (7, "7 (odd) - both correct")])
def test_the_reason_of_a_draw_says_whether_both_were_right(number: int, how: str) -> None:
    outcome = RULES.outcome(RULES.draw(chosen("odd", "odd"), number))
    assert outcome is not None
    assert outcome.explanation(PLAYERS) == f"Both chose odd, number was {how}"


def test_both_choose_then_chance_moves_then_nobody() -> None:
    state = RULES.start()
    assert RULES.to_move(state) == BOTH
    state = chosen("even", "odd")
    assert RULES.to_move(state) == CHANCE
    assert RULES.to_move(RULES.draw(state, 1)) == NOBODY


def test_no_number_is_drawn_before_the_choices_or_twice() -> None:
    with pytest.raises(ValueError, match="once, after both choices"):
        RULES.draw(RULES.start(), 5)
    with pytest.raises(ValueError, match="once, after both choices"):
        RULES.draw(RULES.draw(chosen("even", "odd"), 5), 6)


@pytest.mark.parametrize("number", [0, 11, -2])
def test_no_number_outside_one_to_ten_is_drawn(number: int) -> None:
    with pytest.raises(ValueError, match="not from 1 to 10"):
        RULES.draw(chosen("even", "odd"), number)


@pytest.mark.parametrize("choice", ["Even", "EVEN", "e", "", " even", "0"])
def test_a_choice_is_never_repaired(choice: str) -> None:
    with pytest.raises(ValueError, match="may not play"):
        RULES.play(RULES.start(), {PLAYER_A: choice, PLAYER_B: "odd"})


def test_a_player_sees_its_own_choice_until_the_draw_and_both_after_it() -> None:
    state = chosen("even", "odd")
    assert RULES.view(state, PLAYER_A) == {"your_choice": "even"}
    assert RULES.view(state, PLAYER_B) == {"your_choice": "odd"}
    assert RULES.view(RULES.draw(state, 3), PLAYER_B) == {
        "your_choice": "odd",
        "opponent_choice": "even",
        "drawn_number": 3,
        "number_parity": "odd",
    }


def test_it_is_called_in_its_own_words() -> None:
    wire = GAME.wire
    assert wire.response_type == "CHOOSE_PARITY_RESPONSE"
    assert wire.illegal_move == "E004"
    assert wire.move_request(RULES.start(), PLAYER_A) is None


def test_a_played_game_shows_number_parity_and_choices() -> None:
    state = RULES.draw(chosen("even", "odd"), 8)
    assert GAME.wire.game_result(state, PLAYERS, technical=False) == {
        "drawn_number": 8,
        "number_parity": "even",
        "choices": {"P01": "even", "P02": "odd"},
    }
    assert GAME.wire.details(state, PLAYERS, technical=False) == {
        "drawn_number": 8,
        "choices": {"P01": "even", "P02": "odd"},
    }


def test_a_technical_loss_shows_no_number_and_the_one_valid_choice() -> None:
    result = GAME.wire.game_result(RULES.start(), PLAYERS, technical=True, pending={PLAYER_A: "even"})
    assert result == {"drawn_number": None, "number_parity": None, "choices": {"P01": "even", "P02": None}}


def test_a_technical_loss_shows_no_number_even_if_one_was_drawn() -> None:
    state = RULES.draw(chosen("even", "odd"), 8)
    assert GAME.wire.details(state, PLAYERS, technical=True)["drawn_number"] is None
    result = GAME.wire.game_result(state, PLAYERS, technical=True)
    assert (result["drawn_number"], result["number_parity"]) == (None, None)


def test_a_technical_loss_at_the_join_shows_no_choice() -> None:
    details = GAME.wire.details(RULES.start(), PLAYERS, technical=True)
    assert details == {"drawn_number": None, "choices": {"P01": None, "P02": None}}


def test_number_and_both_choices_prove_the_winner() -> None:
    confirmed = verdict(drawn_number=8, choices={"P01": "odd", "P02": "even"})
    assert (confirmed.kind, confirmed.winner) == ("confirmed", PLAYER_B)
    assert not confirmed.contradicts(PLAYER_B)
    assert confirmed.contradicts(PLAYER_A)
    assert confirmed.contradicts(None)


def test_equal_choices_prove_a_draw() -> None:
    confirmed = verdict(drawn_number=8, choices={"P01": "odd", "P02": "odd"})
    assert (confirmed.kind, confirmed.winner) == ("confirmed", None)
    assert confirmed.contradicts(PLAYER_A)


@pytest.mark.parametrize("choices", [{"P01": "even", "P02": None}, {"P01": None, "P02": None}, {}, None])
def test_no_number_is_a_technical_loss_whoever_is_named(choices: object) -> None:
    technical = verdict(drawn_number=None, choices=choices)
    assert technical.kind == "technical"
    assert not any(technical.contradicts(winner) for winner in (PLAYER_A, PLAYER_B, None))


@pytest.mark.parametrize(
    "details",
    [
        {},
        {"choices": {"P01": "even", "P02": "odd"}},
        {"drawn_number": "8", "choices": {"P01": "even", "P02": "odd"}},
        {"drawn_number": 8.0, "choices": {"P01": "even", "P02": "odd"}},
        {"drawn_number": True, "choices": {"P01": "even", "P02": "odd"}},
        {"drawn_number": 8},
        {"drawn_number": 8, "choices": {"P01": "even"}},
        {"drawn_number": 8, "choices": {"P01": "even", "P02": None}},
    ],
)
def test_details_that_prove_nothing_leave_the_reported_winner_alone(details: dict[str, object]) -> None:
    nothing = verdict(**details)
    assert nothing.kind == "insufficient"
    assert not any(nothing.contradicts(winner) for winner in (PLAYER_A, PLAYER_B, None))


@pytest.mark.parametrize("number", [0, 12, 100])
def test_a_number_out_of_range_proves_nothing_but_its_parity_can_contradict_the_report(number: int) -> None:
    implied = verdict(drawn_number=number, choices={"P01": "even", "P02": "odd"})
    assert implied.kind == "insufficient"
    assert not implied.contradicts(PLAYER_A)
    assert implied.contradicts(PLAYER_B)


@pytest.mark.parametrize(
    "choices",
    [
        {"P01": "even", "P02": "Odd"},
        {"P01": "even", "P03": "odd"},
        {"P01": "even", "P02": "odd", "P03": "odd"},
        {"P01": "even", "P02": 1},
        {"P01": "even", "P02": ["odd"]},
        ["even", "odd"],
        "even",
        7,
    ],
)
@pytest.mark.parametrize("number", [8, None])
def test_choices_nobody_could_have_made_are_impossible(choices: object, number: int | None) -> None:
    impossible = verdict(drawn_number=number, choices=choices)
    assert impossible.kind == "impossible"
    assert all(impossible.contradicts(winner) for winner in (PLAYER_A, PLAYER_B, None))
