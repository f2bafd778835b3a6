"""For people who write players: a class with one method, and `serve` to take it to a league.

Registration, acknowledgements, tokens, validation, retries, time limits and history are done here and below; what the
author's code does wrong is shown to the author, with the message that caused it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path

from league.hosting import CommandError, Parser, options
from league.player.history import PastMatch
from league.player.strategies import Turn
from league.protocol.fields import Parity
from league.protocol.messages import ChooseParityCall, GameMoveCall

__all__ = ["ChooseParityCall", "GameMoveCall", "Parity", "PastMatch", "Player", "Turn", "serve"]

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
    history: Sequence[PastMatch] = ()
    """The matches it has played, the newest last: `.opponent_id`, `.outcome` ("WIN", "DRAW", "LOSS"), `.my_choice`,
    `.opponent_choice`, and in Even/Odd `.drawn_number` and `.number_parity`."""

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

    def match_over(self, match: PastMatch, history: Sequence[PastMatch]) -> Awaitable[None] | None:
        """A match is over."""
        self.history = history
        return self.on_match_over(match)


def _is_written(player: Player, method: str) -> bool:
    """Did the author write it? Also when it was set on the object."""
    return getattr(getattr(player, method), "__func__", None) is not getattr(Player, method)


def serve(player: Player, argv: Sequence[str] | None = None) -> None:
    """Take this player to a league: register it and answer for it, until the league is over or SIGINT or SIGTERM ends
    it. What can be set stands on the command line (`--help` lists it) or in `argv`. SystemExit if it cannot be done.
    """
    if not isinstance(player, Player):
        raise TypeError(f"serve() takes a player, such as serve(MyPlayer()), not {player!r}")
    parser = _parser(player)
    args = parser.parse_args(argv)
    try:
        status = _serve(player, args)
    except CommandError as error:
        parser.exit(error.status, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:  # before the loop took the signals over
        parser.exit(130, f"{parser.prog}: interrupted\n")
    if status:
        sys.exit(status)


def _parser(player: Player) -> argparse.ArgumentParser:
    script = Path(sys.argv[0]).name or "player.py"
    parser = Parser(
        prog=script,
        description=f"{type(player).__name__}, a player for leagues of the league.v2 protocol.",
        epilog=f"example: python {script} --manager http://127.0.0.1:8000/mcp --port 8101",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.configure(parser, options.PlayerOptions, _NOT_FOR_ONE)
    return parser


def _serve(player: Player, args: argparse.Namespace) -> int:
    from league.hosting import players  # all that serving needs is loaded only now, `--help` is quick without

    chosen = options.read(args, options.PlayerOptions)
    return players.run(chosen, [players.enter(player, type(player).__name__)])
