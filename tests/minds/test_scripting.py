"""`league.LLM` and `league.Ask` in scripts: in tournaments, many matches at once, and in leagues of real agents."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import league
from league.features.minds.asked import chat
from league.features.minds.scripting import AT_ONCE, OUTAGES
from league.terminal import console
from tests.minds.test_programs import FIRST, program
from tests.support.language_models import StandIn, stand_in


class Counting(StandIn):
    """Counts how many questions it is asked at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.open = 0
        self.most = 0

    def answer(self, path: str, authorization: str, body: bytes) -> Any:
        with self.lock:
            self.open += 1
            self.most = max(self.most, self.open)
        # Long enough for others to come.
        self.is_closing.wait(0.02)
        try:
            return super().answer(path, authorization, body)
        finally:
            with self.lock:
                self.open -= 1


@pytest.fixture
def counting() -> Any:
    server = Counting()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.is_closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_matches_are_played_at_once_up_to_the_limit_of_the_provider(counting: Counting) -> None:
    players = [league.LLM(model, counting.base_url, at_once=3) for model in ("right", "upper")]
    seen: list[dict[str, Any]] = []
    result = league.tournament(players, game="tic_tac_toe", meetings=12, seed=1, on_match=seen.append)
    assert counting.most == 3
    assert [match["number"] for match in seen] == list(range(1, 13))
    assert {match["player_a"] for match in seen} == {"right", "upper"}
    assert result.document["matches"] == 12
    assert [row["fallbacks"] for row in result.document["minds"]] == [0, 0]


def test_the_same_seed_and_a_cache_repeat_a_study_without_a_question(tmp_path: Path) -> None:
    with stand_in() as server:

        def study(seed: int) -> dict[str, Any]:
            players = [league.LLM(model, server.base_url, cache=tmp_path / "cache.db") for model in ("right", "banana")]
            document = league.tournament(players, game="tic_tac_toe", meetings=4, seed=seed).document
            return {name: document[name] for name in ("standings", "pairs")}

        before = study(1)
        questions = len(server.prompts)
        assert study(1) == before
        assert len(server.prompts) == questions
        study(2)
        assert len(server.prompts) > questions, "another seed is another experiment"


