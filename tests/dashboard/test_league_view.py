"""What the league page shows follows from the results in force: the numbers of the table that members get, and more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from league.features.dashboard.rendering import Links, Renderer
from league.features.dashboard.views.charts import LABEL_GAP, LEADERS, points_chart
from league.features.dashboard.views.league_view import (
    FormMark,
    LeagueView,
    NamedAgent,
    PointsLine,
    StandingView,
    completed,
    league_view,
    title_in,
)
from league.features.dashboard.views.player_view import player_page
from league.protocol.order_table import PLAIN_ORDERS
from league.reading import views
from tests.support.managed import Managed

TABLE = ("rank", "played", "wins", "draws", "losses", "points")


def rounds(*winners: str | None, **settings: Any) -> Iterator[Managed]:
    """A league of four after each of its rounds, all matches of which ended so."""
    managed = Managed(**{"players": 4, "referees": 1, **settings}).fill()
    for round_id, winner in enumerate(winners, start=1):
        for _ in range(1000):
            for match_id in managed.open_matches:
                managed.report(match_id, winner)
            if managed.manager.ledger.rounds and managed.manager.ledger.rounds[round_id - 1].undecided == 0:
                break
            managed.answer_pings()
            managed.answer_all()
            managed.wait(0.5)
        else:
            raise AssertionError(f"round {round_id} does not end")
        yield managed


def last(*winners: str | None, **settings: Any) -> Managed:
    return list(rounds(*winners, **settings))[-1]


def row(view: LeagueView, player_id: str) -> StandingView:
    return next(one for one in view.standings if one.player.agent_id == player_id)


def test_the_table_of_the_page_is_the_table_of_the_league() -> None:
    for managed in rounds("A", None, "-B"):
        shown, table = league_view(managed.manager).standings, views.standings(managed.manager)
        assert [{name: getattr(one, name) for name in TABLE} for one in shown] == [
            {name: one[name] for name in TABLE} for one in table["standings"]
        ]
        assert {one.player.agent_id: one.technical for one in shown} == table["technical_losses"]


def test_form_and_cross_table_tell_each_result_from_both_sides() -> None:
    view = league_view(last("A", None, "-B").manager)
    forms = {one.player.agent_id: "".join(mark.mark for mark in one.form) for one in view.standings}
    assert sorted("".join(sorted(form)) for form in forms.values()) == sorted(
        "".join(sorted(form)) for form in (("W", "D", "W"), ("W", "D", "T"), ("L", "D", "W"), ("L", "D", "T"))
    )
    other = {"W": "LT", "D": "D", "L": "W", "T": "W"}
    for at, one in enumerate(view.cross):
        assert one.cells[at] is None
        for place, cell in enumerate(one.cells):
            if place != at:
                (mine,) = cell or ()
                (theirs,) = view.cross[place].cells[at] or ()
                assert mine.match_id == theirs.match_id
                assert theirs.mark in other[mine.mark]


def test_places_moved_are_those_since_the_round_before() -> None:
    tables = [
        {one.player.agent_id: (one.rank, one.moved) for one in league_view(managed.manager).standings}
        for managed in rounds("B", "A", "A")
    ]
    assert {moved for _, moved in tables[0].values()} == {0}
    assert any(moved for table in tables for _, moved in table.values())
    for before, after in pairwise(tables):
        assert {one: rank + moved for one, (rank, moved) in after.items()} == {
            one: rank for one, (rank, _) in before.items()
        }


def test_a_champion_a_withdrawn_player_and_a_parked_match_are_named() -> None:
    managed = last("A")
    managed.operate("withdraw", "P04")
    assert row(league_view(managed.manager), "P04").status == "withdrawn"
    managed.play("A")
    view = league_view(managed.manager)
    assert [one.player for one in view.standings if one.is_champion] == [view.progress.champion]
    assert view.progress.headline == f"Champion: {view.standings[0].player.name}"
    assert (view.progress.completed, view.coming) == (view.progress.total, ())


def test_a_league_without_a_win_has_no_champion_on_its_page() -> None:
    view = league_view(last("--", "--", "--").manager)
    assert view.progress.headline == "Nobody won: no player has a win or a point"
    assert view.progress.champion is None
    assert not any(standing.is_champion for standing in view.standings)


def test_a_tie_break_is_named_in_its_row_at_the_champion_and_below_the_table() -> None:
    managed = last(None, None, None)
    managed.play(None)
    view = league_view(managed.manager)
    remark = "ahead of Player 2 by the lower number, since everything else is equal"
    assert view.standings[0].tie_break == remark
    assert view.progress.champion_remarks == (remark,)
    assert view.notes[0] == f"Player 1 is {remark}"
    page = Renderer(Links()).league(view)
    assert f'<td class="rank tied" title="{remark}">1</td>' in page
    assert f"<li>Player 1 is {remark}</li>" in page
    assert view.standings[-1].tie_break == ""


def test_the_page_says_what_the_league_waits_for() -> None:
    managed = Managed(players=4, referees=1)
    managed.register("player", 1)
    waiting = league_view(managed.manager).progress.waiting
    assert waiting == "1 of 4 players and 0 of 1 referees have registered."
    page = Renderer(Links()).league(
        completed(league_view(managed.manager), (), {}, address="http://192.0.2.7:8000/mcp")
    )
    assert "league player --manager http://192.0.2.7:8000/mcp" in page, "it says how to join"
    managed = last("A")
    begun = completed(league_view(managed.manager), (), {}, address="http://192.0.2.7:8000/mcp")
    assert begun.progress.address == "", "nobody joins a league that has begun"
    managed.operate("pause")
    assert league_view(managed.manager).progress.waiting == "Paused by the operator."


def test_points_grow_with_finished_rounds_and_no_label_covers_another() -> None:
    managed = last("A", "A", "A")
    managed.play("A")
    view = league_view(managed.manager)
    assert [line.points[-1] for line in view.chart] == [one.points for one in view.standings]
    assert all(line.points[0] == 0 and len(line.points) == 4 for line in view.chart)
    tied = [PointsLine(NamedAgent(f"P{number:02}", f"Player {number}"), (0, 3, 3)) for number in range(1, 21)]
    chart = points_chart(tied)
    assert chart is not None
    labels = sorted(one.label_y for one in chart.lines if one.place)
    assert len(labels) == LEADERS
    assert all(round(below - above, 1) >= LABEL_GAP for above, below in pairwise(labels))
    assert all(0 < one < chart.height for one in labels)


def test_labels_stand_in_the_order_of_the_lines_though_the_table_is_newer() -> None:
    lines = [
        PointsLine(NamedAgent(f"P0{number}", "x"), (0, points)) for number, points in enumerate((6, 3, 7, 0), start=1)
    ]
    chart = points_chart(lines)
    assert chart is not None
    ends = sorted((one.end_y, one.label_y) for one in chart.lines)
    assert [label for _, label in ends] == sorted(label for _, label in ends)


def test_the_operator_has_a_button_for_every_order_and_sees_who_waits() -> None:
    managed = Managed(players=2, referees=1, enrolment="approve")
    managed.register("player", 1, display_name="Owls")
    view = league_view(managed.manager)
    assert [(one.applicant_id, one.name, one.role) for one in view.applicants] == [("A01", "Owls", "player")]
    live = Renderer(Links()).league(view, position="here-1")
    # An order that carries a secret is for the command line, which keeps the new secret in a file.
    assert set(re.findall(r'data-order="([^"]+)"', live)) == set(PLAIN_ORDERS)
    assert "data-order" not in Renderer(Links()).league(view), "a page that is no manager's takes no orders"


def test_the_page_of_a_hundred_players_is_small_even_after_all_rounds() -> None:
    managed = next(rounds("A", players=100, referees=2))
    view = league_view(managed.manager)
    assert view.cross == ()
    played_out = tuple(PointsLine(line.player, tuple(range(0, 300, 3))) for line in view.chart)
    form = tuple(FormMark(f"R{number}M10", "W") for number in range(95, 100))
    standings = tuple(replace(standing, form=form) for standing in view.standings)
    page = Renderer(Links()).league(replace(view, chart=played_out, standings=standings))
    assert len(page.encode()) < 300_000
    assert "100 players are too many for this table" in page


def test_a_title_heads_the_pages_in_place_of_the_id() -> None:
    managed = next(rounds("A", title="Autumn <Cup>"))
    page = Renderer(Links()).league(league_view(managed.manager))
    assert "<title>Autumn &lt;Cup&gt;</title>" in page
    assert '<h1 dir="auto">Autumn &lt;Cup&gt;</h1>' in page
    assert views.league(managed.manager, 0)["title"] == "Autumn <Cup>"
    player = player_page(managed.manager, "P01", ())
    assert player is not None
    assert "Autumn &lt;Cup&gt;" in Renderer(Links()).player(player)
    untitled = league_view(next(rounds("A")).manager)
    assert (untitled.title, untitled.game) == ("league_test", "Even/Odd")
    assert title_in("", "league_20261118_153427_even_odd", "Even/Odd") == "Even/Odd league"
    named_by_its_game = Renderer(Links()).league(replace(untitled, title="Even/Odd league"))
    assert named_by_its_game.count("Even/Odd") == 2, "the title of the window and the heading, and no third time"
    page = Renderer(Links()).league(untitled)
    assert "Check this league" in page


def test_a_result_stands_alone_until_it_is_known_what_it_rests_on() -> None:
    managed = last("A")
    managed.answer_pings()
    managed.answer_all()
    match_id = managed.open_matches[0]
    managed.report(match_id, "A")
    view = league_view(managed.manager)
    decided = next(match for match in view.matches if match.match_id == match_id)
    assert (managed.manager.ledger.matches[match_id].basis, decided.outcome) == (None, "won")
