"""Play by language models is shown as the experiment it is: its conditions, whose choices they were, and who is not
rated."""

from __future__ import annotations

import csv
import html
import json
from pathlib import Path
from typing import Any

import pytest

from league.cli.main import main
from league.features.dashboard.rendering import Links, Renderer
from league.features.dashboard.views.player_view import player_page
from league.features.statistics.analysis import analyse
from league.features.statistics.observations import observe
from league.features.statistics.section import statistics_view
from league.features.statistics.statistics_tables import MODELS
from league.features.statistics.statistics_words import EXPLAINED
from league.reading.models import ModelPlay, models
from tests.support.managed import Managed
from tests.support.stories import on_disk

CARD = {
    "model": "small-1",
    "provider": "api.example.org",
    "prompt": "Choose <one> of $options",
    "prompt_sha256": "ab" * 32,
    "corrections": 2,
    "temperature": 0.5,
}
GOOD = {"tokens": 100, "tokens_estimated": 40, "thinking_s": 2.0, "waited_s": 1.0}


def league(said: dict[str, Any], declined: int = 0, first_report: Any = None) -> Managed:
    """A league of four in which P01 and P02 are models: what their referee reports of each in every match, how often
    its first match has waited for the model of P01, and what is reported of that match instead."""
    managed = Managed(players=4, referees=1)
    managed.register("referee", 1, trouble="trouble.v1")
    for number in range(1, 5):
        managed.register("player", number, conditions=CARD if number < 3 else None)
        managed.answer_pings()
    managed.answer_all()
    first = next(match for match in managed.open_matches if "P01" in managed.manager.ledger.matches[match].players)
    for turn in range(declined):
        letter = managed.trouble(first, "P01", "E045", turn=turn + 1)
        managed.answer_pings()
        assert managed.decision(letter) == "wait"
    while not managed.manager.ledger.is_finished:
        managed.answer_pings()
        managed.answer_all()
        for match_id in managed.open_matches:
            report = managed.report_of(match_id)
            players = managed.manager.ledger.matches[match_id].players
            provenance = {one: said[one] for one in players if one in said}
            if first_report is not None and match_id == first:
                provenance = first_report
            report["result"]["details"]["provenance"] = provenance
            managed.request(report)
        managed.wait(0.5)
    return managed


def model(managed: Managed, player: str) -> ModelPlay:
    return next(one for one in models(managed.manager) if one.player_id == player)


def test_what_a_model_did_is_added_up_over_its_matches() -> None:
    managed = league({"P01": GOOD, "P02": {"choices": 5, "fallbacks": 1}})
    found = model(managed, "P01")
    assert (found.choices, found.fallbacks, found.provider_errors, found.declined) == (3, 0, 0, 0)
    assert found.tokens_estimated == 120
    assert (found.tokens, found.thinking_s, found.waited_s, found.not_rated) == (300, 2.0, 3.0, "")
    assert model(managed, "P02").not_rated == "", "a fifth is not too much"
    assert [one.player_id for one in models(managed.manager)] == ["P01", "P02"]


@pytest.mark.requirement("EXPERIMENT.not_rated")
@pytest.mark.parametrize(("said", "why"), [
    ({"choices": 9, "fallbacks": 2}, "22% of its choices are not the model's"),
    ({"choices": 9, "provider_errors": 1}, "its provider failed in 11% of its choices"),
])  # fmt: skip
def test_a_player_whose_model_did_too_little_itself_is_not_rated(said: dict[str, int], why: str) -> None:
    managed = league({"P01": GOOD, "P02": said})
    assert model(managed, "P02").not_rated == why
    found = analyse(observe(managed.manager))
    assert found.points is not None
    assert sorted(one.record.player_id for one in found.points) == ["P01", "P03", "P04"]
    assert (found.matches, found.left_out.not_rated) == (3, 3)
    assert all(one.record.played == 2 for one in found.points), "its matches count for nobody"
    assert [(one.player_id, one.played) for one in found.unrated] == [("P02", 3)]


