"""`league spar`: play friendly matches against a player outside a league, and explain what happened."""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from league.terminal import USAGE, Command, CommandError, add_json_option

if TYPE_CHECKING:
    from league.features.workshop.sparring import SparringPlan
    from league.hosting.member.players import Entrant

EXAMPLE = """\
examples:
  league spar http://127.0.0.1:8101
  league spar http://127.0.0.1:8101/mcp --against frequency,mirror --matches 50
  league spar http://127.0.0.1:8101/mcp --move-seconds 5 --journal friendly.db
  league spar ./first.py:First

Only the player has to be running: you need no league, no manager and no registration. A player that is registered
listens only to the referees of its league. Name its class instead of its address, and a copy of it plays here, at any
time and without a trace in its league. This command runs a referee and the opponents itself, with the rules and time
limits of a league. The player hears about these matches only. Opponents have the same names as for `league player
--strategy`. After two technical losses in a row the remaining matches are not played. Mistakes that cost neither a
match nor a retry are found by `league check player`.

exit status: 0 if all matches were played without a technical loss of the player, 1 if not, 2 for wrong usage or if
nobody listens at the address"""
JOURNAL = "sparring.db"
LEAST_NUMBER = 0.01
LARGEST_NUMBER = 1e6


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "player",
        metavar="PLAYER",
        help="its address (/mcp is added if it has no path), or ./file.py:Class or module:Class to spar with a copy",
    )
    parser.add_argument(
        "--against",
        metavar="NAME",
        default="random",
        help="the opponents, separated by commas (default: random)",
    )
    parser.add_argument("--matches", metavar="N", type=int, default=20, help="number of matches (default: 20)")
    parser.add_argument("--game", help="the game to play (default: the player's own if it says so, otherwise even_odd)")
    parser.add_argument(
        "--move-seconds",
        metavar="S",
        type=_number,
        help="time limit for each move, in seconds (default: 30)",
    )
    parser.add_argument(
        "--profile",
        choices=("compat", "strict"),
        default="compat",
        help="the same as for `league referee`",
    )
    parser.add_argument("--journal", metavar="FILE", help="keep the referee's journal here, for `league explain`")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of built-in opponents")
    parser.add_argument("--id", default="", help="the player's id in these matches (default: P01)")
    parser.add_argument(
        "--league-id",
        default="sparring",
        help="the league's id, for a player that is registered in a league elsewhere",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    parser.add_argument(
        "--time-scale",
        metavar="N",
        type=_number,
        default=1.0,
        help="make time run N times faster (for tests)",
    )
    add_json_option(parser)


def _number(text: str) -> float:
    value = 0.0
    with suppress(ValueError):
        value = float(text)
    if not LEAST_NUMBER <= value <= LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0.01 to 1000000")
    return value


def run(args: argparse.Namespace) -> int:
    from league.features.workshop.player_copy import is_code, served_copy

    if not is_code(args.player):
        return _spar(args, args.player)
    with served_copy(args.player) as endpoint:
        return _spar(args, endpoint)


def _spar(args: argparse.Namespace, url: str) -> int:
    from league.features.workshop.spar_run import play
    from league.features.workshop.sparring import game_of, player_endpoint
    from league.hosting.serving import run_loop

    endpoint = player_endpoint(url)
    named_game = game_of(endpoint)
    args.game = args.game or named_game
    entrants = _entrants(args.against)
    _check(args)
    # The report is made from a journal, so there is one even if nobody wants to keep it.
    with TemporaryDirectory(prefix="league-spar-") as folder:
        journal = str(Path(folder, JOURNAL))
        if args.journal:
            _require_new(args.journal)
            journal = args.journal
        plan = _plan(args, endpoint, entrants, journal)
        return run_loop(partial(play, plan, args.journal, args.json))


# --- reading the arguments --------------------------------------------------------------------------------------------


def _entrants(names: str) -> tuple[Entrant, ...]:
    from league.hosting.member.players import load

    return tuple(load(name.strip()) for name in names.split(","))


def _check(args: argparse.Namespace) -> None:
    from league.features.workshop.sparring import MOST_MATCHES
    from league.hosting import require_game

    if not 1 <= args.matches <= MOST_MATCHES:
        raise CommandError(f"--matches must be from 1 to {MOST_MATCHES}, not {args.matches}", USAGE)
    require_game(args.game)
    if args.json and "human" in args.against.split(","):
        raise CommandError("a human cannot be asked with --json, which prints one document and nothing else", USAGE)
    if not args.league_id:
        raise CommandError("--league-id must not be empty", USAGE)


def _require_new(location: str) -> None:
    from league.storage import urls
    from league.storage.notices import JournalError
    from league.storage.opening import exists

    try:
        place = urls.parse(location)
        is_old = exists(place)
    except JournalError as error:
        raise CommandError(str(error), USAGE) from error
    # With an old journal the referee would take up old matches.
    if is_old:
        raise CommandError(f"{place} exists already; friendly matches need a new journal")


def _plan(args: argparse.Namespace, endpoint: str, entrants: tuple[Entrant, ...], journal: str) -> SparringPlan:
    from league.features.workshop.sparring import SparringPlan
    from league.features.workshop.sparring_manager import GUEST_ID, Fixtures, first_number, opponent_ids
    from league.machine import Address

    guest = Address(args.id or GUEST_ID, endpoint)
    opponents = opponent_ids(len(entrants))
    if guest.agent_id in opponents:
        raise CommandError(f"--id: {guest.agent_id} is the id of an opponent here", USAGE)
    fixtures = Fixtures(
        league_id=args.league_id,
        game_type=args.game,
        guest=guest,
        opponents=opponents,
        matches=args.matches,
        first=first_number(time.time()),
        move_seconds=args.move_seconds,
    )
    return SparringPlan(
        fixtures=fixtures,
        entrants=entrants,
        journal=journal,
        profile=args.profile,
        seed=args.seed,
        host=args.host,
        time_scale=args.time_scale,
    )


COMMANDS = (
    Command(
        "spar",
        "play friendly matches against a player, and explain what happened",
        EXAMPLE,
        configure,
        run,
    ),
)
