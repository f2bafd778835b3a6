"""For people who write players: a class with one method, and `serve` to take it to a league.

Registration, acknowledgements, tokens, validation, retries, time limits and history are done here and below; what the
author's code does wrong is shown to the author, with the message that caused it. A player may know more than what it is
asked: the table, its round, how the league ended; and it may ask the manager.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.player.history import PastMatch
from league.player.news import LeagueQueryError, LeagueResult, ReceivedError, Round, Standings
from league.player.strategies import Turn
from league.protocol.fields import Parity
from league.protocol.messages import ChooseParityCall, GameMoveCall

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from concurrent.futures import Future

    from league.hosting.options import PlayerOptions

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
"""Puts a query of this type, with these parameters, to the manager."""
Hook = Callable[[], Awaitable[None] | None]

EVEN_ODD = "even_odd"
_NOT_FOR_ONE = ("strategy", "count")
"""Options of `league player` that one given player has no use for."""


class Player:
    """A player. Write `choose_parity` for Even/Odd, `move` for other games (or for all); either may be `async`.

    `name`, `version` and `games` may be given here, or stand in the class. The command line wins over them.
    """

    name: str = ""
    """What to register as; without a name the class and the port."""
    version: str = "1.0.0"
    """Of this player, as in "1.0.0"."""
    games: Sequence[str] = (EVEN_ODD,)
    """The games it is for: "even_odd", "rock_paper_scissors", "tic_tac_toe" or another that is installed."""
    standings: Standings | None = None
    """The newest table: `.rows` (or loop over it), each with `rank`, `player_id`, `display_name`, `played`, `wins`,
    `draws`, `losses`, `points`; `.mine` is your row. None until the first table comes."""
    round: Round | None = None
    """The round that was announced last: `.round_id`, `.matches` (or loop over it); `.mine` is your match, with its
    `opponent_id`. None until the first round is announced."""
    history: Sequence[PastMatch] = ()
    """The matches it has played, the newest last: `.opponent_id`, `.outcome` ("WIN", "DRAW", "LOSS"), `.my_choice`,
    `.opponent_choice`, and in Even/Odd `.drawn_number` and `.number_parity`."""

    _ask: AskManager | None = None

    def __init__(self, name: str = "", *, version: str = "", games: Iterable[str] | str = ()) -> None:
        self.name = name or self.name
        self.version = version or self.version
        self.games = ((games,) if isinstance(games, str) else tuple(games)) or self.games

    # --- what an author writes ----------------------------------------------------------------------------------------

    def choose_parity(self, call: ChooseParityCall) -> Parity | Awaitable[Parity]:
        """Even/Odd: "even" or "odd", exactly so.

        `call` is the referee's CHOOSE_PARITY_CALL: `match_id`, `player_id` (you), `deadline`, and `context` with
        `opponent_id`, `round_id` and `your_standings` (`wins`, `losses`, `draws`, `points`). Referees of others may
        leave the context out, or parts of it: then they are None.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method choose_parity(self, call)")

    def move(self, turn: Turn) -> str | Awaitable[str]:
        """Any game: one of `turn.options`. Asked in Even/Odd too, by a player without `choose_parity`.

        `turn` has what the game shows (`view`), the `opponent_id`, the `number` of this choice in the match, the
        `seconds` there are, fresh random bytes (`chance`), and the message itself (`call`).
        """
        raise NotImplementedError(f"{type(self).__name__} has no method move(self, turn)")

    def on_match_over(self, match: PastMatch) -> Awaitable[None] | None:
        """Told of every result, once and in order; `match` is the last in `self.history`. Nobody waits for it."""

    def on_round(self, announced: Round) -> Awaitable[None] | None:
        """Told of every round when it is announced; `announced.mine` is your match. Nobody waits for it."""

    def on_standings(self, standings: Standings) -> Awaitable[None] | None:
        """Told of every new table; `standings.mine` is your row. Nobody waits for it."""

    def on_error(self, error: ReceivedError) -> Awaitable[None] | None:
        """Told of every GAME_ERROR and LEAGUE_ERROR: `code`, `name`, `detail`, and the `match_id` it is about (None for
        an error of the league). It is on the terminal already. Nobody waits for it."""

    def on_league_over(self, result: LeagueResult) -> Awaitable[None] | None:
        """Told how the league ended: `champion_id`, `champion_name`, the final `table`, your `rank` and `points`.
        It has a second before the player ends."""

    # --- what an author may ask ---------------------------------------------------------------------------------------

    async def query(
        self, query_type: str, *, player_id: str | None = None, round_id: int | None = None
    ) -> dict[str, Any]:
        """Ask the manager: GET_STANDINGS, GET_SCHEDULE (of one `round_id`), GET_NEXT_MATCH, GET_PLAYER_STATS (of any
        `player_id`) or GET_STATUS. From `async` methods: `data = await self.query("GET_STATUS")`; section 11 of the
        specification says what is in it. LeagueQueryError if the manager says no, or nothing.
        """
        import asyncio

        return await asyncio.wrap_future(self._asked(query_type, player_id, round_id))

    def query_sync(
        self, query_type: str, *, player_id: str | None = None, round_id: int | None = None
    ) -> dict[str, Any]:
        """The same for methods that are not `async`: it returns when the manager has answered."""
        if _is_in_a_loop():
            raise RuntimeError("query_sync() would block everything in an async method: use `await self.query(...)`")
        return self._asked(query_type, player_id, round_id).result()

    # --- what the league asks -----------------------------------------------------------------------------------------

    def plays(self, game_type: str) -> bool:
        """Is the method written that this game needs?"""
        by_hand = _is_written(self, "move") or _is_written(self, "choose")
        return by_hand or (game_type == EVEN_ODD and _is_written(self, "choose_parity"))

    def choose(self, turn: Turn) -> str | Awaitable[str]:
        """A choice is due: ask the method that was written for it."""
        self.history = turn.history
        if isinstance(turn.call, ChooseParityCall) and _is_written(self, "choose_parity"):
            return self.choose_parity(turn.call)
        return self.move(turn)

    def connect(self, ask: AskManager) -> None:
        """There is a manager to ask."""
        self._ask = ask

    def hear(self, news: object) -> Hook | None:
        """Something happened: take note of it at once, and say which hook is to be called."""
        if isinstance(news, Round):
            self.round = news
        elif isinstance(news, Standings):
            self.standings = news
        name = _HOOKS.get(type(news))
        return partial(getattr(self, name), news) if name is not None and _is_written(self, name) else None

    def match_over(self, match: PastMatch, history: Sequence[PastMatch]) -> Awaitable[None] | None:
        """A match is over."""
        self.history = history
        return self.on_match_over(match)

    def _asked(self, query_type: str, player_id: str | None, round_id: int | None) -> Future[dict[str, Any]]:
        if self._ask is None:
            raise LeagueQueryError("E023", "this player is not served yet: there is no manager to ask")
        params = {"player_id": player_id, "round_id": round_id}
        return self._ask(query_type, {name: value for name, value in params.items() if value is not None})


