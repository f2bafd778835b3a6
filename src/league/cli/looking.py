"""What the commands that look at a league share: a running manager's pages, or a journal, show the same documents."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from league.cli import USAGE, CommandError, add_json_option

if TYPE_CHECKING:
    from league.cli.fetching import Pages
    from league.manager.league import LeagueManager

USUAL = "http://127.0.0.1:8000"
MATCHES = "/api/matches/"


class Source(Protocol):
    """Where a league can be looked at."""

    def get(self, path: str) -> Any:
        """The document at this path of the API; None if there is none."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options that say where to look."""
    parser.add_argument("--manager", metavar="URL", help=f"a running manager (default: {USUAL})")
    parser.add_argument("--journal", metavar="URL", help="a journal, or the folder it is in, instead")
    add_json_option(parser)


def source_of(args: argparse.Namespace) -> Source:
    """Where the command is to look."""
    if args.manager and args.journal:
        raise CommandError("give --manager or --journal, not both", USAGE)
    if args.journal:
        return _Journal(args.journal)
    from league.cli.fetching import Pages

    return _Manager(Pages(args.manager or USUAL))


class _Manager:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def get(self, path: str) -> Any:
        document = self._pages.json(path)
        if not isinstance(document, dict) and not path.startswith(MATCHES):
            raise CommandError(f"{self._pages.base} is no League Manager: it has no {path}")
        return document


class _Journal:
    def __init__(self, location: str) -> None:
        from league.reports.replaying import replay
        from league.storage.notices import JournalError

        try:
            self._replayed = replay(location)
        except JournalError as error:
            raise CommandError(str(error)) from error

    def get(self, path: str) -> Any:
        from league.reports import views

        manager: LeagueManager = self._replayed.manager
        if path.startswith(MATCHES):
            return views.match(manager, unquote(path.removeprefix(MATCHES)))
        shown = {
            "/api/league": lambda: views.league(manager, self._replayed.seq),
            "/api/standings": lambda: views.standings(manager),
            "/api/schedule": lambda: views.schedule(manager),
            "/api/agents": lambda: views.agents(manager),
        }
        return shown[path]()