@pytest.mark.requirement("EXPERIMENT.not_rated")
def test_a_model_whose_provider_was_out_in_too_many_matches_is_not_rated() -> None:
    managed = league({"P01": GOOD}, declined=1)
    found = model(managed, "P01")
    assert (found.choices, found.declined, found.provider_errors) == (4, 1, 1)
    assert found.not_rated == "its provider failed in 25% of its choices"


@pytest.mark.requirement("EXPERIMENT.not_rated")
def test_a_model_that_was_exchanged_during_the_league_is_not_rated() -> None:
    managed = league({"P01": GOOD})
    managed.register("player", 1, conditions={"model": "large-1"}, auth_token=managed.tokens["P01"])
    assert model(managed, "P01").not_rated == "its conditions were changed during the league"


@pytest.mark.parametrize("said", [{"choices": -1}, {"choices": "many"}, [], None, {"thinking_s": None}])
def test_what_a_referee_reports_of_it_may_be_anything(said: Any) -> None:
    managed = league({"P01": GOOD}, first_report={"P01": said, "P02": said})
    assert model(managed, "P01").choices == 2


# --- where it is shown ------------------------------------------------------------------------------------------------

FALLS_BACK = {"fallbacks": 1}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    on_disk(tmp_path / "journal.db", league({"P01": GOOD, "P02": FALLS_BACK}).events)
    return tmp_path / "journal.db"


@pytest.mark.requirement("EXPERIMENT.not_rated")
def test_statistics_show_who_is_not_rated_and_why(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statistics", str(journal)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "P02: small-1, at api.example.org, prompt abababab, options shown, 2 corrections, temperature 0.5" in told
    assert "not rated: 100% of its choices are not the model's" in told
    assert "3 with players that are not rated" in told
    assert all(EXPLAINED[name] in told for name in MODELS.values())
    assert main(["statistics", str(journal), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(one["player_id"], bool(one["not_rated"])) for one in document["models"]] == [("P01", False), ("P02", True)]
    assert document["models"][0]["conditions"][0]["prompt"] == CARD["prompt"]
    assert {row["record"]["player_id"] for row in document["points"]} == {"P01", "P03", "P04"}


def test_the_league_page_shows_it_too() -> None:
    view = statistics_view(analyse(observe(league({"P01": GOOD, "P02": FALLS_BACK}).manager)))
    assert [(row.player.agent_id, row.cells[0]) for row in view.rows][-1] == ("P02", "not rated")
    (note,) = [one for one in view.notes if one.title == "P02, a language model"]
    assert "Not rated: 100% of its choices" in note.text


def test_the_page_of_a_player_has_its_conditions() -> None:
    manager = league({"P01": GOOD, "P02": FALLS_BACK}).manager
    for player, is_rated in (("P01", True), ("P02", False)):
        page = player_page(manager, player, [])
        assert page is not None
        shown = Renderer(Links()).player(page)
        assert html.escape(str(CARD["prompt"])) in shown
        assert ("300 (120 of them estimated)" in shown) == (player == "P01")
        assert ("Not rated" not in shown) == is_rated
    plain = player_page(manager, "P03", [])
    assert plain is not None
    assert "Language model" not in Renderer(Links()).player(plain)


def test_exports_have_the_conditions_and_the_counts(journal: Path, tmp_path: Path) -> None:
    assert main(["export", str(journal), "--to", str(tmp_path / "csv"), "--format", "csv"]) == 0
    with (tmp_path / "csv" / "models.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["player_id"], first["model"], first["temperature"], first["tokens"]) == (
        "P01",
        "small-1",
        "0.5",
        "300",
    )
    assert first["tokens_estimated"] == "120"
    assert second["not_rated"]
    assert main(["export", str(journal), "--to", str(tmp_path / "json"), "--format", "json"]) == 0
    document = json.loads((tmp_path / "json" / "league.json").read_text("utf-8"))
    assert [one["player_id"] for one in document["models"]] == ["P01", "P02"]
    assert document["agents"][1]["conditions"][0]["model"] == "small-1"
