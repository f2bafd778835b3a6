"""For player authors: write a class with one method, and call `serve` to take it to a league.

The library registers, acknowledges, checks tokens and messages, retries, keeps time limits and remembers past matches.
Errors in the author's code are shown to the author, with the message that caused them. A player can also follow the
table, its rounds and the end of the league, and it can ask the manager.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.player.history import PastMatch
from league.player.news import (
    LeagueQueryError,
    LeagueResult,
    ReceivedError,
    Round,
    Standings,
)
from league.player.strategies import Answer, Turn
from league.protocol.message.fields import Parity
from league.protocol.message.messages import ChooseParityCall, GameMoveCall

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from concurrent.futures import Future

    from league.hosting.settings.player_options import PlayerOptions

__all__ = [
    "ChooseParityCall",
    "GameMoveCall",
    "LeagueQueryError",
    "LeagueResult",
    "Parity",
    "PastMatch",
    "Player",
    "ReceivedError",
    "Round",
    "Standings",
    "Turn",
    "serve",
]

AskManager = Callable[[str, Mapping[str, Any]], "Future[dict[str, Any]]"]
"""Sends a query of this type, with these parameters, to the manager."""
Hook = Callable[[], Awaitable[None] | None]

EVEN_ODD = "even_odd"
_UNUSED_OPTIONS = ("strategy", "count")
"""Options of `league player` that make no sense for one player with its own code."""


class Player:
    """A player. Write `choose_parity` for Even/Odd, or `move` for any game; either may be `async`.

    Set `name`, `version` and `games` here or in the class. Options on the command line override them.
    """

    name: str = ""
    """The name to register with; by default the name of the class and the port."""
    version: str = "1.0.0"
    """The version of your player, such as "1.0.0"."""
    games: Sequence[str] = ()
    """The games it plays, such as "even_odd" or "connect_four"; by default the game of the league."""
    standings: Standings | None = None
    """The newest table. Loop over it, or over `.rows`: each row has `rank`, `player_id`, `display_name`, `played`,
    `wins`, `draws`, `losses` and `points`. `.mine` is your row. None until the first table arrives."""
    round: Round | None = None
    """The newest round. `.round_id` is its number; loop over it, or over `.matches`. `.mine` is your match, with your
    `opponent_id`. None until the first round is announced."""
    history: Sequence[PastMatch] = ()
    """Your past matches, the newest last. Each has `opponent_id`, `outcome` ("WIN", "DRAW" or "LOSS"), `my_choice` and
    `opponent_choice`; in Even/Odd also `drawn_number` and `number_parity`."""

    _league_side: PlayerStrategy | None = None

    def __init__(self, name: str = "", *, version: str = "", games: Iterable[str] | str = ()) -> None:
        self.name = name or self.name
        self.version = version or self.version
        if isinstance(games, str):
            games = [games]
        self.games = tuple(games) or self.games

    # --- methods to write ---------------------------------------------------------------------------------------------

    def choose_parity(self, call: ChooseParityCall) -> Parity | Awaitable[Parity]:
        """Return your choice in Even/Odd: "even" or "odd", in lower case.

        `call` is the referee's CHOOSE_PARITY_CALL. It has `match_id`, `player_id` (you), `deadline`, and `context` with
        `opponent_id`, `round_id` and `your_standings` (`wins`, `losses`, `draws`, `points`). Some referees leave out
        the context or parts of it: those are None.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method choose_parity(self, call)")

    def move(self, turn: Turn) -> Answer | Awaitable[Answer]:
        """Return your choice in any game: one of `turn.options`.

        In Even/Odd, `choose_parity` is called instead if you wrote it.
        `turn` also has the game as you see it (`view`), your `opponent_id`, the `number` of this choice in the match,
        the time limit in `seconds`, a random number generator (`random`), the random bytes that seed it (`chance`), and
        the referee's message (`call`).
        """
        raise NotImplementedError(f"{type(self).__name__} has no method move(self, turn)")

    def on_match_over(self, match: PastMatch) -> Awaitable[None] | None:
        """Called once after each of your matches; `match` is the last in `self.history`. The league does not wait."""

    def on_round(self, announced: Round) -> Awaitable[None] | None:
        """Called when a round is announced; `announced.mine` is your match. The league does not wait."""

    def on_standings(self, standings: Standings) -> Awaitable[None] | None:
        """Called with each new table; `standings.mine` is your row. The league does not wait."""

    def on_error(self, error: ReceivedError) -> Awaitable[None] | None:
        """Called with each GAME_ERROR and LEAGUE_ERROR, which the terminal shows already.

        `error` has `code`, `name`, `detail`, and the `match_id` (None for an error of the league). The league does not
        wait.
        """

    def on_league_over(self, result: LeagueResult) -> Awaitable[None] | None:
        """Called at the end of the league; it has one second before the player exits.

        `result` has `champion_id`, `champion_name`, the final `table`, and your `rank` and `points`.
        """

    # --- questions to the manager -------------------------------------------------------------------------------------

    async def query(
        self,
        query_type: str,
        *,
        player_id: str | None = None,
        round_id: int | None = None,
    ) -> dict[str, Any]:
        """Ask the manager, from an `async` method: `data = await self.query("GET_STATUS")`.

        The query types are GET_STANDINGS, GET_SCHEDULE (give a `round_id` for one round), GET_NEXT_MATCH,
        GET_PLAYER_STATS (give a `player_id` for another player) and GET_STATUS. Section 11 of the specification
        describes the data. Raises LeagueQueryError if the manager refuses or does not answer.
        """
        import asyncio  # quicker to import a player without it

        return await asyncio.wrap_future(_send(self, query_type, player_id, round_id))

    def query_sync(
        self,
        query_type: str,
        *,
        player_id: str | None = None,
        round_id: int | None = None,
    ) -> dict[str, Any]:
        """Ask the manager, from a method that is not `async`: wait for the answer and return it. See `query`."""
        if _is_in_a_loop():
            raise RuntimeError("query_sync() would block everything in an async method: use `await self.query(...)`")
        return _send(self, query_type, player_id, round_id).result()

    def _league_strategy(self) -> PlayerStrategy:
        """Return what the rest of the library plays with."""
        self._league_side = PlayerStrategy(self)
        return self._league_side