_HOOKS: Mapping[type, str] = {
    Round: "on_round",
    Standings: "on_standings",
    ReceivedError: "on_error",
    LeagueResult: "on_league_over",
}


def _is_in_a_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_written(player: Player, method: str) -> bool:
    """Did the author write it? Also when it was set on the object."""
    return getattr(getattr(player, method), "__func__", None) is not getattr(Player, method)


def serve(player: Player, argv: Sequence[str] | None = None) -> None:
    """Take this player to a league: register it and answer for it, until the league is over or SIGINT or SIGTERM ends
    it. What can be set stands on the command line (`--help` lists it) or in `argv`. SystemExit if it cannot be done.
    """
    if not isinstance(player, Player):
        raise TypeError(f"serve() takes a player, such as serve(MyPlayer()), not {player!r}")
    # All that serving needs is loaded only now; a module with a player in it is imported quickly.
    from league.hosting import options
    from league.terminal import CommandError

    parser = _parser(player)
    args = parser.parse_args(argv)
    try:
        status = _serve(player, options.read(args, options.PlayerOptions))
    except CommandError as error:
        parser.exit(error.status, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:  # before the loop took the signals over
        parser.exit(130, f"{parser.prog}: interrupted\n")
    if status:
        sys.exit(status)


def _parser(player: Player) -> ArgumentParser:
    from argparse import RawDescriptionHelpFormatter

    from league.hosting import options
    from league.terminal import Parser

    script = Path(sys.argv[0]).name or "player.py"
    parser = Parser(
        prog=script,
        description=f"{type(player).__name__}, a player for leagues of the league.v2 protocol.",
        epilog=f"example: python {script} --manager http://127.0.0.1:8000/mcp --port 8101",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.configure(parser, options.PlayerOptions, _NOT_FOR_ONE)
    return parser


def _serve(player: Player, chosen: PlayerOptions) -> int:
    from league.hosting import players  # only after the command line was read: `--help` is quick without

    return players.run(chosen, [players.enter(player, type(player).__name__)])
