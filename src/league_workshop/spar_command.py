"""`league spar`: friendly matches against a player that need not be registered, ending in an explanation."""

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
    from league.hosting.players import Entrant
    from league_workshop.sparring import SparringPlan

EXAMPLE = """\
examples:
  league spar http://127.0.0.1:8101
  league spar http://127.0.0.1:8101/mcp --against frequency,mirror --matches 50
  league spar http://127.0.0.1:8101/mcp --move-seconds 5 --journal friendly.db

The player only has to run: no league, no manager, no registration. A referee and the opponents run in here, by the
rules and limits of a league; the player hears of nothing but these matches. Opponents are named as for
`league player --strategy`. After two technical losses in a row the rest is not played.

exit status: 0 all matches were played without a technical loss of the player, 1 not, 2 wrong usage, or
nobody listens there"""
JOURNAL = "sparring.db"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="where the player takes requests; /mcp is added if there is no path")
    parser.add_argument(
        "--against", metavar="NAME", default="random", help="the opponents, with commas (default: random)"
    )
    parser.add_argument("--matches", metavar="N", type=int, default=20, help="how many matches (default: 20)")
    parser.add_argument("--game", default="even_odd", help="what is played (default: even_odd)")
    parser.add_argument(
        "--move-seconds", metavar="S", type=_seconds, help="how long a player may think about a move (default: 30)"
    )
    parser.add_argument("--profile", choices=("compat", "strict"), default="compat", help="as for `league referee`")
    parser.add_argument("--journal", metavar="FILE", help="keep the referee's journal here, for `league explain`")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of a built-in opponent")
    parser.add_argument("--id", default="", help="the id to call the player by (default: P01)")
    parser.add_argument("--league-id", default="sparring", help="for a player that is registered in a league elsewhere")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    parser.add_argument(
        "--time-scale", metavar="N", type=_seconds, default=1.0, help="let time run so many times faster (for tests)"
    )
    add_json_option(parser)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0.01 to 1000000")
    return value


def run(args: argparse.Namespace) -> int:
    from league.hosting.serving import run_loop
    from league_workshop.spar_run import play

    endpoint, entrants = _endpoint(args.url), _entrants(args.against)
    _check(args)
    with TemporaryDirectory(prefix="league-spar-") as folder:
        journal = _journal(args.journal) if args.journal else str(Path(folder, JOURNAL))
        plan = _plan(args, endpoint, entrants, journal)
        return run_loop(partial(play, plan, args.journal, args.json))


# --- what was asked for -----------------------------------------------------------------------------------------------


def _endpoint(url: str) -> str:
    from league.protocol.fields import RULES
    from league.terminal.addresses import agent_url

    with suppress(ValueError):
        whole = agent_url(url)
        if RULES["url"](whole) is None:
            return whole
    raise CommandError(f"{url!r} is no http address; try http://127.0.0.1:8101/mcp", USAGE)


def _entrants(names: str) -> tuple[Entrant, ...]:
    from league.hosting.players import load

    return tuple(load(one.strip()) for one in names.split(","))


def _check(args: argparse.Namespace) -> None:
    from league.hosting import require_game
    from league_workshop.sparring import MOST_MATCHES

    if not 1 <= args.matches <= MOST_MATCHES:
        raise CommandError(f"--matches: from 1 to {MOST_MATCHES}, not {args.matches}", USAGE)
    require_game(args.game)
    if args.json and "human" in args.against.split(","):
        raise CommandError("--json prints nothing but a document, so it cannot ask a human", USAGE)
    if not args.league_id:
        raise CommandError("--league-id: a league has a name", USAGE)


def _journal(location: str) -> str:
    """A new file: in an old one the referee would take up old matches."""
    from league.storage import urls
    from league.storage.notices import JournalError

    try:
        path = urls.parse(location).path
    except JournalError as error:
        raise CommandError(str(error), USAGE) from error
    if path.exists():
        raise CommandError(f"{path} exists already; friendly matches need a new journal")
    return location


def _plan(args: argparse.Namespace, endpoint: str, entrants: tuple[Entrant, ...], journal: str) -> SparringPlan:
    from league.machine import Address
    from league_workshop.sparring import SparringPlan
    from league_workshop.sparring_manager import GUEST_ID, Fixtures, first_number, opponent_ids

    guest, opponents = Address(args.id or GUEST_ID, endpoint), opponent_ids(len(entrants))
    if guest.agent_id in opponents:
        raise CommandError(f"--id: {guest.agent_id} is an opponent here", USAGE)
    first = first_number(time.time())
    fixtures = Fixtures(args.league_id, args.game, guest, opponents, args.matches, first, args.move_seconds)
    return SparringPlan(fixtures, entrants, journal, args.profile, args.seed, args.host, args.time_scale)


COMMANDS = (
    Command(
        "spar",
        "play friendly matches against a player, registered or not, and explain what happened",
        EXAMPLE,
        configure,
        run,
    ),
)