class PlayerStrategy:
    """A player as a strategy (see `league.hosting.member.players`): it calls what the author wrote.

    It is an object of its own so that an author's helpers may have any name.
    """

    def __init__(self, player: Player) -> None:
        self._player = player
        self.ask: AskManager | None = None

    def plays(self, game_type: str) -> bool:
        """Return True if the author wrote the method that this game needs."""
        return self._has("move") or (game_type == EVEN_ODD and self._has("choose_parity"))

    def check(self) -> list[str]:
        """Return a warning about each mistake in the author's class; raise CommandError if it cannot work."""
        from league.hosting.author import author_checks

        return author_checks.check(self._player, Player, _TO_WRITE)

    def choose(self, turn: Turn) -> Answer | Awaitable[Answer]:
        """Call the method that the author wrote for this choice."""
        self._player.history = turn.history
        if isinstance(turn.call, ChooseParityCall) and self._has("choose_parity"):
            return self._player.choose_parity(turn.call)
        return self._player.move(turn)

    def connect(self, ask: AskManager) -> None:
        """Take the function that sends queries to the manager."""
        self.ask = ask

    def hear(self, news: object) -> Hook | None:
        """Take note of news at once, and return the hook to call, if the author wrote one."""
        if isinstance(news, Round):
            self._player.round = news
        elif isinstance(news, Standings):
            self._player.standings = news
        name = _HOOKS.get(type(news))
        if name is None or not self._has(name):
            return None
        return partial(getattr(self._player, name), news)

    def match_over(self, match: PastMatch, history: Sequence[PastMatch]) -> Awaitable[None] | None:
        """Take note of a match that is over, and call the author's hook."""
        self._player.history = history
        return self._player.on_match_over(match)

    def _has(self, method: str) -> bool:
        """Return True if the author wrote this method, in a class or on the object itself."""
        return getattr(getattr(self._player, method), "__func__", None) is not getattr(Player, method)


