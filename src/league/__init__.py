"""Leagues of game-playing agents: the reference implementation of the league.v2 protocol.

`from league import Player, serve` is all that writing a player takes, `league.tournament(...)` lets strategies meet
without servers, and `async with league.run(...)` plays a whole league here; all are loaded when they are asked for.
"""

from typing import TYPE_CHECKING

__all__ = [
    "LLM",
    "Ask",
    "ChooseParityCall",
    "GameMoveCall",
    "LeagueError",
    "LeagueQueryError",
    "LeagueResult",
    "Parity",
    "PastMatch",
    "Player",
    "ReceivedError",
    "Round",
    "Standings",
    "Turn",
    "audit",
    "compare",
    "run",
    "serve",
    "tournament",
]

_SDK = frozenset(__all__) - {"LLM", "Ask", "LeagueError", "audit", "compare", "run", "tournament"}
"""Names that are defined in `league.sdk`."""

if TYPE_CHECKING:
    from league.feature_names import LLM, Ask, audit, compare, run, tournament
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
        if name == "__version__":
            from league.version import __version__

            return __version__
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        if name in _SDK:
            return getattr(import_module("league.sdk"), name)
        if name == "LeagueError":
            return import_module("league.terminal").LeagueError
        from league.features import ScriptRow, load, own

        target = next(row.target for row in own(ScriptRow) if row.name == name)
        return load(target)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
