"""Leagues of game-playing agents: the reference implementation of the league.v2 protocol.

`from league import Player, serve` is all that writing a player takes, `league.tournament(...)` lets strategies meet
without servers, and `async with league.run(...)` plays a whole league here; all are loaded when they are asked for.
Scripts and code of players import it; it touches nothing until something of it is called.
"""

from typing import TYPE_CHECKING

__all__ = [
    "LLM",
    "Ask",
    "Audit",
    "BaseRules",
    "ChooseParityCall",
    "Comparison",
    "Game",
    "GameMoveCall",
    "LeagueError",
    "LeagueQueryError",
    "LeagueResult",
    "Parity",
    "PastMatch",
    "Player",
    "ReceivedError",
    "Round",
    "RunningLeague",
    "Standings",
    "TournamentResult",
    "Turn",
    "audit",
    "compare",
    "run",
    "serve",
    "tournament",
]

_ELSEWHERE = {
    "BaseRules": "league.games.contract",
    "Game": "league.games.contract",
    "LeagueError": "league.terminal",
    "__version__": "league.version",
}
"""The modules of names that are neither in `league.sdk` nor in features."""

if TYPE_CHECKING:
    from league.feature_names import (
        LLM,
        Ask,
        Audit,
        Comparison,
        RunningLeague,
        TournamentResult,
        audit,
        compare,
        run,
        tournament,
    )
    from league.games.contract import BaseRules, Game
    from league.sdk import (
        ChooseParityCall,
        GameMoveCall,
        LeagueQueryError,
        LeagueResult,
        Parity,
        PastMatch,
        Player,
        ReceivedError,
        Round,
        Standings,
        Turn,
        serve,
    )
    from league.terminal import LeagueError
    from league.version import __version__ as __version__
else:
    # Type checkers must not see this: to them a module with `__getattr__` has every name there is.
    def __getattr__(name: str) -> object:
        if name not in __all__ and name not in _ELSEWHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        if name in _ELSEWHERE:
            return getattr(import_module(_ELSEWHERE[name]), name)
        from league.rows import ScriptRow, load, own

        of_features = {row.name: row.target for row in own(ScriptRow)}
        if name in of_features:
            return load(of_features[name])
        return getattr(import_module("league.sdk"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
