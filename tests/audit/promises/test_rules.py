"""The promises' own rules, written apart from the machines', and here held against them."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.features.audit.promises.grounds import rules
from league.features.audit.promises.grounds.rules import CannotJudgeError, MatchOutcome, Row, first_row, row_in
from league.games import draw, even_odd, rock_paper_scissors, tic_tac_toe
from league.games.contract import SEATS, Game

PLAYERS = ("P01", "P02")


def test_even_odd_is_judged_as_the_game_judges_it() -> None:
    for first, second, number in product(("even", "odd"), ("even", "odd"), range(1, 11)):
        seat = even_odd.winner((first, second), number)
        expected = None if seat is None else PLAYERS[seat]
        details = {"drawn_number": number, "choices": {"P01": first, "P02": second}}
        assert rules.judge("even_odd", PLAYERS, details) == MatchOutcome(expected)


def _played(game: Game, moves: list[dict[str, str]]) -> str | None:
    state = game.rules.start()
    for move in moves:
        state = game.rules.play(state, {SEATS[PLAYERS.index(player)]: one for player, one in move.items()})
    outcome = game.rules.outcome(state)
    assert outcome is not None
    return None if outcome.winner is None else PLAYERS[outcome.winner]


def test_rock_paper_scissors_is_judged_as_the_game_judges_it() -> None:
    throws = list(product(("rock", "paper", "scissors"), repeat=2))
    for first, second, third in product(throws, repeat=3):
        moves = [dict(zip(PLAYERS, throw, strict=True)) for throw in (first, second, third)]
        game = rock_paper_scissors.GAME
        over = game.rules.outcome(_state(game, moves[:2])) is not None
        played = moves[:2] if over else moves
        assert rules.judge("rock_paper_scissors", PLAYERS, {"moves": played}) == MatchOutcome(_played(game, played))


def _state(game: Game, moves: list[dict[str, str]]) -> Any:
    state = game.rules.start()
    for move in moves:
        state = game.rules.play(state, {SEATS[PLAYERS.index(player)]: one for player, one in move.items()})
    return state


@given(st.permutations("012345678"))
def test_tic_tac_toe_is_judged_as_the_game_judges_it(cells: list[str]) -> None:
    moves: list[dict[str, str]] = []
    for turn, cell in enumerate(cells):
        moves.append({PLAYERS[turn % 2]: cell})
        if tic_tac_toe.GAME.rules.outcome(_state(tic_tac_toe.GAME, moves)) is not None:
            break
        with pytest.raises(CannotJudgeError):
            rules.judge("tic_tac_toe", PLAYERS, {"moves": list(moves)})
    expected = MatchOutcome(_played(tic_tac_toe.GAME, moves))
    assert rules.judge("tic_tac_toe", PLAYERS, {"moves": moves}) == expected


@pytest.mark.parametrize(
    "cells",
    ["00", "00132", "9", "0314256", ["0", ""], "031425678"],
)
def test_moves_that_cannot_be_are_not_judged(cells: str | list[str]) -> None:
    moves = [{PLAYERS[turn % 2]: cell} for turn, cell in enumerate(cells)]
    with pytest.raises(CannotJudgeError):
        rules.judge("tic_tac_toe", PLAYERS, {"moves": moves})


@pytest.mark.parametrize("moves", [None, [], ["rock"], [{"P01": "rock"}], [{"P01": "rock", "P02": "well"}]])
def test_throws_that_cannot_be_are_not_judged(moves: object) -> None:
    with pytest.raises(CannotJudgeError):
        rules.judge("rock_paper_scissors", PLAYERS, {"moves": moves})


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ({"P01": "E001"}, MatchOutcome("P02", technical=True)),
        ({"P02": "E001"}, MatchOutcome("P01", technical=True)),
        ({"P01": "E001", "P02": "E009"}, MatchOutcome(None, technical=True)),
        ({"P07": "E001"}, None),
        (None, None),
    ],
)
def test_a_fault_gives_the_match_to_the_other(faults: dict[str, str] | None, expected: MatchOutcome | None) -> None:
    assert rules.judge("even_odd", PLAYERS, {"drawn_number": None, "faults": faults}) == expected
    told = {"status": "TECHNICAL_LOSS", "faults": faults}
    assert rules.judge("tic_tac_toe", PLAYERS, told) == expected


@given(st.binary(min_size=32, max_size=32), st.text(max_size=8), st.integers(1, 9))
def test_a_draw_is_checked_as_the_referee_makes_it(seed: bytes, league_id: str, attempt: int) -> None:
    told = (league_id, "R1M1", attempt)
    assert rules.drawn(seed.hex(), *told) == draw.number(seed, *told)
    assert rules.commitment(seed.hex(), *told) == draw.commitment(seed, *told)


def test_bytes_that_would_favour_some_numbers_are_passed_over() -> None:
    for number in range(500):
        seed = number.to_bytes(32, "big")
        assert rules.drawn(seed.hex(), "spring", "R1M1", 1) == draw.number(seed, "spring", "R1M1", 1)


def test_points_are_shared_as_the_protocol_says() -> None:
    assert rules.points(PLAYERS, MatchOutcome("P02")) == {"P01": 0, "P02": 3}
    assert rules.points(PLAYERS, MatchOutcome(None)) == {"P01": 1, "P02": 1}
    assert rules.points(PLAYERS, MatchOutcome(None, technical=True)) == {"P01": 0, "P02": 0}


def test_a_row_counts_and_takes_back() -> None:
    won, drawn, lost, both = (
        MatchOutcome("P01"),
        MatchOutcome(None),
        MatchOutcome("P02"),
        MatchOutcome(None, technical=True),
    )
    row = first_row("P01")
    for outcome in (won, drawn, lost, both):
        row = row.after(outcome, PLAYERS)
    assert row == Row("P01", played=4, wins=1, draws=1, losses=2, points=4)
    assert row.after(both, PLAYERS, -1) == Row("P01", played=3, wins=1, draws=1, losses=1, points=4)
    assert row_in({"player_id": "P01", "played": 4, "wins": 1, "draws": 1, "losses": 2, "points": 4, "rank": 1}) == row


@pytest.mark.parametrize("column", ["player_id", "played", "wins", "draws", "losses", "points"])
@pytest.mark.parametrize("value", [None, True, "1", 1.0, [1]])
def test_a_row_with_a_wrong_column_is_in_no_table(column: str, value: object) -> None:
    sent = {"player_id": "P01", "played": 1, "wins": 1, "draws": 1, "losses": 1, "points": 1}
    right = row_in(sent)
    if not (column == "player_id" and isinstance(value, str)):
        assert row_in({**sent, column: value}) == first_row("")
    del sent[column]
    assert right != row_in(sent) == first_row("")
    assert row_in(value) == first_row("")


def _order(rows: list[Row], tiebreakers: tuple[str, ...], among: dict[str, int]) -> list[str]:
    return rules.ranked(rows, tiebreakers, lambda group: {player: among.get(player, 0) for player in group})


def test_ties_are_broken_in_the_order_of_the_setting() -> None:
    steady, bold = Row("P01", 3, 0, 3, 0, 3), Row("P02", 3, 1, 0, 2, 3)
    assert _order([steady, bold], ("points", "wins", "draws"), {}) == ["P02", "P01"]
    assert _order([steady, bold], ("points", "draws", "wins"), {}) == ["P01", "P02"]
    assert _order([steady, bold], ("points",), {}) == ["P01", "P02"]
    assert _order([steady, bold], ("points", "head_to_head", "draws"), {"P02": 1}) == ["P02", "P01"]


def test_players_that_are_level_come_by_number() -> None:
    level = list(map(first_row, ("P100", "P02", "P99")))
    for rows in permutations(level):
        assert _order(list(rows), ("points", "wins", "draws", "head_to_head"), {}) == ["P02", "P99", "P100"]


def test_only_those_still_level_are_compared_by_their_matches() -> None:
    groups: list[set[str]] = []

    def head_to_head(group: Any) -> dict[str, int]:
        groups.append(set(group))
        return dict.fromkeys(group, 0)

    rows = [
        Row("P01", 2, 2, 0, 0, points=6),
        Row("P02", 2, 0, 0, 0, points=3),
        Row("P03", 2, 0, 0, 0, points=3),
        Row("P04", 2, 1, 0, 1, points=3),
    ]
    rules.ranked(rows, ("points", "wins", "draws", "head_to_head"), head_to_head)
    assert groups == [{"P02", "P03"}]
