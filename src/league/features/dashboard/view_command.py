"""`league view`: the dashboard of a league that is over, from its journal."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from league.cli.source import journal_errors
from league.hosting.settings.manager_options import ManagerOptions
from league.terminal import USAGE, Command, CommandError, examples

if TYPE_CHECKING:
    import asyncio

    from league.features.dashboard.journal_league import JournalLeague
    from league.transport.http import Answer, HttpRequest, Response

EXAMPLE = examples(
    "league view league-data/my_league              with the referees' journals in the folder: every message",
    "league view league-data/my_league/journal.db --port 8080 --open",
    note="\nShows the league as its journal is now, on this machine only, until you press Ctrl-C.",
)
HOST = "127.0.0.1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="the manager's journal, or the folder of all journals")
    port = f"the port to serve on (default: {ManagerOptions.usual_port}, or the next free one)"
    parser.add_argument("--port", type=int, metavar="N", help=port)
    parser.add_argument("--open", action="store_true", help="open the dashboard in a browser")


def run(args: argparse.Namespace) -> int:
    from league.hosting.serving import run_loop

    if args.port is not None and not 0 <= args.port <= 65535:
        raise CommandError(f"{args.port} is not a port: ports go from 0 to 65535", USAGE)
    # A journal that cannot be read is reported before anything is served.
    league = _read(args.journal)
    return run_loop(partial(_serve, args, league))


def _read(location: str) -> JournalLeague:
    from league.features.dashboard.journal_league import JournalLeague
    from league.features.dashboard.league_history import LeagueHistory
    from league.reading.journals import read_journals, replay
    from league.storage.reading import open_for_reading

    with journal_errors():
        journals = read_journals(location)
        if journals.place is None:
            raise CommandError(f"{location} holds no manager's journal, which the dashboard needs")
        manager = replay(journals.place, journals.seq).manager
        history = LeagueHistory(open_for_reading(journals.place))
    return JournalLeague(manager, journals, history)


async def _serve(args: argparse.Namespace, league: JournalLeague, stop: asyncio.Event) -> int:
    from league.features.dashboard.dashboard_server import Dashboard, open_page
    from league.hosting.background import open_views
    from league.hosting.manager.bare_posts import NOTHING_HERE
    from league.hosting.serving import Door, HostedAgent
    from league.terminal import console
    from league.transport.http import App

    dashboard = Dashboard(league, open_views())
    host = HostedAgent()

    # There is no agent behind this door: every request is for a page.
    async def rest(request: HttpRequest) -> Answer:
        return await dashboard.answer(request) or NOTHING_HERE

    async def no_messages(_raw: bytes, _origin: str) -> Response:
        return NOTHING_HERE

    # A port that was asked for is taken or fails; the usual one may move.
    is_free_choice = args.port is None
    port = ManagerOptions.usual_port if is_free_choice else args.port
    app = App(no_messages, rest=rest)
    door = Door(HOST, limit=1 << 16)
    await host.listen(door, port, app, next_free=is_free_choice)
    address = host.endpoint.removesuffix("mcp")
    console.say(f"ready: {address}")
    if args.open:
        await open_page(address)
    await stop.wait()
    await host.stop()
    return 0


COMMANDS = (Command("view", "show the dashboard of a journal", EXAMPLE, configure, run),)
