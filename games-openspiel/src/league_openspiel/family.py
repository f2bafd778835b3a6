"""Which games of OpenSpiel the league plays, and how each becomes a game of the league."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, Final

import pyspiel

from league.games.contract import LEAGUE_POINTS, Game, GameFamily, Measure, Scoring, margin
from league.games.moves import MoveWire
from league.terminal import did_you_mean
from league_openspiel.bots import Bots
from league_openspiel.rules import SpielRules, board

PREFIX: Final = "spiel"
LONGEST_NAME: Final = 300
MATCH_SECONDS: Final = 1_800.0
"""The time of a player for a match of a game that may take long."""
MANY_TURNS: Final = 60
WITH_PARAMETERS: Final = ("crazy_eights(players=2)",)
"""Games that have two players only if they are told so."""

Type = pyspiel.GameType


def obstacle(kind: Any, players: int) -> str:
    """Why the league does not play a game of this kind (Any: OpenSpiel has no types) and number; empty if it does."""
    if kind.dynamics == Type.Dynamics.MEAN_FIELD:
        return "a mean-field game: a population plays it"
    if players != 2:
        return f"it has {players} player{'s' * (players != 1)}, not two"
    if kind.chance_mode == Type.ChanceMode.SAMPLED_STOCHASTIC:
        return "its chance is drawn inside OpenSpiel, so nobody could prove a draw"
    if not (kind.provides_observation_string or kind.provides_information_state_string):
        return "it does not say what a player may see"
    return ""


def listed_obstacle(kind: Any) -> str:
    """The same for a game without parameters."""
    if not kind.default_loadable:
        return "it needs parameters, such as the game that it changes"
    return obstacle(kind, kind.parameter_specification.get("players") or kind.min_num_players)


@cache
def names() -> tuple[str, ...]:
    """The names of all games that need no parameters, or the ones shown."""
    plain = [kind.short_name for kind in pyspiel.registered_games() if not listed_obstacle(kind)]
    return tuple(f"{PREFIX}:{name}" for name in sorted([*plain, *WITH_PARAMETERS]))


@lru_cache(maxsize=256)
def game(name: str) -> Game:
    """Make a game from its name, such as "spiel:goofspiel(num_cards=5)". ValueError says why there is none."""
    text = name.removeprefix(f"{PREFIX}:")
    short_name = text.partition("(")[0]
    if short_name not in pyspiel.registered_names():
        raise ValueError(f"OpenSpiel has no game {short_name!r}{did_you_mean(short_name, pyspiel.registered_names())}")
    # Names of games come in messages, and OpenSpiel would read any file that they name.
    if len(text) > LONGEST_NAME or "file" in text or not text.isprintable():
        raise ValueError(f"the parameters of a game are at most {LONGEST_NAME} characters and name no file")
    try:
        parameters = pyspiel.game_parameters_from_string(text)
        has_tensor = parameters.pop("tensor", False)
        spiel = pyspiel.load_game(short_name, {key: value for key, value in parameters.items() if key != "name"})
    except pyspiel.SpielError as error:
        raise ValueError(f"OpenSpiel does not play {text}: {str(error).partition(chr(10))[0]}") from error
    rules = SpielRules(spiel, tensor=has_tensor is True)
    reason = obstacle(rules.kind, spiel.num_players())
    if reason:
        raise ValueError(f"{text} cannot be played in a league: {reason}")
    return _made(name, rules)


def _made(name: str, rules: SpielRules) -> Game:
    scoring = _scoring(rules)
    measure: Measure = "margin" if scoring.by_margin else "rating"
    turns = rules.game.max_game_length()
    title = rules.kind.long_name
    return Game(
        name,
        rules,
        MoveWire(rules, public_history=rules.is_open),
        turns=turns,
        measure=measure,
        scoring=scoring,
        rules_text=(
            f"{title}, as OpenSpiel plays it ({rules.game}). `observation` is what you see, as player 0 (PLAYER_A) or "
            "player 1 (PLAYER_B), and the options are OpenSpiel's words for the legal actions. Choose one of them."
        ),
        board=board,
        match_seconds=MATCH_SECONDS if turns > MANY_TURNS else None,
        title=f"{title} (OpenSpiel)",
        strategies=Bots(rules),
    )


def _scoring(rules: SpielRules) -> Scoring:
    """League points where a game is won, drawn or lost; the returns as they are in all others."""
    low = rules.game.min_utility()
    high = rules.game.max_utility()
    is_won_or_lost = rules.kind.utility == Type.Utility.ZERO_SUM and (low, high) == (-1.0, 1.0)
    if is_won_or_lost or not (math.isfinite(low) and math.isfinite(high) and low < high):
        return LEAGUE_POINTS
    return margin(low, high, unit=min(1.0, high - low))


FAMILY: Final = GameFamily(PREFIX, game, names)
