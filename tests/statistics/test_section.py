"""The league page shows what the results tell, in the words of `league statistics`."""

from __future__ import annotations

import html
from dataclasses import replace

import pytest

from league.features.dashboard.rendering import Links, Renderer
from league.features.dashboard.sections import sections_of
from league.features.dashboard.views.league_view import league_view
from league.features.statistics import analysis
from league.features.statistics.observations import observe
from league.features.statistics.section import StatisticsView, statistics_view
from league.features.statistics.statistics_tables import POINTS, RATING
from league.features.statistics.statistics_words import EXPLAINED
from league.manager.league_manager import LeagueManager
from tests.statistics.test_analysis import throwing
from tests.support.managed import Managed


def shown(manager: LeagueManager) -> tuple[StatisticsView, str]:
    """The statistics as data, and the page they stand on."""
    view = statistics_view(analysis.analyse(observe(manager)))
    page = Renderer(Links()).league(replace(league_view(manager), sections=sections_of(manager)))
    return view, html.unescape(page)


def even_odd() -> LeagueManager:
    managed = Managed(players=4, referees=1).fill()
    managed.play("A")
    return managed.manager


def throws() -> LeagueManager:
    return throwing({"P01": "rock", "P02": "paper", "P03": "rock", "P04": "scissors"}).manager


def test_players_of_a_game_of_luck_have_points_and_a_test_against_luck() -> None:
    view, page = shown(even_odd())
    assert [one.title for one in view.columns[1:]] == list(POINTS)
    assert len(view.rows) == 4
    assert {one.cells[-1] for one in view.rows} == {"may be luck"}
    assert "There is no rating" in page
    assert all(EXPLAINED[name] in page for name in (*POINTS.values(), "matches", "left_out"))


def test_players_of_a_game_of_skill_have_a_rating_and_are_told_who_is_tied() -> None:
    view, page = shown(throws())
    assert [one.title for one in view.columns[1:]] == list(RATING)
    assert {one.cells[-1] for one in view.rows} == {"everybody"}
    assert all(EXPLAINED[name] in page for name in (*RATING.values(), "seat_advantage", "more_matches"))
    for one in view.rows:
        assert one.reach is not None
        assert 0 <= one.reach.low <= one.reach.value <= one.reach.high <= 100


def test_all_neighbours_that_are_not_told_apart_are_named() -> None:
    found = analysis.analyse(observe(throws()))
    assert found.rating is not None
    near = [one for one in found.rating.neighbours if not one.apart]
    assert len(near) > 1
    (note,) = (one for one in statistics_view(found).notes if one.title == "more matches")
    assert all(f"{one.better} and {one.worse}: " in note.text for one in near)


def test_who_has_played_nothing_is_not_measured() -> None:
    (row, *_) = statistics_view(analysis.analyse(observe(Managed(players=2, referees=1).fill().manager))).rows
    assert set(row.cells) == {None}
    assert row.reach is None


def test_without_numpy_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "find_spec", lambda _: None)
    view, page = shown(throws())
    assert view.rows == ()
    assert "Ratings need NumPy, which is not installed: pip install 'agent-league[stats]'" in page
    assert len(shown(even_odd())[0].rows) == 4


@pytest.mark.parametrize("players", [2, 3])
def test_nobody_needs_to_have_played(players: int) -> None:
    view, page = shown(Managed(players=players, referees=1).fill().manager)
    assert len(view.rows) == players
    assert "0 count." in page
