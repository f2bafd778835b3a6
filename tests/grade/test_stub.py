"""What submissions import as `league` in a sandbox is held to the real package: the same names, the same matches."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import league
from league.features.experiments.playing.plan import game_named
from league.features.experiments.playing.series import SeriesPlan, play
from league.features.grade import sandbox
from league.features.grade.contestant import Contestant, SandboxedStrategy
from league.features.grade.sandboxed import GradingOrder, Grounds
from league.hosting.member import players
from league.player.history import PastMatch
from league.player.strategies import Turn

FOR_SCRIPTS = {"BaseRules", "Comparison", "Game", "RunningLeague", "TournamentResult"}
FOR_SCRIPTS |= {"LLM", "Ask", "Audit", "audit", "compare", "run", "tournament"}
"""Names of `league` that have nothing to do with a player's code."""
CURIOUS = """
import hashlib

from league import ChooseParityCall, GameMoveCall, Player


class Curious(Player):
    games = ("GAME",)

    def __init__(self):
        super().__init__("Curious")
        self.over = []

    async def move(self, turn):
        seen = [turn.game_type, turn.match_id, turn.opponent_id, turn.options, turn.number, turn.seconds]
        seen += [sorted(turn.view), turn.role, turn.move_format, turn.talk_limit, [line.text for line in turn.talk]]
        seen += [len(self.history), turn.call.match_id, turn.call.player_id, turn.call.deadline]
        seen += [isinstance(turn.call, GameMoveCall)]
        if self.history:
            last = turn.history[-1]
            seen += [last.outcome, last.winner, last.my_choice, last.opponent_choice, last.game_result, last.role]
            seen += [last.drawn_number, last.status, len(turn.history[:2]), [match.match_id for match in self.history]]
        if isinstance(turn.call, ChooseParityCall):
            seen += [turn.call.context.opponent_id]
        else:
            seen += [list(turn.call.move_request.valid_options), turn.call.move_request.context]
        seen += [self.over, turn.random.random()]
        number = int(hashlib.sha256(repr(seen).encode()).hexdigest(), 16)
        choice = turn.options[number % len(turn.options)]
        return turn.say(choice, f"I saw {number}") if turn.talk_limit else choice

    def on_match_over(self, match):
        self.over.append(match.outcome)
"""


@pytest.fixture(scope="module")
def stub() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stub", sandbox.INSIDE / "stub.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def test_the_stub_has_every_name_that_players_import(stub: ModuleType) -> None:
    assert set(league.__all__) - FOR_SCRIPTS <= public(stub)


def test_the_stub_of_player_has_the_methods_and_attributes_of_the_real_one(stub: ModuleType) -> None:
    assert public(stub.Player) == public(league.Player)
    for name in public(stub.Player):
        if inspect.isfunction(getattr(stub.Player, name)):
            ours = list(inspect.signature(getattr(stub.Player, name)).parameters)
            theirs = list(inspect.signature(getattr(league.Player, name)).parameters)
            # Hooks are called by position.
            assert len(ours) == len(theirs) if name.startswith("on_") else ours == theirs, name


def test_turns_and_past_matches_have_the_same_properties(stub: ModuleType) -> None:
    fields = set(Turn.__struct_fields__)
    assert public(Turn) - fields == public(stub.Turn) - public(stub.Fields) == {"random", "say"}
    assert public(PastMatch) - set(PastMatch.__struct_fields__) == public(stub.PastMatch) == {"outcome"}


@pytest.mark.parametrize("status", ["WIN", "DRAW", "TECHNICAL_LOSS"])
@pytest.mark.parametrize("winner", [None, "P01", "P02"])
def test_a_past_match_has_the_same_outcome(stub: ModuleType, status: Any, winner: str | None) -> None:
    values = dict.fromkeys(PastMatch.__struct_fields__)
    values |= {"status": status, "winner": winner, "opponent_id": "P02"}
    assert stub.PastMatch(**values).outcome == PastMatch(**values).outcome  # type: ignore[arg-type]


@pytest.fixture
def grounds() -> Iterator[Grounds]:
    made = Grounds(GradingOrder((), "", 6, 1, ("random",), 20, 60, 512, 1, is_boxed=True))
    yield made
    made.remove()


@pytest.mark.slow
@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe", "cop_and_thief", "kuhn_poker"])
def test_a_player_chooses_the_same_in_a_sandbox(game: str, grounds: Grounds, tmp_path: Path) -> None:
    source = CURIOUS.replace("GAME", game)
    for folder in (tmp_path, grounds.folder / "0"):
        folder.mkdir(exist_ok=True)
        (folder / "player.py").write_text(source)
    for path in (grounds.folder, grounds.folder / "0"):
        path.chmod(0o755)
    contestant = Contestant(grounds, "curious", grounds.folder / "0", 0)
    plan = SeriesPlan(game_named(game), seed="seed", start=0, count=6, move_seconds=20)
    boxed = SandboxedStrategy(contestant)
    real = players.load(f"{tmp_path / 'player.py'}:Curious").strategy
    results = [
        play(plan, (lambda strategy=strategy: strategy, lambda: players.load("random").strategy))  # type: ignore[misc]
        for strategy in (boxed, real)
    ]
    assert not results[0].failures
    assert results[0] == results[1]


def test_the_runner_needs_nothing_but_the_standard_library() -> None:
    for file in sandbox.INSIDE.glob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"]) and len(words) > 1:
                assert words[1].partition(".")[0] in {*sys.stdlib_module_names}, line
