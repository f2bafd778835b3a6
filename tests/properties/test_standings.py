"""Standings of any results: the running sums are the fold of all results in force, and the order is that of R-30."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.manager.season.standings import Decided, StandingsTable, Tally, number_of

TIEBREAKERS = ("points", "wins", "draws", "head_to_head")


@st.composite
def results(draw: st.DrawFn) -> tuple[list[str], list[Decided]]:
    """Players, and results between them: wins, draws, technical losses of one and of both."""
    count = draw(st.integers(2, 99))
    players = [f"P{number:02d}" for number in range(1, count + 1)]
    seats = st.lists(st.sampled_from(players), min_size=2, max_size=2, unique=True)
    found = []
    for pair in draw(st.lists(seats, max_size=60)):
        winner = draw(st.sampled_from([*pair, None]))
        found.append(Decided((pair[0], pair[1]), winner, draw(st.booleans())))
    return players, found


def standings_of(players: Sequence[str], decided: Sequence[Decided]) -> StandingsTable:
    standings = StandingsTable()
    for player in players:
        standings.enter(player)
    for one in decided:
        standings.add(one)
    return standings


def folded(player: str, decided: Sequence[Decided]) -> Tally:
    mine = [one for one in decided if player in one.players]
    wins = sum(one.winner == player for one in mine)
    draws = sum(one.winner is None and not one.technical for one in mine)
    return Tally(len(mine), wins, draws, len(mine) - wins - draws, 3 * wins + draws)


@pytest.mark.requirement("STANDINGS.adds_up")
@given(league=results())
def test_every_row_is_the_fold_of_its_players_results(league: tuple[list[str], list[Decided]]) -> None:
    players, decided = league
    standings = standings_of(players, decided)
    assert standings.tallies == {player: folded(player, decided) for player in players}


@given(league=results())
def test_a_match_gives_three_two_or_no_points(league: tuple[list[str], list[Decided]]) -> None:
    players, decided = league
    given_out = sum(tally.points for tally in standings_of(players, decided).tallies.values())
    worth = [3 if one.winner else 0 if one.technical else 2 for one in decided]
    assert given_out == sum(worth)


@given(league=results(), data=st.data())
def test_taking_a_result_back_is_as_if_it_had_never_been(
    league: tuple[list[str], list[Decided]], data: st.DataObject
) -> None:
    players, decided = league
    voided = data.draw(st.sampled_from(decided)) if decided else None
    standings = standings_of(players, decided)
    if voided is not None:
        standings.add(voided, times=-1)
        decided = [*decided]
        decided.remove(voided)
    without = standings_of(players, decided)
    assert standings.tallies == without.tallies
    assert standings.ranking(TIEBREAKERS) == without.ranking(TIEBREAKERS)


@pytest.mark.requirement("STANDINGS.tiebreakers")
@given(league=results())
def test_each_place_is_earned_by_the_first_difference(league: tuple[list[str], list[Decided]]) -> None:
    players, decided = league
    standings = standings_of(players, decided)
    order = standings.ranking(TIEBREAKERS)
    assert sorted(order) == sorted(players)
    for better, worse in pairwise(order):
        one, other = standings.tallies[better], standings.tallies[worse]
        key, other_key = (one.points, one.wins, one.draws), (other.points, other.wins, other.draws)
        assert key >= other_key
        if key == other_key:
            tied = [p for p in players if _key(standings, p) == key]
            direct = standings.head_to_head(tied)
            assert (-direct[better], number_of(better)) < (-direct[worse], number_of(worse))


def _key(standings: StandingsTable, player: str) -> tuple[int, int, int]:
    tally = standings.tallies[player]
    return tally.points, tally.wins, tally.draws


@given(league=results())
def test_head_to_head_counts_the_points_within_the_group_only(league: tuple[list[str], list[Decided]]) -> None:
    players, decided = league
    standings = standings_of(players, decided)
    for group in (players[: len(players) // 2], players[:3], players):
        within = [one for one in decided if set(one.players) <= set(group)]
        assert standings.head_to_head(group) == {player: folded(player, within).points for player in group}


@given(league=results())
def test_the_order_of_results_does_not_matter(league: tuple[list[str], list[Decided]]) -> None:
    players, decided = league
    assert standings_of(players, decided).ranking(TIEBREAKERS) == standings_of(players, decided[::-1]).ranking(
        TIEBREAKERS
    )


def test_head_to_head_decides_among_those_still_tied() -> None:
    players = ["P01", "P02", "P03", "P04"]
    beats = [("P02", "P01"), ("P01", "P03"), ("P03", "P04"), ("P04", "P02")]
    standings = standings_of(players, [Decided(pair, pair[0]) for pair in beats])
    assert standings.ranking(TIEBREAKERS) == ["P01", "P02", "P03", "P04"]
    standings = standings_of(players, [Decided(("P03", "P01"), "P03"), Decided(("P01", "P02"), "P01")])
    assert standings.ranking(TIEBREAKERS) == ["P03", "P01", "P02", "P04"]


def test_tiebreakers_may_be_reordered() -> None:
    players = ["P01", "P02", "P03"]
    drawn = [Decided(("P01", "P03"), None)] * 4
    standings = standings_of(players, [*drawn, Decided(("P02", "P03"), "P02")])
    assert standings.ranking(TIEBREAKERS)[0] == "P01"
    assert standings.ranking(("wins", "points"))[0] == "P02"


def test_ids_are_ordered_by_number() -> None:
    players = [f"P{number:02d}" for number in (100, 99, 2, 10)]
    assert standings_of(players, []).ranking(TIEBREAKERS) == ["P02", "P10", "P99", "P100"]
