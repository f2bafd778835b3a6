"""Does a referee favour a player? The test finds one that does, accuses no fair one, and says when it cannot tell."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from league.features.statistics.methods.chance import EXACT, Results, at_least_as_lucky
from league.features.statistics.methods.favouritism import FEWEST_MATCHES, favouritism
from league.features.statistics.observations import RefereedMatch

REFEREES = ("REF01", "REF02", "REF03")


def season(seed: int, meetings: int, leaks: bool) -> list[RefereedMatch]:
    """Four players meet this often under each referee. REF01 tells P01 the number, if it leaks."""
    dice = random.Random(seed)
    matches = []
    for referee in REFEREES:
        for pair in [("P01", "P02"), ("P03", "P04"), ("P01", "P03"), ("P02", "P04"), ("P01", "P04"), ("P02", "P03")]:
            for _ in range(meetings):
                right = dice.choice(("even", "odd"))
                choices = [dice.choice(("even", "odd")) for _ in pair]
                if leaks and referee == "REF01" and pair[0] == "P01":
                    choices[0] = right
                is_draw = choices[0] == choices[1]
                winner = None if is_draw else pair[choices.index(right)]
                matches.append(RefereedMatch(referee, pair, winner, is_draw))
    return matches


def test_a_referee_that_leaks_is_found() -> None:
    first, *others = favouritism(season(1, 30, leaks=True))
    assert (first.verdict, first.player_id) == ("favours", "P01")
    assert first.p_value is not None
    assert first.p_value < 0.01
    assert {other.verdict for other in others} == {"no sign"}


def test_fair_referees_are_hardly_ever_accused() -> None:
    accused = 0
    for seed in range(100):
        accused += any(finding.verdict == "favours" for finding in favouritism(season(seed, 10, leaks=False)))
    assert accused <= 10


def test_few_matches_tell_nothing() -> None:
    findings = favouritism(season(1, (FEWEST_MATCHES - 1) // 3, leaks=True))
    assert {(finding.verdict, finding.tested, finding.p_value) for finding in findings} == {("too few", 0, None)}
    assert favouritism(()) == ()


def test_the_only_referee_cannot_be_compared() -> None:
    matches = [match._replace(referee_id="REF01") for match in season(1, 30, leaks=True)]
    assert [finding.verdict for finding in favouritism(matches)] == ["too few"]


def test_chance_is_counted_out() -> None:
    """By hand: all ways to pick two of four matches."""
    whole = Results(wins=1, draws=1, losses=2)
    points = [3, 1, 0, 0]
    for part in (Results(1, 1, 0), Results(1, 0, 1), Results(0, 1, 1), Results(0, 0, 2)):
        picks = [pick for pick in permutations(range(4), 2) if sum(points[place] for place in pick) >= part.points]
        assert at_least_as_lucky(part, whole) == pytest.approx(len(picks) / 12)


@pytest.mark.parametrize("wins", [10, 20, 30])
def test_the_normal_distribution_is_close_where_it_takes_over(wins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    part = Results(wins, 15, EXACT - 15 - wins)
    whole = Results(100, 80, 120)
    exact = at_least_as_lucky(part, whole)
    monkeypatch.setattr("league.features.statistics.methods.chance.EXACT", 1)
    assert at_least_as_lucky(part, whole) == pytest.approx(exact, abs=0.01)
