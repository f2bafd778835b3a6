"""Rock, paper, scissors: which throw wins, when a match is decided, what is shown."""

import pytest

from league.games.contract import BOTH, NOBODY, PLAYER_A, PLAYER_B, Seat
from league.games.rock_paper_scissors import GAME, RockPaperScissors, Throws, best_of

RULES = RockPaperScissors()
PLAYERS = ("P01", "P02")
SHAPE = {"r": "rock", "p": "paper", "s": "scissors"}


def thrown(*throws: str, rules: RockPaperScissors = RULES) -> Throws:
    """Throws as pairs of letters, PLAYER_A's first: "rs" is rock against scissors."""
    state = rules.start()
    for throw in throws:
        state = rules.play(state, {PLAYER_A: SHAPE[throw[0]], PLAYER_B: SHAPE[throw[1]]})
    return state


@pytest.mark.parametrize(
    ("throw", "winner"),
    [
        ("rs", PLAYER_A),
        ("sp", PLAYER_A),
        ("pr", PLAYER_A),
        ("sr", PLAYER_B),
        ("ps", PLAYER_B),
        ("rp", PLAYER_B),
        ("rr", None),
        ("pp", None),
        ("ss", None),
    ],
)
def test_rock_beats_scissors_beats_paper_beats_rock(throw: str, winner: Seat | None) -> None:
    single = RockPaperScissors(best_of=1)
    outcome = single.outcome(thrown(throw, rules=single))
    assert outcome is not None
    assert outcome.winner == winner


def test_two_won_throws_of_three_end_the_match_early() -> None:
    state = thrown("rs", "rs")
    assert RULES.to_move(state) == NOBODY
    outcome = RULES.outcome(state)
    assert outcome is not None
    assert outcome.explanation(PLAYERS) == "P01 won 2 to 0 in 2 throws"


def test_a_lead_the_other_can_still_make_up_does_not_end_the_match() -> None:
    assert RULES.to_move(thrown("rs", "rr")) == BOTH


@pytest.mark.parametrize(
    ("throws", "winner"),
    [
        (("rs", "rr", "pp"), PLAYER_A),
        (("rs", "rp", "sr"), PLAYER_B),
        (("rs", "rp", "rr"), None),
        (("rr", "pp", "ss"), None),
    ],
)
def test_after_the_last_throw_more_won_throws_win_and_equally_many_draw(
    throws: tuple[str, ...], winner: Seat | None
) -> None:
    outcome = RULES.outcome(thrown(*throws))
    assert outcome is not None
    assert outcome.winner == winner


@pytest.mark.parametrize("throws", [0, 2, -1])
def test_a_match_has_an_odd_number_of_throws(throws: int) -> None:
    with pytest.raises(ValueError, match="must be odd"):
        best_of(throws)


def test_a_match_can_take_as_many_turns_as_throws() -> None:
    assert (GAME.turns, best_of(5).turns) == (3, 5)


def test_each_player_sees_the_finished_throws_from_its_own_side() -> None:
    assert RULES.view(thrown("rs"), PLAYER_B) == {
        "best_of": 3,
        "throws": [{"you": "scissors", "opponent": "rock"}],
        "won": {"you": 0, "opponent": 1},
    }


def test_a_technical_loss_shows_the_last_choice_received_from_each_player() -> None:
    details = GAME.wire.details(thrown("rs"), PLAYERS, technical=True, pending={PLAYER_A: "paper"})
    assert details == {
        "choices": {"P01": "paper", "P02": "scissors"},
        "moves": [{"P01": "rock", "P02": "scissors"}],
    }


def test_nothing_is_drawn() -> None:
    with pytest.raises(ValueError, match="no number is drawn"):
        RULES.draw(RULES.start(), 1)
