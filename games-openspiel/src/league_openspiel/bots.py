"""Bots of OpenSpiel as strategies, and what a bot of your own needs to play in a league.

`spiel:mcts` and the bots that OpenSpiel registers need the whole state, so they play games in which nothing is hidden.
A policy, `spiel:FILE.json`, plays any game that has information states. For each of them the file lists pairs of an
action and its probability: `json.dump(solver.tabular_average_policy().policy_table(), file)` writes such a file. In a
state that it does not name, all legal actions are as likely.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pyspiel

from league.games.contract import GameStrategy
from league.player.strategies import Turn
from league.terminal import LeagueError
from league_openspiel.rules import SpielRules

MCTS: Final = "spiel:mcts"
UNIFORM: Final = "spiel:uniform_random"
SIMULATIONS: Final = 100
EXPLORATION: Final = 2.0
MEMORY_MB: Final = 200


class Bots(Mapping[str, GameStrategy]):
    """The strategies of a game by their names. Some names have parameters: "spiel:mcts(max_simulations=20)"."""

    def __init__(self, rules: SpielRules) -> None:
        self._rules = rules
        dynamics = rules.kind.dynamics
        self._has_turns = rules.is_open and dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        self._usual = (MCTS, UNIFORM) if self._has_turns else (UNIFORM,)

    def __iter__(self) -> Iterator[str]:
        return iter(self._usual)

    def __len__(self) -> int:
        return len(self._usual)

    def __getitem__(self, name: str) -> GameStrategy:
        if name == UNIFORM:
            return GameStrategy("any option, each as likely as the others", _uniform)
        bare = name.partition(":")[2]
        if bare.endswith(".json"):
            return GameStrategy(f"plays by the policy in {bare}", partial(_by_policy, _policy(bare)))
        kind = bare.partition("(")[0]
        if not self._has_turns or kind not in ("mcts", *pyspiel.registered_bots()):
            raise KeyError(name)
        parameters = pyspiel.game_parameters_from_string(bare)
        make = self._search if kind == "mcts" else partial(_registered, self._rules.game)
        return GameStrategy(f"OpenSpiel's bot {kind}", partial(_by_bot, partial(make, parameters)))

    def _search(self, parameters: Mapping[str, Any], turn: Turn) -> Any:
        seed = turn.random.getrandbits(31)
        rollouts = pyspiel.RandomRolloutEvaluator(int(parameters.get("rollouts", 1)), seed)
        return pyspiel.MCTSBot(
            self._rules.game,
            rollouts,
            uct_c=parameters.get("uct_c", EXPLORATION),
            max_simulations=parameters.get("max_simulations", SIMULATIONS),
            max_memory_mb=MEMORY_MB,
            solve=True,
            seed=seed,
            verbose=False,
        )


def state(turn: Turn) -> Any:
    """OpenSpiel's state at this turn. ValueError if something is hidden: then `turn.view` has all that you may see."""
    actions = turn.view.get("actions")
    if not isinstance(actions, list):
        raise ValueError(f"{turn.game_type} hides something, or is too long: use what else there is in turn.view")
    from league_openspiel.family import game

    rules = game(turn.game_type).rules
    spiel = rules.start().spiel
    place = 0
    while place < len(actions):
        if spiel.is_simultaneous_node():
            spiel.apply_actions(actions[place : place + 2])
            place += 2
        else:
            spiel.apply_action(actions[place])
            place += 1
    return spiel


def choice(turn: Turn, action: int) -> str:
    """The option that stands for this action of OpenSpiel."""
    actions: list[int] = turn.view["legal_actions"]
    return turn.options[actions.index(action)]


def _uniform(turn: Turn) -> str:
    return turn.random.choice(turn.options)


def _by_bot(make: Any, turn: Turn) -> str:
    return choice(turn, make(turn).step(state(turn)))


def _registered(game: Any, parameters: Mapping[str, Any], turn: Turn) -> Any:
    own = {key: value for key, value in parameters.items() if key != "name"}
    return pyspiel.load_bot(parameters["name"], game, turn.view["player"], own)


@cache
def _policy(file: str) -> dict[str, list[tuple[int, float]]]:
    """A policy: the actions of each information state, and how likely they are."""
    try:
        policy = json.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise LeagueError(f"cannot read the policy {file}: {error}") from error
    if not isinstance(policy, dict):
        raise LeagueError(f"{file} is not a policy: {{information state: [[action, probability], …]}}")
    return policy


def _by_policy(policy: Mapping[str, list[tuple[int, float]]], turn: Turn) -> str:
    place = turn.view.get("information_state")
    if place is None:
        place = state(turn).information_state_string(turn.view["player"])
    likely = policy.get(place)
    if not likely:
        return _uniform(turn)
    actions = [action for action, _ in likely]
    weights = [probability for _, probability in likely]
    return choice(turn, turn.random.choices(actions, weights)[0])
