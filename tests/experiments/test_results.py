"""The results of a tournament in scripts and notebooks: rows, ratings, data frames, HTML."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import league
from league.cli.main import main
from league.features.experiments.outcome import results
from league.features.experiments.tournament import TournamentResult, tournament
from league.features.statistics import tournaments
from league.terminal import CommandError


@pytest.fixture(scope="module")
def result() -> TournamentResult:
    strategies = ["random", "search", "always_odd"]
    return tournament(strategies, game="tic_tac_toe", meetings=40, openings=3, seed=5, jobs=1)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_matches_are_rows_that_can_be_counted_indexed_and_cut(result: TournamentResult) -> None:
    rows = list(result.matches)
    assert len(result.matches) == len(rows) == result.document["matches"] == 120
    assert result.matches[0]["number"] == 1
    assert result.matches[-1] == rows[119]
    assert result.matches[38:42] == rows[38:42]
    assert [row["number"] for row in rows[38:42]] == [39, 40, 1, 2]
    with pytest.raises(IndexError):
        result.matches[120]


def test_pairs_and_matches_tell_the_same(result: TournamentResult) -> None:
    for pair in result.pairs:
        ends = [
            row["ended"] for row in result.matches if (row["first"], row["second"]) == (pair["first"], pair["second"])
        ]
        assert ends.count("FIRST_WON") == pair["wins"]
        assert ends.count("DRAW") == pair["draws"]


# --- ratings ----------------------------------------------------------------------------------------------------------


def test_ratings_put_the_stronger_strategy_first_with_its_interval(result: TournamentResult) -> None:
    ratings = result.ratings()
    assert [row["strategy"] for row in ratings] == ["search", "always_odd", "random"]
    for row in ratings:
        low, high = row["interval"]
        assert (low or -9999) < row["rating"] < (high or 9999)
    assert ratings[0]["tied_with"] == []
    assert (ratings[0]["best_rank"], ratings[0]["worst_rank"]) == (1, 1)
    assert json.loads(json.dumps(ratings)) == ratings


def test_what_two_strategies_always_repeat_is_rated_once_from_each_seat_and_opening() -> None:
    strategies = ["always_odd", "always_even"]
    always_the_same = tournament(strategies, game="tic_tac_toe", meetings=60, openings=3, seed=5)
    (pair,) = always_the_same.pairs
    seats = [seat["wins"] + seat["draws"] + seat["losses"] for seat in pair["rated"]]
    assert [seat["player_a"] for seat in pair["rated"]] == strategies
    assert seats == [3, 3]
    assert {row["rated_matches"] for row in always_the_same.ratings()} == {6}


def test_technical_losses_are_not_rated() -> None:
    class Failing:
        def choose(self, turn: league.Turn) -> str:
            raise ValueError("my bug")

    document = tournament([Failing, "random"], game="tic_tac_toe", meetings=10, seed=1).document
    observations = tournaments.observe(tournaments.read(document), "test")
    assert observations.matches == ()
    assert (observations.left_out.technical_losses, observations.left_out.repeated) == (10, 0)


def test_the_rating_of_a_game_scored_by_its_margin_is_the_mean_return() -> None:
    result = tournament(["random", "equilibrium"], game="kuhn_poker", meetings=100, seed=1)
    first, second = result.ratings()
    assert first["strategy"] == "equilibrium"
    assert first["rating"] == pytest.approx(-second["rating"])
    low, high = first["interval"]
    assert low < first["rating"] < high


def test_without_numpy_ratings_say_what_to_install(result: TournamentResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "find_spec", lambda _: None)
    with pytest.raises(league.LeagueError, match=r"pip install 'agent-league\[stats\]'"):
        result.ratings()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"pairs": [{"first": "a", "second": "b", "matches": 1, "distinct_matches": 1, "rated": []}]},
            "the pair a and b does not fit",
        ),
        ({"pairs": [{"first": "random", "second": "search"}]}, "play it again with the same seed"),
        ({"standings": [{"strategy": "random", "technical_losses": -1}]}, "play it again"),
        ({"game": 7}, "play it again"),
        ({"standings": []}, "a row for each strategy, and at least two"),
    ],
)
def test_a_document_of_somebody_else_is_read_with_care(
    result: TournamentResult, change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        tournaments.read({**result.document, **change})


def test_statistics_of_a_folder_are_those_of_its_result(
    result: TournamentResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result.write(tmp_path / "study")
    assert main(["statistics", str(tmp_path / "study"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {**document, "league_id": "tic_tac_toe"} == json.loads(json.dumps(result.statistics()))
    assert document["league_id"] == "study"
    ratings = {row["strategy"]: row["rating"] for row in result.ratings()}
    assert {row["record"]["player_id"]: row["rating"] for row in document["rating"]["players"]} == ratings
    assert document["matches"] + document["left_out"]["repeated"] == 120
    assert main(["statistics", "--journal", str(tmp_path / "study" / "tournament.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    (head,) = [line.split() for line in lines if line.startswith("player")]
    assert head[:3] == ["player", "won", "drawn"]
    (tmp_path / "study" / "tournament.json").write_text("{", "utf-8")
    assert main(["statistics", str(tmp_path / "study")]) == 1
    assert "is not the JSON of a tournament" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("game", "strategies", "verdicts"),
    [("even_odd", ["random", "mirror"], [True, True]), ("kuhn_poker", ["equilibrium", "random"], [False, False])],
)
def test_statistics_of_luck_and_margins_have_the_intervals_of_the_standings(
    game: str, strategies: list[str], verdicts: list[bool]
) -> None:
    result = tournament(strategies, game=game, meetings=1_000, seed=3)
    rows = result.statistics()["points"]
    assert [row["record"]["player_id"] for row in rows] == [row["strategy"] for row in result.standings]
    assert [list(row["interval"]) for row in rows] == [row["interval"] for row in result.standings]
    assert [row["is_luck"] for row in rows] == verdicts


# --- data frames and notebooks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_every_table_is_a_data_frame(result: TournamentResult, library: str) -> None:
    frame = getattr(result, f"to_{library}")
    assert len(frame()) == 120
    assert list(frame()["ended"]) == [row["ended"] for row in result.matches]
    standings = frame("standings")
    assert list(standings["interval_low"]) == [row["interval"][0] for row in result.standings]
    assert list(frame("pairs")["first"]) == ["random", "random", "search"]
    assert list(frame("ratings")["strategy"]) == ["search", "always_odd", "random"]
    with pytest.raises(league.LeagueError, match="there is no table 'players'; choose one of matches, pairs"):
        frame("players")


def test_a_missing_library_is_named(result: TournamentResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "find_spec", lambda _: None)
    with pytest.raises(league.LeagueError, match="polars is not installed: pip install polars"):
        result.to_polars()


def test_a_printed_result_reads_like_the_command_and_not_like_its_fields(result: TournamentResult) -> None:
    lines = str(result).splitlines()
    assert lines[0].split()[:3] == ["strategy", "played", "won"]
    assert lines[1].startswith("search ")
    assert any(line.startswith("120 matches of tic_tac_toe in ") for line in lines)
    assert "TournamentResult(" not in repr(result)


def test_a_notebook_shows_the_standings_and_no_markup_of_others(result: TournamentResult) -> None:
    page = result._repr_html_()
    assert page.index("search") < page.index("random")
    assert "120 matches of tic_tac_toe, seed 5" in page
    document = {**result.document, "standings": [{**result.standings[0], "strategy": "<b>"}]}
    shown = dataclasses.replace(result, document=document)
    assert "&lt;b&gt;" in shown._repr_html_()
    assert "<b>" not in shown._repr_html_()


# --- a league that runs -----------------------------------------------------------------------------------------------


def test_a_running_league_has_statistics() -> None:
    async def play() -> Any:
        async with league.run(players=["random", "search", "always_odd"], game="tic_tac_toe", seed=1) as running:
            before = running.statistics()
            await running.finished()
            return before, running.statistics()

    before, after = asyncio.run(play())
    assert before["matches"] == 0
    assert after["matches"] == 3
    assert {row["record"]["display_name"] for row in after["rating"]["players"]} >= {"Search-P02"}
    assert after["explained"]["rating"]
    assert after["missing"] is None
