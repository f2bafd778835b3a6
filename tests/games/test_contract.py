"""Scoring, chance with weights, replay, free moves, and fields of a game's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from league.games import draw, rock_paper_scissors
from league.games.contract import (
    LEAGUE_POINTS,
    NOBODY,
    TURN,
    BaseRules,
    ChanceStep,
    Game,
    Mover,
    Outcome,
    Seat,
    chance,
    margin,
    require_legal,
    tie,
    win,
)
from league.games.moves import LARGEST_LIST, LARGEST_QUESTION, MoveWire, course, replay, reported_choices
from league.games.wire_fields import Spoken, heard_by, move_request, packed, talk_in, unpacked

PLAYERS = ("P01", "P02")
SEED = bytes(range(32))
NAME = ("spring", "R1M1", 1)


# --- points -----------------------------------------------------------------------------------------------------------


def test_league_points_follow_from_who_got_more() -> None:
    assert LEAGUE_POINTS.points(win(0, "").winner, technical=False, returns=(1.0, -1.0)) == (3, 0)
    assert LEAGUE_POINTS.points(tie("").winner, technical=False) == (1, 1)
    assert Outcome((0.5, 7.0), "").winner == 1
    assert LEAGUE_POINTS.points(None, technical=True) == (0, 0)


def test_points_by_margin_count_from_the_worst_return() -> None:
    scoring = margin(worst=-20, best=20)
    assert scoring.points(0, technical=False, returns=(3, -3)) == (23, 17)
    assert scoring.points(None, technical=False, returns=(0, 0)) == (20, 20)
    assert scoring.most == 40


def test_a_technical_loss_by_margin_costs_all_that_a_match_can_cost() -> None:
    scoring = margin(worst=-20, best=20)
    assert scoring.points(1, technical=True) == (0, 40)
    assert scoring.points(None, technical=True) == (0, 0)


def test_fractions_become_whole_points_of_a_unit() -> None:
    assert margin(worst=0, best=1, unit=0.01).points(0, technical=False, returns=(0.75, 0.25)) == (75, 25)


@pytest.mark.parametrize(("worst", "best", "unit"), [(1, 1, 1), (2, 1, 1), (0, 1, 0)])
def test_returns_go_from_worst_to_best(worst: float, best: float, unit: float) -> None:
    with pytest.raises(ValueError, match="from worst to best"):
        margin(worst, best, unit)


def test_three_seats_have_a_winner_too() -> None:
    assert Outcome((1.0, 3.0, 2.0), "").winner == 1
    assert Outcome((3.0, 3.0, 2.0), "").winner is None
    assert Outcome((0.0, 1.0, 0.0), "{C} lost to {B}").explanation(("P1", "P2", "P3")) == "P3 lost to P2"


# --- chance -----------------------------------------------------------------------------------------------------------


def test_events_come_as_often_as_their_weights_say() -> None:
    counts = Counter(draw.event(SEED, *NAME, index, (1, 0, 2, 5)) for index in range(4_000))
    assert counts[1] == 0
    for number, weight in ((0, 1), (2, 2), (3, 5)):
        assert abs(counts[number] / 4_000 - weight / 8) < 0.03


def test_without_weights_the_number_is_that_of_even_odd() -> None:
    assert [draw.event(SEED, *NAME, index, ()) for index in range(3)] == [
        draw.number(SEED, *NAME, index) for index in range(3)
    ]
    assert draw.event(SEED, *NAME, 0, ()) == 9  # the example of spec section 12


@pytest.mark.requirement("DRAW.events_follow")
def test_the_events_of_a_seed_are_those_of_the_specification() -> None:
    """Section 12: changing any of these makes old matches unprovable."""
    assert [draw.event(SEED, *NAME, index, (1, 1, 1, 1, 1, 1)) for index in range(6)] == EVENTS


EVENTS = [3, 4, 4, 4, 2, 3]


def test_every_draw_must_follow_from_the_seed() -> None:
    weights = (1, 2, 3)
    steps = [ChanceStep(weights, draw.event(SEED, *NAME, index, weights)) for index in range(5)]
    assert draw.proves_all(SEED.hex(), None, *NAME, steps)
    for place, step in enumerate(steps):
        wrong = [*steps[:place], ChanceStep(weights, (step.number + 1) % 3), *steps[place + 1 :]]
        assert not draw.proves_all(SEED.hex(), None, *NAME, wrong)
    assert not draw.proves_all(None, None, *NAME, steps)
    assert not draw.proves_all("00", None, *NAME, steps)
    assert draw.proves_all(None, None, *NAME, [])


@pytest.mark.parametrize("weights", [(0, 0), (2, -1)])
def test_weights_that_mean_nothing_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="weights"):
        draw.event(SEED, *NAME, 0, weights)


def test_probabilities_become_whole_weights() -> None:
    first, second = chance([0.25, 0.75]).weights
    assert (first * 3, type(first)) == (second, int)
    assert chance([1, 2]).weights == (1, 2)


# --- a game with free moves -------------------------------------------------------------------------------------------


class Bargain(Struct, frozen=True):
    """How many coins chance put on the table, and what was said about them."""

    coins: int = 0
    history: tuple[Mapping[Seat, str] | int, ...] = ()

    @property
    def moves(self) -> list[str]:
        return [move for step in self.history if not isinstance(step, int) for move in step.values()]


class Bargaining(BaseRules):
    """Chance puts one to three coins on the table. PLAYER_A offers "N for you", and PLAYER_B takes it or leaves it."""

    def start(self) -> Bargain:
        return Bargain()

    def to_move(self, state: Bargain) -> Mover:
        if not state.coins:
            return chance([1, 1, 2])
        return TURN[len(state.moves)] if len(state.moves) < 2 else NOBODY

    def legal_moves(self, state: Bargain, seat: Seat) -> tuple[str, ...]:
        if seat not in self.to_move(state).seats:
            return ()
        return ("0 for you",) if seat == 0 else ("take", "leave")

    def accepts(self, state: Bargain, seat: Seat, move: str) -> bool:
        coins, _, rest = move.partition(" ")
        is_to_move = seat == 0 and seat in self.to_move(state).seats
        return is_to_move and rest == "for you" and coins.isdecimal() and int(coins) <= state.coins

    def play(self, state: Bargain, moves: Mapping[Seat, str]) -> Bargain:
        require_legal(self, state, moves)
        return Bargain(state.coins, (*state.history, dict(moves)))

    def draw(self, state: Bargain, number: int) -> Bargain:
        return Bargain(number + 1, (number,))

    def outcome(self, state: Bargain) -> Outcome | None:
        if len(state.moves) < 2:
            return None
        offer, answer = state.moves
        coins = int(offer.partition(" ")[0])
        if answer == "leave":
            return tie("{B} left the offer")
        return Outcome((state.coins - coins, coins), "{B} took the offer of {A}")

    def view(self, state: Bargain, seat: Seat) -> dict[str, object]:
        return {"coins": state.coins, "said": state.moves}

    def role(self, state: Bargain, seat: Seat) -> str:
        return ("seller", "buyer")[seat]


RULES = Bargaining()
GAME = Game(
    "bargaining",
    RULES,
    MoveWire(RULES, move_type="bargain"),
    turns=2,
    scoring=margin(worst=0, best=3),
    move_format='an offer such as "2 for you"',
    talk=20,
)


def test_a_move_in_free_words_counts_if_the_game_accepts_it() -> None:
    state = RULES.draw(RULES.start(), 2)
    assert GAME.permits(state, 0, "2 for you", RULES.legal_moves(state, 0))
    assert not GAME.permits(state, 0, "4 for you", RULES.legal_moves(state, 0))
    assert RULES.play(state, {0: "2 for you"}).moves == ["2 for you"]
    with pytest.raises(ValueError, match="may not play"):
        RULES.play(state, {0: "all for me"})


def test_a_game_with_chance_and_free_moves_is_proven_by_replay() -> None:
    details = {"moves": [{"P01": "1 for you"}, {"P02": "take"}], "draws": [2], "choices": {"P01": "1 for you"}}
    verdict = GAME.wire.verdict(details, PLAYERS)
    assert (verdict.kind, verdict.winner, verdict.returns) == ("confirmed", 0, (2, 1))
    assert verdict.draws == (ChanceStep((1, 1, 2), 2),)
    pending = {"moves": [], "draws": [2], "choices": {"P01": "3 for you"}}
    assert GAME.wire.verdict(pending, PLAYERS).kind == "technical"


@pytest.mark.parametrize(
    ("draws", "note"),
    [
        ([3], "draw 1: there is no event 3"),
        ([True], "draw 1: not a whole number"),
        ([2, 2], "and more are listed"),
        ([], "and more are listed"),
        ("2", "draws must be a list"),
    ],
)
def test_draws_that_cannot_have_been_are_impossible(draws: object, note: str) -> None:
    verdict = GAME.wire.verdict({"moves": [{"P01": "1 for you"}], "draws": draws}, PLAYERS)
    assert verdict.kind == "impossible"
    assert note in verdict.note


def test_a_course_shows_every_step() -> None:
    steps = list(course(RULES, ["1 for you", {"P02": "leave"}], [0], PLAYERS))
    assert [step.moves for step in steps] == [{}, {}, {0: "1 for you"}, {1: "leave"}]
    assert [step.chance for step in steps][1] == ChanceStep((1, 1, 2), 0)
    assert replay(RULES, ["1 for you", {"P02": "leave"}], [0], PLAYERS).state == steps[-1].state


def test_a_question_has_the_role_the_format_and_the_talk_of_the_other() -> None:
    state = RULES.play(RULES.draw(RULES.start(), 2), {0: "1 for you"})
    talk = [Spoken(1, 0, "my last word"), Spoken(2, 0, "now")]
    assert move_request(GAME, state, 1, 2, talk, PLAYERS) == {
        "move_type": "bargain",
        "valid_options": ["take", "leave"],
        "context": {"coins": 3, "said": ["1 for you"], "turn": 2},
        "role": "buyer",
        "move_format": 'an offer such as "2 for you"',
        "talk": [{"turn": 1, "by": "P01", "text": "my last word", "foreign": True}],
        "talk_limit": 20,
    }
    assert heard_by(0, talk, 3, PLAYERS) == []


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("hello", "hello"),
        ("two\nlines\tand a long rest", "two lines and a long"),
        (None, ""),
        (7, ""),
    ],
)
def test_talk_is_one_line_of_printable_text(text: object, heard: str) -> None:
    line = talk_in(text, GAME)
    assert "\n" not in line
    assert len(line) <= GAME.talk
    assert line == heard


def test_talk_cannot_steer_a_terminal() -> None:
    assert "\x1b" not in talk_in("\x1b[31mred", GAME)


@given(
    st.dictionaries(st.sampled_from(["choices", "moves", "draws", "pie", "map"]), st.integers() | st.lists(st.text()))
)
def test_fields_of_a_game_travel_untouched(fields: dict[str, object]) -> None:
    travelled = packed(fields)
    assert set(travelled) <= {"choices", "moves", "draws", "game_details"}
    assert {name: value for name, value in unpacked(travelled).items() if name != "game_details"} == fields


# --- long matches -----------------------------------------------------------------------------------------------------


class Counting(BaseRules):
    """Players count in turns, up to 600: as long as the longest games of chess."""

    def start(self) -> Count:
        return Count()

    def to_move(self, state: Count) -> Mover:
        return TURN[len(state.history) % 2] if len(state.history) < 600 else NOBODY

    def legal_moves(self, state: Count, seat: Seat) -> tuple[str, ...]:
        return (f"n{len(state.history)}",) if seat in self.to_move(state).seats else ()

    def play(self, state: Count, moves: Mapping[Seat, str]) -> Count:
        require_legal(self, state, moves)
        return Count((*state.history, dict(moves)))

    def outcome(self, state: Count) -> Outcome | None:
        return tie("counted") if len(state.history) == 600 else None

    def view(self, state: Count, seat: Seat) -> dict[str, object]:
        return {}


class Count(Struct, frozen=True):
    history: tuple[Mapping[Seat, str], ...] = ()


def test_a_long_list_of_moves_names_no_players_and_is_proven_all_the_same() -> None:
    wire: MoveWire[Count] = MoveWire(Counting(), move_type="count")
    state = Count()
    for number in range(600):
        state = wire.rules.play(state, {number % 2: f"n{number}"})
    details = wire.details(state, PLAYERS, technical=False)
    moves = details["moves"]
    assert isinstance(moves, list)
    assert moves[:2] == ["n0", "n1"]
    assert len(str(moves)) < 2 * LARGEST_LIST
    assert wire.verdict(details, PLAYERS).kind == "confirmed"


def test_bare_moves_of_players_who_moved_together_are_in_the_order_of_their_seats() -> None:
    game = rock_paper_scissors.best_of(301)
    state = game.rules.start()
    dice = Random(1)
    while game.rules.to_move(state).seats:
        state = game.rules.play(state, {seat: dice.choice(("rock", "paper", "scissors")) for seat in (0, 1)})
    details = game.wire.details(state, PLAYERS, technical=False)
    moves = details["moves"]
    assert isinstance(moves, list)
    assert isinstance(moves[0], list)
    outcome = game.rules.outcome(state)
    assert outcome is not None
    assert game.wire.verdict(details, PLAYERS).winner == outcome.winner
    assert game.wire.verdict({"moves": [["rock"]]}, PLAYERS).kind == "impossible"


def test_a_list_that_is_still_too_long_has_the_places_of_the_moves_among_the_legal_ones() -> None:
    game = rock_paper_scissors.best_of(701)
    state = game.rules.start()
    while game.rules.to_move(state).seats:
        state = game.rules.play(state, {0: "scissors", 1: "scissors"})
    details = game.wire.details(state, PLAYERS, technical=False)
    assert details["moves"] == [[2, 2]] * 701
    assert game.wire.verdict(details, PLAYERS).kind == "confirmed"
    assert reported_choices(game.rules, details, PLAYERS)[-1] == {"P01": "scissors", "P02": "scissors"}


def test_a_question_after_many_steps_has_as_much_history_as_fits() -> None:
    class Verbose(Counting):
        def view(self, state: Count, seat: Seat) -> dict[str, object]:
            return {"text": "x" * 5_000}

    wire: MoveWire[Count] = MoveWire(Verbose(), public_history=True)
    state = Count()
    for number in range(390):
        state = wire.rules.play(state, {number % 2: f"n{number}"})
        assert len(json.dumps(wire.context(state, 0), separators=(",", ":"))) < LARGEST_QUESTION + 100
    shown = wire.context(state, 0)["history"]
    assert isinstance(shown, list)
    assert 150 < len(shown) < 250
    assert shown[-1] == {"B": "n389"}


def test_rules_without_the_base_are_refused_with_a_hint() -> None:
    class Old:
        def start(self) -> None: ...

    with pytest.raises(TypeError, match="BaseRules"):
        Game("old", Old(), MoveWire(RULES), turns=1)  # type: ignore[arg-type]
