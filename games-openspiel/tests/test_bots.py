"""Bots of OpenSpiel, policies, and bots by third parties play in a league."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyspiel
import pytest

import league
from league.cli.main import main
from league.games import registry
from league.player.strategies import Turn
from league_openspiel import choice, state

THIRD_PARTY = '''
from league import Player
from league_openspiel import choice, state


class Greedy(Player):
    """Leaves its opponent as few moves as it can."""

    games = ("spiel:antichess",)

    def move(self, turn):
        position = state(turn)
        left = {action: len(position.child(action).legal_actions()) for action in position.legal_actions()}
        return choice(turn, min(left, key=left.get))
'''


def standing(rows: Any, strategy: str) -> Any:
    return next(row for row in rows.standings if row["strategy"] == strategy)


def test_a_search_beats_chance_and_plays_the_same_with_the_same_seed() -> None:
    strategies = ["spiel:mcts(max_simulations=50)", "spiel:uniform_random"]
    results = [league.tournament(strategies, game="spiel:connect_four", meetings=6, seed=4, jobs=1) for _ in range(2)]
    assert standing(results[0], strategies[0])["wins"] >= 5
    assert results[0].standings == results[1].standings


@pytest.mark.parametrize("name", ["spiel:backgammon", "spiel:othello", "spiel:pig", "spiel:repeated_game"])
def test_a_bot_gets_the_state_of_a_game_in_which_nothing_is_hidden(name: str) -> None:
    if name == "spiel:repeated_game":
        name += "(stage_game=matrix_pd(),num_repetitions=5)"
    game = registry.find(name)
    assert game is not None
    position = game.rules.start()
    while (mover := game.rules.to_move(position)).kind != "nobody":
        if mover.kind == "chance":
            position = game.rules.draw(position, mover.weights.index(max(mover.weights)))
            continue
        for seat in mover.seats:
            request: Any = game.wire.move_request(position, seat)
            turn = Turn(name, "R1M1", "P02", tuple(request["valid_options"]), bytes(32), view=request["context"])
            rebuilt = state(turn)
            assert rebuilt.history() == position.spiel.history()
            actions = rebuilt.legal_actions(seat)
            assert [choice(turn, action) for action in actions] == list(turn.options)
        position = game.rules.play(position, {seat: game.rules.legal_moves(position, seat)[-1] for seat in mover.seats})


def test_a_game_with_secrets_gives_no_state() -> None:
    turn = Turn("spiel:kuhn_poker", "R1M1", "P02", ("Pass", "Bet"), bytes(32), view={"observation": "100"})
    with pytest.raises(ValueError, match="hides something"):
        state(turn)


def test_a_policy_of_a_solver_plays_and_does_not_lose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    solver = pyspiel.CFRSolver(pyspiel.load_game("kuhn_poker"))
    for _ in range(300):
        solver.evaluate_and_update_policy()
    Path("kuhn.json").write_text(json.dumps(solver.tabular_average_policy().policy_table()))
    both = ["spiel:kuhn.json", "spiel:uniform_random"]
    rows = league.tournament(both, game="spiel:kuhn_poker", meetings=1000, seed=1, jobs=1)
    # Against chance, the value of an equilibrium is about 0.2 chips a match above the middle of 2 points.
    assert standing(rows, "spiel:kuhn.json")["points_per_match"] > 2.05


@pytest.mark.parametrize("content", [None, "not JSON", "[1, 2]"])
def test_a_file_that_is_no_policy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("bad.json").write_text(content)
    assert main(["tournament", "--game", "spiel:kuhn_poker", "--strategy", "spiel:bad.json,random"]) == 1
    assert "bad.json" in capsys.readouterr().err


def test_a_search_is_refused_where_something_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tournament", "--game", "spiel:kuhn_poker", "--strategy", "spiel:mcts,random"]) == 2
    assert "'spiel:mcts' does not play spiel:kuhn_poker" in capsys.readouterr().err


def test_a_bot_by_a_third_party_plays_in_a_tournament(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("greedy.py").write_text(THIRD_PARTY)
    rows = league.tournament(["./greedy.py:Greedy", "random"], game="spiel:antichess", meetings=6, seed=1, jobs=1)
    assert standing(rows, "./greedy.py:Greedy")["wins"] >= 5


@pytest.mark.parametrize("bot", ["fixed_action_preference", "uniform_random"])
def test_bots_that_openspiel_registers_play(bot: str) -> None:
    rows = league.tournament([f"spiel:{bot}", "random"], game="spiel:tic_tac_toe", meetings=2, seed=1, jobs=1)
    assert standing(rows, f"spiel:{bot}")["technical_losses"] == 0


def test_a_tensor_is_sent_on_request() -> None:
    game = registry.find("spiel:chess(tensor=true)")
    assert game is not None
    view: Any = game.rules.view(game.rules.start(), 0)
    spiel = pyspiel.load_game("chess").new_initial_state()
    assert view["tensor"] == spiel.observation_tensor(0)
    assert "tensor" not in registry.find("spiel:chess").rules.view(game.rules.start(), 0)  # type: ignore[union-attr]
