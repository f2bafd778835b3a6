"""A match as long as one of chess, under ordinary settings, with its referee killed in between: it goes on where it
was, nobody loses by it, and the result is proven."""

from __future__ import annotations

import json
import time
from pathlib import Path

from league.events import MatchAssigned, MoveMade, PlayerFaulted, ResultAccepted, ResultJudged
from tests.support.processes import WATCHDOG_S, Processes, assert_kept

TURNS = 320
"""More than a match of chess has as a rule, and so many that their list does not name the players any more."""
GAME = f'''
"""A long walk: the players step in turn, and the one who is farther at the end wins."""

from msgspec import Struct

from league.games.contract import NOBODY, PLAYER_A, PLAYER_B, TURN, BaseRules, Game, require_legal, tie, win
from league.games.moves import MoveWire

STEPS = ("a2-a3", "b2-b4", "e2-e4")


class Walk(Struct, frozen=True):
    history: tuple = ()


class LongWalk(BaseRules):
    def start(self):
        return Walk()

    def to_move(self, state):
        return TURN[len(state.history) % 2] if len(state.history) < {TURNS} else NOBODY

    def legal_moves(self, state, seat):
        return STEPS if seat in self.to_move(state).seats else ()

    def play(self, state, moves):
        require_legal(self, state, moves)
        return Walk((*state.history, dict(moves)))

    def outcome(self, state):
        if self.to_move(state) is not NOBODY:
            return None
        scores = [0, 0]
        for step in state.history:
            for seat, move in step.items():
                scores[seat] += STEPS.index(move)
        if scores[0] == scores[1]:
            return tie("both are as far")
        return win(PLAYER_A if scores[0] > scores[1] else PLAYER_B, "farther")

    def view(self, state, seat):
        return {{"steps": len(state.history)}}


RULES = LongWalk()
GAME = Game("long_walk", RULES, MoveWire(RULES, move_type="step", public_history=True), turns={TURNS})
'''


def install(folder: Path) -> None:
    """Processes that run in this folder find the game, as if its package was installed."""
    (folder / "long_walk.py").write_text(GAME, encoding="utf-8")
    described = folder / "long_walk-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: long-walk\nVersion: 1.0\n", encoding="utf-8")
    (described / "entry_points.txt").write_text("[league.games]\nlong_walk = long_walk:GAME\n", encoding="utf-8")


def moved(processes: Processes, moves: int) -> None:
    """Wait until the referee has this many moves on its disk."""
    until = time.monotonic() + WATCHDOG_S
    while len(processes.events("referee", MoveMade)) < moves:
        assert time.monotonic() < until, "the match does not go on"
        time.sleep(0.05)


def test_a_match_as_long_as_chess_goes_on_after_its_referee_was_killed_and_is_proven(tmp_path: Path) -> None:
    install(tmp_path)
    with Processes(tmp_path) as processes:
        manager = processes.manager(players=2, game="long_walk")
        players = [
            processes.players(manager, name, game="long_walk", journal=processes.journal(name))
            for name in ("ann", "bob")
        ]
        referee = processes.referee(manager, game="long_walk")
        for moves in (60, 200):
            moved(processes, moves)
            port = referee.port
            referee.kill()
            referee = processes.referee(manager, game="long_walk", port=port)
        assert [player.wait() for player in players] == [0, 0]
        assert referee.wait() == 0
        shown = processes.run("match", "R1M1", "--manager", manager.endpoint, "--json")
        assert json.loads(shown.stdout)["evidence"] == "proven", shown.stdout
        assert manager.stop() == 0
        (result,) = processes.events("manager", ResultAccepted)
        assert (result.status, result.attempt) in {("WIN", 1), ("DRAW", 1)}
        assert len(processes.events("manager", MatchAssigned)) == 1
        # The moves do not fit into a report with the names of their players.
        assert isinstance(result.details["moves"][0], str)
        assert processes.events("manager", ResultJudged)[-1].evidence == "proven"
        assert processes.events("referee", PlayerFaulted) == []
        assert processes.verified()["results"]["proven"] == 1
        assert_kept(processes)
