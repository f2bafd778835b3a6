"""`league tournament` against a bare loop over the rules of the same game, and that loop against those of others.

PettingZoo is measured where it is installed. It is no part of the developer's tools, because nothing else needs it:
pip install 'pettingzoo[classic]'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from random import Random

import pyspiel

from benchmarks import Row, median_cpu_seconds
from league.features.experiments.tournament import tournament
from league.games import even_odd, tic_tac_toe
from league.games.contract import Game

MATCHES = 1_000
OF_OPEN_SPIEL = {"tic_tac_toe": 1_000, "connect_four": 300, "backgammon": 20, "chess": 5}
"""Games of OpenSpiel, and how many matches are enough of each."""


def run() -> list[Row]:
    return [
        _row("a match of Even/Odd, random against mirror", even_odd.GAME, ["random", "mirror"], goal=3.0),
        _row("a match of Tic-Tac-Toe, random against random", tic_tac_toe.GAME, ["random", "random"], goal=3.0),
        *_rows_beside_others(),
        *(_row_of_open_spiel(name, matches) for name, matches in OF_OPEN_SPIEL.items()),
    ]


def _row_of_open_spiel(name: str, matches: int) -> Row:
    """A tournament of a game of OpenSpiel beside OpenSpiel's own loop over the same game."""
    ours = partial(tournament, ["random", "random"], game=f"spiel:{name}", meetings=matches, seed=1, jobs=1)
    ours_s, theirs_s = median_cpu_seconds([ours, partial(_open_spiel, name, matches)])
    us = 1e6 / matches
    title = f"a match of spiel:{name}, random against random"
    return Row(title, ours_s * us, theirs_s * us, "OpenSpiel's own loop, which keeps nothing", "us")


def _rows_beside_others() -> Iterator[Row]:
    """Yield our direct loop of Tic-Tac-Toe beside those of others, as far as they are installed."""
    loops: dict[str, Callable[[], object]] = {"OpenSpiel": partial(_open_spiel, "tic_tac_toe", MATCHES)}
    if find_spec("pettingzoo") is not None and find_spec("pygame") is not None:
        loops["PettingZoo"] = _petting_zoo
    for name, loop in loops.items():
        ours_s, theirs_s = median_cpu_seconds([partial(_bare, tic_tac_toe.GAME), loop])
        us = 1e6 / MATCHES
        title = f"a match of Tic-Tac-Toe in a direct loop, beside {name}"
        yield Row(title, ours_s * us, theirs_s * us, f"the same loop with {name}", "us")


def _open_spiel(name: str, matches: int) -> int:
    """Play as `_bare` does, with OpenSpiel; return the number of draws."""
    game = pyspiel.load_game(name)
    dice = Random(1)
    draws = 0
    for _ in range(matches):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(dice.choices(actions, weights)[0])
            else:
                state.apply_action(dice.choice(state.legal_actions()))
        if state.returns()[0] == 0:
            draws += 1
    return draws


def _petting_zoo() -> int:
    """Play as `_bare` does, with PettingZoo; return the number of draws."""
    from pettingzoo.classic import tictactoe_v3

    environment = tictactoe_v3.raw_env()
    dice = Random(1)
    draws = 0
    for _ in range(MATCHES):
        environment.reset()
        reward = 0
        for _ in environment.agent_iter():
            observation, reward, is_over, _, _ = environment.last()
            if is_over:
                environment.step(None)
            else:
                options = [cell for cell, is_free in enumerate(observation["action_mask"]) if is_free]
                environment.step(dice.choice(options))
        if reward == 0:
            draws += 1
    return draws


def _row(title: str, game: Game, strategies: list[str], goal: float) -> Row:
    ours_us, bare_us = (seconds / MATCHES * 1e6 for seconds in median_cpu_seconds(_contenders(game, strategies)))
    return Row(title, ours_us, bare_us, "a bare loop over the rules", "us", goal=goal)


def _contenders(game: Game, strategies: list[str]) -> list[Callable[[], object]]:
    return [
        partial(tournament, strategies, game=game.name, meetings=MATCHES, seed=1, jobs=1),
        partial(_bare, game),
    ]


def _bare(game: Game) -> int:
    """Play the same matches without anything around them; return the number of draws."""
    rules = game.rules
    dice = Random(1)
    draws = 0
    for _ in range(MATCHES):
        state = rules.start()
        while (mover := rules.to_move(state)).kind != "nobody":
            if mover.kind == "chance":
                state = rules.draw(state, dice.randint(1, 10))
            else:
                moves = {seat: dice.choice(rules.legal_moves(state, seat)) for seat in mover.seats}
                state = rules.play(state, moves)
        outcome = rules.outcome(state)
        if outcome is not None and outcome.winner is None:
            draws += 1
    return draws