_HOOKS: Mapping[type, str] = {
    Round: "on_round",
    Standings: "on_standings",
    ReceivedError: "on_error",
    LeagueResult: "on_league_over",
}


_TO_WRITE = ("choose_parity", "move", "on_match_over", *_HOOKS.values())
"""The methods that an author may write."""


def _send(player: Player, query_type: str, player_id: str | None, round_id: int | None) -> Future[dict[str, Any]]:
    side = player._league_side
    if side is None or side.ask is None:
        raise LeagueQueryError("E023", "this player is not served yet: there is no manager to ask")
    asked = {"player_id": player_id, "round_id": round_id}
    return side.ask(query_type, {name: value for name, value in asked.items() if value is not None})


def _is_in_a_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_served: list[str] = []
"""The classes of all players that this process has served."""


def serve(player: Player, argv: Sequence[str] | None = None, *, outbound: bool = False) -> None:
    """Take this player to a league, and play until the league is over, or until SIGINT (Ctrl-C) or SIGTERM.

    The options come from the command line, or from `argv` if you pass it; run your file with `--help` to list them.
    With `outbound`, the player needs no port that others can reach: it plays through a mailbox at the manager.
    Raises SystemExit if the player cannot be served, or if a signal stopped it. Does nothing while a command such as
    `league tournament` loads your file for its class.
    """
    if not isinstance(player, Player):
        raise TypeError(f"serve() takes a player: {_correction(player)}")
    # Serving needs many modules. They are loaded only now, so that a player's own module is imported quickly.
    from league.hosting import system
    from league.hosting.author import author_code
    from league.hosting.settings import options
    from league.hosting.settings.player_options import PlayerOptions
    from league.terminal import CommandError

    if author_code.is_loading():
        return  # a command such as `league tournament` only wants the class
    parser = _parser(player)
    if _served:
        sys.stderr.write(
            f"{parser.prog}: serve() has finished {_served[-1]} and now starts {type(player).__name__}. It serves one "
            "player at a time; for players that play in the same league, use one file each\n"
        )
    _served.append(type(player).__name__)
    args = parser.parse_args(argv)
    try:
        args.outbound = outbound or args.outbound
        status = _serve(player, options.read(args, PlayerOptions))
    except CommandError as error:
        parser.exit(error.status, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:  # before the loop took the signals over
        parser.exit(130, f"{parser.prog}: interrupted\n")
    # Ctrl-C is meant for the whole program: neither a loop around serve() nor a second serve() goes on.
    if status or system.is_stop_requested():
        sys.exit(status)


def _correction(wrong: object) -> str:
    """What to write if serve() got something that is not a player."""
    if isinstance(wrong, type):
        return f"write serve({wrong.__name__}()), with parentheses after the class"
    return f"{type(wrong).__name__} is not one; write class {type(wrong).__name__}(Player)"


def _parser(player: Player) -> ArgumentParser:
    from league.hosting.settings import options
    from league.hosting.settings.player_options import PlayerOptions
    from league.terminal import Parser

    script = Path(sys.argv[0]).name or "player.py"
    parser = Parser(
        prog=script,
        description=f"{type(player).__name__}, a player for leagues of the league.v2 protocol.",
        epilog=f"example: python {script} --manager http://127.0.0.1:8000/mcp --port 8101",
        allow_abbrev=False,
    )
    options.configure(parser, PlayerOptions, _UNUSED_OPTIONS)
    return parser


def _serve(player: Player, chosen: PlayerOptions) -> int:
    from league.hosting.member import players  # only after the command line was read, so that `--help` is quick

    return players.run(chosen, [players.enter(player, type(player).__name__)])
