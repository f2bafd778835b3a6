"""Which results count, points against luck, draws against uniform ones, and what `league statistics` prints."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scipy import stats

from league.cli.main import main
from league.events import ResultAccepted
from league.features.games import kuhn_poker
from league.features.statistics import analysis
from league.features.statistics.analysis import analyse, referee_draws
from league.features.statistics.methods.chance import coin_tosses, holm, no_lead, uniform
from league.features.statistics.methods.points import points_table
from league.features.statistics.observations import Observation, Observations, observe
from league.features.statistics.statistics_tables import MODELS
from league.features.statistics.statistics_words import EXPLAINED
from league.reading.journals import replay
from tests.support.game_reports import result_of
from tests.support.managed import LEAGUE, Managed
from tests.support.simulated_results import observed
from tests.support.stories import on_disk

IDS = [f"P{at:02}" for at in range(1, 13)]


# --- which results count ----------------------------------------------------------------------------------------------


def test_technical_losses_and_walkovers_are_left_out_and_counted() -> None:
    manager = Managed(players=4, referees=1).fill()
    manager.answer_all()
    manager.report("R1M1", "B")
    manager.report("R1M2", "-A")
    manager.operate("withdraw", "P04")
    manager.play("A")
    seen = observe(manager.manager)
    first = manager.manager.ledger.matches["R1M1"]
    assert (seen.left_out.technical_losses, seen.left_out.walkovers, seen.left_out.repeated) == (1, 2, 0)
    assert seen.matches[0] == Observation(first.player_a, first.player_b, first.player_b)
    assert len(seen.matches) == 3
    assert seen.technical_losses == {"P01": 0, "P02": 0, "P03": 1, "P04": 0}
    assert seen.draws == {"REF01": (4, 4, 4)}


BEATS = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}


def throwing(throws: dict[str, str], double: bool = False) -> Managed:
    """A league of rock, paper, scissors in which everybody always throws the same."""
    game = "rock_paper_scissors"
    manager = Managed(players=len(throws), referees=1, game_type=game, double=double)
    manager.register("referee", 1, game_types=[game])
    for number in range(1, len(throws) + 1):
        manager.register("player", number, game_types=[game])
        manager.answer_pings()
    while not manager.manager.ledger.is_finished:
        manager.answer_pings()
        manager.answer_all()
        for match_id in manager.open_matches:
            manager.report(match_id, result=thrown(manager.manager.ledger.matches[match_id].players, throws))
        manager.wait(0.5)
    return manager


def thrown(players: tuple[str, str], throws: dict[str, str]) -> dict[str, Any]:
    """What a referee reports of a match of these two."""
    a, b = players
    won = a if (throws[a], throws[b]) in BEATS else b if (throws[b], throws[a]) in BEATS else None
    both = {one: throws[one] for one in players}
    moves = [both] * (3 if won is None else 2)
    score = {one: 3 if one == won else int(won is None) for one in players}
    return {
        "winner": won,
        "score": score,
        "details": {"choices": both, "moves": moves, "status": "WIN" if won else "DRAW"},
    }


def test_a_match_that_is_repeated_move_for_move_is_one_observation() -> None:
    manager = throwing({"P01": "rock", "P02": "paper", "P03": "rock"}, double=True)
    results = [one.result for one in manager.manager.ledger.matches.values()]
    assert sum(isinstance(one, ResultAccepted) for one in results) == 6
    seen = observe(manager.manager)
    assert (len(seen.matches), seen.left_out.repeated) == (3, 3)


# --- points against luck ----------------------------------------------------------------------------------------------


def tossed(seed: int, loaded: str | None = None) -> Observations:
    """A league of Even/Odd in which every second match is decided, by a coin; `loaded` wins all of its own."""
    chance, matches = Random(seed), list[Observation]()
    for a, b in [*combinations(IDS, 2)] * 2:
        winner = chance.choice((a, b)) if chance.random() < 0.5 else None
        matches.append(Observation(a, b, loaded if loaded in (a, b) else winner))
    return observed(matches, IDS, "even_odd")


def test_wins_by_tossing_coins_are_called_luck_in_nineteen_of_twenty_leagues() -> None:
    fooled = sum(any(not row.is_luck for row in points_table(tossed(seed))) for seed in range(200))
    assert fooled <= 15


def test_who_wins_every_match_is_not_called_lucky_and_stands_first() -> None:
    first, *others = points_table(tossed(1, loaded="P05"))
    assert (first.record.player_id, first.is_luck, first.points_per_match) == ("P05", False, 3.0)
    assert first.interval[0] > max(row.interval[0] for row in others)


def test_many_coin_tosses_are_tested_as_exactly_as_few() -> None:
    for wins in (500, 520, 540, 600):
        assert coin_tosses(wins, 1_002 - wins) == pytest.approx(stats.binomtest(wins, 1_002).pvalue, abs=0.002)


def test_tests_against_chance_are_those_of_the_textbooks() -> None:
    for wins, losses in ((0, 0), (5, 5), (8, 2), (0, 9), (400, 311)):
        exact = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        assert coin_tosses(wins, losses) == pytest.approx(exact)
    assert coin_tosses(3, 1) == 2 * (comb(4, 3) + comb(4, 4)) / 2**4
    chance = Random(4)
    for size in (2, 10):
        counts = [chance.randint(3, 20) for _ in range(size)]
        assert uniform(counts) == pytest.approx(stats.chisquare(counts).pvalue)
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([]) == []


# --- draws ------------------------------------------------------------------------------------------------------------


def drawing(draws: dict[str, tuple[int, ...]]) -> Observations:
    return replace(tossed(1), draws=draws)


def test_fair_referees_look_uniform_however_many_there_are() -> None:
    chance = Random(7)
    fooled = 0
    for _ in range(200):
        draws = {f"REF{at:02}": tuple(chance.randint(1, 10) for _ in range(60)) for at in range(8)}
        fooled += any(one.verdict != "uniform" for one in referee_draws(drawing(draws)))
    assert fooled <= 18


def test_a_referee_that_favours_a_number_is_found_and_one_with_few_draws_is_not_judged() -> None:
    chance = Random(8)
    fair, biased = (tuple(chance.choices(range(1, 11), [1] * 9 + [one], k=200)) for one in (1, 5))
    found = referee_draws(drawing({"REF01": fair, "REF02": biased, "REF03": biased[:49]}))
    assert [one.verdict for one in found] == ["uniform", "not uniform", "too few"]
    assert (found[2].p_value, found[2].draws) == (None, 49)
    assert found[1].counts[9] == biased.count(10)


# --- what is printed --------------------------------------------------------------------------------------------------


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    manager = Managed(players=4, referees=1).fill()
    manager.answer_all()
    manager.play("A")
    return on_disk(tmp_path / "journal.db", manager.events)


@pytest.fixture
def throws(tmp_path: Path) -> Path:
    manager = throwing({"P01": "rock", "P02": "paper", "P03": "rock", "P04": "scissors"})
    return on_disk(tmp_path / "throws.db", manager.events)


@pytest.fixture
def poker(tmp_path: Path) -> Path:
    """A league of Kuhn poker, which is scored by chips."""
    manager = Managed(players=4, referees=1, game_type="kuhn_poker")
    manager.register("referee", 1, game_types=["kuhn_poker"])
    for number in range(1, 5):
        manager.register("player", number, game_types=["kuhn_poker"])
        manager.answer_pings()
    while not manager.manager.ledger.is_finished:
        manager.answer_pings()
        manager.answer_all()
        for match_id in manager.open_matches:
            match = manager.manager.ledger.matches[match_id]
            name = (LEAGUE, match_id, match.attempt)
            manager.report(match_id, result=result_of(kuhn_poker.GAME, match.players, name, Random(match_id)))
        manager.wait(0.5)
    return on_disk(tmp_path / "poker.db", manager.events)


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    assert main(["statistics", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_even_odd_has_points_and_no_rating(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, str(journal))
    assert (document["measure"], document["rating"], len(document["points"])) == ("points", None, 4)
    assert main(["statistics", "--journal", str(journal)]) == 0
    said = capsys.readouterr().out
    assert "There is no rating" in said
    assert "luck" in said


def test_a_game_scored_by_margin_has_its_points_and_no_rating(poker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "--journal", str(poker))
    assert (document["measure"], document["rating"], document["matches"]) == ("margin", None, 6)
    rows = document["points"]
    # Two players share the 40 points of a match.
    assert sum(row["points_per_match"] for row in rows) == pytest.approx(4 * 20)
    assert [row["points_per_match"] for row in rows] == sorted((row["points_per_match"] for row in rows), reverse=True)
    for row in rows:
        low, high = row["interval"]
        assert low < row["points_per_match"] < high
        assert row["return_per_match"] == pytest.approx(row["points_per_match"] - 20)
        assert row["return_interval"] == pytest.approx([low - 20, high - 20])
        assert row["is_luck"], "three matches of random players tell nobody apart"
    assert main(["statistics", str(poker)]) == 0
    shown = capsys.readouterr().out
    assert "scored by points, not by wins" in shown
    assert f"{rows[0]['return_per_match']:.2f} " in shown


def test_a_lead_is_tested_as_the_textbooks_do() -> None:
    dice = Random(2)
    for size in (2, 3, 5, 20, 200):
        leads = [dice.gauss(0.5, 2) for _ in range(size)]
        assert no_lead(leads) == pytest.approx(stats.ttest_1samp(leads, 0).pvalue, abs=0.02)
    assert no_lead([]) == no_lead([3.0]) == no_lead([0.0, 0.0]) == 1.0
    assert no_lead([2.0] * 10) < 0.01


def test_a_game_of_skill_has_a_rating(throws: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "--journal", str(throws))
    assert (document["measure"], document["points"]) == ("rating", None)
    rows = document["rating"]["players"]
    assert sum(row["first"] for row in rows) == pytest.approx(1.0)
    assert all(len(row["tied_with"]) == 3 for row in rows), "six matches tell nobody apart"
    assert main(["statistics", str(throws)]) == 0
    assert "everybody" in capsys.readouterr().out


def test_every_number_is_explained_where_it_stands(
    journal: Path, throws: Path, poker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ""
    for one in (journal, throws, poker):
        main(["statistics", str(one)])
        told += " ".join(capsys.readouterr().out.split())
    missing = {name for name, sentence in EXPLAINED.items() if sentence not in told}
    sometimes = {"groups", "gone_behind", *MODELS.values()}
    assert missing <= sometimes, "only where there are several groups, players that were gone, or language models"


def test_without_numpy_ratings_say_what_to_install(
    throws: Path, journal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "find_spec", lambda _: None)
    assert main(["statistics", str(throws)]) == 1
    assert "pip install 'agent-league[stats]'" in capsys.readouterr().err
    assert main(["statistics", str(journal)]) == 0
    assert analyse(observe(replay(str(throws)).manager)).rating is None


def test_the_league_is_named_once(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statistics", str(journal), "--journal", str(journal)]) == 2
    assert "name the league once" in capsys.readouterr().err
    assert main(["statistics", str(journal.parent / "nothing.db")]) == 1
