"""Where a league is looked at: the pages of a running manager, or its journal, which shows the same documents."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, unquote

from league.terminal import USAGE, CommandError, add_json_option
from league.terminal.addresses import agent_url, usual_manager

if TYPE_CHECKING:
    from league.manager.league import LeagueManager

MATCHES = "/api/matches/"


class LeagueSource(Protocol):
    """Where a league can be looked at."""

    def get(self, path: str) -> Any:
        """The document at this path of the API; None if there is none."""


@contextmanager
def journal_errors() -> Iterator[None]:
    """Turn a journal that cannot be read into an error of the command, in the journal's own sentence."""
    from league.storage.notices import JournalError

    try:
        yield
    except JournalError as error:
        raise CommandError(str(error)) from error


def add_manager_option(parser: argparse.ArgumentParser) -> None:
    """`--manager`: which manager."""
    parser.add_argument(
        "--manager", metavar="URL", help="a running manager (default: LEAGUE_MANAGER, else http://127.0.0.1:8000)"
    )


def add_operator_options(parser: argparse.ArgumentParser) -> None:
    """Which manager, and where its admin token is."""
    add_manager_option(parser)
    parser.add_argument(
        "--state", metavar="DIR", help="the folder where the manager keeps its admin token (else: LEAGUE_ADMIN_TOKEN)"
    )


def manager_url(given: str | None) -> str:
    """Where the manager takes requests: as the command line says, else as usual."""
    url = given or usual_manager()
    try:
        return agent_url(url)
    except ValueError as error:
        told = f"{url!r} is no address of a manager; it looks like http://127.0.0.1:8000"
        raise CommandError(told, USAGE) from error


def add_source_options(parser: argparse.ArgumentParser, with_json: bool = True) -> None:
    """The options of a command that looks at a league."""
    add_manager_option(parser)
    parser.add_argument("--journal", metavar="URL", help="a journal, or the folder it is in, instead")
    if with_json:
        add_json_option(parser)


def add_match_options(parser: argparse.ArgumentParser) -> None:
    """The options of a command that looks at a match."""
    parser.add_argument("match_id", metavar="MATCH_ID", help="the match, such as R1M1")
    add_source_options(parser)


def source_of(args: argparse.Namespace) -> LeagueSource:
    """Where the command is to look."""
    if args.manager and args.journal:
        raise CommandError("give --manager or --journal, not both", USAGE)
    if args.journal:
        return JournalPages(args.journal)
    from league.cli.pages import Pages

    return Pages(args.manager)


def match_in(source: LeagueSource, match_id: str) -> Any:
    """The document of a match (Any: JSON); None if there is no such match."""
    return source.get(f"{MATCHES}{quote(match_id, safe='')}")


class JournalPages:
    """What a manager would show of the league in a journal."""

    def __init__(self, location: str) -> None:
        from league.reports.journals import replay

        with journal_errors():
            self._replayed = replay(location)

    def get(self, path: str) -> Any:
        from league.reports import views

        manager = self._replayed.manager
        if path.startswith(MATCHES):
            return views.match(manager, unquote(path.removeprefix(MATCHES)))
        if path in views.PAGES:
            return views.PAGES[path](manager, self._replayed.seq)
        return _document(path.removeprefix("/api/"), manager)


def _document(view_name: str, manager: LeagueManager) -> Any:
    """The document of a view that a feature brings; None if there is no such view (Any: JSON)."""
    from league.features import ViewRow, every
    from league.hosting.background import document_of

    for row in every(ViewRow):
        if row.name == view_name:
            return document_of(row, manager)
    return None