def test_a_program_plays_a_tournament_and_none_of_its_processes_remains(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"import os; open({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\n{FIRST}"
    player = league.Ask(program(tmp_path, code, "lonely_mind.py"), name="mind")
    result = league.tournament([player, "random"], meetings=20, seed=1)
    assert result.document["failures"] == []
    (mind,) = result.document["minds"]
    assert (mind["choices"], mind["fallbacks"], mind["conditions"]["model"]) == (20, 0, "lonely_mind.py")
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("model", ["failing", "cut", "page", "oversized"])
def test_a_provider_that_fails_five_times_in_a_row_ends_the_study(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "complain", lambda _: None)
    monkeypatch.setattr(chat.ProviderOfModels, "greet", greeted)
    with stand_in() as server:
        player = league.LLM(model, server.base_url)
        with pytest.raises(league.LeagueError, match=f"{model} cannot play on: the provider"):
            league.tournament([player, "random"], meetings=500, seed=1, move_seconds=0.6)
    assert len(server.requests) <= 3 * OUTAGES * AT_ONCE


async def greeted(_: object) -> None:
    """As of a provider that fails only later."""


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
def test_a_study_ends_at_once_if_its_provider_refuses_for_good_and_goes_on_from_its_record(
    status: int, tmp_path: Path
) -> None:
    with stand_in() as server:

        def study(*, resume: bool) -> Any:
            player = league.LLM("right", server.base_url, at_once=1)
            return league.tournament(
                [player, "random"], meetings=20, seed=1, to=tmp_path / "study", resume=resume, move_seconds=5.0
            )

        server.refuses_after = (8, status)
        with pytest.raises(league.LeagueError, match=f"right cannot play on: .* status {status}.*--resume") as error:
            study(resume=False)
        # The greeting is a question, too.
        assert len(server.requests) == 9
        assert "7 matches are kept" in str(error.value)
        server.refuses_after = None
        result = study(resume=True)
        assert len(server.requests) == 9 + 1 + 13
    (mind,) = result.document["minds"]
    assert (mind["choices"], mind["provider_errors"], mind["not_rated"]) == (20, 0, "")
    assert result.document["failures"] == []
    assert [row["technical_losses"] for row in result.standings] == [0, 0]
    assert league.audit(tmp_path / "study").ok


def test_a_failure_that_passes_is_counted_and_is_no_loss() -> None:
    with stand_in() as server:
        server.fails_once_in = 4
        result = league.tournament([league.LLM("right", server.base_url, at_once=1), "random"], meetings=12, seed=1)
    (mind,) = result.document["minds"]
    assert mind["choices"] == 12
    assert mind["provider_errors"] > 0
    assert "its provider failed in" in mind["not_rated"]
    assert all(row["points_per_match"] is None for row in result.standings)


def test_a_model_that_makes_no_choices_is_not_rated_and_gives_nobody_points() -> None:
    with stand_in() as server:
        players = [league.LLM(model, server.base_url) for model in ("banana", "right")]
        result = league.tournament([*players, "random"], game="tic_tac_toe", meetings=6, seed=1)
    rows = {row["strategy"]: row for row in result.standings}
    assert rows["banana"]["not_rated"] == "100% of its choices are not the model's"
    assert (rows["banana"]["points_per_match"], rows["banana"]["interval"]) == (None, None)
    assert rows["banana"]["played"] == rows["right"]["played"] == 12
    # The points of the others are those of their matches with each other.
    (own,) = [pair for pair in result.pairs if "banana" not in (pair["first"], pair["second"])]
    assert rows["right"]["points_per_match"] == own["points_per_match"]
    assert rows["right"]["not_rated"] == ""
    assert "banana (not rated)" in repr(result)
    assert "banana (not rated)" in result._repr_html_()
    assert any(note.startswith("banana is not rated") for note in result.document["notes"])
    statistics = result.statistics()
    assert [record["player_id"] for record in statistics["unrated"]] == ["banana"]
    assert {row["strategy"] for row in result.ratings()} == {"right", "random"}


def test_matches_that_models_repeat_count_once_and_a_note_says_so() -> None:
    with stand_in() as server:
        players = [league.LLM(model, server.base_url, at_once=1) for model in ("right", "upper")]
        document = league.tournament(players, game="tic_tac_toe", meetings=20, seed=1).document
    assert document["distinct_matches"] == 2
    (low, high) = document["standings"][0]["interval"]
    assert high - low > 1.5, "two matches say little"
    assert any(note.startswith("Only 2 of 20 matches differ") for note in document["notes"])


def test_a_comparison_with_a_model_that_makes_no_choices_decides_nothing() -> None:
    with stand_in() as server:
        model = league.LLM("banana", server.base_url)
        comparison = league.compare(model, "random", game="tic_tac_toe", max_matches=64, seed=1)
    assert comparison.document["decision"] == "undecided"
    assert any("banana is not rated" in note for note in comparison.document["notes"])


def test_who_could_never_play_is_refused_before_the_first_match() -> None:
    with stand_in() as server, pytest.raises(league.LeagueError, match="nobody cannot play"):
        league.tournament([league.LLM("nobody", server.base_url), "random"], meetings=1)


@pytest.mark.parametrize(("settings", "detail"), [
    ({"base_url": "nowhere"}, "^base_url: "),
    ({"request": {"model": "other"}}, "^request cannot set model"),
    ({"prompt": "$nothing"}, "this is not a prompt: there is no \\$nothing"),
    ({"max_cost": 1.0}, "max_cost needs price"),
    ({"at_once": 0}, "at_once must be at least 1"),
])  # fmt: skip
def test_mistakes_are_found_when_the_player_is_made(settings: dict[str, Any], detail: str) -> None:
    with pytest.raises(league.LeagueError, match=detail):
        league.LLM("m", **{"base_url": "http://127.0.0.1:1/v1", **settings})


def test_a_system_prompt_and_further_fields_are_sent_and_are_on_record(tmp_path: Path) -> None:
    with stand_in() as server:
        player = league.LLM("right", server.base_url, system="Be brave.", request={"reasoning_effort": "low"})
        result = league.tournament([player, "random"], meetings=1, seed=1)
        other = league.LLM("right", server.base_url, system="Be careful.", request={"reasoning_effort": "low"})
        assert other.entrant().conditions != player.entrant().conditions
    request = server.requests[-1]
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["messages"][0]["content"] == "Be brave."
    assert request["reasoning_effort"] == "low"
    (mind,) = result.document["minds"]
    assert mind["conditions"]["system"] == "Be brave."
    assert json.loads(mind["conditions"]["request"]) == {"reasoning_effort": "low"}


def test_models_and_programs_play_in_a_league_of_real_agents(tmp_path: Path) -> None:
    async def play(server: StandIn) -> list[dict[str, Any]]:
        model = league.LLM("prose", server.base_url, name="Prose")
        mind = league.Ask(program(tmp_path, FIRST), name="Mind")
        async with league.run([model, mind, "random"], journal=tmp_path / "league") as running:
            return await running.finished()

    with stand_in() as server:
        table = asyncio.run(play(server))
    assert {row["display_name"] for row in table} >= {"Prose", "Mind"}
    assert all(row["played"] == 2 for row in table)
    command = [sys.executable, "-m", "league", "export", str(tmp_path / "league"), "--format", "conversations"]
    subprocess.run([*command, "--to", str(tmp_path / "out")], check=True, capture_output=True)
    lines = (tmp_path / "out" / "conversations.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert {row["player_id"] for row in rows} == {"P01", "P02"}
    assert len(rows) == 4
    assert all(row["in_league_record"] for row in rows)


def test_models_are_compared_and_a_model_may_meet_itself() -> None:
    with stand_in() as server:
        model = league.LLM("right", server.base_url, name="model")
        result = league.tournament([model, model], game="tic_tac_toe", meetings=2, seed=1)
        assert {row["strategy"] for row in result.document["minds"]} == {"model (1)", "model (2)"}
        compared = league.compare(model, "random", game="tic_tac_toe", max_matches=32, seed=1)
    assert compared.document["decision"] in ("better", "not_better", "undecided")
    assert compared.document["matches"] <= 32
